"""Statistics of pools, members and virtual servers, as recorded and documented replies have them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from f5router.icontrol import statistics
from f5router.icontrol.statistics import MemberStatistics, PoolStatistics, Traffic, VirtualStatistics
from f5router.model.errors import NotFound, Unreachable

RECORDINGS = Path(__file__).parents[2] / "recordings"
URL = "https://localhost/mgmt/tm/ltm/pool/"
IDLE = Traffic(max_connections=0, queued=0)


class Client:
    """A client whose device gives one reply, and another to questions about profiles."""

    def __init__(self, reply, of_profiles=None):
        self._reply, self._of_profiles, self.paths = reply, of_profiles, []

    def statistics(self, path: str):
        self.paths.append(path)
        if not path.endswith("/profiles/stats"):
            return self._reply
        if isinstance(self._of_profiles, Exception):
            raise self._of_profiles
        return self._of_profiles or {}


def recorded(name: str) -> Client:
    return Client(json.loads((RECORDINGS / name).read_text()))


def entry(**values) -> dict:
    """An entry with counters of these names, in which "_" stands for a dot, except in those of responses."""
    shown = {name if name.startswith("resp_") else name.replace("_", "."):
             {"description" if isinstance(value, str) else "value": value} for name, value in values.items()}
    return {"nestedStats": {"entries": shown}}


def test_a_recorded_pool():
    client = recorded("ltm/pool/16.0.0--stats.json")
    assert statistics.pools(client) == {"/Common/pool1": PoolStatistics(IDLE, members=3, active=1)}
    assert statistics.pool(client, "/Common/pool1") == PoolStatistics(IDLE, members=3, active=1)
    assert client.paths == ["/mgmt/tm/ltm/pool/stats", "/mgmt/tm/ltm/pool/~Common~pool1/stats"]


@pytest.mark.parametrize("name", ["ltm/virtual/13.1.1--stats.json", "ltm/virtual/16.0.0--stats.json"])
def test_a_recorded_virtual_server(name):
    """The key of the entry differs between the versions."""
    client = recorded(name)
    assert statistics.virtual_server(client, "/Common/vs") == VirtualStatistics(Traffic(max_connections=0))
    url = "/mgmt/tm/ltm/virtual/~Common~vs"
    assert client.paths == [f"{url}/stats", f"{url}/profiles/stats"]


def test_counters():
    """The device counts bits; names are in `tmName`, or in the key."""
    counters = {"serverside_curConns": 2, "serverside_totConns": 9, "serverside_bitsIn": 80,
                "serverside_bitsOut": 816, "totRequests": 7, "memberCnt": 4, "activeMemberCnt": 3,
                "serverside_maxConns": 6, "connq_depth": 1, "connqAll_depth": 5}
    client = Client({"entries": {
        f"{URL}x/stats": entry(tmName="/P/folder/x", **counters),
        f"{URL}~P~y/stats": entry(activeMemberCnt=1, status_availabilityState="unknown")}})
    assert statistics.pools(client) == {
        "/P/folder/x": PoolStatistics(Traffic(2, 9, 10, 102, 7, 6, 5), members=4, active=3),
        "/P/y": PoolStatistics(IDLE, members=None, active=1, is_checked=False)}


@pytest.mark.parametrize("reply", [
    {}, {"entries": []}, {"entries": {"x": None}}, {"entries": {"x": {"nestedStats": []}}},
    {"entries": {"x": {"nestedStats": {"entries": None}}}}], ids=str)
def test_a_reply_of_another_form(reply):
    assert statistics.pools(Client(reply)) == {}
    assert statistics.pool(Client(reply), "/P/x") is None
    assert statistics.virtual_server(Client(reply), "/P/x") is None
    assert statistics.members(Client(reply), "/P/x") == {}


def test_a_counter_of_another_form():
    """It counts as 0; the others do not suffer."""
    values = {"serverside.curConns": None, "serverside.totConns": {"value": "many"},
              "serverside.bitsIn": {"value": -8}, "totRequests": {"value": 3}, "tmName": {"value": 1}}
    client = Client({"entries": {f"{URL}~P~x/stats": {"nestedStats": {"entries": values}}}})
    assert statistics.pools(client) == {"/P/x": PoolStatistics(replace(IDLE, requests=3))}


def test_members():
    """They have no name, but address and port; what has neither is no member."""
    client = Client({"entries": {
        "a": entry(addr="10.1.0.1", port=80, serverside_curConns=1, connq_depth=2, connqAll_depth=9,
                   status_availabilityState="available", status_enabledState="enabled"),
        "b": entry(addr="10.1.0.1%10", port=80, status_availabilityState="offline",
                   status_enabledState="disabled-by-parent"),
        "c": entry(addr="fd00::1", port=443, status_availabilityState="unknown"),
        "d": entry(tmName="/Common/zf", memberCnt=2)}})
    assert statistics.members(client, "/P/folder/x") == {
        "10.1.0.1:80": MemberStatistics(Traffic(1, max_connections=0, queued=2), is_available=True),
        "10.1.0.1%10:80": MemberStatistics(IDLE, is_available=False, is_enabled=False),
        "[fd00::1]:443": MemberStatistics(IDLE)}
    assert client.paths == ["/mgmt/tm/ltm/pool/~P~folder~x/members/stats"]


def test_health():
    """A disabled member is disabled, whatever its monitor finds; a state that is not known is left out."""
    client = Client({"entries": {
        "a": entry(addr="10.1.0.1", port=80, status_availabilityState="available",
                   status_enabledState="enabled"),
        "b": entry(addr="10.1.0.2", port=80, status_availabilityState="offline"),
        "c": entry(addr="fd00:0::1", port=443, status_availabilityState="unknown",
                   status_enabledState="enabled"),
        "d": entry(addr="10.1.0.4", port=80, status_availabilityState="available",
                   status_enabledState="disabled-by-parent"),
        "e": entry(addr="10.1.0.5", port=80, status_availabilityState="offline",
                   status_enabledState="disabled"),
        "f": entry(addr="10.1.0.6", port=80, status_availabilityState="new"),
        "h": entry(addr="10.1.0.8", port=80, status_availabilityState="offline", monitorStatus="checking"),
        "g": entry(tmName="/P/folder/x", status_availabilityState="available")}})
    assert statistics.read_health(client, "/P/folder/x") == {
        ("10.1.0.1", 80): "up", ("10.1.0.2", 80): "down", ("fd00::1", 443): "unchecked",
        ("10.1.0.8", 80): "unchecked", ("10.1.0.4", 80): "disabled", ("10.1.0.5", 80): "disabled"}
    assert client.paths == ["/mgmt/tm/ltm/pool/~P~folder~x/members/stats"]


@pytest.mark.parametrize(("profiles", "responses", "errors"), [
    pytest.param({}, {}, None, id="none"),
    pytest.param({"entries": {
        "a": entry(typeId="ltm profile http", resp_2xxCnt=9, resp_3xxCnt=1, resp_5xxCnt=2),
        "b": entry(typeId="ltm profile tcp", connfails=3, accepts=5),
        "c": entry(typeId="ltm profile tcp", connfails=4),
        "d": entry(typeId="ltm profile one-connect", connfails=50)}},
        {"2xx": 9, "3xx": 1, "4xx": 0, "5xx": 2}, 7, id="HTTP, and TCP of either side"),
    pytest.param({"entries": {"b": entry(typeId="ltm profile tcp", accepts=5)}}, {}, None,
                 id="a TCP profile without this counter"),
    pytest.param(NotFound("GET", "/x", "no such collection", status=404), {}, None, id="refused")])
def test_profiles_of_a_virtual_server(profiles, responses, errors):
    client = Client({"entries": {"a": entry(clientside_totConns=4, clientside_maxConns=2)}}, profiles)
    assert statistics.virtual_server(client, "/P/vs") == VirtualStatistics(
        Traffic(opened=4, max_connections=2), responses, errors)


def test_an_outage_between_the_two_requests():
    client = Client({"entries": {"a": entry(clientside_totConns=4)}}, Unreachable("GET", "/x", "down"))
    with pytest.raises(Unreachable):
        statistics.virtual_server(client, "/P/vs")
