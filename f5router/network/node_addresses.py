"""Addresses of Nodes, as far as traffic may be sent to them."""

import ipaddress
from collections.abc import Iterable, Iterator

from f5router.model.cluster import Node


def address(node: Node, version: int) -> str:
    """The Node's first usable InternalIP of a family, 4 or 6; "" where it has none.

    Other types of addresses, whatever their order, are not meant for traffic inside the cluster.
    """
    return next(usable(node.internal_ips, version), "")


def usable(texts: Iterable[str], version: int) -> Iterator[str]:
    """Those of a family that a host can have, in their order and in canonical form."""
    for text in texts:
        try:
            found = ipaddress.ip_address(text)
        except ValueError:
            continue
        if found.version == version and not (
                found.is_unspecified or found.is_loopback or found.is_link_local or found.is_multicast):
            yield str(found)
