"""Nodes at node ports as pool members."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model.cluster import EndpointSlice, Key, ServicePort
from f5router.model.texts import Findings
from f5router.network import node_ports
from f5router.network.node_ports import NodePortConfig
from f5router.network.pool_members import Candidate, ServiceEndpoints
from tests.builders import endpoints, node, service

WEB = service(node_port=30080, ports=(("http", 8080), ("admin", 9090)), type="NodePort")
BOTH = endpoints(ports=(("http", 8080), ("admin", 9090)), nodes=("n1",))
N1, N2 = node("n1", "10.1.0.1"), node("n2", "10.1.0.2", "2001:db8::2")
N3 = node("n3", "2001:db8::3", "10.1.0.3")


def view(*nodes, of=WEB, slices=(BOTH,), listed=True, exclude=()) -> ServiceEndpoints:
    by_key = {node.key: node for node in nodes or (N1, N2)}
    return ServiceEndpoints(of, tuple(slices), listed, node_ports.candidates(by_key,
                                                                        NodePortConfig(exclude=exclude)))


def names(port: str, seen: ServiceEndpoints) -> set[str]:
    return {member.name for member in node_ports.choose(port, seen, 1000).members}


@pytest.mark.parametrize(("port", "expected"), [
    ("", {"10.1.0.1:30080", "10.1.0.2:30080", "10.1.0.1:30081", "10.1.0.2:30081"}),
    ("http", {"10.1.0.1:30080", "10.1.0.2:30080"}), ("8080", {"10.1.0.1:30080", "10.1.0.2:30080"}),
    ("admin", {"10.1.0.1:30081", "10.1.0.2:30081"}), ("30080", set()), ("other", set()), ("80", set()),
])
def test_ports(port, expected):
    """Every port, or the one that the Route names, by its name or by the pods' number."""
    assert names(port, view()) == expected


def one_port(port: ServicePort, **more):
    return replace(WEB, ports=(port,), **more)


NUMBERED = ServicePort("http", 80, target_port="8080", node_port=30080)
NAMED = replace(NUMBERED, target_port="web")
PODS = endpoints(nodes=("n1",))


@pytest.mark.parametrize(("port", "slices", "wanted", "expected"), [
    pytest.param(NUMBERED, (), "8080", True, id="number, by the Service"),
    pytest.param(NUMBERED, (), "80", False, id="the Service's own port"),
    pytest.param(NAMED, (PODS,), "8080", True, id="number, by the endpoints"),
    pytest.param(NAMED, (), "8080", False, id="number of a named port without endpoints"),
    pytest.param(NAMED, (PODS,), "web", False, id="the pods' own name of the port"),
    pytest.param(NAMED, (), "web", False, id="the pods' own name of the port, no endpoints"),
    pytest.param(NUMBERED, (endpoints(nodes=("n1",), ports=(("http", 9999),)),), "8080", False,
                 id="endpoints decide"),
    pytest.param(ServicePort("", 80, target_port="8080", node_port=30080),
                 (endpoints(nodes=("n1",), ports=(("", 8080),)),), "8080", True, id="port without a name"),
    pytest.param(ServicePort("http", 80, "UDP", "8080", 30080), (), "", False, id="UDP"),
    pytest.param(ServicePort("http", 80, "SCTP", "8080", 30080), (), "http", False, id="SCTP"),
    pytest.param(ServicePort("http", 80, target_port="8080"), (), "", False, id="no node port"),
])
def test_target_ports(port, slices, wanted, expected):
    assert bool(names(wanted, view(of=one_port(port), slices=slices))) is expected


def test_tcp_and_udp_of_one_name_and_number():
    """DNS, say: only the TCP one."""
    udp, tcp = ServicePort("dns", 53, "UDP", "5353", 30053), ServicePort("dns", 53, "TCP", "5353", 30054)
    dns = replace(WEB, ports=(udp, tcp))
    both = (endpoints(nodes=("n1",), ports=(("dns", 5353),)),
            endpoints(name="u", nodes=("n1",), ports=(("dns", 5353),), protocol="UDP"))
    assert names("dns", view(N1, of=dns, slices=both)) == {"10.1.0.1:30054"}


@pytest.mark.parametrize("kind", ["ClusterIP", "ExternalName", "", "Other"])
def test_other_types_have_none(kind):
    assert names("", view(of=replace(WEB, type=kind))) == set()
    assert node_ports.choose("", ServiceEndpoints(), 1000).members == frozenset()


def test_load_balancer():
    assert names("http", view(of=replace(WEB, type="LoadBalancer"))) == {"10.1.0.1:30080", "10.1.0.2:30080"}


@pytest.mark.parametrize(("cluster_ip", "expected"), [
    ("172.30.0.1", {"10.1.0.1:30080", "10.1.0.2:30080", "10.1.0.3:30080"}),
    ("fd02::1", {"2001:db8::2.30080", "2001:db8::3.30080"}),
    ("", {"10.1.0.1:30080", "10.1.0.2:30080", "10.1.0.3:30080"}),
])
def test_family(cluster_ip, expected):
    """That of the cluster IP; a Node without such an address is no member."""
    assert names("http", view(N1, N2, N3, of=replace(WEB, cluster_ip=cluster_ip))) == expected


def test_a_cluster_of_ipv6_alone():
    assert names("http", view(node("n", "2001:db8::1"))) == {"2001:db8::1.30080"}


LOCAL = replace(WEB, local=True)


@pytest.mark.parametrize(("places", "listed", "expected"), [
    pytest.param(("n1",), True, {"n1"}, id="one"), pytest.param(("n1", "n3"), True, {"n1", "n3"}, id="two"),
    pytest.param((), True, set(), id="no pod"), pytest.param(("gone",), True, set(), id="another Node"),
    pytest.param(("",), True, set(), id="no Node told"),
    pytest.param((), False, {"n1", "n2", "n3"}, id="forbidden"),
])
def test_local(places, listed, expected):
    """Only Nodes with a ready pod of the Service; all where endpoints may not be read."""
    slices = (endpoints(nodes=places),) if places else ()
    members = names("http", view(N1, N2, N3, of=LOCAL, slices=slices, listed=listed))
    assert {f"n{name.split(':')[0][-1]}" for name in members} == expected


def test_local_of_several_slices():
    slices = (endpoints(nodes=("n1",)), endpoints(name="more", nodes=("n2",)))
    assert len(names("http", view(N1, N2, N3, of=LOCAL, slices=slices))) == 2


DOWN, CORDONED = replace(N1, ready=False), replace(N2, unschedulable=True)


@pytest.mark.parametrize(("nodes", "exclude", "expected"), [
    ((DOWN, CORDONED, N3), (), {1, 2, 3}), ((DOWN, CORDONED, N3), ("not-ready",), {2, 3}),
    ((DOWN, CORDONED, N3), ("unschedulable",), {1, 3}),
    ((DOWN, CORDONED, N3), ("not-ready", "unschedulable"), {3}),
    # Nothing else is left: they may serve, nothing certainly does not.
    ((DOWN, CORDONED), ("not-ready", "unschedulable"), {1, 2}), ((DOWN,), ("not-ready",), {1}),
])
def test_exclude(nodes, exclude, expected):
    """While there are others."""
    members = names("http", view(*nodes, exclude=exclude))
    assert {int(name.split(":")[0][-1]) for name in members} == expected


def test_exclude_and_local():
    """Both settings choose among the Nodes with a pod."""
    for places, expected in ((("n1", "n3"), {"10.1.0.3:30080"}), (("n1",), {"10.1.0.1:30080"})):
        slices = (endpoints(nodes=places),)
        assert names("http", view(DOWN, N2, N3, of=LOCAL, slices=slices, exclude=("not-ready",))) == expected


NO_ENDPOINTS = ("NoEndpoints", "spec.to.name: Service web has no ready endpoints, and no others: it "
                "selects no pod that runs")


@pytest.mark.parametrize(("port", "more", "reason", "expected"), [
    pytest.param("http", {}, "", "", id="served"),
    pytest.param("", {"of": replace(WEB, type="ClusterIP")}, "NoNodePort",
                 "spec.to.name: Service web is of type ClusterIP; this router takes node ports "
                 "(--pool-member-type), which only types NodePort and LoadBalancer have", id="ClusterIP"),
    pytest.param("none", {}, "ServicePortNotFound",
                 "spec.port.targetPort: Service web has no port none; it has admin, http", id="no such port"),
    pytest.param("", {"of": one_port(ServicePort("dns", 53, "UDP", "53", 30053))}, "ServicePortNotFound",
                 "spec.to.name: each port of Service web is for UDP; a Route needs TCP", id="UDP"),
    pytest.param("", {"of": service(ports=(("a", 1), ("b", 2)), type="LoadBalancer")}, "NoNodePort",
                 "spec.to.name: port 1, 2 of Service web has no nodePort", id="no nodePort"),
    pytest.param("http", {"slices": ()}, *NO_ENDPOINTS, id="no endpoints"),
    pytest.param("http", {"slices": (endpoints(),)}, *NO_ENDPOINTS, id="none that is ready"),
    pytest.param("http", {"slices": (endpoints(nodes=("",)),)}, "", "", id="endpoints without Nodes"),
    pytest.param("http", {"slices": (), "listed": False}, "", "", id="endpoints may not be read"),
    pytest.param("http", {"of": LOCAL, "slices": (), "listed": False}, "Warning",
                 "spec.to.name: Service web has externalTrafficPolicy Local, and EndpointSlices may not be "
                 "read: Nodes without a pod of it are members too", id="Local, endpoints may not be read"),
])
def test_warnings(port, more, reason, expected):
    warnings = [(reason, expected)] if reason else []
    assert list(node_ports.warnings("spec.to.name", port, view(**more))) == warnings


def test_findings():
    """Each Node without an address is named; no Node at all is a problem."""
    setup = NodePortConfig(selector="a=b")
    candidates = {"n1": Candidate("10.1.0.1", "", True), "n3": Candidate("", "", True),
                  "n2": Candidate("", "", False)}
    assert node_ports.findings(candidates, setup) == Findings(warnings=tuple(
        f"Node {name}: no usable address of type InternalIP in status.addresses; it is no pool member"
        for name in ("n2", "n3")))
    assert node_ports.findings({}, setup).problems == (
        "no Node has the labels of --node-label-selector a=b: every pool is empty",)
    assert node_ports.findings({}, NodePortConfig()).problems == ("no Node is there: every pool is empty",)
    assert node_ports.findings({}, None) == Findings()


NAMES = st.sampled_from(["n1", "n2", "n3", "n4"])
ADDRESSES = st.sampled_from(["10.1.0.1", "10.1.0.2", "127.0.0.1"])
NODES = st.lists(st.builds(node, NAMES, ADDRESSES, ready=st.booleans(), unschedulable=st.booleans()),
                 unique_by=lambda node: node.key)


@given(NODES, st.frozensets(NAMES), st.booleans(), st.sets(st.sampled_from(node_ports.STATES)))
def test_members(nodes, places, local, exclude):
    """Always addresses of known Nodes at the Service's node port; none excluded beside one that is not."""
    slices = (EndpointSlice(Key("shop", "s"), "web", nodes=frozenset(places)),)
    members = names("http", ServiceEndpoints(replace(WEB, local=local), slices, True, node_ports.candidates(
        {node.key: node for node in nodes}, NodePortConfig("", tuple(exclude)))))
    allowed = [node for node in nodes if node.internal_ips != ("127.0.0.1",)
               and (not local or node.key.name in places)]
    good = [node for node in allowed if not ("not-ready" in exclude and not node.ready)
            and not ("unschedulable" in exclude and node.unschedulable)]
    assert members == {f"{node.internal_ips[0]}:30080" for node in good or allowed}
