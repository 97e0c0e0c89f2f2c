"""Addresses that never become pool members, and why.

Whoever may write an EndpointSlice chooses its addresses, and the BIG-IP would connect to each of them from
its own place in the network. Source: openshift/router, checkRestrictedIP, which leaves out loopback,
link-local, multicast and two metadata addresses, also as IPv4-mapped and IPv4-compatible ones.
"""

import ipaddress
import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from f5router.model.device_facts import DeviceFacts, Doubt
from f5router.model.texts import Findings

METADATA = frozenset(map(ipaddress.ip_address, (
    # Amazon and most others, Azure, Alibaba, Oracle; Amazon, Google and Oracle by IPv6. Sources: their
    # documentation of instance metadata.
    "169.254.169.254", "168.63.129.16", "100.100.100.200", "192.0.0.192",
    "fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe",
)))

OWN = "an address of the BIG-IP itself"
DOUBTFUL = "perhaps an address of the BIG-IP's other unit, which has not been read yet"

_NO_DOUBT = Doubt()
_IPv4 = ipaddress.IPv4Address
_IPv6 = ipaddress.IPv6Address
_THIS_NETWORK = ipaddress.ip_network("0.0.0.0/8")
_BROADCAST = ipaddress.ip_address("255.255.255.255")
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")
_TRANSLATED = ipaddress.ip_network("::ffff:0:0:0/96")
_COMPATIBLE = ipaddress.ip_network("::/96")
_ISATAP = 0x00005EFE
_USUAL = re.compile(r"(?!(?:127|169|22[4-9]|23[0-9]|255)\.)[1-9][0-9]{0,2}(?:\.[0-9]{1,3}){3}")
"""IPv4 addresses of which only those in METADATA are special: most addresses, so these are not kept."""
_METADATA = frozenset(map(str, METADATA))


def reason(address: str, own: Collection[str], doubt: Doubt = _NO_DOUBT) -> str:
    """Return why no pool member may have this address, "" if it may.

    An IPv6 address in which an IPv4 address is written counts as that one too: something on the way may
    translate it. Networks for documentation and private use are addresses like others.

    Args:
        address: in canonical form.
        own, doubt: as in DeviceFacts.
    """
    if _USUAL.fullmatch(address) and address not in _METADATA:
        special, forms = "", frozenset((address,))
    else:
        special, forms = _classify(address)
    if special or not forms.isdisjoint(own):
        return special or OWN
    return DOUBTFUL if doubt.networks and address not in doubt.kept and doubt.covers(forms) else ""


def findings(facts: DeviceFacts) -> Findings:
    """Return a warning for each kind of the device's own addresses that cannot be read."""
    taken = "endpoints with such an address are taken for pool members"
    if facts.doubt.networks:
        where = " and ".join(sorted(facts.doubt.networks))
        of_units = f"no endpoint in {where} becomes a pool member until then; present members stay"
    else:
        of_units = taken
    return Findings(warnings=(
        *(f"{what}: {taken}" for what in facts.unread_addresses),
        *(f"self IPs of {unit} are not known yet: {of_units}" for unit in facts.doubt.units)))


@lru_cache(maxsize=16384)  # the same pods stand behind several ports and in every new pass
def _classify(text: str) -> tuple[str, frozenset[str]]:
    """Return why an address is special, "" if not; and the address with the IPv4 addresses inside it."""
    address = ipaddress.ip_address(text)
    inner = tuple(_embedded(address)) if isinstance(address, _IPv6) else ()
    special = next(filter(None, map(_special, (address, *inner))), "")
    return special, frozenset(map(str, (address, *inner)))


def _special(address: _IPv4 | _IPv6) -> str:
    if address in METADATA:
        return "the metadata service of a cloud"
    if address.is_unspecified or (address.version == 4 and address in _THIS_NETWORK):
        return "the address of no host"
    if address.is_loopback:
        return "a loopback address"
    if address.is_link_local:
        return "a link-local address"
    if address.is_multicast:
        return "a multicast address"
    return "the broadcast address" if address == _BROADCAST else ""


def _embedded(address: _IPv6) -> Iterator[_IPv4]:
    """IPv4 addresses that an IPv6 address stands for where it is translated or tunnelled.

    Sources: RFC 4291 2.5.5 (IPv4-compatible, IPv4-mapped), RFC 2765 2.1 (IPv4-translated), RFC 6052 2.1
    and 2.2, RFC 8215 (NAT64), RFC 3056 2 (6to4), RFC 4380 4 (Teredo), RFC 5214 6.1 (ISATAP).
    """
    number = int(address)
    last = _IPv4(number & 0xFFFFFFFF)
    if address.ipv4_mapped:
        yield address.ipv4_mapped
    if address.sixtofour:
        yield address.sixtofour
    if address.teredo:
        yield from address.teredo
    if address in _NAT64 or address in _TRANSLATED or (address in _COMPATIBLE and number > 1):
        yield last
    if number >> 32 & 0xFDFFFFFF == _ISATAP:
        yield last
    if address in _LOCAL_NAT64:
        # The prefix may end at any of these bits; the eight from 64 on are no part of the address.
        for length in (48, 56, 64, 96):
            bits = f"{number:0128b}"[length:]
            bits = bits if length == 96 else bits[:64 - length] + bits[72 - length:]
            inner = _IPv4(int(bits[:32], 2))
            if inner not in _THIS_NETWORK:  # zeros of a longer prefix
                yield inner
