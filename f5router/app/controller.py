"""The control loop. It waits in one place, for the next message or timer, and never for a reply.

Watches, requests, the web server and the Lease put messages into one inbox; each turn takes what has come,
does a step of long computations, and sends what may be sent.
"""

import logging
import math
import threading
import time
from collections.abc import Callable

from f5router.app.debounce import EventSignal
from f5router.app.endpoint_pace import EndpointPace
from f5router.app.first_load import FirstLoad
from f5router.app.held_deletes import HeldBack
from f5router.app.inquiries import Inquiries
from f5router.app.monitor import WAKE_S, Monitor
from f5router.app.pass_backoff import PassBackoff
from f5router.app.replica import Replica
from f5router.app.settling import Settling
from f5router.app.status_reporter import StatusReporter
from f5router.app.takeover import Takeover
from f5router.app.timing import DEFAULT, Timing
from f5router.app.upkeep import Upkeep
from f5router.config.config import Config
from f5router.icontrol.device import Device
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.lease.campaign import Campaign
from f5router.model.cluster import Key
from f5router.model.delta import Changes, Delta
from f5router.model.errors import BigIPError, Busy, NotLeader, Standby, Stopped
from f5router.model.limits import Steps
from f5router.plan.change import AnyChange
from f5router.reconcile.reconciler import STEP_S, Reconciler
from f5router.reconcile.report import Report, combined
from f5router.reconcile.timers import Timers

log = logging.getLogger(__name__)

POLL_S = 0.05


class Controller:
    """One router on one BIG-IP. One thread calls its methods."""

    def __init__(
        self, config: Config, cluster: ClusterWatcher, reconciler: Reconciler, signal: EventSignal,
        monitor: Monitor, reporter: StatusReporter, settling: Settling, *,
        campaign: Campaign | None = None, timing: Timing = DEFAULT,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.config, self.cluster, self.reconciler, self.signal = config, cluster, reconciler, signal
        self.monitor, self.reporter, self.settling = monitor, reporter, settling
        self.inbox, self.timers = reconciler.inbox, Timers()
        """Timers of what goes on while the BIG-IP is in trouble, unlike those of the Reconciler."""
        self._timing, self._clock = timing, clock
        self.backoff = PassBackoff(config.bigip_names, timing=timing, clock=clock)
        self.held_deletes = HeldBack(reconciler, cluster, confirm_s=timing.confirm_s,
                                     of_nodes=config.nodeport is not None)
        self.replica = Replica(campaign, cluster, reconciler, monitor, reporter, settling, self.backoff,
                               Takeover(cluster, reconciler, of_pods=not config.watch.nodeport),
                               observe_interval_s=config.observe_interval_s, timers=self.timers,
                               writes_end=self._writes_end, clock=clock)
        self.pace = EndpointPace(signal, hold_off_s=config.hold_off_s, clock=clock)
        self.upkeep = Upkeep(config, reconciler, monitor, leads=lambda: self.replica.leads,
                             timers=self.timers, timing=timing, clock=clock)
        self.first_load = FirstLoad(reconciler, clock=clock)
        self._loaded = False
        """Everything that the first reading of the device left to do was done."""
        self._contended = False
        """Changes came in since the last rollout began."""
        self._began_at = 0.0
        """When the last reading or rollout began."""
        self._wrote_at = float("-inf")
        """When the last rollout that wrote something ended."""
        self._unit_due = False
        """True if another unit may be active."""
        self.inquiries = Inquiries(self.inbox.wake)
        self.on_change: Callable[[AnyChange], None] = lambda change: None
        """Called for each confirmed write."""
        self.on_loaded: Callable[[frozenset[Key]], None] = lambda routes: None
        """Called once, after the first load, with all Routes of the selection."""
        self._connect()

    def _connect(self) -> None:
        """Let the parts tell the loop what happens."""
        reconciler, device = self.reconciler, self.device
        self._started = False
        """True once the lists of the cluster are complete, and the timers are set."""
        self.signal.on_event = self._event_came
        self.cluster.on_relisted = lambda: self.inbox.put(self.replica.relisted)
        reconciler.rollouts.on_change, reconciler.on_report = self._record_change, self._report
        reconciler.on_begin, reconciler.on_end = self._pass_began, self._pass_ended
        reconciler.rollouts.portion, reconciler.rollouts.others_wait = self._portion, self._others_wait
        device.on_switch = self._unit_switched
        device.pair.on_change = lambda: self.inbox.put(self._turn_to_unit)

    @property
    def device(self) -> Device:
        """The BIG-IP."""
        return self.reconciler.device

    # --- the loop ------------------------------------------------------------------------

    def run(self, stop: threading.Event) -> None:
        """Keep the BIG-IP in step until the event is set; its objects stay and keep serving traffic."""
        self.device.watch_stop(stop, self.inbox.wake)
        with self.reconciler.engine.checks.beside(self.inbox.wake):
            while not stop.is_set():
                self.monitor.heartbeat()
                self.turn(min(WAKE_S, self.next_turn_at() - self._clock()))
        if self.replica.is_elected:
            self.replica.hand_over(self._timing.exit_s)
            return
        if not self._writes_end(self._timing.exit_s / 2):  # the configuration is saved with them
            self.settling.record_write()  # it may have been done
        self.settling.finish_at_exit()
        self.cluster.end_conversion()  # statuses follow from it
        self.reporter.flush(self._timing.exit_s / 2)

    def _start(self) -> None:
        """Begin what is done periodically, and follow the election."""
        self._started = True
        self.settling.connect(self.reconciler.timers)
        self.upkeep.start()
        self.replica.start()

    def turn(self, wait_s: float = 0.0) -> None:
        """Take what has come, do what is due, and send what may be sent. Args: wait_s: for a message."""
        for message in self.inbox.take(wait_s):
            self._guarded(message)
        self.inquiries.answer()
        if not self._started:
            if not self.cluster.synced():
                return
            self._start()
        now = self._clock()
        self._guarded(lambda: self.timers.fire(now))
        if self._must_rest(now):
            return
        self._guarded(lambda: self.reconciler.timers.fire(now))
        self._guarded(lambda: self._take_changes(now))
        self._guarded(lambda: self.reconciler.work.step(STEP_S))
        if not self.replica.leads:
            self._guarded(self.replica.follow)
        elif self.replica.has_taken:
            if not self.reconciler.work:
                self._guarded(lambda: self.reconciler.background.step(STEP_S))
            self._guarded(self.reconciler.dispatch)

    def _must_rest(self, now: float) -> bool:
        """True while nothing may be sent, because of trouble with the BIG-IP."""
        rollouts = self.reconciler.rollouts
        if rollouts.trouble is None:
            return False
        if not self.reconciler.is_passing:  # else requests under way end first
            if now >= (at := self.resumes_at()):
                rollouts.trouble = None
                return False
            self.timers.at(at, "resume")
        return True

    def next_turn_at(self) -> float:
        """Return when something is due if no message comes; -infinity if something is to be done now."""
        if not self._started:
            return -math.inf if self.cluster.synced() else math.inf
        heaps = [self.timers]
        if self.reconciler.rollouts.trouble is None:
            if self._is_busy():
                return -math.inf
            heaps.append(self.reconciler.timers)
        return min((at for heap in heaps if (at := heap.next_at()) is not None), default=math.inf)

    def _is_busy(self) -> bool:
        """True if there is something to do that needs no message."""
        reconciler = self.reconciler
        if reconciler.work or not self.replica.has_taken:
            return True
        if self.replica.leads:
            return bool(reconciler.background) or reconciler.can_go_on
        return self.replica.is_taking_over and reconciler.engine.has_changed_pools

    def _guarded(self, action: Callable[[], None]) -> None:
        """Do something; an error of it makes the loop back off, and read the device again."""
        try:
            action()
        except Exception as exc:
            self.reconciler.rollouts.suspend(exc)

    def reconcile_once(self) -> Report:
        """Bring the BIG-IP in step with the cluster as it is known now, and wait for that.

        Raises: the error because of which nothing more is sent, often a BigIPError.
        """
        reports: list[Report] = []

        def record(report: Report) -> None:
            reports.append(report)
            self._report(report)

        self.reconciler.on_report = record
        self.reconciler.rollouts.trouble = None
        self.reconciler.work.finish()
        self.take_events()
        self.reconciler.rollouts.is_demanded = True
        try:
            self.reconciler.run_until_idle()
        finally:
            self.reconciler.on_report = self._report
        return combined(reports)

    # --- changes of the cluster -------------------------------------------------------------

    def _event_came(self, is_first: bool) -> None:
        """Wake the loop if it has something to do for an event before its next turn. From any thread."""
        if is_first or self.cluster.has_endpoints():
            self.inbox.wake()

    def _take_changes(self, now: float) -> None:
        """Take changed endpoints at once, and other changes between two rollouts, when they are due."""
        if (self.reconciler.has_read and self.replica.leads) or self.replica.is_taking_over:
            self._take_endpoints()
            if (at := self.pace.due_at(pending=self.cluster.has_endpoints())) is not None:
                self.timers.at(at, "endpoints")
        if self.reconciler.work:
            return
        due, rollout = self._events_due(), self.reconciler.rollouts.current
        if rollout is not None and self.replica.leads:
            if due is not None and not rollout.is_dropped and self.cluster.pending():  # it ends then
                self.timers.at(max(due, rollout.began + self._timing.slice_s), "hold-off")
        elif (not self.replica.has_taken or self.reconciler.engine.checks.news
              or (due is not None and due <= now)
              or (self.replica.leads and self.held_deletes.is_listed())):
            self.take_events()
        elif due is not None:
            self.timers.at(due, "hold-off")

    def take_events(self) -> None:
        """Begin to take what changed in the cluster."""
        self.replica.has_taken, first = True, self.signal.take()
        confirmed = self.held_deletes.is_listed()  # before the drain, which has the changes of these lists
        changes = self.cluster.drain()
        self._record_services(changes.objects)
        self._contended = self._contended or bool(changes.objects)
        self.reconciler.work.add(self._apply(changes, first, confirmed=confirmed))

    def _apply(self, changes: Changes, since: float | None, *, confirmed: bool) -> Steps[None]:
        yield from self.reconciler.apply_in_steps(changes, since)
        if confirmed:
            self.held_deletes.confirm()

    def _take_endpoints(self) -> None:
        """Take endpoints whose turn it is, whatever is under way.

        No other event delays them: an address may be another tenant's pod's by now. A new leader reads each
        pool first, until it has read the BIG-IP: what the leader before has written is right.
        """
        if self.cluster.has_endpoints():
            event_at = self.pace.oldest_at()
            late = self.pace.begin()
            if delta := self.cluster.drain_endpoints(self.pace.is_held, settled=not late):
                self.reconciler.take_endpoints(delta, event_at)
                self._record_services(delta)
            self.pace.end(pending=self.cluster.has_endpoints())
            if (first := self.signal.take()) is not None and self.cluster.pending():
                self.signal.give_back(first)
        if self.replica.is_taking_over:
            self.reconciler.rebuild_pools()
            self._guarded(self.replica.takeover.program)

    def _record_services(self, delta: Delta) -> None:
        """Record Services whose endpoints are programmed now, or at a takeover."""
        services = self.reconciler.engine.cluster.services_of(delta)
        self.pace.record(services)
        self.replica.record(services)

    def _events_due(self) -> float | None:
        at_rest = (self.reconciler.rollouts.current is None and not self.reconciler.work
                   and self._clock() >= self._wrote_at + self.config.hold_off_s)
        return self.signal.due(hold_off_s=self.config.hold_off_s, limit_s=self.config.hold_off_limit_s,
                               at_rest=at_rest)

    def _others_wait(self) -> bool:
        """True if changes are pending whose hold-off is over."""
        due = self._events_due()
        waits = due is not None and due <= self._clock() and self.cluster.pending() > 0
        self._contended = self._contended or waits
        return waits

    def _portion(self) -> int:
        contended, self._contended = self._contended, False
        return self._timing.portion if contended else self._timing.load_portion

    # --- results ---------------------------------------------------------------------------

    def _record_change(self, change: AnyChange) -> None:
        self.monitor.health.reached()
        self.settling.record_write()
        self.upkeep.hint.record(change)
        if not self._loaded:
            self.first_load.record_write()
        self.monitor.wrote(change)
        self.on_change(change)

    def _report(self, report: Report) -> None:
        """Report what has settled."""
        self.monitor.record(report)
        if not self._loaded:
            self.first_load.record_pass(report)
        self.held_deletes.pass_ended()
        if self._started and (at := self.held_deletes.ask_at()) is not None:
            self.timers.at(at, "confirm", lambda: self.held_deletes.ask(self._clock()))
        self.reporter.passed(report)
        self._check_loaded()
        if report.counts.writes or report.counts.refused:
            log.info("reconciled", extra={**report.counts._asdict(), "full": report.full,
                                          "seconds": round(self._clock() - self._began_at, 3)})

    def _pass_began(self) -> None:
        self._began_at = self._clock()
        self.monitor.pass_began()
        if self.reconciler.table.is_in_doubt(self.reconciler.failures):
            self.settling.record_write()  # some of it may have been written

    def _pass_ended(self, error: Exception | None) -> None:
        """Take the end of a reading, or of a rollout. Args: error: why it ended early."""
        self.upkeep.failover.record()
        self.monitor.pass_ended(error, is_pause=error is not None and self._is_pause(error))
        if self.reconciler.rollouts.follows:
            self.replica.followed(error)
        elif error is not None:
            self._back_off(error)
        if error is not None:
            self.timers.at(self.resumes_at(), "resume")
        elif self.replica.leads:
            self._wrote_at = self._clock()
            self.backoff.succeeded()
            self._check_loaded()

    def _check_loaded(self) -> None:
        """Take the end of the first load; its last write may end long after its rollout, if it hangs."""
        if not self._loaded and self.reconciler.loaded:
            self._loaded = True
            self.first_load.end()
            self.monitor.health.loaded()
            self.settling.record_write()  # the router before may have ended between a write and its saving
            self.on_loaded(frozenset(self.reconciler.engine.routes()))

    def _back_off(self, exc: Exception) -> None:
        """Decide when to go on after trouble with the device."""
        if isinstance(exc, Standby):
            self.reporter.standing_by()
            self.backoff.block(0.0 if self.device.pair.may_choose() else self._timing.failover_s)
            if self.device.pair.is_several:
                self.reconciler.must_read("another unit may be active")
        elif self._is_pause(exc):
            log.info("rollout ended early", extra={"reason": str(exc)})
            self.backoff.block(self._timing.busy_s)
            self.replica.election_changed()  # a term may have ended
        else:
            self.reporter.failed()
            if not isinstance(exc, BigIPError) or exc.may_have_applied:
                self.settling.record_write()
            self.backoff.failed(exc)

    def _is_pause(self, exc: Exception) -> bool:
        """True if the device is well: the router stops or follows, or the device is busy with its save."""
        if isinstance(exc, Stopped | NotLeader):
            return True
        return isinstance(exc, Busy) and self.settling.is_disturbing()

    def resumes_at(self) -> float:
        """Return when a back-off ends: sooner if endpoints change, or a unit becomes active."""
        waits = bool(self.reconciler.table.members) or self.cluster.has_endpoints()
        return -math.inf if self._unit_due else self.backoff.resumes_at(endpoints=waits)

    def _writes_end(self, limit_s: float) -> bool:
        """Wait until no write is under way; False if that takes longer."""
        end = time.monotonic() + limit_s
        while not all(unit.dispatcher.is_quiet for unit in self.device.pair.units):
            if time.monotonic() >= end:
                return False
            for message in self.inbox.take(POLL_S):
                self._guarded(message)
        return True

    # --- units of a pair -------------------------------------------------------------------

    def _turn_to_unit(self) -> None:
        """Look which unit is active."""
        self._unit_due = True
        self.reconciler.must_read("another unit is active")

    def _unit_switched(self) -> None:
        """Begin with another unit: it may have what config sync brought in memory only."""
        self._unit_due = False
        self.reconciler.unit_changed()
        self.upkeep.hint.start_over()
        self.settling.record_write()
