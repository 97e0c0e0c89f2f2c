"""The table of objects that are not at rest: one row holds what becomes of an object.

An object is at rest if it is on the device as it is wanted, and nothing of it was refused: then it has no
row. So memory at rest is that of Desired and Observed. Each row has a wake: its turn, a reply, a timer, the
row that it waits for, or the end of the reason for which it is held.
"""

import math
from collections.abc import Callable, Collection, Iterable
from types import NoneType

from f5router.model.errors import UNCERTAIN_ERRORS, BigIPError
from f5router.model.ltm import BigIPState, Pool
from f5router.model.ltm_nodes import is_usable
from f5router.model.objects import Ref
from f5router.reconcile.row import (
    BACKOFF,
    FOR_SERVING,
    LISTED,
    UNREAD,
    HoldReason,
    ObjectRow,
    RowIndexes,
    RowState,
)
from f5router.reconcile.timers import Timers


class Table(RowIndexes):
    """Knows what becomes of each object. The loop's thread uses it."""

    def __init__(self, states: Callable[[], tuple[BigIPState, BigIPState]], timers: Timers,
                 clock: Callable[[], float]):
        """Args: states: returns Desired and Observed."""
        super().__init__(states, clock)
        self.timers = timers
        self.on_retry: Callable[[str], None] = lambda reason: None
        """Called at the end of the back-off of an object that waits for a reading; `retry_due` follows."""
        self.on_recovery: Callable[[], None] = lambda: None
        """Called when an object that was refused is in place, or usable, or not wanted any more."""

    def touch(self, refs: Iterable[Ref], *, since: float | None = None, first: bool = False) -> None:
        """Make objects due that an event, a reading, or the end of a wait concerns, if they differ.

        Args: since: monotonic seconds of the event; first: the first reading found them.
        """
        desired, observed = self._states()
        for ref in refs:
            row = self.rows.get(ref)
            if row is None:
                if desired.get(ref) == observed.get(ref):
                    continue
                row = self.rows[ref] = ObjectRow()
            if ref in desired:
                row.is_confirmed = False
                if row.is_in_use:
                    self._recover(ref, row)
            row.since = row.since if row.since is not None else since
            if first:
                self.first[ref] = None
            if row.state is RowState.SENT:
                row.again = True
            else:
                self._make_due(ref, row)

    def touch_members(self, refs: Iterable[Ref], since: float | None = None) -> None:
        """Make members of pools due, also of one that nobody wants: it follows its pods while it is there."""
        for ref in refs:
            if not self.is_present_pool(ref):
                continue
            row = self.rows.setdefault(ref, ObjectRow())
            row.since = row.since if row.since is not None else since
            if row.state is RowState.SENT:
                row.again = True
            else:
                self._unblock(ref, row)
                row.state, row.corrects = RowState.DUE, False
                self.members[ref] = None

    def correct_members(self, ref: Ref) -> None:
        """Make members of a pool due that cannot wait as it does; if it is in doubt, it is read first."""
        row = self.rows.get(ref)
        if row is None or isinstance(row.error, UNCERTAIN_ERRORS) or not (
                row.blocked or row.state in (RowState.REFUSED, RowState.HELD)):
            return
        self._unblock(ref, row)
        row.state, row.corrects = RowState.DUE, True
        self.members[ref] = None

    def touch_differing(self, refs: Iterable[Ref], *, since: float | None = None,
                        first: bool = False) -> None:
        """Make objects due that a reading has found to differ; what was refused waits. Args: see touch."""
        self.touch((ref for ref in refs if not self.is_held(ref)), since=since, first=first)

    def queue_up(self, refs: Iterable[Ref]) -> None:
        """Put objects into the queue whether they differ or not: something that they need has changed."""
        for ref in refs:
            row = self.rows.setdefault(ref, ObjectRow())
            if row.state is RowState.SENT:
                row.again = True
            else:
                self._make_due(ref, row)

    def send(self, ref: Ref, *, corrects: bool = False) -> None:
        """Record that a request for an object begins. Args: corrects: see ObjectRow."""
        row = self.rows.setdefault(ref, ObjectRow())
        self._leave(ref, row)
        row.corrects = row.corrects or corrects
        row.state, row.sent_at, row.again = RowState.SENT, self._clock(), False
        self.sent[ref] = None

    def refuse(self, ref: Ref, error: BigIPError) -> None:
        """Record that an object was refused, or its write not confirmed: it is tried again after a back-off.

        At once if an event has touched it meanwhile. If a correction was refused, the object waits as before.
        """
        row = self.rows.get(ref)
        if row is not None and row.corrects and not isinstance(error, UNCERTAIN_ERRORS):
            self.refused[ref.kind] += 1
            self._end_write(ref)
            return
        row = self._fail(ref, error)
        row.state, row.until = RowState.REFUSED, self._clock() + BACKOFF.delay_s(row.attempts)
        self._set_timer(ref, row)
        if row.again:
            row.again = False
            self.retry(ref)

    def hold(self, ref: Ref, reason: HoldReason, until: float = math.inf) -> None:
        """Record that the Change of an object is not made, for this reason.

        Args: until: monotonic seconds; reasons FOR_SERVING end after a back-off at the latest.
        """
        row = self.rows.setdefault(ref, ObjectRow())
        self.queue.remove([ref])
        self.first.pop(ref, None)
        writes_members = row.state is RowState.SENT or ref in self.members or (
            row.state is RowState.REFUSED and not row.is_in_use and self.is_present_pool(ref))
        if reason in FOR_SERVING:
            self.withheld += 1
            self._settled.add(ref)
        if writes_members:
            self._set_hold(ref, row, reason)
            return
        self._leave(ref, row)
        self._recover(ref, row)
        self._set_hold(ref, row, reason)
        row.state, row.since, row.until = RowState.HELD, None, until
        if reason in FOR_SERVING:
            row.attempts += 1
            row.until = min(until, self._clock() + BACKOFF.delay_s(row.attempts))
        self._set_timer(ref, row)

    def hold_on(self, ref: Ref) -> None:
        """Hold an object that is due, for its reason as before."""
        row = self.rows[ref]
        assert row.hold is not None, ref
        self.hold(ref, row.hold)

    def release(self, *reasons: HoldReason) -> None:
        """Make all objects due that are held for one of these reasons."""
        self.let_go(self.held_for(*reasons))

    def let_go(self, refs: Iterable[Ref]) -> None:
        """Make objects due that are held."""
        for ref in sorted(refs):
            self._end_hold(ref, row := self.rows[ref])
            if row.state not in (RowState.REFUSED, RowState.BLOCKED):
                self.queue_up([ref])

    def plan(self, ref: Ref, waits: HoldReason | None = None) -> None:
        """Record that a Change of an object is in a Plan: it is due until it is sent.

        Args: waits: why the Change is not the one that is wanted, for which the object waits afterwards.
        """
        if (row := self.rows.get(ref)) is None:
            return
        if waits is not None:
            self._set_hold(ref, row, waits)
        elif row.hold in UNREAD:
            self._end_hold(ref, row)
        if row.state is RowState.HELD:
            self.queue_up([ref])

    def leave_members(self, ref: Ref) -> None:
        """Take a pool out that has no members to write beside a rollout."""
        self.members.pop(ref, None)
        row = self.rows.get(ref)
        if row is None or row.state is not RowState.DUE or ref in self.queue:
            return
        if self._goes_on_waiting(ref, row):
            self._wait_on(ref, row)
            return
        self.rest(ref)
        if not self.is_present_pool(ref):
            self.touch([ref])

    def block(self, ref: Ref, error: BigIPError, on: Ref) -> None:
        """Record that an object waits for another one that was refused, or gets no reply."""
        row = self._fail(ref, error)
        row.state, row.on = RowState.BLOCKED, on
        self.waiting.setdefault(on, set()).add(ref)
        if on not in self.rows:  # it has settled since
            self.wake(on)

    def wait_for(self, ref: Ref, on: Ref) -> None:
        """Let an object wait for another one that is to be written: what waits for it goes first, then."""
        row = self.rows.setdefault(ref, ObjectRow())
        self._leave(ref, row)
        self._recover(ref, row)
        self.first.pop(ref, None)
        row.state, row.on = RowState.BLOCKED, on
        self.wake(ref)
        self.waiting.setdefault(on, set()).add(ref)
        if on not in self.rows:
            self.touch([on])

    def not_sent(self, ref: Ref) -> None:
        """Make an object due again whose request was not sent."""
        row = self.rows.get(ref)
        if row is not None and row.corrects:
            self._end_write(ref)
        elif row is not None and row.state is RowState.SENT:
            self._leave(ref, row)
            row.state = RowState.DUE
            self.queue_up([ref])

    def rest(self, ref: Ref) -> None:
        """Drop the row of an object that is at rest, or held for a reason that is kept elsewhere."""
        row = self.rows.pop(ref, None)
        if row is None:
            return
        self._leave(ref, row)
        self._end_hold(ref, row)
        self.first.pop(ref, None)
        self._recover(ref, row)
        self.wake(ref)

    def confirm(self, ref: Ref) -> None:
        """Record that an object was written: it is at rest if it is as it is wanted by now.

        An object that was only corrected, is held, or in use, goes on waiting.
        """
        self.writes += 1
        self._end_write(ref)

    def _end_write(self, ref: Ref) -> None:
        self._settled.add(ref)
        row = self.rows.get(ref)
        if row is not None and not row.corrects and not row.is_in_use:
            self._recover(ref, row)
        if row is not None and self._goes_on_waiting(ref, row):
            again, row.again = row.again, False
            self._wait_on(ref, row)
            if again:
                self.queue_up([ref])
            return
        self.rest(ref)
        self.touch([ref])

    def leave_queue(self, ref: Ref) -> None:
        """Take an object out of the queue: nothing is to be written, or something else will wake it."""
        self.queue.remove([ref])
        row = self.rows.get(ref)
        if row is not None and row.state in (RowState.DUE, RowState.HELD) and ref not in self.members:
            self.rest(ref)

    def keep(self, refs: Collection[Ref]) -> None:
        """Drop the rows of all other objects, which are as they are wanted, unless they are in flight."""
        for ref, row in list(self.rows.items()):
            if ref not in refs and row.state is not RowState.SENT:
                self.rest(ref)

    def start_over(self) -> None:
        """Drop all rows, as another unit is used, but not what a second list must confirm, or has."""
        for index in (self.failures, self.first, self.waiting):
            index.clear()
        for ref, row in list(self.rows.items()):
            self._leave(ref, row)
            if row.hold in LISTED:
                self.rows[ref] = ObjectRow(
                    RowState.HELD, hold=row.hold, is_asked=row.is_asked, until=math.inf)
                continue
            self._end_hold(ref, row)
            del self.rows[ref]
            if row.is_confirmed:
                self.rows[ref] = confirmed = ObjectRow(is_confirmed=True)
                self._make_due(ref, confirmed)

    def retry(self, ref: Ref) -> None:
        """End the back-off of an object."""
        if (row := self.rows.get(ref)) is None or row.state in (RowState.DUE, RowState.SENT):
            return
        self.queue_up([ref])

    def retry_due(self) -> None:
        """Make all objects due whose back-off has ended."""
        now = self._clock()
        for ref, row in list(self.failures.items()):
            if row.state is RowState.REFUSED and row.until <= now:
                self.retry(ref)

    def retry_uncertain(self) -> None:
        """End the back-offs of all objects whose last write was left in doubt."""
        for ref, row in list(self.failures.items()):
            if isinstance(row.error, UNCERTAIN_ERRORS):
                self.retry(ref)

    def wake(self, on: Ref, *, in_doubt: bool = False) -> None:
        """Make the rows due that wait for an object. Args: in_doubt: not those that need it."""
        for ref in sorted(self.waiting.pop(on, ())):
            row = self.rows.get(ref)
            if row is None or row.state is not RowState.BLOCKED or row.on != on:
                continue
            if in_doubt and not isinstance(row.error, (*UNCERTAIN_ERRORS, NoneType)):
                self.waiting.setdefault(on, set()).add(ref)
            else:
                self.queue_up([ref])

    def clear(self) -> None:
        """Drop what is due or held: another router writes."""
        self._settled.clear()
        for ref, row in list(self.rows.items()):
            if row.state in (RowState.DUE, RowState.HELD) and row.hold not in LISTED:
                self.rest(ref)

    def _set_timer(self, ref: Ref, row: ObjectRow) -> None:
        if row.until < math.inf:
            self.timers.at(row.until, ref, lambda: self._end_back_off(ref))

    def _end_back_off(self, ref: Ref) -> None:
        row = self.rows[ref]
        if row.state is RowState.REFUSED and row.needs_reading:
            self.on_retry(f"{ref}: its back-off has ended")
        else:
            self.retry(ref)

    def _wait_on(self, ref: Ref, row: ObjectRow) -> None:
        """Let an object wait as before, for the end of its hold or of its back-off."""
        self._leave(ref, row)
        row.corrects, now = False, self._clock()
        row.state = RowState.HELD if row.error is None else RowState.REFUSED
        if row.state is RowState.HELD and row.hold not in FOR_SERVING:
            row.until = math.inf
        elif row.until <= now:
            row.until = now + BACKOFF.delay_s(max(1, row.attempts))
        self._set_timer(ref, row)

    def _recover(self, ref: Ref, row: ObjectRow) -> None:
        """Record that an object is refused no longer."""
        if self.failures.pop(ref, None) is not None:
            row.error, row.doubt, row.attempts = None, None, 0
            self._changed.add(ref)
            self.on_recovery()

    def _fail(self, ref: Ref, error: BigIPError) -> ObjectRow:
        row = self.rows.setdefault(ref, ObjectRow())
        self._leave(ref, row)
        if str(row.error) != str(error) or row.error is None:
            self._changed.add(ref)
        row.error, row.attempts, row.since, row.corrects = error, row.attempts + 1, None, False
        self.first.pop(ref, None)
        self.failures[ref] = row
        self._settled.add(ref)
        if row.is_in_use:
            self.withheld += 1
        else:
            self.refused[ref.kind] += 1
        if is_usable(error):
            self.on_recovery()
            self.wake(ref)
        elif not isinstance(error, UNCERTAIN_ERRORS):
            self.wake(ref, in_doubt=True)
        return row

    def _make_due(self, ref: Ref, row: ObjectRow) -> None:
        desired, observed = self._states()
        self._unblock(ref, row)
        row.state, row.corrects = RowState.DUE, False
        if ref.kind == Pool.KIND and ref in observed:
            self.members[ref] = None
            if ref in desired:
                return
        self.queue.add([ref], desired, observed)

    def _unblock(self, ref: Ref, row: ObjectRow) -> None:
        if row.state in (RowState.REFUSED, RowState.HELD):
            self.timers.cancel(ref)
        if row.on is not None:
            self.waiting.get(row.on, set()).discard(ref)
            row.on = None

    def _leave(self, ref: Ref, row: ObjectRow) -> None:
        """Take a row out of all indexes."""
        self._unblock(ref, row)
        if row.state is RowState.DUE:
            self.queue.remove([ref])
            self.members.pop(ref, None)
        elif row.state is RowState.SENT:
            self.sent.pop(ref, None)
