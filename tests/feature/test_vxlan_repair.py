"""Objects that are not as wanted: changed by hand, by settings, by others, or lost on the way."""


import pytest

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
    SELF,
    TUNNEL,
    URL,
    device,
    fdb,
    foreign,
    many,
    network_writes,
    sdn,
    selfip,
    selves,
    snat_pool,
    until,
    url,
)

# --- repair --------------------------------------------------------------------------------


DRIFTS = {
    "local address": ([("PATCH", URL, {"localAddress": "10.3.89.214"})], [("PATCH", URL)]),
    "remote address and key": (
        [("PATCH", URL, {"remoteAddress": "10.3.89.1", "key": 7})], [("PATCH", URL)]),
    "profile": ([("PATCH", "net/tunnels/vxlan/~Common~vxlan-ose", {"port": 8472, "floodingType": "none"})],
                [("PATCH", "net/tunnels/vxlan/~Common~vxlan-ose")]),
    "services": ([("PATCH", "net/self/~Common~10.131.0.5~14", {"allowService": ["tcp:22"]})],
                 [("PATCH", "net/self/~Common~10.131.0.5~14")]),
    "self IP deleted": ([("DELETE", "net/self/~Common~10.131.0.5~14")], [("POST", "net/self")]),
    "tunnel deleted": (
        [("DELETE", "net/self/~Common~10.131.0.5~14"), ("DELETE", URL)],
        [("POST", "net/tunnels/tunnel"), ("POST", "net/self"), ("PATCH", FDB)]),
    "endpoint": ([("PATCH", FDB, {"records": [{"name": "0a:0a:0a:03:59:01", "endpoint": "10.3.89.9"}]})],
                 [("PATCH", FDB)]),
}


def test_drift_is_repaired(lab):
    """A change by hand is set right at the next reading, and the one after it writes nothing."""
    sdn(lab, *NODES, *many(6))
    lab.converge(**FLAGS)
    before = device(lab), fdb(lab)
    for name, (drift, writes) in DRIFTS.items():
        for request in drift:
            lab.change(*request)
        assert (device(lab), fdb(lab)) != before, name
        lab.clear()
        assert lab.converge(**FLAGS) == [], name
        assert network_writes(lab) == writes, name
        assert (device(lab), fdb(lab)) == before, name
        lab.clear()
        assert lab.converge(**FLAGS) == [], name
        assert lab.writes() == [], name


def port(lab) -> int:
    return device(lab)["net/tunnels/vxlan"]["port"]


def test_the_port_is_the_cluster_s(lab):
    """openshift-sdn may use another port than 4789: all Nodes use the one of the ClusterNetwork."""
    sdn(lab)
    lab.converge(**FLAGS)
    lab.apply(manifests.cluster_network("10.128.0.0/14", vxlanPort=8472))
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert network_writes(lab) == [("PATCH", "net/tunnels/vxlan/~Common~vxlan-ose")]
    assert port(lab) == 8472
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []


def test_a_running_router_learns_the_port(lab):
    """Not known at first, as the right came late; the device is set right without another reading."""
    sdn(lab)
    lab.apply(manifests.cluster_network("10.128.0.0/14", vxlanPort=8472))
    lab.kube.forbid("clusternetworks", ["get"])
    router = lab.router(**FLAGS)
    assert lab.converge(router) == []
    assert port(lab) == 4789
    lab.kube.allow("clusternetworks")
    waiting.until(lambda: router.reconcile_once() and port(lab) == 8472)


def test_a_right_that_is_lost_changes_no_port(lab, caplog):
    """Working objects stay, and the log says that the port cannot be compared."""
    sdn(lab)
    lab.apply(manifests.cluster_network("10.128.0.0/14", vxlanPort=8472))
    lab.converge(**FLAGS)
    lab.kube.forbid("clusternetworks", ["get"])
    lab.clear()
    assert lab.converge(**FLAGS) == []
    assert lab.writes() == []
    assert port(lab) == 8472
    told = [r.levelname for r in caplog.records if "port 8472 stays" in getattr(r, "problem", "")]
    assert told == ["WARNING"]


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
    """Somebody's self IP holds it: ours comes back, and the reason is logged."""
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


def test_a_gateway_that_is_refused_leaves_the_old_one(lab):
    """Somebody else has the new address: pods stay reachable by the old one until it is free."""
    sdn(lab)
    old = "/Common/10.131.0.9/14"
    lab.converge(**{**FLAGS, "f5_vxlan_gateway_cidr": "10.131.0.9/14"})
    lab.bigip.put_object("net/self", selfip("taken", "/Common/internal", "10.131.0.5/14"))
    (reason,) = lab.converge(**FLAGS)
    assert "10.131.0.5" in reason
    assert selves(lab) == {old}
    lab.change("DELETE", "net/self/~Common~taken")
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
    before = lab.bigip.get(url("net/self", SELF))
    lab.apply(manifests.route("plain"))
    (reason,) = lab.converge(**FLAGS)
    assert "exists on /Common/internal and is not the router's" in reason
    assert lab.bigip.get(url("net/self", SELF)) == before
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
    return lab.bigip.get(url("ltm/virtual", f"/Common/{name}"))["sourceAddressTranslation"]


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
