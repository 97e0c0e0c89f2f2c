"""Nodes to FDB records, settings to the VxLAN device, and what is said of wrong ones."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model import names, ownership
from f5router.model.cluster import ClusterNetwork, Key
from f5router.model.device_facts import DeviceFacts, TunnelFacts
from f5router.model.errors import Refused, error_for
from f5router.model.net import FDBRecord, SelfIP, SourceTranslation, Tunnel, VxlanProfile
from f5router.model.objects import Ref
from f5router.network import vxlan
from tests.builders import FACTS, Settings, host_subnet, node, snapshot
from tests.reference.full_build import build

SETUP = vxlan.VxlanConfig("10.3.89.213", "10.131.0.5/14")
OTHER_UNIT = vxlan.VxlanConfig("10.3.89.214", "10.130.2.5/14")
CONFIG = Settings(vxlan=(SETUP,))
AUTOMAP = replace(FACTS, http=replace(FACTS.http, snat="automap"), https=replace(FACTS.https, snat="automap"))
NETWORK = ClusterNetwork(Key("", "default"), ("10.128.0.0/14",))
GHOST = host_subnet("f5", "10.3.89.213", "10.131.0.0/23")
TUNNEL = "/Common/vxlan5000"


@pytest.mark.parametrize(("addresses", "host_ip", "wanted"), [
    pytest.param(("10.1.1.1",), None, "10.1.1.1", id="InternalIP"),
    pytest.param(("10.1.1.1", "10.1.1.2"), None, "10.1.1.1", id="the first of two"),
    pytest.param(("2001:db8::1", "10.1.1.2"), None, "10.1.1.2", id="IPv6 first"),
    pytest.param(("127.0.0.1", "169.254.1.1", "0.0.0.0", "224.0.0.1", "10.1.1.2"), None, "10.1.1.2",
                 id="special"),
    pytest.param(("10.1.1.1",), "10.1.1.1", "10.1.1.1", id="equal hostIP"),
    pytest.param(("10.1.1.1",), "10.9.9.9", "10.9.9.9", id="another hostIP"),
    pytest.param(("10.1.1.1",), "", "10.1.1.1", id="HostSubnet without hostIP"),
    pytest.param((), "10.9.9.9", "10.9.9.9", id="only hostIP"),
    pytest.param(("2001:db8::1",), None, "", id="no IPv4"),
    pytest.param((), None, "", id="none"),
])
def test_vtep(addresses, host_ip, wanted):
    subnet = None if host_ip is None else host_subnet("n", host_ip)
    assert vxlan.vtep(node("n", *addresses), subnet) == wanted


@pytest.mark.parametrize(("address", "mac"), [
    ("10.1.2.255", "0a:0a:0a:01:02:ff"), ("192.168.0.1", "0a:0a:c0:a8:00:01"),
    ("2001:db8::1", ""), ("x", ""), ("10.1.1.1%0", ""),
])
def test_mac(address, mac):
    """openshift/origin v3.11.0, pkg/router/f5/f5.go: checkIPAndGetMac."""
    assert names.fdb_mac(address) == mac


ADDRESSES = st.ip_addresses(v=4).map(str)


@given(ADDRESSES, ADDRESSES)
def test_macs_are_distinct(address, other):
    assert (names.fdb_mac(address) == names.fdb_mac(other)) == (address == other)


NUMBERED = st.lists(st.tuples(st.integers(0, 20), ADDRESSES), max_size=20, unique_by=lambda n: n[0])


@given(NUMBERED, st.randoms())
def test_order_does_not_matter(nodes, random):
    """Shuffled Nodes give the same records, each ours, one per address."""
    shuffled = [node(f"n{number}", address) for number, address in nodes]
    objects = build(snapshot(*shuffled), CONFIG, FACTS).objects
    random.shuffle(shuffled)
    assert build(snapshot(*shuffled), CONFIG, FACTS).objects == objects
    records = [obj for obj in objects.values() if isinstance(obj, FDBRecord)]
    assert all(ownership.owns("/Common", obj) for obj in records)
    wanted = {vxlan.vtep(n, None) for n in shuffled} - {"", SETUP.internal_address}
    assert {obj.endpoint for obj in records} == wanted


def test_device():
    """openshift/origin v3.11.0, pkg/router/f5/f5.go: ensureVxLANTunnel."""
    profile, tunnel, address = vxlan.base(CONFIG, FACTS, {})
    assert profile == VxlanProfile("/Common/vxlan-ose", 4789, "multipoint")
    assert tunnel == Tunnel(TUNNEL, "/Common/vxlan-ose", "10.3.89.213", 0)
    assert address == SelfIP("/Common/10.131.0.5/14", "10.131.0.5/14", TUNNEL, ("all",))
    assert [obj.dependencies for obj in (profile, tunnel, address)] == [(), (profile.ref,), (tunnel.ref,)]


@pytest.mark.parametrize(("cluster", "device", "wanted"), [
    pytest.param(None, 0, 4789, id="nothing is known"),
    pytest.param(4789, 0, 4789, id="the usual one"),
    pytest.param(8472, 0, 8472, id="another"),
    pytest.param(8472, 4789, 8472, id="the device has the usual one"),
    pytest.param(4789, 8472, 4789, id="the device has another one"),
    pytest.param(None, 8472, 8472, id="the cluster's may not be read"),
])
def test_port(cluster, device, wanted):
    """That of the cluster; a right that is lost must not change a device that works."""
    networks = {NETWORK.key: replace(NETWORK, vxlan_port=cluster)} if cluster else {}
    profile, *_ = vxlan.base(CONFIG, replace(FACTS, vxlan_port=device), networks)
    assert profile.port == wanted


@pytest.mark.parametrize("version", [(11, 4), (11, 6, 5), (12, 0), (12, 1, 2), (16, 1)])
def test_versions(version):
    facts = replace(FACTS, version=version)
    objects = build(snapshot(node("n", "10.1.1.1")), CONFIG, facts).objects
    assert any(ref.kind in vxlan.KINDS for ref in objects) is (version >= (12, 0))
    problems = vxlan.check(CONFIG, facts, vxlan.ClusterNetworkView()).problems
    assert bool(problems) is (version < (12, 0))
    assert all("ramp node" in text for text in problems)


def test_ghost_and_own_address_get_no_record():
    """A HostSubnet is no Node; a Node with the BIG-IP's address is a mistake."""
    objects = build(snapshot(GHOST, node("n", "10.3.89.213")), CONFIG, FACTS).objects
    assert not [ref for ref in objects if ref.kind == FDBRecord.KIND]


def test_without_vxlan():
    assert vxlan.base(Settings(manage_snat=True), FACTS, {}) == []
    assert vxlan.record(node("n", "10.1.1.1"), None, Settings(), FACTS) == {}
    assert vxlan.check(Settings(), FACTS, vxlan.ClusterNetworkView()) == vxlan.Findings()


@pytest.mark.parametrize(("snat", "flag", "wanted"), [
    ("none", True, 2), ("automap", True, 2), ("snat", True, 0), ("lsn", True, 0), ("none", False, 0),
])
def test_manage_snat(snat, flag, wanted):
    facts = replace(FACTS, http=replace(FACTS.http, snat=snat), https=replace(FACTS.https, snat=snat))
    objects = vxlan.base(Settings(vxlan=(SETUP,), manage_snat=flag), facts, {})
    assert len([obj for obj in objects if isinstance(obj, SourceTranslation)]) == wanted


@pytest.mark.parametrize(("obj", "ours"), [
    (VxlanProfile("/Common/vxlan-ose"), True), (VxlanProfile("/Common/vxlan"), False),
    (VxlanProfile("/Common/x/vxlan-ose"), False),
    (Tunnel(TUNNEL, "/Common/other", "10.1.1.1"), True), (Tunnel("/Common/vxlan5001", "p", "x"), False),
    (SelfIP("/Common/10.1.1.1/14", "10.1.1.1/14", TUNNEL), True),
    (SelfIP("/Common/10.1.1.1/14", "10.1.1.1/14", "/Common/internal"), False),
    (SelfIP("/Common/x/10.1.1.1/14", "10.1.1.1/14", TUNNEL), False),
    (SelfIP("/Common/mine", "10.1.1.1/14", TUNNEL), False),
    (FDBRecord(TUNNEL, "0a:0a:0a:01:01:01", "10.1.1.1"), True),
    (FDBRecord(TUNNEL, "0a:0a:0a:01:01:01", "10.1.1.2"), False),
    (FDBRecord(TUNNEL, "00:50:56:01:01:01", "10.1.1.1"), False),
    (FDBRecord("/Common/other", "0a:0a:0a:01:01:01", "10.1.1.1"), False),
    (SourceTranslation("/Common/v", "automap"), False),
])
def test_owns(obj, ours):
    assert ownership.owns("/Common", obj) is ours


def told(gateway="10.131.0.5/14", *, address="10.3.89.213", subnets=(GHOST,), networks=(NETWORK,), nodes=(),
         facts=AUTOMAP, **settings) -> vxlan.Findings:
    config = Settings(vxlan=(vxlan.VxlanConfig(address, gateway),), **settings)
    known = ({obj.key: obj for obj in objects} for objects in (nodes, subnets, networks))
    return vxlan.check(config, facts, vxlan.ClusterNetworkView(*known))


SEVERAL = ClusterNetwork(Key("", "default"), ("10.0.0.0/16", "10.128.0.0/14"))


@pytest.mark.parametrize(("case", "words"), [
    pytest.param({}, [], id="right"),
    pytest.param({"subnets": (), "networks": ()}, [], id="nothing can be read"),
    pytest.param({"gateway": "10.131.0.5/23"}, ["cluster network 10.128.0.0/14", "set 10.131.0.5/14"],
                 id="/23"),
    pytest.param({"gateway": "10.131.0.5/13"}, ["set 10.131.0.5/14"], id="too wide"),
    pytest.param({"gateway": "10.129.0.5/14"}, ["10.131.0.0/23, the subnet of HostSubnet f5",
                                                "set for example 10.131.0.5/14"], id="another subnet"),
    pytest.param({"gateway": "10.129.2.0/23"}, ["set for example 10.131.0.1/14"], id="subnet and mask"),
    pytest.param({"gateway": "10.131.0.0/14"}, ["set for example 10.131.0.1/14"], id="first address"),
    pytest.param({"gateway": "10.131.0.5/23", "networks": ()}, ["oc get clusternetwork"], id="no network"),
    pytest.param({"gateway": "10.131.0.5/23", "subnets": ()}, ["set 10.131.0.5/14"], id="/23, no subnets"),
    pytest.param({"gateway": "192.168.0.5/14", "subnets": ()}, ["not in the cluster network 10.128.0.0/14"],
                 id="elsewhere"),
    pytest.param({"gateway": "10.131.0.5/23", "networks": (SEVERAL,)}, ["set 10.131.0.5/14"], id="several"),
    pytest.param({"address": "10.3.89.9", "nodes": (node("n", "10.1.1.1"),)},
                 ["no HostSubnet has this hostIP", "set 10.3.89.213 of HostSubnet f5"], id="not the ghost's"),
    pytest.param({"address": "10.3.89.9", "subnets": (host_subnet("n", "10.1.1.1"),),
                  "nodes": (node("n", "10.1.1.1"),)}, ["create a HostSubnet with hostIP 10.3.89.9"],
                 id="no ghost"),
    pytest.param({"subnets": (host_subnet("f5", "10.3.89.213", ""),)}, ["f5 has no subnet yet"],
                 id="no subnet"),
    pytest.param({"address": "10.130.0.1", "subnets": ()}, ["lies in the cluster network 10.128.0.0/14"],
                 id="a pod's address"),
    pytest.param({"nodes": (node("n", "10.3.89.213"),)}, ["it is the address of Node n"],
                 id="a Node's address"),
])
def test_problems(case, words):
    """Each names the setting and shows the right value."""
    problems = told(**case).problems
    assert len(problems) == bool(words)
    for text in words:
        assert text in problems[0]
    assert all(text.startswith("--f5-") for text in problems)


def test_warnings():
    nodes = node("a", "10.1.1.1"), node("b", "10.1.1.1"), node("c", "2001:db8::1")
    findings = told(nodes=nodes, networks=(SEVERAL,))
    assert findings.problems == ()
    assert findings.warnings == (
        "Node c: no usable IPv4 address of type InternalIP in status.addresses (2001:db8::1); its pods are "
        "not reachable",
        "Nodes a, b have the same address 10.1.1.1; one FDB record stands for all",
        "--f5-vxlan-gateway-cidr: the cluster has 2 networks (10.0.0.0/16, 10.128.0.0/14); only pods of the "
        "one that holds the gateway are reached",
    )


@pytest.mark.parametrize(("snat", "pool", "flag", "words"), [
    ("automap", (), False, ""), ("none", (), False, "--f5-manage-snat"), ("none", (), True, ""),
    ("snat", ("10.131.0.5",), False, ""), ("snat", ("10.131.0.6",), True, "does not hold 10.131.0.5"),
    ("lsn", (), True, "does not hold 10.131.0.5"),
])
def test_return_traffic(snat, pool, flag, words):
    http = replace(FACTS.http, snat=snat, snat_pool="/Common/sp", snat_addresses=frozenset(pool))
    findings = told(facts=replace(AUTOMAP, http=http), manage_snat=flag)
    assert findings.problems == ()
    assert len(findings.warnings) == bool(words)
    assert words in "".join(findings.warnings)


@pytest.mark.parametrize(("snat", "flag", "words"), [
    ("automap", False, "automap takes floating self IPs before 10.131.0.5, and the BIG-IP has 10.3.89.220"),
    ("none", True, "automap takes"), ("none", False, "--f5-manage-snat"), ("snat", False, ""),
])
def test_automap_prefers_floating_self_ips(snat, flag, words):
    """No SNAT pool is right for both units of a pair."""
    http = replace(FACTS.http, snat=snat, snat_pool="/Common/sp", snat_addresses=frozenset({"10.131.0.5"}))
    facts = replace(AUTOMAP, http=http, https=None, floating_addresses=("10.3.89.220",))
    findings = told(facts=facts, manage_snat=flag)
    assert len(findings.warnings) == bool(words)
    assert words in "".join(findings.warnings)
    if "automap takes" in words:
        assert findings.warnings[0].endswith("set a SNAT pool with 10.131.0.5")
        both = Settings(vxlan=(SETUP, OTHER_UNIT), manage_snat=flag)
        (warning,) = vxlan.check(both, facts, vxlan.ClusterNetworkView()).warnings
        assert warning.endswith("set up the pair without them (docs/bigip-pairs.md)")


def test_settings_of_the_other_unit():
    """They are checked before it is active, and its HostSubnet is proposed for no other."""
    config, nodes = Settings(vxlan=(SETUP, OTHER_UNIT)), {Key("", "n"): node("n", "10.1.1.1")}
    second = host_subnet("f5-2", "10.3.89.214", "10.130.2.0/23")
    networks = {NETWORK.key: NETWORK}

    def problems(*subnets, unit=0):
        view = vxlan.ClusterNetworkView(nodes, {each.key: each for each in subnets}, networks)
        return vxlan.check(config, replace(AUTOMAP, unit=unit), view).problems

    assert problems(GHOST, second) == problems(GHOST, second, unit=1) == ()
    (problem,) = problems(GHOST)
    assert problem.startswith("--f5-internal-address 10.3.89.214: no HostSubnet has this hostIP")
    assert "; create a HostSubnet with hostIP 10.3.89.214" in problem


@pytest.mark.parametrize(("port", "networks", "words"), [
    (0, (), ""), (4789, (), ""), (8472, (NETWORK,), ""), (8472, (), "vxlan-ose: port 8472 stays as it is"),
])
def test_a_port_that_cannot_be_compared(port, networks, words):
    findings = told(facts=replace(AUTOMAP, vxlan_port=port), networks=networks)
    assert findings.problems == ()
    assert len(findings.warnings) == bool(words)
    assert words in "".join(findings.warnings)


@pytest.mark.parametrize(("kind", "text", "licence"), [
    (VxlanProfile.KIND, "01070356:3: SDN Services feature not licensed.", True),
    (VxlanProfile.KIND, "01070356:3: another sentence", True),
    (VxlanProfile.KIND, "One of the following features must be licensed/provisioned for the URI x", True),
    (VxlanProfile.KIND, "01070734:3: Configuration error: x", False),
    (Tunnel.KIND, "01070734:3: Configuration error: x", False),
])
def test_refusal(kind, text, licence):
    error = error_for("POST", "x", 400, text)
    assert isinstance(error, Refused)
    said = vxlan.refusal(Ref(kind, "/Common/x"), error)
    assert error.text in said
    assert ("ramp node" in said) is licence


def test_default_facts_are_no_problem():
    """Before the first reading nothing is said of the version."""
    findings = vxlan.check(CONFIG, DeviceFacts(), vxlan.ClusterNetworkView())
    assert not any("TMOS" in text for text in findings.problems)


# --- several routers on one BIG-IP -------------------------------------------------------

OURS = TunnelFacts(TUNNEL, "10.3.89.213", ("10.131.0.5/14",))
THEIRS = TunnelFacts("/zone2/vxlan5000", "10.3.89.214", ("10.130.2.5/14",))


@pytest.mark.parametrize(("others", "rivals"), [
    pytest.param([], [], id="none"),
    pytest.param([THEIRS], [THEIRS.path], id="another subnet of the cluster network"),
    pytest.param([replace(THEIRS, path="/Common/openshift")], ["/Common/openshift"], id="made by hand"),
    pytest.param([replace(THEIRS, addresses=("10.9.9.9/24", "10.131.0.5/14"))], [THEIRS.path],
                 id="one of its addresses"),
    pytest.param([replace(THEIRS, addresses=("10.131.0.5/23",))], [], id="another network"),
    pytest.param([replace(THEIRS, addresses=("2001:db8::1/14",))], [], id="IPv6"),
    pytest.param([replace(THEIRS, addresses=("10.8.0.1/14",), local_address="10.3.89.213")], [THEIRS.path],
                 id="another cluster, by our address"),
    pytest.param([TunnelFacts("/zone2/gre", "10.3.89.213", ("10.8.0.1/14",))], [],
                 id="another sort of tunnel at our address"),
    pytest.param([THEIRS, replace(THEIRS, path="/zone3/vxlan5000")], [THEIRS.path, "/zone3/vxlan5000"],
                 id="two"),
])
def test_one_router_joins_for_all(others, rivals):
    """The second makes nothing, and says why; one that has a tunnel already keeps all, and says so too."""
    without = replace(AUTOMAP, tunnels=tuple(others))
    assert [tunnel.path for tunnel in vxlan.rivals(CONFIG, without)] == rivals
    config = replace(CONFIG, manage_snat=True)
    objects = [*vxlan.base(config, without, {}), *vxlan.record(node("n", "10.1.1.1"), None, config, without)]
    assert bool(objects) is not bool(rivals)
    problems = vxlan.check(CONFIG, without, vxlan.ClusterNetworkView()).problems
    assert len(problems) == len(rivals)
    for path, problem in zip(rivals, problems, strict=True):
        assert f"by tunnel {path} with self IP " in problem
        assert "nothing was made here; leave out --f5-internal-address and --f5-vxlan-gateway-cidr" in problem

    alone = vxlan.check(CONFIG, replace(FACTS, tunnels=tuple(others)),
                        vxlan.ClusterNetworkView())
    assert bool(alone.warnings) is not bool(rivals), "what else is wrong does not matter then"

    both = replace(AUTOMAP, tunnels=(OURS, *others))
    assert vxlan.joins(CONFIG, both)
    assert vxlan.base(CONFIG, both, {}) == vxlan.base(CONFIG, AUTOMAP, {})
    problems = vxlan.check(CONFIG, both, vxlan.ClusterNetworkView()).problems
    assert len(problems) == len(rivals)
    assert all(f"with {TUNNEL} there are two, and pods may not be reached" in text for text in problems)


def test_without_vxlan_other_tunnels_do_not_matter():
    facts = replace(AUTOMAP, tunnels=(THEIRS,))
    assert vxlan.check(Settings(), facts, vxlan.ClusterNetworkView()).problems == ()
    assert not vxlan.joins(Settings(), facts)
