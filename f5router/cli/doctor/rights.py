"""The rights in the cluster that the features in force need, each with the file that grants it. No I/O."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from f5router.config.config import Config
from f5router.kube.api.api_errors import SHIPPED, SHIPPED_ACCOUNT
from f5router.kube.watch import watched_kinds
from f5router.kube.watch.kind_states import OPTIONAL
from f5router.kube.watch.sources import (
    INGRESSES,
    NAMESPACES,
    NODES,
    POD_NETWORKS,
    PROJECTS,
    ROUTES,
    Source,
)
from f5router.sources.translator import INGRESS, INGRESS_ROUTE, ROUTE

_FOLDER = SHIPPED.rsplit("/", 1)[0]
SDN, NAMES, NODES_READER = "15-sdn-reader.yaml", "16-namespaces.yaml", "17-nodes-reader.yaml"
POD_NETWORK_READER = "21-pod-networks.yaml"
STATUS, LEASE = "19-ingressroutes-status.yaml", "replicas/10-lease.yaml"

_FILES = {"namespaces": NAMES, "hostsubnets": SDN, "clusternetworks": SDN, "leases": LEASE}


@dataclass(frozen=True, slots=True)
class Right:
    """A right that the router uses."""

    verb: str
    resource: str
    group: str = ""
    subresource: str = ""
    namespace: str = ""
    """"" for all."""
    name: str = ""
    """"" for all objects."""
    lacks: str = "no Route is served"
    """Consequence of its absence."""
    required: bool = True
    """False if the router does its work without it."""
    instead: str = ""
    """Another verb that will do as well; "" for none."""
    file: str = ""
    """File of docs/deploy that grants it, if not the first."""

    @property
    def what(self) -> str:
        """The right in words."""
        kind = f"{self.resource}/{self.subresource}" if self.subresource else self.resource
        kind += f".{self.group}" if self.group else ""
        return (f"{self.verb} {kind}{f' {self.name}' if self.name else ''}"
                f"{f' in namespace {self.namespace}' if self.namespace else ''}")

    @property
    def fix(self) -> str:
        """The command that grants it to the account of the shipped files."""
        if self.resource == PROJECTS.resource:
            namespace, name = SHIPPED_ACCOUNT
            return f"oc adm policy add-cluster-role-to-user basic-user -z {name} -n {namespace}"
        return f"oc apply -f {_FOLDER}/{self.file}" if self.file else f"oc apply -f {SHIPPED}"


def needed(config: Config, served: Callable[[Source], Source | None] = lambda source: source) -> list[Right]:
    """Return the rights that these settings need.

    Args: served: returns the API that serves a kind; None if none does, and no right is needed for it.
    """
    watch = config.watch
    rights: list[Right] = []
    for source in watched_kinds.sources(watch):
        if (api := served(source)) is not None:
            rights += _reading(config, source, api)
    if namespace := watch.selection.namespace:
        rights.append(Right("get", NAMESPACES.resource, name=namespace, file=NAMES,
                            lacks="a misspelt --namespace is not noticed", required=False))
    if config.status.enabled:
        rights += _statuses(config, served)
    if (lease := config.lease) is not None:
        rights += [Right(verb, "leases", "coordination.k8s.io", namespace=lease.namespace, name=lease.name,
                         file=LEASE, lacks="no replica leads") for verb in ("get", "update")]
        rights.append(Right("create", "leases", "coordination.k8s.io", namespace=lease.namespace, file=LEASE,
                            lacks="a Lease that was deleted is not made again", required=False))
    return rights


def _reading(config: Config, source: Source, api: Source) -> Iterator[Right]:
    """Yield the rights to follow a kind. Args: source: as configured; api: the API that serves it."""
    watch = config.watch
    verbs = ("get",) if source.name else ("list",) if source.period_s else ("list", "watch")
    file = _FILES.get(source.resource, "")
    if source is NODES:
        file = SDN if watch.sdn else NODES_READER
    lacks, required = "no Route is served", True
    if source in POD_NETWORKS:
        lacks, required, file = "routes go to spec.podCIDRs instead", False, POD_NETWORK_READER
    elif source in OPTIONAL:
        lacks, required = "settings are not checked against it", False
    elif source in watched_kinds.absentable(watch) and source is not ROUTES:
        lacks, required = f"new {source.resource} are not served, and served ones are not followed", False
    elif watch.nodeport and source is watched_kinds.slices(watch):
        lacks, required = "where pods are is not checked", False
    elif source is NODES:
        lacks = "pods are not reached"
    namespace = watch.selection.namespace if source.namespaced else None
    for verb in verbs:
        yield Right(verb, api.resource, _group(api), namespace=namespace or "", name=source.name,
                    lacks=lacks, required=required, file=file)


def _statuses(config: Config, served: Callable[[Source], Source | None]) -> Iterable[Right]:
    """Yield the rights to write statuses and Events."""
    kinds, namespace = config.watch.sources.kinds, config.watch.selection.namespace or ""
    if ROUTE in kinds and (api := served(ROUTES)) is not None:
        yield Right("patch", "routes", _group(api), "status", namespace,
                    lacks="teams do not see if their Routes are served", instead="update")
    if INGRESS in kinds and (api := served(INGRESSES)) is not None:
        yield Right("patch", "ingresses", _group(api), "status", namespace,
                    lacks="Ingresses show no address", required=False)
    if INGRESS_ROUTE in kinds:
        yield Right("patch", "ingressroutes", "contour.heptio.com", namespace=namespace, file=STATUS,
                    lacks="IngressRoutes show no status", required=False)
    for verb in ("create", "patch"):
        yield Right(verb, "events", namespace=namespace, lacks="teams see no Events", required=False)


def _group(source: Source) -> str:
    """Return the API group of a kind; "" for the core, and for OpenShift's kinds before there were groups."""
    return source.api_version.rpartition("/")[0]
