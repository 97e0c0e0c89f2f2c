"""Kinds that some clusters lack or some routers need: endpoints, Nodes, the network."""

import queue
import threading

import pytest

from f5router.kube.api.connection import connect
from f5router.kube.settings import KubeSettings
from f5router.model.cluster import ClusterNetwork, HostSubnet, Key
from f5router.model.selection import Selection
from mocks.kube import FakeKube
from tests.unit.kube import objects
from tests.unit.kube.conftest import Follower, lists, watches, watching
from tests.waiting import DEADLINE_S, until


def test_routes_not_served(tmp_path):
    """A cluster that is no OpenShift, and nothing else to serve: the message says so."""
    with FakeKube(openshift=False) as kube:
        kube.write_kubeconfig(tmp_path / "config")
        follower = Follower(connect(KubeSettings(kubeconfig=str(tmp_path / "config"))))
        until(follower.cluster.problems)
        assert "does not serve routes of route.openshift.io/v1" in follower.cluster.problems()[0]
        assert not follower.cluster.synced()
        follower.cluster.stop()


@pytest.mark.parametrize("hidden", [
    pytest.param(False, id="not served"),
    pytest.param(True, id="not served, and no right on it"),
])
def test_endpoints_instead_of_slices(tmp_path, hidden):
    """OpenShift 3 has no EndpointSlices; to an account without rights it says 403, not 404."""
    with FakeKube(slices=False) as kube:
        if hidden:
            kube.inject("403", times=None, path="/endpointslices")
        kube.write_kubeconfig(tmp_path / "config")
        kube.apply(objects.endpoints("web", (8080, ["10.1.0.1"]), (9090, ["10.1.0.2"])))
        follower = Follower(connect(KubeSettings(kubeconfig=str(tmp_path / "config"))))
        follower.until(lambda: follower.names("slices") == {"web/0", "web/1"})
        kube.apply(objects.endpoints("web", (8080, ["10.1.0.3"])))
        follower.until(lambda: follower.names("slices") == {"web/0"})
        kube.delete("Endpoints", "shop", "web")
        follower.until(lambda: not follower.names("slices"))
        follower.cluster.stop()


def test_endpoints_on_request(kube, follow):
    kube.apply([objects.endpoints("web", (8080, ["10.1.0.1"])), objects.endpoint_slice("web-1", "10.1.0.1")])
    follower = follow(use_endpoints=True)
    follower.until(lambda: follower.names("slices") == {"web/0"})
    assert lists(kube, "endpointslices") == []


def test_one_namespace(kube, follow):
    kube.apply([objects.route("a"), objects.route("b", namespace="other"), objects.node()])
    follower = follow(selection=Selection("shop"), nodes=True)
    follower.until(lambda: follower.names() == {"a"})
    assert lists(kube)[0].path == "/apis/route.openshift.io/v1/namespaces/shop/routes"
    assert lists(kube, "nodes")[0].path == "/api/v1/nodes"


def test_nothing_of_a_namespace_starts_after_the_end(kube, follow):
    """The answer that comes after stop() starts no watch: it would meet the end of the interpreter."""
    kube.inject("hold", method="get", path="namespaces/shop")
    before = set(threading.enumerate())
    follower = follow(selection=Selection("shop"))
    assert kube.wait_for(lambda: kube.held)
    (waits,) = (each for each in set(threading.enumerate()) - before if each.name == "namespace")
    follower.cluster.stop()
    begun: set[str] = set()
    threading.setprofile(lambda *_: begun.add(threading.current_thread().name))
    try:
        kube.release()
        waits.join(DEADLINE_S)
    finally:
        threading.setprofile(None)
    assert not waits.is_alive()
    assert not any(name.startswith("watch-") for name in begun)


def test_the_end_waits_for_the_look_at_the_namespace(kube, follow):
    """Its thread has ended when stop() returns."""
    before = set(threading.enumerate())
    follower = follow(selection=Selection("missing"))
    assert kube.wait_for(lambda: any(entry.path.endswith("/namespaces/missing") for entry in kube.log))
    follower.cluster.stop()
    assert not any(each.name == "namespace" for each in set(threading.enumerate()) - before)


GHOST = {"apiVersion": "network.openshift.io/v1", "kind": "HostSubnet", "metadata": {"name": "f5"},
         "host": "f5", "hostIP": "192.0.2.9", "subnet": "10.131.0.0/23"}
NETWORK = {"apiVersion": "network.openshift.io/v1", "kind": "ClusterNetwork", "metadata": {"name": "default"},
           "network": "10.128.0.0/14"}


def test_network_of_the_cluster(kube, follow):
    """HostSubnets are watched, the ClusterNetwork is read by name: no role allows to list it."""
    kube.apply([GHOST, NETWORK, objects.node()])
    kube.forbid("clusternetworks", ["list", "watch"])
    follower = follow(nodes=True, sdn=True)
    assert follower.cluster.wait_synced(DEADLINE_S)
    delta = follower.cluster.drain().whole()
    assert delta.host_subnets == {Key("", "f5"): HostSubnet(Key("", "f5"), "192.0.2.9", "10.131.0.0/23")}
    assert delta.cluster_networks == {
        Key("", "default"): ClusterNetwork(Key("", "default"), ("10.128.0.0/14",))}
    assert delta.nodes_listed
    assert lists(kube, "clusternetworks") == []
    kube.delete("HostSubnet", "", "f5")
    delta = until(lambda: follower.cluster.drain().whole())
    assert delta.host_subnets == {Key("", "f5"): None}


def test_another_vxlan_port(kube, follow):
    """The ClusterNetwork is read every minute, not only when everything is listed again."""
    kube.apply(NETWORK)
    slept, go_on = queue.Queue(), threading.Event()

    def sleep(seconds):
        slept.put(seconds)
        go_on.wait(DEADLINE_S)
        go_on.clear()

    follower = follow(nodes=True, sdn=True, sleep=sleep)
    assert follower.cluster.wait_synced(DEADLINE_S)
    follower.cluster.drain().whole()
    assert slept.get(timeout=DEADLINE_S) == 60.0
    kube.apply(NETWORK | {"vxlanPort": 4800})
    go_on.set()
    delta = until(lambda: follower.cluster.drain().whole())
    assert delta.cluster_networks[Key("", "default")].vxlan_port == 4800


@pytest.mark.parametrize("resource", ["hostsubnets", "clusternetworks"])
def test_network_that_may_not_be_read(kube, follow, resource):
    """It is optional: no problem, and nothing waits for it."""
    kube.apply([GHOST, NETWORK])
    kube.forbid(resource)
    follower = follow(nodes=True, sdn=True)
    assert follower.cluster.wait_synced(DEADLINE_S)
    assert follower.cluster.problems() == ()
    assert follower.cluster.missing() == ()
    assert follower.cluster.nodes_problem() == ""


def test_nodes_are_complete_when_they_are_listed(kube, follow):
    """Before, nobody may be taken for gone."""
    kube.apply(objects.node())
    kube.forbid("nodes")
    follower = follow(nodes=True)
    assert follower.cluster.wait_synced(DEADLINE_S)
    assert not follower.cluster.drain().whole().nodes_listed
    assert "system:sdn-reader" in follower.cluster.nodes_problem()
    kube.allow("nodes")
    deltas = []
    until(lambda: deltas.append(follower.cluster.drain().whole()) or deltas[-1].nodes_listed)
    # Told with the Nodes or after them, never before.
    assert {key.name for delta in deltas for key in delta.nodes} == {"node-1"}


def test_nodes_are_needed_as_members(kube, follow):
    """Without them every pool would be emptied."""
    kube.apply([objects.route("a"), objects.node()])
    kube.forbid("nodes")
    follower = follow(nodeport=True)
    follower.until(follower.cluster.problems)
    assert not follower.cluster.synced()
    assert any("nodes" in text for text in follower.cluster.missing())
    kube.allow("nodes")
    follower.until(lambda: follower.names("nodes") == {"node-1"} and follower.names() == {"a"})


@pytest.mark.parametrize("slices", [True, False])
def test_nodes_of_endpoints(slices, tmp_path):
    """With the addresses until these are forgotten; without EndpointSlices those of Endpoints."""
    with FakeKube(slices=slices, bookmark_s=0.2) as kube:
        kube.write_kubeconfig(tmp_path / "config")
        new, old = objects.endpoint_slice("web-1", "10.1.0.1"), objects.endpoints("web", (80, ["10.1.0.1"]))
        for where in (new["endpoints"][0], old["subsets"][0]["addresses"][0]):
            where["nodeName"] = "n1"
        kube.apply(new if slices else old)
        follower = Follower(connect(KubeSettings(kubeconfig=str(tmp_path / "config"))), nodeport=True)
        follower.until(lambda: follower.state["slices"])
        (endpoint_slice,) = follower.state["slices"].values()
        assert (endpoint_slice.addresses, endpoint_slice.nodes) == ({"10.1.0.1"}, {"n1"})
        follower.cluster.forget_addresses()
        assert not follower.cluster.drain().whole().slices
        moved = kube.get("EndpointSlice", "shop", "web-1") if slices else kube.get("Endpoints", "shop", "web")
        if slices:
            moved["endpoints"][0]["addresses"] = ["10.1.0.2"]
        else:
            moved["subsets"][0]["addresses"][0]["ip"] = "10.1.0.2"
        kube.apply(moved)
        kube.apply(objects.route("later"))
        deltas = []
        until(lambda: deltas.append(follower.cluster.drain().whole())
              or any(delta.routes for delta in deltas))
        follower.cluster.relist()
        until(lambda: deltas.append(follower.cluster.drain().whole()) or follower.cluster.relisted())
        assert [delta.slices for delta in (*deltas, follower.cluster.drain().whole()) if delta.slices] == []
        follower.cluster.stop()


def test_endpoints_are_dispensable_with_nodes_as_members(kube, follow):
    """Forbidden, they are not waited for; when the right is granted, they follow."""
    kube.apply([objects.route("a"), objects.endpoint_slice("web-1", "10.1.0.1")])
    kube.forbid("endpointslices")
    follower = follow(nodeport=True)
    assert follower.cluster.wait_synced(DEADLINE_S)
    assert not follower.cluster.drain().whole().slices_listed
    assert follower.cluster.missing() == ()
    kube.allow("endpointslices")
    deltas = []
    until(lambda: deltas.append(follower.cluster.drain().whole()) or deltas[-1].slices_listed)
    assert {key.name for delta in deltas for key in delta.slices} == {"web-1"}


def test_slices_are_listed(kube, follow):
    """Where pods are members they always are, at the first drain."""
    follower = follow()
    assert follower.cluster.wait_synced(DEADLINE_S)
    assert follower.cluster.drain().whole().slices_listed


def test_node_selector(kube, follow):
    """The API server selects; a Node that gets the label joins, one that loses it is gone."""
    def labelled(name: str, **labels: str) -> dict:
        return objects.node(name) | {"metadata": {"name": name, "labels": labels}}

    kube.apply([labelled("n1", tier="edge"), labelled("n2"), labelled("n3", tier="edge")])
    follower = follow(nodeport=True, node_selector="tier in (edge)")
    follower.until(lambda: follower.names("nodes") == {"n1", "n3"})
    assert kube.wait_for(lambda: watching(kube, "nodes"))
    kube.apply([labelled("n2", tier="edge"), labelled("n3")])
    follower.until(lambda: follower.names("nodes") == {"n1", "n2"})
    asked = {entry.query.get("labelSelector") for entry in (*lists(kube, "nodes"), *watches(kube, "nodes"))}
    assert asked == {"tier in (edge)"}
    assert {entry.query.get("labelSelector") for entry in lists(kube, "services")} == {None}


def test_lists_are_told_as_complete_without_a_kind_that_is_needed_no_more(kube, follow):
    """Its right goes while everything is listed again, and the lists of the others are there."""
    kube.apply([objects.route("a"), objects.node()])
    follower, told = follow(nodes=True), threading.Event()
    assert follower.cluster.wait_synced(DEADLINE_S)
    kube.inject("503", times=None, method="list", path="/nodes")
    follower.cluster.on_relisted = told.set
    follower.cluster.relist()
    until(lambda: any(entry.status == 503 for entry in kube.log))
    assert not told.wait(0.2)
    kube.forbid("nodes")
    kube.clear_faults()
    assert told.wait(DEADLINE_S)
    assert follower.cluster.relisted()
