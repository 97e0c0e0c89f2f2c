"""IP addresses in objects of the API, in one spelling each."""

import ipaddress
from functools import lru_cache
from sys import intern

LONGEST = 45
"""Characters of an address: IPv6 with the last four bytes as in IPv4. Longer texts are not remembered."""


def parse(text: object) -> str | None:
    """Canonical text of an IP address, None for anything else.

    An IPv4-mapped IPv6 address becomes IPv4, as Go's net.ParseIP does. No zone index, no prefix.
    """
    return _parse(text) if isinstance(text, str) and len(text) <= LONGEST else None


@lru_cache(maxsize=65536)  # the same pods stand in several slices and in every new list
def _parse(text: str) -> str | None:
    if "%" in text:
        return None
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped:
        found = found.ipv4_mapped
    return intern(str(found))
