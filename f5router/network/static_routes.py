"""Static routes to pods: one to each pod network of a Node, via the Node; and pods to which no way leads.

For clusters whose pods are reached through their Nodes without a tunnel. A network belongs to one
Node: what overlaps an older Node's gets no route, so that no Node takes another's traffic. Sources:
the Node's spec in Kubernetes' core/v1 API; ovn-kubernetes go-controller/pkg/util/subnet_annotations.go
for the annotation.

A static route, or the subnet of openshift-sdn's host, sends packets for an address to one Node. The
EndpointSlice says on which Node the pod is (discovery/v1, Endpoint.nodeName).
"""

import ipaddress
import json
import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, field

from f5router.model import names
from f5router.model.cluster import OVN_SUBNETS, Key, Node
from f5router.model.errors import BigIPError
from f5router.model.ltm import Object
from f5router.model.net import StaticRoute
from f5router.model.objects import Ref
from f5router.model.texts import Findings
from f5router.network import node_ports
from f5router.network.node_ports import Network, Networks

NETWORKS = "--static-route-node-networks"

SPECIAL = tuple(map(ipaddress.ip_network, (
    "0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/3", "::/8", "fe80::/10", "ff00::/8")))
"""Networks that no pod can have an address of (RFC 6890, RFC 4291)."""

SHOWN = 5
"""Networks that a message names."""

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
    """Each network once; the gateway is "" if no address of the Node is near the BIG-IP."""
    addresses: tuple[str, ...] = ()
    """All usable addresses of the Node."""
    hosts: tuple[tuple[int, int], ...] = ()
    """Family and number of every address that the Node itself has; no pod's."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NetworkAllocation:
    """Routes to pod networks, each of which belongs to one Node."""

    routes: Mapping[Ref, Object]
    warnings: tuple[str, ...] = ()
    without_gateway: Mapping[Ref, tuple[StaticRoute, NodeNetworks]] = field(default_factory=dict)
    """Routes that are not made, as no address of their Node is near the BIG-IP."""

    def may_stay(self, route: StaticRoute) -> bool:
        """True for a route that this router would not make, and that leads to an address of its Node.

        The device has accepted it, so it may lead packets to the pods.
        """
        _, node = self.without_gateway.get(route.ref, (None, None))
        return node is not None and route.gateway in node.addresses

    def problem(self, node: NodeNetworks) -> str:
        """Return why a network of a Node's pods has no route; "" if each has one."""
        lacking = (route.network for _, route in node.wanted if route.ref in self.without_gateway
                   and self.without_gateway[route.ref][1].key == node.key)
        if network := next(lacking, ""):
            return (f"no route to {network}: none of its addresses ({', '.join(node.addresses)}) is in a "
                    f"network of the BIG-IP, or in {NETWORKS}")
        return next(iter(node.warnings), "")


def node_networks(node: Node, folder: str, near: Networks, of_plugin: Sequence[str] = ()) -> NodeNetworks:
    """Read the pod networks of a Node, ready or not: its pods may still serve.

    Args:
        near: networks in which the BIG-IP reaches Nodes without another router.
        of_plugin: networks that Calico or Cilium gave to the Node; they do not use podCIDRs then.
    """
    wanted: dict[Span, StaticRoute] = {}
    warnings = []
    try:
        texts = _networks(node, of_plugin)
    except ValueError as exc:
        texts, warnings = [], [f"Node {node.key.name}: {exc}; its pods are not reachable"]
    for text in texts:
        try:
            network = _network(text)
            path = names.pod_route(folder, str(network))
            wanted[_span(network)] = StaticRoute(
                path, str(network), _gateway(node, network, near), node.key.name)
        except ValueError as exc:
            warnings.append(f"Node {node.key.name}: pod CIDR {exc}")
    hosts = tuple((address.version, int(address)) for address in map(ipaddress.ip_address, node.internal_ips))
    addresses = tuple(text for version in (4, 6) for text in node_ports.usable_addresses(
        (*node.internal_ips, *node.other_ips), version))
    return NodeNetworks(node.key, node.age, tuple(wanted.items()), addresses, hosts, tuple(warnings))


def allocate(nodes: Iterable[NodeNetworks]) -> NetworkAllocation:
    """Allocate networks to Nodes, in any order: the oldest keeps a network that others claim too."""
    ordered = sorted(nodes, key=lambda node: (node.age, node.key))
    hosts = sorted((*host, node.key.name) for node in ordered for host in node.hosts)
    held: list[tuple[Span, str, str]] = []
    routes: dict[Ref, Object] = {}
    warnings: list[str] = []
    without: dict[Ref, tuple[StaticRoute, NodeNetworks]] = {}
    for node in ordered:
        warnings += node.warnings
        for span, route in node.wanted:
            if conflict := _host_inside(span, hosts) or _overlap(span, held):
                warnings.append(
                    f"Node {node.key.name}: pod CIDR {route.network} {conflict}; it gets no route")
                continue
            insort(held, (span, route.network, node.key.name))
            if route.gateway:
                routes[route.ref] = route
            else:
                without[route.ref] = route, node
    return NetworkAllocation(routes, tuple(warnings), without)


def findings(allocation: NetworkAllocation, chosen: Sequence[str],
             of_device: Collection[str] | None) -> Findings:
    """Report pod networks without a route, or with a refused route: one sentence per family.

    A BIG-IP without a self IP of a family that has the other one serves by that: this is a warning.

    Args: chosen, of_device: see `node_ports.near_networks`.
    """
    near, connected = node_ports.near_networks(chosen, of_device), node_ports.near_networks((), of_device)
    problems, warnings = [], list(allocation.warnings)
    for version in (4, 6):
        if far := [route for route in allocation.routes.values() if isinstance(route, StaticRoute)
                   and _is_of(route, version) and not _is_in(route.gateway, connected.get(version))]:
            problems.append(
                f"Node {far[0].node}: its address {far[0].gateway}, chosen by {NETWORKS}, lies in no network "
                f"of a self IP of the BIG-IP, which refuses such a gateway: {_no_route(far[0], far)}")
        lacking = [(route, node) for route, node in allocation.without_gateway.values()
                   if _is_of(route, version)]
        if not lacking:
            continue
        route, node = lacking[0]
        if networks := near.get(version):
            where = "a network of a self IP of the BIG-IP" if networks == connected.get(version) else NETWORKS
            problems.append(f"Node {node.key.name}: none of its addresses ({', '.join(node.addresses)}) lies "
                            f"in {where} ({_shown(networks)}): {_no_route(route, lacking)}")
        else:
            (warnings if near.get(10 - version) else problems).append(
                f"the BIG-IP has no self IP of IPv{version} in the route domain of the partition: "
                f"{_no_route(route, lacking)}, the first of Node {node.key.name}")
    return Findings(tuple(problems), tuple(warnings))


def _is_in(address: str, networks: Collection[Network] | None) -> bool:
    """True if a network holds an address, or none is known."""
    return networks is None or any(ipaddress.ip_address(address) in network for network in networks)


def _is_of(route: StaticRoute, version: int) -> bool:
    return (":" in route.network) == (version == 6)


def _no_route(route: StaticRoute, alike: Sized) -> str:
    count = len(alike) - 1
    more = f" and {count} more network{'' if count == 1 else 's'}" if count else ""
    return f"no route to pod CIDR {route.network}{more}, whose pods are not reachable"


def _shown(networks: Iterable[Network]) -> str:
    texts = sorted(map(str, networks))
    more = f" and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return ", ".join(texts[:SHOWN]) + more


def refusals(errors: Mapping[Ref, BigIPError], objects: Mapping[Ref, Object]) -> Findings:
    """Explain refused routes: one sentence for each message number, however many Nodes there are.

    Args: objects: the desired ones.
    """
    by_code: dict[str, list[Ref]] = {}
    for ref in sorted(errors):
        by_code.setdefault(errors[ref].code, []).append(ref)
    return Findings(tuple(_refused(refs, errors[refs[0]], objects) for _, refs in sorted(by_code.items())))


def _refused(refs: list[Ref], error: BigIPError, objects: Mapping[Ref, Object]) -> str:
    route = objects.get(refs[0])
    node = f"Node {route.node}: " if isinstance(route, StaticRoute) and route.node else ""
    more = f", and {len(refs) - 1} more alike" if len(refs) > 1 else ""
    advice = ("; the BIG-IP needs a self IP in the Nodes' network, in the route domain of the partition"
              if error.code == NOT_CONNECTED else "")
    return f"{node}{refs[0]}: {error.text}{more}; these Nodes' pods are not reachable{advice}"


# --- one Node ----------------------------------------------------------------------------


def _networks(node: Node, of_plugin: Sequence[str]) -> list[str]:
    """Read networks from the annotation, else from spec. Raises: ValueError: nothing has a network.

    Where OVN-Kubernetes gives out the networks itself, podCIDRs may hold others that it does not use.
    """
    if not node.ovn_subnets:
        if of_plugin:
            return list(of_plugin)
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


def _gateway(node: Node, network: Network, near: Networks) -> str:
    """Return the Node's address near the BIG-IP, "" if it has none there. Raises: ValueError: it has none."""
    gateway = node_ports.near_address(node, network.version, near)
    if not gateway and not node_ports.node_address(node, network.version):
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
    """Return the conflict with one of the used networks, all disjoint; "" for none."""
    version, first, last = span
    at = bisect_right(held, ((version, last, math.inf),))
    # IPv4 sorts before IPv6: its last network ends below every network of IPv6 that is not special.
    if at and held[at - 1][0][2] >= first:
        _, other, holder = held[at - 1]
        return f"overlaps {other} of Node {holder}"
    return ""


WaySpan = tuple[int, int, int, str]
"""Family, first and last address of a network, and the Node to which packets go."""

PODS_SHOWN = 3
"""Pods that a message names."""


@dataclass(frozen=True, slots=True)
class PodLocator:
    """Finds the Node to which packets for an address go."""

    spans: tuple[WaySpan, ...] = ()
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


def _spans(ways: Iterable[tuple[str, str]]) -> Iterator[WaySpan]:
    for text, node in ways:
        try:
            network = ipaddress.ip_network(text, strict=False)
        except ValueError:
            continue
        yield network.version, int(network.network_address), int(network.broadcast_address), node


def shown_pods(problems: Iterable[str]) -> str:
    """Return some problems of pods in words, and the number of the others."""
    texts = sorted(problems)
    more = f" and {len(texts) - PODS_SHOWN} more" if len(texts) > PODS_SHOWN else ""
    return f"{'; '.join(texts[:PODS_SHOWN])}{more}"
