"""Nodes to static routes: what one Node asks for, and who gets what several ask for."""

import ipaddress
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model import names, ownership
from f5router.model.errors import error_for
from f5router.model.net import StaticRoute
from f5router.model.objects import Ref
from f5router.network import node_ports, static_routes
from tests.builders import FACTS, Settings, node, snapshot
from tests.reference.full_build import allocation, build
from tests.rows import rows

CONFIG = Settings(static_routes=True)
NEITHER = "neither spec.podCIDRs nor annotation k8s.ovn.org/node-subnets"


def node_networks(node) -> static_routes.NodeNetworks:
    return static_routes.node_networks(node, "/Common", {})


def wanted(node) -> dict[str, str]:
    """Gateways by network."""
    return {route.network: route.gateway for _, route in node_networks(node).wanted}


def routes(*nodes, config=CONFIG) -> dict[str, str]:
    """Gateways by network, of all Nodes together."""
    return {obj.network: obj.gateway for obj in allocation(nodes, config, FACTS).routes.values()}


def ovn(value: object) -> dict[str, str]:
    return {"ovn_subnets": value if isinstance(value, str) else json.dumps(value)}


@pytest.mark.parametrize(("more", "expected"), [
    pytest.param({"pod_cidrs": ("10.128.0.0/23",)}, {"10.128.0.0/23": "10.1.1.1"}, id="spec"),
    pytest.param({"pod_cidrs": ("10.128.0.0/23", "fd01::/64")},
                 {"10.128.0.0/23": "10.1.1.1", "fd01::/64": "2001:db8::1"}, id="both families"),
    pytest.param({"pod_cidrs": ("FD01:0::/64",)}, {"fd01::/64": "2001:db8::1"}, id="canonical"),
    pytest.param({"pod_cidrs": ("10.128.1.7/23",)}, {"10.128.0.0/23": "10.1.1.1"}, id="host bits"),
    pytest.param({"pod_cidrs": ("10.128.0.0/23", "10.128.1.0/23")}, {"10.128.0.0/23": "10.1.1.1"},
                 id="twice"),
    pytest.param(ovn({"default": "10.128.0.0/23"}), {"10.128.0.0/23": "10.1.1.1"}, id="annotation, text"),
    pytest.param(ovn({"default": ["10.128.0.0/23", "fd01::/64"]}),
                 {"10.128.0.0/23": "10.1.1.1", "fd01::/64": "2001:db8::1"}, id="annotation, list"),
    pytest.param(ovn({"default": ["10.128.0.0/23"], "blue": ["10.7.0.0/16"]}), {"10.128.0.0/23": "10.1.1.1"},
                 id="annotation, other networks"),
    pytest.param({"pod_cidrs": ("10.244.0.0/24",), **ovn({"default": "10.128.0.0/23"})},
                 {"10.128.0.0/23": "10.1.1.1"}, id="annotation first"),
])
def test_node_networks(more, expected):
    node_ = node("n", "10.1.1.1", "2001:db8::1", **more)
    assert wanted(node_) == expected
    assert node_networks(node_).warnings == ()


@pytest.mark.parametrize(("addresses", "expected"), [
    (("10.1.1.1", "10.1.1.2"), "10.1.1.1"), (("2001:db8::1", "10.1.1.2"), "10.1.1.2"),
    (("127.0.0.1", "169.254.0.1", "10.1.1.3"), "10.1.1.3"),
])
def test_gateway(addresses, expected):
    """The first usable InternalIP of the network's family."""
    assert wanted(node("n", *addresses, pod_cidrs=("10.128.0.0/23",))) == {"10.128.0.0/23": expected}


BAD = [
    pytest.param({}, NEITHER, id="nothing"),
    pytest.param(ovn("{"), "is no JSON object with", id="no JSON"),
    pytest.param(ovn('"10.128.0.0/23"'), "is no JSON object with", id="a text"),
    pytest.param(ovn(["10.128.0.0/23"]), "is no JSON object with", id="a list"),
    pytest.param(ovn({"blue": "10.7.0.0/16"}), "is no JSON object with", id="no default"),
    pytest.param(ovn("[" * 100000), "is no JSON object with", id="too deep"),
    pytest.param(ovn({"default": None}), "neither a network nor several", id="null"),
    pytest.param(ovn({"default": []}), "neither a network nor several", id="empty"),
    pytest.param(ovn({"default": ""}), "pod CIDR '' is not a network", id="empty text"),
    pytest.param(ovn({"default": {"x": 1}}), "neither a network nor several", id="a mapping"),
    pytest.param(ovn({"default": ["10.128.0.0/23", 5]}), "neither a network nor several", id="a number"),
    pytest.param({"pod_cidrs": ("10.128.0.0/33",)}, "pod CIDR '10.128.0.0/33' is not a network", id="/33"),
    pytest.param({"pod_cidrs": ("",)}, "pod CIDR '' is not a network", id="empty CIDR"),
    pytest.param({"pod_cidrs": ("10.128.0.0",)}, "is not a network but an address", id="address"),
    pytest.param({"pod_cidrs": ("10.128.0.0%1/23",)}, "is not a network", id="route domain"),
    pytest.param({"pod_cidrs": ("\x1b[31m" * 99,)}, "'\\x1b[31m", id="control characters"),
    pytest.param({"pod_cidrs": ("0.0.0.0/0",)}, "would be the default route", id="default route"),
    pytest.param({"pod_cidrs": ("::/0",)}, "would be the default route", id="default route of IPv6"),
    pytest.param({"pod_cidrs": ("127.0.0.0/24",)}, "no pod can have", id="loopback"),
    pytest.param({"pod_cidrs": ("0.0.0.0/1",)}, "no pod can have", id="half of all"),
    pytest.param({"pod_cidrs": ("fe80::/64",)}, "no pod can have", id="link-local"),
    pytest.param({"pod_cidrs": ("::ffff:10.1.0.0/112",)}, "no pod can have", id="mapped"),
]


@rows(("more", "words"), BAD)
def test_bad(more, words):
    """One sentence of bounded length, which names the Node; the Node's other networks are served."""
    networks = node_networks(node("n", "10.1.1.1", "2001:db8::1", **more))
    (warning,) = networks.warnings
    assert networks.wanted == ()
    assert warning.startswith("Node n: ")
    assert words in warning
    assert warning.isprintable()
    assert len(warning) < 250


DEVICE = ("192.168.10.0/24", "2001:db8:10::/64")


@rows(("addresses", "others", "chosen", "of_device", "expected"), [
    pytest.param(("172.31.0.18", "192.168.10.18"), (), (), DEVICE, "192.168.10.18", id="near a self IP"),
    pytest.param(("192.168.10.9", "192.168.10.8"), (), (), DEVICE, "192.168.10.9", id="the first of two"),
    pytest.param(("172.31.0.18",), ("192.168.10.18",), (), DEVICE, "192.168.10.18", id="another interface"),
    pytest.param(("192.168.10.9",), ("192.168.10.1",), (), DEVICE, "192.168.10.9", id="InternalIPs first"),
    pytest.param(("172.31.0.18",), (), (), DEVICE, "", id="none is near"),
    pytest.param(("172.31.0.18",), (), (), (), "", id="no self IP"),
    pytest.param(("172.31.0.18",), (), (), None, "172.31.0.18", id="self IPs are not known"),
    pytest.param(("172.31.0.18", "10.4.7.7"), (), ("10.4.0.0/14",), DEVICE, "10.4.7.7", id="setting"),
    pytest.param(("172.31.0.18", "192.168.10.8"), (), ("10.4.0.0/14",), DEVICE, "", id="setting, none"),
    pytest.param(("172.31.0.18", "192.168.10.8"), (), ("fd00::/8",), DEVICE, "192.168.10.8",
                 id="setting of the other family"),
    pytest.param(("172.31.0.18", "10.4.7.7"), (), ("10.4.0.0/14",), None, "10.4.7.7", id="setting alone"),
])
def test_gateway_near_the_device(addresses, others, chosen, of_device, expected):
    """An address in a network of the device, or of the setting; a route to nowhere is none."""
    near = node_ports.near_networks(chosen, of_device)
    node_ = node("n", *addresses, other_ips=others, pod_cidrs=("10.128.0.0/23",))
    ((_, route),) = static_routes.node_networks(node_, "/Common", near).wanted
    assert (route.gateway, route.node) == (expected, "n")
    allocated = static_routes.allocate([static_routes.node_networks(node_, "/Common", near)])
    assert bool(allocated.routes) == bool(expected)
    assert bool(allocated.without_gateway) != bool(expected)


def test_each_family_has_its_gateway():
    node_ = node("n", "172.31.0.18", "2001:db8:9::1", "2001:db8:10::18", "192.168.10.18",
                 pod_cidrs=("10.128.0.0/23", "fd01::/64"))
    networks = static_routes.node_networks(node_, "/Common", node_ports.near_networks((), DEVICE))
    assert {route.network: route.gateway for _, route in networks.wanted} == {
        "10.128.0.0/23": "192.168.10.18", "fd01::/64": "2001:db8:10::18"}


def near_findings(nodes, of_device, chosen=()):
    near = node_ports.near_networks(chosen, of_device)
    allocated = static_routes.allocate(static_routes.node_networks(each, "/Common", near) for each in nodes)
    return static_routes.findings(allocated, chosen, of_device)


def test_nodes_far_from_the_device_are_one_problem():
    nodes = [node(f"n{number}", f"172.31.0.{number}", age=number, pod_cidrs=(f"10.128.{number}.0/24",))
             for number in (1, 2, 3)]
    findings = near_findings(nodes, DEVICE)
    assert findings.problems == (
        "Node n1: none of its addresses (172.31.0.1) lies in a network of a self IP of the BIG-IP "
        "(192.168.10.0/24): no route to pod CIDR 10.128.1.0/24 and 2 more networks, whose pods are not "
        "reachable",)
    assert findings.warnings == ()
    assert "in --static-route-node-networks (10.4.0.0/14)" in near_findings(
        nodes, DEVICE, ("10.4.0.0/14",)).problems[0]


@rows(("of_device", "problems", "warnings"), [
    pytest.param(("192.168.10.0/24",), 0, 1, id="pods of IPv6 beside those of IPv4"),
    pytest.param((), 2, 0, id="no self IP at all"),
    pytest.param(None, 0, 0, id="unknown"),
    pytest.param(DEVICE, 0, 0, id="both"),
])
def test_a_device_without_a_family(of_device, problems, warnings):
    both = node("n", "192.168.10.1", "2001:db8:10::1", pod_cidrs=("10.128.0.0/24", "fd01::/64"))
    findings = near_findings([both], of_device)
    assert (len(findings.problems), len(findings.warnings)) == (problems, warnings)


def test_a_gateway_of_the_setting_that_the_device_refuses():
    findings = near_findings([node("n1", "10.4.0.1", pod_cidrs=("10.128.1.0/24",))], DEVICE, ("10.4.0.0/14",))
    assert findings.problems == (
        "Node n1: its address 10.4.0.1, chosen by --static-route-node-networks, lies in no network of a self "
        "IP of the BIG-IP, which refuses such a gateway: no route to pod CIDR 10.128.1.0/24, whose pods are "
        "not reachable",)


def test_a_network_without_a_gateway_is_still_its_nodes():
    """No younger Node gets it, although the older one has no route."""
    far = node("old", "172.31.0.1", age=1, pod_cidrs=("10.128.0.0/23",))
    near_ = node("new", "192.168.10.1", age=2, pod_cidrs=("10.128.1.0/24",))
    near = node_ports.near_networks((), DEVICE)
    allocated = static_routes.allocate(
        static_routes.node_networks(each, "/Common", near) for each in (far, near_))
    assert allocated.routes == {}
    assert "overlaps 10.128.0.0/23 of Node old" in allocated.warnings[0]


@rows(("gateway", "stays"), [("172.31.0.1", True), ("10.9.9.9", False), ("", False)])
def test_a_route_that_the_device_has_stays(gateway, stays):
    near = node_ports.near_networks((), DEVICE)
    far = node("old", "172.31.0.1", pod_cidrs=("10.128.0.0/23",))
    allocated = static_routes.allocate([static_routes.node_networks(far, "/Common", near)])
    path = names.pod_route("/Common", "10.128.0.0/23")
    assert allocated.may_stay(StaticRoute(path, "10.128.0.0/23", gateway)) is stays


@rows(("text", "expected"), [
    ("10.4.0.0/14", ("10.4.0.0/14",)), (" 10.4.0.0/14 , 2001:DB8::/32,", ("10.4.0.0/14", "2001:db8::/32")),
    ("10.4.0.0/14,10.4.0.0/14", ("10.4.0.0/14",)), ("", ()),
])
def test_networks_of_the_setting(text, expected):
    assert node_ports.parse_networks(text) == expected


@rows(("text", "words"), [
    ("10.4.0.0", "has no prefix length"), ("10.4.0.1/14", "is not a network"), ("x", "'x' is not a network"),
    ("10.4.0.0/33", "is not a network"),
])
def test_bad_networks_of_the_setting(text, words):
    with pytest.raises(ValueError, match=words):
        node_ports.parse_networks(text)


def test_a_bad_network_beside_a_good_one():
    node_ = node("n", "10.1.1.1", pod_cidrs=("x/8", "10.128.0.0/23", "fd01::/64"))
    assert wanted(node_) == {"10.128.0.0/23": "10.1.1.1"}
    warnings = node_networks(node_).warnings
    assert "'x/8' is not a network" in warnings[0]
    words = "fd01::/64: the Node has no usable IPv6 address of type InternalIP in status.addresses (10.1.1.1)"
    assert words in warnings[1]


def test_readiness_and_labels_are_no_matter():
    ready = node("n", "10.1.1.1", pod_cidrs=("10.128.0.0/23",))
    other = node("n", "10.1.1.1", pod_cidrs=("10.128.0.0/23",), ready=False, unschedulable=True)
    assert node_networks(ready) == node_networks(other)


OLD = node("old", "10.1.1.1", pod_cidrs=("10.128.0.0/23",), age=1)


@pytest.mark.parametrize(("cidr", "words"), [
    ("10.128.0.0/23", "overlaps 10.128.0.0/23 of Node old"), ("10.128.1.0/24", "overlaps"),
    ("10.128.0.0/16", "overlaps"), ("10.128.0.0/32", "overlaps"), ("10.128.1.255/32", "overlaps"),
    ("10.0.0.0/9", "holds the address 10.1.1.1 of Node old"),
    ("10.1.1.1/32", "holds the address 10.1.1.1 of Node old"),
    ("10.1.1.2/32", "holds the address 10.1.1.2 of Node new"),
    ("10.128.2.0/23", ""), ("10.127.254.0/23", ""), ("10.1.1.3/32", ""),
])
def test_what_an_older_node_has(cidr, words):
    """Its networks and its addresses are its own; it is served whatever a newer Node says."""
    new = node("new", "10.1.1.2", pod_cidrs=(cidr,), age=2)
    allocated = allocation([new, OLD], CONFIG, FACTS)
    assert routes(new, OLD) == {"10.128.0.0/23": "10.1.1.1"} | ({} if words else {cidr: "10.1.1.2"})
    assert len(allocated.warnings) == bool(words)
    assert words in "".join(allocated.warnings)
    assert all(text.startswith(f"Node new: pod CIDR {cidr} ") for text in allocated.warnings)


def test_a_network_is_free_again():
    new = node("new", "10.1.1.2", pod_cidrs=("10.128.0.0/23",), age=2)
    assert routes(OLD, new) == {"10.128.0.0/23": "10.1.1.1"}
    assert routes(new) == {"10.128.0.0/23": "10.1.1.2"}


def test_without_the_flag():
    assert allocation([OLD], Settings(), FACTS) == static_routes.NetworkAllocation({})
    objects = build(snapshot(OLD), Settings(), FACTS).objects
    assert not [ref for ref in objects if ref.kind == StaticRoute.KIND]


ADDRESSES = st.sampled_from(["10.128.0.9", "10.3.0.1", "10.3.0.2", "2001:db8::1", "fd01::9"])
FIRST = int(ipaddress.IPv4Address("10.128.0.0"))
CIDRS = st.one_of(
    st.tuples(st.integers(FIRST, FIRST + 2047), st.sampled_from([21, 22, 23, 24, 31, 32])).map(
        lambda pair: str(ipaddress.ip_network(pair, strict=False))),
    st.sampled_from(["fd01::/64", "fd01::/65", "fd01:0:0:1::/64", "0.0.0.0/0", "x"]))
NODES = st.lists(
    st.builds(node, st.sampled_from([f"n{n}" for n in range(9)]), ADDRESSES, ADDRESSES, age=st.integers(0, 4),
              pod_cidrs=st.lists(CIDRS, max_size=2).map(tuple)),
    max_size=9, unique_by=lambda node: node.key)


@given(NODES, st.randoms())
def test_allocation(nodes, random):
    """In any order the same; disjoint; no Node's address inside; what nobody disputes is served."""
    allocated = allocation(nodes, CONFIG, FACTS)
    shuffled = random.sample(nodes, len(nodes))
    assert allocation(shuffled, CONFIG, FACTS) == allocated
    assert build(snapshot(*shuffled), CONFIG, FACTS).objects.items() >= allocated.routes.items()
    networks = [ipaddress.ip_network(obj.network) for obj in allocated.routes.values()]
    hosts = [ipaddress.ip_address(text) for item in nodes for text in item.internal_ips]
    claimed = [ipaddress.ip_network(route.network) for item in nodes for _,
               route in node_networks(item).wanted]
    for network in networks:
        assert not any(network.version == other.version and network.overlaps(other)
                       for other in networks if other != network)
        assert not any(host in network for host in hosts)
    for network in claimed:
        alone = sum(network.version == other.version and network.overlaps(other) for other in claimed) == 1
        if alone and not any(host in network for host in hosts):
            assert network in networks
    assert all(ownership.owns("/Common", obj) for obj in allocated.routes.values())


@given(st.lists(CIDRS.filter(lambda text: text != "x"), min_size=2, max_size=2, unique=True))
def test_names_are_distinct(pair):
    name, other = (names.pod_route("/Common", network) for network in pair)
    assert name != other


@pytest.mark.parametrize(("path", "network", "ours"), [
    ("/Common/openshift_pods_10.128.0.0_23", "10.128.0.0/23", True),
    ("/Common/openshift_pods_fd01--_64", "fd01::/64", True),
    ("/Common/openshift_pods_10.128.0.0_23", "10.128.0.0/24", False),
    ("/Common/x/openshift_pods_10.128.0.0_23", "10.128.0.0/23", False),
    ("/Common/openshift_pods_x", "default", False), ("/Common/k8s-n1-10.1.1.1", "10.128.0.0/23", False),
])
def test_owns(path, network, ours):
    """The name and the network must agree."""
    assert ownership.owns("/Common", StaticRoute(path, network, "10.1.1.1")) is ours


def test_refusals():
    """A sentence per message number, however many Nodes there are."""
    far = error_for("POST", "net/route", 400, "01070330:3: Static route gateway A is not directly connected.")
    odd = error_for("POST", "net/route", 400, "01070734:3: Configuration error: x")
    refs = [Ref(StaticRoute.KIND, f"/Common/r{n}") for n in range(4)]
    refused = static_routes.refusals({refs[2]: far, refs[0]: far, refs[3]: odd, refs[1]: far}, {})
    assert refused.warnings == ()
    near, other = refused.problems
    assert near.startswith("net/route /Common/r0: 01070330:3: ")
    assert "and 2 more alike" in near
    assert "self IP in the Nodes' network" in near
    assert other.startswith("net/route /Common/r3: 01070734:3: Configuration error: x; these")
    assert static_routes.refusals({}, {}) == static_routes.Findings()

