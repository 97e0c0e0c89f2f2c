"""Static routes to pods: one to each pod network of a Node, via the Node.

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


Span = tuple[int, int, int]
"""Family, first and last address of a network: sorts, and of disjoint networks both ends do."""


@dataclass(frozen=True, slots=True)
class NodeNetworks:
    """Pod networks that one Node asks for."""

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
    """Routes to pod networks, each of which belongs to one Node."""

    routes: Mapping[Ref, Object]
    warnings: tuple[str, ...] = ()


def node_networks(node: Node, folder: str) -> NodeNetworks:
    """Read the pod networks of a Node, ready or not: its pods may still serve."""
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
    hosts = tuple((address.version, int(address)) for address in map(ipaddress.ip_address, node.internal_ips))
    return NodeNetworks(node.key, node.age, tuple(wanted.items()), hosts, tuple(warnings))


def allocate(nodes: Iterable[NodeNetworks]) -> NetworkAllocation:
    """Allocate networks to Nodes, in any order: the oldest keeps a network that others claim too."""
    ordered = sorted(nodes, key=lambda node: (node.age, node.key))
    hosts = sorted((*host, node.key.name) for node in ordered for host in node.hosts)
    held: list[tuple[Span, str, str]] = []
    routes: dict[Ref, Object] = {}
    warnings: list[str] = []
    for node in ordered:
        warnings += node.warnings
        for span, route in node.wanted:
            if conflict := _host_inside(span, hosts) or _overlap(span, held):
                warnings.append(
                    f"Node {node.key.name}: pod CIDR {route.network} {conflict}; it gets no route")
                continue
            insort(held, (span, route.network, node.key.name))
            routes[route.ref] = route
    return NetworkAllocation(routes, tuple(warnings))


def refusals(errors: Mapping[Ref, BigIPError]) -> Findings:
    """Explain refused routes: one sentence for each message number, however many Nodes there are."""
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
    """Read networks from the annotation, else from spec. Raises: ValueError: neither has a network.

    Where OVN-Kubernetes gives out the networks itself, podCIDRs may hold others that it does not use.
    """
    if not node.ovn_subnets:
        if not node.pod_cidrs:
            raise ValueError(f"neither spec.podCIDRs nor annotation {OVN_SUBNETS} has its pods' network")
        return list(node.pod_cidrs)
    shown = ascii(node.ovn_subnets)[:60]
    try:
        value = json.loads(node.ovn_subnets)["default"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ValueError(f"annotation {OVN_SUBNETS} is no JSON object with \"default\": {shown}") from None
    texts = [value] if isinstance(value, str) else value
    if not texts or not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError(f"annotation {OVN_SUBNETS}: \"default\" is neither a network nor several: {shown}")
    return texts


def _network(text: str) -> Network:
    """Parse a network that pods can have; host bits are cleared. Raises: ValueError."""
    shown = ascii(text)[:60]
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise ValueError(f"{shown} is not a network; it gets no route") from None
    if "/" not in text:
        raise ValueError(f"{shown} is not a network but an address; it gets no route")
    if network.prefixlen == 0:
        raise ValueError(f"{shown} would be the default route; it gets no route")
    if any(network.version == special.version and network.overlaps(special) for special in SPECIAL):
        raise ValueError(f"{shown} holds addresses that no pod can have; it gets no route")
    return network


def _gateway(node: Node, network: Network) -> str:
    gateway = node_addresses.address(node, network.version)
    if not gateway:
        listed = ", ".join(node.internal_ips) or "none"
        raise ValueError(f"{network}: the Node has no usable IPv{network.version} address of type InternalIP "
                         f"in status.addresses ({listed}); it gets no route")
    return gateway


# --- all Nodes ---------------------------------------------------------------------------


def _span(network: Network) -> Span:
    return network.version, int(network.network_address), int(network.broadcast_address)


def _host_inside(span: Span, hosts: list[tuple[int, int, str]]) -> str:
    """Return the conflict with a Node's own address inside the network; "" for none."""
    version, first, last = span
    at = bisect_left(hosts, (version, first))
    if at < len(hosts) and hosts[at][:2] <= (version, last):
        _, number, holder = hosts[at]
        address = (ipaddress.IPv4Address if version == 4 else ipaddress.IPv6Address)(number)
        return f"holds the address {address} of Node {holder}"
    return ""


def _overlap(span: Span, held: list[tuple[Span, str, str]]) -> str:
    """Return the conflict with one of the networks that are taken, all disjoint; "" for none."""
    version, first, last = span
    at = bisect_right(held, ((version, last, math.inf),))
    # IPv4 sorts before IPv6: its last network ends below every network of IPv6 that is not special.
    if at and held[at - 1][0][2] >= first:
        _, other, holder = held[at - 1]
        return f"overlaps {other} of Node {holder}"
    return ""
