"""Desired built from nothing but a whole cluster: the definition that the incremental engine is held to.

The router never does this: it would take seconds for each event. Tests compare the two after every event.
"""

import itertools
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from f5router.admission import admission, host_claims, namespace_limits
from f5router.admission.admission import EvaluatedRoute, Rejection
from f5router.desired import baseline, pools, route_objects
from f5router.desired.engine import Engine
from f5router.desired.settings import DesiredSettings
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
from f5router.model.device_facts import DeviceFacts
from f5router.model.limits import finish
from f5router.model.ltm import Object
from f5router.model.objects import Ref
from f5router.network import node_ports, static_routes, vxlan
from f5router.network.pool_members import ServiceEndpoints

K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """One consistent view of the cluster."""

    routes: Mapping[Key, Route] = field(default_factory=dict)
    services: Mapping[Key, Service] = field(default_factory=dict)
    slices: Mapping[Key, Mapping[Key, EndpointSlice]] = field(default_factory=dict)
    """By the key of the Service, then by the key of the slice."""
    nodes: Mapping[Key, Node] = field(default_factory=dict)
    host_subnets: Mapping[Key, HostSubnet] = field(default_factory=dict)
    cluster_networks: Mapping[Key, ClusterNetwork] = field(default_factory=dict)
    block_affinities: Mapping[Key, PodNetworks] = field(default_factory=dict)
    cilium_nodes: Mapping[Key, PodNetworks] = field(default_factory=dict)
    slices_listed: bool = True
    secrets: Mapping[Key, Secret] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Built:
    """Everything that the engine computes from a cluster."""

    objects: Mapping[Ref, Object]
    rejections: Mapping[Key, Rejection]
    faults: Mapping[Key, str]
    warnings: Mapping[Key, tuple[str, ...]]
    uses: Mapping[Key, frozenset[Ref]]
    undetermined: frozenset[Ref]


def snapshot_of(engine: Engine) -> ClusterSnapshot:
    """Return the cluster as it was applied to an engine so far."""
    state = engine.cluster
    return ClusterSnapshot(
        {key: evaluated.route for key, evaluated in engine.routes().items()},
        dict(state.services), dict(state.slices), dict(state.nodes), dict(state.host_subnets),
        dict(state.networks), dict(state.block_affinities), dict(state.cilium_nodes), state.slices_listed,
        dict(state.secrets))


def allocation(nodes: Iterable[Node], config: DesiredSettings,
               facts: DeviceFacts, blocks: Collection[PodNetworks] = (),
               cilium: Collection[PodNetworks] = ()) -> static_routes.NetworkAllocation:
    """Allocate the pod networks of all Nodes from scratch."""
    if not config.static_routes:
        return static_routes.NetworkAllocation({})
    near = node_ports.near_networks(config.static_route_networks, facts.networks)
    of_plugin: dict[str, list[str]] = {}
    with_blocks = {each.node for each in blocks}
    for each in (*sorted(blocks, key=lambda each: each.key), *(
            each for each in cilium if each.node not in with_blocks)):
        of_plugin.setdefault(each.node, []).extend(each.networks)
    return static_routes.allocate(static_routes.node_networks(
        node, config.folder, near, list(dict.fromkeys(of_plugin.get(node.key.name, ())))) for node in nodes)


def build(snapshot: ClusterSnapshot, config: DesiredSettings, facts: DeviceFacts) -> Built:
    """Build the whole Desired."""
    subdomains: dict[str, dict[str, list[EvaluatedRoute]]] = {}
    all_routes, policy = snapshot.routes.values(), config.admission
    refusals = {
        **_refusals(all_routes, policy.http_options, namespace_limits.http, namespace_limits.too_much_http),
        **_refusals(all_routes, policy.listed_clients, namespace_limits.clients,
                    namespace_limits.too_many_clients)}
    for route in snapshot.routes.values():
        evaluated = admission.check(
            route, config.admission, snapshot.secrets, refusal=refusals.get(route.key, ""))
        subdomains.setdefault(evaluated.subdomain, {}).setdefault(evaluated.host, []).append(evaluated)
    by_host = []
    for hosts in subdomains.values():
        claims = host_claims.resolve(itertools.chain(*hosts.values()), ownership=config.admission.ownership)
        by_host += [finish(route_objects.host_objects(host, routes, claims, config, facts))
                    for host, routes in hosts.items()]
    objects = dict(baseline.build(config, facts, snapshot.cluster_networks, config.tls_files))
    for host_objects in by_host:
        objects.update(host_objects.objects)
    candidates = node_ports.candidates(snapshot.nodes, config.nodeport)

    def view_of(service: Key) -> ServiceEndpoints:
        return ServiceEndpoints(
            snapshot.services.get(service), tuple(snapshot.slices.get(service, {}).values()),
            snapshot.slices_listed, candidates,
            facts.own_addresses | vxlan.addresses(config), facts.doubt)

    for pool_key, settings in _merged(host_objects.pools for host_objects in by_host).items():
        pool = pools.PoolBuilder(view_of, config).build(pool_key, settings).pool
        objects[pool.ref] = pool
    for key, node in snapshot.nodes.items():
        objects.update(vxlan.record(node, snapshot.host_subnets.get(key), config, facts))
    objects.update(allocation(
        snapshot.nodes.values(), config, facts, snapshot.block_affinities.values(),
        snapshot.cilium_nodes.values()).routes)
    return Built(
        objects,
        _merged(host_objects.rejections for host_objects in by_host),
        _merged(host_objects.faults for host_objects in by_host),
        _merged(host_objects.warnings for host_objects in by_host),
        _merged(host_objects.uses for host_objects in by_host),
        frozenset().union(*(host_objects.undetermined for host_objects in by_host)),
    )


def _refusals(
    routes: Iterable[Route], most: int, measure: namespace_limits.Measure,
    sentence: Callable[[str, int], str],
) -> dict[Key, str]:
    """Return why Routes exceed a limit of their namespace, the oldest first."""
    counted: dict[str, dict[str, int]] = {}
    refusals = {}
    for route in sorted(routes, key=lambda route: (route.age, route.key)):
        sizes, (text, size) = counted.setdefault(route.key.namespace, {}), measure(route)
        if sum({**sizes, text: size}.values()) <= most:
            sizes[text] = size
        else:
            refusals[route.key] = sentence(route.key.namespace, most)
    return refusals


def _merged(mappings: Iterable[Mapping[K, V]]) -> dict[K, V]:
    merged: dict[K, V] = {}
    for mapping in mappings:
        merged.update(mapping)
    return merged
