"""A Plan under way: what of it may be sent now, where it pauses, and what has become of it so far.

It holds an order and nothing else: a row of the table that it has not sent is due. So it can be dropped at
any moment: for more urgent work, at a stop, or when another replica leads. It pauses between deletes, so that
requests which were just routed have connected to pool members.
"""

import math
import time
from collections import ChainMap, deque
from collections.abc import Callable, Collection, Mapping, Sized
from dataclasses import dataclass, field, replace
from itertools import groupby

from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import Job, Lane
from f5router.icontrol.outcome import Outcome
from f5router.model import ownership
from f5router.model.errors import BigIPError, Refused, Unconfirmed
from f5router.model.ltm import Object, Pool
from f5router.model.ltm_nodes import Incomplete, is_usable
from f5router.model.objects import Ref
from f5router.model.route_options import MONITOR_TYPES
from f5router.plan import diff
from f5router.plan.change import DELETE, AnyChange, Plan, Stage, concerns
from f5router.plan.rule_order import UncertainWrites
from f5router.reconcile.inbox import Inbox
from f5router.reconcile.row import HoldReason


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
    """Reasons not to send Changes of a Plan; by default there are none."""

    errors: Mapping[Ref, BigIPError] = field(default_factory=dict)
    """Objects that were refused before, or get no reply, and are not in the Plan."""
    staying: Collection[Ref] = frozenset()
    """Objects that are not deleted now, or were refused; what they need stays with them."""
    should_retain: Callable[[Outcome], RetentionTest] = lambda outcome: lambda obj: None
    """Returns which previous objects must stay, given what failed."""
    newest: Callable[[AnyChange], AnyChange | None] = lambda change: change
    """Returns the current Change of a pool just before it is sent; None if nothing is left to do."""
    is_recent: Callable[[Ref], bool] = lambda ref: True
    """False for an object that was tried so often that less specific ones no longer wait for it."""
    is_sent: Callable[[Ref], bool] = lambda ref: False
    """True while a request for an object is in flight."""
    group_under_way: Callable[[AnyChange], Ref | None] = lambda change: None
    """Returns an object that is being written together with others of its group, if there is one."""
    pools_under_way: Callable[[AnyChange], Collection[Ref]] = lambda change: ()
    """Returns the pools that a Change needs and whose members are still to be written."""
    routed_at: Callable[[], float] = lambda: -math.inf
    """Returns when a rollout before this one wrote Rules or records last, if it did not wait for that."""


class Rollout:
    """Sends the Changes of a Plan stage after stage. The loop's thread uses it."""

    def __init__(self, plan: Plan, device: Device, obstacles: Obstacles, *, now: float,
                 patience_s: float = 1.0, corrects: bool = False):
        """Args:
        patience_s: how long a stage waits for pools whose members are written beside the Plan.
        corrects: it only corrects objects that stay because of a refusal.
        """
        self.corrects, self._device, self._obstacles, self._patience_s = (
            corrects, device, obstacles, patience_s)
        self.refs = {change.ref for change in plan}
        self.began = now
        self.outcome = Outcome()
        self.unsent: list[tuple[Ref, BigIPError, Ref | None]] = []
        """Objects that were not sent, why, and the object that they wait for; the owner takes them out."""
        self.skipped: list[Ref] = []
        """Objects of which nothing was left to write, likewise."""
        self.held: list[tuple[Ref, HoldReason]] = []
        """Objects that are not deleted now, and why, likewise."""
        self.postponed: list[Ref] = []
        """Objects that are not deleted now, as their members are being written, likewise."""
        self.paused_until = -math.inf
        """Nothing is sent before: requests that were just routed have time to connect."""
        self._stages = deque((deleting, stage, list(group)) for (deleting, stage), group in groupby(
            plan, key=lambda change: (change.is_late_delete, change.stage)))
        self._jobs: deque[list[AnyChange]] = deque()
        self.in_groups = False
        """True if the Jobs of the stage go one after another."""
        self._in_flight = 0
        self._stage_until = math.inf
        """End of the wait for pools whose members are being written."""
        self._drain = Drain()
        self.is_dropped = False
        device.unit.sender.uncertain = self._uncertain = UncertainWrites(obstacles.is_recent)

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

    def next(self, now: float) -> list[AnyChange] | None:
        """Return Changes to send at once, or None if something must end first."""
        while now >= self.paused_until:
            if self._jobs:
                if self.in_groups and self._in_flight:
                    return None
                if changes := self._current(self._jobs.popleft()):
                    self._in_flight += 1
                    return changes
            elif self._in_flight or not self._stages or not self._open(now):
                return None
        return None

    def ended(self) -> None:
        """Record that one of its requests has ended."""
        self._in_flight -= 1

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
        outcome = self.outcome
        deletes = self._without_groups_under_way([change for change in changes if change.verb == DELETE])
        if deletes:
            deletes = self._without_retained(deletes, self._obstacles.should_retain(outcome))
        ready = deletes + self._unblocked(writes, waiting)
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
        if self._obstacles.is_sent(change.ref):
            if change.verb == DELETE:
                self.outcome.deferred_deletes.append(change)
                self.postponed.append(change.ref)
            return []
        current = self._obstacles.newest(change) if change.ref.kind == Pool.KIND else change
        if current is None:
            self.skipped.append(change.ref)
            return []
        return [current]

    def _unblocked(self, changes: list[AnyChange], waiting: Mapping[Ref, Collection[Ref]]) -> list[AnyChange]:
        """Return the Changes whose dependencies are in place; the others fail as their dependencies did."""
        possible, outcome, observed = [], self.outcome, self._device.observed
        errors = ChainMap(outcome.failed, dict(self._obstacles.errors))
        for change in changes:
            if concerns(change, Pool):
                change = replace(change, new=diff.without_missing_monitors(change.obj, change.old, observed))
            error, on = self._obstacle(change, errors)
            if error is None and change.ref in waiting:
                error, on = UNDER_WAY, min(waiting[change.ref])
            if error is None and (other := self._obstacles.group_under_way(change)) is not None:
                error, on = UNDER_WAY, other
            error = error or self._uncertain.obstacle(change)
            if error is None:
                possible.append(change)
            else:
                self._leave_out(change, error, on)
        return possible

    def _without_groups_under_way(self, deletes: list[AnyChange]) -> list[AnyChange]:
        """Return the deletes whose group, such as a policy with its draft, nobody is writing."""
        others = {change.ref: self._obstacles.group_under_way(change) for change in deletes}
        for change in deletes:
            if (other := others[change.ref]) is not None:
                self._leave_out(change, UNDER_WAY, other)
        return [change for change in deletes if others[change.ref] is None]

    def _leave_out(self, change: AnyChange, error: BigIPError, on: Ref | None) -> None:
        self._uncertain.note(change, error)
        self.outcome.failed[change.ref] = error
        self.unsent.append((change.ref, error, on))

    def _obstacle(self, change: AnyChange,
                  errors: Mapping[Ref, BigIPError]) -> tuple[BigIPError | None, Ref | None]:
        """Return why an object cannot be written yet, and the dependency that was refused, if one was.

        An object that is there is not turned to another pool whose members are refused; a new one may be.
        Dependencies on the device are followed too: an attachment is useless while the update of its profile
        is refused. A monitor keeps nothing waiting: a pool does without.
        """
        old, seen, observed = change.old, set[Ref](), self._device.observed
        stack = list(change.obj.dependencies) if errors else []
        while stack:
            ref = stack.pop()
            if ref.kind in MONITOR_TYPES:
                continue
            if (error := errors.get(ref)) is not None and not is_usable(error) and not (
                    isinstance(error, Incomplete) and (old is None or ref in old.dependencies)):
                return error, ref
            if ref not in seen and ref in observed:
                seen.add(ref)
                stack.extend(observed[ref].dependencies)
        missing = next((ref for ref in change.obj.dependencies if ref not in observed), None)
        if missing is not None and self._obstacles.is_sent(missing):
            return UNDER_WAY, missing
        return (None if missing is None else Refused(text=f"{missing} is not there")), None

    def _without_retained(self, changes: list[AnyChange], retained: RetentionTest) -> list[AnyChange]:
        """Return the deletes that may be made: not of retained objects, nor of what they need."""
        outcome = self.outcome
        staying = {*self._obstacles.staying, *outcome.failed,
                   *(change.ref for change in outcome.deferred_deletes)}
        staying -= {change.ref for change in changes}
        needed = ownership.stays_with(staying, self._device.observed)
        possible = []
        for change in changes:
            if reason := retained(change.obj) or (HoldReason.NEEDED if change.ref in needed else None):
                outcome.deferred_deletes.append(change)
                self.held.append((change.ref, reason))
            else:
                possible.append(change)
        return possible


def carry_out(plan: Plan, device: Device, on_change: Callable[[AnyChange], None]) -> Outcome:
    """Carry out a Plan in its order, and wait for it, as commands do. Raises: BigIPError."""
    inbox = Inbox()
    device.dispatcher.deliver = inbox.put
    device.look()
    rollout = Rollout(plan, device, Obstacles(), now=time.monotonic())
    errors: list[Exception] = []

    def replied(job: Job) -> None:
        rollout.ended()
        error = job.error or device.settle(job.result, on_change, rollout.outcome)
        if error is not None:
            errors.append(error)
            rollout.drop()

    while not rollout.is_over:
        now = time.monotonic()
        while device.dispatcher.room() > 0 and (changes := rollout.next(now)):
            device.send(changes, replied, Lane.ROLLOUT)
        if not rollout.is_over:
            for message in inbox.take(min(POLL_S, max(0.0, rollout.wakes_at(now) - now))):
                message()
    if errors:
        raise errors[0]
    return rollout.outcome
