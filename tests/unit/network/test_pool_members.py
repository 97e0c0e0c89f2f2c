"""Which endpoints of a Service port become pool members, and how many."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model.cluster import EndpointSlice
from f5router.network import node_ports, pool_members
from f5router.network.node_ports import NodePortConfig
from f5router.network.pool_members import MOST_READ, ServiceEndpoints
from tests.builders import endpoints, node, service

ADDRESSES = [f"10.1.{number // 250}.{number % 250 + 1}" for number in range(2000)]


def many(count: int, *, name: str = "web-1", omitted: int = 0, first: int = 0) -> EndpointSlice:
    """An EndpointSlice with so many addresses."""
    addresses = (f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
                 for number in range(first, first + count))
    return replace(endpoints(*addresses, name=name), omitted=omitted)


@pytest.mark.parametrize(("parts", "most", "count", "total"), [
    pytest.param((), 3, 0, 0, id="none"),
    pytest.param((many(3),), 3, 3, 0, id="as many as there is room for"),
    pytest.param((many(4),), 3, 3, 4, id="one too many"),
    pytest.param((many(1999),), 1000, 1000, 1900, id="rounded"),
    pytest.param((many(3), many(3, name="web-2")), 3, 3, 0, id="the same twice"),
    pytest.param((many(3, omitted=7),), 3, 3, 10, id="some were not read"),
    pytest.param((many(3, omitted=7),), 5, 3, 10, id="some were not read, though there is room"),
    pytest.param((many(3), endpoints("127.0.0.1", name="web-2")), 3, 3, 0, id="one that is refused"),
    pytest.param((many(8000), many(8000, name="web-2", first=8000)), MOST_READ, MOST_READ, 16_000,
                 id="more than are looked at"),
])
def test_limit(parts, most, count, total):
    """So many at most; a warning has the full number when some are left out."""
    choice = pool_members.choose("", ServiceEndpoints(slices=parts), most)
    assert (len(choice.members), choice.left_out.total) == (count, total)
    assert choice == pool_members.choose("", ServiceEndpoints(slices=parts[::-1]), most)


def leaving(*addresses: str, ready: tuple[str, ...] = (), name: str = "web-1") -> EndpointSlice:
    """An EndpointSlice with draining addresses."""
    return replace(endpoints(*ready, name=name), draining=frozenset(addresses))


@pytest.mark.parametrize(("parts", "most", "ready", "draining"), [
    pytest.param((leaving("10.1.1.2", ready=("10.1.1.1",)),), 9, {"10.1.1.1"}, {"10.1.1.2"},
                 id="one of each"),
    pytest.param((leaving("10.1.1.2"),), 9, {"10.1.1.2"}, set(), id="nothing else"),
    pytest.param((leaving("10.1.1.2"), leaving(ready=("10.1.1.2",), name="web-2")), 9, {"10.1.1.2"}, set(),
                 id="ready in another slice"),
    pytest.param((leaving("10.1.1.2", ready=("10.1.1.1",)),), 1, {"10.1.1.1"}, set(), id="no room"),
    pytest.param((leaving("127.0.0.1", ready=("10.1.1.1",)),), 9, {"10.1.1.1"}, set(), id="refused"),
    pytest.param((leaving("10.1.1.2", ready=("127.0.0.1",)),), 9, {"10.1.1.2"}, set(),
                 id="ready, but refused"),
])
def test_draining(parts, most, ready, draining):
    """Draining endpoints keep their connections; new ones go to them only if nobody else is there."""
    members = pool_members.choose("", ServiceEndpoints(slices=parts), most).members
    assert {member.address for member in members if member.state == "enabled"} == ready
    assert {member.address for member in members if member.state == "forced_offline"} == draining
    assert len(members) == len(ready | draining)


def test_several_ports():
    """Each port of an endpoint is a member; the one that the Route names is the only one that counts."""
    slice_ = endpoints(*ADDRESSES[:4], ports=(("http", 8080), ("admin", 9090)))
    assert pool_members.choose("http", ServiceEndpoints(slices=(slice_,)), 4).left_out.total == 0
    assert pool_members.choose("", ServiceEndpoints(slices=(slice_,)), 4).left_out.total == 8


def of_pods(addresses, most):
    half = len(addresses) // 2
    parts = (endpoints(*addresses[:half], name="web-1"), endpoints(*addresses[half:], name="web-2"))
    return pool_members.choose("http", ServiceEndpoints(slices=parts), most).members


def of_nodes(addresses, most):
    web = service("web", node_port=30080, type="NodePort")
    by_key = {node.key: node for node in (node(f"n{address}", address) for address in addresses)}
    view = ServiceEndpoints(web, (), True, node_ports.candidates(by_key, NodePortConfig()))
    return node_ports.choose("", view, most).members


@pytest.mark.parametrize("choose", [of_pods, of_nodes])
@given(addresses=st.lists(st.sampled_from(ADDRESSES), unique=True, max_size=30),
       other=st.sampled_from(ADDRESSES), most=st.integers(1, 10))
def test_one_that_comes_or_goes_changes_one_member(choose, addresses, other, most):
    """At most so many of the ready ones; all others stay."""
    less = [address for address in addresses if address != other]
    before, after = choose(less, most), choose([*less, other], most)
    for chosen, ready in ((before, less), (after, [*less, other])):
        assert len(chosen) == min(most, len(ready))
        assert {member.address for member in chosen} <= set(ready)
    assert len(after - before) <= 1
    assert len(before - after) <= 1
    assert {member.address for member in after - before} <= {other}


@pytest.mark.parametrize(("addresses", "most"), [
    (MOST_READ - 1, 10), (MOST_READ, 10), (MOST_READ + 5, MOST_READ)])
def test_one_more_where_not_all_are_looked_at(addresses, most):
    """The same about the bound of what is looked at."""
    more = endpoints("10.99.0.1", name="web-0")
    before = pool_members.choose("", ServiceEndpoints(slices=(many(addresses),)), most).members
    after = pool_members.choose("", ServiceEndpoints(slices=(many(addresses), more)), most).members
    assert len(after - before) <= 1
    assert len(before - after) <= 1
