"""The command `f5router status clear`: removes what a router has written into statuses of objects.

Meant for a router that is gone for good, or has a new name. A running router puts its entries back.

All entries of a router name are removed from Routes. Ingresses and IngressRoutes have no field for the name
of the writer: only who asks for these kinds has their statuses removed. An Ingress is the router's by its
class, and if its entries are those that the router writes. An IngressRoute has one controller, which its
class names. Both are looked for where the router does: by its labels, and in the namespaces that it serves,
for an IngressRoute that of the roots that reach it. A Gateway has one controller, which its GatewayClass
names; an HTTPRoute has an entry for each controller.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain

from f5router.admission import condition
from f5router.app.ingress_reporter import load_balancer_entries
from f5router.cli import object_statuses
from f5router.cli.object_statuses import Statuses
from f5router.config import cluster_settings, parsers
from f5router.config.config import kube_settings, read_text
from f5router.config.reader import Reader
from f5router.kube.api.connection import connect
from f5router.kube.api.work_queue import WorkItem, WorkQueue
from f5router.kube.settings import KubeSettings, WatchSettings
from f5router.kube.status import entry_cleanup, status_request
from f5router.kube.status.status_request import OwnedEntry, RouteStatus
from f5router.kube.watch.sources import ROUTES, choose_served
from f5router.logs.progress import Figures, Progress, counted
from f5router.model.cluster import Key
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
from f5router.model.gateway import BACKEND_TLS_POLICY, GATEWAY, GATEWAY_CLASS, ROUTE_KINDS
from f5router.model.json_types import JSON
from f5router.model.limits import Backoff
from f5router.model.selection import Selection
from f5router.model.texts import printable
from f5router.sources.settings import INGRESS, INGRESS_ROUTE, KINDS, ROUTE, SourceSettings

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
        kinds = cluster_settings.kinds(sources, (*KINDS, GATEWAY))
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
        INGRESS: lambda: object_statuses.ingresses(connection, watch, entries),
        INGRESS_ROUTE: lambda: object_statuses.ingress_routes(connection, watch),
        **{kind: partial(object_statuses.of_gateways, connection, watch, kind)
           for kind in (*ROUTE_KINDS, BACKEND_TLS_POLICY)},
        GATEWAY: lambda: object_statuses.gateways(connection, watch),
        GATEWAY_CLASS: lambda: object_statuses.gateway_classes(connection, watch)}
    written_kinds = {GATEWAY: (*ROUTE_KINDS, BACKEND_TLS_POLICY, GATEWAY, GATEWAY_CLASS)}
    for kind in chain.from_iterable(written_kinds.get(each, (each,)) for each in watch.sources.kinds):
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


def _clear(kind: str, settings: ClearConfig, statuses: Statuses, written: list[OwnedEntry]) -> int:
    """Clear statuses; returns how many are left."""
    results = Clearing(kind, settings, statuses.remove).run(written)
    left = len(written) - results["cleared"] - results["gone"]
    print(f"{kind}: {len(written)} had a status of this router, {results['cleared']} are cleared, "
          f"{results['gone']} had none left, {left} are left; {results['conflict']} conflicts")
    return left
