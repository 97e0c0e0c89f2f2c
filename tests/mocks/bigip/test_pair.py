"""Two fakes as a pair: failover, config sync, reboot."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
import requests

from mocks.bigip import FakeBigIP, unit
from mocks.bigip.pair import Pair
from tests.mocks.bigip.test_unit import status
from tests.waiting import until


class Caller:
    """Requests to one unit."""

    def __init__(self, big: FakeBigIP):
        self.big, self.session = big, requests.Session()
        self.session.trust_env = False
        self.session.auth, self.session.verify = (big.username, big.password), big.ca_file

    def ok(self, method: str, path: str, body: object = None) -> dict:
        reply = self.session.request(method, f"{self.big.url}/mgmt/tm/{path}", json=body, timeout=30)
        assert reply.status_code == 200, reply.text
        return reply.json()

    def failover(self) -> str:
        (entry,) = self.ok("GET", "cm/failover-status")["entries"].values()
        return entry["nestedStats"]["entries"]["status"]["description"]


@pytest.fixture(params=[False, True], ids=["manual", "auto-sync"])
def joined(request) -> Iterator[tuple[Pair, Caller, Caller, bool]]:
    with FakeBigIP() as first, FakeBigIP() as second:
        first.add_virtual("/Common/web", "10.0.0.1:80")
        yield Pair(first, second, auto_sync=request.param), Caller(first), Caller(second), request.param
        assert first.errors == second.errors == []


POOL = {"name": "web", "partition": "Common"}
PUSH = {"command": "run", "utilCmdArgs": "config-sync to-group pair"}


def test_config_sync_carries_what_does_not_belong_to_a_unit(joined):
    """In sync at first; changes of one unit come to the other at once, or with the command."""
    pair, first, second, auto_sync = joined
    assert [status(caller)[0] for caller in (first, second)] == ["In Sync", "In Sync"]
    assert pair.units[1].get("ltm/virtual/~Common~web")
    first.ok("POST", "ltm/pool", POOL)
    assert (pair.units[1].get("ltm/pool/~Common~web") is not None) == auto_sync
    if not auto_sync:
        recommended = f" - Recommended action: Synchronize {unit.HOSTNAME} to group pair"
        assert [status(caller)[0] for caller in (first, second)] == ["Changes Pending"] * 2
        assert [status(caller)[2][-1] for caller in (first, second)] == [recommended] * 2
        first.ok("POST", "cm", PUSH)
    assert [status(caller)[:2] for caller in (first, second)] == [("In Sync", "green")] * 2
    assert pair.units[1].get("ltm/pool/~Common~web")
    first.ok("POST", "net/self", {"name": "inner", "partition": "Common", "address": "10.1.0.1/16",
                                "vlan": "/Common/internal"})
    assert status(first)[0] == "In Sync"
    assert pair.units[1].get("net/self/~Common~inner") is None
    assert pair.are_equal()


@pytest.mark.parametrize("excluded", [0, 1, 2])
def test_tunnels_belong_to_a_unit_if_the_administrator_says_so_on_both(joined, excluded):
    """A tunnel that is copied comes with an empty FDB; its profile is copied always."""
    pair, first, second, auto_sync = joined
    for caller in (first, second)[:excluded]:
        caller.ok("PATCH", "sys/db/iptunnel.configsync", {"value": "disable"})
    first.ok("POST", "net/tunnels/vxlan", {"name": "p", "partition": "Common", "port": 4789})
    if not auto_sync:
        first.ok("POST", "cm", PUSH)
    first.ok("POST", "net/tunnels/tunnel", {
        "name": "t", "partition": "Common", "profile": "/Common/p", "localAddress": "10.3.89.213"})
    first.ok("POST", "net/fdb/tunnel/~Common~t/records",
             {"name": "0a:0a:0a:01:01:01", "endpoint": "10.1.1.1"})
    assert status(first)[0] == ("In Sync" if auto_sync or excluded == 2 else "Changes Pending")
    if not auto_sync:
        first.ok("POST", "cm", PUSH)
    copy = pair.units[1].get("net/tunnels/tunnel/~Common~t")
    assert (copy is None) == (excluded == 2)
    assert pair.units[1].get("net/tunnels/vxlan/~Common~p")
    if copy:
        assert second.ok("GET", "net/fdb/tunnel/~Common~t/records").get("items", []) == []
    assert pair.are_equal()


def test_changes_on_both_are_a_conflict(joined):
    """It stays one until config sync decides it; the loser's changes are gone."""
    pair, first, second, auto_sync = joined
    pair.set("STANDBY", unit.ACTIVE)
    first.ok("POST", "ltm/pool", POOL)
    second.ok("POST", "ltm/pool", {**POOL, "name": "other"})
    if auto_sync:
        assert pair.are_equal()
        return
    assert [status(caller)[:2] for caller in (first, second)] == [("Changes Pending", "red")] * 2
    second.ok("POST", "cm", PUSH)
    assert pair.units[0].get("ltm/pool/~Common~web") is None
    assert (pair.units[0].get("ltm/pool/~Common~other") is None, pair.units[1].unit.overwritten) == (False, 1)


def test_a_unit_that_reboots_has_its_last_saved_configuration(joined):
    """The other one takes over, reports that the peer is gone, and is the newer one afterwards."""
    pair, first, second, auto_sync = joined
    first.ok("POST", "sys/config", {"command": "save"})
    first.ok("POST", "ltm/pool", POOL)
    pair.crash(pair.units[0])
    with pytest.raises(requests.ConnectionError):
        first.failover()
    assert (second.failover(), status(second)[0]) == ("ACTIVE", "Disconnected")
    assert pair.active is pair.units[1]
    second.ok("POST", "ltm/pool", {**POOL, "name": "meanwhile"})
    second.ok("POST", "cm", PUSH)
    assert status(second)[0] == "Disconnected"
    pair.boot(pair.units[0])
    assert [caller.failover() for caller in (first, second)] == ["STANDBY", "ACTIVE"]
    assert pair.are_equal() == auto_sync
    if not auto_sync:
        assert pair.units[0].get("ltm/pool/~Common~web") is None
        assert status(first)[2][-1] == f" - Recommended action: Synchronize {unit.PEER} to group pair"


def test_a_reboot_may_be_followed_by_a_conflict(joined):
    pair, first, second, _ = joined
    pair.crash(pair.units[0])
    pair.boot(pair.units[0], conflict=True)
    assert [status(caller)[:2] for caller in (first, second)] == [("Changes Pending", "red")] * 2


def test_traffic_goes_to_the_active_unit(joined):
    """The standby does not answer for addresses that float, and resets their connections."""
    pair = joined[0]
    for big in pair.units:
        big.start_dataplane()
    pair.set(unit.ACTIVE, "STANDBY")
    assert pair.endpoint("/Common/web") == pair.units[0].endpoint("/Common/web")
    client = socket.create_connection(pair.endpoint("/Common/web"))
    until(lambda: pair.units[0].dataplane.flows)
    with pytest.raises(KeyError):
        pair.units[1].endpoint("/Common/web")
    pair.fail_over()
    assert pair.endpoint("/Common/web") == pair.units[1].endpoint("/Common/web")
    with client, pytest.raises(ConnectionResetError):
        client.recv(1)
    with pytest.raises(KeyError):
        pair.units[0].endpoint("/Common/web")


def test_each_shows_the_other(joined):
    pair, first, second, _ = joined
    pair.fail_over()
    shown = [[(item["name"], item["failoverState"], item["selfDevice"])
              for item in caller.ok("GET", "cm/device")["items"]] for caller in (first, second)]
    assert shown == [[(unit.HOSTNAME, "standby", "true"), (unit.PEER, "active", "false")],
                     [(unit.PEER, "active", "true"), (unit.HOSTNAME, "standby", "false")]]
    pair.set(unit.ACTIVE, unit.ACTIVE)
    with pytest.raises(ValueError, match="unpack"):
        _ = pair.active
