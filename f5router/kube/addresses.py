"""IP addresses that may become Pool members.

Whoever may write an EndpointSlice chooses its addresses, so what would lead to the BIG-IP itself or
to a cloud's metadata service is never an address. Source: haproxy-parity.md 3.4; openshift/router,
checkRestrictedIP, for the classes.
"""

import ipaddress
from functools import lru_cache
from sys import intern

METADATA = frozenset({
    ipaddress.ip_address("168.63.129.16"),  # Azure; others are link-local
    ipaddress.ip_address("fd00:ec2::254"),  # AWS
})

LONGEST = 45
"""Characters of an address: IPv6 with the last four bytes as in IPv4. Longer texts are not remembered."""

_IPv4 = ipaddress.IPv4Address
_IPv6 = ipaddress.IPv6Address


def parse(text: object) -> str | None:
    """Canonical text of an IP address, None for anything else.

    An IPv4-mapped IPv6 address becomes IPv4, as Go's net.ParseIP does. No zone index, no prefix.
    """
    found = _parse(text) if isinstance(text, str) and len(text) <= LONGEST else None
    return None if found is None else intern(str(found))


def usable(text: str) -> str | None:
    """Canonical text of an address that traffic may be sent to, None for any other text."""
    return _usable(text) if len(text) <= LONGEST else None


@lru_cache(maxsize=65536)  # the same pods stand in several slices and in every new list
def _usable(text: str) -> str | None:
    found = _parse(text)
    if found is None or _special(found):
        return None
    if isinstance(found, _IPv6) and (inner := _compatible(found)) and _special(inner):
        return None
    return intern(str(found))


def _parse(text: str) -> _IPv4 | _IPv6 | None:
    if "%" in text:
        return None
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, _IPv6) else found


def _special(address: _IPv4 | _IPv6) -> bool:
    return (address.is_unspecified or address.is_loopback or address.is_link_local
            or address.is_multicast or address in METADATA)


def _compatible(address: _IPv6) -> _IPv4 | None:
    """The IPv4 address in ::a.b.c.d (RFC 4291 2.5.5.1, deprecated but still routed by some)."""
    return _IPv4(int(address)) if int(address) < 1 << 32 else None
