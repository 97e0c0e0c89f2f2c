"""The BIG-IP as a host of the cluster network: its VxLAN device, and an FDB record per Node."""

import json

import pytest

from f5router.cli import preflight
from f5router.model.cluster import Key
from tests import manifests, waiting
from tests.feature.conftest import HTTP, HTTPS
from tests.feature.sdn import (
    FDB,
    FLAGS,
    FOREIGN,
    GHOST,
    MACS,
    NETWORK,
    NODES,
    PROFILE,
    SELF,
    TUNNEL,
    URL,
    device,
    fdb,
    foreign,
    many,
    network_writes,
    sdn,
    until,
)

# --- device and records ------------------------------------------------------------------


def test_device_and_records(lab):
    """Names and fields of the original router (f5.go: ensureVxLANTunnel); a second run writes nothing."""
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
    by_kind = device(lab)
    for kind, fields in wanted.items():
        assert {name: by_kind[kind].get(name) for name in fields} == fields
    assert fdb(lab) == MACS
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []


def test_a_plan_tells_what_a_pass_would_tell(lab, capsys):
    """Problems and warnings; nothing is written."""
    lab.apply(*NODES, GHOST, NETWORK, manifests.route("plain"))
    config = lab.config(**{**FLAGS, "f5_vxlan_gateway_cidr": "10.131.0.5/23"})
    lab.clear()
    assert preflight.plan(config, output="json") == 1
    assert lab.writes() == []
    printed = json.loads(capsys.readouterr().out)
    planned = {change["path"] for change in printed["changes"]}
    assert {TUNNEL, "/Common/10.131.0.5/23"} <= planned
    (problem,) = (problem["text"] for problem in printed["problems"])
    assert problem.startswith("way to the pods: ")
    assert "set 10.131.0.5/14" in problem
    warned = {text.split(":")[1].strip() for text in printed["warnings"]}
    assert warned == {f"virtual server /Common/{name}, source address translation" for name in (HTTP, HTTPS)}


def test_without_vxlan_nothing_of_the_network_is_read(lab):
    """Ramp node: neither net objects, but the self IPs that are no pool members, nor Nodes."""
    lab.apply(*NODES, manifests.route("plain"))
    assert lab.converge() == []
    assert {(entry.method, entry.path) for entry in lab.bigip.log if "/net/" in entry.path} == {
        ("GET", "/mgmt/tm/net/self")}
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
    """Records of Nodes that left meanwhile go; also those that are not ours, whoever's name they have."""
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


def test_a_record_that_is_said_to_be_gone(lab):
    """A 404 to its DELETE is not believed while the device shows the record."""
    sdn(lab)
    router = lab.router(**FLAGS)
    assert lab.converge(router) == []
    lab.bigip.inject("404-bogus", method="DELETE", path="/records/")
    lab.kube.delete("Node", "", "n1")
    waiting.until(lambda: lab.converge(router) == [] and lab.bigip.faults.waiting == 0)
    assert set(fdb(lab)) == {"0a:0a:0a:03:59:02"}


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
    waiting.until(lambda: router.reconcile_once() and set(fdb(lab).values()) == {"10.99.0.1", "10.3.89.2"})
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
    """Objects that Nodes left behind go when their list is known, without another reading of the device."""
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
    """It may get, but not list, ClusterNetworks (system:sdn-reader); the mask is checked all the same."""
    sdn(lab)
    lab.kube.forbid("clusternetworks", ("list", "watch"))
    (reason,) = lab.converge(**{**FLAGS, "f5_vxlan_gateway_cidr": "10.131.0.5/23"})
    assert "set 10.131.0.5/14" in reason
