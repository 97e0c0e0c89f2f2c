"""Addresses of Nodes, as far as traffic may be sent to them."""

import ipaddress
from collections.abc import Iterable, Iterator

from f5router.model.cluster import Node


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
