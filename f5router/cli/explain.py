"""The tree of `f5router explain ingressroute`: who delegates to an IngressRoute, and why a branch is cut.

It reads the cluster, and no BIG-IP: a team that has no login there can see it. `look` follows the Routes of
the tree to the BIG-IP.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from f5router.cli.invocation import object_key
from f5router.config import cluster_settings
from f5router.config.config import kube_settings, read_text
from f5router.config.reader import Reader
from f5router.kube.api import decode, fields
from f5router.kube.api.connection import Connection, connect
from f5router.kube.api.requests import Collection
from f5router.kube.settings import KubeSettings
from f5router.kube.watch import single_reads
from f5router.kube.watch.reflector import decode_document
from f5router.kube.watch.sources import DELEGATIONS, INGRESS_ROUTES, SERVICES, Source
from f5router.model.cluster import Key, Secret, Service
from f5router.model.delta import Delta
from f5router.model.errors import ConfigError, KubeError, KubeForbidden, KubeNotFound, ResourceExpired
from f5router.model.findings import INVALID_INGRESS_ROUTE, ORPHANED, Link, finding
from f5router.model.texts import number_of, printable
from f5router.sources import delegation_graph, explanation
from f5router.sources.delegation_graph import VALID
from f5router.sources.ingress_routes import IngressRoutes
from f5router.sources.settings import IngressRoutePolicy
from f5router.views.route_view import RouteView

INGRESS_ROUTE = "IngressRoute"
LIST_TRIES = 3
MOST_OBJECTS = 50
"""Objects that are explained at a time."""

Chooses = Callable[[RouteView], bool]
Follows = Callable[[Mapping[Key, Chooses]], int]
"""Prints the chains of the Routes of IngressRoutes; returns an exit status."""


@dataclass(frozen=True, slots=True)
class ExplainConfig:
    """Settings of the command, checked."""

    key: Key | None
    """None for the objects with some labels."""
    labels: str
    namespace: str
    """The namespace of these; "" for all."""
    kube: KubeSettings
    policy: IngressRoutePolicy
    log_level: str
    log_format: str


def load(name: str, namespace: str, labels: str, flags: Mapping[str, str | None],
         environ: Mapping[str, str]) -> ExplainConfig:
    """ExplainConfig of the arguments and the environment. Raises: ConfigError: with all problems.

    Args:
        name: "" for the objects with some labels.
        namespace: of -n; "" for that of the name.
        labels: a label selector; "" for the object of the name.
    """
    reader, key = Reader(flags, environ, read_text), None
    try:
        key = object_key(name, namespace, reader.value("namespace")) if name else None
    except ConfigError as exc:
        reader.problems += exc.problems
    settings = ExplainConfig(
        key, labels, reader.value("namespace") or namespace, kube_settings(reader),
        cluster_settings.ingress_routes(
            reader, ownership=not reader.value("disable-namespace-ownership-check")),
        log_level=reader.value("log-level"), log_format=reader.value("log-format"))
    if reader.problems:
        raise ConfigError(reader.problems)
    return settings


def ingress_route(settings: ExplainConfig, follow: Follows | None = None) -> int:
    """Print the trees of IngressRoutes; returns the exit status: 1 if one is not valid, or there is none.

    Args: follow: None if no BIG-IP is asked.
    """
    connection, services = connect(settings.kube), dict[Key, Service]()
    source = IngressRoutes(services, settings.policy)
    try:
        chosen = [settings.key] if settings.key else sorted(single_reads.labelled(
            connection, INGRESS_ROUTES, settings.namespace, settings.labels))
        keys = chosen[:MOST_OBJECTS]
        services.update(_listed(connection, SERVICES))
        source.apply(Delta(services=services, ingress_routes=_listed(connection, INGRESS_ROUTES),
                           delegations=_listed(connection, DELEGATIONS)))
        secrets = {secret for key in keys for secret in _secrets(source, key)}
        source.apply(Delta(secrets={key: _secret(connection, key) for key in secrets}))
    except KubeError as exc:
        print(printable(f"API server {connection.server} ({settings.kube.source}): {exc}"))
        return 1
    valid = [key for number, key in enumerate(keys) if _print_tree(source, key, is_first=not number)]
    if not chosen:
        print(f"no {INGRESS_ROUTE} has these labels")
    if more := len(chosen) - len(keys):
        print(f"{number_of(more, INGRESS_ROUTE)} more: choose fewer by other labels, or with -n")
    status = 0 if chosen == valid else 1
    if follow is None or not valid:
        return status
    print(flush=True)
    return max(status, follow({key: _of_tree(source, key) for key in valid}))


def _print_tree(source: IngressRoutes, key: Key, *, is_first: bool) -> bool:
    """Print the trees of an IngressRoute, and what to do; returns True if it is valid."""
    if not is_first:
        print()
    lines = explanation.explain(source, key)
    for line in lines or (f"IngressRoute {key}: it does not exist, or has another class",):
        print(printable(line))
    status = source.status(key)
    if status is not None and status.current != VALID:
        code = ORPHANED if status.current == delegation_graph.ORPHANED else INVALID_INGRESS_ROUTE
        why = finding(Link.ROUTE, code, status.description)
        to_do = why.to_do(namespace=key.namespace, name=key.name, host="")
        print(printable(f"to do: {to_do} ({why.page})"))
        return False
    return bool(lines)


def _of_tree(source: IngressRoutes, key: Key) -> Chooses:
    """Return the filter for an object's Routes; for a root, including the Routes that it delegates to."""
    if (graph := source.graphs.get(key)) is None:
        return lambda route: route.kind == INGRESS_ROUTE and route.source == key
    reached, virtual_host = {key, *(visit.key for visit in graph.visits)}, source.objects[key].virtual_host
    host = virtual_host.fqdn.lower() if virtual_host else ""
    return lambda route: (route.kind == INGRESS_ROUTE and route.host == host
                          and route.source in reached)


def _listed(connection: Connection, source: Source) -> dict[Key, Any]:
    """List all objects of a kind. Raises: KubeError."""
    for attempt in range(LIST_TRIES):
        try:
            documents = Collection(connection, source.path(None), {}).documents()
            return {value.key: value for document in documents
                    for value in decode_document(source, document)[1]}
        except ResourceExpired:
            if attempt == LIST_TRIES - 1:
                raise
    return {}


def _secrets(source: IngressRoutes, key: Key) -> set[Key]:
    """Return the Secrets of the roots that reach an object, itself included."""
    return {secret for root in (*source.roots(key), key) if (graph := source.graphs.get(root)) is not None
            and (secret := graph.secret) is not None}


def _secret(connection: Connection, key: Key) -> Secret:
    """Read a Secret; what cannot be read is said of it. Raises: KubeError."""
    path = f"/api/v1/namespaces/{quote(key.namespace, safe='')}/secrets/{quote(key.name, safe='')}"
    try:
        return decode.secret(fields.mapping(connection.request("GET", path)))
    except KubeNotFound:
        return Secret(key, problem=f"Secret {key.name} not found")
    except KubeForbidden as exc:
        print(printable(f"warning: Secret {key} cannot be read, and is assumed to be valid: {exc}"))
        return Secret(key, not_loaded=True)
