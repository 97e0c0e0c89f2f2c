"""Nodes at the node ports of Services as pool members."""

import threading

import pytest

from f5router.app import once
from f5router.model.cluster import Key
from mocks.bigip.traffic import Request, decide
from tests import manifests, waiting
from tests.builders import identity
from tests.feature.conftest import HTTP, HTTPS
from tests.reference.full_build import snapshot_of

FLAGS = {"pool_member_type": "nodeport"}
N1 = manifests.node("n1", "10.3.89.1", labels={"tier": "edge"})
N2 = manifests.node("n2", "10.3.89.2")
BOTH = {"10.3.89.1:30080", "10.3.89.2:30080"}
PODS = {"10.128.0.5": "n1", "10.128.0.6": "n1"}
POOL = "ltm/pool/~Common~openshift_shop_web"


@pytest.fixture
def two(lab):
    """Two Nodes, a Service with node ports and a Route to it."""
    lab.kube.delete("EndpointSlice", "shop", "web-1")
    lab.apply(N1, N2, *manifests.published("shop", "web", pods=PODS), manifests.route("plain"))
    return lab


@pytest.fixture
def running(two):
    """A router with its pool in place; nothing in the log."""
    router = two.router(**FLAGS)
    assert two.converge(router) == []
    two.clear()
    return two, router


def members(lab, pool: str = "openshift_shop_web") -> set[str]:
    fields = lab.bigip.get(f"ltm/pool/~Common~{pool}")
    return {item["name"] for item in fields["membersReference"].get("items", ())}


def until(router, seen) -> None:
    """Passes of a running router until something holds of its snapshot, and one more."""
    waiting.until(lambda: router.reconcile_once() and seen(snapshot_of(router.reconciler.engine)))
    router.reconcile_once()


def warned(lab, name: str = "plain") -> set[str]:
    return {event["message"] for event in lab.kube.list("Event", "shop")
            if event["involvedObject"]["name"] == name}


def served(lab, host: str, *, tls: bool = False):
    """Return what becomes of a request."""
    request = Request(host, "/", sni=host if tls else None, tls=tls)
    return decide(lab.bigip.store, f"/Common/{HTTPS if tls else HTTP}", request)


# --- which members -------------------------------------------------------------------------


def test_members(two):
    """Every Node at the node port; nothing under net but a look at self IPs; a second run writes nothing."""
    assert two.converge(**FLAGS) == []
    assert members(two) == BOTH
    assert two.admitted("shop", "plain")["status"] == "True"
    assert {(entry.method, entry.path) for entry in two.bigip.log if "/net/" in entry.path} == {
        ("GET", "/mgmt/tm/net/self")}
    two.clear()
    assert two.converge(**FLAGS) == []
    assert two.writes() == []


def test_kinds_of_routes(two):
    """Edge, re-encrypt and passthrough Routes lead to node ports as they lead to pods."""
    own = identity("edge.example.com")
    two.apply(
        manifests.route("edge", host="edge.example.com", kind="edge", insecure="Redirect",
                        certificate=own.certificate, key=own.key),
        manifests.route("re", host="re.example.com", kind="reencrypt", destinationCACertificate=own.issuer),
        manifests.route("pass", host="pass.example.com", kind="passthrough"))
    assert two.converge(**FLAGS) == []
    edge, again = served(two, "edge.example.com", tls=True), served(two, "re.example.com", tls=True)
    untouched = served(two, "pass.example.com", tls=True)
    for decision in (served(two, "www.example.com"), edge, again, untouched):
        assert set(decision.members) == BOTH
    assert (edge.server_ssl_profile, untouched.kind) == (None, "passthrough")
    assert again.server_ssl_profile.startswith("/Common/openshift_tls_")
    assert served(two, "edge.example.com").location


def test_ports(two):
    """A Route's targetPort, by name and by number; every port without one; TCP only."""
    ports = (("http", 8080, 30080), ("admin", 9090, 30090))
    service, pods = manifests.published("shop", "web", pods=PODS, ports=ports)
    service["spec"]["ports"].append({"name": "dns", "port": 53, "protocol": "UDP", "nodePort": 30053})
    two.apply(service, pods, manifests.route("named", host="a.example.com", port="admin"),
              manifests.route("numbered", host="b.example.com", port=8080))
    assert two.converge(**FLAGS) == []
    assert members(two) == BOTH | {"10.3.89.1:30090", "10.3.89.2:30090"}
    assert members(two, "openshift_shop_web_admin") == {"10.3.89.1:30090", "10.3.89.2:30090"}
    assert members(two, "openshift_shop_web_8080") == BOTH


def test_selector(two):
    """By the API server, in list and watch; labels that come and go take effect at once."""
    router = two.router(node_label_selector="tier in (edge, front), !cold", **FLAGS)
    assert two.converge(router) == []
    assert members(two) == {"10.3.89.1:30080"}
    two.apply(manifests.node("n2", "10.3.89.2", labels={"tier": "front"}))
    until(router, lambda known: Key("", "n2") in known.nodes)
    assert members(two) == BOTH
    two.apply(manifests.node("n1", "10.3.89.1", labels={"tier": "edge", "cold": ""}))
    until(router, lambda known: Key("", "n1") not in known.nodes)
    assert members(two) == {"10.3.89.2:30080"}


def test_a_selector_that_chooses_none(two):
    """A reason of `run --once`; the Route is programmed with an empty pool."""
    (reason,) = two.converge(node_label_selector="tier=none", **FLAGS)
    assert "no Node has the labels of --node-label-selector tier=none: every pool is empty" in reason
    assert members(two) == set()


@pytest.mark.parametrize(("exclude", "down", "cordoned"), [
    ({}, BOTH, BOTH), ({"nodeport_exclude": "not-ready"}, {"10.3.89.2:30080"}, BOTH),
    ({"nodeport_exclude": "unschedulable"}, BOTH, {"10.3.89.2:30080"}),
    ({"nodeport_exclude": "not-ready,unschedulable"}, {"10.3.89.2:30080"}, {"10.3.89.2:30080"}),
])
def test_exclude(two, exclude, down, cordoned):
    """Only what was asked for, and while it lasts."""
    router = two.router(**exclude, **FLAGS)
    assert two.converge(router) == []
    n1 = Key("", "n1")
    two.apply(manifests.node("n1", "10.3.89.1", ready=False))
    until(router, lambda known: not known.nodes[n1].ready)
    assert members(two) == down
    two.apply(manifests.node("n1", "10.3.89.1", unschedulable=True))
    until(router, lambda known: known.nodes[n1].ready and known.nodes[n1].unschedulable)
    assert members(two) == cordoned
    two.apply(N1)
    until(router, lambda known: not known.nodes[n1].unschedulable)
    assert members(two) == BOTH


def test_no_node_is_left(two):
    """When all are in such a state they stay: they may serve, an empty pool does not."""
    router = two.router(nodeport_exclude="not-ready", **FLAGS)
    two.converge(router)
    two.apply(*(manifests.node(name, address, ready=False)
                for name, address in (("n1", "10.3.89.1"), ("n2", "10.3.89.2"))))
    until(router, lambda known: not any(node.ready for node in known.nodes.values()))
    assert members(two) == BOTH


# --- Services ------------------------------------------------------------------------------


def test_a_cluster_ip_service(two):
    """A warning on its Route, and an empty pool; when it gets node ports, they are members."""
    two.apply(*manifests.service("shop", "web", pods=("10.128.0.5",)))
    router = two.router(**FLAGS)
    assert two.converge(router) == []
    assert members(two) == set()
    assert two.admitted("shop", "plain")["status"] == "True"
    assert warned(two) == {"spec.to.name: Service web is of type ClusterIP; this router takes node ports "
                           "(--pool-member-type), which only types NodePort and LoadBalancer have"}
    two.apply(*manifests.published("shop", "web", pods=PODS, kind="LoadBalancer"))
    until(router, lambda known: known.services[Key("shop", "web")].type == "LoadBalancer")
    assert members(two) == BOTH


def test_a_port_without_a_node_port(two):
    """As a LoadBalancer without allocateLoadBalancerNodePorts has them."""
    two.apply(*manifests.published("shop", "web", pods=PODS, kind="LoadBalancer", ports=(("http", 8080, 0),)))
    assert two.converge(**FLAGS) == []
    assert members(two) == set()
    assert warned(two) == {"spec.to.name: port 8080 of Service web has no nodePort"}


def test_another_node_port_is_one_write(running):
    """All members at once, so that none is left at a port that may be another Service's by now."""
    lab, router = running
    lab.apply(manifests.published("shop", "web", pods=PODS, ports=(("http", 8080, 31111),))[0])
    until(router, lambda known: known.services[Key("shop", "web")].ports[0].node_port == 31111)
    assert members(lab) == {"10.3.89.1:31111", "10.3.89.2:31111"}
    assert lab.writes() == [("PATCH", f"/mgmt/tm/{POOL}")]


def test_a_service_that_goes(running):
    """Its node port may be another tenant's a moment later."""
    lab, router = running
    lab.kube.delete("Service", "shop", "web")
    until(router, lambda known: Key("shop", "web") not in known.services)
    assert members(lab) == set()
    waiting.until(lambda: "spec.to.name: there is no Service web" in warned(lab))


def test_two_services_exchange_node_ports(running):
    """One write each."""
    lab, router = running
    lab.apply(*manifests.published("bank", "web", pods=PODS, ports=(("http", 8080, 30090),)),
              manifests.route("bank", namespace="bank", host="bank.example.com"))
    lab.settle(router)
    assert members(lab, "openshift_bank_web") == {"10.3.89.1:30090", "10.3.89.2:30090"}
    lab.apply(manifests.published("shop", "web", ports=(("http", 8080, 30090),))[0],
              manifests.published("bank", "web", ports=(("http", 8080, 30080),))[0])
    lab.clear()
    lab.settle(router)
    assert len([path for _, path in lab.writes() if path.endswith("_web")]) == 2
    assert members(lab, "openshift_bank_web") == BOTH
    assert members(lab) == {"10.3.89.1:30090", "10.3.89.2:30090"}


# --- externalTrafficPolicy Local -------------------------------------------------------------


def test_local(two):
    """Only Nodes with a ready pod of the Service; a pod that moves takes the member along, in one write."""
    two.apply(*manifests.published("shop", "web", pods=PODS, local=True))
    router = two.router(**FLAGS)
    assert two.converge(router) == []
    assert members(two) == {"10.3.89.1:30080"}
    two.clear()
    web, slice_ = Key("shop", "web"), Key("shop", "web-1")
    two.apply(manifests.published("shop", "web", pods={"10.128.2.5": "n2"}, local=True)[1])
    until(router, lambda known: known.slices[web][slice_].nodes == {"n2"})
    assert members(two) == {"10.3.89.2:30080"}
    assert two.writes() == [("PATCH", f"/mgmt/tm/{POOL}")]
    moved = manifests.published("shop", "web", pods={"10.128.2.5": "n2"}, local=True)[1]
    moved["endpoints"][0]["conditions"]["ready"] = False
    two.apply(moved)
    until(router, lambda known: not known.slices[web][slice_].nodes)
    assert members(two) == set()
    assert router.reporter.events.flush(waiting.DEADLINE_S)
    assert any("Service web has no ready endpoints: it has pods" in text for text in warned(two))


def test_local_without_the_right_on_endpoints(two):
    """All Nodes, with a warning; when the right is granted, only those with a pod."""
    two.apply(*manifests.published("shop", "web", pods=PODS, local=True))
    two.kube.forbid("endpointslices", ("get", "list", "watch"))
    router = two.router(**FLAGS)
    assert two.converge(router) == []
    assert members(two) == BOTH
    (warning,) = warned(two)
    assert "externalTrafficPolicy Local, and EndpointSlices may not be read" in warning
    two.kube.allow("endpointslices")
    until(router, lambda known: known.slices_listed and Key("shop", "web") in known.slices)
    assert members(two) == {"10.3.89.1:30080"}


# --- Nodes ---------------------------------------------------------------------------------


def test_node_events_are_one_write_for_each_pool(running):
    """Joins, another address, leaves; of the device only its failover state is read."""
    lab, router = running
    lab.apply(manifests.published("shop", "api", ports=(("http", 8080, 30070),))[0],
              manifests.route("api", host="api.example.com", service="api"))
    lab.settle(router)
    n3 = Key("", "n3")
    pools = sorted(("PATCH", f"/mgmt/tm/ltm/pool/~Common~openshift_shop_{name}") for name in ("api", "web"))
    for change, seen, count in (
        (lambda: lab.apply(manifests.node("n3", "10.3.89.3")), lambda known: n3 in known.nodes, 3),
        (lambda: lab.apply(manifests.node("n3", "10.3.89.33")),
         lambda known: known.nodes[n3].internal_ips == ("10.3.89.33",), 3),
        (lambda: lab.kube.delete("Node", "", "n3"), lambda known: n3 not in known.nodes, 2),
    ):
        lab.clear()
        change()
        until(router, seen)
        assert sorted(path for path in lab.writes() if "mark" not in path[1]) == pools
        read = {entry.path for entry in lab.bigip.log if entry.method == "GET"}
        assert read <= {"/mgmt/tm/cm/failover-status"}
        assert len(members(lab)) == count


def test_pods_are_no_matter(running):
    """A rolling update within the Nodes is not even an event."""
    lab, router = running
    for number in range(5):
        lab.apply(manifests.published("shop", "web", pods={f"10.128.0.{50 + number}": "n1"})[1])
    lab.apply(manifests.node("n3", "10.3.89.3"))
    until(router, lambda known: Key("", "n3") in known.nodes)
    assert lab.writes() == [("PATCH", f"/mgmt/tm/{POOL}")]
    assert not any(slice_.addresses for parts in snapshot_of(router.reconciler.engine).slices.values()
                   for slice_ in parts.values())


def test_a_node_without_an_address(two, caplog):
    """Named, and no member."""
    two.apply(manifests.node("n9", others=(("ExternalIP", "192.0.2.9"),)))
    assert two.converge(**FLAGS) == []
    assert members(two) == BOTH
    told = [record.problem for record in caplog.records if getattr(record, "problem", "")]
    assert told == ["Node n9: no usable address of type InternalIP in status.addresses; it is no pool member"]


def test_forbidden_nodes(two):
    """Nothing is written, least of all empty pools; the message has the command."""
    assert two.converge(**FLAGS) == []
    two.kube.forbid("nodes", ("get", "list", "watch"))
    two.clear()
    router = two.router(**FLAGS)
    (reason,) = once.converge(router, threading.Event(), refused_s=0.1)
    assert "oc create clusterrole f5router-nodes --verb=get,list,watch --resource=nodes and " in reason
    assert two.writes() == []
    assert members(two) == BOTH
    two.kube.allow("nodes")
    assert two.converge(router) == []


def test_nodes_forbidden_later(running):
    """Known Nodes stay."""
    lab, router = running
    waiting.until(lambda: any(path.endswith("/nodes") for path in lab.kube.watches))
    lab.kube.forbid("nodes", ("get", "list", "watch"))
    lab.kube.inject("drop-watch", path="nodes")
    assert lab.kube.wait_for(lambda: router.cluster.problems())
    lab.settle(router)
    assert members(lab) == BOTH


def test_from_pods_to_nodes_and_back(two):
    """The mode may change: one write for each pool, in place."""
    assert two.converge() == []
    assert members(two) == {"10.128.0.5:8080", "10.128.0.6:8080"}
    for flags, expected in ((FLAGS, BOTH), ({}, {"10.128.0.5:8080", "10.128.0.6:8080"})):
        two.clear()
        assert two.converge(**flags) == []
        assert members(two) == expected
        writes = [path for path in two.writes() if "/ltm/node" not in path[1]]
        assert writes == [("PATCH", f"/mgmt/tm/{POOL}")]


def test_ipv6(lab):
    """Addresses are of the family of the cluster IP."""
    service, pods = manifests.published("shop", "web", pods={"fd01::5": "n1"})
    service["spec"]["clusterIP"] = "fd02::1"
    lab.apply(manifests.node("n1", "10.3.89.1", "2001:db8::1"), service, pods, manifests.route("plain"))
    assert lab.converge(**FLAGS) == []
    assert members(lab) == {"2001:db8::1.30080"}
