"""Listening sockets follow the virtual servers; nothing is left behind."""

from __future__ import annotations

import socket
import threading

import pytest

from tests.mocks.bigip.dataplane.client import RESET, Client
from tests.mocks.bigip.dataplane.conftest import Net, forward, until


@pytest.fixture
def net(make_net) -> Net:
    net = make_net()
    net.pod("10.1.0.1", name="web")
    net.pool("web", "10.1.0.1:8080")
    return net


def refused(where: tuple[str, int]) -> bool:
    try:
        with socket.create_connection(where, 5):
            return False
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # it was still in the queue of a listener that is being closed
        return False


def test_destinations_and_their_ports(net: Net):
    net.big.add_virtual("/P/a", "10.9.0.1:80", pool="/P/web")
    net.big.add_virtual("/P/b", "10.9.0.1:443", pool="/P/web")
    net.big.add_virtual("/P/c", "2001:db8::1.80", pool="/P/web")
    assert set(net.big.listeners()) == {"10.9.0.1:80", "10.9.0.1:443", "2001:db8::1.80"}
    assert net.big.listeners()["10.9.0.1:443"] == net.big.endpoint("/P/b")
    assert [net.big.endpoint(path)[0] for path in ("/P/a", "/P/c")] == ["127.0.0.1", "::1"]
    assert [net.ask(path).pod for path in ("/P/a", "/P/b", "/P/c")] == ["web"] * 3


def test_a_deleted_virtual_server_is_gone(net: Net):
    vs = net.virtual("v", pool="/P/web")
    where = net.big.endpoint(vs)
    net.change("DELETE", "ltm/virtual/~P~v")
    until(lambda: refused(where))
    with pytest.raises(KeyError):
        net.big.endpoint(vs)


def test_disabled_and_enabled_again_on_the_same_port(net: Net):
    vs = net.virtual("v", pool="/P/web")
    where = net.big.endpoint(vs)
    net.change("PATCH", "ltm/virtual/~P~v", {"disabled": True})
    assert "10.9.0.10:80" not in net.big.listeners()
    assert refused(where)
    net.change("PATCH", "ltm/virtual/~P~v", {"enabled": True})
    assert net.big.endpoint(vs) == where
    assert net.ask(vs).pod == "web"


def test_disabling_leaves_connections_that_are_open(net: Net):
    vs = net.virtual("v", pool="/P/web")
    with net.connect(vs) as client:
        client.ask()
        net.change("PATCH", "ltm/virtual/~P~v", {"disabled": True})
        assert client.ask().pod == "web"


def test_deleting_resets_connections_at_their_next_request(net: Net):
    vs = net.virtual("v", pool="/P/web")
    with net.connect(vs) as client:
        client.ask()
        net.change("DELETE", "ltm/virtual/~P~v")
        assert client.ask().ended == RESET


def test_a_new_destination_has_its_own_port(net: Net):
    vs = net.virtual("v", pool="/P/web")
    before = net.big.endpoint(vs)
    net.change("PATCH", "ltm/virtual/~P~v", {"destination": "/P/10.9.9.9:81"})
    assert set(net.big.listeners()) == {"10.9.9.9:81"}
    assert net.big.endpoint(vs) != before
    assert net.ask(vs).pod == "web"


def test_udp_is_not_carried(net: Net):
    net.big.add_virtual("/P/u", "10.9.0.1:53", profiles=["/Common/udp"], ipProtocol="udp")
    assert net.big.listeners() == {}


def test_source_restricts_the_clients(net: Net):
    vs = net.virtual("v", pool="/P/web", source="127.0.0.2/32")
    with net.connect(vs) as client:
        assert client.ask().ended == RESET
    with net.connect(vs, source="127.0.0.2") as client:
        assert client.ask().pod == "web"


def test_a_refused_write_changes_no_listener(net: Net):
    net.virtual("v", pool="/P/web")
    before = net.big.listeners()
    with pytest.raises(Exception, match="01070333"):
        net.big.add_virtual("/P/w", "10.9.0.10:80", pool="/P/web")
    assert net.big.listeners() == before


def test_the_data_plane_starts_with_what_is_there_and_ends_alone():
    from mocks.bigip import FakeBigIP

    big = FakeBigIP()
    big.add_virtual("/Common/v", "10.9.0.1:80")
    others = list(big.store.on_commit)
    plane = big.start_dataplane()
    where = big.endpoint("/Common/v")
    with Client(where) as client:
        until(lambda: plane.counters()["connections"])
        big.close()
        assert client.rest() == (b"", RESET)
    assert refused(where)
    assert big.store.on_commit == others
    assert not [thread for thread in threading.enumerate() if thread.name == "fake-data-plane"]


def test_without_a_data_plane_nothing_is_computed():
    from mocks.bigip import FakeBigIP

    big = FakeBigIP()
    big.put_object("ltm/pool", {"name": "p"})
    rules = [{"name": "r", **forward("/Common/p")}]
    big.put_object("ltm/policy", {"name": "pol", "strategy": "first-match", "legacy": True, "rules": rules})
    big.add_virtual("/Common/v", "10.9.0.1:80", policies=["/Common/pol"])
    assert big.store.kept == {}
    big.close()


def test_a_restart_without_saving(net: Net):
    net.virtual("v", pool="/P/web")
    net.big.restart(lose_unsaved=True)
    assert net.big.listeners() == {}


def test_a_client_that_leaves_while_the_member_is_silent(net: Net):
    net.big.pods.silence("10.1.0.1", 8080)
    vs = net.virtual("v", pool="/P/web")
    with net.connect(vs) as client:
        client.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        until(lambda: net.plane.log)
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    net.quiet()
    assert net.last().outcome == "reset: the client is gone"


@pytest.mark.parametrize(
    ("begin", "why"),
    [
        pytest.param(b"", "idle", id="nothing"),
        pytest.param(b"GET / HTTP/1.1\r\n", "idle", id="half a request"),
        pytest.param(b"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc", "idle", id="half a body"),
    ],
)
def test_idle_clients_are_reset(make_net, begin, why):
    net = make_net(speed=1500.0)  # 300 s are 0.2 s
    net.pod("10.1.0.1")
    vs = net.virtual("v", pool=net.pool("web", "10.1.0.1:8080"))
    with net.connect(vs) as client:
        client.send(begin)
        assert client.rest() == (b"", RESET)
    net.quiet()


def test_a_busy_connection_is_not_idle(make_net):
    net = make_net(speed=1000.0)
    net.pod("10.1.0.1")
    vs = net.virtual("v", pool=net.pool("web", "10.1.0.1:8080"))
    with net.connect(vs) as client:
        assert [client.ask("/?delay=0.1").status for _ in range(5)] == [200] * 5


def test_a_disabled_address_answers_nobody(net: Net):
    """All of its virtual servers stop; connections that are open go on, as with a disabled virtual server."""
    net.big.add_virtual("/P/a", "10.9.0.1:80", pool="/P/web")
    net.big.add_virtual("/P/b", "10.9.0.1:443", pool="/P/web")
    where = net.big.endpoint("/P/a")
    with net.connect("/P/a") as client:
        client.ask()
        net.change("PATCH", "ltm/virtual-address/~P~10.9.0.1", {"enabled": "no"})
        assert net.big.listeners() == {}
        assert refused(where)
        assert client.ask().pod == "web"
    net.change("PATCH", "ltm/virtual-address/~P~10.9.0.1", {"enabled": "yes"})
    assert net.big.endpoint("/P/a") == where
    assert [net.ask(path).pod for path in ("/P/a", "/P/b")] == ["web", "web"]
