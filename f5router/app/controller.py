"""The running router: threads that watch, one thread that reconciles.

`reconcile_once` is the whole pass. The loop around it waits for events (hold-off), for the next
reading of the device, for retries, and saves the device's configuration when changes have settled.
"""

import logging
import math
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack

from f5router.app.config_sync import ConfigSyncer
from f5router.app.debounce import EventSignal, wake_at
from f5router.app.held_deletes import HeldBack
from f5router.app.monitor import Monitor, build_monitor, serve
from f5router.app.saving import Saver
from f5router.app.status_reporter import StatusReporter
from f5router.app.wiring import (
    build_cleanup,
    build_cluster,
    build_device,
    build_statuses,
    build_syncer,
)
from f5router.config.config import Config
from f5router.desired.engine import Engine
from f5router.icontrol.device import Device, Stopped
from f5router.kube.api.connection import connect
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.status.events import EventWriter
from f5router.kube.status.status_writer import StatusWriter
from f5router.logs.persistent_log import PersistentLog
from f5router.model.cluster import Key, Route
from f5router.model.errors import (
    UNCERTAIN_ERRORS,
    AuthFailed,
    BigIPError,
    Busy,
    DeviceTimeout,
    Forbidden,
    Standby,
    Unsupported,
)
from f5router.plan.change import DELETE, AnyChange
from f5router.reconcile.delete_guard import DeleteGuard
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.report import Report

log = logging.getLogger(__name__)

SETTLE_S, SETTLE_LIMIT_S = 5.0, 60.0
"""The configuration is saved so long after the last write, at the latest so long after the first."""

BUSY_S = 1.0
"""Pause after the device refused a request as busy while it saved, or so shortly afterwards."""

SLICE_S = 1.0
"""A pass that others wait for ends after so long, and leaves the rest to the next one."""
PORTION = 500
"""About so many objects a pass takes while others may come in, from each namespace in turn."""

TIDY_MOST = 20
"""LTM nodes that are deleted in one turn; then the loop looks at events again."""

BACK_OFF_FIRST_S, BACK_OFF_MOST_S = 1.0, 60.0
BACK_OFF_ENDPOINTS_S = 5.0
"""Longest back-off while changed endpoints wait; not after a refused login."""
REFUSED_LOGIN_S = 60.0
"""Pause after a refused login: accounts are locked after a few."""

FAILOVER_S = 5.0
"""The BIG-IP's failover state is asked for so often while nothing is written, standby or not."""

FAILOVER_STATE = "failover state of the BIG-IP"
"""What the log calls it."""

EXIT_S = 10.0
"""Longest wait for the saving at the end; of 30 s that a pod has."""

SYNC_S, REFUSED_S = 60.0, 5.0
"""How long `--once` and `plan` wait for the cluster's lists, and for a right or a kind that is missing."""

ONCE_TRIES = 5
PASSTHROUGH_DRAIN_S = 30.0
"""How long a Route that becomes passthrough is served on connections whose TLS the BIG-IP has ended."""

CONFIRM_S = 5.0
"""From the moment when deletes are held back to the second list of the cluster, which confirms them."""

EVENTS_S = 10.0
"""How long the one pass of `--once` waits for its Events, which go at a bounded rate."""


class Controller:
    """One router on one BIG-IP."""

    def __init__(
        self, config: Config, cluster: ClusterWatcher, reconciler: Reconciler, statuses: StatusWriter,
        warnings: EventWriter, signal: EventSignal, monitor: Monitor, reporter: StatusReporter,
        syncer: ConfigSyncer, *, clock: Callable[[], float] = time.monotonic,
    ):
        self._config = config
        self._cluster = cluster
        self._reconciler = reconciler
        self._statuses = statuses
        self._warnings = warnings
        self._signal = signal
        self.monitor = monitor
        self._reporter = reporter
        self._syncer = syncer
        self._clock = clock
        self._failover = PersistentLog(FAILOVER_STATE)
        self._failover_at = float("-inf")
        """When it is to be asked for again."""
        self._observed_at = float("-inf")
        self._blocked_until = 0.0
        self._endpoints_until = 0.0
        """The same where changed endpoints wait."""
        self._failures = 0
        self._logged: set[tuple[type[Exception], int, str]] = set()
        """Causes for which passes failed since the last good one: class, HTTP status, TMOS code."""
        self._new = True
        self._first_write: float | None = None
        self._last_write = 0.0
        self._tidying = False
        """Whether LTM nodes are being removed, a few in each turn."""
        self._contended = False
        """Whether other changes came in while the last pass ran, or just before it."""
        self._held_back = HeldBack(reconciler, cluster, confirm_s=CONFIRM_S)
        self._attend_at = float("-inf")
        self._pass_began = math.inf
        """When the pass of the loop began; others are not preempted."""
        calls = reconciler.device.calls
        calls.attend, calls.preempted = self._attend, self._is_preempted
        calls.urgent_ended = signal.wake
        self._saver = Saver(reconciler.device.save, ended=signal.wake, clock=clock)
        self.on_change: Callable[[AnyChange], None] = lambda change: None
        """Called for each confirmed write."""
        self.on_loaded: Callable[[frozenset[Key]], None] = lambda routes: None
        """Called once, after the first load, with all Routes of the selection."""

    # --- the pass ------------------------------------------------------------------------

    def reconcile_once(self) -> Report:
        """Make one pass over the cluster as it is known now. Raises: BigIPError."""
        self._take_events()
        return self._bring_in_step()

    @property
    def device(self) -> Device:
        """The BIG-IP, for what is no part of a pass."""
        return self._reconciler.device

    def record_write(self) -> None:
        """Note a write that is no part of a pass: it is saved, and synchronised, when writes have settled."""
        self._to_be_saved()

    def unserved(self) -> list[tuple[Route, str]]:
        """Admitted Routes that the BIG-IP does not serve, with the reason."""
        engine = self._reconciler.engine
        return [(route, why) for key, why in self._reconciler.unserved().items()
                if (route := engine.route(key)) is not None]

    def why_not_converged(self) -> str:
        """Read the BIG-IP, and tell what is not as the last pass should have left it; "" if all is.

        What the BIG-IP refused, and what waits for that, is told by `unserved`. Raises: BigIPError.
        """
        if not self._cluster.synced():
            return "the cluster has not been read"
        self.device.observe()
        refused = self._reconciler.failures.keys()
        if any(change.verb != DELETE and change.ref not in refused
               for change in self._reconciler.plan(full=True)):
            return "not everything is in place on the BIG-IP"
        return "its iRule is still there" if self.device.facts.original.irule else ""

    def _take_events(self) -> bool:
        """Take what changed in the cluster; returns whether something did."""
        self._signal.take()
        confirmed = self._held_back.is_listed()  # before the drain, which has what these lists found
        delta = self._cluster.drain()
        self._reconciler.apply(delta)
        if confirmed:
            self._held_back.confirm()
        return bool(delta)

    def _attend(self) -> None:
        """Program endpoints whose hold-off is over, whatever is under way. Raises: BigIPError.

        Their hold-off is not prolonged by other events: an address may be another tenant's pod's by now.
        """
        now, first = self._clock(), self._signal.unseen()
        if now < self._attend_at:
            return
        if first is not None and now >= first + self._config.hold_off_s:
            self._signal.look()
            self._reconciler.take_endpoints(self._cluster.drain_endpoints())
        try:
            self._reconciler.program_members(self._wrote)
        except Busy:
            if not self._saver.disturbs(BUSY_S):
                raise
            self._attend_at = now + BUSY_S

    def _is_preempted(self) -> bool:
        """True if a pass has had its time, and other changes wait whose hold-off is over."""
        now = self._clock()
        due = self._signal.due(hold_off_s=self._config.hold_off_s, limit_s=self._config.hold_off_limit_s)
        return (now >= self._pass_began + SLICE_S and due is not None and due <= now
                and self._cluster.pending() > 0)

    def _bring_in_step(self, most: int | None = None) -> Report:
        """One pass, over about so many objects. Raises: BigIPError."""
        try:
            report = self._pass(most)
        except Standby:
            self._reporter.standing_by()
            raise
        except Exception as exc:
            if not self._ends_for_a_moment(exc):
                self._reporter.failed()
            raise
        finally:
            self._log_failover()
        self.monitor.record(report)
        self._held_back.log_changes()
        self._reporter.passed(report)
        if report.outcome.done or report.outcome.failed:
            log.info("reconciled", extra={
                "writes": len(report.outcome.done), "refused": len(report.outcome.failed),
                "withheld": len(report.outcome.deferred_deletes), "full": report.full,
            })
        return report

    def _pass(self, most: int | None) -> Report:
        full = self._observation_due()
        if full:
            if self._reconciler.device.unconfirmed:
                self._to_be_saved()  # some of it may have been written
            self._reconciler.device.observe()
            self._observed_at = self._clock()
            self.monitor.health.reached()
        report = self._reconciler.run(full=full, most=most, on_change=self._wrote)
        if full:
            self._reconciler.device.remove_uploads()
        return report

    def _log_failover(self) -> None:
        """Log what the state has changed to; the passes have just asked for it."""
        self._failover_at = self._clock() + FAILOVER_S
        self._failover.update((), self._reconciler.device.failover.remarks())

    def _check_failover(self) -> None:
        """Ask for the state while nothing is written.

        A pass follows where the unit is a standby, and ends at once; also where it does not answer, to
        tell why, and to back off: after a refused login nothing may be asked for a while.
        """
        device = self._reconciler.device
        try:
            device.failover.check()
            device.stale = device.stale or bool(device.failover.obstacle())
        except BigIPError as exc:
            log.debug("failover state not read", extra={"error": str(exc)})
            device.stale = device.stale or not isinstance(exc, Busy | DeviceTimeout)
        self._log_failover()

    def _observation_due(self) -> bool:
        period = self._config.observe_interval_s
        return self._reconciler.needs_observation() or self._clock() >= self._observed_at + period

    def _wrote(self, change: AnyChange) -> None:
        self.monitor.health.reached()
        self._to_be_saved()
        self.on_change(change)

    def _to_be_saved(self) -> None:
        self._syncer.changed()
        self._last_write = self._clock()
        if self._first_write is None:
            self._first_write = self._last_write

    # --- the loop ------------------------------------------------------------------------

    def run(self, stop: threading.Event) -> None:
        """Reconcile until told to stop; what is on the BIG-IP stays and goes on serving."""
        self.watch_stop(stop)
        with self._reconciler.engine.checks.beside(self._signal.wake):
            self._loop(stop)
        self._settle_at_exit()

    def _loop(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.monitor.heartbeat()
            if not self._cluster.synced():
                self._signal.wait(lambda: self._clock() + 1.0)
                continue
            self._signal.wait(self._next)
            if not stop.is_set():
                self._turn()

    def _turn(self) -> None:
        """Do what is due."""
        now = self._clock()
        if now < self._resumes_at():
            return
        if now >= self._failover_at:
            self._check_failover()
        self._held_back.ask(now)
        if self._pass_due(now) or self._held_back.is_listed():
            self._try_pass()
        else:
            self._try_members()
            if self._syncer.due(now) and not self._saver.under_way:
                self._syncer.step()
        self._settle_a_little()

    def watch_stop(self, stop: threading.Event) -> None:
        """Let a stop end every wait: for events, and for a BIG-IP that does not answer."""
        def wake() -> None:
            stop.wait()
            self._reconciler.device.give_up()
            self._signal.wake()

        threading.Thread(target=wake, daemon=True, name="stop").start()

    def _pass_due(self, now: float) -> bool:
        event = self._signal.due(hold_off_s=self._config.hold_off_s, limit_s=self._config.hold_off_limit_s)
        retry = self._reconciler.next_retry()
        times = [event, retry]
        return self._observation_due() or any(time_ is not None and time_ <= now for time_ in times)

    def _next(self) -> float | None:
        """When the loop has something to do, if no event comes."""
        times = [
            self._signal.due(hold_off_s=self._config.hold_off_s, limit_s=self._config.hold_off_limit_s),
            None if (first := self._signal.unseen()) is None else max(
                first + self._config.hold_off_s, self._attend_at),
            self._reconciler.next_retry(),
            self._observed_at + self._config.observe_interval_s,
            None if self._saver.under_way else self._settles_at(),
            None if self._saver.under_way else self._syncer.due_at(),
            self._clock() if self._tidying else None,
            self._failover_at,
            self._held_back.ask_at(),
            self._clock() if self._held_back.is_listed() else None,
            self._clock() if self._reconciler.device.stale else None,
        ]
        return max(min(t for t in times if t is not None), self._resumes_at())

    def _resumes_at(self) -> float:
        """When a back-off ends. It may end sooner when endpoints change."""
        if self._endpoints_until < self._blocked_until and (
                self._reconciler.has_members() or self._cluster.has_endpoints()):
            return self._endpoints_until
        return self._blocked_until

    def _block(self, delay_s: float, endpoints_s: float = math.inf) -> None:
        """Back off. Args: endpoints_s: no longer than this while changed endpoints wait."""
        now = self._clock()
        self._blocked_until, self._endpoints_until = now + delay_s, now + min(delay_s, endpoints_s)

    def _try_pass(self) -> None:
        # What this raises ends the process, loudly: to go on without an event could leave a pool on
        # addresses that another tenant's pods have got.
        changed = self._take_events()
        most, self._contended = PORTION if changed or self._contended else None, changed
        try:
            with self.monitor.measured(passing=self._ends_for_a_moment):
                self._pass_began = self._clock()
                report = self._bring_in_step(most)
        except Exception as exc:
            self._ended_early(exc)
        else:
            if self._failures:
                log.info("BIG-IP is programmed again", extra={"failures": self._failures})
                self._logged.clear()
            self._failures = 0
            self._block(0.0)
            self._contended = self._contended or bool(report.outcome.not_sent)
            if self._new and self._reconciler.loaded:
                # The router before may have ended between a write and its saving.
                self._new = False
                self.monitor.health.loaded()
                self._to_be_saved()
                self.on_loaded(frozenset(self._reconciler.engine.routes()))

    def _try_members(self) -> None:
        """Program endpoints whose hold-off is over while no pass is due."""
        try:
            self._attend()
        except Exception as exc:
            self._ended_early(exc)

    def _ended_early(self, exc: Exception) -> None:
        """Decide when it is tried again."""
        if isinstance(exc, Standby):
            self._block(FAILOVER_S)
        elif self._ends_for_a_moment(exc):
            log.info("pass ended early", extra={"reason": str(exc)})
            self._block(BUSY_S)
        else:
            self._pass_failed(exc)

    def _ends_for_a_moment(self, exc: Exception) -> bool:
        """True if the device is well: the router is to end, or the device is busy with our own save.

        Which requests a BIG-IP answers while it saves is not recorded: what it refuses as busy was not done.
        """
        return isinstance(exc, Stopped) or (isinstance(exc, Busy) and self._saver.disturbs(BUSY_S))

    def _pass_failed(self, exc: Exception) -> None:
        """Back off. What is no BigIPError is a fault of ours, or a reply of a form that nobody knows."""
        self._failures += 1
        delay = min(BACK_OFF_MOST_S, BACK_OFF_FIRST_S * 2 ** (self._failures - 1))
        refused = isinstance(exc, AuthFailed | Unsupported) and not isinstance(exc, Forbidden)
        if refused:
            delay = REFUSED_LOGIN_S
        known = isinstance(exc, BigIPError)
        if not isinstance(exc, BigIPError) or exc.may_have_applied:
            self._to_be_saved()  # it may have been written
        self._reconciler.device.stale = True
        self._block(delay, math.inf if refused else BACK_OFF_ENDPOINTS_S)
        cause = (type(exc), exc.status, exc.code) if isinstance(exc, BigIPError) else None
        log.log(logging.DEBUG if cause in self._logged else logging.ERROR, "BIG-IP not programmed",
                exc_info=not known, extra={
                    "bigip": self._config.bigip.host, "error": str(exc) or repr(exc), "retry_in_s": delay})
        if cause:
            self._logged.add(cause)

    # --- once ----------------------------------------------------------------------------

    def once(
        self, stop: threading.Event, *, sync_timeout_s: float = SYNC_S, refused_s: float = REFUSED_S,
        flush_s: float = 30.0,
    ) -> list[str]:
        """Converge, report the statuses, and return why anything has not converged."""
        if not self._cluster.wait_synced(sync_timeout_s, refused_s=refused_s, stop=stop):
            return [*self._cluster.missing()]
        self._reconciler.wait_for_all_members()  # there are no others that a request could hold up
        reason = self._converge(stop)
        if not reason and self._held_back.wait(stop, sync_timeout_s):
            reason = self._converge(stop)
        if reason:
            self._statuses.flush(EXIT_S / 2)
            return [reason]
        self._settle()
        if self._syncer.due_at() is not None:
            self._syncer.step()
        reasons = [str(problem) for problem in self._reconciler.problems()]
        reasons += [f"way to the pods: {text}" for text in self._network_problems()]
        if held := self._held_back.reason():
            reasons.append(held)
        if not self._statuses.flush(flush_s, unless_forbidden=True):
            why = self._statuses.refusal()
            reasons.append("not every Route status could be written" + (f": {why}" if why else ""))
        self._warnings.flush(EVENTS_S)
        return reasons

    def _converge(self, stop: threading.Event) -> str:
        """Make passes until nothing is left to do, or to be tried at once; returns why that fails."""
        for attempt in range(ONCE_TRIES):
            try:
                report = self.reconcile_once()
            except BigIPError as exc:
                reason = f"BIG-IP {self._config.bigip.host}: {exc}"
                if exc.may_have_applied:
                    self._to_be_saved()  # it may have been written
                last = attempt == ONCE_TRIES - 1 or isinstance(exc, AuthFailed | Unsupported | Standby)
                if last or stop.wait(BACK_OFF_FIRST_S * 2**attempt):
                    return reason
                log.error("BIG-IP not programmed", extra={"error": reason})
                continue
            uncertain = any(isinstance(error, UNCERTAIN_ERRORS) for error in report.outcome.failed.values())
            if uncertain and attempt < ONCE_TRIES - 1 and not stop.wait(BACK_OFF_FIRST_S * 2**attempt):
                self._reconciler.retry_uncertain()
            elif not report.outcome.done or report.outcome.failed:
                break
        return ""

    def _network_problems(self) -> list[str]:
        """Why pods may not be reached although their Routes are programmed."""
        nodes = self._cluster.nodes_problem()
        return [*((nodes,) if nodes else ()), *self._reconciler.network_findings().problems]

    # --- settling ------------------------------------------------------------------------

    def _settles_at(self) -> float | None:
        if self._first_write is None:
            return None
        return wake_at(self._first_write, self._last_write, hold_off_s=SETTLE_S, limit_s=SETTLE_LIMIT_S)

    def _settle_a_little(self) -> None:
        """Take the result of a save; remove some LTM nodes; begin the next save. Waits for no save."""
        self._take_save()
        now, at = self._clock(), self._settles_at()
        first = self._first_write
        if first is None or at is None or at > now or self._saver.under_way or now < self._blocked_until:
            return
        self._tidying = self._tidy(TIDY_MOST) and now < first + 2 * SETTLE_LIMIT_S
        if self._tidying:
            return
        self._first_write = None
        if self._config.save_config:
            self._saver.begin()

    def _tidy(self, most: int) -> bool:
        """Remove LTM nodes that were left behind; True if there are more."""
        device = self._reconciler.device
        try:
            removed = device.remove_orphans(most)
        except Exception as exc:
            log.warning("LTM nodes not removed", exc_info=not isinstance(exc, BigIPError),
                        extra={"error": str(exc)})
            return False
        if removed:
            log.info("LTM nodes removed", extra={"removed": removed, "left": device.orphans})
        return device.orphans > 0

    def _take_save(self) -> None:
        """Note how a save ended; one that failed is tried again."""
        ended, error = self._saver.take_result()
        if error is not None:
            log.warning("configuration not saved", exc_info=not isinstance(error, BigIPError),
                        extra={"error": str(error)})
            self._first_write = self._last_write = self._clock()
        elif ended:
            log.info("configuration saved")

    def _settle(self, *, timeout_s: float | None = None) -> bool:
        """Remove LTM nodes that were left behind, and save, at once; False if that is not finished in time.

        Args: timeout_s: how long to wait for saves, if not for ever; then only some nodes are removed.
        """
        begin = self._clock()
        if not self._saver.wait(timeout_s):
            return False
        self._take_save()
        if self._first_write is None:
            return True
        while self._tidy(TIDY_MOST) and timeout_s is None:
            pass
        if self._reconciler.device.orphans:
            self._tidy(TIDY_MOST)  # one lost reply is no reason to leave them
        self._first_write = None
        if self._config.save_config:
            self._saver.begin()
            left_s = None if timeout_s is None else max(0.0, begin + timeout_s - self._clock())
            if not self._saver.wait(left_s):
                return False
            self._take_save()
        return True

    def _settle_at_exit(self) -> None:
        """What is left to do, as far as the time allows that a pod has before it is killed."""
        finished: list[bool] = []
        ending = threading.Thread(
            target=lambda: finished.append(self._settle(timeout_s=EXIT_S)), daemon=True, name="settle")
        ending.start()
        ending.join(EXIT_S)
        if finished != [True]:
            log.warning("configuration perhaps not saved", extra={"waited_s": EXIT_S})
        self._statuses.flush(EXIT_S / 2)


# --- putting it together -----------------------------------------------------------------


def build_controller(
    config: Config, stack: ExitStack, *, clock: Callable[[], float] = time.monotonic,
) -> Controller:
    """Everything that runs, started; stopped with the stack."""
    signal = EventSignal(clock)
    connection = connect(config.kube)
    cluster = build_cluster(config, connection, signal.notify)
    device = build_device(config, stack)
    reconciler = Reconciler(
        Engine(config), device, folder=config.folder, clock=clock, drain_s=PASSTHROUGH_DRAIN_S,
        guard=DeleteGuard(allow=config.allow_mass_delete))
    statuses = build_statuses(config, connection, cluster)
    warnings = EventWriter(connection, router_name=config.router_name, route_source=cluster.route_source)
    reporter = StatusReporter(cluster, reconciler, statuses, warnings, clean=config.cleans)
    syncer = build_syncer(config, device)
    monitor = build_monitor(config, cluster, reconciler, statuses, warnings, syncer)
    controller = Controller(
        config, cluster, reconciler, statuses, warnings, signal, monitor, reporter, syncer, clock=clock)
    cleanup = build_cleanup(config, connection, statuses)
    if config.cleans:
        controller.on_loaded = cleanup.start
    for worker in (statuses, warnings, cluster, cleanup):
        stack.callback(worker.stop)
    cluster.start()
    return controller


def run(config: Config, *, once: bool, stop: threading.Event) -> int:
    """The command `f5router run`; returns its exit status."""
    with ExitStack() as stack:
        controller = build_controller(config, stack)
        if not once:
            stack.enter_context(serve(config, controller.monitor, stop))
            controller.run(stop)
            return 0
        controller.watch_stop(stop)
        reasons = controller.once(stop)
        for reason in reasons:
            log.error("not converged", extra={"reason": reason})
        return 1 if reasons else 0
