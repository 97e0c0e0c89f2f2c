"""TCP::collect."""

from __future__ import annotations

import pytest

from tests.mocks.bigip.dataplane.conftest import Net, until
from tests.mocks.bigip.dataplane.irules.conftest import logged, with_rule


def test_collected_bytes_are_seen_and_passed_on(net: Net):
    text = """when CLIENT_ACCEPTED { TCP::collect }
    when CLIENT_DATA { log local0. [TCP::payload 3]:[TCP::payload length]; TCP::release }"""
    vs = with_rule(net, text)
    assert net.ask(vs).status == 200
    assert logged(net)[0].startswith("GET:")


def test_collect_with_a_length(net: Net):
    text = """when CLIENT_ACCEPTED { TCP::collect 10 }
    when CLIENT_DATA { log local0. [expr {[TCP::payload length] >= 10}]; TCP::release }"""
    with net.connect(with_rule(net, text)) as client:
        for piece in (b"GET /", b" HT", b"TP/1.1\r\n", b"Host: a\r\n\r\n"):
            client.send(piece)
        assert client.answer().status == 200
    assert logged(net) == ["1"]


@pytest.mark.parametrize("quirks", [(), ("collect-again",)])
def test_collect_again(make_net, quirks):
    """Without another TCP::collect CLIENT_DATA comes for each packet (bigip-behaviour.md B5), or once."""
    net = make_net(quirks=quirks)
    net.pod("10.1.0.1")
    text = """when CLIENT_ACCEPTED { TCP::collect }
    when CLIENT_DATA { log local0. data; if { [TCP::payload length] > 8 } { TCP::release } }"""
    vs = net.virtual("v", pool=net.pool("p", "10.1.0.1:8080"), rules=[net.rule("r", text)])
    with net.connect(vs) as client:
        client.send(b"GET /")
        until(lambda: logged(net) == ["data"])
        client.send(b" HTTP/1.1\r\nHost: a\r\n\r\n")
        if quirks:
            client.sock.settimeout(0.3)
            with pytest.raises(TimeoutError):
                client.more()
        else:
            assert client.answer().status == 200


def test_a_payload_may_be_replaced(net: Net):
    text = """when CLIENT_ACCEPTED { TCP::collect 5 }
    when CLIENT_DATA { TCP::payload replace 0 4 POST; TCP::release }"""
    with net.connect(with_rule(net, text)) as client:
        client.send(b"FROB / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n")
        assert client.answer().seen["method"] == "POST"
