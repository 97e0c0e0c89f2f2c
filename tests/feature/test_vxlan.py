"""The BIG-IP as a host of the cluster network: its VxLAN device, and an FDB record per Node."""

import threading
import time

import pytest

from f5router.cluster import Key
from tests import manifests
from tests.feature.conftest import HTTP, HTTPS

FLAGS = {"f5_internal_address": "10.3.89.213", "f5_vxlan_gateway_cidr": "10.131.0.5/14"}
TUNNEL, PROFILE, SELF = "/Common/vxlan5000", "/Common/vxlan-ose", "/Common/10.131.0.5/14"
PATHS = {"net/tunnels/vxlan": PROFILE, "net/tunnels/tunnel": TUNNEL, "net/self": SELF}
URL = "net/tunnels/tunnel/~Common~vxlan5000"
FDB = "net/fdb/tunnel/~Common~vxlan5000"
NODES = (manifests.node("n1", "10.3.89.1"), manifests.node("n2", "10.3.89.2"))
GHOST = manifests.host_subnet("f5", "10.3.89.213", "10.131.0.0/23")
NETWORK = manifests.cluster_network("10.128.0.0/14")
MACS = {"0a:0a:0a:03:59:01": "10.3.89.1", "0a:0a:0a:03:59:02": "10.3.89.2"}
FOREIGN = {"0a:0a:c0:a8:c8:41": "10.9.9.9", "00:50:56:01:02:03": "10.9.9.10"}
DERIVED = ("generation", "selfLink", "ifIndex", "vlanReference", "profileReference", "defaultsFromReference",
           "trafficGroupReference")


def selfip(name: str, vlan: str, address: str = "") -> dict:
    return {"name": name, "partition": "Common", "address": address or name, "vlan": vlan}


def snat_pool(address: str) -> dict:
    return {"name": "sp", "partition": "Common", "members": [f"/Common/{address}"]}


def sdn(lab, *objects: dict) -> None:
    """A cluster with the BIG-IP's HostSubnet; virtual servers with automap."""
    lab.apply(*(objects or NODES), GHOST, NETWORK)
    for name in (HTTP, HTTPS):
        lab.change("PATCH", _url("ltm/virtual", f"{lab.partition}/{name}"),
                   {"sourceAddressTranslation": {"type": "automap"}})


def _url(kind: str, path: str) -> str:
    return f"{kind}/{path.replace('/', '~')}"


def fdb(lab, folder: str = "/Common") -> dict[str, str]:
    """Endpoints, without route domain, by MAC address."""
    records = lab.bigip.items("net/fdb/tunnel/records")
    return {item.key[-1]: item.fields["endpoint"].split("%")[0] for item in records
            if item.key[0] == f"{folder}/vxlan5000"}


def device(lab) -> dict[str, dict]:
    """What is configured of the VxLAN device, by kind."""
    found = {kind: lab.bigip.get(_url(kind, path)) or {} for kind, path in PATHS.items()}
    return {kind: {k: v for k, v in obj.items() if k not in DERIVED} for kind, obj in found.items()}


def selves(lab) -> set[str]:
    return {path for path in lab.paths("net/self") if path.startswith("/Common/10.")}


def foreign(lab) -> None:
    """Records of another administrator."""
    for mac, endpoint in FOREIGN.items():
        lab.bigip.put_object(f"{FDB}/records", {"name": mac, "endpoint": endpoint})


def network_writes(lab) -> list[tuple[str, str]]:
    return [(method, path.removeprefix("/mgmt/tm/")) for method, path in lab.writes()
            if path.startswith("/mgmt/tm/net/")]


def until(lab, router, done) -> None:
    """Passes of a running router until its Nodes are as wanted, and one more."""
    deadline = time.monotonic() + 20
    while not done(router._reconciler.engine.snapshot().nodes):
        assert time.monotonic() < deadline
        router.reconcile_once()
        threading.Event().wait(0.02)
    router.reconcile_once()


# --- device and records ------------------------------------------------------------------


def test_device_and_records(lab):
    """Names and fields of the original router (f5-router.md 2, rows 24-26); a second run writes nothing."""
    sdn(lab)
    lab.apply(manifests.route("plain"))
    assert lab.converge(**FLAGS) == []
    wanted = {
        "net/tunnels/vxlan": {"name": "vxlan-ose", "floodingType": "multipoint", "port": 4789},
        "net/tunnels/tunnel": {
            "name": "vxlan5000", "key": 0, "localAddress": "10.3.89.213", "mode": "bidirectional", "mtu": 0,
            "profile": PROFILE, "tos": "preserve", "transparent": "disabled", "usePmtu": "enabled"},
        "net/self": {
            "fullPath": SELF, "address": "10.131.0.5/14", "addressSource": "from-user",
            "floating": "disabled", "inheritedTrafficGroup": "false", "unit": 0, "vlan": TUNNEL,
            "trafficGroup": "/Common/traffic-group-local-only", "allowService": "all"},
    }
    found = device(lab)
    for kind, fields in wanted.items():
        assert {name: found[kind].get(name) for name in fields} == fields
    assert fdb(lab) == MACS
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []


def test_without_vxlan_nothing_of_the_network_is_read(lab):
    """Ramp node: neither net objects nor Nodes."""
    lab.apply(*NODES, manifests.route("plain"))
    assert lab.converge() == []
    assert [entry.path for entry in lab.bigip.log if "/net/" in entry.path] == []
    assert [entry.path for entry in lab.kube.log if "nodes" in entry.path or "subnets" in entry.path] == []


def test_the_network_comes_before_the_pools(lab):
    sdn(lab)
    lab.apply(manifests.route("plain"))
    lab.clear()
    lab.converge(**FLAGS)
    order = [path for _, path in lab.writes()]
    first_pool = next(n for n, path in enumerate(order) if path.endswith("/ltm/pool"))
    assert [n for n, path in enumerate(order) if "/net/" in path and n > first_pool] == []
    assert [path.removeprefix("/mgmt/tm/") for path in order[:4]] == [
        "net/tunnels/vxlan", "net/tunnels/tunnel", "net/self", f"{FDB}/records"]


@pytest.mark.parametrize("quirk", [
    "fdb-endpoint-bare", "tunnel-addresses-any", "empty-items-absent", "filter-ignored-by-fdb",
    "filter-excludes-subfolders"])
@pytest.mark.parametrize("partition", ["/Common", "/OpenShift/zone1"])
def test_quirks_and_folders(make_lab, quirk, partition):
    lab = make_lab(quirks=frozenset({quirk}), partition=partition)
    lab.virtuals()
    sdn(lab)
    assert lab.converge(**FLAGS) == []
    assert fdb(lab, partition) == MACS
    assert {f"{partition}/vxlan5000", f"{partition}/10.131.0.5/14"} <= (
        lab.paths("net/tunnels/tunnel") | lab.paths("net/self"))
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []


@pytest.mark.parametrize("version", ["12.0.0", "12.1.2", "14.1.2.1", "16.1.0"])
def test_versions(make_lab, version):
    lab = make_lab(tmos_version=version)
    lab.virtuals()
    sdn(lab)
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("plain"))
    assert lab.converge(**FLAGS) == []
    assert fdb(lab) == MACS
    lab.apply(manifests.node("n3", "10.3.89.3"))
    lab.kube.delete("Node", "", "n1")
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert set(fdb(lab).values()) == {"10.3.89.2", "10.3.89.3"}
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []


def test_too_old_a_version(make_lab):
    """Routes are served; the message names the ramp node."""
    lab = make_lab(tmos_version="11.6.0")
    lab.virtuals()
    sdn(lab)
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("plain"))
    (reason,) = lab.converge(**FLAGS)
    assert "TMOS 11.6.0" in reason
    assert "12.0 or newer" in reason
    assert "ramp node" in reason
    assert lab.admitted("shop", "plain")["status"] == "True"
    assert network_writes(lab) == []


def test_not_licensed(make_lab, caplog):
    """The same for a device without SDN Services; told once."""
    lab = make_lab(quirks=frozenset({"sdn-not-licensed"}))
    lab.virtuals()
    sdn(lab)
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("plain"))
    router = lab.router(**FLAGS)
    (reason,) = lab.converge(router)
    assert "no licence for SDN Services" in reason
    assert "SDN Services feature not licensed" in reason
    assert "ramp node" in reason
    assert lab.admitted("shop", "plain")["status"] == "True"
    router.reconcile_once()
    told = [r for r in caplog.records if "no licence" in getattr(r, "problem", "")]
    assert [r.levelname for r in told] == ["ERROR"]
    assert {path for _, path in network_writes(lab)} == {"net/tunnels/vxlan"}


# --- cost --------------------------------------------------------------------------------


def many(count: int) -> list[dict]:
    return [manifests.node(f"m{n}", f"10.3.{n // 250}.{n % 250 + 1}") for n in range(count)]


def test_cost_of_two_thousand_nodes(lab):
    """Three writes for the device, one for all Nodes; one for a Node that joins, one when it leaves."""
    sdn(lab, *many(2000))
    lab.bigip.put_object("net/tunnels/vxlan", {"name": "vxlan-ose", "floodingType": "multipoint"})
    lab.bigip.put_object("net/tunnels/tunnel", {"name": "vxlan5000", "profile": PROFILE})
    foreign(lab)
    lab.clear()
    router = lab.router(**FLAGS)
    assert lab.converge(router) == []
    assert len(fdb(lab)) == 2000 + len(FOREIGN)
    assert FOREIGN.items() <= fdb(lab).items()
    assert network_writes(lab) == [
        ("PATCH", URL), ("POST", "net/self"), ("PATCH", FDB)]
    # One reading of the device, one just before the list is written.
    reads = [e.path for e in lab.bigip.log if e.method == "GET" and "/net/fdb/" in e.path]
    assert reads == [f"/mgmt/tm/{FDB}"] * len(reads)
    assert len(reads) <= 3
    lab.clear()
    lab.apply(manifests.node("late", "10.4.0.1"))
    until(lab, router, lambda nodes: Key("", "late") in nodes)
    assert network_writes(lab) == [("POST", f"{FDB}/records")]
    assert [e for e in lab.bigip.log if e.method == "GET" and "/net/" in e.path] == []
    lab.clear()
    lab.kube.delete("Node", "", "late")
    until(lab, router, lambda nodes: Key("", "late") not in nodes)
    assert network_writes(lab) == [("DELETE", f"{FDB}/records/0a:0a:0a:04:00:01")]
    assert len(fdb(lab)) == 2000 + len(FOREIGN)


def test_a_restart_writes_nothing(lab):
    sdn(lab, *many(50))
    lab.converge(**FLAGS)
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []


# --- Nodes ---------------------------------------------------------------------------------


def test_stale_records_go_and_others_stay(lab):
    """What left while no router ran; also the records that are not ours, whoever's name they have."""
    sdn(lab)
    lab.converge(**FLAGS)
    foreign(lab)
    lab.kube.delete("Node", "", "n1")
    assert lab.converge(**FLAGS) == []
    assert fdb(lab) == {**FOREIGN, "0a:0a:0a:03:59:02": "10.3.89.2"}
    lab.kube.delete("Node", "", "n2")
    assert lab.converge(**FLAGS) == []
    assert fdb(lab) == FOREIGN


def test_an_address_change_replaces(lab):
    """The new record comes before the old one goes."""
    sdn(lab)
    router = lab.router(**FLAGS)
    lab.converge(router)
    lab.clear()
    lab.apply(manifests.node("n1", "10.3.89.77"))
    until(lab, router, lambda nodes: nodes[Key("", "n1")].internal_ips == ("10.3.89.77",))
    assert network_writes(lab) == [
        ("POST", f"{FDB}/records"), ("DELETE", f"{FDB}/records/0a:0a:0a:03:59:01")]
    assert set(fdb(lab).values()) == {"10.3.89.77", "10.3.89.2"}


def test_two_nodes_exchange_addresses(lab):
    """The same records as before: nothing is written, and none is lost."""
    sdn(lab)
    router = lab.router(**FLAGS)
    lab.converge(router)
    lab.clear()
    lab.apply(manifests.node("n1", "10.3.89.2"))
    until(lab, router, lambda nodes: nodes[Key("", "n1")].internal_ips == ("10.3.89.2",))
    lab.apply(manifests.node("n2", "10.3.89.1"))
    until(lab, router, lambda nodes: nodes[Key("", "n2")].internal_ips == ("10.3.89.1",))
    assert fdb(lab) == MACS


def test_a_node_that_is_not_ready_keeps_its_record(lab):
    sdn(lab)
    router = lab.router(**FLAGS)
    lab.converge(router)
    lab.clear()
    lab.apply(manifests.node("n1", "10.3.89.1", ready=False))
    until(lab, router, lambda nodes: not nodes[Key("", "n1")].ready)
    assert lab.writes() == []
    assert fdb(lab) == MACS


def test_addresses_of_a_node(lab, caplog):
    """InternalIP wherever it stands, its HostSubnet's hostIP if another; no IPv4: a warning."""
    others = (("Hostname", "192.0.2.1"), ("ExternalIP", "192.0.2.2"))
    sdn(lab, manifests.node("n1", "10.3.89.1", others=others), manifests.node("n2", "10.3.89.2"),
        manifests.node("n6", "2001:db8::6"), manifests.node("n0"))
    lab.apply(manifests.host_subnet("n2", "10.99.0.2", "10.129.0.0/23"),
              manifests.host_subnet("n1", "10.3.89.1", "10.128.0.0/23"))
    assert lab.converge(**FLAGS) == []
    assert set(fdb(lab).values()) == {"10.3.89.1", "10.99.0.2"}
    told = {r.problem.split(":")[0] for r in caplog.records if getattr(r, "problem", "")}
    assert told == {"Node n0", "Node n6"}


def test_a_host_subnet_that_changes(lab):
    sdn(lab)
    router = lab.router(**FLAGS)
    lab.converge(router)
    lab.clear()
    lab.apply(manifests.host_subnet("n1", "10.99.0.1", "10.128.0.0/23"))
    deadline = time.monotonic() + 10
    while set(fdb(lab).values()) != {"10.99.0.1", "10.3.89.2"}:
        assert time.monotonic() < deadline
        router.reconcile_once()
        threading.Event().wait(0.02)
    assert len(network_writes(lab)) == 2


# --- rights --------------------------------------------------------------------------------


def test_forbidden_nodes(lab, caplog):
    """One message with the command; Routes are served; nothing of the FDB goes."""
    sdn(lab)
    lab.converge(**FLAGS)
    lab.kube.delete("Node", "", "n1")
    lab.kube.forbid("nodes", ("get", "list", "watch"))
    lab.apply(manifests.route("plain"))
    caplog.clear()
    lab.clear()
    router = lab.router(**FLAGS)
    (reason,) = lab.converge(router)
    assert ("oc adm policy add-cluster-role-to-user system:sdn-reader system:serviceaccount:default:router"
            in reason)
    told = [r for r in caplog.records if r.levelname == "ERROR"]
    assert len(told) == 1
    assert lab.admitted("shop", "plain")["status"] == "True"
    assert fdb(lab) == MACS
    assert network_writes(lab) == []


def test_nodes_permitted_later(lab):
    """What Nodes left behind goes when their list is known, without another reading of the device."""
    sdn(lab)
    lab.converge(**FLAGS)
    lab.kube.delete("Node", "", "n1")
    lab.kube.forbid("nodes", ("get", "list", "watch"))
    router = lab.router(**FLAGS)
    lab.converge(router)
    assert fdb(lab) == MACS
    lab.kube.allow("nodes")
    until(lab, router, lambda nodes: Key("", "n2") in nodes)
    assert fdb(lab) == {"0a:0a:0a:03:59:02": "10.3.89.2"}


def test_forbidden_host_subnets(lab):
    """They are optional."""
    sdn(lab)
    for kind in ("hostsubnets", "clusternetworks"):
        lab.kube.forbid(kind, ("get", "list", "watch"))
    assert lab.converge(**FLAGS) == []
    assert fdb(lab) == MACS


def test_rights_of_the_sdn_reader(lab):
    """It may get, but not list, ClusterNetworks (f5-router.md 10.3); the mask is checked all the same."""
    sdn(lab)
    lab.kube.forbid("clusternetworks", ("list", "watch"))
    (reason,) = lab.converge(**{**FLAGS, "f5_vxlan_gateway_cidr": "10.131.0.5/23"})
    assert "set 10.131.0.5/14" in reason


# --- repair --------------------------------------------------------------------------------


@pytest.mark.parametrize(("drift", "writes"), [
    pytest.param([("PATCH", URL, {"localAddress": "10.3.89.214"})],
                 [("PATCH", URL)], id="local address"),
    pytest.param([("PATCH", URL, {"remoteAddress": "10.3.89.1", "key": 7})],
                 [("PATCH", URL)], id="remote address and key"),
    pytest.param([("PATCH", "net/tunnels/vxlan/~Common~vxlan-ose", {"port": 8472, "floodingType": "none"})],
                 [("PATCH", "net/tunnels/vxlan/~Common~vxlan-ose")], id="profile"),
    pytest.param([("PATCH", "net/self/~Common~10.131.0.5~14", {"allowService": ["tcp:22"]})],
                 [("PATCH", "net/self/~Common~10.131.0.5~14")], id="services"),
    pytest.param([("DELETE", "net/self/~Common~10.131.0.5~14")], [("POST", "net/self")],
                 id="self IP deleted"),
    pytest.param([("DELETE", "net/self/~Common~10.131.0.5~14"),
                  ("DELETE", URL)],
                 [("POST", "net/tunnels/tunnel"), ("POST", "net/self"), ("PATCH", FDB)], id="tunnel deleted"),
    pytest.param([("PATCH", FDB, {"records": [{"name": "0a:0a:0a:03:59:01", "endpoint": "10.3.89.9"}]})],
                 [("PATCH", FDB)], id="endpoint"),
])
def test_drift_is_repaired(lab, drift, writes):
    """What somebody changed by hand is set right at the next reading."""
    sdn(lab, *NODES, *many(6))
    lab.converge(**FLAGS)
    before = device(lab), fdb(lab)
    for request in drift:
        lab.change(*request)
    assert (device(lab), fdb(lab)) != before
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert network_writes(lab) == writes
    assert (device(lab), fdb(lab)) == before
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []


def other_profile(lab) -> None:
    """Somebody made the tunnel on another profile."""
    lab.change("DELETE", "net/self/~Common~10.131.0.5~14")
    lab.change("DELETE", URL)
    lab.change("POST", "net/tunnels/tunnel", {
        "name": "vxlan5000", "partition": "Common", "profile": "/Common/vxlan",
        "localAddress": "10.3.89.213"})
    lab.change("POST", "net/self", {
        "name": "10.131.0.5/14", "partition": "Common", "address": "10.131.0.5/14", "vlan": TUNNEL,
        "allowService": "all"})


def test_a_fixed_property_makes_the_tunnel_anew(lab):
    """The device cannot change a tunnel's profile: self IP and tunnel are taken apart and come again, with
    the records of others."""
    sdn(lab)
    lab.converge(**FLAGS)
    before = device(lab)
    other_profile(lab)
    foreign(lab)
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert device(lab) == before
    assert fdb(lab) == {**MACS, **FOREIGN}
    assert network_writes(lab)[:3] == [
        ("DELETE", "net/self/~Common~10.131.0.5~14"), ("DELETE", URL),
        ("POST", "net/tunnels/tunnel")]


def test_a_tunnel_that_cannot_be_made_anew_stays_as_it_is(lab):
    """Somebody's self IP holds it: ours comes back, and the reason is told."""
    sdn(lab)
    lab.converge(**FLAGS)
    other_profile(lab)
    foreign(lab)
    lab.bigip.put_object("net/self", selfip("mine", TUNNEL, "10.132.0.1/16"))
    (reason,) = lab.converge(**FLAGS)
    assert "in use by a self IP (/Common/mine)" in reason
    assert selves(lab) == {SELF}
    assert FOREIGN.items() <= fdb(lab).items()
    assert "/Common/mine" in lab.paths("net/self")


@pytest.mark.parametrize("old", ["10.131.0.9/14", "10.131.0.5/23"])
def test_a_changed_gateway(lab, old):
    """A new self IP, the old one goes; also the same address with another mask, which cannot be twice."""
    sdn(lab)
    lab.converge(**{**FLAGS, "f5_vxlan_gateway_cidr": old})
    assert selves(lab) == {f"/Common/{old}"}
    assert lab.converge(**FLAGS) == []
    assert selves(lab) == {SELF}


def test_a_changed_internal_address(lab):
    sdn(lab)
    lab.converge(**FLAGS)
    lab.apply(manifests.host_subnet("f5", "10.3.89.214", "10.131.0.0/23"))
    lab.clear()
    assert lab.converge(**{**FLAGS, "f5_internal_address": "10.3.89.214"}) == []
    assert network_writes(lab) == [("PATCH", URL)]
    assert fdb(lab) == MACS


def test_somebody_elses_self_ip_of_our_name(lab):
    """It is on another VLAN: left alone, and told."""
    sdn(lab)
    lab.bigip.put_object("net/self", selfip("10.131.0.5/14", "/Common/internal"))
    before = lab.bigip.get(_url("net/self", SELF))
    lab.apply(manifests.route("plain"))
    (reason,) = lab.converge(**FLAGS)
    assert "exists on /Common/internal and is not the router's" in reason
    assert lab.bigip.get(_url("net/self", SELF)) == before
    assert lab.admitted("shop", "plain")["status"] == "True"


def test_others_tunnels_and_addresses_stay(lab):
    lab.bigip.put_object("net/tunnels/tunnel", {
        "name": "other", "partition": "Common", "profile": "/Common/vxlan"})
    lab.bigip.put_object("net/self", selfip("10.200.0.1/16", "/Common/other"))
    lab.bigip.put_object("net/fdb/tunnel/~Common~other/records", {
        "name": "0a:0a:0a:07:07:07", "endpoint": "10.7.7.7"})
    sdn(lab)
    assert lab.converge(**FLAGS) == []
    assert {"/Common/other", "/Common/10.200.0.1/16"} <= (
        lab.paths("net/tunnels/tunnel") | lab.paths("net/self"))
    keys = {item.key for item in lab.bigip.items("net/fdb/tunnel/records")}
    assert ("/Common/other", "0a:0a:0a:07:07:07") in keys


@pytest.mark.parametrize("at", range(1, 8))
def test_a_lost_reply_anywhere(lab, at):
    """The connection breaks after any write, done or not; the next passes converge to the same."""
    sdn(lab)
    seen = []

    def count(request):
        seen.append(request)
        if len(seen) == at:
            lab.bigip.inject("drop-reply", times=1)

    lab.bigip.on_write = count
    assert lab.converge(**FLAGS) == []
    lab.bigip.on_write = None
    assert fdb(lab) == MACS
    assert selves(lab) == {SELF}
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []


def test_a_tunnel_deleted_between_two_readings(lab):
    """A Node joins and its record is refused: the device is read again and everything comes back."""
    sdn(lab)
    router = lab.router(**FLAGS)
    lab.converge(router)
    lab.change("DELETE", "net/self/~Common~10.131.0.5~14")
    lab.change("DELETE", URL)
    lab.apply(manifests.node("n3", "10.3.89.3"))
    until(lab, router, lambda nodes: Key("", "n3") in nodes)
    router.reconcile_once()
    assert MACS.items() <= fdb(lab).items()
    assert selves(lab) == {SELF}


# --- settings and return traffic -----------------------------------------------------------


@pytest.mark.parametrize(("flags", "words"), [
    ({"f5_vxlan_gateway_cidr": "10.131.0.5/23"}, "set 10.131.0.5/14"),
    ({"f5_vxlan_gateway_cidr": "10.129.0.5/14"}, "set for example 10.131.0.5/14"),
    ({"f5_internal_address": "10.3.89.99"}, "set 10.3.89.213 of HostSubnet f5"),
])
def test_settings_against_the_cluster(lab, flags, words):
    """The right value is shown; Routes are programmed."""
    sdn(lab)
    lab.apply(manifests.route("plain"))
    (reason,) = lab.converge(**{**FLAGS, **flags})
    assert words in reason
    assert lab.admitted("shop", "plain")["status"] == "True"
    assert fdb(lab) == MACS


def translation(lab, name: str) -> dict:
    return lab.bigip.get(_url("ltm/virtual", f"/Common/{name}"))["sourceAddressTranslation"]


def test_return_traffic_is_reported(lab, caplog):
    lab.apply(*NODES, GHOST, NETWORK)
    lab.bigip.put_object("ltm/snatpool", snat_pool("10.131.0.6"))
    lab.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", {
        "sourceAddressTranslation": {"type": "snat", "pool": "/Common/sp"}})
    assert lab.converge(**FLAGS) == []
    told = [r.problem for r in caplog.records if r.levelname == "WARNING" and hasattr(r, "problem")]
    assert len(told) == 2
    assert told[0].startswith(f"virtual server /Common/{HTTP}, source address translation: none")
    assert "/Common/sp does not hold 10.131.0.5" in told[1]
    assert translation(lab, HTTP)["type"] == "none"


def test_return_traffic_by_a_snat_pool(lab, caplog):
    sdn(lab)
    lab.bigip.put_object("ltm/snatpool", snat_pool("10.131.0.5"))
    lab.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", {
        "sourceAddressTranslation": {"type": "snat", "pool": "/Common/sp"}})
    assert lab.converge(**FLAGS) == []
    assert [r for r in caplog.records if hasattr(r, "problem")] == []


def test_manage_snat(lab, caplog):
    """automap where there is none; a pool stays."""
    lab.apply(*NODES, GHOST, NETWORK)
    lab.bigip.put_object("ltm/snatpool", snat_pool("10.131.0.6"))
    lab.change("PATCH", f"ltm/virtual/~Common~{HTTPS}", {
        "sourceAddressTranslation": {"type": "snat", "pool": "/Common/sp"}})
    flags = {**FLAGS, "f5_manage_snat": "true"}
    assert lab.converge(**flags) == []
    assert translation(lab, HTTP)["type"] == "automap"
    assert (translation(lab, HTTPS)["type"], translation(lab, HTTPS)["pool"]) == ("snat", "/Common/sp")
    assert len([r for r in caplog.records if hasattr(r, "problem")]) == 1
    lab.clear()
    assert lab.converge(**flags) == []
    assert lab.writes() == []
