"""Checks of the cluster: API server, kinds that it serves, rights, clock."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from f5router.cli.doctor import fixes, gateway_api, report
from f5router.cli.doctor.report import FAILURE, Check, Fix, failure, ok, skipped, warning
from f5router.config.config import Config
from f5router.kube.api import fields, requests
from f5router.kube.api.api_errors import SHIPPED, SHIPPED_ACCOUNT
from f5router.kube.api.connection import Connection
from f5router.kube.watch import kind_states
from f5router.kube.watch.kind_states import OPTIONAL
from f5router.kube.watch.sources import (
    BACKEND_POLICIES,
    GATEWAY_CLASSES,
    GATEWAY_ROUTES,
    GATEWAYS,
    INGRESSES,
    NAMESPACES,
    NODES,
    POD_NETWORKS,
    PROJECTS,
    ROUTES,
    Source,
    choose_served,
)
from f5router.model.errors import KubeError, KubeUnauthorized
from f5router.model.gateway import GATEWAY
from f5router.sources.settings import INGRESS, INGRESS_ROUTE, ROUTE

_FOLDER = SHIPPED.rsplit("/", 1)[0]
SDN, NAMES, NODES_READER = "15-sdn-reader.yaml", "16-namespaces.yaml", "17-nodes-reader.yaml"
POD_NETWORK_READER, GATEWAY_READER = "21-pod-networks.yaml", "22-gateway-api.yaml"
STATUS, LEASE = "19-ingressroutes-status.yaml", "replicas/10-lease.yaml"

_FILES = {"namespaces": NAMES, "hostsubnets": SDN, "clusternetworks": SDN, "leases": LEASE,
          **dict.fromkeys(("gatewayclasses", "gateways", "httproutes", "tlsroutes", "tcproutes",
                           "backendtlspolicies", "referencegrants"),
                          GATEWAY_READER)}


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


def needed_rights(config: Config,
                  served: Callable[[Source], Source | None] = lambda source: source) -> list[Right]:
    """Return the rights that these settings need.

    Args: served: returns the API that serves a kind; None if none does, and no right is needed for it.
    """
    watch = config.watch
    rights: list[Right] = []
    for source in kind_states.sources(watch):
        if (api := served(source)) is not None:
            rights += _reading(config, source, api)
    if watch.sources.on_demand:
        rights.append(Right("list", GATEWAY_CLASSES.resource, _group(GATEWAY_CLASSES), required=False,
                            lacks="Gateways are served, whether a GatewayClass asks for it or not"))
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
    elif source in kind_states.absentable(watch) and source is not ROUTES:
        lacks, required = f"new {source.resource} are not served, and served ones are not followed", False
    elif watch.nodeport and source is kind_states.slices(watch):
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
    if GATEWAY in kinds:
        for source in (GATEWAY_CLASSES, GATEWAYS, BACKEND_POLICIES, *GATEWAY_ROUTES.values()):
            if (api := served(source)) is not None:
                yield Right("patch", source.resource, _group(api), "status", file=GATEWAY_READER,
                            namespace=namespace if source.namespaced else "", required=False,
                            lacks=f"{source.resource} show no status")
    for verb in ("create", "patch"):
        yield Right(verb, "events", namespace=namespace, lacks="teams see no Events", required=False)


def _group(source: Source) -> str:
    """Return the API group of a kind; "" for the core, and for OpenShift's kinds before there were groups."""
    return source.api_version.rpartition("/")[0]


AREA = "cluster"
_VERSION, _DISCOVERY = "/version", "/api/v1"
_SERVER = "API server"
_LOGIN = "login"
_KINDS = "kinds"


def check(connection: Connection, config: Config, now: Callable[[], float]) -> Iterator[Check]:
    """Check the API server. Args: now: the time of this machine, in seconds since the epoch."""
    begin = now()
    try:
        version, headers = connection.answer(_VERSION)
        end = now()
        connection.answer(_DISCOVERY)
    except KubeUnauthorized as exc:
        yield failure(AREA, _LOGIN, str(exc), fixes.kube_login(connection.server))
    except KubeError as exc:
        yield failure(AREA, _SERVER, f"{connection.server}: {exc}",
                      fixes.no_api_server(connection.server))
    else:
        name = fields.mapping(version).get("gitVersion")
        yield ok(AREA, _SERVER, f"{connection.server} answers{f', Kubernetes {name}' if name else ''}")
        yield _clock(headers, begin, end)
        yield from _kinds_and_rights(connection, config)
        return
    yield skipped(AREA, ("kinds", "rights", "clock"), "the API server must answer first")


def is_readable(checks: Iterable[Check]) -> bool:
    """True if it is worth waiting for lists: the API server answers, and serves the kinds."""
    return not any(check.state == FAILURE and check.check in (_SERVER, _LOGIN, _KINDS) for check in checks)


def _clock(headers: Mapping[str, str], begin: float, end: float) -> Check:
    try:
        time = parsedate_to_datetime(headers.get("Date", "")).timestamp()
    except (TypeError, ValueError):
        return warning(AREA, "clock", "the API server does not show its time", fixes.API_CLOCK_HIDDEN)
    return report.compare_clocks(AREA, "the API server", time, begin, end, fixes.API_CLOCK)


def _kinds_and_rights(connection: Connection, config: Config) -> Iterator[Check]:
    try:
        served = {source: choose_served(connection, source)
                  for source in kind_states.sources(config.watch)}
    except KubeError as exc:
        yield failure(AREA, _KINDS, str(exc), fixes.KINDS)
        yield skipped(AREA, ("rights",), "the kinds must be known first")
        return
    yield from _kinds(config, served)
    yield from _rights(connection, needed_rights(config, functools.partial(_found, served)))
    yield from gateway_api.check(connection, config, AREA)


def _found(served: Mapping[Source, Source | None], source: Source) -> Source | None:
    return served.get(source)


def _kinds(config: Config, served: Mapping[Source, Source | None]) -> Iterator[Check]:
    may_be_absent = {*kind_states.absentable(config.watch), *OPTIONAL}
    listed = [f"{source.resource} ({source.api_version})" for source in served.values() if source is not None]
    absent = sorted(source.resource for source, choice in served.items()
                    if choice is None and source in may_be_absent)
    more = f"; not served, and not needed: {', '.join(absent)}" if absent else ""
    yield ok(AREA, _KINDS, ", ".join(listed) + more)
    for source, choice in served.items():
        if choice is None and source not in may_be_absent:
            yield failure(AREA, _KINDS, f"{source.resource} are not served by the API server",
                          fixes.not_served(source.resource))


def _rights(connection: Connection, needed: list[Right]) -> Iterator[Check]:
    """Ask for each right; one line for those that are granted."""
    granted, unknown = 0, 0
    for right in needed:
        allowed = is_granted(connection, right)
        granted += allowed is True
        unknown += allowed is None
        if allowed is False:
            make = failure if right.required else warning
            yield make(AREA, "rights", f"may not {right.what}: {right.lacks}",
                       Fix(command=right.fix))
    if unknown:
        yield warning(AREA, "rights", f"{unknown} of {len(needed)} rights are not known: the API server "
                                      "answers no SelfSubjectAccessReview of this account", fixes.REVIEWS)
    elif granted:
        total = "all" if granted == len(needed) else f"{granted} of"
        yield ok(AREA, "rights", f"{total} {len(needed)} rights are granted")


def is_granted(connection: Connection, right: Right) -> bool | None:
    """Return True if the account has a right, or one instead; None if the API server does not answer."""
    answers = [requests.may(connection, verb, right.resource, group=right.group,
                            subresource=right.subresource,
                            namespace=right.namespace, name=right.name)
               for verb in (right.verb, right.instead) if verb]
    return None if None in answers else True in answers
