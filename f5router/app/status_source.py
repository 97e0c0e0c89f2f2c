"""Source of the status page: gathers from the control loop and its parts; any thread may ask.

The loop answers with records that it collects in steps of a millisecond (`inquiries`), and only when somebody
asks. The thread that asks makes the expensive parts of these records, and keeps them until something changes.
The page is served over HTTP, with health and metrics, as long as the controller runs.
"""

import datetime
import ipaddress
import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import f5router
from f5router.app.config_sync import OFF
from f5router.app.controller import Controller
from f5router.app.route_list import FRESH_S, Input, RouteList
from f5router.config.config import Config
from f5router.icontrol import statistics
from f5router.model.cluster import Key, Route
from f5router.model.device_facts import VirtualFacts
from f5router.model.errors import BigIPError
from f5router.model.findings import SERVER_DISABLED, SERVER_MISSING
from f5router.model.limits import Steps
from f5router.model.texts import rfc3339
from f5router.monitoring.connections import Contexts, Listeners
from f5router.monitoring.http_server import Pages, Server
from f5router.monitoring.status_api import StatusAPI
from f5router.views import nodes, routes, snapshots
from f5router.views.nodes import CheckView, DeviceView, LicenceView, Locator, NodeView
from f5router.views.records import ChangeView, NodeRecord, RouteRecord
from f5router.views.route_view import EventView, Health, RoutePage, Summaries

log = logging.getLogger(__name__)

ANSWER_S = 5.0
"""Longest wait for the control loop."""
HEALTH_S = 5.0
"""Age up to which the health of the members of a pool is shown again."""
PATIENCE_S = 2.0
"""Longest wait for the BIG-IP to report it; what comes later is shown the next time."""
MOST_POOLS = 100
"""Pools whose health is kept."""


@dataclass(slots=True)
class _Kept:
    """A result with what it was made of."""

    value: Any
    revision: int
    at: float


class MemberHealth:
    """Reads the health of members when a Route is looked at: one pool at a time, each every HEALTH_S.

    A BIG-IP that does not answer holds up nobody: each reading has a thread of its own. Thread-safe.
    """

    def __init__(self, read: Callable[[str], Health], clock: Callable[[], float], *,
                 patience_s: float = PATIENCE_S):
        """Args: patience_s: how long a reading is waited for."""
        self._read, self._clock, self._patience_s = read, clock, patience_s
        self._turn = threading.Lock()
        """Held while a reading goes on."""
        self._known: dict[str, tuple[float, Health]] = {}

    def of(self, pool: str) -> Health:
        """Return the health of the members of a pool as far as it is known; {} if it is not."""
        at, known = self._known.get(pool, (float("-inf"), {}))
        if self._clock() - at < HEALTH_S or not self._turn.acquire(blocking=False):
            return known
        reading = threading.Thread(target=self._look, args=(pool,), name="member-health", daemon=True)
        reading.start()
        reading.join(self._patience_s)
        return self._known.get(pool, (at, known))[1]

    def _look(self, pool: str) -> None:
        health: Health = {}
        try:
            health = self._read(pool)
        except BigIPError as exc:
            log.debug("health of members not read", extra={"pool": pool, "reason": str(exc)})
        finally:
            self._known = {**dict(list(self._known.items())[1 - MOST_POOLS:]), pool: (self._clock(), health)}
            self._turn.release()


class StatusSource:
    """Answers for the status page. Thread-safe."""

    def __init__(self, controller: Controller, *, clock: Callable[[], float] = time.monotonic,
                 wall: Callable[[], float] = time.time):
        self._controller = controller
        self._history, self._clock, self._wall = controller.monitor.history, clock, wall
        device = controller.device
        self._health = MemberHealth(
            lambda pool: statistics.read_health(device.client.for_reading(), pool), clock)
        self._kept: dict[str, _Kept] = {}
        self._list = RouteList(self._everything, clock=clock, wall=self._now)

    @property
    def revision(self) -> int:
        """Number that grows with every change that a list shows."""
        return self._history.revision

    def summaries(self) -> Summaries:
        """Return all Routes in the order of their namespaces and names. Raises: Unanswered."""
        return self._list.get(self.revision)

    def route(self, key: Key, front_end: str | None) -> RoutePage | None:
        """Return a Route with the health of its members, their Nodes, and Events.

        Args: front_end: where it is served; None for the first one that serves it. Raises: Unanswered.
        """
        reconciler = self._controller.reconciler

        def wanted() -> list[Key]:
            return reconciler.engine.on_front_ends(key)[:1] if front_end is None else [key.on(front_end)]

        taken: tuple[RouteRecord, ...] = self._ask(
            lambda: snapshots.routes(reconciler, wanted(), self._history.known))
        if not taken:
            return None
        (record,) = map(self._with_servers, taken)
        health = self._health.of(record.pool.path) if record.pool is not None else {}
        return RoutePage(routes.view(record, self._now(), self._locator(), health),
                         self._events(record.evaluated.route))

    def _events(self, route: Route) -> tuple[EventView, ...]:
        """Return the last Events about the source object of a Route."""
        known = self._controller.reporter.events.recent.of(
            route.subject, route.uid if route.claimant == route.subject.key else "")
        return tuple(EventView(rfc3339(each.at), each.type, each.reason, each.message, each.count)
                     for each in known)

    def nodes(self) -> tuple[NodeView, ...]:
        """Return all Nodes by name. Raises: Unanswered."""
        def make() -> tuple[NodeView, ...]:
            taken: tuple[NodeRecord, ...] = self._ask(lambda: snapshots.nodes(self._controller.reconciler))
            return tuple(map(nodes.view, taken))

        value: tuple[NodeView, ...] = self._keep("nodes", make)
        return value

    def changes(self) -> tuple[ChangeView, ...]:
        """Return the last changes, the newest first."""
        return self._history.changes

    def device(self) -> DeviceView:
        """Return the summary of router and device."""
        controller = self._controller
        device, campaign = controller.device, controller.replica.campaign
        observed_at, settling = controller.upkeep.observed_at, controller.settling
        watch = controller.monitor.incidents.device
        licence, system, syncer = watch.read_licence, watch.system, settling.syncer
        return DeviceView(
            router=controller.config.status.router_name, version=f5router.__version__,
            addresses=tuple(unit.name for unit in device.pair.units), unit=device.unit.name,
            tmos=".".join(map(str, device.facts.version)) if observed_at is not None else "",
            active=device.pair.active(),
            sync=syncer.state or (OFF if controller.config.config_sync == OFF else ""),
            has_group=bool(syncer.state) if syncer.has_looked else None,
            licence=LicenceView(licence.exists, str(licence.ends or "")) if licence else None,
            clock_ahead_s=device.unit.client.clock_offset.ahead_s, ltm=system.ltm if system else None,
            role=system.role if system else None, save=settling.save_state(),
            last_save=self._wall_time(settling.last_save),
            leader=campaign.leads() if campaign else None, election=campaign.state() if campaign else "",
            last_reading=self._wall_time(observed_at),
            queues=tuple((name, length()) for name, length in controller.monitor.queues.items()),
            requests=tuple(sorted(device.counts.items())),
            checks=tuple(CheckView(check.name, check.problem, check.note, check.warns)
                         for check in controller.monitor.health.ready()))

    def _everything(self) -> Input:
        """Collect what the list of all Routes is made of. Raises: Unanswered."""
        reconciler, known = self._controller.reconciler, self._history.known
        taken: tuple[RouteRecord, ...] = self._ask(
            lambda: snapshots.routes(reconciler, list(reconciler.engine.routes()), known))
        statistics = self._controller.monitor.statistics()
        return Input(tuple(map(self._with_servers, taken)), self.nodes(),
                     statistics.pools if statistics else {})

    def _with_servers(self, record: RouteRecord) -> RouteRecord:
        """Return a record with the state of the virtual servers at the last look at them."""
        return replace(record, http=self._seen(record.http), https=self._seen(record.https))

    def _seen(self, facts: VirtualFacts | None) -> VirtualFacts | None:
        servers = self._controller.monitor.incidents.servers
        if facts is None or facts.path not in servers.up():
            return facts
        codes = {trouble.code for trouble in servers.findings() if trouble.at == facts.path}
        return replace(facts, exists=SERVER_MISSING not in codes, enabled=SERVER_DISABLED not in codes)

    def _ask(self, begin: Callable[[], Steps[Any]]) -> Any:
        return self._controller.inquiries.ask(begin, timeout_s=ANSWER_S)

    def _locator(self) -> Locator:
        views = self.nodes()
        value: Locator = self._keep("locator", lambda: Locator(views))
        return value

    def _keep(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the cached value if nothing has changed since, else compute it."""
        kept, revision, now = self._kept.get(name), self._history.revision, self._clock()
        if kept is not None and kept.revision == revision and now - kept.at < FRESH_S:
            return kept.value
        value = make()
        self._kept[name] = _Kept(value, revision, now)
        return value

    def _wall_time(self, at: float | None) -> float | None:
        """Return a time of the monotonic clock in seconds since the epoch."""
        return None if at is None else self._wall() - (self._clock() - at)

    def _now(self) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(self._wall(), datetime.UTC)


@contextmanager
def serve(config: Config, controller: Controller, stop: threading.Event) -> Iterator[Server | None]:
    """Serve inside a `with`, if the settings ask for it.

    Raises: ConfigError: the address, or a file of the certificate, cannot be used.
    """
    if config.listen is None:
        yield None
        return
    health, monitor = controller.monitor.health, controller.monitor
    health.stopping, health.loading = stop.is_set, controller.first_load.text
    source = StatusSource(controller)
    events = controller.reporter.events
    listeners = Listeners(lambda: source.revision + events.recent.revision)
    monitor.history.on_change = events.on_written = listeners.wake
    pages = Pages(live=health.live, ready=health.ready, metrics=monitor.metrics.page,
                  login=config.metrics_login, status=StatusAPI(source, listeners),
                  local=is_loopback(config.listen.host))
    contexts = Contexts(config.metrics_tls) if config.metrics_tls else None
    with Server(config.listen, pages, contexts) as server:
        try:
            yield server
        finally:
            listeners.close()


def is_loopback(host: str) -> bool:
    """True if only this machine can connect to an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
