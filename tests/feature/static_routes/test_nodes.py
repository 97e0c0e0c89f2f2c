"""Static routes follow Nodes that come, change and go."""

import pytest

from f5router.model.cluster import Key
from tests import manifests, pump, waiting
from tests.feature.sdn import network_writes, until
from tests.feature.static_routes.conftest import FLAGS, address, routes, told
from tests.feature.static_routes.test_routes import ROUTES, URL
from tests.reference.full_build import snapshot_of


def change(lab, router, *nodes: dict) -> list[tuple[str, str]]:
    """Apply Nodes at once, reconcile, and return the writes to net."""
    lab.clear()
    known = {node["metadata"]["name"]: (tuple(node["spec"].get("podCIDRs", ())),
                                        node["status"]["addresses"][0]["address"]) for node in nodes}
    lab.apply(*nodes)

    def seen() -> bool:
        nodes = router.reconciler.engine.cluster.nodes
        return all((nodes[Key("", name)].pod_cidrs, nodes[Key("", name)].internal_ips[0]) == wanted
                   for name, wanted in known.items())

    take(router, seen)
    router.reconcile_once()
    return network_writes(lab)


def take(router, seen) -> None:
    """Let a running router see something, and write nothing yet."""
    def taken() -> bool:
        pump.take_events(router)
        return seen()

    waiting.until(taken)


@pytest.fixture
def running(near):
    """A router with both routes in place."""
    router = near.router(**FLAGS)
    near.converge(router)
    return near, router


def test_a_node_joins_and_leaves(running):
    """One write each."""
    lab, router = running
    lab.clear()
    lab.apply(manifests.node("n3", "10.3.89.3", cidrs=("10.128.4.0/23",)))
    until(lab, router, lambda nodes: Key("", "n3") in nodes)
    assert network_writes(lab) == [("POST", "net/route")]
    assert [e for e in lab.bigip.log if e.method == "GET" and "/net/" in e.path] == []
    lab.clear()
    lab.kube.delete("Node", "", "n3")
    until(lab, router, lambda nodes: Key("", "n3") not in nodes)
    assert network_writes(lab) == [("DELETE", URL.format(4))]
    assert routes(lab) == ROUTES


def test_another_address_is_one_change_in_place(running):
    lab, router = running
    moved = manifests.node("n1", "10.3.89.77", cidrs=("10.128.0.0/23",))
    assert change(lab, router, moved) == [("PATCH", URL.format(0))]
    assert routes(lab) == {**ROUTES, "10.128.0.0/23": "10.3.89.77"}


def test_another_network_comes_before_the_old_one_goes(running):
    lab, router = running
    moved = manifests.node("n1", "10.3.89.1", cidrs=("10.128.4.0/23",))
    assert change(lab, router, moved) == [("POST", "net/route"), ("DELETE", URL.format(0))]
    assert routes(lab) == {"10.128.4.0/23": "10.3.89.1", "10.128.2.0/23": "10.3.89.2"}


def test_two_nodes_exchange_networks(running):
    """Two changes in place: at no time has a network two routes or none."""
    lab, router = running
    swapped = (manifests.node("n1", "10.3.89.1", cidrs=("10.128.2.0/23",)),
               manifests.node("n2", "10.3.89.2", cidrs=("10.128.0.0/23",)))
    assert sorted(change(lab, router, *swapped)) == [("PATCH", URL.format(0)), ("PATCH", URL.format(2))]
    assert routes(lab) == {"10.128.0.0/23": "10.3.89.2", "10.128.2.0/23": "10.3.89.1"}


def test_two_nodes_exchange_networks_one_after_the_other(running):
    """In between both claim one network: the older Node has it."""
    lab, router = running
    n1 = manifests.node("n1", "10.3.89.1", cidrs=("10.128.2.0/23",), created="2026-01-01T00:00:01Z")
    n2 = manifests.node("n2", "10.3.89.2", cidrs=("10.128.0.0/23",), created="2026-01-01T00:00:02Z")
    change(lab, router, n1)
    assert routes(lab) == {"10.128.2.0/23": "10.3.89.1"}
    change(lab, router, n2)
    assert routes(lab) == {"10.128.0.0/23": "10.3.89.2", "10.128.2.0/23": "10.3.89.1"}


def test_a_network_passes_to_a_new_node(running):
    """A Node is replaced by one of another name with its network: one write, in place."""
    lab, router = running
    lab.clear()
    lab.apply(manifests.node("n7", "10.3.89.7", cidrs=("10.128.0.0/23",), created="2026-01-02T00:00:00Z"))
    until(lab, router, lambda nodes: Key("", "n7") in nodes)
    assert network_writes(lab) == []
    lab.kube.delete("Node", "", "n1")
    until(lab, router, lambda nodes: Key("", "n1") not in nodes)
    assert network_writes(lab) == [("PATCH", URL.format(0))]
    assert routes(lab)["10.128.0.0/23"] == "10.3.89.7"


def test_the_address_in_a_network_of_the_device(near):
    """It is the gateway of a Node with several."""
    near.apply(manifests.node("n1", "172.31.0.18", "10.3.89.1", cidrs=("10.128.0.0/23",)))
    assert near.converge(**FLAGS) == []
    assert routes(near) == ROUTES


def test_the_networks_of_the_setting(near):
    """They decide, where the device has self IPs in several networks of the Nodes."""
    address(near, "172.31.0.213/24")
    near.apply(manifests.node("n1", "172.31.0.18", "10.3.89.1", cidrs=("10.128.0.0/23",)))
    assert near.converge(static_route_node_networks="10.3.0.0/16", **FLAGS) == []
    assert routes(near) == ROUTES


def test_a_node_far_from_the_device(near, caplog):
    """It is reported, nothing is tried, and its pods are reached once the device is near."""
    near.apply(manifests.node("n1", "172.31.0.18", cidrs=("10.128.0.0/23",)))
    near.clear()
    router = near.router(**FLAGS)
    (reason,) = near.converge(router)
    assert "Node n1: none of its addresses (172.31.0.18) lies in a network of a self IP" in reason
    assert [text for _, text in told(caplog) if "Node n1" in text]
    assert network_writes(near) == [("POST", "net/route")]
    assert routes(near) == {"10.128.2.0/23": "10.3.89.2"}
    address(near, "172.31.0.213/24")
    router.reconciler.must_read("of the test")
    router.reconcile_once()
    assert routes(near) == {**ROUTES, "10.128.0.0/23": "172.31.0.18"}


def test_a_route_that_the_device_took_stays(near):
    """An earlier release made it, by way of an address that is in no network of a self IP any more."""
    near.bigip.put_object("net/self", {"name": "old", "address": "172.31.0.213/24", "partition": "Common",
                                       "vlan": "/Common/internal"})
    near.bigip.put_object("net/route", {"name": "openshift_pods_10.128.0.0_23", "partition": "Common",
                                        "network": "10.128.0.0/23", "gw": "172.31.0.18"})
    near.change("DELETE", "net/self/~Common~old")
    near.apply(manifests.node("n1", "172.31.0.18", cidrs=("10.128.0.0/23",)))
    near.converge(**FLAGS)
    assert routes(near) == {**ROUTES, "10.128.0.0/23": "172.31.0.18"}
    near.kube.delete("Node", "", "n1")
    near.converge(**FLAGS)
    assert routes(near) == {"10.128.2.0/23": "10.3.89.2"}


def test_a_node_that_is_not_ready_keeps_its_route(running):
    lab, router = running
    lab.clear()
    lab.apply(manifests.node("n1", "10.3.89.1", cidrs=("10.128.0.0/23",), ready=False))
    until(lab, router, lambda nodes: not nodes[Key("", "n1")].ready)
    assert lab.writes() == []


def test_a_node_that_left_while_no_router_ran(near):
    near.converge(**FLAGS)
    near.kube.delete("Node", "", "n1")
    near.clear()
    assert near.converge(**FLAGS) == []
    assert network_writes(near) == [("DELETE", URL.format(0))]


def test_pools_lose_their_members_before_the_route_goes(running):
    """A Node that leaves takes its pods along; they get requests until the write of the pool has ended."""
    lab, router = running
    lab.apply(*manifests.service("shop", "web", pods=("10.128.0.5", "10.128.2.5")), manifests.route("plain"))
    lab.settle(router)
    lab.clear()
    lab.kube.delete("Node", "", "n1")
    lab.apply(manifests.endpoints("shop", "web", ("10.128.2.5",)))

    def seen() -> bool:
        known = snapshot_of(router.reconciler.engine)
        pods = known.slices[Key("shop", "web")][Key("shop", "web-1")].addresses
        return len(pods) == 1 and Key("", "n1") not in known.nodes

    take(router, seen)
    lab.bigip.inject("delay", method="PATCH", path="ltm/pool/~Common~openshift_shop_web", seconds=0.2)
    router.reconcile_once()
    assert lab.writes() == [
        ("PATCH", "/mgmt/tm/ltm/pool/~Common~openshift_shop_web"), ("DELETE", "/mgmt/tm/" + URL.format(0))]
