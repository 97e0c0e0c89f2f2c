"""The command `after`: scripts that run later, as events of their connection."""

from __future__ import annotations

import pytest

from tests.mocks.bigip.dataplane.client import END, RESET
from tests.mocks.bigip.dataplane.conftest import Net, until
from tests.mocks.bigip.dataplane.irules.conftest import logged, with_rule

SLOW = """when CLIENT_ACCEPTED {
        set asked 0
        set timer [after 200 { if { $asked equals 0 } { reject } }]
    }
    when HTTP_REQUEST { set asked 1 }"""


def test_a_script_ends_a_connection(net: Net):
    """It sees the variables of the connection, and TMM's operators."""
    with net.connect(with_rule(net, SLOW)) as client:
        client.send(b"GET / HTTP/1.1\r\n")
        assert client.rest() == (b"", RESET)


def test_a_script_that_does_nothing(net: Net):
    text = SLOW.replace("{ reject }", "{ reject }; log local0. looked")
    with net.connect(with_rule(net, text)) as client:
        assert client.ask().status == 200
        until(lambda: logged(net) == ["looked"])
        assert client.ask().status == 200


def test_a_script_that_closes(net: Net):
    with net.connect(with_rule(net, "when CLIENT_ACCEPTED { after 100 { TCP::close } }")) as client:
        assert client.rest() == (b"", END)


def test_cancel(net: Net):
    """One that has run, or was cancelled, is no error."""
    text = """when CLIENT_ACCEPTED {
        set one [after 100 { reject }]
        set two [after 100 { log local0. two }]
    }
    when HTTP_REQUEST { after cancel $one; after cancel $one; log local0. [expr { $one ne $two }] }"""
    with net.connect(with_rule(net, text)) as client:
        assert client.ask().status == 200
        until(lambda: logged(net) == ["1", "two"])
        assert client.ask().status == 200


def test_the_end_of_a_connection_cancels(net: Net):
    """DevCentral, "v10 iRules and the after command"."""
    vs = with_rule(net, "when CLIENT_ACCEPTED { after 300 { log local0. late } }")
    assert net.ask(vs).status == 200
    net.quiet()
    with net.connect(with_rule(net, "when CLIENT_ACCEPTED { after 400 { log local0. later } }")) as client:
        until(lambda: logged(net) == ["later"])
        assert client.ask().status == 200


def test_an_error_of_a_script(make_net):
    net = make_net()
    rule = net.rule("r", "when CLIENT_ACCEPTED { after 100 { set x $unset } }")
    with net.connect(net.virtual("v", rules=[rule])) as client:
        assert client.rest() == (b"", RESET)
    assert "no such variable" in net.errors()[0]


def test_the_speed_of_the_device(make_net):
    net = make_net(speed=1000.0)
    rule = net.rule("r", "when CLIENT_ACCEPTED { after 100000 { reject } }")
    with net.connect(net.virtual("v", rules=[rule])) as client:
        assert client.rest() == (b"", RESET)


@pytest.mark.parametrize(("command", "error"), [
    ("after 100", "does not know"), ("after info", "does not know"),
    ("after 100 -periodic {}", "does not know"), ("after cancel -current", "does not know"),
    ("after soon { reject }", 'bad argument "soon"'),
])
def test_forms_that_are_not_known(make_net, command, error):
    net = make_net()
    rule = net.rule("r", f"when CLIENT_ACCEPTED {{ {command} }}")
    with net.connect(net.virtual("v", rules=[rule])) as client:
        assert client.rest() == (b"", RESET)
    assert error in net.errors()[0]
