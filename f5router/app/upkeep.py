"""Periodic work: looks at the BIG-IP, at files and at dates of certificates, and the search for drift."""

import math
from collections.abc import Callable

from f5router.app import file_watch
from f5router.app.failover_watch import FailoverWatch
from f5router.app.file_watch import FileWatch
from f5router.app.front_end_file import FrontEndFile
from f5router.app.monitor import Monitor
from f5router.app.timing import Timing
from f5router.config.config import Config
from f5router.icontrol import generations
from f5router.icontrol.dispatcher import Job, Lane
from f5router.icontrol.generations import Extent, Place
from f5router.icontrol.observation import Observation
from f5router.reconcile.drift import DriftCheck
from f5router.reconcile.drift_hint import DriftHint
from f5router.reconcile.explained import Explained
from f5router.reconcile.reading_pace import HINTS, READINGS, ReadingPace
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.timers import Timers

CERTIFICATES_S = 60.0
"""Period at which the dates of all certificates are compared; with 10,000 of them that takes 2 ms."""


class Upkeep:
    """Does periodic work. The loop's thread calls its methods."""

    def __init__(self, config: Config, reconciler: Reconciler, monitor: Monitor, *, leads: Callable[[], bool],
                 timers: Timers, timing: Timing, clock: Callable[[], float]):
        """Args:
        leads: True for a router that writes.
        timers: those that go on while the BIG-IP is in trouble.
        """
        device = reconciler.device
        self._reconciler, self._device, self._timers = reconciler, device, reconciler.timers
        self._own_timers, self._folder = timers, config.folder
        self._monitor, self._leads, self._timing, self._clock = monitor, leads, timing, clock
        self.failover = FailoverWatch(device, reconciler.reader)
        self.client_tls_files = FileWatch(
            "changed file for TLS towards clients", file_watch.client_tls(config.tls_paths), config.tls_files)
        self.destination_ca_file = FileWatch(
            "changed default destination CA", file_watch.destination_ca(config.destination_ca_path),
            config.default_destination_ca)
        self.front_ends: FrontEndFile | None = None
        """The file of front ends; None if nothing follows it."""
        self.observed_at: float | None = None
        """When the last reading of the whole device began, in monotonic seconds; None before the first."""
        self.drift = DriftCheck(reconciler, pace=ReadingPace(
            "all", config.observe_interval_s, READINGS if config.observe_interval_adapts else math.inf))
        self.hint = DriftHint(
            self._look,
            Explained(reconciler.rollouts.is_writing, lambda: device.observed, lambda: device.unit.replies),
            pace=ReadingPace("names and generations", config.drift_interval_s,
                             HINTS if config.drift_interval_adapts else math.inf),
            limit_s=config.observe_interval_s, timers=reconciler.timers, clock=clock)
        self._hinted = self._hint_waits = False
        """True if a hint was the reason for the last reading; and if one has come since it began."""
        self._is_started = False
        """True for a router whose loop runs; others read the device when they are told to."""
        self.hint.may_look, self.hint.on_hint = self._may_read, self._hint_given
        self.drift.on_compared = self._compared
        device.on_reading, device.on_read = self._begin_reading, self._take_reading

    def start(self) -> None:
        """Set the timers: the loop runs, and will take the ends of what they begin."""
        self._is_started, now = True, self._clock()
        self._set_timer()
        self._timers.at(now, "failover", self._check_failover)
        self._timers.at(now + self._timing.servers_s, "incidents", self._look_at_incidents)
        self._own_timers.at(now + self._timing.files_s, "files", self._read_files)
        self._own_timers.at(now + CERTIFICATES_S, "certificates", self._look_at_certificates)

    # --- failover state, virtual servers, files, certificates --------------------------------

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
        self._own_timers.at(self._clock() + self._timing.files_s, "files", self._read_files)
        if self.client_tls_files.read():
            self._reconciler.set_tls_files(self.client_tls_files.content)
        if self.destination_ca_file.read():
            self._reconciler.work.add(
                self._reconciler.set_default_destination_ca(self.destination_ca_file.content))
        if self.front_ends is not None:
            self.front_ends.poll()

    def _look_at_certificates(self) -> None:
        self._own_timers.at(self._clock() + CERTIFICATES_S, "certificates", self._look_at_certificates)
        self._reconciler.reports.reevaluate(self._reconciler.certificates.take_changed())

    # --- readings that look for drift --------------------------------------------------------

    def _may_read(self) -> bool:
        """True if readings beside the loop are of use: no reading of everything is due or under way."""
        reader = self._reconciler.reader
        return self._is_started and self._leads() and not reader.reason and reader.reading is None

    def _begin_reading(self) -> None:
        """Take the beginning of any reading of the whole device."""
        self.observed_at, self._hint_waits = self._clock(), False
        self._set_timer()
        self.hint.begin_reading()
        self._reconciler.drift.others.begin_reading()

    def _set_timer(self) -> None:
        if self._is_started and self.observed_at is not None:
            self._timers.at(self.observed_at + self.drift.pace.interval_s, "reading", self._read_again)

    def _read_again(self) -> None:
        """Read the device beside the loop, unless it is to be read as a whole."""
        self._timers.at(self._clock() + self.drift.pace.interval_s, "reading", self._read_again)
        if self._may_read() and not self.drift.is_active:
            self._hinted = False
            self.drift.begin()

    def _take_reading(self, observation: Observation) -> None:
        self.hint.take_reading(observation.generations)
        self._reconciler.drift.others.compare(
            self._device.observed, observation.objects, self._reconciler.engine.objects)

    def _compared(self, differs: bool) -> None:
        """Take the end of a reading beside the loop."""
        if self._hinted:
            self.hint.record_reading(right=differs, cost_s=self.drift.pace.cpu_s)
        self._set_timer()
        self._monitor.health.reached()
        self._reconciler.leftovers.is_due = True
        if self._hint_waits:
            self._hint_given()

    def _look(self, extent: Extent, then: Callable[[Job], None]) -> None:
        """Begin to read names and generations."""
        client, place = self._device.client.for_reading(), Place(self._folder, self._device.virtual_servers)
        self._device.dispatcher.send(lambda: generations.read(client, place, extent), then, Lane.BESIDE)

    def _hint_given(self) -> None:
        """Read the device because somebody else has changed it; a reading under way may be older."""
        if self.drift.is_active:
            self._hint_waits = True
        elif self._may_read():
            self._hinted = True
            self.drift.begin()
