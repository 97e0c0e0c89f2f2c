"""The ghost HostSubnet as it is written, and what may be wrong with one."""

from ipaddress import IPv4Network

import pytest

from ghost_hostsubnet import manifest
from ghost_hostsubnet.manifest import (
    ASSIGN,
    FIXED_VNID,
    NODE_UID,
    HostSubnetInfo,
    SDNFacts,
    SubnetDecision,
)

GHOST = HostSubnetInfo("f5", host="f5", host_ip="10.3.89.213", subnet="10.131.0.0/23", uid="1", vnid="0")
NODE = HostSubnetInfo("node-1", host="node-1", host_ip="192.0.2.1", subnet="10.128.0.0/23", node_uid="9")


def cluster(*hostsubnets: HostSubnetInfo, **fields) -> SDNFacts:
    stock = {
        "nodes": {"node-1": frozenset({"192.0.2.1", "198.51.100.1"})},
        "networks": (IPv4Network("10.128.0.0/14"), IPv4Network("10.200.0.0/16")),
        "service_networks": (IPv4Network("172.30.0.0/16"),),
    }
    return SDNFacts((NODE, *hostsubnets), **(stock | fields))


def but(info: HostSubnetInfo = GHOST, **fields) -> HostSubnetInfo:
    return HostSubnetInfo(**{name: getattr(info, name) for name in HostSubnetInfo.__slots__} | fields)


def test_build():
    """Both annotations as text, host equal to the name. Source: OpenShift 3.11
    documentation, "Using the F5 Router Plug-in"."""
    assert manifest.build("f5", "10.3.89.213", "network.openshift.io/v1") == {
        "apiVersion": "network.openshift.io/v1",
        "kind": "HostSubnet",
        "metadata": {"name": "f5", "annotations": {
            "pod.network.openshift.io/assign-subnet": "true",
            "pod.network.openshift.io/fixed-vnid-host": "0",
        }},
        "host": "f5",
        "hostIP": "10.3.89.213",
    }
    assert manifest.build("f5", "10.3.89.213", "v1")["apiVersion"] == "v1"


@pytest.mark.parametrize(("obj", "expected"), [
    pytest.param(manifest.build("f5", "10.3.89.213", "v1"),
                 HostSubnetInfo("f5", host="f5", host_ip="10.3.89.213", vnid="0", pending=True),
                 id="requested"),
    pytest.param({"metadata": {"name": "f5", "uid": "1", "annotations": {FIXED_VNID: "0"}}, "host": "f5",
                  "hostIP": "10.3.89.213", "subnet": "10.131.0.0/23"}, GHOST, id="given"),
    pytest.param({"metadata": {"name": "a", "annotations": {ASSIGN: "false", NODE_UID: "9"}}},
                 HostSubnetInfo("a", pending=True, node_uid="9"), id="any value of the annotation"),
    pytest.param({"metadata": {"name": "a", "annotations": None}, "host": 5, "subnet": ["x"]},
                 HostSubnetInfo("a"), id="odd types"),
    pytest.param({}, HostSubnetInfo(""), id="empty"),
])
def test_decode(obj, expected):
    assert manifest.decode(obj) == expected


@pytest.mark.parametrize(("fields", "networks", "services"), [
    pytest.param({"network": "10.128.0.0/14", "serviceNetwork": "172.30.0.0/16"},
                 ["10.128.0.0/14"], ["172.30.0.0/16"], id="oldest"),
    pytest.param({"network": "10.128.0.0/14", "serviceNetwork": "172.30.0.0/16",
                  "clusterNetworks": [{"CIDR": "10.128.0.0/14"}, {"CIDR": "10.200.0.0/16"}]},
                 ["10.128.0.0/14", "10.200.0.0/16"], ["172.30.0.0/16"], id="several"),
    pytest.param({"network": "10.128.0.5/14"}, ["10.128.0.0/14"], [], id="host bits"),
    pytest.param({"network": "fd00::/48", "serviceNetwork": "all"}, [], [], id="not IPv4"),
    pytest.param({"clusterNetworks": ["x", None]}, [], [], id="odd"),
])
def test_facts_of_networks(fields, networks, services):
    facts = manifest.facts([], [], [fields])
    assert [str(network) for network in facts.networks] == networks
    assert [str(network) for network in facts.service_networks] == services


def test_facts_of_nodes():
    """Every address of a Node counts, whatever its type; names do not."""
    addresses = [("InternalIP", "192.0.2.1"), ("ExternalIP", "198.51.100.1"), ("Hostname", "node-1"),
                 ("Hostname", "192.0.2.9"), ("InternalIP", "::ffff:192.0.2.7"), ("InternalIP", "2001:DB8::1")]
    node = {"metadata": {"name": "node-1"},
            "status": {"addresses": [{"type": kind, "address": text} for kind, text in addresses]}}
    assert manifest.facts([], [node, {"metadata": {"name": "new"}}], []).nodes == {
        "node-1": {"192.0.2.1", "198.51.100.1", "192.0.2.9", "192.0.2.7", "2001:db8::1"}, "new": set()}


@pytest.mark.parametrize(("name", "good"), [
    ("openshift-f5-node", True), ("f5.example.com", True), ("a", True), ("0", True), ("x" * 253, True),
    ("x" * 254, False), ("F5", False), ("-f5", False), ("f5-", False), ("f5..a", False), ("f5/a", False),
    ("f5_a", False), ("", False), ("f5\n", False), ("é", False),
])
def test_name(name, good):
    assert (manifest.name_problem(name) == "") is good


@pytest.mark.parametrize(("text", "words"), [
    ("10.3.89.213", ""), ("203.0.113.1", ""), ("100.64.0.1", ""),
    ("2001:db8::1", "not an IPv4 address"), ("::ffff:10.3.89.213", "not an IPv4 address"),
    ("10.3.89", "not an IPv4 address"), ("10.3.89.213/24", "not an IPv4 address"),
    ("bigip.example.com", "not an IPv4 address"), ("", "not an IPv4 address"),
    ("010.3.89.213", "not an IPv4 address"), ("10.3.89.213%1", "not an IPv4 address"),
    ("127.0.0.1", "loopback"), ("127.8.8.8", "loopback"), ("0.0.0.0", "unspecified"),
    ("224.0.0.1", "multicast"), ("239.255.255.255", "multicast"), ("169.254.1.1", "link-local"),
    ("255.255.255.255", "broadcast"), ("240.0.0.1", "reserved"),
])
def test_address(text, words):
    problem = manifest.address_problem(text)
    assert bool(problem) is bool(words)
    assert words in problem


@pytest.mark.parametrize(("host_ip", "others", "words"), [
    pytest.param("10.3.89.213", (), [], id="free"),
    pytest.param("10.131.255.255", (), ["in the cluster network 10.128.0.0/14"], id="cluster network"),
    pytest.param("10.200.3.4", (), ["in the cluster network 10.200.0.0/16"], id="second cluster network"),
    pytest.param("172.30.0.1", (), ["in the service network 172.30.0.0/16"], id="service network"),
    pytest.param("192.0.2.1", (), ["192.0.2.1 is an address of the Node node-1"], id="a Node's, once"),
    pytest.param("198.51.100.1", (), ["is an address of the Node node-1"], id="a Node's second"),
    pytest.param("192.0.2.2", (but(NODE, name="node-2", host_ip="192.0.2.2"),),
                 ["hostIP of the HostSubnet node-2: use an address of the BIG-IP's own"],
                 id="a HostSubnet's"),
    pytest.param("10.3.89.213", (but(name="old"),),
                 ["hostIP of the HostSubnet old: use that one (--name old), or delete it first: "
                  "ghost-hostsubnet delete --name old"], id="another ghost's"),
    pytest.param("10.129.0.1", (but(name="old", host_ip="10.129.0.1"),),
                 ["cluster network", "HostSubnet old"], id="all at once"),
])
def test_judge_address(host_ip, others, words):
    decision = manifest.decide("f5", host_ip, cluster(*others))
    assert decision.action == ("refuse" if words else "create")
    assert len(decision.problems) == len(words)
    for word, problem in zip(words, decision.problems, strict=True):
        assert word in problem


@pytest.mark.parametrize(("name", "existing", "action", "words"), [
    pytest.param("f5", (GHOST,), "keep", "", id="there"),
    pytest.param("f5", (but(subnet="", pending=True),), "wait", "", id="asked for"),
    pytest.param("f5", (but(pending=True),), "wait", "", id="applied again by somebody"),
    pytest.param("f5", (but(subnet=""),), "refuse", "it has no subnet: run ghost-hostsubnet delete --name f5",
                 id="no subnet, not asked for"),
    pytest.param("f5", (but(host_ip="10.3.89.1"),), "refuse",
                 "exists with hostIP 10.3.89.1, not 10.3.89.213: use --host-ip 10.3.89.1, or run "
                 "ghost-hostsubnet delete --name f5 and create it again", id="other address"),
    pytest.param("f5", (but(host_ip="10.3.89.1", pending=True),), "refuse", "exists with hostIP",
                 id="other address, asked for"),
    pytest.param("f5", (but(vnid=None),), "refuse", f"the annotation {FIXED_VNID} is missing", id="no VNID"),
    pytest.param("f5", (but(vnid="7"),), "refuse", f"the annotation {FIXED_VNID} is '7'", id="other VNID"),
    pytest.param("f5", (but(host="f6"),), "refuse", "host is 'f6', which must equal the name", id="host"),
    pytest.param("f5", (but(node_uid="9"),), "refuse", "f5 is the name of a Node", id="of a Node"),
    pytest.param("node-1", (), "refuse", "node-1 is the name of a Node", id="name of a Node"),
    pytest.param("F5", (), "refuse", "no name", id="name"),
])
def test_judge_existing(name, existing, action, words):
    decision = manifest.decide(name, "10.3.89.213", cluster(*existing))
    assert decision.action == action
    assert len(decision.problems) == (action == "refuse")
    assert words in "".join(decision.problems)


def test_judge_tells_all_that_is_wrong_with_the_words():
    assert len(manifest.decide("F5", "::1", cluster()).problems) == 2


def test_judge_pure():
    """An empty cluster forbids nothing."""
    assert manifest.decide("f5", "10.3.89.213", SDNFacts()) == SubnetDecision("create")


@pytest.mark.parametrize(("info", "others", "wrong"), [
    pytest.param(GHOST, (), {}, id="all well"),
    pytest.param(but(host="x"), (), {"host": "must equal the name"}, id="host"),
    pytest.param(but(subnet="", pending=True), (),
                 {"assigned": "has not dealt with it", "subnet": "has no subnet"}, id="asked for"),
    pytest.param(but(subnet="10.131.0.0"), (), {"subnet": "not an IPv4 network"}, id="subnet"),
    pytest.param(but(subnet="10.64.0.0/23"), (),
                 {"network": "in no cluster network (10.128.0.0/14, 10.200.0.0/16)"}, id="foreign subnet"),
    pytest.param(but(vnid=None), (), {"vnid": 'missing, not "0"'}, id="VNID"),
    pytest.param(but(host_ip="192.0.2.1"), (), {"hostIP": "address of the Node node-1"}, id="a Node's IP"),
    pytest.param(but(host_ip="127.0.0.1"), (), {"hostIP": "loopback"}, id="loopback"),
    pytest.param(but(host_ip=""), (), {"hostIP": "not an IPv4 address"}, id="no address"),
    pytest.param(but(node_uid="9"), (), {"ghost": "HostSubnet of a Node"}, id="a Node's"),
    pytest.param(GHOST, (but(NODE, name="n2", subnet="10.131.0.0/24"),), {"overlap": "also of HostSubnet n2"},
                 id="overlap"),
    pytest.param(GHOST, (but(name="old", subnet="10.130.0.0/23"),),
                 {"hostIP": "hostIP of the HostSubnet old"}, id="two ghosts"),
])
def test_checks(info, others, wrong):
    results = [check for check in manifest.checks("f5", cluster(info, *others)) if not check.ok]
    assert {check.what for check in results} == set(wrong)
    for check in results:
        assert wrong[check.what] in check.message


def test_check_of_none():
    results = manifest.checks("f6", cluster(GHOST))
    assert [(check.ok, check.message) for check in results] == [
        (False, "there is no HostSubnet f6 (without a Node: f5)")]


@pytest.mark.parametrize(("options", "message"), [
    pytest.param({"internal_address": "10.3.89.213"}, "", id="internal address"),
    pytest.param({"internal_address": "10.3.89.1"}, "the internal address 10.3.89.1 is not the hostIP "
                 "10.3.89.213, to which nodes send: use 10.3.89.213", id="other internal address"),
    pytest.param({"gateway_cidr": "10.131.0.5/14"}, "", id="gateway"),
    pytest.param({"gateway_cidr": "10.131.0.5/23"}, "use 10.131.0.5/14, not 10.131.0.5/23", id="mask"),
])
def test_checks_of_options(options, message):
    problems = [check.message for check in manifest.checks("f5", cluster(GHOST), **options) if not check.ok]
    assert len(problems) == bool(message)
    assert message in "".join(problems)


def test_gateway_without_subnet():
    waiting = cluster(but(subnet="", pending=True))
    assert "without a subnet" in manifest.checks("f5", waiting, gateway_cidr="10.131.0.5/14")[-1].message
    foreign = cluster(but(subnet="10.64.0.0/23"))
    assert "no cluster network" in manifest.checks("f5", foreign, gateway_cidr="10.64.0.5/14")[-1].message


def test_ghosts():
    """A HostSubnet is a Node's by its annotation or, in old versions, by its name."""
    old = but(NODE, node_uid="")
    assert SDNFacts((old, GHOST), nodes={"node-1": frozenset()}).ghosts == (GHOST,)
    assert SDNFacts((but(NODE, name="gone"), GHOST)).ghosts == (GHOST,)
