"""From Nodes to static routes: one to each network of a Node's pods, by way of the Node.

For clusters whose pods are reached through their Nodes without a tunnel. A network belongs to one
Node: what overlaps an older Node's gets no route, so that no Node takes another's traffic. Sources:
the Node's spec in Kubernetes' core/v1 API; ovn-kubernetes go-controller/pkg/util/subnet_annotations.go
for the annotation.
"""

import ipaddress
import json
import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from f5router.model import names
from f5router.model.cluster import OVN_SUBNETS, Key, Node
from f5router.model.errors import BigIPError
from f5router.model.ltm import Object
from f5router.model.net import StaticRoute
from f5router.model.objects import Ref
from f5router.network import node_addresses
from f5router.network.diagnostics import Findings

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

SPECIAL = tuple(map(ipaddress.ip_network, (
    "0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::/8", "fe80::/10", "ff00::/8")))
"""Networks that no pod can have an address of (RFC 6890, RFC 4291)."""

NOT_CONNECTED = "01070330"
"""TMOS message number of "Static route gateway A is not directly connected via an interface"."""


class StaticRouteSettings(Protocol):
    """What is used of config.Config."""

    @property
    def folder(self) -> str: ...

    @property
    def static_routes(self) -> bool: ...


Span = tuple[int, int, int]
"""Family, first and last address of a network: sorts, and of disjoint networks both ends do."""


@dataclass(frozen=True, slots=True)
class NodeNetworks:
    """What one Node says of its pods' networks."""

    key: Key
    age: tuple[str, str]
    """Smaller is older."""
    wanted: tuple[tuple[Span, StaticRoute], ...] = ()
    """Each network once."""
    hosts: tuple[tuple[int, int], ...] = ()
    """Family and number of every address that the Node itself has; no pod's."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkAllocation:
    """Who gets which network."""

    routes: Mapping[Ref, Object]
    warnings: tuple[str, ...] = ()


def build(found: Iterable[Node], config: StaticRouteSettings) -> NetworkAllocation:
    """Everything from nothing but the Nodes, in any order."""
    if not config.static_routes:
        return NetworkAllocation({})
    return allocate(node_networks(node, config.folder) for node in found)


def node_networks(node: Node, folder: str) -> NodeNetworks:
    """A Node by itself, ready or not: its pods may still serve."""
    wanted: dict[Span, StaticRoute] = {}
    warnings = []
    try:
        texts = _networks(node)
    except ValueError as exc:
        texts, warnings = [], [f"Node {node.key.name}: {exc}; its pods are not reachable"]
    for text in texts:
        try:
            network = _network(text)
            path = names.pod_route(folder, str(network))
            wanted[_span(network)] = StaticRoute(path, str(network), _gateway(node, network))
        except ValueError as exc:
            warnings.append(f"Node {node.key.name}: pod CIDR {exc}")
    hosts = tuple((found.version, int(found)) for found in map(ipaddress.ip_address, node.internal_ips))
    return NodeNetworks(node.key, node.age, tuple(wanted.items()), hosts, tuple(warnings))


def allocate(nodes: Iterable[NodeNetworks]) -> NetworkAllocation:
    """Judge all Nodes together: the oldest keeps what others claim too."""
    ordered = sorted(nodes, key=lambda one: (one.age, one.key))
    hosts = sorted((*host, one.key.name) for one in ordered for host in one.hosts)
    held: list[tuple[Span, str, str]] = []
    routes: dict[Ref, Object] = {}
    warnings: list[str] = []
    for one in ordered:
        warnings += one.warnings
        for span, route in one.wanted:
            if conflict := _host_inside(span, hosts) or _overlap(span, held):
                warnings.append(f"Node {one.key.name}: pod CIDR {route.network} {conflict}; it gets no route")
                continue
            insort(held, (span, route.network, one.key.name))
            routes[route.ref] = route
    return NetworkAllocation(routes, tuple(warnings))


def refusals(errors: Mapping[Ref, BigIPError]) -> Findings:
    """What refused routes mean: a sentence for each message number, however many Nodes there are."""
    by_code: dict[str, list[Ref]] = {}
    for ref in sorted(errors):
        by_code.setdefault(errors[ref].code, []).append(ref)
    return Findings(tuple(_refused(refs, errors[refs[0]]) for _, refs in sorted(by_code.items())))


def _refused(refs: list[Ref], error: BigIPError) -> str:
    more = f", and {len(refs) - 1} more alike" if len(refs) > 1 else ""
    advice = ("; the BIG-IP needs a self IP in the Nodes' network, in the route domain of the partition"
              if error.code == NOT_CONNECTED else "")
    return f"{refs[0]}: {error.text}{more}; these Nodes' pods are not reachable{advice}"


# --- one Node ----------------------------------------------------------------------------


def _networks(node: Node) -> list[str]:
    """The annotation where there is one, else spec. Raises: ValueError: there is no network in either.

    Where OVN-Kubernetes gives out the networks itself, podCIDRs may hold others that it does not use.
    """
    if not node.ovn_subnets:
        if not node.pod_cidrs:
            raise ValueError(f"neither spec.podCIDRs nor annotation {OVN_SUBNETS} tells its pods' network")
        return list(node.pod_cidrs)
    shown = ascii(node.ovn_subnets)[:60]
    try:
        found = json.loads(node.ovn_subnets)["default"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ValueError(f"annotation {OVN_SUBNETS} is no JSON object with \"default\": {shown}") from None
    texts = [found] if isinstance(found, str) else found
    if not texts or not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"annotation {OVN_SUBNETS}: \"default\" is neither a network nor several: {shown}")
    return texts


def _network(text: str) -> Network:
    """A network that pods can have, its host bits cleared. Raises: ValueError."""
    shown = ascii(text)[:60]
    try:
        found = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"{shown} is not a network; it gets no route") from None
    if "/" not in text:
        raise ValueError(f"{shown} is not a network but an address; it gets no route")
    if found.prefixlen == 0:
        raise ValueError(f"{shown} would be the default route; it gets no route")
    if any(found.version == special.version and found.overlaps(special) for special in SPECIAL):
        raise ValueError(f"{shown} holds addresses that no pod can have; it gets no route")
    return found


def _gateway(node: Node, network: Network) -> str:
    found = node_addresses.address(node, network.version)
    if not found:
        listed = ", ".join(node.internal_ips) or "none"
        raise ValueError(f"{network}: the Node has no usable IPv{network.version} address of type InternalIP "
                         f"in status.addresses ({listed}); it gets no route")
    return found


# --- all Nodes ---------------------------------------------------------------------------


def _span(network: Network) -> Span:
    return network.version, int(network.network_address), int(network.broadcast_address)


def _host_inside(span: Span, hosts: list[tuple[int, int, str]]) -> str:
    """Which Node's own address a network would take away."""
    version, first, last = span
    at = bisect_left(hosts, (version, first))
    if at < len(hosts) and hosts[at][:2] <= (version, last):
        _, number, holder = hosts[at]
        address = (ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address)(number)
        return f"holds the address {address} of Node {holder}"
    return ""


def _overlap(span: Span, held: list[tuple[Span, str, str]]) -> str:
    """Which of the networks that are taken, all disjoint, it overlaps."""
    version, first, last = span
    at = bisect_right(held, ((version, last, math.inf),))
    # Of IPv4, the last one before all of IPv6 ends below every network of IPv6 that is not special.
    if at and held[at - 1][0][2] >= first:
        _, other, holder = held[at - 1]
        return f"overlaps {other} of Node {holder}"
    return ""
