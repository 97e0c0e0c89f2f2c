"""Pool members that a tenant must not choose: the BIG-IP itself, a cloud's metadata, and others of no pod."""

import ipaddress

import pytest

from tests import manifests
from tests.builders import identity
from tests.waiting import DEADLINE_S

POD, VIRTUAL, SELF, MANAGEMENT = "10.1.1.1", "10.0.0.1", "10.3.89.213", "192.0.2.1"
REFUSED = {
    VIRTUAL: "an address of the BIG-IP itself", SELF: "an address of the BIG-IP itself",
    MANAGEMENT: "an address of the BIG-IP itself", f"64:ff9b::{VIRTUAL}": "an address of the BIG-IP itself",
    "2002:a03:59d5::1": "an address of the BIG-IP itself",
    **dict.fromkeys(("169.254.169.254", "100.100.100.200", "192.0.0.192", "fd00:ec2::254",
                     "64:ff9b::a9fe:a9fe"),
                    "the metadata service of a cloud"),
    "127.0.0.1": "a loopback address",
    "255.255.255.255": "the broadcast address", "224.0.0.1": "a multicast address",
}


def self_ip(lab, name: str = "internal", address: str = f"{SELF}/24", **fields) -> None:
    """One that the administrator made."""
    if "/Common/internal" not in lab.paths("net/vlan"):
        lab.change("POST", "net/vlan", {"name": "internal", "partition": "Common"})
    lab.change("POST", "net/self", {"name": name, "partition": "Common", "address": address,
                                    "vlan": "/Common/internal", **fields})


def members(lab, pool: str = "openshift_shop_web") -> set[str]:
    fields = lab.bigip.get(f"ltm/pool/~Common~{pool}")
    return {item["name"].rpartition("." if item["name"].count(":") > 1 else ":")[0]
            for item in fields["membersReference"].get("items", ())}


def warned(lab, route: str = "plain") -> set[str]:
    return {event["message"] for event in lab.kube.list("Event", "shop")
            if event["involvedObject"]["name"] == route}


def passed(lab, router) -> None:
    """A pass of the running router, and all that it tells."""
    lab.settle(router)
    assert router.reporter.events.flush(DEADLINE_S)


def web(*addresses: str) -> tuple[dict, dict]:
    return manifests.service("shop", "web", pods=addresses)


@pytest.fixture
def shop(lab):
    """A BIG-IP with a self IP, and a Route."""
    self_ip(lab)
    lab.apply(manifests.route("plain"))
    return lab


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_beside_a_pod(shop, address):
    """The pod is the only member, and the Route's team learns Service, address and reason."""
    shop.apply(*web(POD, address))
    assert shop.converge() == []
    assert members(shop) == {POD}
    shown = ipaddress.ip_address(address)
    assert warned(shop) == {
        f"spec.to.name: addresses of Service web that are no pool members: {shown} ({REFUSED[address]})"}
    assert shop.admitted("shop", "plain")["status"] == "True"


def test_no_other_address(shop):
    """The pool is empty, and what is said is not that pods are missing."""
    shop.apply(*web(*REFUSED))
    assert shop.converge() == []
    assert members(shop) == set()
    (told,) = warned(shop)
    assert told.endswith(f", {len(REFUSED) - 3} more")


def test_all_pools_of_a_service(shop):
    """Whatever the kind of Route and the port."""
    ca = identity("pods.example.com")
    shop.apply(
        *web(POD, VIRTUAL),
        manifests.route("edge", host="edge.example.com", kind="edge", port="http"),
        manifests.route("re", host="re.example.com", kind="reencrypt", destinationCACertificate=ca.issuer),
        manifests.route("pass", host="pass.example.com", kind="passthrough", port=8080))
    assert shop.converge() == []
    pools = [path.rpartition("/")[2] for path in shop.pools() if "openshift_shop_web" in path]
    assert len(pools) == 4
    for pool in pools:
        assert members(shop, pool) == {POD}, pool
    for route in ("plain", "edge", "re", "pass"):
        assert len(warned(shop, route)) == 1


def test_endpoints_that_change(shop):
    """A warning goes with its cause, and comes with it; each change of members is one write."""
    shop.apply(*web(POD))
    router = shop.router()
    assert shop.converge(router) == []
    assert warned(shop) == set()
    shop.apply(manifests.endpoints("shop", "web", (POD, VIRTUAL)))
    shop.clear()
    passed(shop, router)
    assert (members(shop), shop.writes()) == ({POD}, [])
    assert len(warned(shop)) == 1
    shop.apply(manifests.endpoints("shop", "web", (POD, "10.1.1.2", VIRTUAL)))
    passed(shop, router)
    assert members(shop) == {POD, "10.1.1.2"}
    shop.apply(manifests.endpoints("shop", "web", (POD, MANAGEMENT)))
    passed(shop, router)
    assert len(warned(shop)) == 2


def test_a_self_ip_that_comes_later(lab):
    """At the next reading of the device its address is no member any more."""
    lab.apply(manifests.route("plain"), *web(POD, SELF))
    router = lab.router()
    assert lab.converge(router) == []
    assert members(lab) == {POD, SELF}
    self_ip(lab)
    router.reconciler.must_read("of the test")
    passed(lab, router)
    assert members(lab) == {POD}
    assert len(warned(lab)) == 1


def test_a_member_from_before(shop):
    """A member that an older router, or somebody by hand, made leaves the pool."""
    shop.apply(*web(POD, VIRTUAL))
    assert shop.converge() == []
    shop.change("POST", "ltm/pool/~Common~openshift_shop_web/members",
                {"name": f"{VIRTUAL}:8080", "partition": "Common"})
    assert shop.converge() == []
    assert members(shop) == {POD}


def test_another_route_domain(make_lab):
    """A self IP there is another host than a pod with the same address."""
    lab = make_lab()
    lab.virtuals()
    lab.change("POST", "net/route-domain", {"name": "7", "partition": "Common", "id": 7})
    lab.change("POST", "net/vlan", {"name": "far", "partition": "Common"})
    self_ip(lab, "here", f"{SELF}/24")
    self_ip(lab, "far", "10.1.1.9%7/24")
    lab.apply(manifests.route("plain"), *web(POD, "10.1.1.9", SELF))
    assert lab.converge() == []
    assert members(lab) == {POD, "10.1.1.9"}


@pytest.mark.parametrize("status", [401, 400, 404])
@pytest.mark.parametrize(("path", "what", "still"), [
    ("net/self", "self IPs", SELF), ("cm/device", "management addresses", MANAGEMENT)])
def test_addresses_that_cannot_be_read(shop, caplog, path, what, still, status):
    """All else goes on, and the log says which addresses are not known."""
    words = {401: "Authorization failed: user=x", 400: "01070822:3: Access Denied: user (x)", 404: "no"}
    shop.bigip.inject("refuse", times=None, method="GET", path=f"/mgmt/tm/{path}", status=status,
                         message=words[status])
    shop.apply(*web(POD, VIRTUAL, SELF, MANAGEMENT))
    assert shop.converge() == []
    assert members(shop) == {POD, still}
    told = [record.problem for record in caplog.records if hasattr(record, "problem")]
    assert any(f"{what} of the BIG-IP cannot be read" in text for text in told), caplog.text


@pytest.mark.parametrize("partition", ["/Common", "/OpenShift"])
def test_node_ports(make_lab, partition):
    """A Node with an address of the BIG-IP, or of no host, is no member either."""
    lab = make_lab(partition=partition)
    if partition != "/Common":
        lab.change("POST", "auth/partition", {"name": partition[1:]})
    lab.virtuals()
    self_ip(lab)
    lab.apply(manifests.node("n1", "10.3.89.1"), manifests.node("n2", SELF), manifests.node("n3", VIRTUAL),
              manifests.node("n4", "100.100.100.200"),
              *manifests.published("shop", "web", pods={POD: "n1"}), manifests.route("plain"))
    assert lab.converge(pool_member_type="nodeport") == []
    items = lab.bigip.get(f"ltm/pool/~{partition[1:]}~openshift_shop_web")["membersReference"]["items"]
    assert [item["name"] for item in items] == ["10.3.89.1:30080"]
    (told,) = warned(lab)
    assert told.startswith("spec.to.name: addresses of Service web that are no pool members: ")
    for address in (SELF, VIRTUAL, "100.100.100.200"):
        assert address in told


def test_more_endpoints_than_a_pool_may_have(shop):
    """The team learns Service, count and limit; the pool is served as it is."""
    shop.apply(*web("10.1.1.1", "10.1.1.2", "10.1.1.3"))
    assert shop.converge(max_pool_members="2") == []
    assert len(members(shop)) == 2
    assert warned(shop) == {
        "spec.to.name: Service web would have 3 pool members or more, and a pool has 2 at most "
        "(--max-pool-members): the other pods get no requests"}
    assert shop.admitted("shop", "plain")["status"] == "True"
