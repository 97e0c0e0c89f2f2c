"""Node ports: which Nodes are pool members, at which port of a Service.

A Service of type NodePort or LoadBalancer is reached at every Node, by kube-proxy or what stands for
it; with externalTrafficPolicy Local only where one of its pods is ready. Source: Kubernetes' core/v1
API, ServiceSpec.
"""

import ipaddress
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, product

from f5router.model.cluster import Key, Node, Service, ServicePort
from f5router.model.ltm import PoolMember
from f5router.model.texts import NO_ENDPOINTS, NO_NODE_PORT, PORT_NOT_FOUND, WARNING, Findings, Problem
from f5router.network import lacking_pods, pool_members
from f5router.network.pool_members import Candidate, Choice, ServiceEndpoints

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

Networks = Mapping[int, Collection[Network]]
"""Networks by family, 4 or 6. A family that is missing is not restricted; an empty one has no network."""


def parse_networks(text: str) -> tuple[str, ...]:
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


def near_networks(chosen: Iterable[str], of_device: Iterable[str] | None) -> Networks:
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
    """Return the Node's first address in one of the networks, InternalIPs first; "" for none."""
    if version not in networks:
        return node_address(node, version)
    addresses = usable_addresses((*node.internal_ips, *node.other_ips), version)
    return next((text for text in addresses if any(
        ipaddress.ip_address(text) in network for network in networks[version])), "")


def node_address(node: Node, version: int) -> str:
    """Return the Node's first usable InternalIP of a family, 4 or 6; "" for none.

    Other types of addresses, whatever their order, are not meant for traffic inside the cluster.
    """
    return next(usable_addresses(node.internal_ips, version), "")


def usable_addresses(texts: Iterable[str], version: int) -> Iterator[str]:
    """Yield the addresses of a family that a host can have, in their order and in canonical form."""
    for text in texts:
        try:
            parsed = ipaddress.ip_address(text)
        except ValueError:
            continue
        if parsed.version == version and not (
                parsed.is_unspecified or parsed.is_loopback or parsed.is_link_local or parsed.is_multicast):
            yield str(parsed)


NOT_READY, UNSCHEDULABLE = "not-ready", "unschedulable"
STATES = (NOT_READY, UNSCHEDULABLE)

UNPUBLISHED = "--pool-member-type=nodeport, and no Service of theirs has a node port"
UNSELECTED = "--pool-member-type=nodeport, and no Node is a member"
"""Reasons why pools have no member although there are pods."""

PUBLISHED = ("NodePort", "LoadBalancer")
"""Types of Services that have node ports."""


@dataclass(frozen=True, slots=True)
class NodePortConfig:
    """Settings of node ports."""

    selector: str = ""
    """Label selector of Nodes, which the API server applies; "" for all."""
    exclude: tuple[str, ...] = ()
    """States of STATES in which a Node is no pool member."""


def candidate(node: Node, config: NodePortConfig) -> Candidate:
    """Build the candidate of a Node that the selector matches."""
    states = {NOT_READY: not node.ready, UNSCHEDULABLE: node.unschedulable}
    wanted = not any(states[state] for state in config.exclude)
    return Candidate(node_address(node, 4), node_address(node, 6), wanted)


def candidates(nodes: Mapping[Key, Node], config: NodePortConfig | None) -> dict[str, Candidate]:
    """Build the candidates of all Nodes, by name; none without node ports."""
    return {key.name: candidate(node, config) for key, node in nodes.items()} if config else {}


def choose(port: str, view: ServiceEndpoints, most: int) -> Choice:
    """Choose Nodes, at the node ports of a Service port.

    Nodes that are excluded stay while there are no others: they may serve still, nothing certainly
    does not.

    Args:
        port: targetPort of the Route, number or name; "" for every port of the Service.
        most: so many members at most.
    """
    if view.service is None or view.service.type not in PUBLISHED:
        return Choice()
    nodes = _chosen(view.service, view)
    refused = view.refusals((address for address, _ in nodes), of_nodes=True)
    usable = [(address, wanted) for address, wanted in nodes if address not in refused]
    addresses: Collection[str] = {address for address, wanted in usable if wanted} or {
        address for address, _ in usable}
    numbers = sorted({service_port.node_port for service_port in ports(port, view)} - {0})
    total = len(addresses) * len(numbers)
    if total > pool_members.MOST_READ:
        addresses = sorted(addresses, key=pool_members.digest)
    read = {PoolMember(*pair) for pair in islice(product(addresses, numbers), pool_members.MOST_READ)}
    return pool_members.limit(read, total - len(read), refused, most)


def ports(port: str, view: ServiceEndpoints) -> list[ServicePort]:
    """Return the TCP ports of a Service that a Route's targetPort selects, with or without a node port.

    The same ports as with pods for members: by the name, or by the number that the pods' port has.
    """
    service = view.service
    if service is None or service.type not in PUBLISHED:
        return []
    return [service_port for service_port in service.ports if service_port.protocol == "TCP" and (
        port in ("", service_port.name) or port in _pod_ports(service_port, view))]


def _pod_ports(port: ServicePort, view: ServiceEndpoints) -> set[str]:
    """Return numbers of the pods' ports behind a Service port, from endpoints where there are any."""
    numbers = {str(pod_port.port) for slice_ in view.slices for pod_port in slice_.ports
               if pod_port.name == port.name and pod_port.protocol == port.protocol}
    return numbers or ({port.target_port} if port.target_port.isdigit() else set())


def _chosen(service: Service, view: ServiceEndpoints) -> list[tuple[str, bool]]:
    """Return addresses of Nodes that accept the Service's connections, and whether they are wanted.

    Their family is that of the cluster IP, as for the first node ports.
    """
    candidates: Iterable[Candidate | None] = view.candidates.values()
    if service.local and view.listed:
        candidates = map(view.candidates.get, places(view))
    version = 6 if ":" in service.cluster_ip else 4 if service.cluster_ip else 0
    return [(address, node.wanted) for node in candidates if node is not None
            and (address := _address(node, version))]


def _address(node: Candidate, version: int) -> str:
    """Return the address of a family, 4 or 6; 0 takes the first that exists."""
    return node.ipv4 if version == 4 else node.ipv6 if version == 6 else node.ipv4 or node.ipv6


def places(view: ServiceEndpoints) -> set[str]:
    """Return names of Nodes with a ready pod of the Service; "" stands for pods without a known Node."""
    return set().union(*(slice_.nodes for slice_ in view.slices))


def findings(candidates: Mapping[str, Candidate], config: NodePortConfig | None) -> Findings:
    """Return problems of the Nodes."""
    if config is None:
        return Findings()
    lost = [name for name, node in sorted(candidates.items()) if not (node.ipv4 or node.ipv6)]
    warnings = tuple(f"Node {name}: no usable address of type InternalIP in status.addresses; it is no pool "
                     "member" for name in lost)
    if candidates:
        return Findings(warnings=warnings)
    chosen = f"has the labels of --node-label-selector {config.selector}" if config.selector else "is there"
    return Findings((f"no Node {chosen}: every pool is empty",))


def warnings(field: str, port: str, view: ServiceEndpoints) -> Iterator[Problem]:
    """Yield why a Route to an existing Service has no members, or perhaps the wrong ones.

    Args: field: the one that names the Service.
    """
    service = view.service
    if service is None:
        return
    name = service.key.name
    if service.type not in PUBLISHED:
        yield Problem(NO_NODE_PORT, (
            f"{field}: Service {name} is of type {service.type}; this router takes node ports "
            "(--pool-member-type), which only types NodePort and LoadBalancer have"))
        return
    selected = ports(port, view)
    if not selected:
        text = lacking_pods.port_problem(port, replace(view, slices=()))
        yield Problem(PORT_NOT_FOUND, f"{lacking_pods.PORT_FIELD if port else field}: {text}")
    elif without := [str(service_port.port) for service_port in selected if not service_port.node_port]:
        yield Problem(NO_NODE_PORT, f"{field}: port {', '.join(without)} of Service {name} has no nodePort")
    if view.listed and not places(view):
        yield Problem(NO_ENDPOINTS, f"{field}: {lacking_pods.no_pods(name, view)}")
    elif service.local and not view.listed:
        yield Problem(WARNING, (
            f"{field}: Service {name} has externalTrafficPolicy Local, and EndpointSlices may not be read: "
            "Nodes without a pod of it are members too"))
