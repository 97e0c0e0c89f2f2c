"""Ranges of addresses that Gateways may have."""

import ipaddress
import itertools
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

MOST_RANGES = 64
"""Ranges of a setting."""
_CLASS = re.compile(r"[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?")
"""Name of a GatewayClass: a DNS subdomain."""


@dataclass(frozen=True, slots=True)
class AddressRange:
    """Addresses of one family, from the first one to the last one."""

    first: Address
    last: Address
    gateway_class: str = ""
    """GatewayClass whose Gateways may have them; "" for all classes without ranges of their own."""

    def __contains__(self, text: str) -> bool:
        """True for an address of the range. Args: text: in canonical form."""
        address = ipaddress.ip_address(text)
        return address.version == self.first.version and int(self.first) <= int(address) <= int(self.last)

    def addresses(self) -> Iterator[str]:
        """Yield the addresses in their order, in canonical form; there may be very many."""
        for number in range(int(self.first), int(self.last) + 1):
            yield str(type(self.first)(number))

    @property
    def size(self) -> int:
        """Number of its addresses."""
        return int(self.last) - int(self.first) + 1

    def __str__(self) -> str:
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


def of_class(ranges: Iterable[AddressRange], gateway_class: str) -> list[AddressRange]:
    """Return the ranges for the Gateways of a class: its own, or those of no class."""
    ranges = list(ranges)
    own = [each for each in ranges if each.gateway_class == gateway_class]
    return own or [each for each in ranges if not each.gateway_class]


class FreeAddresses:
    """Finds addresses that are not taken; each address of a range is looked at once. Not thread-safe."""

    def __init__(self, taken: Container[str]):
        """Args: taken: addresses in canonical form; none of them becomes free again."""
        self._taken = taken
        self._left: dict[tuple[AddressRange, ...], Iterator[str]] = {}
        """Addresses that were not looked at yet, by their ranges."""

    def first(self, ranges: tuple[AddressRange, ...]) -> str:
        """Return the first free address of some ranges, which must be taken then; "" if there is none."""
        if ranges not in self._left:
            self._left[ranges] = itertools.chain.from_iterable(each.addresses() for each in ranges)
        return next((address for address in self._left[ranges] if address not in self._taken), "")


def canonical(text: str) -> str:
    """Return the canonical form of an address; "" for another text.

    An address with a zone is none: a BIG-IP reads a route domain behind the percent sign.
    """
    try:
        return "" if "%" in text else str(ipaddress.ip_address(text))
    except ValueError:
        return ""


def parse(text: str) -> tuple[AddressRange, ...]:
    """Read ranges, separated by commas: [CLASS=]CIDR, [CLASS=]FIRST-LAST or [CLASS=]ADDRESS.

    Network and broadcast address of an IPv4 network are left out. Raises: ValueError.
    """
    ranges = tuple(_range(item.strip()) for item in text.split(","))
    if len(ranges) > MOST_RANGES:
        raise ValueError(f"there are more than {MOST_RANGES} ranges")
    for number, each in enumerate(ranges):
        if any(each.first.version == other.first.version and int(each.first) <= int(other.last)
               and int(other.first) <= int(each.last) for other in ranges[:number]):
            raise ValueError(f"{each} overlaps with another range")
    return ranges


def _range(text: str) -> AddressRange:
    name, separator, addresses = text.rpartition("=")
    if separator and not _CLASS.fullmatch(name):
        raise ValueError(f"{name!r} is no name of a GatewayClass")
    try:
        first, last = _ends(addresses)
    except ValueError:
        raise ValueError(f"{addresses!r} is neither a network, two addresses FIRST-LAST, nor an address"
                         ) from None
    for end in (first, last):
        if end.is_unspecified or end.is_loopback or end.is_multicast or end.is_link_local or (
                isinstance(end, ipaddress.IPv6Address) and end.ipv4_mapped is not None):
            raise ValueError(f"{addresses!r} has addresses on which clients cannot be served")
    return AddressRange(first, last, name)


def _ends(text: str) -> tuple[Address, Address]:
    """Return the first and the last address. Raises: ValueError."""
    if "%" in text:
        raise ValueError("the route domain is that of the partition")
    if "/" in text:
        network = ipaddress.ip_network(text)
        first, last = network[0], network[-1]
        if network.version == 4 and network.num_addresses > 2:
            first, last = network[1], network[-2]
        return first, last
    first_text, separator, last_text = text.partition("-")
    first = ipaddress.ip_address(first_text)
    last = ipaddress.ip_address(last_text) if separator else first
    if first.version != last.version or int(first) > int(last):
        raise ValueError("not in order")
    return first, last
