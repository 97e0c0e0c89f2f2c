"""Pods to which the ways of the BIG-IP do not lead: outside of every Node's network, or on another Node.

A static route, or the subnet of openshift-sdn's host, sends packets for an address to one Node. The
EndpointSlice says on which Node the pod is (discovery/v1, Endpoint.nodeName).
"""

import ipaddress
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from f5router.model.cluster import Node

Span = tuple[int, int, int, str]
"""Family, first and last address of a network, and the Node to which packets go."""

SHOWN = 3
"""Pods that a message names."""


@dataclass(frozen=True, slots=True)
class PodLocator:
    """Finds the Node to which packets for an address go."""

    spans: tuple[Span, ...] = ()
    """Sorted, without overlaps; empty if no way is known."""
    of_nodes: frozenset[str] = frozenset()
    """Addresses of Nodes: pods with one of them are reached without a way of ours."""

    def problem(self, address: str, node: str) -> str:
        """Return why the pod with an address is not reached; "" if it is, or nothing is known.

        Args: node: on which it is; "" if that is not known.
        """
        if not self.spans or address in self.of_nodes:
            return ""
        target = self._node_of(address)
        if not target:
            return f"{address} is in no Node's network"
        if node in ("", target):
            return ""
        return f"{address} is on Node {node}, its way leads to Node {target}"

    def _node_of(self, text: str) -> str:
        address = ipaddress.ip_address(text)
        version, number = address.version, int(address)
        at = bisect_right(self.spans, (version, number, 1 << 129, ""))
        if at == 0:
            return ""
        family, _, last, node = self.spans[at - 1]
        return node if family == version and number <= last else ""


def locator(ways: Iterable[tuple[str, str]], nodes: Iterable[Node]) -> PodLocator:
    """Build a PodLocator. Args: ways: networks, each with the name of the Node to which its packets go."""
    return PodLocator(tuple(sorted(_spans(ways))), frozenset(
        address for node in nodes for address in (*node.internal_ips, *node.other_ips)))


def _spans(ways: Iterable[tuple[str, str]]) -> Iterator[Span]:
    for text, node in ways:
        try:
            network = ipaddress.ip_network(text, strict=False)
        except ValueError:
            continue
        yield network.version, int(network.network_address), int(network.broadcast_address), node


def shown(problems: Iterable[str]) -> str:
    """Return some problems of pods in words, and the number of the others."""
    texts = sorted(problems)
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return f"{'; '.join(texts[:SHOWN])}{more}"
