"""The addresses of the units of a BIG-IP, and where those that were not read may have others."""

import json
from pathlib import Path

import pytest

from f5router.icontrol import own_addresses
from f5router.icontrol.own_addresses import Peer, UnitAddresses
from f5router.model.device_facts import Doubt
from f5router.model.errors import AuthFailed
from f5router.model.ltm import Pool, PoolMember

RECORDINGS = Path(__file__).parents[2] / "recordings" / "cm" / "device"
SELF = {"name": "foo.f5.com", "selfDevice": "true", "managementIp": "172.16.1.10"}
PEER_OF_13_1 = {
    "name": "bar.f5.com", "configsyncIp": "10.1.1.11", "managementIp": "172.16.1.11", "mirrorIp": "10.1.1.11",
    "mirrorSecondaryIp": "any6", "multicastIp": "any6", "unicastAddress": [
        {"effectiveIp": "management-ip", "effectivePort": 123, "ip": "management-ip", "port": 123},
        {"effectiveIp": "10.1.2.11", "effectivePort": 456, "ip": "10.1.3.11", "port": 456}]}
SELF_IPS = [{"address": "10.3.89.1/24", "vlan": "/Common/internal"},
            {"address": "fd00:89::1/64", "vlan": "/Common/internal"},
            {"address": "10.131.0.5/14", "vlan": "/Common/vxlan5000"},
            {"address": "10.7.0.1%7/24", "vlan": "/Common/far"}]


class Client:
    """Answers for collections."""

    def __init__(self, **collections):
        self.collections = {
            "net/self": SELF_IPS, "cm/device": [PEER_OF_13_1],
            "sys/management-ip": [{"name": "192.0.2.1/24"}, {"name": "2001:db8::1/64"}],
            "net/tunnels/tunnel": [{"fullPath": "/Common/vxlan5000"}]} | collections

    def get(self, path: str) -> dict:
        if path.startswith("auth/partition"):
            return {"defaultRouteDomain": self.collections.get("domain", 0)}
        items = self.collections[path]
        if isinstance(items, Exception):
            raise items
        return {"items": items}


def read(*peers: Peer, **collections) -> own_addresses.Addresses:
    return own_addresses.read(Client(**collections), "/Common", (), peers)


def test_everything_that_the_device_names():
    """Both versions of IP; management, config sync, failover and mirroring of each device of the trust."""
    assert read().own == {
        "10.3.89.1", "fd00:89::1", "10.131.0.5", "192.0.2.1", "2001:db8::1",
        "172.16.1.11", "10.1.1.11", "10.1.2.11", "10.1.3.11"}


def test_of_another_unit():
    """Its self IPs in our route domain, and its management addresses."""
    of_two = own_addresses.of_unit(Client(**{
        "net/self": [{"address": "10.3.89.2/24"}, {"address": "fd00:89::2/64"}, {"address": "10.7.0.2%7/24"}],
        "sys/management-ip": [{"name": "192.0.2.2/24"}]}).get)
    assert {"10.3.89.2", "fd00:89::2", "192.0.2.2"} <= read(Peer("two", of_two)).own
    assert "10.7.0.2" not in read(Peer("two", of_two)).own
    assert "10.7.0.2" in read(Peer("two", of_two), domain=7).own
    assert read(Peer("two", of_two)).doubt == Doubt()


@pytest.mark.parametrize("odd", [None, {}, [None], ["x"], [{"unicastAddress": "x"}], [
    {"unicastAddress": [None, {"ip": 7}], "managementIp": ["x"]}]], ids=str)
def test_odd_devices(odd):
    assert "10.3.89.1" in read(**{"cm/device": odd}).own


@pytest.mark.parametrize(("devices", "peers", "expected"), [
    pytest.param([SELF], (), True, id="itself"),
    pytest.param([SELF, PEER_OF_13_1], (), False, id="a pair"),
    pytest.param([SELF], (Peer("two", UnitAddresses()),), False, id="several addresses in the settings"),
    pytest.param([PEER_OF_13_1], (), False, id="another one"),
    pytest.param([SELF, "x"], (), False, id="one that is not understood"),
    *(pytest.param(odd, (), False, id=str(odd)) for odd in (None, {}, [], [None], "x", [{"selfDevice": 1}])),
    pytest.param(AuthFailed("GET", "/x", "Forbidden", status=403), (), False, id="may not be read"),
])
def test_whether_a_device_stands_alone(devices, peers, expected):
    """Only where it says so."""
    assert read(*peers, **{"cm/device": devices}).stands_alone is expected


@pytest.mark.parametrize(("version", "expected"), [
    ("11.6.0", True), ("13.1.1.2", False), ("14.1.2.1", True), ("16.0.0", True)])
def test_recorded_devices(version, expected):
    items = json.loads((RECORDINGS / f"{version}--collection.json").read_text())["items"]
    assert read(**{"cm/device": items}).stands_alone is expected


def test_where_a_unit_that_was_not_read_may_have_addresses():
    """In the networks of our route domain that are no tunnel's; what is a member already stays."""
    doubt = read(Peer("two", None, "no connection")).doubt
    assert doubt == Doubt(("two (no connection)",), frozenset({"10.3.89.0/24", "fd00:89::/64"}))
    assert read(Peer("two", None), domain=7).doubt.networks == {"10.7.0.0/24"}
    pools = [Pool("/Common/a", members=frozenset(
        PoolMember(address, 80) for address in ("10.3.89.7", "10.128.0.1")))]
    assert own_addresses.kept(doubt, pools).kept == {"10.3.89.7"}
    assert own_addresses.kept(Doubt(), pools).kept == frozenset()


def test_tunnels_that_may_not_be_read():
    """Then no network is known to be shared: pods are not taken for other units."""
    refused = AuthFailed("GET", "/x", "Authorization failed: user=x", status=401)
    assert read(Peer("two", None), **{"net/tunnels/tunnel": refused}).doubt == Doubt(("two (not read yet)",))


def test_a_unit_that_has_no_self_ips_is_known():
    assert read(Peer("two", UnitAddresses())).doubt == Doubt()
