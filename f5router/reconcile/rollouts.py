"""Makes Plans, carries them out one after another, and writes members of pools beside them.

Nothing here waits: `advance` sends what may be sent now, and the end of each request is a message.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import count
from typing import NamedTuple

from f5router.desired.engine import Engine
from f5router.icontrol.device import Device, Settled
from f5router.icontrol.dispatcher import PATIENCE_S, Job, Lane
from f5router.icontrol.unit import Unit
from f5router.model.errors import Busy, NotFound, NotLeader, Unconfirmed
from f5router.model.ltm import Policy
from f5router.model.objects import Ref
from f5router.plan.change import DELETE, UPDATE, AnyChange, Plan
from f5router.plan.diff import diff
from f5router.plan.rule_order import UncertainWrites
from f5router.reconcile.inbox import weakly
from f5router.reconcile.members import Members
from f5router.reconcile.retention import Determined, Retention
from f5router.reconcile.rollout import Obstacles, Rollout
from f5router.reconcile.row import FOR_SERVING, HoldReason
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
        self._ended: set[HoldReason] = set()
        """Reasons of deletes that have ended since the rollout under way began."""
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
                    self._timers.at(at, "rollout")
                return
            if not self._correct(rollout, now):
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
        self._release(*FOR_SERVING)

    def _release(self, *reasons: HoldReason) -> None:
        """Try deletes again that are held for these reasons, in the next Plan.

        Until then they are held: a rollout under way must not delete what their objects need.
        """
        self._ended.update(reasons)
        if self.current is None:
            self._table.release(*self._ended)
            self._ended.clear()

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
        return Rollout(determined.plan, self._device, self._table, Obstacles(
            should_retain=lambda failed: self._retention.should_retain({*determined.absent, *failed}),
            draining_until=self._retention.draining.next_end, hanging=self._hanging,
            newest=self._members.newest, group_under_way=self._group_under_way,
            pools_under_way=self._members.under_way, routed_at=lambda: self._routed_at),
            now=now, patience_s=PATIENCE_S)

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
        self._retention.hold_deletes([*table.queue.going, *also], self._clock())
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
        unit = self._device.unit
        for ref, error in {**unit.attachments.foresee(plan), **unit.virtual_servers.foresee(plan)}.items():
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
        """Send what may be sent."""
        while self._device.dispatcher.room() > 0 and (changes := rollout.next(now)):
            self._send(changes, Lane.ROLLOUT, rollout)

    def _is_stuck(self, rollout: Rollout, now: float) -> bool:
        """True if nothing of a rollout may be sent before a write ends that hangs."""
        own = [writing for writing in self._writing.values() if writing.rollout is rollout]
        return bool(own) and not rollout.may_send and all(self._hangs(writing, now) for writing in own)

    def _hanging(self) -> set[Ref]:
        """Return the objects whose writes hang, or hung: nothing else waits for those of earlier rollouts."""
        now = self._clock()
        return {change.ref for writing in self._writing.values()
                if self._hangs(writing, now) or writing.rollout not in (None, self.current)
                for change in writing.changes}

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
            self._table.send(change.ref, corrects=rollout is not None and rollout.corrects)
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
        if unit is not self._device.unit:
            return
        if (first := self._groups.pop(unit.sender.group(changes[0]), None)) is not None:
            self._table.wake(first)
        settled = self._device.settle(job, self._confirmed)
        self._record(changes, settled)
        if rollout is not None:
            self._advance(rollout, changes, settled)
        self.on_settled()
        if settled.trouble is not None:
            self.suspend(settled.trouble)
        elif self.trouble is not None and self.current is not None and self.current.is_over:
            self._end(self.current)

    def _record(self, changes: list[AnyChange], settled: Settled) -> None:
        """Let the rows say what became of Changes."""
        done = {change.ref for change in settled.done}
        for ref in (change.ref for change in changes):
            error = settled.errors.get(ref)
            if ref in done:
                self._table.confirm(ref)
            elif error is None:
                self._table.not_sent(ref)
            else:
                row = self._table.rows.get(ref)
                corrected = row is not None and row.corrects
                self._table.refuse(ref, error)
                if not corrected:
                    self._members.correct([ref])
            if isinstance(error, Unconfirmed):
                self._table.doubt(ref, self._reader.number)
            if isinstance(error, NotFound | Unconfirmed):  # somebody else may have changed it
                self._reader.must_read(f"{ref}: {error}")

    def _advance(self, rollout: Rollout, changes: list[AnyChange], settled: Settled) -> None:
        """Let a rollout go on after Changes of it."""
        waited = rollout.ended(changes, settled.done)
        if settled.done and (rollout is not self.current or rollout.is_dropped or not waited):
            self._release(HoldReason.NEEDED)  # deletes may have waited for this reply
            if any(change.stage.is_routing for change in settled.done):
                self._routed_at = self._clock()
        if len(settled.done) + len(settled.errors) < len(changes):
            rollout.drop()  # never Changes of a later stage before those that were not sent

    def _confirmed(self, change: AnyChange) -> None:
        self._guard.note(change)
        self._members.written(change)
        self.on_change(change)

    def _correct(self, rollout: Rollout, now: float) -> bool:
        """Let the last stages of a rollout correct what cannot wait; False if nothing is to be corrected.

        That is tried after every rollout, but once: it must not go on without end.
        """
        if rollout.corrects or self.trouble is not None:
            return False
        self._settle(rollout, now)
        # Dependents of these may be gone, or have changed, since the Plan was made: one more finds out.
        self.is_demanded = self.is_demanded or bool(rollout.has_written and self._retention.unread())
        self._device.unit.is_enough = False
        self._members.correct(self._retention.staying())
        return rollout.correct(self._retention.corrections(), now)

    def _settle(self, rollout: Rollout, now: float) -> None:
        """Take what a rollout has deleted."""
        self._guard.record_pass(now)
        if rollout.has_deleted:
            self._table.release(HoldReason.NEEDED)

    def _end(self, rollout: Rollout) -> None:
        """Record what a rollout leaves to be done."""
        self.current, self._device.unit.sender.uncertain = None, UncertainWrites()
        self._settle(rollout, self._clock())
        self._release()
        if rollout.has_written and self._device.facts.original.reencrypt and not self._table.queue:
            self._reader.must_read("what was there only until the original's Rules were ours goes now")
        self.on_settled()
        self.on_end()
