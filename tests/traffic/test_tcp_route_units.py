"""Settings of the front end on virtual servers of TCPRoutes: traffic group, mirroring, a firewall policy."""

import socket
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from mocks.bigip import FakeBigIP
from tests.gateways import backend, tcp_route
from tests.traffic.conftest import FIRST, SECOND
from tests.traffic.test_tcp_routes import FLAGS, OBJECTS, ROUTE, VIRTUAL, service, site_with
from tests.waiting import DEADLINE_S, until

OTHER = tcp_route("r", backend("two", 5432))


@pytest.fixture
def site(site_of):
    site = site_with(site_of, *OBJECTS, ROUTE)
    site.timing = replace(site.timing, failover_s=0.1, failover_fresh_s=0.0, look_s=DEADLINE_S)
    return site


def fields(big: FakeBigIP, kind: str, name: str) -> dict:
    return next(item.fields for item in big.items(kind) if item.path == name)


def answering(pair) -> list[bool]:
    """For each unit, whether it has the address of the Gateway."""
    return ["10.9.0.1:5432" in big.dataplane.listeners() for big in pair.pair.units]


@contextmanager
def connected(where: tuple[str, int]):
    """A connection of a client, which a pod has greeted."""
    with closing(socket.create_connection(where, timeout=DEADLINE_S)) as client:
        yield client, client.recv(100).decode().strip()


def test_the_traffic_group(site, pair):
    """Clients are answered by the unit that has it, also by what the router writes to the other one then."""
    flags = {**FLAGS, **pair.flags}
    assert site.converge(**flags, f5_vserver_traffic_group=SECOND) == []
    assert fields(site.bigip, "ltm/virtual-address", "/Common/10.9.0.1")["trafficGroup"] == SECOND
    assert (answering(pair), service(site)) == ([True, False], "one")
    pair.pair.fail_over(SECOND)
    assert answering(pair) == [False, True]
    for route, name in ((ROUTE, "one"), (OTHER, "two")):
        site.apply(route)
        assert site.converge(**flags, f5_vserver_traffic_group=SECOND) == []
        with connected(pair.pair.endpoint(VIRTUAL)) as (_, greeting):
            assert greeting == name
    assert pair.written(pair.pair.units[1]) == []
    assert site.converge(**flags, f5_vserver_traffic_group=FIRST) == []
    assert (answering(pair), service(site)) == ([True, False], "two")


@pytest.mark.parametrize(("flags", "survives"), [({}, False), ({"f5_vserver_mirroring": "enabled"}, True)])
def test_mirroring(site, pair, flags, survives):
    """A mirrored connection goes on with its pod after a failover; others are reset."""
    assert site.converge(**FLAGS, **pair.flags, **flags) == []
    assert {fields(big, "ltm/virtual", VIRTUAL).get("mirror", "disabled") for big in pair.pair.units} == {
        "enabled" if survives else "disabled"}
    with connected(site.bigip.endpoint(VIRTUAL)) as (client, greeting):
        assert greeting == "one"
        pair.pair.fail_over()
        until(lambda: answering(pair) == [False, True])
        site.apply(OTHER)
        assert site.converge(**FLAGS, **pair.flags, **flags) == []
        if survives:
            client.sendall(b"x")
            assert b'"one-10.1.1.1"' in client.recv(1000)
        else:
            with pytest.raises(ConnectionResetError):
                client.recv(1000)
    with connected(pair.pair.endpoint(VIRTUAL)) as (_, greeting):
        assert greeting == "two"


@pytest.mark.parametrize(("source", "wanted"), [("192.0.2.0/24", "one"), ("127.0.0.0/8", "reset")])
def test_a_firewall_policy_of_an_administrator(site, source, wanted):
    """It decides about new connections; one that is open goes on, and all are let in without the setting."""
    site.change("PATCH", "sys/provision/afm", {"level": "nominal"})
    site.bigip.put_object("security/firewall/policy", {"name": "/Common/wall", "rules": [
        {"name": "r", "source": {"addresses": [{"name": source}]}, "action": "reject"}]})
    assert site.converge(**FLAGS) == []
    with connected(site.bigip.endpoint(VIRTUAL)) as (client, _):
        assert site.converge(**FLAGS, f5_firewall_policy="/Common/wall") == []
        assert fields(site.bigip, "ltm/virtual", VIRTUAL)["fwEnforcedPolicy"] == "/Common/wall"
        assert service(site) == wanted
        client.sendall(b"x")
        assert b'"one-10.1.1.1"' in client.recv(1000)
    assert site.converge(**FLAGS) == []
    assert service(site) == "one"
