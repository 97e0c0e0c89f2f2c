"""The command `f5router status clear`: removes what a router has written into statuses of objects.

Meant for a router that is gone for good, or has a new name. A running router puts its entries back.

All entries of a router name are removed from Routes. Ingresses and IngressRoutes have no field for the name
of the writer: only who asks for these kinds has their statuses removed. An Ingress is the router's by its
class, and if its entries are those that the router writes. An IngressRoute has one controller, which its
class names. Both are looked for where the router does: by its labels, and in the namespaces that it serves,
for an IngressRoute that of the roots that reach it.
"""

import logging
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import quote

from f5router.admission import condition
from f5router.app.ingress_reporter import load_balancer_entries, load_balancer_status
from f5router.config import cluster_settings, parsers
from f5router.config.config import kube_settings, read_text
from f5router.config.reader import Reader
from f5router.kube.api import decode_contour, decode_ingress, fields
from f5router.kube.api.connection import Connection, connect
from f5router.kube.api.work_queue import WorkItem, WorkQueue
from f5router.kube.settings import KubeSettings, WatchSettings
from f5router.kube.status import entry_cleanup, status_request
from f5router.kube.status.entry_cleanup import list_values
from f5router.kube.status.status_request import OwnedEntry, RouteStatus
from f5router.kube.watch import kind_states
from f5router.kube.watch.sources import (
    INGRESS_CLASSES,
    INGRESS_ROUTES,
    INGRESSES,
    NAMESPACES,
    PROJECTS,
    ROUTES,
    Source,
    choose_served,
)
from f5router.logs.progress import Figures, Progress, counted
from f5router.model.cluster import Key
from f5router.model.delta import Delta
from f5router.model.errors import (
    ConfigError,
    KubeConflict,
    KubeError,
    KubeForbidden,
    KubeInvalid,
    KubeNotFound,
    KubeUnreachable,
    ResourceUnavailable,
)
from f5router.model.json_types import JSON
from f5router.model.limits import Backoff
from f5router.model.selection import Selection
from f5router.model.texts import printable
from f5router.sources.ingress_routes import IngressRoutes
from f5router.sources.ingresses import Classes
from f5router.sources.settings import INGRESS, INGRESS_ROUTE, ROUTE, SourceSettings

log = logging.getLogger(__name__)

ROUTES_ALONE = SourceSettings((ROUTE,))

BACKOFF = Backoff(first_s=0.1, limit_s=5.0)
TRIES = 8
"""Attempts for one object that others write too, or while the API server does not answer: about 20 s."""


@dataclass(frozen=True, slots=True)
class ClearConfig:
    """Settings of the command, checked."""

    router_name: str
    scope: Selection
    """From flags alone: a router may have left entries outside of what it selects."""
    kube: KubeSettings
    rate_per_s: float
    log_level: str
    log_format: str
    backoff: Backoff = BACKOFF
    """Waits before an object is tried again."""
    sources: SourceSettings = ROUTES_ALONE
    hostname: str = ""
    """The router's canonical name, by which its Ingresses are known; "" for none."""


def load(router_name: str, scope: Selection, flags: Mapping[str, str | None],
         environ: Mapping[str, str], sources: str = "routes") -> ClearConfig:
    """ClearConfig of the flags given and the environment. Raises: ConfigError: with all problems."""
    reader = Reader(flags, environ, read_text)
    try:
        kinds = cluster_settings.kinds(sources)
    except ValueError as exc:
        reader.problems.append(f"--sources: {exc}")
        kinds = (ROUTE,)
    hostname = reader.value("router-canonical-hostname") or ""
    if INGRESS in kinds and not hostname:
        reader.problem("the router's name in the status of Ingresses must be specified; without one it wrote "
                       "the addresses of its virtual servers, which f5router uninstall removes",
                       "router-canonical-hostname")
    if scope.fields and kinds != (ROUTE,):
        reader.problems.append("--fields: it selects Routes alone, so --sources must be routes")
    if not router_name:
        reader.problems.append("--router-name / ROUTER_SERVICE_NAME: a name must be specified")
    if scope.namespace:
        try:
            parsers.namespace(scope.namespace)
        except ValueError as exc:
            reader.problems.append(f"--namespace: {exc}")
    settings = ClearConfig(
        router_name=router_name, scope=scope,
        kube=kube_settings(reader),
        rate_per_s=reader.value("status-rate"),
        log_level=reader.value("log-level"), log_format=reader.value("log-format"),
        sources=cluster_settings.of_kinds(reader, kinds, ownership=True), hostname=hostname,
    )
    if reader.problems:
        raise ConfigError(reader.problems)
    return settings


def run(settings: ClearConfig, *, dry_run: bool) -> int:
    """Find, remove and print a summary of Routes; returns the exit status: 1 when something is left."""
    connection, scope = connect(settings.kube), settings.scope
    selectors = {"labelSelector": scope.labels, "fieldSelector": scope.fields}
    try:
        if (source := choose_served(connection, ROUTES)) is None:
            print(f"router {settings.router_name}: this cluster has no Routes")
            return 0
        given = {name: text for name, text in selectors.items() if text}
        entries = entry_cleanup.find_entries(
            connection, source, settings.router_name, namespace=scope.namespace, selectors=given)
    except KubeError as exc:
        log.error("Routes not listed", extra={"error": str(exc)})
        return 1
    if dry_run:
        for entry in entries:
            print(*_shown(entry), sep="\t")
        print(f"router {settings.router_name}: {len(entries)} Routes have its entry; nothing is changed")
        return 0
    routes = RouteStatus(connection, lambda: source)
    results = Clearing(ROUTE, settings, lambda owned: status_request.remove_entry(
        routes, owned, settings.router_name, unchanged=False)).run(entries)
    left = len(entries) - results["cleared"] - results["gone"]
    print(f"router {settings.router_name}: {len(entries)} Routes had its entry, {results['cleared']} are "
          f"cleared, {results['gone']} had none left, {left} are left; {results['conflict']} conflicts")
    return 1 if left else 0


def _shown(entry: OwnedEntry) -> tuple[str, ...]:
    """Route, Host and Admitted of an entry."""
    admitted = condition.admitted(entry.entry)
    fields = (entry.key, entry.entry.get("host"), admitted.get("status"), admitted.get("reason"))
    return tuple(printable(field or "-") for field in fields)


class Clearing:
    """Removes entries one by one, at a bounded rate."""

    def __init__(self, kind: str, settings: ClearConfig, remove: Callable[[OwnedEntry], object]):
        """Args: remove: removes an entry; returns None if there is none. It raises KubeError."""
        self._kind, self._remove = kind, remove
        self._pending: WorkQueue[Key] = WorkQueue(rate_per_s=settings.rate_per_s)
        self._backoff = settings.backoff
        self._results: Counter[str] = Counter()

    def run(self, entries: Sequence[OwnedEntry]) -> Counter[str]:
        """Results: cleared, gone, and conflict, which is counted besides."""
        for entry in entries:
            self._pending.put(entry.key, entry)
        with Progress.logged(log, "clearing statuses") as progress:
            while len(self._pending) and (item := self._pending.take()) is not None:
                try:
                    retry_s = self._attempt(item)
                except KubeForbidden as exc:
                    log.error("status not written", extra={"error": str(exc)})
                    break
                self._pending.done(item, retry_s)
                progress.update(lambda: self._figures(len(entries)))
        return self._results

    def _figures(self, total: int) -> Figures:
        done = total - len(self._pending)
        return Figures(done, total, {"kind": self._kind, "objects": counted(done, total)})

    def _attempt(self, item: WorkItem[Key]) -> float | None:
        """Remove one entry. Returns seconds until the next try. Raises: KubeForbidden."""
        self._pending.spend()
        try:
            written = self._remove(item.value)
        except KubeNotFound:
            written = None
        except (KubeConflict, KubeUnreachable) as exc:
            self._results["conflict"] += isinstance(exc, KubeConflict)
            return self._later(item, exc)
        except (KubeInvalid, ResourceUnavailable) as exc:
            self._log("status refused", item, exc)
            return None
        self._results["gone" if written is None else "cleared"] += 1
        return None

    def _later(self, item: WorkItem[Key], exc: KubeConflict | KubeUnreachable) -> float | None:
        if item.failures + 1 < TRIES:
            return self._backoff.jittered_s(item.failures + 1, exc.retry_after_s)
        self._log("status not cleared", item, exc)
        return None

    def _log(self, message: str, item: WorkItem[Key], exc: Exception) -> None:
        log.error(message, extra={"kind": self._kind, "object": str(item.key), "error": str(exc)})


def run_all(settings: ClearConfig, *, dry_run: bool) -> int:
    """Clear, or list, the statuses of the kinds asked for; returns 1 when something is left."""
    watch = WatchSettings(selection=settings.scope, sources=settings.sources)
    entries = load_balancer_entries(settings.hostname, ())
    codes = [run(settings, dry_run=dry_run)] if ROUTE in settings.sources.kinds else []
    return max(*codes, run_objects(settings, watch, entries, dry_run=dry_run, asked=True), 0)


def run_objects(settings: ClearConfig, watch: WatchSettings, entries: list[JSON], *, dry_run: bool,
                asked: bool = False) -> int:
    """Clear, or list, the statuses of each kind that is served; returns 1 when something is left.

    A kind that may not be read costs a warning: a router that does not read it does not write it either.
    Args:
        entries: what the router writes into status.loadBalancer.ingress of an Ingress.
        asked: somebody asked for these kinds by name: a kind that may not be read is left.
    """
    connection, left = connect(settings.kube), 0
    finds: dict[str, Callable[[], Statuses | None]] = {
        INGRESS: lambda: _ingresses(connection, watch, entries),
        INGRESS_ROUTE: lambda: _ingress_routes(connection, watch)}
    for kind in watch.sources.kinds:
        if kind not in finds:
            continue
        try:
            statuses = finds[kind]()
            written = statuses.find(watch) if statuses else []
        except KubeForbidden as exc:
            log.warning("statuses not searched", extra={"kind": kind, "error": str(exc)})
            left += asked
            continue
        except KubeError as exc:
            log.error("objects not listed", extra={"kind": kind, "error": str(exc)})
            left += 1
            continue
        if statuses and (written or asked):
            left += _show(kind, written) if dry_run else _clear(kind, settings, statuses, written)
    return 1 if left else 0


def _show(kind: str, written: list[OwnedEntry]) -> int:
    for owned in written:
        print(kind, owned.key, printable(next(iter(owned.entry.values()))), sep="\t")
    print(f"{kind}: {len(written)} have a status of this router; nothing is changed")
    return 0


def _clear(kind: str, settings: ClearConfig, statuses: "Statuses", written: list[OwnedEntry]) -> int:
    """Clear statuses; returns how many are left."""
    results = Clearing(kind, settings, statuses.remove).run(written)
    left = len(written) - results["cleared"] - results["gone"]
    print(f"{kind}: {len(written)} had a status of this router, {results['cleared']} are cleared, "
          f"{results['gone']} had none left, {left} are left; {results['conflict']} conflicts")
    return left


@dataclass(slots=True)
class Statuses:
    """The statuses of a kind."""

    connection: Connection
    listed: Source
    """As watched_kinds knows it."""
    served: Source
    own: Callable[[JSON], JSON | None]
    """Returns the part of a status that this router wrote; None for nothing."""
    cleared: JSON
    """Fields of the status afterwards."""
    serves: Callable[[Key], bool] = lambda key: True
    """True for an object that this router serves, not another one for other namespaces."""
    subresource: str = ""

    def find(self, settings: WatchSettings) -> list[OwnedEntry]:
        """List the objects with a status of this router. Raises: KubeError."""
        def decode(obj: JSON) -> tuple[OwnedEntry, ...]:
            key, status = fields.key(obj), self.own(obj)
            if status is None or not self.serves(key):
                return ()
            return (OwnedEntry(key, fields.uid(obj), status),)

        written: list[OwnedEntry] = list_values(
            self.connection, replace(self.served, decode=decode), namespace=settings.selection.namespace,
            selectors=kind_states.selectors(settings, self.listed))
        return written

    def remove(self, owned: OwnedEntry) -> object:
        """Remove a status; returns the changed object, None if it has no status of this router.

        Where a CRD has a sub-resource `status`, a patch of the object changes nothing, and its reply shows
        that. Raises: KubeError: KubeConflict: the object was changed meanwhile; to be tried again.
        """
        query = {"fieldSelector": f"metadata.name={owned.key.name}"}
        reply = self.connection.request("GET", self.served.path(owned.key.namespace), query=query)
        objects = fields.items(fields.mapping(reply).get("items"))
        if not objects or fields.uid(objects[0]) != owned.uid or not self._has_own(objects[0]):
            return None
        written = self._patch(owned, objects[0])
        if not self.subresource and self._has_own(written):
            self.subresource = "/status"
            written = self._patch(owned, objects[0])
        return written

    def _has_own(self, obj: JSON) -> bool:
        try:
            return self.own(obj) is not None
        except fields.DecodeError:
            return False

    def _patch(self, owned: OwnedEntry, obj: JSON) -> JSON:
        """Write the rest of a status, unless the object has changed since it was read."""
        path = f"{self.served.path(owned.key.namespace)}/{quote(owned.key.name, safe='')}{self.subresource}"
        body = {"metadata": {"resourceVersion": fields.resource_version(obj)}, "status": self.cleared}
        reply = self.connection.request("PATCH", path, body=body,
                                        content_type="application/merge-patch+json")
        return fields.mapping(reply)


def _namespaces(connection: Connection, settings: WatchSettings) -> Container[str] | None:
    """Return the names of the namespaces whose objects are served; None for all. Raises: KubeError."""
    if not settings.selection.by_namespace:
        return None
    source = PROJECTS if settings.selection.project_labels else NAMESPACES
    return set(list_values(connection, replace(source, decode=lambda obj: (fields.key(obj).name,)),
                           selectors=kind_states.selectors(settings, source)))


def _ingresses(connection: Connection, settings: WatchSettings, entries: list[JSON]) -> Statuses | None:
    """Return the statuses of Ingresses; None if there are none. Raises: KubeError."""
    if not entries or (served := choose_served(connection, INGRESSES)) is None:
        return None
    classes = Classes(settings.sources.classes)
    if (listed := choose_served(connection, INGRESS_CLASSES)) is not None:
        classes.apply({each.key: each for each in list_values(connection, listed)})

    def own(obj: JSON) -> JSON | None:
        ingress = decode_ingress.ingress(obj)
        if list(ingress.load_balancer) != entries or not classes.is_own(ingress):
            return None
        return {"entries": ", ".join(str(text) for entry in entries for text in entry.values())}

    namespaces = _namespaces(connection, settings)
    return Statuses(connection, INGRESSES, served, own, load_balancer_status(()),
                    lambda key: namespaces is None or key.namespace in namespaces, "/status")


def _ingress_routes(connection: Connection, settings: WatchSettings) -> Statuses | None:
    """Return the statuses of IngressRoutes; None if there are none. Raises: KubeError."""
    if choose_served(connection, INGRESS_ROUTES) is None:
        return None
    policy = settings.sources.ingress_routes

    def own(obj: JSON) -> Mapping[str, str] | None:
        ingress_route = decode_contour.ingress_route(obj)
        if not any(ingress_route.status) or not policy.takes(ingress_route):
            return None
        return dict(zip(("currentStatus", "description"), ingress_route.status, strict=True))

    cleared = {"currentStatus": None, "description": None}
    return Statuses(connection, INGRESS_ROUTES, INGRESS_ROUTES, own, cleared,
                    _serves_ingress_route(connection, settings))


def _serves_ingress_route(connection: Connection, settings: WatchSettings) -> Callable[[Key], bool]:
    """Return a test for IngressRoutes whose roots, or themselves without a root, are in served namespaces.

    One that another router's root reaches as well is left to that router. Raises: KubeError.
    """
    namespaces = _namespaces(connection, settings)
    if namespaces is None:
        return lambda key: True
    listed = list_values(connection, INGRESS_ROUTES,
                         selectors=kind_states.selectors(settings, INGRESS_ROUTES))
    known = IngressRoutes({}, settings.sources.ingress_routes)
    known.apply(Delta(ingress_routes={each.key: each for each in listed}))
    return lambda key: all(root.namespace in namespaces for root in known.roots(key) or [key])
