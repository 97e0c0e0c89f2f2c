"""Addresses of the units of a pair, separated by commas."""

from collections.abc import Callable
from typing import TypeVar

from f5router.config import parsers

Item = TypeVar("Item")

MOST_UNITS = 8
"""Most units of a BIG-IP device group. Source: F5's manual "BIG-IP Device Service Clustering:
Administration", Working with Device Groups."""


def hosts(text: str) -> tuple[parsers.Host, ...]:
    """Host names or addresses, separated by commas; one is usual."""
    return _list(text, parsers.host, lambda address: address.netloc.lower())


def internal_addresses(text: str) -> tuple[str, ...]:
    """IPv4 addresses of the units in the Nodes' network; one is usual."""
    return _list(text, parsers.internal_address, lambda address: address)


def gateways(text: str) -> tuple[str, ...]:
    """Addresses of the units in the cluster network, with its prefix length; one is usual."""
    return _list(text, parsers.gateway, lambda gateway: gateway.partition("/")[0])


def _list(text: str, parse: Callable[[str], Item], address: Callable[[Item], str]) -> tuple[Item, ...]:
    items = tuple(parse(item.strip()) for item in text.split(","))
    if len(items) > MOST_UNITS:
        raise ValueError(f"there are more than {MOST_UNITS} addresses")
    if len(set(map(address, items))) < len(items):
        raise ValueError("one address is there twice")
    return items
