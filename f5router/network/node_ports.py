"""Node ports: which Nodes are pool members, at which port of a Service.

A Service of type NodePort or LoadBalancer is reached at every Node, by kube-proxy or what stands for
it; with externalTrafficPolicy Local only where one of its pods is ready. Source: Kubernetes' core/v1
API, ServiceSpec.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product

from f5router.model.cluster import Key, Node, Service, ServicePort
from f5router.model.ltm import PoolMember
from f5router.network import node_addresses, pool_members
from f5router.network.diagnostics import Findings
from f5router.network.pool_members import Candidate, Choice, ServiceView

NOT_READY, UNSCHEDULABLE = "not-ready", "unschedulable"
STATES = (NOT_READY, UNSCHEDULABLE)

PUBLISHED = ("NodePort", "LoadBalancer")
"""Types of Services that have node ports."""


@dataclass(frozen=True, slots=True)
class NodePortConfig:
    """The settings of node ports."""

    selector: str = ""
    """Label selector of Nodes, which the API server applies; "" for all."""
    exclude: tuple[str, ...] = ()
    """Of STATES."""


def candidate(node: Node, setup: NodePortConfig) -> Candidate:
    """A Node that the selector chose."""
    states = {NOT_READY: not node.ready, UNSCHEDULABLE: node.unschedulable}
    wanted = not any(states[state] for state in setup.exclude)
    return Candidate(node_addresses.address(node, 4), node_addresses.address(node, 6), wanted)


def candidates(found: Mapping[Key, Node], setup: NodePortConfig | None) -> dict[str, Candidate]:
    """By name, of all Nodes; none without node ports."""
    return {key.name: candidate(node, setup) for key, node in found.items()} if setup else {}


def choose(port: str, view: ServiceView, most: int) -> Choice:
    """Choose Nodes, at the node ports of a Service port.

    Nodes that are excluded stay while there are no others: they may serve still, nothing certainly
    does not.

    Args:
        port: targetPort of the Route, number or name; "" for every port of the Service.
        most: so many members at most.
    """
    if view.service is None or view.service.type not in PUBLISHED:
        return Choice()
    found = _chosen(view.service, view)
    refused = view.refusals(address for address, _ in found)
    usable = [one for one in found if one[0] not in refused]
    addresses: Collection[str] = {address for address, wanted in usable if wanted} or {
        address for address, _ in usable}
    numbers = sorted({found.node_port for found in ports(port, view)} - {0})
    total = len(addresses) * len(numbers)
    if total > pool_members.MOST_READ:
        addresses = sorted(addresses, key=pool_members.digest)
    read = {PoolMember(*one) for one in islice(product(addresses, numbers), pool_members.MOST_READ)}
    return pool_members.limit(read, total - len(read), refused, most)


def ports(port: str, view: ServiceView) -> list[ServicePort]:
    """TCP ports of a published Service that a Route's targetPort means, with or without a node port.

    The same ports as with pods for members: by the name, or by the number that the pods' port has.
    """
    service = view.service
    if service is None or service.type not in PUBLISHED:
        return []
    return [found for found in service.ports if found.protocol == "TCP" and (
        port in ("", found.name) or port in _pod_ports(found, view))]


def _pod_ports(port: ServicePort, view: ServiceView) -> set[str]:
    """Numbers of the pods' ports behind a Service port: endpoints tell, where there are any."""
    found = {str(part_port.port) for part in view.slices for part_port in part.ports
             if part_port.name == port.name and part_port.protocol == port.protocol}
    return found or ({port.target_port} if port.target_port.isdigit() else set())


def _chosen(service: Service, view: ServiceView) -> list[tuple[str, bool]]:
    """Addresses of Nodes that accept the Service's connections, and whether they are wanted.

    Of the family of its cluster IP, which is that of its first node ports.
    """
    candidates: Iterable[Candidate | None] = view.candidates.values()
    if service.local and view.listed:
        candidates = map(view.candidates.get, places(view))
    version = 6 if ":" in service.cluster_ip else 4 if service.cluster_ip else 0
    return [(address, one.wanted) for one in candidates if one is not None
            and (address := _address(one, version))]


def _address(one: Candidate, version: int) -> str:
    """Of a family, 4 or 6; of the first that there is for 0."""
    return one.ipv4 if version == 4 else one.ipv6 if version == 6 else one.ipv4 or one.ipv6


def places(view: ServiceView) -> set[str]:
    """Names of Nodes with a ready pod of the Service; "" among them for pods of which no Node is told."""
    return set().union(*(part.nodes for part in view.slices))


def findings(candidates: Mapping[str, Candidate], setup: NodePortConfig | None) -> Findings:
    """What is wrong with the Nodes."""
    if setup is None:
        return Findings()
    lost = [name for name, one in sorted(candidates.items()) if not (one.ipv4 or one.ipv6)]
    warnings = tuple(f"Node {name}: no usable address of type InternalIP in status.addresses; it is no pool "
                     "member" for name in lost)
    if candidates:
        return Findings(warnings=warnings)
    chosen = f"has the labels of --node-label-selector {setup.selector}" if setup.selector else "is there"
    return Findings((f"no Node {chosen}: every pool is empty",))


def warnings(port: str, view: ServiceView) -> Iterator[str]:
    """Why a Route to a Service that exists has no members, or perhaps the wrong ones."""
    service = view.service
    if service is None:
        return
    name = service.key.name
    if service.type not in PUBLISHED:
        yield (f"spec.to.name: Service {name} is of type {service.type}; this router takes node ports "
               "(--pool-member-type), which only types NodePort and LoadBalancer have")
        return
    found = ports(port, view)
    if not found:
        yield f"spec.port.targetPort: Service {name} has no port {port}" if port else (
            f"spec.to.name: Service {name} has no TCP port")
    elif without := [str(one.port) for one in found if not one.node_port]:
        yield f"spec.to.name: port {', '.join(without)} of Service {name} has no nodePort"
    if view.listed and not places(view):
        yield f"spec.to.name: Service {name} has no ready endpoints"
    elif service.local and not view.listed:
        yield (f"spec.to.name: Service {name} has externalTrafficPolicy Local, and EndpointSlices may not be "
               "read: Nodes without a pod of it are members too")
