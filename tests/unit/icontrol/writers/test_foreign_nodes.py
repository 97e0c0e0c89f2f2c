"""Members at addresses whose LTM nodes somebody else made, and members that are refused, against the fake."""

from contextlib import ExitStack

import pytest

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.observation import Observation
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers import ltm_nodes, writer
from f5router.icontrol.writers.ltm_nodes import NodeWriter
from f5router.model.errors import Refused
from f5router.model.ltm import Pool
from f5router.model.ltm_nodes import Incomplete
from tests.unit.icontrol.writers.test_ltm_nodes import A, B, Bench, C, left, pool


@pytest.fixture
def bench():
    with ExitStack() as stack:
        yield Bench(stack)


def unobserved(writer: NodeWriter) -> None:
    """As after a reading of the device without our pools: what is left out is looked for again."""
    writer.update_from(Observation())


@pytest.mark.parametrize("shared", [None, "/Common"])
def test_a_node_in_another_partition_costs_its_member(bench, shared):
    """The others are written, the error names a remedy, and all nodes are read once per observation."""
    writer = NodeWriter(bench.client, own="/P", shared=shared)
    bench.by_hand(f"/Q/{A}", A)
    with pytest.raises(Incomplete) as caught:
        bench.write(writer, pool(A, B))
    assert caught.value.applied == pool(B)
    assert caught.value.text == (
        f"LTM node /Q/{A} has the address {A}; pools of /P cannot use a node of /Q. Controllers that share "
        "pods need their nodes in /Common (--f5-node-partition; CIS: --share-nodes)")
    assert bench.members(pool()) == {f"{shared or '/P'}/{B}:8080"}
    bench.requests()
    with pytest.raises(Incomplete):
        bench.write(writer, pool(A, B), pool(B))
    assert bench.requests() == []
    bench.client.delete(item_path("ltm/node", f"/Q/{A}"))
    unobserved(writer)
    bench.write(writer, pool(A, B), pool(B))
    assert bench.members(pool()) == {f"{shared or '/P'}/{A}:8080", f"{shared or '/P'}/{B}:8080"}


FOREIGN = [
    pytest.param("/Common/web", A, id="another name in Common"),
    pytest.param("/P/app7.dc1.example.com", A, id="dots"),
    pytest.param("/P/web", C, id="IPv6 of another name"),
    pytest.param("/P/2001:DB8:0:0::1", C, id="IPv6 in another spelling"),
    pytest.param(f"/Common/{A}%0", A, id="a name with a route domain"),
    pytest.param(f"/Common/{C}", C, id="IPv6 in Common"),
]


@pytest.mark.parametrize(("path", "address"), FOREIGN)
@pytest.mark.parametrize("shared", [None, "/Common"])
def test_a_member_is_written_by_the_name_of_the_node_that_is_there(bench, path, address, shared):
    """Its pool is read as it is wanted, further pools cost no request more, and the node outlives all."""
    if shared and path == f"{shared}/{address}":
        return  # the one that would be made
    writer = NodeWriter(bench.client, own="/P", shared=shared)
    bench.by_hand(path, address, session="user-disabled")
    bench.write(writer, pool(address, B))
    body = bench.big.get("ltm/pool/~P~openshift_shop_web")
    assert ltm_codec.decode_pool(body).members == pool(address, B).members
    assert any(name.startswith(f"{path}{'.' if ':' in path else ':'}8080") for name in bench.members(pool()))
    bench.requests()
    other = Pool("/P/openshift_shop_other", members=pool(address, B).members)
    bench.write(writer, other)
    assert bench.requests() == ["POST pool"]
    for wanted in (pool(address, B), other):
        bench.write(writer, Pool(wanted.path, members=pool(B).members), wanted)
        assert bench.members(wanted) == {f"{shared or '/P'}/{B}:8080"}
    left(writer, address)
    fields = next(item.fields for item in bench.big.items("ltm/node") if item.path == path)
    assert fields["session"] == "user-disabled"
    assert "description" not in fields


def test_what_is_observed_needs_no_reading(bench):
    """A router that starts finds members under other names, and keeps them; what leaves, leaves."""
    bench.by_hand("/Common/web", A)
    bench.write(NodeWriter(bench.client, own="/P", shared=None), pool(A, B))
    writer = NodeWriter(bench.client, own="/P", shared=None)
    members = ltm_codec.items(bench.big.get("ltm/pool/~P~openshift_shop_web"), "members")
    writer.update_from(Observation(nodes=ltm_nodes.nodes_of(members)))
    bench.requests()
    bench.write(writer, pool(A), pool(A, B))
    assert (bench.requests(), bench.members(pool())) == (["PATCH pool/~P~openshift_shop_web"],
                                                         {"/Common/web:8080"})
    bench.write(writer, pool(B), pool(A))
    assert bench.members(pool()) == {f"/P/{B}:8080"}


def test_a_foreign_node_that_goes_between_reading_and_write(bench):
    """The member gets a node of our own."""
    writer = NodeWriter(bench.client, own="/P", shared=None)
    bench.by_hand("/Common/web", A)
    bench.write(writer, pool(A))
    bench.write(writer, pool(), pool(A))
    writer.forget([A])
    bench.client.delete(item_path("ltm/node", "/Common/web"))
    bench.write(writer, pool(A), pool())
    assert bench.members(pool()) == {f"/P/{A}:8080"}


def test_a_foreign_node_that_gets_another_address(bench):
    """A member never stays at an address that is not its pod's."""
    writer = NodeWriter(bench.client, own="/P", shared=None)
    bench.by_hand("/Common/web", A)
    bench.write(writer, pool(A))
    bench.write(writer, pool(), pool(A))
    writer.forget([A])
    bench.client.delete(item_path("ltm/node", "/Common/web"))
    bench.by_hand("/Common/web", "10.9.9.9")
    bench.by_hand("/Q/other", A)
    with pytest.raises(Incomplete, match="LTM node /Q/other"):
        bench.write(writer, pool(A), pool())
    assert bench.members(pool()) == set()
    bench.client.delete(item_path("ltm/node", "/Q/other"))
    unobserved(writer)
    bench.write(writer, pool(A), pool())
    assert bench.members(pool()) == {f"/P/{A}:8080"}


def test_a_foreign_node_that_changes_after_it_was_read(bench):
    """Its member is left out: it would be at another address than its pod."""
    def moved_first(wanted, nodes, exists):
        if nodes.get(A) == "/Common/web":
            bench.client.delete(item_path("ltm/node", "/Common/web"))
            bench.by_hand("/Common/web", "10.9.9.9")
        bench.put(wanted, nodes, exists)

    bench.by_hand("/Common/web", A)
    with pytest.raises(Incomplete, match=f"LTM node /Common/web has not the address {A} any more"):
        NodeWriter(bench.client, own="/P", shared=None).write(pool(A, B), None, moved_first)
    assert bench.members(pool()) == {f"/P/{B}:8080"}


def test_a_node_that_comes_of_an_fqdn(bench):
    """Its member is left out: the node goes when the name gets another address."""
    by_name = {"name": "www", "partition": "Common", "fqdn": {"tmName": "www.example.com"}}
    bench.big.put_object("ltm/node", by_name)
    bench.big.resolve("/Common/www", A)
    with pytest.raises(Incomplete, match=f"/Common/_auto_{A}, which comes from an FQDN"):
        bench.write(NodeWriter(bench.client, own="/P", shared=None), pool(A, B))
    assert bench.members(pool()) == {f"/P/{B}:8080"}


def test_members_that_are_refused_for_another_reason(bench):
    """They are found by halves; the others are written, and what leaves the pool has left it."""
    writer = NodeWriter(bench.client, own="/P", shared=None)
    many = [f"10.1.2.{number}" for number in range(1, 17)]
    bad = {many[3], many[12]}

    def picky(wanted, nodes, exists):
        if bad & {member.address for member in wanted.members}:
            raise Refused(text="01070587:3: no")
        bench.put(wanted, nodes, exists)

    for old in (None, pool(A, B)):
        if old is not None:
            writer.write(old, pool(), bench.put)
        with pytest.raises(Incomplete, match="01070587") as caught:
            writer.write(pool(A, *many), old, picky)
        assert caught.value.applied == pool(A, *(address for address in many if address not in bad))
        assert bench.members(pool()) == {f"/P/{m.address}:8080" for m in caught.value.applied.members}


def test_a_pool_that_is_refused_itself(bench):
    def refuse(wanted, nodes, exists):
        calls.append(wanted)
        raise Refused(text="01070736:3: no")

    calls: list[Pool] = []
    with pytest.raises(Refused) as caught:
        NodeWriter(bench.client, own="/P", shared=None).write(pool(A, B), pool(A), refuse)
    assert (type(caught.value), len(calls)) == (Refused, 2)


def test_the_search_for_refused_members_ends(bench):
    """However many there are; a pool with all members refused has none."""
    many = [f"10.1.{third}.{fourth}" for third in range(2, 4) for fourth in range(1, 101)]

    def picky(wanted, nodes, exists):
        calls.append(wanted)
        if wanted.members:
            raise Refused(text="01070587:3: no")

    calls: list[Pool] = []
    with pytest.raises(Incomplete) as caught:
        NodeWriter(bench.client, own="/P", shared=None).write(pool(*many), None, picky)
    assert caught.value.applied == pool()
    assert len(calls) <= writer.MOST_WRITES + 2


def test_an_account_that_may_not_read_nodes(bench):
    """The members are tried one by one."""
    bench.by_hand("/Common/web", A)
    bench.big.inject("refuse", times=None, method="GET", path="ltm/node", status=403, message="no")
    with pytest.raises(Incomplete, match="0107003a"):
        bench.write(NodeWriter(bench.client, own="/P", shared=None), pool(A, B))
    assert bench.members(pool()) == {f"/P/{B}:8080"}
