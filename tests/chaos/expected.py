"""Wanted state of BIG-IP and statuses, computed from scratch from what the API server stores."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from f5router.config.config import Config
from f5router.desired.engine import Engine
from f5router.kube.api import decode
from f5router.kube.watch import reflector, sources
from f5router.kube.watch.store import Store
from f5router.model.cluster import Key, Secret
from f5router.model.device_facts import DeviceFacts
from f5router.model.ltm import BigIPState, Rule
from f5router.sources.delegation_graph import INVALID, VALID
from f5router.sources.ingress_routes import IngressRoutes
from f5router.sources.settings import INGRESS, INGRESS_ROUTE
from f5router.sources.translator import Translator
from mocks.kube import FakeKube
from tests.chaos.script import NAMESPACES
from tests.reference import full_build
from tests.reference.full_build import Built, ClusterSnapshot

KINDS = {
    "Route": sources.ROUTES, "Ingress": sources.INGRESSES, "IngressClass": sources.INGRESS_CLASSES,
    "IngressRoute": sources.INGRESS_ROUTES, "TLSCertificateDelegation": sources.DELEGATIONS,
    "Service": sources.SERVICES, "EndpointSlice": sources.SLICES, "Node": sources.NODES,
    "HostSubnet": sources.HOST_SUBNETS, "ClusterNetwork": sources.CLUSTER_NETWORKS,
}


@dataclass(frozen=True)
class Expected:
    """A cluster, and what is to become of it."""

    cluster: ClusterSnapshot
    built: Built
    state: BigIPState
    """The objects, with Rules in their order."""
    ingresses: Mapping[Key, bool]
    """True for an Ingress of which something is served."""
    ingress_routes: Mapping[Key, str]
    """The status of each IngressRoute."""


Objects = Mapping[str, Sequence[dict]]
"""All objects of a cluster, by kind."""


def stored(kube: FakeKube) -> Objects:
    """Return what the API server stores."""
    return {kind: kube.list(kind) for kind in (*KINDS, "Secret")}


def of(objects: Objects, config: Config, facts: DeviceFacts, *, unread: bool = False) -> Expected:
    """Decode everything and build everything, without watches and without the incremental engine.

    Args: unread: Secrets that are missing are not known to be missing yet.
    """
    store, nodes = Store(), config.watch.nodes or config.watch.nodeport
    of_network = {"Node": nodes, **dict.fromkeys(("HostSubnet", "ClusterNetwork"), config.watch.sdn)}
    kinds = KINDS | ({"EndpointSlice": sources.PLACED_SLICES} if config.watch.nodeport else
                     {"EndpointSlice": sources.LOCATED_SLICES} if config.watch.nodes else {})
    for kind, source in kinds.items():
        for obj in objects[kind] if kind not in of_network or of_network[kind] else ():
            key, values = reflector.decode_object(source, obj)
            assert key is not None
            store.put(source.field, key, values)
    delta = replace(store.drain(), secrets=dict(_secrets(objects["Secret"], unread=unread)),
                    nodes_listed=True, slices_listed=True)
    engine = Engine(config)  # holds the cluster; what it computes is not used
    translator = Translator(config.watch.sources)
    engine.apply(translator.apply(delta))
    cluster = full_build.snapshot_of(engine)
    built = full_build.build(cluster, config, facts)
    state = {ref: replace(obj, ordinal=obj.priority_band) if isinstance(obj, Rule) else obj
             for ref, obj in built.objects.items()}
    return Expected(cluster, built, state, _ingresses(cluster, built), _ingress_routes(translator, built))


def kinds_below(path: str) -> set[str]:
    """Return the kinds whose objects are below a path of the API."""
    return {kind for kind, source in KINDS.items()
            if f"{path}/".startswith(f"{source.group_path}/{source.resource}/") or path == source.group_path
            } | ({"Secret"} if "/secrets" in path else set())


def _ingresses(cluster: ClusterSnapshot, built: Built) -> dict[Key, bool]:
    served: dict[Key, bool] = {}
    for key, route in cluster.routes.items():
        if route.origin is not None and route.origin.kind == INGRESS:
            served[route.origin.key] = served.get(route.origin.key, False) or key not in built.rejections
    return served


def _ingress_routes(translator: Translator, built: Built) -> dict[Key, str]:
    """Return the status of each; of one below several roots, or that lost its Host, this does not decide."""
    source = translator.sources[INGRESS_ROUTE]
    assert isinstance(source, IngressRoutes)
    statuses: dict[Key, str] = {}
    for key in source.objects:
        status = source.status(key)
        if status is None:
            continue
        lost = built.rejections.keys() & set(source.routes_of(key))
        if status.current != VALID or not lost:
            statuses[key] = status.current
        elif key in source.graphs:
            statuses[key] = INVALID
    return statuses


def _secrets(objects: Sequence[dict], *, unread: bool) -> Iterator[tuple[Key, Secret]]:
    for namespace in () if unread else NAMESPACES:
        key = Key(namespace, "pair")
        yield key, Secret(key, problem="Secret not found")
    for obj in objects:
        secret = decode.secret(obj)
        yield secret.key, secret
