"""Canonical spelling of IP addresses in objects of the API."""

import ipaddress
from functools import lru_cache
from sys import intern

from f5router.model import hostnames

LONGEST = 45
"""Characters of the longest address: IPv6 with the last four bytes as in IPv4. Nothing longer is cached."""


def parse(text: object) -> str | None:
    """Return the canonical text of an IP address, None for anything else.

    An IPv4-mapped IPv6 address becomes IPv4, as Go's net.ParseIP does. No zone index, no prefix.
    """
    return _parse(text) if isinstance(text, str) and len(text) <= LONGEST else None


@lru_cache(maxsize=65536)  # several slices and every new list contain the same pods
def _parse(text: str) -> str | None:
    if hostnames.IPV4.fullmatch(text):
        return intern(text)
    if "%" in text:
        return None
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        address = address.ipv4_mapped
    return intern(str(address))
