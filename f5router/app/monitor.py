"""Health and metrics of a running controller, for probes and Prometheus."""

import time
from collections.abc import Callable, Mapping

from f5router.app.incidents import Incidents
from f5router.app.server_watch import ServerWatch
from f5router.app.settling import Settling
from f5router.config.config import Config
from f5router.icontrol.rest.client import SAVE_TIMEOUT_S
from f5router.icontrol.rest.transport import LOOKING, STATISTICS
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.lease.campaign import Campaign
from f5router.kube.status.events import EventWriter
from f5router.kube.status.front_end_statuses import FrontEndStatuses
from f5router.model.errors import Standby
from f5router.model.findings import named
from f5router.model.ltm import Pool
from f5router.monitoring.collectors import Sources
from f5router.monitoring.health import Health, Heartbeat
from f5router.monitoring.metrics import Metrics
from f5router.monitoring.statistics import Statistics, StatisticsReader
from f5router.plan.change import AnyChange
from f5router.reconcile.delete_guard import DeleteGuard
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.report import Report
from f5router.reconcile.row import Counts
from f5router.sources.delegation_graph import StatusCounts
from f5router.sources.gateway.verdicts import ObjectCounts
from f5router.views.records import History

WAKE_S = 30.0
"""The loop makes a turn at least so often, so that it is seen to be alive."""


class Monitor:
    """Health and Metrics of one controller; only its thread calls its methods."""

    def __init__(self, health: Health, metrics: Metrics, reconciler: Reconciler, incidents: Incidents, *,
                 queues: Mapping[str, Callable[[], int]],
                 statistics: Callable[[], Statistics | None] = lambda: None,
                 clock: Callable[[], float] = time.monotonic):
        """Args: queues: length of each queue by name; statistics: the newest, from any thread."""
        self.health, self.metrics, self._reconciler, self._clock = health, metrics, reconciler, clock
        self.incidents, self.statistics = incidents, statistics
        self.history, self.queues = History(time.time), queues
        self._counts_before, self._calls_before = Counts(), 0
        """Changes, and REST calls, before the rollout that goes on."""
        self._began_at = 0.0

    def heartbeat(self) -> None:
        """Record that the loop begins a round."""
        self.health.heartbeat.beat()

    def pass_began(self) -> None:
        """Take the beginning of a reading, or of a rollout."""
        self._began_at, self._calls_before = self._clock(), self._calls()
        self._counts_before = self._reconciler.table.counts
        self.history.pass_began(is_first_load=not self.health.is_loaded)

    def pass_ended(self, error: Exception | None, *, is_pause: bool) -> None:
        """Take the end of a reading or rollout. Args: is_pause: the error says nothing about the device."""
        problem, seconds = "", self._clock() - self._began_at
        if error is None or isinstance(error, Standby):
            self.health.reached()
        if error is not None and not is_pause:
            problem = str(error) or type(error).__name__
            if not isinstance(error, Standby):
                self.health.failed(error)
            self.metrics.cut_short(self._reconciler.engine.routes())
        counts = self._reconciler.table.counts.since(self._counts_before)
        self.history.pass_ended(refused=counts.refused, calls=self._calls() - self._calls_before,
                                seconds=seconds, problem=problem)
        if not isinstance(error, Standby):  # else nothing was to be done
            self.metrics.timed(seconds, success=error is None)

    def wrote(self, change: AnyChange) -> None:
        """Record a confirmed write."""
        self._reconciler.times.written(change.ref)
        self._reconciler.drift.written(change.ref)
        self.metrics.wrote(change)
        self.history.wrote(change)

    def record(self, report: Report) -> None:
        """Record what has settled."""
        self.metrics.record(report, self._reconciler.engine.routes())
        self.incidents.routes.record(report.warnings)
        self.history.record(report, self._reconciler.engine.routes())

    def rejected(self) -> int | None:
        """Return the number of Routes that are rejected; None before the first load has ended."""
        return self.metrics.rejected() if self.health.is_loaded else None

    def _calls(self) -> int:
        """Return the number of REST calls since the start that passes have a part in."""
        return progress(self._reconciler.device.counts)


def build_monitor(config: Config, cluster: ClusterWatcher, reconciler: Reconciler, statuses: FrontEndStatuses,
                  warnings: EventWriter, settling: Settling, servers: ServerWatch, incidents: Incidents, *,
                  ingress_routes: StatusCounts | None = None, gateways: ObjectCounts | None = None,
                  campaign: Campaign | None = None) -> Monitor:
    """Build the Monitor of these parts."""
    device, guard, syncer = reconciler.device, reconciler.guard, settling.syncer
    heartbeat = Heartbeat(
        limit_s=WAKE_S + silence_s(config), progress=lambda: progress(device.counts))
    health = Health(heartbeat, missing=cluster.missing, degraded=cluster.degraded,
                    standby=device.pair.obstacle,
                    held=lambda: _held(guard), others=lambda: reconciler.drift.others.problem,
                    troubles=lambda: {check: named(group) for check, group in incidents.by_check().items()},
                    sync=lambda: syncer.state, slow=lambda: device.client.slow_requests.warnings(),
                    election=campaign.state if campaign else lambda: "",
                    refusal=campaign.refusal if campaign else lambda: "")
    statistics = _statistics(config, reconciler, health, campaign)
    sources = Sources(lambda: device.counts, {
        "cluster": cluster.pending, "objects": lambda: reconciler.queue_lengths()[0],
        "members": lambda: reconciler.queue_lengths()[1], "status": statuses.pending,
        "events": warnings.pending,
    }, lambda: dict(statuses.counts), statuses.contended, device.pair.active, lambda: syncer.in_sync,
        held=lambda: (len(guard.held), guard.held_ever), kept=lambda: len(guard.kept),
        astray=lambda: reconciler.engine.places.count,
        unreadable=cluster.unreadable,
        ingress_routes=ingress_routes,
        gateways=gateways.counts if gateways else None,
        request_times=lambda: [unit.client.times.durations() for unit in device.pair.units],
        reached=health.is_reached, status_rate=statuses.rate_per_s, units=device.pair.states,
        objects=lambda: device.observed, refused=lambda: len(reconciler.failures),
        writes_refused=lambda: reconciler.table.refused,
        routes=reconciler.engine.routes, times=reconciler.times, drift=reconciler.drift,
        findings=lambda: incidents.counts(health.error), servers=servers.up,
        front_ends=lambda: {each.virtual: each.front_end for each in device.own_servers.listeners},
        silent=lambda: servers.silence() is not None,
        saved=lambda: settling.unsaved is None if settling.saves else None,
        statistics=statistics.newest, readings=statistics.readings,
        default_certificate=lambda: reconciler.engine.tls_files.default_certificate,
        watches=cluster.watch_counts,
        leader=(lambda: (campaign.leads(), campaign.transitions)) if campaign else lambda: None)
    metrics = Metrics(sources, most_pools=config.statistics_pools, most_members=config.statistics_members)
    return Monitor(health, metrics, reconciler, incidents, queues=sources.queues,
                   statistics=statistics.newest)


def _held(guard: DeleteGuard) -> str:
    return "; ".join(filter(None, (
        f"holding {len(guard.held)}" if guard.held else "",
        f"keeping the members of {len(guard.kept)} pools" if guard.kept else "")))


def _statistics(config: Config, reconciler: Reconciler, health: Health,
                campaign: Campaign | None) -> StatisticsReader:
    """Build the reader of statistics: not while the device does not answer, or another replica leads."""
    device = reconciler.device
    return StatisticsReader(
        lambda: (device.unit.name, device.client),
        lambda: {ref.path: len(obj.members) for ref, obj in dict(device.observed).items()
                 if isinstance(obj, Pool)},
        lambda: device.virtual_servers, interval_s=config.statistics_interval_s,
        most_members=config.statistics_members,
        may_read=lambda: health.is_reached() and (campaign is None or campaign.leads()))


def progress(counts: Mapping[str, int]) -> int:
    """Return the number of requests that the loop has a part in: other threads read states and statistics."""
    return sum(count for label, count in counts.items() if label not in (LOOKING, STATISTICS))


def silence_s(config: Config) -> float:
    """Return the longest time in which the loop may neither complete a round nor send a request.

    The device gives up after timeout_s, a save takes longer; a file over SSH is connected for, logged
    in for, and copied, each with a limit of about that of a request.
    """
    one_s = config.bigip.connect_timeout_s + config.bigip.timeout_s
    return SAVE_TIMEOUT_S + 2 * one_s
