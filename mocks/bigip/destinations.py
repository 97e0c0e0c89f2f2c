"""Destinations and sources of virtual servers: how they are written and how they are read.

Sources: bigip-behaviour.md B7; clouddocs, tmsh reference, "ltm virtual" (`destination`, `mask`, `source`).
"""

from __future__ import annotations

import ipaddress

from mocks.bigip import addresses, names, refusals
from mocks.bigip.store import Item, Store

ADDRESS = "ltm/virtual-address"
WILDCARDS = {"0.0.0.0": "any", "any6": "any6"}
"""Address of a wildcard as it is read -> its mask."""


def shown(store: Store, partition: str, text: str) -> tuple[str, str | None]:
    """`10.1.1.1:80` -> (`/P/10.1.1.1:80`, None); names of services become numbers.

    The second is the full path of the virtual address that the text names instead of its address, which is
    what a reply shows then (F5Networks/f5-appsvcs-extension, `propertiesServiceHTTP.js`).
    Raises: Refusal: no address.
    """
    folder, _, last = text.rpartition("/")
    folder = folder or f"/{partition}"
    named = _named(store, folder, last)
    if named is not None:
        item, port = named
        return joined(names.folder_of(item.path), item.fields["address"], port), item.path
    try:
        host, port = addresses.split_port(last)
        host = host if host in ("any", "any6") else addresses.shown(store, partition, host)
    except ValueError:
        raise refusals.invalid_value("destination", text) from None
    return joined(folder, {"any": "0.0.0.0", "::": "any6"}.get(host, host), port), None


def _named(store: Store, folder: str, last: str) -> tuple[Item, str] | None:
    """The virtual address whose name stands in a destination, and the port."""
    for separator in ":.":
        name, colon, port = last.rpartition(separator)
        item = store.get(ADDRESS, f"{folder}/{name}") if colon and not addresses.is_address(name) else None
        if item is not None:
            return item, port
    return None


def joined(folder: str, host: str, port: str) -> str:
    """A destination as a reply shows it."""
    separator = "." if ":" in host or host == "any6" else ":"
    number = addresses.port_number(port)
    return f"{folder}/{host}{separator}{'any' if not number and separator == '.' else number}"


def by_name(path: str, destination: str) -> str:
    """A destination with the name of its virtual address in place of the address."""
    separator = "." if is_ipv6(destination) else ":"
    return f"{path}{separator}{addresses.split_port(destination.rsplit('/', 1)[1])[1]}"


def host_of(destination: str) -> str:
    """Address of a destination, with route domain."""
    return addresses.split_port(destination.rsplit("/", 1)[1])[0]


def address_path(destination: str) -> str:
    """Full path of the virtual address that is made for a destination."""
    return f"{destination.rpartition('/')[0]}/{host_of(destination)}"


def is_ipv6(destination: str) -> bool:
    host = host_of(destination).partition("%")[0]
    return ":" in host or host == "any6"


def is_wildcard(destination: str) -> bool:
    return host_of(destination).partition("%")[0] in (*WILDCARDS, "::")


# -- masks and sources -----------------------------------------------------------------------------


def host_mask(destination: str) -> str:
    """The mask of one address."""
    return str(ipaddress.ip_address((1 << 128) - 1)) if is_ipv6(destination) else "255.255.255.255"


def check_mask(destination: str, mask: str) -> str:
    """Raises: Refusal: no mask of the destination's family (the device's words are not known)."""
    if mask in WILDCARDS.values() and is_wildcard(destination):
        return mask
    try:
        length = _length(mask)
    except ValueError:
        raise refusals.invalid_value("mask", mask) from None
    if (":" in mask) != is_ipv6(destination):
        raise refusals.invalid_value("mask", mask)
    return host_mask(destination) if length == (128 if is_ipv6(destination) else 32) else mask


def _length(mask: str) -> int:
    """Raises: ValueError: ones behind zeros, or no address."""
    address = ipaddress.ip_address(mask)
    bits = f"{int(address):0{address.max_prefixlen}b}"
    if "01" in bits:
        raise ValueError(mask)
    return bits.count("1")


def is_network(destination: str, mask: str) -> bool:
    """Return True if a mask makes more than one address of a destination."""
    return mask != host_mask(destination)


def default_source(destination: str) -> str:
    _, percent, domain = host_of(destination).partition("%")
    return f"{'::' if is_ipv6(destination) else '0.0.0.0'}{percent}{domain}/0"


def shown_source(store: Store, partition: str, text: str) -> str:
    """A source as it is read: with its length, and without the `%0` that f5-cccl writes.

    Raises: Refusal: no network.
    """
    host, _, bits = text.partition("/")
    try:
        address = addresses.parse(host)
        length = ipaddress.ip_network(f"{address.text}/{bits}" if bits else address.text, False).prefixlen
    except ValueError:
        raise refusals.invalid_value("source", text) from None
    return f"{addresses.shown(store, partition, host)}/{length}"
