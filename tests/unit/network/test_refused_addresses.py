"""Addresses that never become pool members, however they are written."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.kube.api import decode
from f5router.model.cluster import EndpointSlice
from f5router.model.device_facts import DeviceFacts, Doubt
from f5router.network import pool_members, refused_addresses
from f5router.network.pool_members import ServiceEndpoints
from f5router.network.refused_addresses import DOUBTFUL, OWN, reason
from tests.rows import rows

IPv4, IPv6 = ipaddress.IPv4Address, ipaddress.IPv6Address

METADATA, NOBODY, LOOPBACK = "the metadata service of a cloud", "the address of no host", "a loopback address"
LINK_LOCAL, MULTICAST, BROADCAST = "a link-local address", "a multicast address", "the broadcast address"


@rows(("address", "expected"), [
    ("10.1.2.3", ""), ("172.30.0.1", ""), ("192.168.1.1", ""), ("100.64.0.1", ""), ("8.8.8.8", ""),
    ("192.0.2.1", ""), ("198.51.100.7", ""), ("203.0.113.9", ""), ("240.0.0.1", ""), ("198.18.0.1", ""),
    ("fd00::1", ""), ("2001:db8::1", ""), ("2600::1", ""), ("64:ff9b::10.1.2.3", ""), ("2002:a01:203::1", ""),
    ("169.253.1.1", ""), ("fd00:ec2::253", ""), ("100.100.100.201", ""), ("192.0.0.191", ""),
    ("0.0.0.0", NOBODY), ("0.1.2.3", NOBODY), ("::", NOBODY),
    ("127.0.0.1", LOOPBACK), ("127.255.255.254", LOOPBACK), ("::1", LOOPBACK),
    ("169.254.0.1", LINK_LOCAL), ("169.254.255.255", LINK_LOCAL), ("fe80::1", LINK_LOCAL),
    ("224.0.0.1", MULTICAST), ("239.255.255.255", MULTICAST), ("ff02::1", MULTICAST), ("ff0e::1", MULTICAST),
    ("255.255.255.255", BROADCAST),
    ("169.254.169.254", METADATA), ("168.63.129.16", METADATA), ("100.100.100.200", METADATA),
    ("192.0.0.192", METADATA), ("fd00:ec2::254", METADATA), ("fd20:ce::254", METADATA),
    ("fd00:c1::a9fe:a9fe", METADATA),
    ("::ffff:127.0.0.1", LOOPBACK), ("::127.0.0.1", LOOPBACK), ("::ffff:0:127.0.0.1", LOOPBACK),
    ("64:ff9b::169.254.169.254", METADATA), ("64:ff9b::127.0.0.1", LOOPBACK), ("64:ff9b::", NOBODY),
    ("64:ff9b::224.0.0.1", MULTICAST), ("64:ff9b::255.255.255.255", BROADCAST),
    ("2002:a9fe:a9fe::1", METADATA), ("2002:7f00:1::", LOOPBACK), ("2002:a9fe:1::5", LINK_LOCAL),
    ("64:ff9b:1::169.254.169.254", METADATA), ("64:ff9b:1::10.1.2.3", ""),
    ("64:ff9b:1:a9fe:a9:fe00::", METADATA), ("64:ff9b:1:a9:fe:a9fe::", METADATA),
    ("64:ff9b:1:0:a9:fea9:fe00:0", METADATA), ("64:ff9b:1:abcd::10.1.2.3", ""),
    ("2001:0:7f00:1::1", LOOPBACK), ("2001:0:808:808::8001:fffe", LOOPBACK),
    ("fd00::5efe:127.0.0.1", LOOPBACK), ("2001:db8::200:5efe:a9fe:a9fe", METADATA),
])  # fmt: skip
def test_reasons(address, expected):
    assert reason(str(ipaddress.ip_address(address)), frozenset()) == expected


V4_IN_V6 = {
    "mapped": lambda n: 0xFFFF << 32 | n, "compatible": lambda n: n, "translated": lambda n: 0xFFFF << 48 | n,
    "6to4": lambda n: 0x2002 << 112 | n << 80 | 1, "NAT64": lambda n: 0x64FF9B << 96 | n,
    "local NAT64, 96": lambda n: 0x64FF9B0001 << 80 | n,
    "local NAT64, 64": lambda n: 0x64FF9B0001 << 80 | n << 24,
    "local NAT64, 56": lambda n: 0x64FF9B0001 << 80 | n >> 24 << 64 | (n & 0xFFFFFF) << 32,
    "local NAT64, 48": lambda n: 0x64FF9B0001 << 80 | n >> 16 << 64 | (n & 0xFFFF) << 40,
    "ISATAP": lambda n: 0xFD << 120 | 0x5EFE << 32 | n, "Teredo": lambda n: 0x20010000 << 96 | n ^ 0xFFFFFFFF,
}


KNOWN = "169.254.169.254", "127.0.0.1", "224.0.0.5", "100.100.100.200", "255.255.255.255"


@pytest.mark.parametrize("form", V4_IN_V6)
@given(bad=st.sampled_from(KNOWN) | st.ip_addresses(v=4, network="169.254.0.0/16").map(str),
       own=st.ip_addresses(v=4, network="10.0.0.0/8").map(str))
def test_an_ipv4_address_in_an_ipv6_address(form, bad, own):
    """Whatever is refused by itself is refused in it, and so is an address of the device."""
    inside = str(IPv6(V4_IN_V6[form](int(IPv4(bad)))))
    assert reason(inside, frozenset())
    inside = str(IPv6(V4_IN_V6[form](int(IPv4(own)))))
    assert reason(inside, frozenset({own}))


def test_every_first_octet():
    """An IPv4 address is judged as it is in an IPv6 address, which is looked at in another way."""
    rests = "0.0.0", "1.2.3", "254.169.254", "255.255.255", "63.129.16", "100.100.200", "0.0.192"
    for address in (f"{first}.{rest}" for first in range(256) for rest in rests):
        assert reason(address, frozenset()) == reason(str(IPv6(f"::ffff:{address}")), frozenset()), address


@given(st.sampled_from(["10.128.0.0/14", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fd01::/48",
                        "2001:db8::/32", "2600::/16"]), st.data())
def test_addresses_of_pods(network, data):
    """None is refused but those of the device, in the same spelling."""
    address = ipaddress.ip_network(network)[data.draw(st.integers(0, 2**14))]
    if address in refused_addresses.METADATA:
        return
    assert reason(str(address), frozenset({"10.0.0.1"})) == ""
    assert reason(str(address), frozenset({str(address)})) == OWN


UPSTREAM = [
    "127.0.0.1", "127.127.127.222", "::1", "169.254.169.254", "169.254.1.1", "168.63.129.16", "fe80::1",
    "0.0.0.0", "::", "fd00:ec2::254", "ff02::1", "224.0.0.1", "239.255.255.250", "::ffff:127.0.0.1",
    "::ffff:169.254.169.254", "::a9fe:a9fe", "::169.254.169.254", "::127.0.0.1", "::7f00:1",
    "127.172.127.172", "::127.172.127.172", "::7fac:7fac", "127.0.127.1", "evil.example.com",
    "metadata.google.internal",
]
"""Addresses that openshift/router refuses in its tests: extended_validator_test.go."""


@rows("text", UPSTREAM)
def test_what_upstream_filters_is_no_member(text):
    """From an EndpointSlice and from Endpoints; the good ones beside it are members."""
    metadata = {"namespace": "shop", "name": "web", "labels": {decode.SERVICE_LABEL: "web"}}
    slice_ = decode.endpoint_slice({"metadata": metadata, "ports": [{"port": 80}],
        "endpoints": [{"addresses": [text]}, {"addresses": ["1.2.3.4", "2001:db8::1"]}]})
    (subset,) = decode.endpoints({"metadata": metadata, "subsets": [
        {"ports": [{"port": 80}], "addresses": [{"ip": text}, {"ip": "23.206.60.92"}]}]})
    assert chosen(slice_) == {"1.2.3.4", "2001:db8::1"}
    assert chosen(subset) == {"23.206.60.92"}


def chosen(slice_: EndpointSlice) -> set[str]:
    endpoints = ServiceEndpoints(slices=(slice_,))
    return {member.address for member in pool_members.choose("", endpoints, 1000).members}


DOUBT = Doubt(("two (no connection)",), frozenset({"10.3.89.0/24", "fd00:89::/64"}),
              frozenset({"10.3.89.7", "fd00:89::7"}))


@rows(("address", "expected"), [
    ("10.3.89.212", DOUBTFUL), ("10.3.90.1", ""), ("10.3.89.7", ""), ("10.3.89.1", OWN),
    ("fd00:89::212", DOUBTFUL), ("fd00:8a::1", ""), ("fd00:89::7", ""),
    ("::ffff:10.3.89.212", DOUBTFUL), ("64:ff9b::10.3.89.212", DOUBTFUL), ("64:ff9b::10.3.89.7", DOUBTFUL),
    ("127.0.0.1", LOOPBACK),
])
def test_where_a_unit_may_have_addresses(address, expected):
    """Addresses of Nodes, which no tenant chooses, are taken."""
    address = str(ipaddress.ip_address(address))
    own = frozenset({"10.3.89.1"})
    assert reason(address, own, DOUBT) == expected
    of_nodes = ServiceEndpoints(own_addresses=own, doubt=DOUBT).refusals([address], of_nodes=True)
    assert of_nodes == ({} if expected in ("", DOUBTFUL) else {address: expected})


def test_units_that_could_not_be_read():
    """A warning about endpoints, with the networks where these are known."""
    (told,) = refused_addresses.findings(DeviceFacts(doubt=DOUBT)).warnings
    assert told == ("self IPs of two (no connection) are not known yet: no endpoint in 10.3.89.0/24 and "
                    "fd00:89::/64 becomes a pool member until then; present members stay")
    (told,) = refused_addresses.findings(DeviceFacts(doubt=Doubt(("two (no)",)))).warnings
    assert told.endswith("endpoints with such an address are taken for pool members")


def test_what_could_not_be_read():
    """Nothing to say when all was."""
    assert refused_addresses.findings(DeviceFacts()).warnings == ()
    facts = DeviceFacts(unread_addresses=("self IPs of the BIG-IP cannot be read (401 no)",))
    assert refused_addresses.findings(facts).warnings == (
        "self IPs of the BIG-IP cannot be read (401 no): endpoints with such an address are taken for pool "
        "members",)
