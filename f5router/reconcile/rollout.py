"""A Plan under way: what of it may be sent now, and where it pauses.

It holds an order and nothing else: the rows of the table say what has become of each object, and those that
it has not sent are due. So it can be dropped at any moment: for more urgent work, at a stop, or when another
replica leads. It pauses between deletes, so that requests which were just routed have connected to pool
members.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sized
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import Job, Lane
from f5router.model import ownership
from f5router.model.errors import BigIPError, InUse, Refused, Unconfirmed
from f5router.model.ltm import Object, Pool
from f5router.model.ltm_nodes import Incomplete, is_usable
from f5router.model.objects import Ref
from f5router.model.route_options import MONITOR_TYPES
from f5router.plan import diff, waits
from f5router.plan.change import (
    CREATE,
    DELETE,
    AnyChange,
    Change,
    Plan,
    Stage,
    concerns,
    ends_check,
)
from f5router.plan.rule_order import UncertainWrites
from f5router.reconcile.inbox import Inbox
from f5router.reconcile.row import HoldReason, errors
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers


class Drain:
    """Decides where a rollout pauses."""

    def __init__(self) -> None:
        self._routed = False
        """Rules or records were written since the last pause."""
        self._excluded = False
        """Exclusion records were deleted since the last pause."""
        self._redirected = False
        """Rules have ceased to redirect since the last pause."""

    def before(self, stage: Stage, changes: Sized, *, deleting: bool) -> bool:
        """Return True to pause, if these Changes, which are written next, could cut off requests."""
        pauses = False
        if deleting:
            pauses = self._before_delete(stage, changes)
        elif self._redirected and changes:
            # Clients who were just redirected still reach the Rule that goes.
            pauses, self._redirected = True, False
        self._redirected = self._redirected or (stage == Stage.ENDED_REDIRECT and bool(changes))
        self._routed = self._routed or (stage.is_routing and bool(changes))
        return pauses

    def _before_delete(self, stage: Stage, changes: Sized) -> bool:
        pauses = False
        if self._routed and changes and not stage.is_routing:
            pauses, self._routed = True, False
        if stage == Stage.EXCLUSION:
            # Connections whose TLS has just started to be terminated here still reach the Rules.
            self._excluded = True
        elif self._excluded and changes:
            pauses, self._excluded = True, False
        return pauses


POLL_S = 1.0

RetentionTest = Callable[[Object], HoldReason | None]
"""Returns why an object that is to be deleted must stay; None if it may go."""

UNDER_WAY = Unconfirmed(text="the BIG-IP has not replied so far to the write of an object that it needs")


@dataclass(frozen=True, slots=True)
class Obstacles:
    """Reasons not to send Changes of a Plan that rows do not have; by default there are none."""

    should_retain: Callable[[Collection[Ref]], RetentionTest] = lambda failed: lambda obj: None
    """Returns which previous objects must stay, given the objects that could not be written."""
    draining_until: Callable[[], float] = lambda: math.inf
    """Returns when what drains need not be retained any more."""
    hanging: Callable[[], Collection[Ref]] = frozenset
    """Returns the objects whose writes hang."""
    newest: Callable[[AnyChange], AnyChange | None] = lambda change: change
    """Returns the current Change of a pool just before it is sent; None if nothing is left to do."""
    group_under_way: Callable[[AnyChange], Ref | None] = lambda change: None
    """Returns an object that is being written together with others of its group, if there is one."""
    pools_under_way: Callable[[AnyChange], Collection[Ref]] = lambda change: ()
    """Returns the pools that a Change needs and whose members are still to be written."""
    routed_at: Callable[[], float] = lambda: -math.inf
    """Returns when a rollout before this one wrote Rules or records last, if it did not wait for that."""


class Rollout:
    """Sends the Changes of a Plan stage after stage. The loop's thread uses it."""

    def __init__(self, plan: Plan, device: Device, table: Table, obstacles: Obstacles, *, now: float,
                 patience_s: float = 1.0):
        """Args:
        table: its rows say what was refused before, and get what is not sent.
        patience_s: how long a stage waits for pools whose members are written beside the Plan.
        """
        self._device, self._table, self._obstacles, self._patience_s = device, table, obstacles, patience_s
        self._refs = frozenset(change.ref for change in plan)
        self._ahead = set(self._refs)
        """Objects whose stage has not begun; what became of them before counts no more."""
        self.began = now
        self.has_written = self.has_deleted = False
        """True once the device has confirmed a write, or a delete, of it."""
        self.paused_until = -math.inf
        """Nothing is sent before: requests that were just routed have time to connect."""
        self._stages = _stages(plan)
        self.corrects = False
        """True in the last stages, which only correct what stays because of a refusal."""
        self._jobs: deque[list[AnyChange]] = deque()
        self.in_groups = False
        """True if the Jobs of the stage go one after another."""
        self._in_flight: set[Ref] = set()
        """Objects whose requests it waits for."""
        self._stage_until = math.inf
        """End of the wait for pools whose members are being written."""
        self._drain = Drain()
        self.is_dropped = False
        device.unit.sender.uncertain = self._uncertain = UncertainWrites(table.is_recent)
        desired = device.desired()
        for ref, row in table.failures.items():  # others may not overtake them in their back-offs, either
            if ref not in self._refs and ref not in device.observed and (new := desired.get(ref)):
                self._uncertain.note(Change(CREATE, None, new), row.error)

    @property
    def is_over(self) -> bool:
        """True if everything was sent, and has ended."""
        return not self._in_flight and not self._jobs and not self._stages

    @property
    def may_send(self) -> bool:
        """True if more may be sent although nothing has ended: it only needs room, or a moment."""
        return bool(self._jobs) and not (self.in_groups and self._in_flight)

    def drop(self) -> None:
        """Send nothing more: what was not sent is due still."""
        self.is_dropped = True
        self._jobs.clear()
        self._stages.clear()

    def correct(self, changes: Plan, now: float) -> bool:
        """Go on with Changes that correct what stays; False if there are none. Writes that hang may go on."""
        self.corrects, self.began = True, now
        self._in_flight.clear()
        self._stages = _stages(changes)
        self._device.unit.sender.uncertain = self._uncertain = UncertainWrites(self._table.is_recent)
        return bool(changes)

    def next(self, now: float) -> list[AnyChange] | None:
        """Return Changes to send at once, or None if something must end first."""
        while now >= self.paused_until:
            if self._jobs:
                if self.in_groups and self._in_flight:
                    return None
                if changes := self._current(self._jobs.popleft()):
                    self._in_flight.update(change.ref for change in changes)
                    return changes
            elif self._in_flight or not self._stages or not self._open(now):
                return None
        return None

    def ended(self, changes: Iterable[AnyChange], done: Iterable[AnyChange]) -> bool:
        """Record the end of a request with some Changes; False if nobody waited for it any more.

        Args: done: the Changes that the device confirmed.
        """
        waited, refs = len(self._in_flight), {change.ref for change in changes}
        self._in_flight -= refs
        for change in done:
            self.has_written = True
            self.has_deleted = self.has_deleted or change.verb == DELETE
        return len(self._in_flight) < waited

    def wakes_at(self, now: float) -> float:
        """Return when `next` may return something although nothing has ended; infinite if it cannot."""
        if now < self.paused_until:
            return self.paused_until
        return self._stage_until

    # --- stages --------------------------------------------------------------------------------

    def _open(self, now: float) -> bool:
        """Begin with the next stage; False if it must wait."""
        deleting, stage, changes = self._stages[0]
        writes = [change for change in changes if change.verb != DELETE]
        waiting = {change.ref: pools for change in writes
                   if (pools := self._obstacles.pools_under_way(change))}
        if waiting:
            if self._stage_until == math.inf:
                self._stage_until = now + self._patience_s
            if now < self._stage_until:
                return False
        self._stages.popleft()
        self._stage_until = math.inf
        if self.corrects:
            ready = [each for each in changes if self._obstacles.group_under_way(each) is None]
        else:
            deletes = self._without_groups_under_way([each for each in changes if each.verb == DELETE])
            ready = self._without_retained(deletes) + self._unblocked(writes, waiting)
        self._ahead.difference_update(change.ref for change in changes)
        if self._drain.before(stage, ready, deleting=deleting):
            self.paused_until = now + self._device.drain_s
        if deleting and ready and not stage.is_routing:
            self.paused_until = max(self.paused_until, self._obstacles.routed_at() + self._device.drain_s)
        group = self._device.unit.sender.group
        self.in_groups = bool(ready) and bool(group(ready[0]))
        if self.in_groups:  # stable: in the order of the Plan
            self._jobs.extend(list(each) for _, each in groupby(sorted(ready, key=group), key=group))
        else:
            self._jobs.extend([change] for change in ready)
        return True

    def _current(self, changes: list[AnyChange]) -> list[AnyChange]:
        """Return the Changes as they are to be sent now."""
        if self.in_groups:
            return changes
        (change,) = changes
        if self._table.is_sent(change.ref):  # its members are being written: it is looked at afterwards
            if change.verb == DELETE:
                self._table.queue_up([change.ref])
            return []
        current = self._obstacles.newest(change) if change.ref.kind == Pool.KIND else change
        if current is None:
            self._table.rest(change.ref)
            return []
        return [current]

    def _unblocked(self, changes: list[AnyChange], waiting: Mapping[Ref, Collection[Ref]]) -> list[AnyChange]:
        """Return the Changes whose dependencies are in place; the others fail as their dependencies did."""
        possible, observed, desired = [], self._device.observed, self._device.desired()
        unwritten = {ref: error for ref, error in self._unwritten().items()
                     if ref in self._refs or ref in desired} if changes else {}
        under_way = self._under_way() if any(map(waits.may_wait, changes)) else []
        others = waits.Waits(under_way, desired, observed)
        for change in changes:
            if concerns(change, Pool):
                change = replace(change, new=diff.without_missing_monitors(change.obj, change.old, observed))
            error, on = self._obstacle(change, unwritten)
            if error is None and change.ref in waiting:
                error, on = UNDER_WAY, min(waiting[change.ref])
            if error is None and (other := self._obstacles.group_under_way(change)) is not None:
                error, on = UNDER_WAY, other
            if error is None and (other := others.awaited(change)) is not None:
                error, on = UNDER_WAY, other
            error = error or self._uncertain.obstacle(change)
            if error is None:
                possible.append(change)
            else:
                self._leave_out(change, error, on)
        return possible

    def _under_way(self) -> list[Ref]:
        """Return the objects whose writes are under way, or in doubt."""
        doubtful = (ref for ref, error in errors(self._table.failures, self._ahead).items()
                    if isinstance(error, Unconfirmed))
        return sorted({*self._table.sent, *self._obstacles.hanging(), *doubtful})

    def _without_groups_under_way(self, deletes: list[AnyChange]) -> list[AnyChange]:
        """Return the deletes whose group, such as a policy with its draft, nobody is writing."""
        others = {change.ref: self._obstacles.group_under_way(change) for change in deletes}
        for change in deletes:
            if (other := others[change.ref]) is not None:
                self._leave_out(change, UNDER_WAY, other)
        return [change for change in deletes if others[change.ref] is None]

    def _leave_out(self, change: AnyChange, error: BigIPError, on: Ref | None) -> None:
        self._uncertain.note(change, error)
        self._ahead.discard(change.ref)
        if on is None:
            self._table.refuse(change.ref, error)
        elif change.stage == Stage.POLICY_STRATEGY:  # the Rules that it waits for need the policy
            self._table.wait_for(change.ref, on)
        else:
            self._table.block(change.ref, error, on)

    def _unwritten(self) -> dict[Ref, BigIPError]:
        """Return the objects whose last write was not done, in this Plan or before it, or gets no reply."""
        return errors(self._table.failures, self._ahead) | dict.fromkeys(self._obstacles.hanging(), UNDER_WAY)

    def _obstacle(self, change: AnyChange,
                  unwritten: Mapping[Ref, BigIPError]) -> tuple[BigIPError | None, Ref | None]:
        """Return why an object cannot be written yet, and the dependency that was refused, if one was.

        An object that is there is not turned to another pool whose members are refused; a new one may be.
        Dependencies on the device are followed too: an attachment is useless while the update of its profile
        is refused. A monitor keeps nothing waiting: a pool does without.
        """
        old, seen, observed = change.old, set[Ref](), self._device.observed
        stack = list(change.obj.dependencies) if unwritten else []
        while stack:
            ref = stack.pop()
            if ref.kind in MONITOR_TYPES:
                continue
            if (error := unwritten.get(ref)) is not None and not is_usable(error) and not (
                    isinstance(error, Incomplete) and (old is None or ref in old.dependencies)):
                return error, ref
            if ref not in seen and ref in observed:
                seen.add(ref)
                stack.extend(observed[ref].dependencies)
        missing = next((ref for ref in change.obj.dependencies if ref not in observed), None)
        if missing is not None and self._table.is_sent(missing):
            return UNDER_WAY, missing
        return (None if missing is None else Refused(text=f"{missing} is not there")), None

    def _without_retained(self, deletes: list[AnyChange]) -> list[AnyChange]:
        """Return the deletes that may be made: not of retained objects, nor of what they need.

        But the check of clients goes: the profiles with the next writes do not ask them any more.
        """
        if not deletes:
            return []
        table, unwritten = self._table, self._unwritten()
        retained = self._obstacles.should_retain({ref for ref, error in unwritten.items()
                                                  if not is_usable(error) and not isinstance(error, InUse)})
        staying = {*table.held_for(*HoldReason), *unwritten, *(self._refs & table.sent.keys())}
        needed = ownership.stays_with(
            staying - {change.ref for change in deletes}, self._device.observed)
        possible = []
        for change in deletes:
            is_needed = change.ref in needed and not ends_check(change.obj, self._device.desired())
            reason = retained(change.obj) or (HoldReason.NEEDED if is_needed else None)
            if reason is None:
                possible.append(change)
            else:
                table.hold(change.ref, reason, self._obstacles.draining_until()
                           if reason is HoldReason.DRAINING else math.inf)
        return possible


def _stages(plan: Plan) -> deque[tuple[bool, Stage, list[AnyChange]]]:
    return deque((deleting, stage, list(group)) for (deleting, stage), group in groupby(
        plan, key=lambda change: (change.is_late_delete, change.stage)))


def carry_out(plan: Plan, device: Device, on_change: Callable[[AnyChange], None]) -> dict[Ref, BigIPError]:
    """Carry out a Plan in its order, and wait for it, as commands do.

    Returns: what was refused, or not sent because of that, and why.
    Raises: BigIPError.
    """
    inbox, table = Inbox(), Table(lambda: (device.desired(), device.observed), Timers(), time.monotonic)
    device.dispatcher.deliver = inbox.put
    device.look()
    rollout = Rollout(plan, device, table, Obstacles(), now=time.monotonic())
    troubles: list[Exception] = []

    def replied(changes: list[AnyChange], job: Job) -> None:
        settled = device.settle(job, on_change)
        rollout.ended(changes, settled.done)
        for change in settled.done:
            table.confirm(change.ref)
        for ref, error in settled.errors.items():
            table.refuse(ref, error)
        if settled.trouble is not None:
            troubles.append(settled.trouble)
            rollout.drop()

    while not rollout.is_over:
        now = time.monotonic()
        while device.dispatcher.room() > 0 and (changes := rollout.next(now)):
            for change in changes:
                table.send(change.ref)
            device.send(changes, partial(replied, changes), Lane.ROLLOUT)
        if not rollout.is_over:
            for message in inbox.take(min(POLL_S, max(0.0, rollout.wakes_at(now) - now))):
                message()
    if troubles:
        raise troubles[0]
    return errors(table.failures, ())
