"""Watches everything that the router reads of the cluster: one thread per kind, and one store."""

import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from f5router.kube.api.connection import Connection
from f5router.kube.conversion import Conversion
from f5router.kube.secrets.secret_watch import SecretWatch
from f5router.kube.settings import SecretPace, WatchSettings, WatchTiming
from f5router.kube.watch import kind_states, known_statuses, single_reads
from f5router.kube.watch.api_look import KindRead
from f5router.kube.watch.gateway_demand import GatewayDemand
from f5router.kube.watch.kind_states import OPTIONAL, KindStates
from f5router.kube.watch.reflector import Listener, Reflector
from f5router.kube.watch.single_reads import ServiceReading
from f5router.kube.watch.sources import INGRESSES, NODES, POD_NETWORKS, ROUTES, SERVED, Source
from f5router.kube.watch.store import Store
from f5router.model.cluster import Key, Route
from f5router.model.delta import Changes, Delta
from f5router.model.ingress import Ingress
from f5router.model.known_status import KnownStatus
from f5router.model.limits import finish
from f5router.model.virtual_server import FrontEndSet
from f5router.sources.front_ends import FrontEndSelection
from f5router.sources.ingress_routes import IngressRoutes
from f5router.sources.settings import INGRESS_ROUTE, ROUTE
from f5router.sources.translator import ObjectSource

log = logging.getLogger(__name__)

JOIN_S = 0.9
"""How long stop() waits for the threads together."""
POLL_S = 0.05
"""Interval at which a wait looks for other reasons to end."""

class ClusterWatcher:
    """Follows Routes and what becomes Routes, Services, endpoints and, if configured, Secrets and Nodes."""

    def __init__(self, connection: Connection, settings: WatchSettings, *, on_change: Callable[[], None],
                 timing: WatchTiming | None = None, secret_pace: SecretPace | None = None,
                 clock: Callable[[], float] = time.monotonic,
                 sleep: Callable[[float], object] | None = None):
        """Send nothing before start().

        Args:
            on_change: called from the threads of the watchers when synced() becomes true, and after each
                stored change from then on. It must be quick.
            sleep: None for one that stop() ends early.
        """
        self._connection, self._settings, self._notify = connection, settings, on_change
        self._timing, self._clock = timing or WatchTiming(), clock
        self._store = Store(keeps_labels=bool(settings.front_ends))
        self.forget_addresses = self._store.forget_addresses
        self._lock = threading.Lock()
        self._synced, self._stopped = threading.Event(), threading.Event()
        self._sleep = sleep or self._stopped.wait
        self._absentable = kind_states.absentable(settings)
        self._slices = kind_states.slices(settings)
        self._kinds = KindStates(
            kind_states.sources(settings),
            dispensable={*OPTIONAL, self._slices if settings.nodeport else NODES, *(
                source for kind in settings.sources.kinds if kind != ROUTE for source in SERVED[kind])})
        self.record_look = self._kinds.record_look
        self._conversion = Conversion(settings, self._kinds)
        self._first = Delta()  # changes until synced(), which are not drained yet
        self._namespace = settings.selection.namespace
        pace = secret_pace or SecretPace()
        self._secrets = SecretWatch(
            connection, self._store, self._changed, limits=settings.secret_limits, pace=pace,
            timing=self._timing, clock=clock) if settings.secrets or self._conversion.sources else None
        if self._secrets is not None:
            self._conversion.follow = self._secrets.follow
        self.look_at_secret = self._secrets.look if self._secrets else lambda: None
        self.demand = GatewayDemand(connection, settings.sources, self._timing, on_settled=self._begin)
        self._secrets_timer = threading.Timer(pace.start_s, self._begin, (), {"without_secrets": True})
        self._secrets_timer.daemon, self._secrets_timer.name = True, "secrets-limit"
        self._readers = {source: self._reader(source) for source in kind_states.sources(settings)}
        self.on_relisted: Callable[[], None] = lambda: None
        """Called from a thread of the watchers when all lists are complete that `relist` has asked for."""
        self._relist_due = False  # True if it is to be called
        self._threads = [
            threading.Thread(target=reader.run, name=f"watch-{source.resource}", daemon=True)
            for source, reader in self._readers.items()]
        self._namespace_wait = threading.Thread(target=self._start_watching, name="namespace", daemon=True)
        self._starting = threading.Lock()
        """Held while the threads are started: none starts after stop(), when the interpreter may end."""

    def _reader(self, source: Source) -> Reflector:
        return Reflector(
            self._connection, source, self._store, namespace=self._namespace,
            selectors=kind_states.selectors(self._settings, source), timing=self._timing, clock=self._clock,
            sleep=self._sleep, listener=Listener(
                on_list=lambda: self._listed(source), on_change=self._changed,
                on_problem=lambda text: self._problem(source, text),
                on_absence=partial(self._absence, source) if source in self._absentable else None))

    def start(self) -> None:
        """Start the threads; if the router is limited to one namespace, once that exists."""
        if self._secrets is not None:
            self._secrets.start()
        if self._namespace:
            self._namespace_wait.start()
        else:
            self._start_watching()

    def _start_watching(self) -> None:
        if namespace := self._namespace:  # before it exists its lists are empty, and so would be the BIG-IP
            single_reads.wait_for_namespace(
                self._connection, namespace, stopped=self._stopped,
                on_absent=lambda problem: self._kinds.record_namespace(namespace, problem))
        with self._starting:
            if not self._stopped.is_set():
                self.demand.start()
                for thread in self._threads:
                    thread.start()

    def stop(self) -> None:
        """End the threads, within a second; a thread that is still connecting ends later, without effect."""
        with self._starting:
            self._stopped.set()
        self._secrets_timer.cancel()
        self.demand.stop()
        for reflector in self._readers.values():
            reflector.stop()
        if self._secrets is not None:
            self._secrets.stop()
        end = time.monotonic() + JOIN_S
        for thread in (self._namespace_wait, *self._threads):
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))
        if self._secrets is not None:
            self._secrets.join(end)

    def synced(self) -> bool:
        """True once every kind has been listed that is awaited.

        A kind is not awaited if it is dispensable and forbidden, or need not be served and is not.
        """
        return self._synced.is_set()

    def wait_synced(self, timeout_s: float, *, refused_s: float = math.inf, silent_s: float = math.inf,
                    stop: threading.Event | None = None, look: Callable[[], object] = lambda: None) -> bool:
        """Wait for synced(), at most timeout_s seconds; missing() then has the reasons.

        Args:
            refused_s: how long an awaited kind may be forbidden, or not served; then only people can help.
            silent_s: how long the API server may give no reply, or errors.
            stop: ends the wait; look: called now and then while it waits.
        """
        end = time.monotonic() + timeout_s
        while not self._synced.wait(POLL_S):
            given_up = time.monotonic() >= min(end, self._kinds.refused_since() + refused_s,
                                               self._connection.outages.since() + silent_s)
            if given_up or (stop is not None and stop.is_set()):
                return self.synced()
            look()
        return True

    def problems(self) -> tuple[str, ...]:
        """Return a message for each kind that is forbidden or not served; silence is no such problem."""
        return self._kinds.problems()

    def nodes_problem(self) -> str:
        """Return why Nodes cannot be read; "" if they can, or are not watched."""
        return self._kinds.problem(NODES)

    def missing(self) -> tuple[str, ...]:
        """Return the unknown parts of the cluster: kinds not listed yet, or no longer readable.

        Dispensable kinds that are forbidden are left out: Routes are served without them.
        """
        not_loaded = () if self._secrets is None or self.synced() else self._secrets.not_loaded()
        return (*self._kinds.missing(), *self.demand.missing(), *not_loaded)

    def degraded(self) -> tuple[str, ...]:
        """Return the unreadable kinds without which the router continues."""
        return (*self._kinds.degraded(), *self.unread_secrets())

    def unreadable(self) -> Mapping[str, int]:
        """Return the resources that cannot be read, each with 1; for Secrets, how many cannot."""
        secrets = 0 if self._secrets is None else len(self._secrets.unreadable())
        return dict.fromkeys(self._kinds.unreadable(), 1) | ({"secrets": secrets} if secrets else {})

    def unread_secrets(self) -> tuple[str, ...]:
        """Return one line for all Secrets that cannot be read; what was made of them stays."""
        return () if self._secrets is None or not (text := self._secrets.unreadable_text()) else (text,)

    def relist(self) -> None:
        """List everything again that Routes and their pools depend on."""
        with self._lock:
            for reflector in self._relisting():
                reflector.relist()
            self._relist_due = True
        self._check_relisted()

    def relisted(self) -> bool:
        """True if lists of all these that began after the last `relist` are in the next drain."""
        return all(reflector.relisted for reflector in self._relisting())

    def _check_relisted(self) -> None:
        """Call `on_relisted` once: a list has ended, or a kind is not required any more."""
        with self._lock:
            if not self._relist_due or not self.relisted():
                return
            self._relist_due = False
        self.on_relisted()

    def _relisting(self) -> list[Reflector]:
        return [self._readers[source] for source in self._kinds.required(self._readers)]

    def read_service(self, service: Key) -> ServiceReading:
        """Read a Service and its endpoints past the watches; from any thread. Raises: KubeError."""
        return single_reads.read_services(self._connection, self._readers[self._slices].source, service)

    def pending(self) -> int:
        """Count the changes that wait for the next drain."""
        with self._lock:
            return self._store.pending() + self._first.size()

    def drain(self) -> Changes:
        """Return the changes since the last call, each object once; empty before synced().

        They are taken from the watches at once; what is left is their conversion to Routes. Until it has
        ended, `objects` has nothing to say; a further call ends it first.
        """
        if not self.synced():
            return Changes.known(Delta())
        self.end_conversion()
        nodes_listed, slices_listed = map(self._kinds.is_listed, (NODES, self._slices))
        with self._lock:
            first, self._first = self._first, Delta()
        objects, networks = self._taken(), {*POD_NETWORKS} & self._readers.keys()
        known = replace(first.then(objects), nodes_listed=nodes_listed, slices_listed=slices_listed,
                        networks_unread=not all(map(self._kinds.is_known, networks)))
        return Changes(known, self._conversion.begin(objects, known.only_routes(first.routes)))

    def end_conversion(self) -> None:
        """Do what is left of a conversion; its Routes are in the next drain."""
        left = self._conversion.end()
        with self._lock:
            self._first = self._first.then(left)

    def _taken(self) -> Delta:
        """Drain the store."""
        kinds = self._settings.sources.kinds
        return replace(self._store.drain(), sources_unread=self._kinds.unread(kinds),
                       routes_absent=self._kinds.absent(kinds))

    def drain_endpoints(self, is_held: Callable[[Key], bool] = lambda service: False, *,
                        settled: bool = False) -> Delta:
        """See Store.drain_slices; nothing before the first drain has returned the Routes."""
        begun = self.synced() and not self._first
        return self._store.drain_slices(is_held, settled=settled) if begun else Delta()

    def has_endpoints(self) -> bool:
        """True if `drain_endpoints` may return a change."""
        return self._store.has_slices()

    def set_front_ends(self, front_ends: FrontEndSet, selections: Iterable[FrontEndSelection]) -> None:
        """Replace the front ends of the settings, which have some; for the thread that drains."""
        self._conversion.set_front_ends(front_ends, selections)
        self._notify()

    def begin_to_lead(self) -> None:
        """Assign addresses to Gateways as another replica has reported. For the thread that drains."""
        self._conversion.assign_anew()

    def watch_counts(self) -> Mapping[tuple[str, str], int]:
        return self._connection.watch_counts.counts()

    def reads(self) -> list[KindRead]:
        """Return how each kind is read that was listed, apart from optional ones."""
        return [KindRead(kind, reader.source, self._namespace) for kind, reader in self._readers.items()
                if kind not in OPTIONAL and self._kinds.is_listed(kind)]

    def secret_counts(self) -> Mapping[str, int]:
        """Return the number of Secrets to read, by namespace."""
        return {} if self._secrets is None else self._secrets.counts()

    def warnings(self) -> tuple[str, ...]:
        """Return warnings about the selection, as of the last drain."""
        if not (self._conversion.selects_nothing and self.synced()):
            return ()
        return (self._settings.selection.nothing_selected(),)

    def route(self, key: Key) -> Route | None:
        """Return the newest known Route, with resource_version and status_ingress."""
        route = self._store.get("routes", key)
        return route if isinstance(route, Route) else None

    def ingress(self, key: Key) -> Ingress | None:
        """Return the newest known Ingress, with resource_version and load_balancer."""
        ingress = self._store.get("ingresses", key)
        return ingress if isinstance(ingress, Ingress) else None

    def ingress_source(self) -> Source:
        """Return the API that serves Ingresses, as far as it is known."""
        return self.source_of(INGRESSES)

    def objects(self, kind: str) -> ObjectSource | None:
        """Return the converter of a kind to Routes; None for an unserved kind. For the draining thread."""
        return self._conversion.sources.get(kind)

    def selects(self, namespace: str) -> bool:
        """True if Routes of a namespace are served; for the thread that drains."""
        return self._conversion.selects(namespace)

    @property
    def ingress_routes(self) -> IngressRoutes | None:
        """The IngressRoutes as Routes, for the thread that drains; None if they are not served."""
        source = self._conversion.sources.get(INGRESS_ROUTE)
        return source if isinstance(source, IngressRoutes) else None

    def known_status(self, field: str, key: Key) -> KnownStatus | None:
        """Return the status of an object as it was read last. Args: field: of the Store."""
        return known_statuses.status_of(self._store.get(field, key))

    def source_of(self, source: Source) -> Source:
        """Return the API that serves a kind, as far as it is known."""
        return self._readers[source].source if source in self._readers else source

    def version_of(self, source: Source) -> str:
        """Return the version of the API by which a kind was listed, such as v1; "" while it was not."""
        served = self._readers[source].source if self._kinds.is_listed(source) else None
        return served.api_version.rpartition("/")[2] if served else ""

    def route_source(self) -> Source:
        """Return the API that serves Routes, as far as it is known."""
        return self._readers[ROUTES].source

    def watch_routes(self, on_update: Callable[[Route, Route], None]) -> None:
        """Register a callback for newer versions of Routes, status included; it gets old and new version.

        It is called from the threads of the watchers and of observe(), and must be quick.
        """
        self._store.on_route = on_update

    def observe(self, route: Route) -> None:
        """Store a Route read or written elsewhere, if it is newer than the known one."""
        if self._store.refresh_route(route):
            self._changed()

    def _listed(self, source: Source) -> None:
        if self._kinds.record_list(source):  # the first of a dispensable kind, or since it is served again
            self._changed()
        self._check_relisted()
        self._begin()

    def _problem(self, source: Source, problem: str) -> None:
        if self._kinds.record_problem(source, problem):
            self._begin()
        self._check_relisted()

    def _absence(self, source: Source, sure: bool) -> None:
        if self._kinds.record_absence(source, sure=sure):
            self._changed()
        self._check_relisted()

    def _begin(self, *, without_secrets: bool = False) -> None:
        """End the start once every kind is listed, and the Secrets of all Routes known by then are read.

        Args: without_secrets: do not wait for the Secrets any more.
        """
        with self._lock:
            if not (self._kinds.is_complete() and self.demand.is_settled) or self._synced.is_set():
                return
            chosen = finish(self._conversion.convert(self._taken()))
            self._first = self._first.then(chosen)
            if self._secrets is not None and not self._secrets.complete() and not without_secrets:
                if not self._secrets_timer.ident:
                    self._secrets_timer.start()
                return
            missing = () if self._secrets is None else self._secrets.not_loaded()
            self._synced.set()
        log.info("cluster caches synced")
        if missing:
            log.warning("started without Secrets", extra={"secrets": len(missing), "first": missing[0]})
        self._changed()

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
