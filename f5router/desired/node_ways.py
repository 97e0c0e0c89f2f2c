"""The ways to the pods of each Node: its FDB record, or static routes; pods that no way reaches, and why."""

from collections.abc import Iterable, Mapping
from typing import Protocol

from f5router.desired.cluster_state import ClusterState
from f5router.desired.contributions import Contributions
from f5router.model.cluster import Key
from f5router.model.device_facts import DeviceFacts
from f5router.model.ltm import Object
from f5router.model.net import StaticRoute
from f5router.model.objects import Ref
from f5router.model.texts import Findings
from f5router.network import node_ports, refused_addresses, static_routes, vxlan
from f5router.network.node_ports import Networks
from f5router.network.static_routes import PodLocator


class WaySettings(vxlan.VxlanSettings, Protocol):
    """The part of config.Config that is used here."""

    @property
    def static_routes(self) -> bool: ...

    @property
    def static_route_networks(self) -> tuple[str, ...]:
        """CIDRs in which the Nodes' addresses lie that are gateways; () for the device's own networks."""

    @property
    def nodeport(self) -> node_ports.NodePortConfig | None: ...


class NodeWays:
    """Keeps them up to date in Desired. Not thread-safe."""

    def __init__(self, config: WaySettings, cluster: ClusterState, contributions: Contributions):
        self._config, self._cluster, self._contributions = config, cluster, contributions
        self._facts = DeviceFacts()
        self._fdb_records: dict[Key, Mapping[Ref, Object]] = {}  # by Node
        self._node_networks: dict[Key, static_routes.NodeNetworks] = {}
        self._allocation = static_routes.NetworkAllocation({})
        self._near: Networks = {}
        """Networks in which the BIG-IP reaches Nodes."""

    def set_facts(self, facts: DeviceFacts) -> set[Ref]:
        """Apply new facts about the device; returns the objects that may have changed."""
        self._facts = facts
        near = node_ports.near_networks(self._config.static_route_networks, facts.networks)
        moved, self._near = near != self._near, near
        dirty = self._rebuild_records(list(self._cluster.nodes))
        return dirty | self._allocate(self._cluster.nodes) if moved else dirty

    def update(self, nodes: Iterable[Key], subnets: Iterable[Key], networks: Iterable[Key]) -> set[Ref]:
        """Update Nodes that have changed, themselves or in their HostSubnets or pod networks.

        Returns: the objects that may have changed.
        """
        return self._rebuild_records({*nodes, *subnets}) | self._allocate({*nodes, *networks})

    def of_node(self, node: Key) -> set[Ref]:
        """Return the objects by which pods of a Node are reached."""
        wanted = self._node_networks[node].wanted if node in self._node_networks else ()
        routes = self._allocation.routes
        return {*self._fdb_records.get(node, ()),
                *(route.ref for _, route in wanted if routes.get(route.ref) == route)}

    def problem(self, node: Key) -> str:
        """Return why a network of a Node's pods has no route; "" if each has one."""
        networks = self._node_networks.get(node)
        return self._allocation.problem(networks) if networks else ""

    def routes(self) -> list[StaticRoute]:
        """Return the static routes, in the order of their networks' names."""
        return [route for _, route in sorted(self._allocation.routes.items())
                if isinstance(route, StaticRoute)]

    def may_stay(self, route: StaticRoute) -> bool:
        """True for a route that this router would not make now, and that may lead packets to pods.

        The device has it, and nobody knows better: no address of its Node is near the BIG-IP, or the networks
        of pods cannot be read and the Node at its gateway is there.
        """
        return self._allocation.may_stay(route) or (self._cluster.networks_unread and any(
            route.gateway in networks.addresses for networks in self._node_networks.values()))

    def locator(self) -> PodLocator:
        """Return the finder of the Node that gets packets for a pod, by static routes or openshift-sdn."""
        cluster = self._cluster
        ways = [(route.network, route.node) for route in self.routes()]
        if self._config.vxlan:
            ways = [(subnet.subnet, key.name) for key, subnet in cluster.host_subnets.items()
                    if key in cluster.nodes]
        return static_routes.locator(ways, cluster.nodes.values())

    def findings(self) -> Findings:
        """Report the problems between settings, device, Nodes and cluster network."""
        cluster = self._cluster
        view = vxlan.ClusterNetworkView(cluster.nodes, cluster.host_subnets, cluster.networks)
        return (vxlan.check(self._config, self._facts, view)
                + node_ports.findings(cluster.candidates, self._config.nodeport)
                + refused_addresses.findings(self._facts)
                + static_routes.findings(
                    self._allocation, self._config.static_route_networks, self._facts.networks))

    def _rebuild_records(self, keys: Iterable[Key]) -> set[Ref]:
        dirty: set[Ref] = set()
        for key in keys:
            old, node = self._fdb_records.pop(key, {}), self._cluster.nodes.get(key)
            subnet = self._cluster.host_subnets.get(key)
            new = vxlan.record(node, subnet, self._config, self._facts) if node else {}
            if new:
                self._fdb_records[key] = new
            dirty |= self._contributions.swap(old, new)
        return dirty

    def _allocate(self, changed: Iterable[Key]) -> set[Ref]:
        """Re-assign pod networks to Nodes if a Node's claims have changed."""
        if not self._config.static_routes:
            return set()
        before = {key: self._node_networks.pop(key, None) for key in changed}
        for key in before:
            if node := self._cluster.nodes.get(key):
                self._node_networks[key] = static_routes.node_networks(
                    node, self._config.folder, self._near, self._cluster.pod_networks(key.name))
        if all(self._node_networks.get(key) == old for key, old in before.items()):
            return set()
        old, self._allocation = self._allocation, static_routes.allocate(self._node_networks.values())
        return self._contributions.swap(old.routes, self._allocation.routes)


