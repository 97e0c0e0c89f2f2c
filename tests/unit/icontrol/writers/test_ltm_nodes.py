"""LTM nodes in a partition that several routers share, against the fake BIG-IP."""

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.observation import Observation
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers import ltm_nodes
from f5router.icontrol.writers.ltm_nodes import NodeWriter
from f5router.model import names
from f5router.model.errors import BigIPError, Conflict, NotFound, Refused
from f5router.model.ltm import Pool, PoolMember
from mocks.bigip import FakeBigIP
from tests.unit.icontrol.rest.test_client_on_device import settings_of

RECORDINGS = Path(__file__).parents[3] / "recordings" / "ltm"
A, B, C = "10.1.1.1", "10.1.1.2", "2001:db8::1"
ABSENT = {"status": 404, "message": "01020036:3: The requested Node was not found."}


def left(writer: NodeWriter, *addresses: str) -> int:
    """How many nodes go when these addresses have left."""
    writer.forget(addresses)
    return writer.remove_left(())


def pool(*addresses: str, partition: str = "P") -> Pool:
    return Pool(f"/{partition}/openshift_shop_web", members=frozenset(PoolMember(a, 8080) for a in addresses))


class Bench:
    """A fake with partitions P and Q, and a writer of each."""

    def __init__(self, stack: ExitStack, **options):
        self.big = stack.enter_context(FakeBigIP(partitions=("Common", "P", "Q"), **options))
        self.client = stack.enter_context(Client(settings_of(self.big, verify=self.big.ca_file)))
        self.p = NodeWriter(self.client, own="/P", shared="/Common")
        self.q = NodeWriter(self.client, own="/Q", shared="/Common")

    def put(self, wanted: Pool, nodes, exists: bool) -> None:
        try:
            if not exists:
                self.client.post(Pool.KIND, ltm_codec.encode(wanted, nodes))
                return
        except Conflict:
            pass  # the reply to an earlier one was lost
        self.client.patch(item_path(Pool.KIND, wanted.path), ltm_codec.pool_changes(wanted, nodes))

    def write(self, writer: NodeWriter, wanted: Pool, old: Pool | None = None) -> None:
        writer.write(wanted, old, self.put)

    def by_hand(self, path: str, address: str, **fields: str) -> None:
        _, partition, name = path.split("/")
        body = {"name": name, "partition": partition, "address": address, **fields}
        self.big.put_object("ltm/node", body)

    def members(self, wanted: Pool) -> set[str]:
        body = self.big.get(f"ltm/pool/{wanted.path.replace('/', '~')}")
        return {item["fullPath"] for item in ltm_codec.items(body, "members")}

    def nodes(self) -> dict[str, str]:
        """Description by path."""
        return {item.path: item.fields.get("description", "") for item in self.big.items("ltm/node")}

    def requests(self) -> list[str]:
        sent = [f"{e.method} {e.path.rpartition('/ltm/')[2]}" for e in self.big.log if "/ltm/" in e.path]
        self.big.clear_log()
        return sent


@pytest.fixture
def bench():
    with ExitStack() as stack:
        yield Bench(stack)


def test_without_a_shared_partition(bench):
    """They come with the members, in the pool's partition; not one more request."""
    writer = NodeWriter(bench.client, own="/P", shared=None)
    bench.write(writer, pool(A, C))
    assert bench.requests() == ["POST pool"]
    assert bench.nodes() == {f"/P/{A}": "", f"/P/{C}": ""}


def test_made_on_purpose(bench):
    """Each once, before the pool; those of members that stay are not asked for."""
    bench.write(bench.p, pool(A, C))
    assert bench.requests() == ["POST node", "POST node", "POST pool"]
    assert bench.members(pool()) == {f"/Common/{A}:8080", f"/Common/{C}.8080"}
    assert bench.nodes() == dict.fromkeys((f"/Common/{A}", f"/Common/{C}"), names.NODE_DESCRIPTION)
    bench.write(bench.p, pool(A, B), pool(A, C))
    assert bench.requests()[0] == "POST node"
    assert f"/Common/{B}:8080" in bench.members(pool())


def test_two_routers_share(bench):
    bench.write(bench.p, pool(A))
    bench.write(bench.q, pool(A, B, partition="Q"))
    assert bench.members(pool(partition="Q")) == {f"/Common/{A}:8080", f"/Common/{B}:8080"}
    assert set(bench.nodes()) == {f"/Common/{A}", f"/Common/{B}"}
    bench.write(bench.p, pool(), pool(A))
    assert left(bench.p, A, B) == 0
    bench.write(bench.q, pool(partition="Q"), pool(A, B, partition="Q"))
    assert left(bench.q, A, B) == 2
    assert bench.nodes() == {}


def test_those_of_an_administrator_stay(bench):
    """In a shared partition all without our description; in our own those that somebody changed."""
    bench.by_hand(f"/Common/{A}", A)
    bench.by_hand(f"/Common/{C}", C, description="spare")
    bench.by_hand("/Common/web", "10.1.1.3")
    bench.by_hand("/P/10.1.1.4", "10.1.1.4", description="spare")
    bench.by_hand("/P/10.1.1.5", "10.1.1.5", monitor="/Common/icmp")
    bench.by_hand("/P/10.1.1.6", "10.1.1.6")
    bench.by_hand("/Q/10.1.1.7", "10.1.1.7")
    bench.write(bench.p, pool(A, B, C))
    bench.write(bench.p, pool(), pool(A, B, C))
    assert left(bench.p, A, B, C, *(f"10.1.1.{n}" for n in range(3, 8))) == 2
    assert set(bench.nodes()) == {f"/Common/{A}", f"/Common/{C}", "/Common/web", "/P/10.1.1.4",
                                  "/P/10.1.1.5", "/Q/10.1.1.7"}


def test_one_that_came_with_a_member_is_used_where_it_is(bench):
    """A router that had no shared partition before: nothing moves, nothing breaks."""
    bench.write(NodeWriter(bench.client, own="/P", shared=None), pool(A))
    members = ltm_codec.items(bench.big.get("ltm/pool/~P~openshift_shop_web"), "members")
    bench.p.update_from(Observation(nodes=ltm_nodes.nodes_of(members)))
    bench.write(bench.p, pool(A, B), pool(A))
    assert bench.members(pool()) == {f"/P/{A}:8080", f"/Common/{B}:8080"}
    bench.p.update_from(Observation())
    bench.write(bench.p, pool(A, B), pool(B))
    assert bench.members(pool()) == {f"/P/{A}:8080", f"/Common/{B}:8080"}
    bench.write(bench.p, pool(B), pool(A, B))
    assert left(bench.p, A) == 1
    bench.write(bench.p, pool(A, B), pool(B))
    assert bench.members(pool()) == {f"/Common/{A}:8080", f"/Common/{B}:8080"}


def test_other_refusals_stay_as_they_are(bench):
    """A pool, or a folder, that is not there."""
    def patch(wanted, nodes, exists):
        bench.client.patch(item_path(Pool.KIND, wanted.path), ltm_codec.pool_changes(wanted, nodes))

    for writer in (bench.p, NodeWriter(bench.client, own="/P", shared=None)):
        with pytest.raises(NotFound, match="requested Pool"):
            writer.write(pool(A), pool(), patch)
    with pytest.raises(Refused) as caught:
        NodeWriter(bench.client, own="/P", shared="/None").write(pool(A), None, bench.put)
    assert "--f5-node-partition" not in caught.value.text


@pytest.mark.parametrize("quirks", [(), ("member-makes-no-shared-node",)])
def test_a_node_that_the_other_router_removes_in_between(quirks):
    """Made again, whether or not the device makes it with the member."""
    with ExitStack() as stack:
        bench = Bench(stack, quirks=quirks)

        def removed_first(wanted, nodes, exists):
            if not removed:
                removed.append(left(bench.q, A))
            bench.put(wanted, nodes, exists)

        removed: list[int] = []
        bench.p.write(pool(A), None, removed_first)
        assert removed == [1]
        assert bench.members(pool()) == {f"/Common/{A}:8080"}


def test_what_failed_is_not_believed(bench):
    """After a refusal of the pool a node may be gone: it is asked for again, or tidied up."""
    def refuse(wanted, nodes, exists):
        raise Refused(text="01070151:3: no")

    with pytest.raises(Refused):
        bench.p.write(pool(A), None, refuse)
    bench.requests()
    bench.write(bench.p, pool(A))
    assert bench.requests()[0] == "POST node"
    bench.requests()
    assert bench.p.remove_left({A}) == 0
    assert bench.requests() == []
    with pytest.raises(Refused):
        bench.p.write(pool(B), None, refuse)
    assert bench.p.remove_left({A}) == 1
    assert set(bench.nodes()) == {f"/Common/{A}"}


def test_what_was_left_is_not_forgotten(bench):
    """When it cannot be removed now, it is the next time."""
    bench.write(bench.p, pool(A))
    bench.write(bench.p, pool(), pool(A))
    bench.p.forget([A])
    bench.big.inject("refuse", times=1, method="DELETE", path="ltm/node", status=400, message="no")
    with pytest.raises(BigIPError):
        bench.p.remove_left(())
    assert bench.p.remove_left(()) == 1
    bench.requests()
    assert bench.p.remove_left(()) == 0
    assert bench.requests() == []


def test_what_one_unit_of_a_pair_has_left_goes_from_the_next(bench):
    """Config sync has brought the node there."""
    bench.write(bench.p, pool(A))
    bench.write(bench.p, pool(), pool(A))
    bench.p.forget([A])
    next_unit = NodeWriter(bench.client, own="/P", shared="/Common")
    next_unit.take_over(bench.p)
    assert next_unit.remove_left(()) == 1
    assert bench.nodes() == {}


def test_a_node_that_a_pool_is_about_to_use_is_not_left(bench):
    bench.write(bench.p, pool(A))
    bench.write(bench.p, pool(), pool(A))
    bench.p.forget([A])
    seen = []
    bench.p.write(pool(A), pool(), lambda *args: (seen.append(bench.p.left), bench.put(*args)))
    assert (seen, bench.p.left) == ([0], 0)


def test_a_node_that_is_gone_already_counts_as_deleted(bench):
    """An administrator, or another router, deleted it after the nodes were read."""
    bench.write(bench.p, pool(A))
    bench.write(bench.p, pool(), pool(A))
    bench.big.inject("refuse", times=None, method="DELETE", path="ltm/node", **ABSENT)
    bench.big.inject("refuse", times=None, method="GET", path=f"ltm/node/~Common~{A}", **ABSENT)
    assert left(bench.p, A) == 1
    assert bench.p.left == 0


def test_a_404_for_a_node_that_the_device_still_shows_is_an_error(bench):
    """The node stays, and is deleted the next time (bigip-behaviour.md A2.3)."""
    bench.write(bench.p, pool(A))
    bench.write(bench.p, pool(), pool(A))
    bench.big.inject("refuse", times=1, method="DELETE", path="ltm/node", **ABSENT)
    with pytest.raises(NotFound):
        left(bench.p, A)
    assert bench.p.left == 1
    assert bench.p.remove_left(()) == 1
    assert bench.nodes() == {}


def test_recorded_members():
    """Where the nodes of recorded members lie."""
    nodes = {}
    for path in sorted((RECORDINGS / "pool" / "members").glob("*.json")):
        read = json.loads(path.read_text())
        nodes |= ltm_nodes.nodes_of(read.get("items", [read]))
    assert nodes["1.1.1.1"] == "/Common/1.1.1.1"
    assert {path.split("/")[1] for path in nodes.values()} == {"Common", "DMZ"}


def test_a_few_at_a_time(bench):
    """All nodes are read once; one that is used again meanwhile stays, and may leave again."""
    many = [f"10.1.2.{number}" for number in range(1, 8)]
    bench.write(bench.p, pool(*many))
    bench.write(bench.p, pool(), pool(*many))
    bench.p.forget(many)
    bench.requests()
    assert bench.p.remove_left((), most=3) == 3
    asked = bench.requests()
    assert [text.split()[0] for text in asked] == ["GET", "GET", "DELETE", "DELETE", "DELETE"]
    used = sorted(path.rsplit("/", 1)[1] for path in bench.nodes())[0]
    bench.write(bench.p, pool(used), pool())
    bench.requests()
    assert bench.p.remove_left({used}, most=3) == 2
    assert [text.split()[0] for text in bench.requests()] == ["DELETE", "DELETE"]
    bench.write(bench.p, pool(), pool(used))
    bench.p.forget([used])
    while bench.p.left:
        bench.p.remove_left((), most=3)
    assert bench.nodes() == {}


def test_of_very_many_some_are_read_again(bench):
    """So it is noticed if an administrator took one over meanwhile."""
    bench.p = NodeWriter(bench.client, own="/P", shared="/Common", batch=2)
    many = [f"10.1.2.{number}" for number in range(1, 6)]
    bench.write(bench.p, pool(*many))
    bench.write(bench.p, pool(), pool(*many))
    bench.p.forget(many)
    assert bench.p.remove_left((), most=2) == 2
    kept = sorted(bench.nodes())[0]
    bench.client.patch(item_path("ltm/node", kept), {"description": "mine"})
    while bench.p.left:
        bench.p.remove_left((), most=2)
    assert set(bench.nodes()) == {kept}
