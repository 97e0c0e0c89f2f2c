"""Several routers on one BIG-IP: one of them joins the cluster network, for all."""

import pytest

from tests import manifests
from tests.feature.sdn import FLAGS, GHOST, MACS, NETWORK, NODES, automap, fdb

SECOND = {"f5_internal_address": "10.3.89.214", "f5_vxlan_gateway_cidr": "10.130.2.5/14"}
GHOSTS = (GHOST, manifests.host_subnet("f5-2", "10.3.89.214", "10.130.2.0/23"))


@pytest.fixture
def lab(make_lab):
    """Partitions with virtual servers, a cluster with openshift-sdn, a Route."""
    new_lab = make_lab(partitions=("Common", "P1", "P2"))
    new_lab.apply(*NODES, *GHOSTS, NETWORK, *manifests.service("shop", "web", pods=("10.1.1.1",)),
                  manifests.route("a"))
    for number in (1, 2):
        new_lab.virtuals(partition=f"/P{number}", address=f"10.0.0.{number}")
        automap(new_lab, f"/P{number}")
    return new_lab


def shard(number: int, **flags: str) -> dict[str, str]:
    return {"f5_partition_path": f"/P{number}", "f5_node_partition": "/Common", "name": f"P{number}", **flags}


def network(lab, partition: str) -> set[str]:
    kinds = ("net/tunnels/vxlan", "net/tunnels/tunnel", "net/self")
    return {path for kind in kinds for path in lab.paths(kind) if path.startswith(f"{partition}/")}


@pytest.mark.parametrize("flags", [FLAGS, SECOND], ids=["the same address", "another address"])
def test_the_second_is_told(lab, flags):
    """It makes nothing of the network and serves its Routes by the tunnel that is there."""
    assert lab.converge(**shard(1, **FLAGS)) == []
    before = network(lab, "/P1")
    two = lab.router(**shard(2, **flags))
    (reason,) = lab.converge(two)
    assert reason == (
        f"way to the pods: --f5-internal-address {flags['f5_internal_address']}: the BIG-IP is in the "
        "cluster network already, by tunnel /P1/vxlan5000 with self IP 10.131.0.5/14; all routers on it "
        "share that, so nothing was made here; leave out --f5-internal-address and "
        "--f5-vxlan-gateway-cidr, or, if no router manages it now, delete its self IP and the "
        "tunnel")
    assert (network(lab, "/P1"), network(lab, "/P2")) == (before, set())
    assert fdb(lab, "/P1") == MACS
    assert {entry["routerName"]: entry["conditions"][0]["status"] for entry in
            lab.kube.get("Route", "shop", "a")["status"]["ingress"]} == {"P1": "True", "P2": "True"}
    lab.clear()
    assert lab.converge(**shard(1, **FLAGS)) == []
    assert lab.converge(**shard(2)) == []
    assert lab.writes() == []


def test_when_the_first_is_gone(lab):
    """Told how; then the second joins by itself, at its next reading."""
    lab.converge(**shard(1, **FLAGS))
    two = lab.router(**shard(2, **SECOND))
    assert len(lab.converge(two)) == 1
    lab.change("DELETE", "net/self/~P1~10.131.0.5~14")
    lab.change("DELETE", "net/tunnels/tunnel/~P1~vxlan5000")
    two.reconciler.must_read("of the test")
    assert lab.converge(two) == []
    assert fdb(lab, "/P2") == MACS
    assert "/P2/10.130.2.5/14" in network(lab, "/P2")


def test_a_tunnel_that_is_there_stays(lab):
    """As when two started at once: nothing is taken away, both are told."""
    two = shard(2, **SECOND)
    assert lab.converge(**two) == []
    before = network(lab, "/P2")
    for kind, body in (("net/tunnels/vxlan", {"name": "vxlan-ose"}),
                       ("net/tunnels/tunnel", {"name": "vxlan5000", "profile": "/P1/vxlan-ose",
                                               "localAddress": "10.3.89.213"}),
                       ("net/self", {"name": "10.131.0.5/14", "address": "10.131.0.5/14",
                                     "vlan": "/P1/vxlan5000"})):
        lab.change("POST", kind, {**body, "partition": "P1"})
    lab.clear()
    for flags, mine, other in ((two, "/P2", "/P1"), (shard(1, **FLAGS), "/P1", "/P2")):
        (reason,) = lab.converge(**flags)
        assert f"by tunnel {other}/vxlan5000 with self IP" in reason
        assert f"with {mine}/vxlan5000 there are two" in reason
    assert network(lab, "/P2") == before
    assert fdb(lab, "/P1") == fdb(lab, "/P2") == MACS


def test_separate_route_domains(lab):
    """Each has a network of its own, be it of the same addresses."""
    lab.change("POST", "net/route-domain", {"name": "5", "partition": "Common", "id": 5})
    lab.change("PATCH", "auth/partition/P2", {"defaultRouteDomain": 5})
    for number in (1, 2):
        assert lab.converge(**shard(number, **FLAGS) | {"f5_node_partition": f"/P{number}"}) == []
        assert fdb(lab, f"/P{number}") == MACS
    assert lab.bigip.get("net/self/~P2~10.131.0.5~14")["address"] == "10.131.0.5%5/14"
    lab.clear()
    assert lab.converge(**shard(2, **FLAGS) | {"f5_node_partition": "/P2"}) == []
    assert lab.writes() == []
