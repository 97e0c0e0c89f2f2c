"""`/stats` counts the traffic that the data plane carries."""

from __future__ import annotations

from typing import Any

import pytest

from mocks.bigip import refusals
from tests.mocks.bigip.dataplane.conftest import Net
from tests.waiting import until


@pytest.fixture
def net(make_net) -> Net:
    net = make_net()
    net.pod("10.1.0.1", name="web")
    net.pool("web", "10.1.0.1:8080")
    net.pool("idle", "10.1.0.1:8080", monitor="/Common/tcp")
    net.virtual("vs", pool="/P/web")
    return net


def shown(net: Net, path: str) -> dict[str, dict[str, Any]]:
    """Statistics by full path of the object."""
    reply = net.big.request("GET", f"{path}/stats", {})
    values = [{name: next(iter(value.values())) for name, value in entry["nestedStats"]["entries"].items()}
              for entry in reply["entries"].values()]
    return {value["tmName"]: value for value in values}


def test_traffic_is_counted(net: Net):
    """Connections while they are open and afterwards, bytes in bits, requests; each object its own."""
    before = shown(net, "ltm/pool")
    assert {(value["serverside.curConns"], value["serverside.totConns"]) for value in before.values()} == {
        (0, 0)}
    client = net.connect("/P/vs")
    assert client.ask("/a").pod == client.ask("/b").pod == "web"
    pool, server = shown(net, "ltm/pool")["/P/web"], shown(net, "ltm/virtual/~P~vs")["/P/vs"]
    assert [pool[f"serverside.{name}"] for name in ("curConns", "maxConns", "totConns")] == [1, 1, 1]
    assert [server[f"clientside.{name}"] for name in ("curConns", "maxConns", "totConns")] == [1, 1, 1]
    assert pool["totRequests"] == server["totRequests"] == 2
    for value, side in ((pool, "serverside"), (server, "clientside")):
        assert value[f"{side}.bitsOut"] > value[f"{side}.bitsIn"] > 8 * 2 * len(b"GET /a HTTP/1.1\r\n\r\n")
    assert shown(net, "ltm/pool")["/P/idle"]["serverside.totConns"] == 0
    client.close()
    until(lambda: shown(net, "ltm/virtual/~P~vs")["/P/vs"]["clientside.curConns"] == 0)
    pool = shown(net, "ltm/pool/~P~web")["/P/web"]
    assert (pool["serverside.curConns"], pool["serverside.totConns"]) == (0, 1)


def test_a_new_object_of_the_same_name_begins_at_0(net: Net):
    assert net.ask("/P/vs").pod == "web"
    assert shown(net, "ltm/pool")["/P/web"]["totRequests"] == 1
    net.change("DELETE", "ltm/virtual/~P~vs")
    net.change("DELETE", "ltm/pool/~P~web")
    net.pool("web", "10.1.0.1:8080")
    assert shown(net, "ltm/pool")["/P/web"]["totRequests"] == 0


def test_members_by_their_monitors(net: Net):
    """Without a monitor none counts as active, and the pool is unknown; a disabled one takes nothing."""
    net.plane.check_members()
    pools = shown(net, "ltm/pool")
    states = {path: (value["activeMemberCnt"], value["memberCnt"], value["status.availabilityState"])
              for path, value in pools.items()}
    assert states == {"/P/web": (0, 1, "unknown"), "/P/idle": (1, 1, "available")}
    net.change("PATCH", "ltm/pool/~P~idle/members/~P~10.1.0.1:8080", {"session": "user-disabled"})
    idle = shown(net, "ltm/pool")["/P/idle"]
    assert (idle["activeMemberCnt"], idle["memberCnt"], idle["status.availabilityState"]) == (0, 1, "offline")


def test_before_13_1_the_number_of_members_is_missing(make_net):
    net = make_net(tmos_version="12.1.0")
    net.pool("web", "10.1.0.1:8080")
    value = shown(net, "ltm/pool")["/P/web"]
    assert "activeMemberCnt" in value
    assert "memberCnt" not in value


def test_members_of_one_pool(net: Net):
    """By address and port, with their own traffic, in any partition."""
    net.pool("two", "10.1.0.1:8080", "10.1.0.2:8080", monitor="/Common/tcp")
    net.virtual("other", pool="/P/two")
    net.plane.check_members()
    assert {net.ask("/P/other").pod for _ in range(2)} == {"web"}
    values = {(value["addr"], value["port"]): value for value in members(net, "two")}
    assert {key: (value["monitorStatus"], value["status.availabilityState"], value["totRequests"])
            for key, value in values.items()} == {
        ("10.1.0.1", 8080): ("up", "available", 2), ("10.1.0.2", 8080): ("down", "offline", 0)}
    assert "tmName" not in values["10.1.0.1", 8080]
    net.change("PATCH", "ltm/pool/~P~two/members/~P~10.1.0.1:8080", {"session": "user-disabled"})
    assert {value["status.enabledState"] for value in members(net, "two")} == {"disabled", "enabled"}
    with pytest.raises(refusals.Refusal, match="was not found"):
        members(net, "none")


def members(net: Net, pool: str) -> list[dict[str, Any]]:
    """Statistics of a pool's members."""
    reply = net.big.request("GET", f"ltm/pool/~P~{pool}/members/stats", {})
    return [{name: next(iter(value.values())) for name, value in entry["nestedStats"]["entries"].items()}
            for entry in reply["entries"].values()]


def test_profiles_of_one_virtual_server(net: Net):
    """Responses by class, and connections to members that failed, of this virtual server alone."""
    net.pool("broken", "10.1.0.9:8080")
    net.virtual("other", pool="/P/broken")
    assert net.ask("/P/vs").status == 200
    assert net.ask("/P/other").status == 0
    counts = {}
    for name in ("vs", "other"):
        values = shown(net, f"ltm/virtual/~P~{name}/profiles")
        http, tcp = values["/Common/http"], values["/Common/tcp"]
        assert (http["typeId"], tcp["typeId"]) == ("ltm profile http", "ltm profile tcp")
        counts[name] = *(http[f"resp_{digit}xxCnt"] for digit in range(2, 6)), tcp["connfails"]
    assert counts == {"vs": (1, 0, 0, 0, 0), "other": (0, 0, 0, 0, 1)}


def test_the_queue_of_a_pool(net: Net):
    """A connection that waits for a member at its limit is in the queue of the pool."""
    net.change("PATCH", "ltm/pool/~P~web", {"queueOnConnectionLimit": "enabled"})
    net.change("PATCH", "ltm/pool/~P~web/members/~P~10.1.0.1:8080", {"connectionLimit": 1})
    first = net.connect("/P/vs")
    assert first.ask("/a").pod == "web"
    second = net.connect("/P/vs")
    second.send(b"GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
    until(lambda: shown(net, "ltm/pool")["/P/web"]["connqAll.depth"] == 1)
    first.close()
    until(lambda: shown(net, "ltm/pool")["/P/web"]["connqAll.depth"] == 0)
    second.close()
