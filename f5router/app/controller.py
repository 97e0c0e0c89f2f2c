"""The control loop: threads that watch, one thread that reconciles.

`reconcile_once` is the whole pass. The loop around it waits for events (hold-off), for the next reading of
the device and for retries; between passes it lets `Settling` save the device's configuration.
"""

import logging
import math
import threading
import time
from collections.abc import Callable

from f5router.app import file_watch
from f5router.app.debounce import EventSignal
from f5router.app.failover_watch import FailoverWatch
from f5router.app.file_watch import FileWatch
from f5router.app.first_load import FirstLoad
from f5router.app.held_deletes import HeldBack
from f5router.app.inquiries import Inquiries
from f5router.app.monitor import Monitor
from f5router.app.pass_backoff import PassBackoff
from f5router.app.replica import Replica
from f5router.app.settling import Settling
from f5router.app.status_reporter import StatusReporter
from f5router.app.takeover import Takeover
from f5router.app.timing import DEFAULT, Timing
from f5router.app.unit_switch import UnitSwitch
from f5router.app.urgent_work import UrgentWork
from f5router.config.config import Config
from f5router.icontrol import generations
from f5router.icontrol.device import Device
from f5router.icontrol.generations import Place
from f5router.icontrol.observation import Observation
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.lease.campaign import Campaign
from f5router.model.cluster import Key, Route
from f5router.model.errors import BigIPError, Busy, NotLeader, Standby, Stopped
from f5router.plan.change import AnyChange
from f5router.reconcile.drift import DriftCheck
from f5router.reconcile.drift_hint import DriftHint
from f5router.reconcile.explained import Explained
from f5router.reconcile.reading_pace import HINTS, READINGS, ReadingPace
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.report import Report

log = logging.getLogger(__name__)

POLL_S = 0.01
LISTING_S = 1.0
"""Longest wait for events while the first lists of the cluster are not complete."""


class Controller:
    """One router on one BIG-IP. One thread calls its methods."""

    def __init__(
        self, config: Config, cluster: ClusterWatcher, reconciler: Reconciler, signal: EventSignal,
        monitor: Monitor, reporter: StatusReporter, settling: Settling, *,
        campaign: Campaign | None = None, timing: Timing = DEFAULT,
        clock: Callable[[], float] = time.monotonic,
    ):
        device = reconciler.device
        self.config, self.cluster, self.reconciler, self.signal = config, cluster, reconciler, signal
        self.monitor, self.reporter, self.settling = monitor, reporter, settling
        self._timing, self._clock = timing, clock
        self.backoff = PassBackoff(config.bigip_names, timing=timing, clock=clock)
        self.failover = FailoverWatch(device, period_s=timing.failover_s, clock=clock)
        self.client_tls_files = FileWatch(
            "changed file for TLS towards clients", file_watch.client_tls(config.tls_paths), config.tls_files,
            period_s=timing.files_s, clock=clock)
        self.held_deletes = HeldBack(reconciler, cluster, confirm_s=timing.confirm_s,
                                     of_nodes=config.nodeport is not None)
        self.destination_ca_file = FileWatch(
            "changed default destination CA", file_watch.destination_ca(config.destination_ca_path),
            config.default_destination_ca, period_s=timing.files_s, clock=clock)
        self.replica = Replica(campaign, cluster, reconciler, monitor, reporter, settling, self.backoff,
                               Takeover(cluster, reconciler, of_pods=not config.watch.nodeport,
                                        wake=self._wake),
                               observe_interval_s=config.observe_interval_s, clock=clock)
        self._observed_at = float("-inf")
        """When the last reading of the whole device began."""
        self.drift = DriftCheck(reconciler, wake=signal.wake, pace=ReadingPace(
            "all", config.observe_interval_s, READINGS if config.observe_interval_adapts else math.inf))
        self.hint = DriftHint(
            lambda extent: generations.begin(device.client, Place(config.folder, (
                config.http_virtual, config.https_virtual)), extent, signal.wake),
            Explained(reconciler.members.is_writing, lambda: device.observed, lambda: device.unit.replies),
            pace=ReadingPace("names and generations", config.drift_interval_s,
                             HINTS if config.drift_interval_adapts else math.inf),
            limit_s=config.observe_interval_s, clock=clock)
        device.on_reading, device.on_read = self._begin_reading, self._take_reading
        self.unit_switch = UnitSwitch(reconciler, settling, self.hint, wake=signal.wake)
        self._hinted = False
        """True if a hint was the reason for the last reading."""
        self.first_load = FirstLoad(reconciler, clock=clock)
        self._loaded = False
        """Everything that the first reading of the device left to do was done."""
        self._contended = False
        """Other changes came in while the last pass ran, or just before it."""
        self.urgent = UrgentWork(
            cluster, reconciler, signal, self.replica, settling, hold_off_s=config.hold_off_s,
            events_due=self._events_due, record_change=self._record_change, timing=timing, clock=clock)
        self.inquiries = Inquiries(self._wake)
        for unit in device.pair.units:
            unit.calls.attend = self._attend
        self.on_change: Callable[[AnyChange], None] = lambda change: None
        """Called for each confirmed write."""
        self.on_loaded: Callable[[frozenset[Key]], None] = lambda routes: None
        """Called once, after the first load, with all Routes of the selection."""

    def _wake(self) -> None:
        """End a wait of the loop, for events or for the BIG-IP. From any thread."""
        self.signal.wake()
        self.device.calls.wake()

    def _attend(self) -> None:
        """Do what cannot wait for the end of a request."""
        self.inquiries.answer()
        self.urgent.program_endpoints()

    @property
    def observed_at(self) -> float | None:
        """When the last reading of the whole device began, in monotonic seconds; None before the first."""
        at = max(self._observed_at, self.replica.observed_at)
        return at if math.isfinite(at) else None

    @property
    def device(self) -> Device:
        """The BIG-IP, for requests that are not part of a pass."""
        return self.reconciler.device

    # --- the pass ------------------------------------------------------------------------

    def reconcile_once(self) -> Report:
        """Make one pass over the cluster as it is known now. Raises: BigIPError."""
        self.take_events()
        return self.make_pass()

    def take_events(self) -> bool:
        """Take what changed in the cluster; returns True if something did."""
        self.reconciler.times.begin(self.signal.first)
        self.signal.take()
        confirmed = self.held_deletes.is_listed()  # before the drain, which has the changes of these lists
        delta = self.cluster.drain()
        self.urgent.record(self.reconciler.engine.cluster.services_of(delta))
        self.reconciler.apply(delta)
        if confirmed:
            self.held_deletes.confirm()
        return bool(delta)

    def make_pass(self, most: int | None = None) -> Report:
        """Make one pass over what is known; `most` objects, roughly, None for all. Raises: BigIPError."""
        began = self._clock()
        try:
            report = self._write(most)
        except Standby:
            self.reporter.standing_by()
            raise
        except Exception as exc:
            if not self._is_pause(exc):
                self.reporter.failed()
            raise
        finally:
            self.failover.record()
        self.monitor.record(report)
        if not self._loaded:
            self.first_load.record_pass(report)
        self.held_deletes.pass_ended()
        self.reporter.passed(report)
        if report.outcome.done or report.outcome.failed:
            log.info("reconciled", extra={
                "writes": len(report.outcome.done), "refused": len(report.outcome.failed),
                "withheld": len(report.outcome.deferred_deletes),
                "full": report.full, "seconds": round(self._clock() - began, 3)})
        return report

    def _write(self, most: int | None) -> Report:
        full = self.reconciler.needs_observation()
        if full:
            if self.device.unconfirmed:
                self.settling.record_write()  # some of it may have been written
            self.reconciler.observe()
            self._observed_at, self.replica.has_read = self._clock(), True
            self.monitor.health.reached()
        report = self.reconciler.run(full=full, most=most, on_change=self._record_change)
        if full:
            self.device.remove_left()
        return report

    def _record_change(self, change: AnyChange) -> None:
        self.monitor.health.reached()
        self.settling.record_write()
        self.hint.record(change)
        if not self._loaded:
            self.first_load.record_write()
        self.monitor.wrote(change)
        self.on_change(change)

    def _begin_reading(self) -> None:
        self.hint.begin_reading()
        self.reconciler.drift.others.begin_reading()

    def _take_reading(self, observation: Observation) -> None:
        self.hint.take_reading(observation.generations)
        self.reconciler.drift.others.compare(
            self.device.observed, observation.objects, self.reconciler.engine.objects)

    def _is_pause(self, exc: Exception) -> bool:
        """True if the device is well: the router stops or follows, or the device is busy with its save."""
        if isinstance(exc, Stopped | NotLeader):
            return True
        return isinstance(exc, Busy) and self.settling.is_disturbing()

    # --- what a pass achieved --------------------------------------------------------------

    def unserved(self) -> list[tuple[Route, str]]:
        """Return admitted Routes that the BIG-IP does not serve, with the reason."""
        return [(route, reason) for key, reason in self.reconciler.verdicts.unserved().items()
                if (route := self.reconciler.engine.route(key)) is not None]

    def unconverged_reason(self) -> str:
        """Read the BIG-IP, and return what the last pass should have left differently; "" for nothing.

        Objects that the BIG-IP refused, and their dependents, are left to `unserved`. Raises: BigIPError.
        """
        if not self.cluster.synced():
            return "the cluster has not been read"
        self.device.observe()
        if not self.reconciler.is_converged():
            return "not everything is in place on the BIG-IP"
        return "its iRule is still there" if self.device.facts.original.irule else ""

    def network_problems(self) -> list[str]:
        """Return why pods may not be reached although their Routes are programmed."""
        nodes = self.cluster.nodes_problem()
        return [*((nodes,) if nodes else ()), *self.reconciler.verdicts.network_findings().problems]

    # --- the loop ------------------------------------------------------------------------

    def run(self, stop: threading.Event) -> None:
        """Reconcile until the event is set; what is on the BIG-IP stays and goes on serving."""
        self.watch_stop(stop)
        with self.reconciler.engine.checks.beside(self.signal.wake):
            while not stop.is_set():
                self.monitor.heartbeat()
                synced = self.cluster.synced()
                self.signal.wait(self.next_turn_at if synced else lambda: self._clock() + LISTING_S)
                self.inquiries.answer()
                if synced and not stop.is_set():
                    self.turn()
        if self.replica.is_elected:
            self.replica.hand_over(self._timing.exit_s)
            return
        self._end_member_writes()
        self.settling.finish_at_exit()
        self.reporter.flush(self._timing.exit_s / 2)

    def _end_member_writes(self) -> None:
        """Wait for writes of members, but for none that hangs: the configuration is saved with them."""
        end = time.monotonic() + self.reconciler.members.patience_s
        try:
            while not self.reconciler.members.is_quiet(self._record_change):
                if time.monotonic() >= end:
                    self.settling.record_write()  # it may have been done
                    return
                time.sleep(POLL_S)
        except BigIPError:
            self.settling.record_write()

    def watch_stop(self, stop: threading.Event) -> None:
        """Let a stop end every wait: for events, and for a BIG-IP that does not answer."""
        def wake() -> None:
            stop.wait()
            self.device.give_up()
            self.signal.wake()

        threading.Thread(target=wake, daemon=True, name="stop").start()

    def turn(self) -> None:
        """Do what is due."""
        self.replica.update()
        now = self._clock()
        if now < self.resumes_at():
            return
        if self.unit_switch.take():
            self.backoff.block(0.0)
        if self.replica.leads and now >= self.failover.due_at:
            self.failover.check()
        if self.client_tls_files.has_changed():
            self.reconciler.set_tls_files(self.client_tls_files.content)
        if self.destination_ca_file.has_changed():
            self.reconciler.set_default_destination_ca(self.destination_ca_file.content)
        if not self.replica.leads:
            self.take_events()
            self.replica.follow()
            self.reconciler.drift.others.start_over()
            if self.replica.is_taking_over:
                self._attempt_endpoints()
            return
        self.reconciler.reevaluate(self.reconciler.certificates.take_changed())
        self.held_deletes.ask(now)
        self._check_drift(now)
        if self._pass_due(now) or self.held_deletes.is_listed():
            self.attempt_pass()
        else:
            self._attempt_endpoints()
            self.settling.sync(now)
        self.settling.advance(blocked_until=self.backoff.until)

    def next_turn_at(self) -> float:
        """Return when the loop has something to do, if no event comes."""
        now = self._clock()
        if self.replica.has_changed:
            return now
        if not self.replica.leads:
            following = (self._events_due(), self.replica.due_at(), self.client_tls_files.due_at,
                         self.destination_ca_file.due_at)
            return max(min(time for time in following if time is not None), self.resumes_at())
        times = [
            self._events_due(),
            self.urgent.endpoints_due(),
            self.reconciler.next_retry(),
            self._observed_at + self.drift.pace.interval_s,
            self.drift.due_at(), self.hint.due_at(),
            self.settling.due_at(), self.failover.due_at,
            self.client_tls_files.due_at, self.destination_ca_file.due_at,
            self.held_deletes.ask_at(),
            now if self.held_deletes.is_listed() else None,
            now if self.device.stale else None,
        ]
        return max(min(time for time in times if time is not None), self.resumes_at())

    def attempt_pass(self) -> None:
        """Make a pass; one that fails makes the loop back off."""
        # An exception of take_events ends the process, loudly: to go on without an event could leave a pool
        # on addresses that another tenant's pods have got.
        changed = self.take_events()
        contended, self._contended = changed or self._contended, changed
        most = self._timing.portion if contended else self._timing.load_portion
        try:
            with self.monitor.measured(passing=self._is_pause), self.drift.counted():
                self.urgent.pass_began = self._clock()
                report = self.make_pass(most)
        except Exception as exc:
            self._back_off(exc)
            return
        self.backoff.succeeded()
        self._contended = self._contended or bool(report.outcome.not_sent)
        if not self._loaded and self.reconciler.loaded:
            self._loaded = True
            self.first_load.end()
            self.monitor.health.loaded()
            self.settling.record_write()  # the router before may have ended between a write and its saving
            self.on_loaded(frozenset(self.reconciler.engine.routes()))

    def _attempt_endpoints(self) -> None:
        """Program endpoints whose hold-off is over while no pass is due."""
        try:
            self.urgent.program_endpoints()
        except Exception as exc:
            self._back_off(exc)

    def _back_off(self, exc: Exception) -> None:
        """Decide when to try again after a pass that ended early."""
        if isinstance(exc, Standby):
            self.backoff.block(0.0 if self.device.pair.may_choose() else self._timing.failover_s)
            self.device.stale = self.device.stale or self.device.pair.is_several
        elif self._is_pause(exc):
            log.info("pass ended early", extra={"reason": str(exc)})
            self.backoff.block(self._timing.busy_s)
        else:
            self.fail_pass(exc)

    def fail_pass(self, exc: Exception) -> None:
        """Back off after a failure, and read the device again."""
        if not isinstance(exc, BigIPError) or exc.may_have_applied:
            self.settling.record_write()
        self.device.stale = True
        self.backoff.failed(exc)

    def resumes_at(self) -> float:
        """Return when a back-off ends. It may end sooner when endpoints change, or a unit becomes active."""
        if self.unit_switch.is_due:
            return -math.inf
        endpoints_at = self.backoff.resumes_at(endpoints=True)
        if endpoints_at < self.backoff.until and (
                self.reconciler.members.has_room() or self.cluster.has_endpoints()):
            return endpoints_at
        return self.backoff.until

    def _events_due(self) -> float | None:
        return self.signal.due(hold_off_s=self.config.hold_off_s, limit_s=self.config.hold_off_limit_s)

    def _check_drift(self, now: float) -> None:
        """Read the device again beside the loop if that is due, and compare some of what was read."""
        if self.reconciler.needs_observation():
            return
        try:
            hinted = self.hint.check(now)
            if hinted or now >= self._observed_at + self.drift.pace.interval_s:
                self._observed_at, self._hinted = now, hinted
                self.drift.begin()
            if self.drift.step():
                if self._hinted:
                    self.hint.record_reading(right=self.drift.found_drift,
                                             cost_s=self.drift.pace.cpu_s)
                self.monitor.health.reached()
                self.device.remove_left()
        except Exception as exc:
            self._back_off(exc)

    def _pass_due(self, now: float) -> bool:
        times = (self._events_due(), self.reconciler.next_retry())
        return self.reconciler.needs_observation() or any(time is not None and time <= now for time in times)
