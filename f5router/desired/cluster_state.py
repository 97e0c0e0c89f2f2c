"""The cluster as it was applied so far, except its Routes, with the look-ups that Desired needs."""

from collections.abc import Iterable, Mapping
from typing import TypeVar

from f5router.model import small
from f5router.model.cluster import (
    ClusterNetwork,
    EndpointSlice,
    HostSubnet,
    Key,
    Node,
    PodNetworks,
    Route,
    Secret,
    Service,
)
from f5router.model.delta import Delta
from f5router.model.device_facts import Doubt
from f5router.network import node_ports
from f5router.network.node_ports import NodePortConfig
from f5router.network.pool_members import Candidate, ServiceEndpoints
from f5router.network.static_routes import PodLocator

V = TypeVar("V")


class ClusterState:
    """Takes the parts of a Delta; others only read its attributes."""

    def __init__(self, nodeport: NodePortConfig | None):
        """Args: nodeport: None if pods, not Nodes, are the pool members."""
        self._nodeport = nodeport
        self.services: dict[Key, Service] = {}
        self.slices: dict[Key, Mapping[Key, EndpointSlice]] = {}
        """By the key of the Service, then by the key of the slice; see `small.put`."""
        self.slices_listed = False
        """True if all slices are known; where Nodes are pool members, they may be forbidden."""
        self.nodes: dict[Key, Node] = {}
        self.nodes_listed = False
        """True if every Node is known: before that, no FDB record or static route is one too many."""
        self.sources_unread: frozenset[str] = frozenset()
        """Kinds of objects that stand for Routes and are not known."""
        self.undecided: frozenset[tuple[str, Key]] = frozenset()
        """See Delta.undecided."""
        self.candidates: dict[str, Candidate] = {}
        """Nodes that may be pool members, by name."""
        self.host_subnets: dict[Key, HostSubnet] = {}
        self.networks: dict[Key, ClusterNetwork] = {}
        self.networks_unread = False
        """True if pods may have networks that are not known: routes to their Nodes may be right."""
        self.block_affinities: dict[Key, PodNetworks] = {}
        self.cilium_nodes: dict[Key, PodNetworks] = {}
        self._pod_networks: dict[str, dict[tuple[str, Key], PodNetworks]] = {}
        """Both by Node, and there by kind and key."""
        self.secrets: dict[Key, Secret] = {}
        self._service_of: dict[Key, Key] = {}
        self._addresses: dict[str, frozenset[str]] = {}
        """Results of `addresses`, by namespace."""
        self._secret_users: dict[Key, dict[Key, Route]] = {}
        """By Secret, also by one that does not exist: the Routes that name it."""
        self._secrets_of: dict[Key, tuple[Key, ...]] = {}

    # --- inputs --------------------------------------------------------------------------

    def put_nodes(self, delta: Delta) -> bool:
        """Update Nodes and their networks; returns True if the members of every pool may have changed."""
        newly_listed = delta.slices_listed and not self.slices_listed
        self.nodes_listed = self.nodes_listed or delta.nodes_listed
        self.sources_unread, self.undecided = delta.sources_unread, delta.undecided
        self.slices_listed = self.slices_listed or delta.slices_listed
        _update(self.nodes, delta.nodes)
        _update(self.host_subnets, delta.host_subnets)
        _update(self.networks, delta.cluster_networks)
        self.networks_unread = delta.networks_unread
        return self._nodeport is not None and (
            self._put_candidates(delta.nodes, self._nodeport) or newly_listed)

    def put_pod_networks(self, delta: Delta) -> set[Key]:
        """Update networks of pods; returns the Nodes to which they belong or belonged."""
        nodes = set()
        for kind, known, changes in (("calico", self.block_affinities, delta.block_affinities),
                                     ("cilium", self.cilium_nodes, delta.cilium_nodes)):
            for key, new in changes.items():
                old = known.pop(key, None)
                if old is not None:
                    nodes.add(Key("", old.node))
                    del self._pod_networks[old.node][kind, key]
                if new is not None:
                    nodes.add(Key("", new.node))
                    known[key] = new
                    self._pod_networks.setdefault(new.node, {})[kind, key] = new
        return nodes

    def pod_networks(self, node: str) -> tuple[str, ...]:
        """Return the pod networks of a Node by its network plug-in: Calico, else Cilium."""
        known = sorted(self._pod_networks.get(node, {}).items())
        kinds = {kind for (kind, _), _ in known}
        chosen = [each for (kind, _), each in known if kind == min(kinds)]
        return tuple(dict.fromkeys(text for each in chosen for text in each.networks))

    def _put_candidates(self, changed: Iterable[Key], nodeport: NodePortConfig) -> bool:
        """Follow Nodes that may be pool members; returns True if any of them differs."""
        differs = False
        for key in changed:
            node, old = self.nodes.get(key), self.candidates.pop(key.name, None)
            new = node_ports.candidate(node, nodeport) if node else None
            if new is not None:
                self.candidates[key.name] = new
            differs = differs or new != old
        return differs

    def put_services(self, delta: Delta) -> None:
        """Update Services and Secrets."""
        _update(self.services, delta.services)
        _update(self.secrets, delta.secrets)

    def put_slices(self, delta: Delta) -> set[Key]:
        """Update endpoints; returns the Services to which they belong or belonged."""
        return set().union(*(self._put_slice(key, new) for key, new in delta.slices.items()))

    def _put_slice(self, key: Key, new: EndpointSlice | None) -> set[Key]:
        services = set()
        self._addresses.pop(key.namespace, None)
        old = self._service_of.pop(key, None)
        if old is not None:
            services.add(old)
            small.remove(self.slices, old, key)
        if new is not None:
            service = Key(new.key.namespace, new.service)
            self._service_of[key] = service
            small.put(self.slices, service, key, new)
            services.add(service)
        return services

    def put_secret_user(self, key: Key, route: Route | None) -> None:
        """Update the Secrets that a Route names; None if the Route is gone."""
        for secret in dict.fromkeys(self._secrets_of.pop(key, ())):
            users = self._secret_users[secret]
            del users[key]
            if not users:
                del self._secret_users[secret]
        if route is not None and route.secrets:
            self._secrets_of[key] = route.secrets
            for secret in route.secrets:
                self._secret_users.setdefault(secret, {})[key] = route

    def forget_addresses(self) -> None:
        """Keep only the Nodes of pods."""
        self._addresses.clear()
        for service, slices in self.slices.items():
            self.slices[service] = {key: each.without_addresses() for key, each in slices.items()}

    @property
    def lacks_nodes(self) -> bool:
        """True if Nodes are the pool members and none is listed."""
        return self._nodeport is not None and not self.candidates

    # --- look-ups ------------------------------------------------------------------------

    def secret_users(self, secrets: Iterable[Key]) -> dict[Key, Route]:
        """Return the Routes that name any of the Secrets."""
        return {key: route for secret in secrets
                for key, route in self._secret_users.get(secret, {}).items()}

    def services_of(self, delta: Delta) -> set[Key]:
        """Return the Services that a Delta may give other members."""
        before = (self._service_of.get(key) for key in delta.slices)
        after = (Key(new.key.namespace, new.service) for new in delta.slices.values() if new is not None)
        return {*delta.services, *after, *(service for service in before if service is not None)}

    def addresses(self, namespace: str) -> frozenset[str]:
        """Return the addresses of all pods of a namespace that are ready, or draining."""
        if namespace not in self._addresses:
            self._addresses[namespace] = frozenset().union(*(
                endpoint_slice.addresses | endpoint_slice.draining for service, slices in self.slices.items()
                if service.namespace == namespace for endpoint_slice in slices.values()))
        return self._addresses[namespace]

    def view(self, service: Key, own_addresses: frozenset[str], doubt: Doubt) -> ServiceEndpoints:
        """Return the endpoints and addresses that determine the members of a Service.

        Args: own_addresses, doubt: those of the BIG-IP, and where it may have others.
        """
        return ServiceEndpoints(self.services.get(service), tuple(self.slices.get(service, {}).values()),
                           self.slices_listed, self.candidates, own_addresses, doubt)


def _update(known: dict[Key, V], changes: Mapping[Key, V | None]) -> None:
    """Apply new values; None removes an object."""
    for key, value in changes.items():
        if value is None:
            known.pop(key, None)
        else:
            known[key] = value


class PodPlaces:
    """Not thread-safe, except `count`."""

    def __init__(self, cluster: ClusterState):
        self._cluster, self._locator = cluster, PodLocator()
        self._problems: dict[Key, tuple[str, ...]] = {}
        """By Service, where there are any."""
        self.count = 0
        """Number of pods that are not reached; one that several Services have counts for each."""

    def set_locator(self, locator: PodLocator) -> set[Key]:
        """Replace the ways to pods; returns the Services whose problems differ."""
        if locator == self._locator:
            return set()
        self._locator = locator
        return self.update([*self._cluster.slices, *self._problems])

    def update(self, services: Iterable[Key]) -> set[Key]:
        """Re-check the pods of Services; returns the Services whose problems differ."""
        if not self._locator.spans and not self._problems:
            return set()
        return {service for service in dict.fromkeys(services) if self._update(service)}

    def _update(self, service: Key) -> bool:
        old = self._problems.pop(service, ())
        places = {place for each in self._cluster.slices.get(service, {}).values() for place in each.places}
        new = tuple(sorted(filter(None, (self._locator.problem(*place) for place in places))))
        if new:
            self._problems[service] = new
        self.count += len(new) - len(old)
        return new != old

    def problems(self, service: Key) -> tuple[str, ...]:
        """Return why pods of a Service are not reached."""
        return self._problems.get(service, ())

    def all_problems(self) -> Mapping[Key, tuple[str, ...]]:
        """Return the problems by Service."""
        return self._problems
