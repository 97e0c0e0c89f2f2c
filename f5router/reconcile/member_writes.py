"""Writes members of pools that are on the device, beside whatever else is under way.

Pools need nothing but a monitor, and go without a new one until it is there. So their members can be
written between any two writes of a Plan, or reads. A write
that hangs holds up its own pool and what needs it, and a namespace has only a few writes under way at once.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Set
from dataclasses import replace
from itertools import chain

from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.icontrol.outcome import Outcome
from f5router.model import names
from f5router.model.cluster import Key
from f5router.model.errors import Unconfirmed, is_usable
from f5router.model.health_checks import MONITOR_TYPES, HealthMonitor
from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.plan import diff
from f5router.plan.change import CREATE, DELETE, UPDATE, AnyChange, Change, concerns
from f5router.reconcile.backlog import Backlog
from f5router.reconcile.hold import Hold, HoldReason
from f5router.reconcile.retention import Retention
from f5router.reconcile.retry import RetrySchedule

NAMESPACE_MOST = 2
"""Pools of a namespace whose members are written at once: others have room also when these writes hang."""

PATIENCE_S = 1.0
"""How long a pass waits for each write of members; then it goes on without that pool."""

OnChange = Callable[[AnyChange], None]


class MemberWrites:
    """Pools whose members are to be written, and those whose members are being written."""

    def __init__(self, engine: Engine, device: Device, retry: RetrySchedule, retention: Retention,
                 backlog: Backlog, *, clock: Callable[[], float],
                 patience_s: float = PATIENCE_S):
        """Args: patience_s: how long a pass waits for each write of members."""
        self._engine, self._device, self._retry = engine, device, retry
        self._retention, self._backlog = retention, backlog
        self._clock, self.patience_s = clock, patience_s
        self.pending: set[Ref] = set()
        """Pools that are on the device, and whose members may differ."""
        self.planned: Set[Ref] = frozenset()
        """Objects of the Plan that is being carried out."""
        self._writing: dict[Ref, float] = {}
        """Pools whose members are being written, each with the time when that began."""
        self._overtaken: set[Ref] = set()
        """Those of them that have changed since."""
        self._lacking: dict[Ref, set[Ref]] = {}
        """Pools that were left without a new monitor because it is missing, by monitor."""
        self._done: list[AnyChange] = []
        self._changed: set[Ref] = set()
        self._recovered = False

    # --- what is to be written ---------------------------------------------------------------

    def is_present(self, ref: Ref) -> bool:
        """True for a pool of the device."""
        return ref.kind == Pool.KIND and ref in self._device.observed

    def add(self, refs: Iterable[Ref]) -> None:
        """Add those of these objects that are pools of the device."""
        self.pending.update(filter(self.is_present, refs))

    def note_changed(self, dirty: Set[Ref]) -> None:
        """Take objects that an event has changed."""
        for ref in dirty:
            if self.is_present(ref):
                self.pending.add(ref)
        self._overtaken |= dirty & self._writing.keys()

    def note_endpoints(self, services: Iterable[Key]) -> None:
        """Take Services whose endpoints changed: pools that are leaving follow them too."""
        for service in services:
            self.add(self._engine.dropped_pools(service))

    def start_over(self, pools: Iterable[Ref]) -> None:
        """Take the pools of the device that differ, after a reading."""
        self.pending = set(pools)
        self._engine.set_dropped_pools({ref for ref in self.pending if ref not in self._engine.objects})
        self._lacking.clear()

    def abandon(self) -> None:
        """Forget all writes, also those under way: they were for a unit that is not used any more."""
        for books in (self.pending, self._writing, self._overtaken, self._lacking):
            books.clear()

    # --- writing -----------------------------------------------------------------------------

    def program(self, on_change: OnChange) -> bool:
        """Take the results of earlier writes, and begin further ones.

        Returns: True if a write is under way that does not hang.
        Raises: BigIPError.
        """
        self._take_results(on_change)
        changes = self._next_changes(self._device.calls.urgent_room())
        self.pending.difference_update(change.ref for change in changes)
        self._begin(changes)
        return self._is_waiting()

    def program_read(self, pools: Set[Ref], on_change: OnChange) -> set[Ref]:
        """Take the results of earlier writes, and begin those of pools that were just read one by one.

        Only members are written, as nothing else is known of the device, and no pool is emptied: whether
        so many may be is found out by a full pass.

        Returns: the pools that have to wait.
        Raises: BigIPError.
        """
        self._take_results(on_change)
        waiting: set[Ref] = set()
        for ref in pools:
            old, wanted = self._device.observed.get(ref), self._engine.objects.get(ref)
            if not isinstance(old, Pool) or not isinstance(wanted, Pool) or self._is_held(ref) or (
                    wanted.members == old.members or not wanted.members):
                continue
            if self._device.calls.urgent_room() <= 0 or not self._may_begin(ref):
                waiting.add(ref)
            else:
                self._begin([Change(UPDATE, old, replace(old, members=wanted.members))])
        return waiting

    def _begin(self, changes: Iterable[AnyChange]) -> None:
        for change in changes:
            self._writing[change.ref] = self._clock()
            self._retry.suspend(change.ref)
        self._device.sender.begin_updates(changes)

    def wait(self, on_change: OnChange) -> None:
        """Wait for the writes under way, but for none that hangs: what needs its pool waits."""
        self._take_results(on_change)
        while self._is_waiting():
            self.wait_a_moment()
            self._take_results(on_change)
        for ref in self._writing:
            self._retry.record_hanging(ref)

    def is_quiet(self, on_change: OnChange = lambda change: None) -> bool:
        """True if no write is under way any more, and all results are recorded. Raises: BigIPError."""
        self._take_results(on_change)
        return not self._writing

    def wait_a_moment(self) -> None:
        """Wait until a write ends, or has taken too long, or something else comes in."""
        begun = max(self._writing.values(), default=-math.inf)
        self._device.calls.wait_for_urgent(begun + self.patience_s - self._clock())

    def _is_waiting(self) -> bool:
        """True while members are being written, and not for too long."""
        return any(self._clock() < began + self.patience_s for began in self._writing.values())

    def _take_results(self, on_change: OnChange) -> None:
        """Record the results of writes that have ended. Raises: BigIPError."""
        outcome, results = Outcome(), self._device.sender.ended_updates()
        try:
            self._device.settle_updates(results, lambda change: self.confirm(change, on_change), outcome)
        finally:
            self._record_outcome({result.change.ref for result in results}, outcome)

    def _record_outcome(self, refs: set[Ref], outcome: Outcome) -> None:
        """Record what became of writes. A pool that was neither written nor refused is written again."""
        failures = self._retry.failures
        done = {change.ref for change in outcome.done}
        unsettled = refs - done - outcome.failed.keys()
        self.pending |= unsettled
        self._done += outcome.done
        self._changed |= refs & (failures.keys() | outcome.failed.keys())
        self._retry.record(outcome.failed, outcome.blocked, self._clock())
        for ref in refs:
            del self._writing[ref]
        recovered = done & failures.keys()
        self._retry.discard(recovered)
        self._queue(recovered)  # their deletes may have waited
        for ref in failures.keys() & (unsettled | refs & self._overtaken):
            self.retry_now(ref)
        self._overtaken -= refs
        # A pool with some of its members is enough for the Rules that wait for it.
        self._recovered = self._recovered or bool(recovered) or any(map(is_usable, outcome.failed.values()))

    def retry_now(self, ref: Ref) -> None:
        """End the back-off of an object that was refused."""
        self._retry.reset_backoff(ref)
        self._queue({ref})
        self.add({ref})

    def _queue(self, refs: Iterable[Ref]) -> None:
        self._backlog.add(refs, self._engine.objects, self._device.observed)

    def confirm(self, change: AnyChange, on_change: OnChange) -> None:
        """Note a write that the device has confirmed, of whatever kind."""
        if change.ref.kind == Pool.KIND:
            if change.verb == DELETE:
                self._engine.forget_pool(change.ref)
            needed = change.old.dependencies if change.old else ()
            self._queue({ref for ref in needed if ref not in self._engine.objects})
            if isinstance(change.new, Pool) and self._desired(change.ref, change.new) != change.new:
                self.pending.add(change.ref)  # its endpoints changed while it was written
        elif change.verb == CREATE and isinstance(change.new, HealthMonitor):
            self.add(self._lacking.pop(change.ref, ()))
        on_change(change)

    # --- which Changes -----------------------------------------------------------------------

    def newest(self, change: AnyChange) -> AnyChange | None:
        """Return the Change of a pool with its present members; None if nothing is to be written now.

        Events may have come since the Plan was made.
        """
        if change.verb == DELETE:
            return change
        if self._is_held(change.ref):
            return None  # it was refused meanwhile
        old = self._device.observed.get(change.ref)
        new = self._engine.objects.get(change.ref, change.new)
        if isinstance(new, Pool):
            new = self._writable(new, old if isinstance(old, Pool) else None)
        if old == new and change.ref not in self._device.unconfirmed:
            return None
        return Change(UPDATE if old else CREATE, old, new)

    def has_room(self) -> bool:
        """True if `program` may have something to begin."""
        return any(map(self._may_begin, self.pending))

    def is_held_up(self, ref: Ref) -> bool:
        """True for members that may not be written yet; the end of another write wakes the loop."""
        return ref in self.pending and not self._may_begin(ref)

    def hold(self, change: AnyChange) -> Hold | None:
        """Hold members that are written beside the Plan, because their request hangs or may do so again.

        The delete of a monitor waits for such a write, also one that waits for the monitor which takes its
        place: `confirm` brings it back.
        """
        ref = change.ref
        if change.verb == DELETE and ref.kind in MONITOR_TYPES:
            waiting = {*self._writing, *self.pending, *chain.from_iterable(self._lacking.values())}
            used = any(ref in self._device.observed[pool].dependencies for pool in waiting
                       if pool in self._device.observed)
            return Hold(HoldReason.WRITTEN_BESIDE) if used else None
        if change.verb != UPDATE or ref.kind != Pool.KIND:
            return None
        if self._lacks_refused_monitor(change):
            return Hold(HoldReason.BLOCKED)
        failure = self._retry.failures.get(ref)
        beside = not self._may_begin(ref) or (failure is not None and isinstance(failure.error, Unconfirmed))
        return Hold(HoldReason.WRITTEN_BESIDE, math.inf) if beside else None

    def lacks_only_monitors(self, ref: Ref) -> bool:
        """True for a pool of the device with nothing to write but monitors that are not there yet."""
        old, new = self._device.observed.get(ref), self._engine.objects.get(ref)
        return (isinstance(old, Pool) and isinstance(new, Pool) and ref not in self._device.unconfirmed
                and self._writable(new, old) == old)

    def _lacks_refused_monitor(self, change: AnyChange) -> bool:
        """True for a pool with nothing to write but a refused monitor; `confirm` of that ends this."""
        failures = self._retry.failures.keys()
        return (concerns(change, Pool) and not failures.isdisjoint(change.obj.dependencies)
                and self._writable(change.obj, change.old) == change.old)

    def _writable(self, pool: Pool, old: Pool | None) -> Pool:
        """Return a pool as it can be written now; one whose monitor is missing is written again with it."""
        for need in pool.dependencies:
            if need not in self._device.observed:
                self._lacking.setdefault(need, set()).add(pool.ref)
        return diff.without_missing_monitors(pool, old, self._device.observed)

    def _is_held(self, ref: Ref) -> bool:
        """True for a pool that may not be written now."""
        return self._retention.hold_write(ref, self._clock()) is not None

    def _may_begin(self, ref: Ref) -> bool:
        """True unless a pool is being written, or too many of its namespace are."""
        namespace = names.pool_namespace(ref.path)
        same = sum(names.pool_namespace(other.path) == namespace for other in self._writing)
        return ref not in self._writing and same < NAMESPACE_MOST

    def _next_changes(self, most: int) -> list[AnyChange]:
        """Return a few Changes of pools of the device, of none about which a request is under way."""
        changes: list[AnyChange] = []
        settled, counts = [], Counter(names.pool_namespace(ref.path) for ref in self._writing)
        for ref in self.pending:
            if len(changes) >= most:
                break
            old, namespace = self._device.observed.get(ref), names.pool_namespace(ref.path)
            under_way = self._device.sender.is_in_flight(ref) or (
                ref in self._retry.failures and ref in self.planned)
            if old is not None and (under_way or counts[namespace] >= NAMESPACE_MOST):
                continue
            new = self._desired(ref, old) if isinstance(old, Pool) else None
            is_done = new == old and ref not in self._device.unconfirmed
            if new is None or is_done or self._is_held(ref):
                settled.append(ref)
                continue
            counts[namespace] += 1
            changes.append(Change(UPDATE, old, new))
        self.pending.difference_update(settled)
        return changes

    def _desired(self, ref: Ref, old: Pool) -> Pool:
        """Return a pool as it should be. One that nobody wants follows its pods as long as it is there."""
        if isinstance(desired := self._engine.objects.get(ref), Pool):
            return self._writable(desired, old)
        return replace(old, members=self._engine.members(old))

    # --- results -----------------------------------------------------------------------------

    def is_writing(self, ref: Ref) -> bool:
        """True while the members of a pool are being written."""
        return ref in self._writing

    def is_waiting(self, ref: Ref) -> bool:
        """True for an object of whatever kind that a pass, or a write of members, has still to take."""
        return ref in self._backlog or ref in self.planned or ref in self.pending or ref in self._writing

    def take_done(self) -> list[AnyChange]:
        """Return the confirmed writes since the last call."""
        done, self._done = self._done, []
        return done

    def take_changed(self) -> set[Ref]:
        """Return the pools with another refusal, or none any more, since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def take_recovered(self) -> bool:
        """Return True if members were written since the last call that had been refused."""
        recovered, self._recovered = self._recovered, False
        return recovered

    @property
    def has_changed(self) -> bool:
        """True if `take_changed` would return something."""
        return bool(self._changed)
