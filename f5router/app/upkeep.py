"""Periodic work: looks at the BIG-IP, at files and at dates of certificates, and the search for drift."""

import math
from collections.abc import Callable

from f5router.app import file_watch
from f5router.app.failover_watch import FailoverWatch
from f5router.app.file_watch import FileWatch
from f5router.app.monitor import Monitor
from f5router.app.timing import Timing
from f5router.config.config import Config
from f5router.icontrol import generations
from f5router.icontrol.generations import Place
from f5router.icontrol.observation import Observation
from f5router.reconcile.drift import DriftCheck
from f5router.reconcile.drift_hint import DriftHint
from f5router.reconcile.explained import Explained
from f5router.reconcile.reading_pace import HINTS, READINGS, ReadingPace
from f5router.reconcile.reconciler import Reconciler

CERTIFICATES_S = 60.0
"""Period at which the dates of all certificates are compared; with 10,000 of them that takes 2 ms."""


class Upkeep:
    """Does periodic work. The loop's thread calls its methods."""

    def __init__(self, config: Config, reconciler: Reconciler, monitor: Monitor, *, leads: Callable[[], bool],
                 timing: Timing, clock: Callable[[], float]):
        """Args: leads: True for a router that writes."""
        device, inbox = reconciler.device, reconciler.inbox
        self._reconciler, self._device, self._timers = reconciler, device, reconciler.timers
        self._monitor, self._leads, self._timing, self._clock = monitor, leads, timing, clock
        self.failover = FailoverWatch(device, reconciler.reader)
        self.client_tls_files = FileWatch(
            "changed file for TLS towards clients", file_watch.client_tls(config.tls_paths), config.tls_files,
            period_s=timing.files_s, clock=clock)
        self.destination_ca_file = FileWatch(
            "changed default destination CA", file_watch.destination_ca(config.destination_ca_path),
            config.default_destination_ca, period_s=timing.files_s, clock=clock)
        self._observed_at = float("-inf")
        """When the last reading of the whole device began."""
        self.drift = DriftCheck(reconciler, wake=inbox.wake, pace=ReadingPace(
            "all", config.observe_interval_s, READINGS if config.observe_interval_adapts else math.inf))
        self.hint = DriftHint(
            lambda extent: generations.begin(device.client, Place(config.folder, (
                config.http_virtual, config.https_virtual)), extent, inbox.wake),
            Explained(reconciler.rollouts.is_writing, lambda: device.observed, lambda: device.unit.replies),
            pace=ReadingPace("names and generations", config.drift_interval_s,
                             HINTS if config.drift_interval_adapts else math.inf),
            limit_s=config.observe_interval_s, clock=clock)
        device.on_reading, device.on_read = self._begin_reading, self._take_reading
        self._hinted = False
        """True if a hint was the reason for the last reading."""

    def start(self) -> None:
        """Set the timers."""
        now = self._clock()
        self._timers.at(now, "failover", self._check_failover)
        self._timers.at(now + self._timing.servers_s, "incidents", self._look_at_incidents)
        self._timers.at(now + self._timing.files_s, "files", self._read_files)
        self._timers.at(now + CERTIFICATES_S, "certificates", self._look_at_certificates)

    @property
    def observed_at(self) -> float | None:
        """When the last reading of the whole device began, in monotonic seconds; None before the first."""
        at = max(self._observed_at, self._reconciler.reader.read_at)
        return at if math.isfinite(at) else None

    def _check_failover(self) -> None:
        """Read the failover state, and do so again after a while."""
        self._timers.at(self._clock() + self._timing.failover_s, "failover", self._check_failover)
        if self._leads():
            self._device.dispatcher.send(self._device.failover.check, self.failover.checked)

    def _look_at_incidents(self) -> None:
        """Look at what may go wrong with the installation, and do so again after a while."""
        self._timers.at(self._clock() + self._timing.servers_s, "incidents", self._look_at_incidents)
        self._monitor.incidents.look(leads=self._leads(), rejected=self._monitor.rejected())

    def _read_files(self) -> None:
        """Read the administrator's files again."""
        self._timers.at(self._clock() + self._timing.files_s, "files", self._read_files)
        if self.client_tls_files.has_changed(now=True):
            self._reconciler.set_tls_files(self.client_tls_files.content)
        if self.destination_ca_file.has_changed(now=True):
            self._reconciler.work.add(
                self._reconciler.set_default_destination_ca(self.destination_ca_file.content))

    def _look_at_certificates(self) -> None:
        self._timers.at(self._clock() + CERTIFICATES_S, "certificates", self._look_at_certificates)
        self._reconciler.reports.reevaluate(self._reconciler.certificates.take_changed())

    def _begin_reading(self) -> None:
        self.hint.begin_reading()
        self._reconciler.drift.others.begin_reading()

    def _take_reading(self, observation: Observation) -> None:
        self.hint.take_reading(observation.generations)
        self._reconciler.drift.others.compare(
            self._device.observed, observation.objects, self._reconciler.engine.objects)

    def check_drift(self, now: float) -> None:
        """Read the device again beside the loop if that is due, and compare some of what was read."""
        if self._reconciler.reader.reason or self._reconciler.reader.reading is not None:
            return
        try:
            hinted = self.hint.check(now)
            if hinted or now >= self._due_at():
                self._observed_at, self._hinted = now, hinted
                self.drift.begin()
            if self.drift.step():
                if self._hinted:
                    self.hint.record_reading(right=self.drift.found_drift,
                                             cost_s=self.drift.pace.cpu_s)
                self._monitor.health.reached()
                self._reconciler.leftovers.is_due = True
        except Exception as exc:
            self._reconciler.rollouts.suspend(exc)
        self._set_timer()

    def _due_at(self) -> float:
        """Return when the whole device is read again."""
        return max(self._observed_at, self._reconciler.reader.read_at) + self.drift.pace.interval_s

    def _set_timer(self) -> None:
        """Let the loop make a turn when the next reading is due."""
        at = min(self.hint.due_at(), self.drift.due_at(), self._due_at())
        if -math.inf < at < math.inf and at != self._timers.when("drift"):
            self._timers.at(at, "drift", lambda: None)
