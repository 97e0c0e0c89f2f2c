"""Errors of iRules: they reset the connection and are recorded."""

from __future__ import annotations

import pytest

from tests.mocks.bigip.dataplane.client import RESET
from tests.mocks.bigip.dataplane.conftest import Net
from tests.mocks.bigip.dataplane.irules.conftest import with_rule

ERRORS = [
    pytest.param("set x $y", 'can\'t read "y": no such variable', id="variable"),
    pytest.param("HTTP::respond 503; HTTP::respond 503", "Multiple redirect/respond", id="two answers"),
    pytest.param("TCP::collect", "Can't execute in the current context", id="context"),
    pytest.param("pool nowhere", "no such pool: nowhere", id="pool"),
    pytest.param("persist ssl", "the fake does not know persist ssl", id="form of a command"),
    pytest.param("while 1 { incr i }", "too many", id="runs away"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_an_error_resets_and_is_recorded(net: Net, text, message):
    if message == "too many":
        net.plane.shared.engine.interpreter().limit_s = 0.2
        message = "r"
    vs = with_rule(net, f"when HTTP_REQUEST {{ {text} }}", more=())
    answer = net.ask(vs)
    net.plane.shared.engine.interpreter().limit_s = 2.0
    assert answer.ended == RESET
    (error,) = net.errors()
    assert message in error
    assert "<HTTP_REQUEST>" in error
    net.quiet()


@pytest.mark.parametrize("event", ["CLIENT_ACCEPTED", "LB_SELECTED", "SERVER_CONNECTED", "HTTP_RESPONSE"])
def test_an_error_in_any_event(net: Net, event):
    vs = with_rule(net, f"when {event} {{ error oops }}")
    assert net.ask(vs).ended == RESET
    assert len(net.errors()) == 1


def test_an_error_that_the_rule_catches(net: Net):
    text = "when HTTP_REQUEST { catch { pool nowhere } why; HTTP::header insert X-Why $why }"
    assert dict(net.ask(with_rule(net, text)).seen["headers"])["X-Why"] == "no such pool: nowhere"
