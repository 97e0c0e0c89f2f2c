"""One pass: from what changed in the cluster to writes on the BIG-IP and verdicts on Routes.

A full pass reads the device and compares everything: at the start, periodically, and after anything that
leaves doubt. Any other pass looks only at what an event touched. Slightly longer than other modules: events,
plan and outcome of a pass change the same state.
"""

import math
import weakref
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import replace
from itertools import chain

from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.icontrol.outcome import Outcome
from f5router.model.client_tls import TLSFiles
from f5router.model.cluster import Key, Route
from f5router.model.delta import Delta
from f5router.model.device_facts import DeviceFacts
from f5router.model.errors import UNCERTAIN_ERRORS, is_usable
from f5router.model.objects import Ref
from f5router.model.texts import Problem
from f5router.plan.change import CREATE, DELETE, AnyChange, Plan
from f5router.plan.diff import diff
from f5router.reconcile.backlog import Backlog
from f5router.reconcile.certificate_warnings import CertificateWarnings
from f5router.reconcile.change_times import ChangeTimes
from f5router.reconcile.delete_guard import DeleteGuard
from f5router.reconcile.drift_counts import DriftCounts
from f5router.reconcile.hold import Hold
from f5router.reconcile.member_writes import PATIENCE_S, MemberWrites, OnChange
from f5router.reconcile.report import ChangedRoutes, Report
from f5router.reconcile.retention import OF_NODES, Retention
from f5router.reconcile.retry import Failure, RetrySchedule
from f5router.reconcile.verdicts import Verdicts


class Reconciler:
    """Joins the pure parts with the device; one thread uses it."""

    def __init__(self, engine: Engine, device: Device, *, folder: str, clock: Callable[[], float],
                 drain_s: float = 0.0, guard: DeleteGuard | None = None, patience_s: float = PATIENCE_S,
                 facts_first: bool = False):
        """Args:
            facts_first: the first changes of the cluster wait for facts about the device, on which the
                objects of each Host depend: so these are built once.
            drain_s: how long the previous objects of a Route stay that becomes passthrough.
            guard: a new one if None is given.
            patience_s: how long a pass waits for each write of members.
        """
        self.engine = engine
        self.guard = guard or DeleteGuard()
        self.device = device
        reference = weakref.ref(engine)  # else the device, with cycles of its own, would keep it
        device.desired = lambda: known.objects if (known := reference()) else {}
        self._held: list[Delta] | None = [] if facts_first else None
        """Changes that wait for the first facts; None once these are known, or cannot be read."""
        self._clock = clock
        self._retry = RetrySchedule()
        self.retention = Retention(
            engine, device, self._retry, folder=folder, guard=self.guard, drain_s=drain_s)
        self._backlog = Backlog()
        """Objects that may differ between Desired and Observed."""
        self.members = MemberWrites(engine, device, self._retry, self.retention, self._backlog,
                                    clock=clock, patience_s=patience_s)
        self.times, self.drift = ChangeTimes(self.members.is_waiting, clock), DriftCounts(clock)
        self.certificates = CertificateWarnings(engine, clock=clock)
        self.verdicts = Verdicts(engine, device, self._retry, self.retention.deferred, self._backlog,
                                 certificates=self.certificates)
        self._routes = ChangedRoutes(engine, device, self._backlog, look=lambda: device.calls.look())
        self._removed: dict[Key, Route] = {}
        self.first_load = 0
        """Number of objects that the first reading found to be written."""
        self._first_load: set[Ref] | None = None
        """Objects that the first reading found to be written, and no pass has tried yet; None before it."""
        self._portion: set[Ref] = set()
        """The part of the backlog that the last Plan is about."""
        self._again = False
        """True if another pass is due at once."""
        self._unfinished = False
        """True if the last pass ended early: what it left is due."""
        self._reports_all = False
        """True if the next report counts as that of a full pass."""

    # --- events --------------------------------------------------------------------------

    def apply(self, delta: Delta) -> None:
        """Take changes of the cluster; cheap, writes nothing but members of pools."""
        if self._held is not None:
            self._held.append(delta)
            return
        ways_known, undetermined = self._knows_ways(), self.engine.undetermined()
        before = {key: self.engine.route(key) for key in {*delta.routes, *self.engine.undecided()}}
        services = self.engine.cluster.services_of(delta)
        routes = Delta(routes=delta.routes, sources_unread=delta.sources_unread, undecided=delta.undecided,
                       networks_unread=delta.networks_unread)
        steps = [replace(delta, routes={}), routes] if delta.routes else [delta]
        for step in steps:
            for _ in self.engine.apply_in_steps(step):
                self.device.calls.look()
            self._collect()
            self.device.calls.look()
        for key, old in before.items():
            self._note_route(key, old, self.engine.route(key))
        if self.engine.undetermined() != undetermined:
            self.retention.deferred.retry()  # what waits may do so for them
        self._collect(services)
        if self._knows_ways() and not ways_known:
            # Only now it is known which objects belong to Nodes that are gone.
            self._queue(ref for ref in self.device.observed if ref.kind in OF_NODES)

    def _knows_ways(self) -> bool:
        cluster = self.engine.cluster
        return cluster.nodes_listed and not cluster.networks_unread

    def observe(self, *, create_folder: bool = True) -> None:
        """Read the device. Args: as those of Device.observe. Raises: BigIPError."""
        try:
            self.device.observe(create_folder=create_folder, on_facts=self._take_held)
        finally:
            self._take_held(self.device.facts)

    def _take_held(self, facts: DeviceFacts) -> None:
        """Take the changes that waited for facts. No others come between them: see Replica.has_read."""
        held, self._held = self._held, None
        if held is not None:
            self.engine.set_facts(facts)
            for delta in held:
                self.apply(delta)

    def warm_up(self) -> None:
        """Read the device, and be ready for a pass that another router makes now; writes nothing.

        Raises: BigIPError.
        """
        self.observe(create_folder=False)
        self.engine.set_facts(self.device.facts)
        for _ in self.engine.rebuild_pools():
            self.device.calls.look()
        self._collect()

    def forget_changes(self) -> None:
        """Forget what is to be written and reported: another router does so.

        The full pass of a takeover finds all of it again, except Routes that are gone by then.
        """
        self._backlog.clear()
        self.members.pending.clear()
        self.times.keep(frozenset())
        self._removed.clear()
        self._routes.clear()
        self.retention.draining.expire(self._clock())

    def unit_changed(self) -> None:
        """Forget what was written and refused on a unit that is not used any more; a reading follows."""
        self.members.abandon()
        self._retry.failures.clear()

    def set_tls_files(self, files: TLSFiles) -> None:
        """Take the new content of the administrator's files for TLS towards clients."""
        self.times.begin(None)
        self.engine.set_tls_files(files)
        self._collect()

    def set_default_destination_ca(self, certificates: str) -> None:
        """Take renewed authorities for pods; the next pass writes them."""
        self.times.begin(None)
        for _ in self.engine.set_default_destination_ca(certificates):
            self.device.calls.look()
        self._collect()

    def take_endpoints(self, delta: Delta) -> set[Key]:
        """Take changes of endpoints only, and return their Services; `members.program` writes them."""
        services = self.engine.cluster.services_of(delta)
        self.engine.apply_endpoints(delta)
        self._collect(services)
        return services

    def rebuild_pools(self) -> None:
        """Do one step of what changes of endpoints have left to do."""
        if self.engine.has_changed_pools:
            next(self.engine.rebuild_pools(), None)
            self._collect()

    def take_drift(self, refs: set[Ref]) -> None:
        """Take objects that may not be as they should be; the next pass fixes them."""
        if not refs:
            return
        changed = {change.ref for change in diff(
            self.engine.objects, self.device.observed, self.retention.owns, refs, self.device.ordinals)}
        self._note_changed(changed)

    def reevaluate(self, routes: Iterable[Key]) -> None:
        """Give these Routes a verdict with the next pass, whether something changed or not."""
        self._routes.add(routes)

    def end_reading(self) -> None:
        """Let the next pass report on everything: all that was read is compared."""
        self._again = self._reports_all = True

    def confirm_deletes(self, confirmed: Set[Ref]) -> None:
        """Let deletes go ahead; the others that are held back are evaluated anew.

        The caller has applied a complete list of the cluster that began when these were held back.
        """
        held, emptied, ways = self.guard.held, self.guard.emptied, self.guard.ways
        self.guard.confirm(confirmed)
        self._queue(held | ways)
        self.members.pending |= emptied

    def retry_uncertain(self) -> None:
        """Make every object due whose last write was left in doubt."""
        self._retry.retry_uncertain(self._clock())

    def _note_route(self, key: Key, old: Route | None, new: Route | None) -> None:
        if self.retention.draining.note(key, old, new, self._clock()):
            self.retention.deferred.retry()
        if new is not None:
            self._removed.pop(key, None)
        elif old is not None:
            self._removed[key] = old

    def _collect(self, services: Iterable[Key] = ()) -> None:
        """Take from the engine what an event affects. Args: services: whose endpoints changed."""
        dirty, affected = self.engine.take_changes()
        self.members.note_endpoints(services)
        self.times.note(dirty)
        self._note_changed(dirty)
        self._routes.add(affected)
        self._reset_backoff(dirty, affected)

    def _note_changed(self, refs: set[Ref]) -> None:
        """Let members of pools be written, and put everything else into the backlog."""
        self.members.note_changed(refs)
        self._queue(ref for ref in refs if not (self.members.is_present(ref) and ref in self.engine.objects))

    def _reset_backoff(self, dirty: set[Ref], affected: set[Key]) -> None:
        """Try what a team has changed at once, not when its back-off ends."""
        if not self.failures:
            return
        dirty = dirty | self.engine.closure(ref for key in affected for ref in self.engine.uses(key))
        for ref in dirty & self.failures.keys():
            if not self.members.is_writing(ref):
                self.members.retry_now(ref)

    def _queue(self, refs: Iterable[Ref]) -> None:
        self._backlog.add(refs, self.engine.objects, self.device.observed)

    def queue_lengths(self) -> tuple[int, int]:
        """Return how many objects wait for a pass, and how many pools for a write of members."""
        return len(self._backlog), len(self.members.pending)

    # --- what is due ---------------------------------------------------------------------

    @property
    def failures(self) -> Mapping[Ref, Failure]:
        """Objects that the device refused."""
        return self._retry.failures

    def needs_observation(self) -> bool:
        """True if the next pass must read the device first."""
        return self.device.stale or any(
            ref not in self._backlog and not self.members.is_held_up(ref)
            for ref in self._retry.due(self._clock()))

    def next_retry(self) -> float | None:
        """Return the time of the next attempt at what was refused, deferred, or left over by a pass."""
        if self._again or self._unfinished or self.engine.checks.news or self._backlog or (
                self.engine.has_changed_pools or
                self.members.has_room() or self.members.has_changed or self._routes):
            return -math.inf
        times = (self._retry.next_due(self.members.is_held_up), self.retention.deferred.next_due())
        return min((time for time in times if time is not None), default=None)

    @property
    def loaded(self) -> bool:
        """True once every Change that the first reading called for was tried, whatever has come in since."""
        return self._first_load is not None and not self._first_load

    # --- the plan ------------------------------------------------------------------------

    def plan(self, *, full: bool, most: int | None = None) -> Plan:
        """Return what is to be written now.

        Args:
            full: compare everything.
            most: about so many objects of the backlog at most.
        """
        desired, observed, owns = self.engine.objects, self.device.observed, self.retention.owns
        if full:
            self.engine.set_facts(self.device.facts)
            self.retention.keep_pods()
        for _ in self.engine.rebuild_pools():
            self.device.calls.look()
        self._collect()
        self.guard.kept = frozenset(self.engine.pools_of_pods())
        if full:
            changes = diff(desired, observed, owns, ordinals=self.device.ordinals)
            self._start_over(changes)
        also = self.retention.deferred.due(self._clock()) | self.retention.awaiting_secret
        self._hold_deletes(also)
        held = self.guard.held
        self._portion = (
            self.members.pending | self._backlog.portion(desired, observed, most, also - held)) - held
        self.device.calls.look()
        if not full or most is not None or held:
            changes = diff(desired, observed, owns, self._portion, self.device.ordinals)
            self.device.calls.look()
        changes = self.retention.determine(changes)
        return tuple(change for change in changes if self._hold(change) is None)

    def _start_over(self, changes: Plan) -> None:
        """Fill the backlog after a reading: with everything that differs, and nothing else."""
        self._backlog.clear()
        self.times.keep({change.ref for change in changes})
        pools = {change.ref for change in changes if self.members.is_present(change.ref)}
        self.members.start_over(pools)
        self._queue(change.ref for change in changes if change.new is None or change.ref not in pools)
        if self._first_load is None:
            self._first_load = {*self._backlog, *pools}
            self.first_load = len(self._first_load)
            self.retention.hold_members(self._clock())
            self.retention.hold_ways(self._clock())

    def _hold_deletes(self, also: set[Ref]) -> None:
        """Take deletes out of the backlog that must be confirmed; put back those that need not be any more.

        Args: also: objects that are compared besides the backlog.
        """
        released = self.retention.hold_deletes(chain(self._backlog, also), self._clock())
        self._backlog.remove(self.guard.held)
        self._queue(released)

    def _hold(self, change: AnyChange) -> Hold | None:
        """Return why a Change is not in the Plan, and until when; None if it is."""
        return self.retention.hold_write(change.ref, self._clock()) or self.members.hold(change)

    def foresee(self, plan: Plan) -> None:
        """Record the refusals of a Plan that are known beforehand, as if it had been carried out."""
        self._retry.record(self.device.unit.attachments.foresee(plan), (), self._clock())

    # --- the pass ------------------------------------------------------------------------

    def run(self, *, full: bool, most: int | None = None,
            on_change: OnChange = lambda change: None) -> Report:
        """Plan and write.

        Args:
            full: compare everything; the caller has observed the device.
            most: see `plan`. The rest, or what an interruption of the device left, is for the next pass.
        Raises:
            BigIPError: the pass ended early; the next one must be full.
        """
        now, self._unfinished = self._clock(), True
        self.retention.draining.expire(now)
        self.members.wait(on_change)
        plan = self.plan(full=full, most=most)
        self._backlog.remove(self._portion)
        try:
            outcome = self._carry_out(plan, on_change)
        except BaseException:
            self._put_back(self._portion)
            raise
        self._put_back(change.ref for change in outcome.not_sent)
        self.guard.record_pass(outcome.done, now)
        changed = self._record_outcome(outcome)
        while self.members.program(on_change):  # pools that go, and what came in since
            self.members.wait_a_moment()
        outcome.done += self._correct(on_change)
        # Dependents of these may be gone, or have changed, since the Plan was made: one more pass finds out.
        left_alone = any(ref not in self.engine.objects for ref in self.retention.awaiting_secret)
        self._again = not self._again and bool(outcome.done and left_alone)
        self._unfinished = False
        if outcome.done and self.device.facts.original.reencrypt and not self._backlog:
            self.device.stale = True  # what was there only until the original's Rules were ours goes now
        self.times.settle(self._portion)
        changed |= self.members.take_changed()
        outcome.done += self.members.take_done()
        self._first_load = {ref for ref in self._first_load or ()
                            if ref in self._backlog or ref in self.members.pending}
        return self._report(outcome, changed, full=full)

    def _put_back(self, refs: Iterable[Ref]) -> None:
        self._backlog.put_back(refs, self.engine.objects, self.device.observed)

    def _carry_out(self, plan: Plan, on_change: OnChange) -> Outcome:
        self.members.planned = planned = {change.ref for change in plan}
        waiting, outcome = self._retry.errors(planned), Outcome()
        try:
            self.device.apply(
                plan, outcome=outcome, newest=self.members.newest, soon=self._retry.is_recent,
                earlier_failures={ref: error for ref, error in waiting.items() if ref in self.engine.objects},
                deferred={*self.retention.deferred.refs, *waiting},
                should_retain=lambda outcome: self.retention.should_retain(
                    {ref for ref, error in (*outcome.failed.items(), *waiting.items())
                     if not is_usable(error)}),
                on_change=lambda change: self.members.confirm(change, on_change),
            )
        except BaseException:
            # The next pass tries other objects first: so the object that is to blame is found.
            self._record_failed(outcome)
            raise
        finally:
            self.members.planned = frozenset()
        return outcome

    def _record_failed(self, outcome: Outcome) -> None:
        self._retry.record(outcome.failed, outcome.blocked, self._clock())

    def _record_outcome(self, outcome: Outcome) -> set[Ref]:
        """Record refusals and deferred deletes; returns the objects whose refusal began, changed or ended."""
        now = self._clock()
        deferred = {change.ref for change in outcome.deferred_deletes}
        # A delete that is deferred has a back-off as such.
        own_backoff = self.retention.awaiting_secret | deferred
        changed, recovered = self._retry.record_pass(
            outcome.failed, outcome.blocked, now, recovered=self.members.take_recovered(),
            is_settled=lambda ref: ref in own_backoff or (
                self.engine.objects.get(ref) == self.device.observed.get(ref))
            or self.members.lacks_only_monitors(ref))
        self.retention.deferred.record(
            deferred, {change.ref for change in outcome.done} | outcome.failed.keys(), outcome.in_use, now,
            is_going=self.retention.is_going, recovered=recovered)
        return changed

    def _correct(self, on_change: OnChange) -> list[AnyChange]:
        """Correct objects that stay because of a refusal; returns what was written.

        That is tried in every pass, but must not go on without end: an object waits for its turn if the last
        error of its write makes the next pass follow at once, with a reading.
        """
        now = self._clock()
        waiting = {ref for ref, failure in self.failures.items()
                   if isinstance(failure.error, UNCERTAIN_ERRORS)
                   and self.retention.hold_write(ref, now) is not None}
        plan = tuple(change for change in self.retention.corrections(self.failures.keys())
                     if change.ref not in waiting and self.retention.hold_emptied(change.ref) is None)
        outcome = Outcome()
        try:
            self.device.apply(plan, on_change=on_change, outcome=outcome)
        finally:
            self._record_failed(Outcome(failed={
                ref: error for ref, error in outcome.failed.items() if isinstance(error, UNCERTAIN_ERRORS)}))
        self._queue(change.ref for change in outcome.done if change.verb == CREATE)  # nobody wants it
        return outcome.done

    def _report(self, outcome: Outcome, changed: set[Ref], *, full: bool) -> Report:
        """Judge the Routes that may have a new verdict: those with everything that they need behind them."""
        if full:
            self._routes.add(self.engine.routes())
        self._routes.add_users(changed)
        keys = self._routes.take(self._portion)
        full, self._reports_all = full or self._reports_all, False
        removed, self._removed = self._removed, {}
        verdicts, warnings = {}, {}
        for key in self._routes.while_looking(keys):
            if (verdict := self.verdicts.verdict(key)) is not None:
                verdicts[key] = verdict
            warnings[key] = self.warnings(key)
        return Report(outcome, full, verdicts, warnings, removed)

    def warnings(self, key: Key) -> tuple[Problem, ...]:
        """Return what the team should know about a Route that is served."""
        return (*self.engine.warnings(key), *self.certificates.of(key))

    def is_converged(self) -> bool:
        """True if all that is desired is on the device, apart from refused objects; after an observation."""
        return all(change.verb == DELETE or change.ref in self.failures for change in self.plan(full=True))
