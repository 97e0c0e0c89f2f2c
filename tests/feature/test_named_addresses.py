"""Virtual servers on virtual addresses that have names: a destination is read with the one or the other."""

import pytest

from tests import manifests
from tests.feature.conftest import HTTP, HTTPS
from tests.feature.test_adopted_servers import take
from tests.feature.test_front_end import ADDRESS, FLAGS, TWO, listening, serve, virtual
from tests.feature.test_front_end_life import remove
from tests.feature.test_preflight import plan
from tests.feature.test_refused_addresses import members

pytestmark = pytest.mark.bare

OTHER, SECOND = "203.0.113.12", "/Common/traffic-group-2"


@pytest.fixture
def named(make_lab):
    """Makes a BIG-IP with a virtual address of a name. Args: by_name: destinations are read with it."""
    def make(address: str, *, by_name: bool):
        lab = make_lab(quirks=frozenset(["destination-reads-name"] if by_name else []))
        lab.bigip.store.unit.traffic_groups = (*lab.bigip.store.unit.traffic_groups, SECOND)
        lab.bigip.put_object("ltm/virtual-address", {
            "name": "/Common/vip", "address": address, "autoDelete": "false"})
        lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
        return lab

    return make


def rests(lab, **flags: str) -> bool:
    """True if a pass with these settings has no fault, and the next one writes nothing."""
    if lab.converge(**flags):
        return False
    lab.clear()
    return lab.converge(**flags) == [] == lab.writes()


@pytest.mark.parametrize("by_name", [False, True])
def test_own_virtual_servers(named, by_name):
    """They come, get a traffic group and a further address, move away, and go; the address stays."""
    lab = named(ADDRESS, by_name=by_name)
    assert serve(lab) == []
    assert virtual(lab, HTTP)["destination"] == f"/Common/{'vip' if by_name else ADDRESS}:80"
    assert listening(lab) == {HTTP, HTTPS}
    for flags in (FLAGS, {"f5_vserver_traffic_group": SECOND, **FLAGS}, {"f5_vserver_address": TWO},
                  {"f5_vserver_address": f"{OTHER},{ADDRESS}"}, {"f5_vserver_address": ADDRESS}):
        assert rests(lab, **flags), flags
        group = lab.bigip.get("ltm/virtual-address/~Common~vip")["trafficGroup"]
        assert (group == SECOND) is (flags is not FLAGS)
    assert remove(lab, **FLAGS) == 0
    assert lab.paths("ltm/virtual") == set()
    assert lab.paths("ltm/virtual-address") == {"/Common/vip"}


@pytest.mark.parametrize("by_name", [False, True])
def test_the_address_of_another(named, by_name):
    """A virtual server of somebody else on it keeps its traffic group, and its port."""
    lab = named(ADDRESS, by_name=by_name)
    lab.bigip.put_object("ltm/virtual", {
        "name": "/Common/somebody", "destination": "/Common/vip:443", "ipProtocol": "tcp",
        "profiles": ["/Common/tcp"]})
    assert "with Virtual Server /Common/somebody" in " ".join(plan(lab, **FLAGS).stdout.split())
    reasons = lab.converge(**FLAGS, service_https_port="8443", f5_vserver_traffic_group=SECOND)
    assert any("/Common/somebody of somebody else is on virtual address /Common/vip" in each
               for each in reasons)
    assert lab.bigip.get("ltm/virtual-address/~Common~vip")["trafficGroup"] != SECOND


def test_prepared_virtual_servers(named):
    """They are taken over and given back at the address that their destination names."""
    lab = named("10.0.0.1", by_name=False)
    lab.virtuals(address="vip")
    before = {name: virtual(lab, name)["destination"] for name in (HTTP, HTTPS)}
    assert before == {HTTP: "/Common/vip:80", HTTPS: "/Common/vip:443"}
    lab.apply(manifests.route("a"))
    assert lab.converge() == []
    assert take(lab, f5_vserver_address="10.0.0.1") == 0
    assert rests(lab, f5_vserver_address="10.0.0.1")
    assert {name: virtual(lab, name)["destination"] for name in (HTTP, HTTPS)} == before
    assert listening(lab) == {HTTP, HTTPS}


def test_pods_never_have_it(named):
    """The BIG-IP would send a request to itself."""
    lab = named("10.1.1.1", by_name=False)
    lab.virtuals(address="vip")
    lab.apply(manifests.route("a"))
    lab.converge()
    assert members(lab) == set()
