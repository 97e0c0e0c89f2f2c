"""pool_states.py: how often the BIG-IP is asked, and what is not known then."""

from types import SimpleNamespace

from f5router.cli.pool_states import MOST_POOLS, NOT_ASKED, PoolReader
from f5router.model.errors import Refused
from f5router.model.ltm import Pool, PoolMember
from tests.rows import rows

MEMBERS = frozenset({PoolMember("10.1.1.1", 80), PoolMember("10.1.1.2", 80)})


class Client:
    """Answers as a BIG-IP whose pools have so many active members."""

    def __init__(self, active, *, checked=True, counts=True, refuses=""):
        self.active, self.checked, self.counts, self.refuses = active, checked, counts, refuses
        self.asked = []

    def statistics(self, path):
        self.asked.append(path.removeprefix("/mgmt/tm/ltm/pool/"))
        if self.refuses and self.refuses in path:
            raise Refused("GET", path, "no")
        if path.endswith("/members/stats"):
            return _reply({"addr": "10.1.1.1", "port": 80, "status.availabilityState": "offline"})
        values = [{"tmName": name, "activeMemberCnt": active, "status.availabilityState":
                   "available" if self.checked else "unknown", "serverside.curConns": 3,
                   **({"memberCnt": 2} if self.counts else {})} for name, active in self.active.items()]
        return _reply(*values)


def _reply(*objects):
    return {"entries": {str(number): {"nestedStats": {"entries": {
        name: {"description" if isinstance(value, str) else "value": value}
        for name, value in values.items()}}}
        for number, values in enumerate(objects)}}


def device(client):
    pools = [Pool(name, members=MEMBERS) for name in client.active]
    return SimpleNamespace(client=client, observed={pool.ref: pool for pool in pools})


UP = {("10.1.1.1", 80): "up", ("10.1.1.2", 80): "up"}


@rows(("client", "health", "calls"), [
    (Client({"/Common/a": 2}), UP, 1),
    (Client({"/Common/a": 2}, checked=False), dict.fromkeys(UP, "unchecked"), 1),
    (Client({"/Common/a": 1}), {("10.1.1.1", 80): "down"}, 2),
    (Client({"/Common/a": 2}, counts=False), {("10.1.1.1", 80): "down"}, 2),  # before 13.1
    (Client({"/Common/a": 2}, refuses="pool/stats"), None, 1),
    (Client({"/Common/a": 1}, refuses="members"), None, 2)])
def test_all_pools_at_once(client, health, calls):
    bigip = device(client)
    reader, (pool,) = PoolReader(bigip, all_at_once=True), bigip.observed
    state = reader.state(pool)
    assert (state.health, len(client.asked), bool(state.problem)) == (health, calls, health is None)
    assert reader.state(pool) is state
    assert len(client.asked) == calls


def test_a_pool_that_is_not_there():
    assert PoolReader(device(Client({}))).state(Pool("/Common/a").ref) is NOT_ASKED


def test_a_bounded_number_of_pools_is_asked_about():
    client = Client({f"/Common/{number}": 0 for number in range(MOST_POOLS + 2)})
    bigip = device(client)
    reader = PoolReader(bigip, all_at_once=True)
    states = [reader.state(pool) for pool in bigip.observed]
    assert len(client.asked) == 1 + MOST_POOLS
    assert [state.problem for state in states[-2:]] == ["the BIG-IP is asked about 50 pools at most"] * 2
    assert not any(state.problem for state in states[:-2])
