"""Makes Plans, carries them out one after another, and writes members of pools beside them.

Nothing here waits: `advance` sends what may be sent now, and the end of each request is a message.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import PATIENCE_S, Job, Lane
from f5router.icontrol.outcome import Outcome
from f5router.icontrol.unit import Unit
from f5router.model.errors import UNCERTAIN_ERRORS, Busy, InUse, NotFound, NotLeader, Unconfirmed
from f5router.model.ltm import Policy
from f5router.model.ltm_nodes import is_usable
from f5router.model.objects import Ref
from f5router.plan.change import DELETE, UPDATE, AnyChange, Plan
from f5router.plan.diff import diff
from f5router.plan.rule_order import UncertainWrites
from f5router.reconcile.inbox import weakly
from f5router.reconcile.members import Members
from f5router.reconcile.retention import Determined, Retention
from f5router.reconcile.rollout import UNDER_WAY, Obstacles, Rollout
from f5router.reconcile.row import FOR_SERVING, HoldReason, RowState, errors
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers
from f5router.reconcile.whole_reading import DeviceReader


class Writing(NamedTuple):
    """A write under way."""

    job: Job
    changes: list[AnyChange]
    rollout: Rollout | None


class Rollouts:
    """The loop's thread calls its methods."""

    def __init__(self, engine: Engine, device: Device, table: Table, members: Members,
                 retention: Retention, reader: DeviceReader, *, timers: Timers, clock: Callable[[], float],
                 slice_s: float, rebuild: Callable[[], None]):
        """Args:
            slice_s: a rollout that others wait for ends after this long.
            rebuild: builds the pools anew whose Services have changed.
        """
        self._engine, self._device, self._table, self._members = engine, device, table, members
        self._retention, self._guard, self._timers = retention, retention.guard, timers
        self._reader = reader
        self._clock, self._slice_s, self._rebuild = clock, slice_s, rebuild
        table.on_recovery = weakly(self._note_recovery)
        self.current: Rollout | None = None
        """The Plan under way."""
        self.outcome = Outcome()
        """Results of Changes since the last report."""
        self.portion: Callable[[], int | None] = lambda: None
        """Returns about how many objects the next Plan is about; None for all that are due."""
        self.others_wait: Callable[[], bool] = lambda: False
        """True if changes of the cluster wait for the end of a rollout."""
        self.on_change: Callable[[AnyChange], None] = lambda change: None
        """Called for each Change that the device confirmed."""
        self.on_settled: Callable[[], None] = lambda: None
        """Called when something has become of Changes."""
        self.before_plan: Callable[[], None] = lambda: None
        """Called between two rollouts."""
        self.must_wait: Callable[[], bool] = lambda: False
        """True if no rollout may begin after that, as something else goes on in the next turn."""
        self.on_begin: Callable[[], None] = lambda: None
        """Called when a rollout begins,"""
        self.on_end: Callable[[], None] = lambda: None
        """and when it has ended, with its corrections."""
        self.trouble: Exception | None = None
        """Why nothing is sent: the device itself failed. The owner decides when to go on."""
        self.follows = False
        """True while another router writes: what a reading shows is kept, and nothing is compared."""
        self.is_demanded = False
        """True if a Plan is due whatever is in the queue."""
        self._groups: dict[str, Ref] = {}
        """Groups that are being written, each with an object of it."""
        self._writing: dict[int, Writing] = {}
        """Writes under way, by number, the oldest first."""
        self._number = count()
        self._routed_at = -math.inf
        """When Rules or records were written last by a rollout that had ended before, or was dropped."""
        self.is_asking = self._has_asked = False
        """True while the units of a pair are asked, and once they were: a rollout may begin."""

    @property
    def is_writing_policies(self) -> bool:
        """True while a policy or a group is being written, perhaps by a rollout that has ended."""
        return bool(self._groups) or any(ref.kind == Policy.KIND for ref in self._table.sent)

    @property
    def is_due(self) -> bool:
        """True if a Plan is due."""
        return bool(self.is_demanded or self._table.queue)

    def advance(self, *, may_begin: bool) -> None:
        """Begin a rollout if one is due, send what may be sent of it, and end it.

        Args: may_begin: False to begin none, as something else must end first.
        """
        while True:
            now = self._clock()
            if self.current is None:
                if not may_begin or self._reader.reason or self.trouble is not None:
                    return
                self.before_plan()
                if self.must_wait() or not self.is_due or not self._may_begin():
                    return
                self._begin(now)
            rollout = self.current
            if rollout is None:
                return
            if now >= rollout.began + self._slice_s and self.others_wait():
                self._device.unit.is_enough = True
                rollout.drop()
            self._send_rollout(rollout, now)
            if not rollout.is_over and not self._is_stuck(rollout, now):
                if (at := rollout.wakes_at(now)) != math.inf:
                    self._timers.at(at, "rollout", lambda: None)
                return
            self._end(rollout)

    def suspend(self, error: Exception) -> None:
        """Send nothing more until the owner resumes: the device itself failed."""
        if self.follows and isinstance(error, NotLeader):
            return  # a write of a term that is over
        if not isinstance(error, Busy):  # else the request was not executed
            self._reader.must_read(f"trouble: {error}")
        if self.trouble is None or isinstance(self.trouble, Busy):
            self.trouble = error
        if self.current is None:
            self.on_begin()
            self.on_end()
            return
        self.current.drop()
        if self.current.is_over:
            self._end(self.current)

    def abandon(self) -> None:
        """Forget the rollout under way: it was for a unit that is not used any more."""
        self.current = None
        self._groups.clear()
        self._writing.clear()

    def retry_deferred(self) -> None:
        """Try deletes at once that wait for others, and examine what waits for something to be read."""
        self._table.release(*FOR_SERVING)
        self.is_demanded = self.is_demanded or bool(self._retention.unread())

    def _note_recovery(self) -> None:
        self._table.release(*FOR_SERVING)

    def _may_begin(self) -> bool:
        """True unless the units of a pair are to be asked first which of them is active."""
        if not self._device.pair.is_several or self._has_asked:
            self._has_asked = False
            return True
        if not self.is_asking:
            self.is_asking = True
            self._device.dispatcher.send(self._device.look, self._asked)
        return False

    def _asked(self, job: Job) -> None:
        self.is_asking, self._has_asked = False, job.error is None
        if job.error is not None:
            self.suspend(job.error)

    def _begin(self, now: float) -> None:
        self.on_begin()
        self.is_demanded = False
        self._device.unit.is_enough = False
        self._retention.draining.expire(now)
        self.current = self._rollout(self._plan(self.portion()), now)

    def _rollout(self, determined: Determined, now: float) -> Rollout:
        plan, absent, table = determined.plan, determined.absent, self._table
        waiting = errors(table.failures, {change.ref for change in plan})
        waiting |= {change.ref: UNDER_WAY for writing in self._writing.values() if self._hangs(writing, now)
                    for change in writing.changes}
        return Rollout(plan, self._device, Obstacles(
            errors={ref: error for ref, error in waiting.items() if ref in self._engine.objects},
            staying={*table.held_for(*HoldReason), *waiting},
            should_retain=lambda outcome: self._retention.should_retain(
                {*absent, *(ref for ref, error in (*outcome.failed.items(), *waiting.items())
                            if not is_usable(error) and not isinstance(error, InUse))}),
            newest=self._members.newest, is_recent=self._table.is_recent, is_sent=self._table.is_sent,
            group_under_way=self._group_under_way, pools_under_way=self._members.under_way,
            routed_at=lambda: self._routed_at), now=now, patience_s=PATIENCE_S)

    def _group_under_way(self, change: AnyChange) -> Ref | None:
        """Return an object that is being written with its group: that of a Change, or what it holds."""
        return self._groups.get(self._device.unit.sender.group(change)) or self._groups.get(change.ref.path)

    def plan(self, most: int | None = None, *, with_members: bool = False) -> Plan:
        """Return what is to be written now, and hold what must wait.

        Args:
            most: objects, roughly; None for all.
            with_members: include pools of the device, which are else written beside a rollout.
        """
        return self._plan(most, with_members=with_members).plan

    def _plan(self, most: int | None, *, with_members: bool = False) -> Determined:
        desired, observed, table = self._engine.objects, self._device.observed, self._table
        self._rebuild()
        also = set(self._retention.unread())
        self._retention.hold_deletes([*table.queue, *also], self._clock())
        portion = table.queue.portion(desired, observed, most, also - self._guard.held)
        portion = (portion | table.members.keys() if with_members else portion) - table.sent.keys()
        changes = diff(desired, observed, self._retention.owns, portion, self._device.ordinals)
        determined = self._retention.determine(changes)
        leaving = self._members.leaving() if not with_members and any(
            change.verb == DELETE and change.stage.is_network for change in determined.plan) else {}
        users = {change.ref: user for change in determined.plan
                 if not with_members and (user := self._members.user_of(change, leaving)) is not None}
        plan = tuple(change for change in determined.plan
                     if not self._retention.is_unconfirmed(change.ref) and change.ref not in users
                     and (with_members or not self._members.writes_beside(change)))
        table.touch_members(change.ref for change in determined.plan if change.verb == UPDATE)
        planned, waiting = {change.ref for change in plan}, determined.waiting
        for ref in planned:
            table.plan(ref, waiting.get(ref))
        for ref, reason in waiting.items():
            if ref not in planned:
                table.hold(ref, reason)
        for ref in portion - planned - waiting.keys():
            if ref in users:
                table.wait_for(ref, users[ref])
            elif self._retention.is_unconfirmed(ref):
                table.hold_on(ref)
            else:
                table.leave_queue(ref)
        return replace(determined, plan=plan)

    def foresee(self, plan: Plan) -> None:
        """Record the refusals of a Plan that are known beforehand, as if it had been carried out."""
        for ref, error in self._device.unit.attachments.foresee(plan).items():
            self._table.refuse(ref, error)

    # --- requests --------------------------------------------------------------------------

    def send_due_members(self) -> None:
        """Write members of pools that are due, beside whatever is under way."""
        self.set_aside_hanging()
        for change in self._members.take_due(self._device.dispatcher.member_room()):
            self.send_members(change)

    def send_members(self, change: AnyChange) -> None:
        """Write members of a pool of the device."""
        self._send([change], Lane.MEMBERS, None)

    def is_writing(self, ref: Ref) -> bool:
        """True for a REST object while a write of it, or of a part of it, is under way."""
        return self._table.is_sent(ref) or ref.path in self._groups

    def _send_rollout(self, rollout: Rollout, now: float) -> None:
        """Send what may be sent, and record what may not."""
        while self._device.dispatcher.room() > 0 and (changes := rollout.next(now)):
            self._send(changes, Lane.ROLLOUT, rollout)
        unsent, rollout.unsent = rollout.unsent, []
        for ref, error, on in unsent if not rollout.corrects else ():
            if on is None:
                self._table.refuse(ref, error)
            else:
                self._table.block(ref, error, on)
        skipped, rollout.skipped = rollout.skipped, []
        for ref in skipped:
            self._table.rest(ref)
        held, rollout.held = rollout.held, []
        for ref, reason in held:
            self._table.hold(ref, reason, self._retention.draining.next_end()
                             if reason is HoldReason.DRAINING else math.inf)
        postponed, rollout.postponed = rollout.postponed, []
        self._table.queue_up(postponed)  # in flight: again afterwards

    def _is_stuck(self, rollout: Rollout, now: float) -> bool:
        """True if nothing of a rollout may be sent before a write ends that hangs."""
        own = [writing for writing in self._writing.values() if writing.rollout is rollout]
        return bool(own) and not rollout.may_send and all(self._hangs(writing, now) for writing in own)

    def _hangs(self, writing: Writing, now: float) -> bool:
        return self._device.dispatcher.hangs_at(writing.job, now) <= now

    def set_aside_hanging(self) -> None:
        """Give the room of writes that hang to others."""
        self._set_aside(each.job for each in self._writing.values())

    def _set_aside(self, jobs: Iterable[Job]) -> None:
        """Give the room of writes that hang to others, and do so again when the next of them hangs."""
        next_at = self._device.dispatcher.set_aside(jobs, self._clock())
        if next_at < (self._timers.when("hanging") or math.inf):
            self._timers.at(next_at, "hanging", weakly(self.set_aside_hanging))

    def _send(self, changes: list[AnyChange], lane: Lane, rollout: Rollout | None) -> None:
        unit, group = self._device.unit, self._device.unit.sender.group(changes[0])
        for change in changes:
            self._table.send(change.ref)
        if group:
            self._groups[group] = changes[0].ref
        number = next(self._number)
        job = self._device.send(changes, lambda job: self._replied(job, changes, rollout, unit, number), lane)
        self._writing[number] = Writing(job, changes, rollout)
        self._set_aside([job])

    def _replied(self, job: Job, changes: list[AnyChange], rollout: Rollout | None, unit: Unit,
                 number: int) -> None:
        """Record what became of Changes."""
        self._writing.pop(number, None)
        if rollout is not None:
            rollout.ended()
        if unit is not self._device.unit:
            return
        if (first := self._groups.pop(unit.sender.group(changes[0]), None)) is not None:
            self._table.wake(first)
        outcome, trouble = Outcome(), job.error
        if job.result is not None:
            trouble = self._device.settle(job.result, self._confirmed, outcome)
        corrects = rollout is not None and rollout.corrects
        is_current = rollout is not None and rollout is self.current
        errors = {**outcome.failed, **outcome.in_use}
        done = {change.ref for change in outcome.done}
        if rollout is not None and (not is_current or rollout.is_dropped) and any(
                change.stage.is_routing for change in outcome.done):
            self._routed_at = self._clock()
        for change in changes:
            ref = change.ref
            if ref in done:
                self._table.confirm(ref, corrects=corrects)
            elif ref not in errors:
                self._table.not_sent(ref)
            elif not corrects or isinstance(errors[ref], UNCERTAIN_ERRORS):
                self._table.refuse(ref, errors[ref])
                if isinstance(errors[ref], Unconfirmed):
                    self._table.doubt(ref, self._reader.number)
            else:
                self._table.confirm(ref, corrects=True)
        (rollout.outcome if rollout is not None and is_current else self.outcome).add(outcome)
        if rollout is not None and len(done) + len(outcome.failed) + len(outcome.in_use) < len(changes):
            rollout.drop()  # never Changes of a later stage before those that were not sent
        for ref, error in outcome.failed.items():
            if isinstance(error, NotFound | Unconfirmed):  # somebody else may have changed it
                self._reader.must_read(f"{ref}: {error}")
        self.on_settled()
        if rollout is None and outcome.failed:
            self.is_demanded = True  # what stays because of a refusal may have to be corrected
        if trouble is not None:
            self.suspend(trouble)
        elif self.trouble is not None and self.current is not None and self.current.is_over:
            self._end(self.current)

    def _confirmed(self, change: AnyChange) -> None:
        self._guard.note(change)
        self._members.written(change)
        self.on_change(change)

    def _end(self, rollout: Rollout) -> None:
        """Record what a rollout leaves to be done."""
        outcome, now = rollout.outcome, self._clock()
        self.current, self._device.unit.sender.uncertain = None, UncertainWrites()
        self._guard.record_pass(now)
        if any(change.verb == DELETE for change in outcome.done):
            self._table.release(HoldReason.NEEDED)
        self.outcome.add(outcome)
        if outcome.done and self._device.facts.original.reencrypt and not self._table.queue:
            self._reader.must_read("what was there only until the original's Rules were ours goes now")
        self.on_settled()
        if rollout.corrects or self.trouble is not None:
            self.on_end()
            return
        # Dependents of these may be gone, or have changed, since the Plan was made: one more finds out.
        self.is_demanded = self.is_demanded or bool(outcome.done and self._retention.unread())
        if plan := self._corrections():
            self.current = Rollout(plan, self._device, Obstacles(is_sent=self._table.is_sent), now=now,
                                   corrects=True)
        else:
            self.on_end()

    def _corrections(self) -> Plan:
        """Return the Changes of objects that stay because of a refusal, and cannot wait.

        They are tried after every rollout, but must not go on without end: an object waits for its turn if
        the last error of its write makes a reading follow at once.
        """
        waiting = {ref for ref, row in self._table.failures.items()
                   if row.state is RowState.DUE or isinstance(row.error, UNCERTAIN_ERRORS)}
        return tuple(change for change in self._retention.corrections()
                     if change.ref not in waiting and not self._retention.is_unconfirmed(change.ref)
                     and not self._table.is_sent(change.ref))
