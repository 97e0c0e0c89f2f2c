"""A route on the BIG-IP for each network of a Node's pods, by way of the Node."""

import json
import threading

import pytest

from f5router.model.cluster import OVN_SUBNETS, Key
from tests import manifests, waiting
from tests.feature.sdn import many, network_writes, until
from tests.feature.static_routes.conftest import FLAGS, N1, N2, address, routes, told

ROUTES = {"10.128.0.0/23": "10.3.89.1", "10.128.2.0/23": "10.3.89.2"}
URL = "net/route/~Common~openshift_pods_10.128.{}.0_23"
FOREIGN = (
    {"name": "k8s-n9-10.3.89.9", "network": "10.200.0.0/16", "gw": "10.3.89.9"},
    {"name": "openshift_pods_10.201.0.0_16", "network": "10.202.0.0/16", "gw": "10.3.89.9"},
    {"name": "openshift_pods_x", "network": "10.203.0.0/16", "gw": "10.3.89.9"},
    {"name": "default_route", "network": "default", "gw": "10.3.89.254"},
)


# --- what is programmed --------------------------------------------------------------------


def test_a_route_for_each_node(near):
    """Before the pools; a second run writes nothing; VxLAN objects are not looked at."""
    near.apply(manifests.route("plain"))
    near.clear()
    assert near.converge(**FLAGS) == []
    assert routes(near) == ROUTES
    order = [path.removeprefix("/mgmt/tm/") for _, path in near.writes()]
    assert order[:2] == ["net/route", "net/route"]
    assert "ltm/pool" in order[2:]
    assert {e.path for e in near.bigip.log if "/net/" in e.path} == {
        "/mgmt/tm/net/route", "/mgmt/tm/net/self"}
    near.clear()
    assert near.converge(**FLAGS) == []
    assert near.writes() == []


@pytest.mark.parametrize(("version", "quirk", "partition"), [
    ("11.5.4", "empty-items-absent", "/Common"), ("11.6.0", "route-network-twice", "/OpenShift"),
    ("12.1.2", "filter-excludes-subfolders", "/OpenShift/zone1"),
    ("14.1.2.1", "route-network-twice", "/Common"), ("17.1.0", "empty-items-absent", "/OpenShift/zone1"),
])
def test_versions_quirks_and_folders(make_lab, version, quirk, partition):
    lab = make_lab(tmos_version=version, quirks=frozenset({quirk}), partition=partition)
    lab.virtuals()
    address(lab, "10.3.89.213/24")
    lab.apply(N1, N2)
    assert lab.converge(**FLAGS) == []
    assert routes(lab, partition) == ROUTES
    lab.kube.delete("Node", "", "n1")
    assert lab.converge(**FLAGS) == []
    assert routes(lab, partition) == {"10.128.2.0/23": "10.3.89.2"}
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []


def test_networks_of_ovn_kubernetes(near):
    """The annotation, in both forms, goes before podCIDRs; IPv6 by way of the Node's IPv6 address."""
    address(near, "2001:db8::213/64")
    near.apply(
        manifests.node("n1", "10.3.89.1", "2001:db8::1", cidrs=("10.244.0.0/24",),
                       subnets=json.dumps({"default": ["10.128.0.0/23", "fd01:0:0:1::/64"]})),
        manifests.node("n2", "10.3.89.2",
                       subnets=json.dumps({"default": "10.128.2.0/23", "blue": "10.9.0.0/24"})))
    assert near.converge(**FLAGS) == []
    assert routes(near) == {**ROUTES, "fd01:0:0:1::/64": "2001:db8::1"}
    assert "/Common/openshift_pods_fd01-0-0-1--_64" in near.paths("net/route")
    near.clear()
    assert near.converge(**FLAGS) == []
    assert near.writes() == []


def test_a_route_domain(make_lab):
    """The partition's default one; its suffix is ignored in comparison."""
    lab = make_lab(partition="/P")
    lab.bigip.put_object("auth/partition", {"name": "P"})
    lab.bigip.put_object("net/route-domain", {"name": "5", "partition": "Common", "id": 5})
    lab.change("PATCH", "auth/partition/P", {"defaultRouteDomain": 5})
    lab.virtuals()
    address(lab, "10.3.89.213%5/24", "P")
    lab.apply(N1)
    assert lab.converge(**FLAGS) == []
    assert routes(lab, "/P") == {"10.128.0.0%5/23": "10.3.89.1%5"}
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []


def test_other_routes_stay(near):
    """Whoever's name they have; also those that are ours but for one thing."""
    for body in FOREIGN:
        near.bigip.put_object("net/route", {**body, "partition": "Common"})
    before = near.bigip.items("net/route")
    near.converge(**FLAGS)
    near.kube.delete("Node", "", "n1")
    near.kube.delete("Node", "", "n2")
    assert near.converge(**FLAGS) == []
    assert near.bigip.items("net/route") == before


def test_a_network_that_somebody_else_routes(near, caplog):
    """His route stays; the refusal is logged with the device's words; the other Node is served."""
    near.bigip.put_object("net/route", {"name": "mine", "network": "10.128.0.0/23", "gw": "10.3.89.1"})
    (reason,) = near.converge(**FLAGS)
    assert "openshift_pods_10.128.0.0_23" in reason
    assert "already exists" in reason
    assert routes(near) == {"10.128.2.0/23": "10.3.89.2"}
    assert "/Common/mine" in near.paths("net/route")


def test_a_second_router(near):
    """In another partition: told, and its Routes are served by way of the first one's routes, which stay."""
    assert near.converge(**FLAGS) == []
    near.partition = "/green"
    near.bigip.put_object("auth/partition", {"name": "green"})
    near.virtuals(address="10.0.0.2")
    near.apply(manifests.route("plain"))
    (reason,) = near.converge(f5_node_partition="/Common", name="green", **FLAGS)
    assert "/green/openshift_pods_10.128.0.0_23" in reason
    assert "and 1 more alike" in reason
    assert "/green/openshift_shop_web" in near.paths("ltm/pool")
    assert routes(near) == ROUTES
    assert routes(near, "/green") == {}


def test_a_name_that_somebody_else_has(near):
    """A route of our name to another network is not ours to change."""
    body = {"name": "openshift_pods_10.128.0.0_23", "network": "10.77.0.0/16", "gw": "10.3.89.9"}
    near.bigip.put_object("net/route", body)
    (reason,) = near.converge(**FLAGS)
    assert "leads to 10.77.0.0/16 and is not the router's" in reason
    assert near.bigip.get(URL.format(0))["gw"] == "10.3.89.9"
    assert routes(near)["10.128.2.0/23"] == "10.3.89.2"


def test_repair(near):
    """Deleted by hand, another gateway, no gateway at all; what else an administrator set stays."""
    near.converge(**FLAGS)
    near.change("PATCH", URL.format(2), {"mtu": 1400})
    near.change("DELETE", URL.format(0))
    near.change("PATCH", URL.format(2), {"gw": "10.3.89.77"})
    near.clear()
    assert near.converge(**FLAGS) == []
    assert routes(near) == ROUTES
    assert near.bigip.get(URL.format(2))["mtu"] == 1400
    assert sorted(network_writes(near)) == [("PATCH", URL.format(2)), ("POST", "net/route")]
    near.change("DELETE", URL.format(0))
    near.bigip.put_object("net/route", {
        "name": "openshift_pods_10.128.0.0_23", "network": "10.128.0.0/23", "blackhole": True})
    assert near.converge(**FLAGS) == []
    assert routes(near) == ROUTES


# --- cost ------------------------------------------------------------------------------------


def test_cost_of_many_nodes(near):
    """One reading, one write for each, several at once; none at a restart."""
    count = 200
    near.apply(*(node | {"spec": {"podCIDRs": [f"10.{130 + n // 250}.{n % 250}.0/24"]}}
                 for n, node in enumerate(many(count))))
    address(near, "10.3.0.213/20")
    near.clear()
    assert near.converge(**FLAGS) == []
    assert len(routes(near)) == count + 2
    assert network_writes(near) == [("POST", "net/route")] * (count + 2)
    reads = [e.path for e in near.bigip.log if e.method == "GET" and "/net/route" in e.path]
    assert set(reads) == {"/mgmt/tm/net/route"}
    assert len(reads) <= 2
    near.clear()
    assert near.converge(**FLAGS) == []
    assert near.writes() == []


def test_routes_go_in_parallel(near):
    """Up to --f5-max-in-flight, so two thousand Nodes take a quarter of the time with four."""
    def converge(*held: int, **flags: str) -> None:
        """A pass of two requests, both held. Args: held: how many were held before each release."""
        near.bigip.inject("hold", times=2, method="POST", path="net/route")
        one_pass = threading.Thread(target=near.converge, kwargs={**FLAGS, **flags})
        one_pass.start()
        for count in held:
            waiting.until(lambda: near.bigip.held == count)  # noqa: B023
            near.bigip.release()
        one_pass.join(waiting.DEADLINE_S)
        assert not one_pass.is_alive()

    converge(2)
    near.change("DELETE", URL.format(0))
    near.change("DELETE", URL.format(2))
    converge(3, 4, f5_max_in_flight="1")


# --- what is wrong -----------------------------------------------------------------------------


@pytest.mark.parametrize(("bad", "words"), [
    pytest.param({"subnets": "{"}, f"annotation {OVN_SUBNETS} is no JSON object", id="no JSON"),
    pytest.param({"subnets": '{"default":[]}'}, "neither a network nor several", id="empty"),
    pytest.param({"cidrs": ("10.128.4.0/33",)}, "'10.128.4.0/33' is not a network", id="bad CIDR"),
    pytest.param({"cidrs": ("0.0.0.0/0",)}, "would be the default route", id="default route"),
    pytest.param({"cidrs": ("10.128.0.0/22",)}, "overlaps 10.128.2.0/23 of Node n2", id="overlap"),
    pytest.param({"cidrs": ("10.128.2.0/23",)}, "overlaps 10.128.2.0/23 of Node n2", id="the same"),
    pytest.param({"cidrs": ("10.3.89.2/32",)}, "holds the address 10.3.89.2 of Node n2", id="a Node"),
    pytest.param({"cidrs": ("fd01::/64",)}, "no usable IPv6 address of type InternalIP", id="family"),
    pytest.param({}, "neither spec.podCIDRs nor annotation", id="none"),
])
def test_a_bad_node_costs_itself(near, caplog, bad, words):
    """One warning that names it; no reason of `run --once`; the others are served."""
    near.apply(manifests.node("n9", "10.3.89.9", created="2026-01-03T00:00:00Z", **bad))
    assert near.converge(**FLAGS) == []
    assert routes(near) == ROUTES
    ((level, text),) = told(caplog)
    assert level == "WARNING"
    assert text.startswith("Node n9: ")
    assert words in text


def test_gateways_that_are_not_near(lab):
    """One sentence for all Nodes, which says what is missing; Routes are served; nothing is tried."""
    lab.apply(N1, N2, manifests.route("plain"))
    (reason,) = lab.converge(**FLAGS)
    assert ("the BIG-IP has no self IP of IPv4 in the route domain of the partition: no route to pod CIDR "
            "10.128.0.0/23 and 1 more network, whose pods are not reachable") in reason
    assert network_writes(lab) == []
    assert lab.admitted("shop", "plain")["status"] == "True"


def test_gateways_of_the_setting_that_are_not_near(lab):
    """The device's words, with the name of the Node and what is missing; Routes are served."""
    lab.apply(N1, N2, manifests.route("plain"))
    known, reason = lab.converge(static_route_node_networks="10.3.0.0/16", **FLAGS)
    assert "Node n1: its address 10.3.89.1, chosen by --static-route-node-networks, lies in no" in known
    assert "Node n1: net/route /Common/openshift_pods_10.128.0.0_23: " in reason
    assert "10.3.89.1 is not directly connected via an interface., and 1 more alike" in reason
    assert "needs a self IP in the Nodes' network" in reason
    assert lab.admitted("shop", "plain")["status"] == "True"


def test_forbidden_nodes(near, caplog):
    """One message with the command, which fits this cluster; Routes are served; no route goes."""
    near.converge(**FLAGS)
    near.kube.delete("Node", "", "n1")
    near.kube.forbid("nodes", ("get", "list", "watch"))
    near.apply(manifests.route("plain"))
    caplog.clear()
    near.clear()
    (reason,) = near.converge(**FLAGS)
    assert ("oc create clusterrole f5router-nodes --verb=get,list,watch --resource=nodes and oc adm policy "
            "add-cluster-role-to-user f5router-nodes system:serviceaccount:default:router") in reason
    assert len([r for r in caplog.records if r.levelname == "ERROR"]) == 1
    assert near.admitted("shop", "plain")["status"] == "True"
    assert routes(near) == ROUTES
    assert network_writes(near) == []


def test_nodes_permitted_later(near):
    """Objects that Nodes left behind go when their list is known, without another reading of the device."""
    near.converge(**FLAGS)
    near.kube.delete("Node", "", "n1")
    near.kube.forbid("nodes", ("get", "list", "watch"))
    router = near.router(**FLAGS)
    near.converge(router)
    assert routes(near) == ROUTES
    near.clear()
    near.kube.allow("nodes")
    until(near, router, lambda nodes: Key("", "n2") in nodes)
    assert network_writes(near) == [("DELETE", URL.format(0))]
    assert [e for e in near.bigip.log if e.method == "GET" and "/net/" in e.path] == []


def test_no_longer_wanted(near):
    """Without the flag its routes are neither read nor deleted."""
    near.converge(**FLAGS)
    near.clear()
    assert near.converge() == []
    assert routes(near) == ROUTES
    assert {e.path for e in near.bigip.log if "/net/" in e.path} == {"/mgmt/tm/net/self"}
