"""VxLAN on a pair: each unit joins the cluster network by addresses and a HostSubnet of its own."""

from dataclasses import replace

import pytest

from mocks.bigip import FakeBigIP
from tests import manifests
from tests.feature.sdn import FDB, FLAGS, GHOST, MACS, NETWORK, NODES, TUNNEL, URL, automap
from tests.feature.test_pair import PairLab
from tests.feature.test_uninstall import run as uninstall
from tests.waiting import DEADLINE_S, until

ADDRESSES = FLAGS["f5_internal_address"], "10.3.89.214"
GATEWAYS = FLAGS["f5_vxlan_gateway_cidr"], "10.130.2.5/14"
BOTH = {"f5_internal_address": ",".join(ADDRESSES), "f5_vxlan_gateway_cidr": ",".join(GATEWAYS)}
SECOND = manifests.host_subnet("f5-2", ADDRESSES[1], "10.130.2.0/23")


@pytest.fixture
def joined(lab, tmp_path):
    """A pair, a cluster with a HostSubnet for each unit, and a Route."""
    automap(lab, lab.partition)
    lab.apply(*NODES, GHOST, SECOND, NETWORK, *manifests.service("shop", "web", pods=("10.1.1.1",)),
              manifests.route("a"))
    lab.timing = replace(lab.timing, failover_s=0.1, failover_fresh_s=0.0, look_s=DEADLINE_S)
    with FakeBigIP() as second:
        yield PairLab(lab, second, tmp_path / "both.crt")
        assert [*lab.bigip.errors, *second.errors] == []


def network(big: FakeBigIP) -> tuple[str | None, list[str], dict[str, str]]:
    """Return a unit's tunnel address, its self IPs on the tunnel, and its FDB."""
    tunnel = big.get(URL) or {}
    selves = [item.fields["address"] for item in big.items("net/self") if item.fields["vlan"] == TUNNEL]
    records = {item.key[-1]: item.fields["endpoint"].split("%")[0]
               for item in big.items("net/fdb/tunnel/records") if item.key[0] == TUNNEL}
    return tunnel.get("localAddress"), selves, records


NOTHING = None, [], {}


@pytest.mark.parametrize("sync", ["check", "push"])
@pytest.mark.parametrize("excluded", [True, False], ids=["tunnels stay on their unit", "tunnels are copied"])
def test_each_unit_has_a_tunnel_of_its_own(lab, joined, excluded, sync):
    """A unit gets its objects when it is active, and keeps them as a standby, which is never written to."""
    pair = joined.pair
    for big in pair.units if excluded else ():
        big.request("PATCH", "sys/db/iptunnel.configsync", {}, {"value": "disable"})
    router = lab.router(f5_config_sync=sync, **BOTH, **joined.flags)
    assert lab.converge(router) == []
    first, second = pair.units
    assert network(first) == (ADDRESSES[0], [GATEWAYS[0]], MACS)
    if excluded or sync == "check":
        assert network(second) == NOTHING
    assert joined.written(second) == []
    joined.clear()
    pair.fail_over()
    assert lab.converge(router) == []
    assert network(second) == (ADDRESSES[1], [GATEWAYS[1]], MACS)
    assert joined.written(first) == []
    joined.clear()
    assert lab.converge(router) == []
    assert [joined.written(big) for big in pair.units] == [[], []]

    pair.fail_over()
    lab.apply(manifests.node("n3", "10.3.89.3"))
    until(lambda: lab.converge(router) == [] and len(router.reconciler.engine.cluster.nodes) == 3)
    assert network(first) == (ADDRESSES[0], [GATEWAYS[0]], MACS | {"0a:0a:0a:03:59:03": "10.3.89.3"})
    assert joined.written(second) == []
    copied = set() if excluded or sync == "check" else {f"/mgmt/tm/{URL}"}
    assert {path for path in joined.written(first) if "/net/" in path} == {f"/mgmt/tm/{FDB}/records"} | copied


def test_the_settings_of_all_units_are_checked(lab, joined):
    """Before the standby becomes active, too."""
    lab.kube.delete("HostSubnet", None, "f5-2")
    assert lab.converge(**BOTH, **joined.flags) == [
        f"way to the pods: --f5-internal-address {ADDRESSES[1]}: no HostSubnet has this hostIP, so no Node "
        f"accepts its packets; create a HostSubnet with hostIP {ADDRESSES[1]}, annotated "
        'pod.network.openshift.io/assign-subnet: "true" and pod.network.openshift.io/fixed-vnid-host: "0"']


@pytest.mark.parametrize("number", range(1, 5))
def test_a_failover_between_the_writes_of_the_network(lab, joined, number):
    """Neither unit gets what is the other one's, and the active one gets all of its own."""
    router = lab.router(f5_max_in_flight="1", retry_s=0.0, **BOTH, **joined.flags)
    joined.on_write(number, joined.pair.fail_over)
    lab.converge(router)
    assert lab.converge(router) == []
    first, second = joined.pair.units
    local, selves, _ = network(first)
    assert local in (None, ADDRESSES[0])
    assert set(selves) <= {GATEWAYS[0]}
    assert joined.pair.active is second
    assert network(second) == (ADDRESSES[1], [GATEWAYS[1]], MACS)


def test_uninstall_clears_the_active_unit(lab, joined):
    """The other one keeps what belongs to it, until the command runs while it is active."""
    router = lab.router(f5_config_sync="push", **BOTH, **joined.flags)
    for big in joined.pair.units:
        big.request("PATCH", "sys/db/iptunnel.configsync", {}, {"value": "disable"})
    assert lab.converge(router) == []
    joined.pair.fail_over()
    assert lab.converge(router) == []
    router.close()
    first, second = joined.pair.units
    for active, left in ((second, (ADDRESSES[0], [GATEWAYS[0]], MACS)), (first, NOTHING)):
        assert joined.pair.active is active
        assert uninstall(lab, f5_config_sync="push", **BOTH, **joined.flags) == 0
        assert network(active) == NOTHING
        assert network(joined.pair.standby) == left
        joined.pair.fail_over()


def test_no_pod_has_an_address_of_the_standby(lab, joined):
    """A tenant's endpoint would lead clients to the management of the other unit, which answers there."""
    others = (ADDRESSES[1], GATEWAYS[1].partition("/")[0])
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1", *others)))
    router = lab.router(**BOTH, **joined.flags)
    assert lab.converge(router) == []
    members = {item.key[-1].rpartition("/")[2].partition(":")[0]
               for item in joined.pair.active.items("ltm/pool/members")}
    assert members == {"10.1.1.1"}
