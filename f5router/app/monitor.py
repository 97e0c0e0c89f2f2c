"""Health and metrics of a running controller, for probes and Prometheus."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from f5router.app.config_sync import ConfigSyncer
from f5router.app.debounce import WAKE_S
from f5router.config.config import Config
from f5router.icontrol.rest.client import SAVE_TIMEOUT_S
from f5router.icontrol.rest.transport import LOOKING
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.lease.campaign import Campaign
from f5router.kube.status.events import EventWriter
from f5router.kube.status.status_writer import StatusWriter
from f5router.model.errors import Standby
from f5router.monitoring.health import Health, Heartbeat
from f5router.monitoring.http_server import Pages, Server
from f5router.monitoring.metrics import Metrics, Sources
from f5router.monitoring.serving_tls import Contexts
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.report import Report
from f5router.sources.status_counts import StatusCounts


class Monitor:
    """Health and Metrics of one controller; only its thread calls heartbeat, measured and record."""

    def __init__(self, health: Health, metrics: Metrics, reconciler: Reconciler, *,
                 clock: Callable[[], float] = time.monotonic):
        self.health, self.metrics, self._reconciler, self._clock = health, metrics, reconciler, clock

    def heartbeat(self) -> None:
        """Record that the loop begins a round."""
        self.health.heartbeat.beat()

    @contextmanager
    def measured(self, passing: Callable[[Exception], bool] = lambda exc: False) -> Iterator[None]:
        """Measure a pass. Args: passing: True for an error that is no sign of the device's health."""
        success: bool | None = False
        begin = self._clock()
        try:
            yield
            success = True
            self.health.reached()
        except Standby:
            success = None
            self.health.reached()
            self.metrics.cut_short(self._reconciler.engine.routes())
            raise
        except Exception as exc:
            if not passing(exc):
                self.health.failed(exc)
                self.metrics.cut_short(self._reconciler.engine.routes())
            raise
        finally:
            if success is not None:  # None: nothing was to be done
                self.metrics.timed(self._clock() - begin, success=success)

    def record(self, report: Report) -> None:
        """Record the result of a pass."""
        self.metrics.record(report, self._reconciler.engine.routes(), self._reconciler.device.observed)


def build_monitor(config: Config, cluster: ClusterWatcher, reconciler: Reconciler, statuses: StatusWriter,
                  warnings: EventWriter, syncer: ConfigSyncer, *,
                  ingress_routes: StatusCounts | None = None, campaign: Campaign | None = None) -> Monitor:
    """Build the Monitor of these parts."""
    device, guard = reconciler.device, reconciler.guard
    heartbeat = Heartbeat(
        limit_s=WAKE_S + silence_s(config), progress=lambda: progress(device.counts))
    health = Health(heartbeat, missing=cluster.missing, degraded=cluster.degraded,
                    standby=device.pair.obstacle,
                    held=lambda: f"{count} are held back" if (count := len(guard.held)) else "",
                    sync=lambda: syncer.state, slow=lambda: device.client.slow_requests.warnings(),
                    election=campaign.state if campaign else lambda: "",
                    refusal=campaign.refusal if campaign else lambda: "")
    sources = Sources(lambda: device.counts, {
        "cluster": cluster.pending, "status": statuses.pending, "events": warnings.pending,
    }, lambda: dict(statuses.counts), statuses.contended, device.pair.active, lambda: syncer.in_sync,
        held=lambda: (len(guard.held), guard.held_ever), ingress_routes=ingress_routes,
        request_times=lambda: [unit.client.times.durations() for unit in device.pair.units],
        reached=health.is_reached, status_rate=statuses.rate_per_s, units=device.pair.states,
        leader=(lambda: (campaign.leads(), campaign.transitions)) if campaign else lambda: None)
    return Monitor(health, Metrics(sources), reconciler)


def progress(counts: Mapping[str, int]) -> int:
    """Return the number of requests that the loop has a part in: states of units are read beside it."""
    return sum(count for label, count in counts.items() if label != LOOKING)


def silence_s(config: Config) -> float:
    """Return the longest time in which the loop may neither complete a round nor send a request.

    The device gives up after timeout_s, a save takes longer; a file over SSH is connected for, logged
    in for, and copied, each with a limit of about that of a request.
    """
    one_s = config.bigip.connect_timeout_s + config.bigip.timeout_s
    return SAVE_TIMEOUT_S + 2 * one_s


def serve(config: Config, monitor: Monitor, stop: threading.Event) -> AbstractContextManager[object]:
    """Serve health and metrics inside a `with`, if the settings ask for it.

    Raises: ConfigError: the address, or a file of the certificate, cannot be used.
    """
    if config.listen is None:
        return nullcontext()
    health = monitor.health
    health.stopping = stop.is_set
    contexts = Contexts(config.metrics_tls) if config.metrics_tls else None
    return Server(config.listen, Pages(
        live=health.live, ready=health.ready, metrics=monitor.metrics.page, login=config.metrics_login),
        contexts)
