"""Statistics of pools and virtual servers, as recorded replies have them."""

import json
from pathlib import Path

import pytest

from f5router.icontrol import statistics
from f5router.icontrol.statistics import PoolStatistics, Traffic

RECORDINGS = Path(__file__).parents[2] / "recordings"
URL = "https://localhost/mgmt/tm/ltm/pool/"


class Client:
    """A client whose device gives one reply."""

    def __init__(self, reply):
        self._reply, self.paths = reply, []

    def statistics(self, path: str):
        self.paths.append(path)
        return self._reply


def recorded(name: str) -> Client:
    return Client(json.loads((RECORDINGS / name).read_text()))


def entry(**values) -> dict:
    """An entry with counters of these names, in which "_" stands for a dot."""
    shown = {name.replace("_", "."): {"description" if isinstance(value, str) else "value": value}
             for name, value in values.items()}
    return {"nestedStats": {"entries": shown}}


def test_a_recorded_pool():
    client = recorded("ltm/pool/16.0.0--stats.json")
    assert statistics.pools(client) == {"/Common/pool1": PoolStatistics(Traffic(), members=3, active=1)}
    assert statistics.pool(client, "/Common/pool1") == PoolStatistics(Traffic(), members=3, active=1)
    assert client.paths == ["/mgmt/tm/ltm/pool/stats", "/mgmt/tm/ltm/pool/~Common~pool1/stats"]


@pytest.mark.parametrize("name", ["ltm/virtual/13.1.1--stats.json", "ltm/virtual/16.0.0--stats.json"])
def test_a_recorded_virtual_server(name):
    """The key of the entry differs between the versions."""
    assert statistics.virtual_server(recorded(name), "/Common/vs") == Traffic()


def test_counters():
    """The device counts bits; names are in `tmName`, or in the key."""
    counters = {"serverside_curConns": 2, "serverside_totConns": 9, "serverside_bitsIn": 80,
                "serverside_bitsOut": 816, "totRequests": 7, "memberCnt": 4, "activeMemberCnt": 3}
    client = Client({"entries": {
        f"{URL}x/stats": entry(tmName="/P/folder/x", **counters),
        f"{URL}~P~y/stats": entry(activeMemberCnt=1, status_availabilityState="unknown")}})
    assert statistics.pools(client) == {
        "/P/folder/x": PoolStatistics(Traffic(2, 9, 10, 102, 7), members=4, active=3),
        "/P/y": PoolStatistics(Traffic(), members=None, active=1, is_checked=False)}


@pytest.mark.parametrize("reply", [
    {}, {"entries": []}, {"entries": {"x": None}}, {"entries": {"x": {"nestedStats": []}}},
    {"entries": {"x": {"nestedStats": {"entries": None}}}}], ids=str)
def test_a_reply_of_another_form(reply):
    assert statistics.pools(Client(reply)) == {}
    assert statistics.pool(Client(reply), "/P/x") is None
    assert statistics.virtual_server(Client(reply), "/P/x") is None


def test_a_counter_of_another_form():
    """It counts as 0; the others do not suffer."""
    values = {"serverside.curConns": None, "serverside.totConns": {"value": "many"},
              "serverside.bitsIn": {"value": -8}, "totRequests": {"value": 3}, "tmName": {"value": 1}}
    client = Client({"entries": {f"{URL}~P~x/stats": {"nestedStats": {"entries": values}}}})
    assert statistics.pools(client) == {"/P/x": PoolStatistics(Traffic(requests=3))}
