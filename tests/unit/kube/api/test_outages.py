"""Outages: one message for a cause, whoever meets it and however often."""

import logging
import math

import pytest

from f5router.kube.api import counts as outages_module
from f5router.kube.api.counts import Outages
from f5router.model.errors import KubeUnreachable

DOWN, BUSY = KubeUnreachable("GET /a: refused"), KubeUnreachable("GET /b: 503 busy", None, 503)


@pytest.mark.parametrize(("steps", "expected"), [
    pytest.param([("a", DOWN), ("b", DOWN), ("a", DOWN), ("a", None), ("b", None)], "begin end",
                 id="two users"),
    pytest.param([("a", None), ("b", None)], "", id="all is well"),
    pytest.param([("a", DOWN), ("a", None), ("a", DOWN)], "begin end begin", id="twice"),
    pytest.param([("a", BUSY), ("a", DOWN), ("a", BUSY), ("a", None)], "begin end begin end begin end",
                 id="another cause"),
    pytest.param([("a", DOWN), ("b", BUSY), ("b", DOWN), ("b", None), ("a", None)], "begin begin end end",
                 id="two causes at a time"),
    pytest.param([("a", DOWN), ("b", None)], "begin", id="somebody else is well"),
])
def test_messages(caplog, steps, expected):
    caplog.set_level(logging.DEBUG)
    now = [0.0]
    outages = Outages(lambda: now[0])
    for user, exc in steps:
        now[0] += 1.5
        outages.failed(user, exc) if exc else outages.answered(user)
    told = [record for record in caplog.records if record.levelno > logging.DEBUG]
    words = {"API server unusable": "begin", "API server usable again": "end"}
    assert " ".join(words[record.message] for record in told) == expected
    assert len(caplog.records) >= len(told)


def test_fields(caplog):
    """The first error, and how long it was so."""
    caplog.set_level(logging.INFO)
    now = [0.0]
    outages = Outages(lambda: now[0])
    outages.failed("routes", DOWN)
    now[0] = 12.34
    outages.answered("routes")
    begun, ended = caplog.records
    assert (begun.levelno, begun.kind, begun.error) == (logging.WARNING, "routes", "GET /a: refused")
    assert (ended.levelno, ended.was, ended.lasted_s) == (logging.INFO, "no reply", 12.3)


def test_messages_are_logged_without_the_lock(unlocked):
    """Every watch and every reader of Secrets takes it for each event."""
    outages = Outages(lambda: 0.0)
    logged = unlocked(outages_module.log, lambda: outages.answered("services"))
    outages.failed("routes", DOWN)
    outages.failed("routes", BUSY)
    outages.answered("routes")
    assert logged == {"API server unusable": True, "API server usable again": True}


def test_findings():
    """One for each cause, with its newest message."""
    outages = Outages(lambda: 3.0)
    assert (outages.findings(), outages.since()) == ([], math.inf)
    outages.failed("a", DOWN)
    outages.failed("b", KubeUnreachable("GET /c: reset"))
    outages.failed("c", BUSY)
    assert outages.since() == 3.0
    assert [(each.code, each.text) for each in outages.findings()] == [
        ("APIServerUnreachable", "GET /c: reset"), ("APIServerErrors", "GET /b: 503 busy")]
    for user in "abc":
        outages.answered(user)
    assert outages.findings() == []
