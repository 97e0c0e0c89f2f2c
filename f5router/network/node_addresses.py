"""Addresses of Nodes, as far as traffic may be sent to them."""

import ipaddress
from collections.abc import Collection, Iterable, Iterator, Mapping

from f5router.model.cluster import Node

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

Networks = Mapping[int, Collection[Network]]
"""Networks by family, 4 or 6. A family that is missing is not restricted; an empty one has no network."""


def networks(text: str) -> tuple[str, ...]:
    """Parse networks separated by commas to canonical CIDRs. Raises: ValueError: one is no network."""
    parsed = []
    for word in filter(None, map(str.strip, text.split(","))):
        try:
            network = ipaddress.ip_network(word)
        except ValueError:
            raise ValueError(f"{word!r} is not a network, as 192.0.2.0/24 or 2001:db8::/64 is") from None
        if "/" not in word:
            raise ValueError(f"{word!r} has no prefix length; {network} is this address alone")
        parsed.append(str(network))
    return tuple(dict.fromkeys(parsed))


def near(chosen: Iterable[str], of_device: Iterable[str] | None) -> Networks:
    """Return the networks in which a Node has the address at which it gets packets from the BIG-IP.

    Args:
        chosen: CIDRs that the administrator named; they decide for their family.
        of_device: CIDRs of the device's self IPs, for the other families; None if they are not known.
    """
    known = None if of_device is None else [ipaddress.ip_network(text) for text in of_device]
    named = [ipaddress.ip_network(text) for text in chosen]
    result: dict[int, Collection[Network]] = {}
    for version in (4, 6):
        of_version = [network for network in named if network.version == version]
        if of_version or known is not None:
            result[version] = frozenset(of_version or (
                network for network in known or () if network.version == version))
    return result


def near_address(node: Node, version: int, networks: Networks) -> str:
    """Return the Node's first address in one of these networks, its InternalIPs first; "" for none."""
    if version not in networks:
        return address(node, version)
    addresses = usable((*node.internal_ips, *node.other_ips), version)
    return next((text for text in addresses if any(
        ipaddress.ip_address(text) in network for network in networks[version])), "")


def address(node: Node, version: int) -> str:
    """Return the Node's first usable InternalIP of a family, 4 or 6; "" for none.

    Other types of addresses, whatever their order, are not meant for traffic inside the cluster.
    """
    return next(usable(node.internal_ips, version), "")


def usable(texts: Iterable[str], version: int) -> Iterator[str]:
    """Yield the addresses of a family that a host can have, in their order and in canonical form."""
    for text in texts:
        try:
            parsed = ipaddress.ip_address(text)
        except ValueError:
            continue
        if parsed.version == version and not (
                parsed.is_unspecified or parsed.is_loopback or parsed.is_link_local or parsed.is_multicast):
            yield str(parsed)
