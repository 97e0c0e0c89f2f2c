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
from f5router.sources.translator import Translator
from mocks.kube import FakeKube
from tests.chaos.script import NAMESPACES
from tests.reference import full_build
from tests.reference.full_build import Built, ClusterSnapshot

KINDS = {
    "Route": sources.ROUTES, "Ingress": sources.INGRESSES, "IngressClass": sources.INGRESS_CLASSES,
    "IngressRoute": sources.INGRESS_ROUTES, "TLSCertificateDelegation": sources.DELEGATIONS,
    "Service": sources.SERVICES, "EndpointSlice": sources.SLICES, "Node": sources.NODES,
}


@dataclass(frozen=True)
class Expected:
    """A cluster, and what is to become of it."""

    cluster: ClusterSnapshot
    built: Built
    state: BigIPState
    """The objects, with Rules in their order."""


Objects = Mapping[str, Sequence[dict]]
"""All objects of a cluster, by kind."""


def stored(kube: FakeKube) -> Objects:
    """Return what the API server stores."""
    return {kind: kube.list(kind) for kind in (*KINDS, "Secret")}


def of(objects: Objects, config: Config, facts: DeviceFacts) -> Expected:
    """Decode everything and build everything, without watches and without the incremental engine."""
    store = Store()
    for kind, source in KINDS.items():
        for obj in objects[kind] if kind != "Node" or config.static_routes else ():
            key, values = reflector.decode_object(source, obj)
            assert key is not None
            store.put(source.field, key, values)
    delta = replace(store.drain(), secrets=dict(_secrets(objects["Secret"])), nodes_listed=True,
                    slices_listed=True)
    engine = Engine(config)  # holds the cluster; what it computes is not used
    engine.apply(Translator(config.watch.sources).apply(delta))
    cluster = full_build.snapshot_of(engine)
    built = full_build.build(cluster, config, facts)
    state = {ref: replace(obj, ordinal=obj.priority_band) if isinstance(obj, Rule) else obj
             for ref, obj in built.objects.items()}
    return Expected(cluster, built, state)


def kinds_below(path: str) -> set[str]:
    """Return the kinds whose objects are below a path of the API."""
    return {kind for kind, source in KINDS.items()
            if f"{path}/".startswith(f"{source.group_path}/{source.resource}/") or path == source.group_path
            } | ({"Secret"} if "/secrets" in path else set())


def _secrets(objects: Sequence[dict]) -> Iterator[tuple[Key, Secret]]:
    for namespace in NAMESPACES:
        key = Key(namespace, "pair")
        yield key, Secret(key, problem="Secret not found")
    for obj in objects:
        secret = decode.secret(obj)
        yield secret.key, secret
