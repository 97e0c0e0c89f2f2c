"""Everything that the router watches: a thread per kind, one store, changes on demand."""

import logging
import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from f5router.kube.api.connection import Connection
from f5router.kube.secrets import secret_watch
from f5router.kube.secrets.secret_namespaces import NamespaceWatches
from f5router.kube.secrets.secret_schedule import Pace
from f5router.kube.secrets.secret_watch import SecretWatch
from f5router.kube.settings import SecretLimits
from f5router.kube.watch import named_namespace, poller
from f5router.kube.watch.poller import Poller
from f5router.kube.watch.reflector import Reflector, Timing
from f5router.kube.watch.sources import (
    CLUSTER_NETWORKS,
    ENDPOINTS,
    HOST_SUBNETS,
    NAMESPACES,
    NODES,
    PLACED_ENDPOINTS,
    PLACED_SLICES,
    PROJECTS,
    ROUTES,
    SERVICES,
    SLICES,
    Source,
)
from f5router.kube.watch.store import Store
from f5router.model.backoff import Backoff
from f5router.model.cluster import Delta, Key, Route
from f5router.model.selection import NamespaceFilter, Selection
from f5router.model.selectors import EVERYTHING

log = logging.getLogger(__name__)

JOIN_S = 0.9
"""How long stop() waits for the threads together."""

POLL_S = 0.05
"""Between looks at what ends a wait, besides what is waited for."""

USUAL = Timing()

EVERY_ROUTE = Selection()

SECRET_LIMITS, SECRET_PACE = SecretLimits(), Pace()

SECRETS_S = 5.0
"""How long the start waits for Secrets when all else is listed: for many, not for one that hangs."""

PROJECTS_S = 30.0
"""From one list of projects to the next. The original router waits for half an hour."""

NETWORK_S = 60.0
"""From one reading of the ClusterNetwork to the next: another vxlanPort makes all pods unreachable."""

OPTIONAL = (HOST_SUBNETS, CLUSTER_NETWORKS)
"""Read to check settings; where they are forbidden or do not exist, nothing is wrong."""


class ClusterWatcher:
    """Routes, Services, endpoints and, if wanted, Nodes and their network as the API server tells."""

    def __init__(self, connection: Connection, *, on_change: Callable[[], None],
                 selection: Selection = EVERY_ROUTE, watch_nodes: bool = False, watch_sdn: bool = False,
                 nodeport: bool = False, node_selector: str = "", use_endpoints: bool = False,
                 watch_secrets: bool = False, secrets_s: float = SECRETS_S,
                 secret_limits: SecretLimits = SECRET_LIMITS, secret_pace: Pace = SECRET_PACE,
                 resync_s: float = USUAL.resync_s, page_size: int = USUAL.page_size,
                 watch_s: tuple[float, float] = USUAL.watch_s, grace_s: float = USUAL.grace_s,
                 backoff: Backoff = USUAL.backoff,
                 clock: Callable[[], float] = time.monotonic,
                 sleep: Callable[[float], object] | None = None):
        """Nothing is sent before start(). Arguments beside those of Timing:

        on_change: called from the threads of the watchers once synced() and after each stored
            change from then on. It must be quick.
        selection: what is watched; without a namespace, that of the connection, which may be all.
        watch_nodes: Nodes too; watch_sdn: HostSubnets and ClusterNetworks too.
        nodeport: Nodes are the pool members, so nothing works without them; of endpoints only their
            Nodes are kept, and they may be forbidden.
        node_selector: labels of the Nodes that are watched.
        use_endpoints: read Endpoints although EndpointSlices may be served.
        watch_secrets: what Routes name in spec.tls.externalCertificate, too.
        secrets_s: how long the start waits for them. A Secret that is told of is known; of one that is
            not, nobody knows what its Routes need.
        secret_limits: how many of them are read; secret_pace: how often.
        sleep: None for one that stop() cuts short.
        """
        self._notify = on_change
        self._store = Store()
        self._lock = threading.Lock()
        self._synced = threading.Event()
        self._stopped = threading.Event()
        whole, listed = (PLACED_SLICES, PLACED_ENDPOINTS) if nodeport else (SLICES, ENDPOINTS)
        self._slices = listed if use_endpoints else whole
        sources = [ROUTES, SERVICES, self._slices]
        self._selection, self._filter = selection, NamespaceFilter()
        if selection.by_namespace:
            sources.append(PROJECTS if selection.project_labels else NAMESPACES)
        if watch_nodes or nodeport:
            sources.append(NODES)
        if watch_sdn:
            sources += OPTIONAL
        self._dispensable = {*OPTIONAL, self._slices if nodeport else NODES}
        """What is not waited for when it is forbidden."""
        self._node_selector = node_selector
        self._waiting = set(sources)
        self._listed_once: set[Source] = set()
        self._enough = threading.Timer(secrets_s, self._begin, kwargs={"without_secrets": True})
        self._enough.daemon = True
        self._first = Delta()
        """What is known until synced(); not drained yet."""
        self._problems: dict[Source, str] = {}
        self._refused_at: dict[Source, float] = {}
        """When a kind was refused first, monotonic seconds."""
        self._absent, self._absent_at = "", math.inf
        """Why nothing is read: the only namespace does not exist; and since when, monotonic seconds."""
        self._namespace = namespace = selection.namespace or connection.namespace
        self._connection, self._timing = connection, Timing(page_size, resync_s, watch_s, grace_s, backoff)
        self._clock, self._sleep = clock, sleep or self._stopped.wait
        self._namespaces = NamespaceWatches(
            connection, timing=self._timing, clock=clock,
            on_change=lambda key: self._secrets.changed(key) if self._secrets else None,
            on_watch=lambda name, runs: self._secrets.watched(name, runs) if self._secrets else None)
        self._secrets = SecretWatch(
            secret_watch.reader(connection, secret_pace.timeout_s), self._store, self._changed, clock,
            outages=connection.outages, pace=secret_pace, limits=secret_limits,
            on_namespaces=self._namespaces.want,
        ) if watch_secrets else None
        self._readers = {source: self._reader(source, namespace) for source in sources}
        routes = self._readers[ROUTES]
        assert isinstance(routes, Reflector)
        self._routes = routes
        self._relist_due = False
        """Whether `on_change` is to be called when `relisted`."""
        self._threads = [
            threading.Thread(target=reader.run, name=f"watch-{source.resource}", daemon=True)
            for source, reader in self._readers.items()]

    def _reader(self, source: Source, namespace: str | None) -> Reflector | Poller:
        connection, timing = self._connection, self._timing
        heard: dict[str, Any] = {"on_list": lambda: self._listed(source), "on_change": self._changed,
                 "on_problem": lambda text: self._problem(source, text)}
        selectors = _selectors(self._selection, self._node_selector, source)
        if source is CLUSTER_NETWORKS:
            read, period_s = poller.one(connection, source, "default"), NETWORK_S
        elif source is PROJECTS:
            read = poller.every(connection, source, selectors, page_size=timing.page_size,
                                stopped=self._stopped)
            period_s = PROJECTS_S
        else:
            return Reflector(connection, source, self._store, namespace=namespace, selectors=selectors,
                             timing=timing, clock=self._clock, sleep=self._sleep, **heard)
        return Poller(
            connection.outages, source, read, self._store, timing=timing, sleep=self._sleep,
            period_s=min(period_s, timing.resync_s or period_s), **heard)

    def start(self) -> None:
        """Start the threads; where there is only one namespace, the others once that exists."""
        if self._secrets is not None:
            self._secrets.start()
        if self._namespace:
            threading.Thread(target=self._start_in_namespace, args=(self._namespace,), name="namespace",
                             daemon=True).start()
        else:
            self._start_watching()

    def _start_watching(self) -> None:
        for thread in self._threads:  # after stop() they end at once
            thread.start()

    def _start_in_namespace(self, namespace: str) -> None:
        """List nothing before the namespace exists: its lists would be empty, and so would be the BIG-IP."""
        named_namespace.wait_for(
            self._connection, namespace, on_absent=self._namespace_absent, stopped=self._stopped)
        if not self._stopped.is_set():
            self._start_watching()

    def _namespace_absent(self, why: str) -> None:
        with self._lock:
            self._absent, self._absent_at = why, time.monotonic() if why else math.inf
        if why:
            log.error("nothing is changed until the namespace exists", extra={"problem": why})
        else:
            log.info("the namespace exists now", extra={"namespace": self._namespace})

    def stop(self) -> None:
        """End the threads, within a second; one that is still connecting ends later, unheard."""
        self._stopped.set()
        self._enough.cancel()
        for reflector in self._readers.values():
            reflector.stop()
        if self._secrets is not None:
            self._secrets.stop()
            self._namespaces.stop()
        end = time.monotonic() + JOIN_S
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))
        if self._secrets is not None:
            self._secrets.join(end)
            self._namespaces.join(end)

    def synced(self) -> bool:
        """Whether every kind has been listed; what is dispensable, if forbidden, is not waited for."""
        return self._synced.is_set()

    def wait_synced(self, timeout_s: float, *, refused_s: float = math.inf,
                    stop: threading.Event | None = None) -> bool:
        """synced(), at the latest after timeout_s seconds; missing() then tells why not.

        Args:
            refused_s: how long a kind that is waited for may be forbidden or not served: long enough
                for a right that was granted a moment ago; then only an administrator can help.
            stop: ends the wait.
        """
        end = time.monotonic() + timeout_s
        while not self._synced.wait(POLL_S):
            now = time.monotonic()
            if now >= min(end, self._refused_since() + refused_s) or (stop is not None and stop.is_set()):
                return self.synced()
        return True

    def problems(self) -> tuple[str, ...]:
        """A message for each kind that is forbidden or not served; empty when all is well.

        An API server that does not answer is no such problem: what is known stays.
        """
        with self._lock:
            return tuple(text for source, text in self._problems.items() if source not in OPTIONAL)

    def nodes_problem(self) -> str:
        """Why Nodes cannot be read, "" when they can or are not wanted."""
        with self._lock:
            return self._problems.get(NODES, "")

    def missing(self) -> tuple[str, ...]:
        """What is not known of the cluster: kinds not listed yet, kinds that cannot be read any more.

        Not what is dispensable and forbidden: Routes are served without.
        """
        with self._lock:
            if self._absent:
                return (self._absent,)
            refused = [text for source, text in self._problems.items() if source not in self._dispensable]
            waiting = self._waiting - self._problems.keys()
        not_loaded = () if self._secrets is None or self.synced() else self._secrets.not_loaded()
        return (*(f"{source.resource} are not listed yet" for source in waiting), *not_loaded, *refused)

    def relist(self) -> None:
        """Have everything that Routes and their pools are made of listed again."""
        self._relist_due = True
        for reflector in self._relisting():
            reflector.relist()

    def relisted(self) -> bool:
        """True if lists of all these are complete that began after the last `relist`.

        The next drain has what they found.
        """
        done = all(reflector.relisted for reflector in self._relisting())
        self._relist_due = self._relist_due and not done
        return done

    def _relisting(self) -> list[Reflector | Poller]:
        """Not what is dispensable and cannot be read."""
        with self._lock:
            left_out = self._dispensable & self._problems.keys()
        return [reflector for source, reflector in self._readers.items()
                if source not in OPTIONAL and source not in left_out]

    def pending(self) -> int:
        """How many changes wait for the next drain."""
        with self._lock:
            return self._store.pending() + self._first.size()

    def drain(self) -> Delta:
        """What changed since the last call, each object once; empty before synced()."""
        if not self.synced():
            return Delta()
        with self._lock:
            listed = set(self._listed_once)
            first, self._first = self._first, Delta()
        chosen = self._chosen()
        if self._secrets is not None:
            self._secrets.follow(chosen.routes)
        return replace(first.then(chosen), nodes_listed=NODES in listed, slices_listed=self._slices in listed)

    def drain_endpoints(self) -> Delta:
        """The same of endpoints alone, as far as the Routes drained before need them."""
        return self._store.drain_slices() if self.synced() and not self._first else Delta()

    def has_endpoints(self) -> bool:
        """True if `drain_endpoints` may have something."""
        return self._store.has_slices()

    def _chosen(self) -> Delta:
        """What changed in the store; only Routes of the selection."""
        delta = self._store.drain()
        return self._filter.apply(delta) if self._selection.by_namespace else delta

    def warnings(self) -> tuple[str, ...]:
        """What an operator should know of the selection, as of the last drain."""
        if not self._selection.by_namespace or self._filter.namespaces or not self.synced():
            return ()
        projects = self._selection.project_labels
        if projects:
            return (f"--project-labels {projects!r} takes no project that the account may see: no Route is "
                    "served",)
        return (f"--namespace-labels {self._selection.namespace_labels!r} takes no namespace: no Route is "
                "served",)

    def route(self, key: Key) -> Route | None:
        """The newest known Route, with resource_version and status_ingress."""
        found = self._store.get("routes", key)
        return found if isinstance(found, Route) else None

    def route_source(self) -> Source:
        """Where the cluster serves Routes, as far as it is known."""
        return self._routes.source

    def watch_routes(self, heard: Callable[[Route, Route], None]) -> None:
        """Have every newer reading of a Route told, status included: the Route before, and as it is now.

        Called from the threads of the watchers and of observe(). It must be quick.
        """
        self._store.on_route = heard

    def observe(self, route: Route) -> None:
        """Take over a Route read or written elsewhere, if it is newer than the known one."""
        if self._store.refresh_route(route):
            self._changed()

    def _listed(self, source: Source) -> None:
        with self._lock:
            first = source not in self._listed_once
            self._listed_once.add(source)
        if (first and source in self._dispensable) or (self._relist_due and self.relisted()):
            self._changed()
        self._done(source)

    def _done(self, source: Source) -> None:
        with self._lock:
            self._waiting.discard(source)
        self._begin()

    def _begin(self, *, without_secrets: bool = False) -> None:
        """End the start, once every kind is known and, of all Routes that there are by then, the Secrets.

        Args: without_secrets: do not wait for the Secrets any more.
        """
        with self._lock:
            if self._waiting or self._synced.is_set():
                return
            chosen = self._chosen()
            self._first = self._first.then(chosen)
            if self._secrets is not None:
                self._secrets.follow(chosen.routes)
                if not self._secrets.complete() and not without_secrets:
                    if not self._enough.ident:
                        self._enough.start()
                    return
            missing = () if self._secrets is None else self._secrets.not_loaded()
            self._synced.set()
        log.info("all kinds are listed")
        if missing:
            log.warning("started without Secrets", extra={"secrets": len(missing), "first": missing[0]})
        self._changed()

    def _problem(self, source: Source, text: str) -> None:
        with self._lock:
            known = self._problems.get(source, "")
            if text:
                self._problems[source] = text
                self._refused_at.setdefault(source, time.monotonic())
            else:
                self._problems.pop(source, None)
        if text and not known:
            level = logging.INFO if source in OPTIONAL else logging.ERROR
            log.log(level, "kind cannot be read", extra={"kind": source.resource, "error": text})
        elif known and not text:
            log.info("kind can be read again", extra={"kind": source.resource})
        if text and source in self._dispensable:
            self._done(source)

    def _refused_since(self) -> float:
        """Since when a kind that is waited for is refused, or the namespace absent; infinite if none is."""
        with self._lock:
            refused = (at for source, at in self._refused_at.items() if source in self._waiting)
            return min(refused, default=math.inf) if self._absent_at == math.inf else self._absent_at

    def _changed(self) -> None:
        if self._stopped.is_set():
            return
        if not self._synced.is_set():
            self._begin()
            return
        try:
            self._notify()
        except Exception:  # a watcher must outlive a bug of its listener
            log.exception("listener failed")


def _selectors(selection: Selection, nodes: str, source: Source) -> dict[str, str]:
    """What the API server is asked to choose by; empty for everything."""
    labels = {ROUTES: selection.labels, NAMESPACES: selection.namespace_labels,
              PROJECTS: selection.project_labels if selection.project_labels != EVERYTHING else "",
              NODES: nodes}
    wanted = {"labelSelector": labels.get(source, ""),
              "fieldSelector": selection.fields if source is ROUTES else ""}
    return {name: text for name, text in wanted.items() if text}
