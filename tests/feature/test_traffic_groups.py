"""Traffic groups of the router's own virtual addresses, beside those of others that read alike."""

import pytest

from tests import manifests
from tests.feature.conftest import HTTP, HTTPS
from tests.feature.test_adopted_servers import ADDRESS, FLAGS, take
from tests.feature.test_front_end import listening
from tests.rows import rows

pytestmark = pytest.mark.bare

FIRST, SECOND = "/Common/traffic-group-1", "/Common/traffic-group-2"
GROUPED = {**FLAGS, "f5_vserver_traffic_group": SECOND}
NAMED = {**GROUPED, "f5_http_vserver": "own_http", "f5_https_vserver": "own_https"}
OWN = {"own_http", "own_https"}


def groups(lab) -> dict:
    """Traffic group of each virtual address, by its full path."""
    return {item.path: item.fields["trafficGroup"] for item in lab.bigip.items("ltm/virtual-address")}


@pytest.fixture
def site(make_lab):
    """Makes a BIG-IP with two Routes. Args: own: folder; domain: default route domain of its partition."""
    def make(own: str, domain: int = 0):
        lab = make_lab(partition=own, partitions=("Common", "tenants", "other"))
        lab.bigip.store.unit.traffic_groups = (*lab.bigip.store.unit.traffic_groups, SECOND)
        for number in (6, 7):
            lab.bigip.put_object("net/route-domain", {"name": str(number), "id": number})
        if domain:
            lab.change("PATCH", "auth/partition/tenants", {"defaultRouteDomain": domain})
        if own.count("/") > 1:
            lab.bigip.put_object("sys/folder", {"name": own})
        lab.apply(manifests.route("a"), manifests.route("b", host="b.example.com", kind="edge"),
                  *manifests.service("shop", "web", pods=("10.1.1.1",)))
        return lab

    return make


def put_other(lab, place: str) -> None:
    """Have a virtual server of somebody else. Args: place: destination without the port."""
    lab.bigip.put_object("ltm/virtual", {
        "name": f"{place.rpartition('/')[0]}/somebody", "destination": f"{place}:8080", "ipProtocol": "tcp",
        "profiles": ["/Common/tcp"]})


@rows(("own", "domain", "other"), [
    ("/Common", 0, "/Common/10.0.0.1%6"), ("/Common", 0, "/other/10.0.0.1%6"),
    ("/tenants", 7, "/Common/10.0.0.1"), ("/tenants/zone1", 7, "/Common/10.0.0.1"),
    ("/tenants/zone1", 7, "/Common/10.0.0.1%6"), ("/tenants/zone1", 0, "/other/10.0.0.1%6"),
])
def test_an_address_that_reads_alike_stays(site, own, domain, other):
    """The router's own moves, before clients are answered, and the next pass has nothing to write."""
    lab = site(own, domain)
    put_other(lab, other)
    for _ in lab.each_end(30, **NAMED):
        assert not listening(lab) & OWN or set(groups(lab).values()) == {FIRST, SECOND}
    assert listening(lab) == {*OWN, "somebody"}
    (mine,) = groups(lab).keys() - {other}
    assert groups(lab) == {other: FIRST, mine: SECOND}
    lab.clear()
    assert lab.converge(**NAMED) == []
    assert lab.writes() == []


def test_the_address_of_another_stays_where_the_routers_is_refused(site):
    lab = site("/tenants/zone1")
    put_other(lab, "/Common/10.0.0.1")
    assert lab.converge(**NAMED) != []
    assert groups(lab) == {"/Common/10.0.0.1": FIRST}
    assert listening(lab) == {"somebody"}


def test_an_address_with_a_virtual_server_of_another(site):
    """It moves if its owner moves it; virtual servers that answer do so until then."""
    lab = site("/Common")
    put_other(lab, "/Common/10.0.0.1")
    assert lab.converge(**{**NAMED, "f5_vserver_traffic_group": FIRST}) == []
    reasons = lab.converge(**NAMED)
    assert any("/Common/somebody of somebody else is on virtual address /Common/10.0.0.1" in each
               for each in reasons)
    assert groups(lab) == {"/Common/10.0.0.1": FIRST}
    assert listening(lab) == {*OWN, "somebody"}
    assert lab.admitted("shop", "a")["status"] == "True"
    lab.change("PATCH", "ltm/virtual-address/~Common~10.0.0.1", {"trafficGroup": SECOND})
    assert lab.converge(**NAMED) == []


@rows(("own", "place"), [
    ("/tenants", "/Common"), ("/tenants", "/tenants"), ("/tenants/zone1", "/Common"),
    ("/tenants/zone1", "/tenants"),
])
def test_the_address_of_adopted_virtual_servers(site, own, place):
    """An administrator may have it in another folder than the virtual servers."""
    lab = site(own)
    for name, port in ((HTTP, 80), (HTTPS, 443)):
        secure = [{"name": "/Common/clientssl", "context": "clientside"}] if port == 443 else []
        lab.bigip.put_object("ltm/virtual", {
            "name": f"{own}/{name}", "destination": f"{place}/{ADDRESS}:{port}", "ipProtocol": "tcp",
            "profiles": ["/Common/tcp", "/Common/http", *secure]})
    assert take(lab) == 0
    assert lab.converge(**GROUPED) == []
    assert groups(lab) == {f"{place}/{ADDRESS}": SECOND}
    lab.clear()
    assert lab.converge(**GROUPED) == []
    assert lab.writes() == []
