"""Status writes that are refused, forbidden or get no reply."""

import logging

import pytest

from f5router.model.limits import Backoff
from tests.unit.kube import objects
from tests.unit.kube.status.writing import DENIED, NO, verdicts, writes
from tests.waiting import DEADLINE_S


def test_forbidden(kube, write, caplog):
    """One message with the needed right; everything is written once it is granted."""
    kube.forbid("routes/status", ["patch", "update"])
    kube.apply([objects.route("a"), objects.route("b")])
    status = write()
    status.submit()
    status.submit("b")
    assert kube.wait_for(lambda: len(writes(kube)) >= 6)
    assert not status.flush(0)
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [record.message for record in errors] == ["status not written"]
    assert "system:router -z router -n default" in errors[0].error
    kube.allow("routes/status")
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == verdicts(kube, "b") == [("public", "True")]


@pytest.mark.parametrize("fault", ["429", "500", "503", "drop"])
def test_trouble(kube, write, fault):
    """Tried again, later; the others are not lost."""
    kube.apply([objects.route("a"), objects.route("b")])
    kube.inject(fault, method="PATCH", **({"retry_after": 0} if fault == "429" else {}))
    status = write()
    status.submit()
    status.submit("b")
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == verdicts(kube, "b") == [("public", "True")]


def test_lost_reply(kube, write):
    """The write was done although it seemed to fail: no second entry."""
    kube.apply(objects.route("a"))
    kube.inject("drop", method="PATCH", applied=True)
    status = write()
    status.submit()
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("public", "True")]


def test_a_refusal_of_one_route(kube, write, caplog):
    """Such as a webhook's: told once, tried again, and no other Route waits for it."""
    kube.apply([objects.route("a"), *(objects.route(f"r{number}") for number in range(5))])
    kube.inject("403", times=None, path="/a/status")
    status = write(forbidden_s=0.2)
    status.submit()
    assert kube.wait_for(lambda: len(writes(kube)) == 2)
    for number in range(5):
        status.submit(f"r{number}")
    assert kube.wait_for(lambda: all(verdicts(kube, f"r{number}") for number in range(5)), 0.15)
    assert kube.wait_for(lambda: writes(kube)[2:].count(("PUT", 403)) == 2)
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "status not written"]
    kube.clear_faults()
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("public", "True")]


BAD = tuple("abcdef")


@pytest.mark.parametrize(("fault", "options"), [
    pytest.param("403", {"message": DENIED}, id="403 of a webhook"),
    pytest.param("404", {}, id="404"),
    pytest.param("409", {}, id="409"),
    pytest.param("422", {}, id="422"),
    pytest.param("500", {}, id="500"),
])
def test_refusals_of_some_routes(kube, write, fault, options):
    """One after the other, again and again: no other Route waits for them to end."""
    kube.apply([objects.route(name) for name in (*BAD, "good")])
    for name in BAD:
        kube.inject(fault, times=None, path=f"/{name}/status", **options)
    status = write(forbidden_s=60)
    for name in (*BAD, "good"):
        status.submit(name)
    assert kube.wait_for(lambda: verdicts(kube, "good"), DEADLINE_S)
    assert not any(verdicts(kube, name) for name in BAD)


def test_a_webhook_that_denies(kube, write, caplog):
    """Told with its words, once for each Route; nobody is asked to grant a right, nor is a PUT tried."""
    kube.apply([objects.route(name) for name in "ab"])
    kube.inject("403", times=None, path="/status", message=DENIED)
    status = write()
    for _ in range(2):
        for name in "ab":
            status.submit(name)
        assert status.flush(DEADLINE_S)
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert [(record.message, record.route) for record in errors] == [
        ("status refused", "shop/a"), ("status refused", "shop/b")]
    assert all(DENIED in record.error and "grant" not in record.error for record in errors)
    assert writes(kube) == [("PATCH", 403)] * 4
    assert status.writer.counts["refused"] == 4


@pytest.mark.parametrize(("fault", "options"), [
    pytest.param("403", {"message": DENIED}, id="403 of a webhook"), pytest.param("422", {}, id="422")])
def test_a_status_that_is_refused_for_a_while(kube, write, caplog, fault, options):
    """It is written in the end, though nobody asks again; each attempt counts, and one is logged."""
    kube.apply(objects.route("a"))
    kube.inject(fault, times=5, path="/a/status", **options)
    status = write(refused=Backoff(first_s=0.01, limit_s=0.05))
    status.submit()
    assert kube.wait_for(lambda: verdicts(kube) == [("public", "True")])
    assert status.flush(DEADLINE_S)
    assert (status.writer.counts["refused"], status.writer.counts["written"]) == (5, 1)
    assert [record.message for record in caplog.records if record.levelno == logging.ERROR] == [
        "status refused"]


def test_another_status_does_not_wait_for_the_refused_one(kube, write):
    kube.apply(objects.route("a"))
    kube.inject("422", path="/a/status")
    status = write()
    status.submit()
    assert kube.wait_for(lambda: writes(kube) == [("PATCH", 422)])
    status.submit(verdict=NO)
    assert status.flush(DEADLINE_S)
    assert verdicts(kube) == [("public", "False")]


def test_too_many_requests(kube, write):
    """The rate falls when the API server refuses writes, and all statuses get there."""
    kube.apply([objects.route(f"r{number}") for number in range(20)])
    kube.inject("429", times=2, method="PATCH", retry_after=0)
    status = write()
    for number in range(20):
        status.submit(f"r{number}")
    assert status.flush(DEADLINE_S)
    assert all(verdicts(kube, f"r{number}") == [("public", "True")] for number in range(20))
    assert status.writer.rate_per_s() < 600
