"""The table of objects that are not at rest: one row holds what becomes of an object.

An object is at rest if it is on the device as it is wanted, and nothing of it was refused: then it has no
row. So memory at rest is that of Desired and Observed. Each row has a wake: its turn, a reply, a timer, or
the row that it waits for.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

from f5router.model.errors import UNCERTAIN_ERRORS, BigIPError, Conflict, NotFound, Refused, Unconfirmed
from f5router.model.limits import Backoff
from f5router.model.ltm import BigIPState, Pool
from f5router.model.ltm_nodes import is_usable
from f5router.model.objects import Ref
from f5router.reconcile.backlog import Backlog
from f5router.reconcile.timers import Timers

RETRY_FIRST_S, RETRY_MOST_S = 5.0, 300.0
BACKOFF = Backoff(RETRY_FIRST_S, RETRY_MOST_S)

OVERTAKEN_AFTER = 3
"""Attempts without a usable reply after which less specific Rules wait for an object no longer."""


class RowState(Enum):
    """State of a row, with the event that ends it."""

    DUE = "its turn"
    SENT = "the reply of the BIG-IP"
    REFUSED = "the end of its back-off"
    BLOCKED = "an object that it needs"


@dataclass(slots=True)
class ObjectRow:
    """The fate of an object that is not at rest."""

    state: RowState = RowState.DUE
    again: bool = False
    """SENT, and an event has touched the object since."""
    error: BigIPError | None = None
    """Why its last write was not done, or that of the object that it needs; None if that is over."""
    attempts: int = 0
    """Attempts that failed in a row."""
    until: float = 0.0
    """Monotonic seconds of the next attempt, while REFUSED."""
    on: Ref | None = None
    """The object that it waits for, while BLOCKED."""
    sent_at: float = 0.0
    """Monotonic seconds when its request began, while SENT."""
    since: float | None = None
    """When the oldest event came that is not written yet; None if no event is the reason."""

    @property
    def blocked(self) -> bool:
        """True if it was not sent, because an object that it needs was refused, or gets no reply."""
        return self.on is not None and self.error is not None


class Table:
    """All rows, and indexes of them. The loop's thread uses it; others may read `failures`."""

    def __init__(self, states: Callable[[], tuple[BigIPState, BigIPState]], timers: Timers,
                 clock: Callable[[], float]):
        """Args: states: returns Desired and Observed."""
        self._states, self.timers, self._clock = states, timers, clock
        self.rows: dict[Ref, ObjectRow] = {}
        self.queue = Backlog()
        """DUE rows that a rollout takes."""
        self.members: dict[Ref, None] = {}
        """Pools of the device whose members may differ, the oldest first; their rows are DUE."""
        self.sent: dict[Ref, None] = {}
        """SENT rows, the oldest first."""
        self.failures: dict[Ref, ObjectRow] = {}
        """Rows with an error."""
        self.first: dict[Ref, None] = {}
        """Objects that the first reading found to be written, and that no attempt has ended of since."""
        self.waiting: dict[Ref, set[Ref]] = {}
        """BLOCKED rows by the object that they wait for."""
        self._changed: set[Ref] = set()
        self.on_retry: Callable[[Ref], None] = lambda ref: None
        """Called when the back-off of an object has ended that is not tried before the device was read:
        `retry_due` follows then."""
        self.on_recovery: Callable[[], None] = lambda: None
        """Called when an object that was refused is in place, or usable, or not wanted any more."""

    # --- questions -------------------------------------------------------------------------

    def is_sent(self, ref: Ref) -> bool:
        """True while a request for an object is in flight."""
        return ref in self.sent

    def is_held(self, ref: Ref) -> bool:
        """True for an object whose back-off has not ended, or that waits for another one."""
        row = self.rows.get(ref)
        return row is not None and row.state in (RowState.REFUSED, RowState.BLOCKED)

    def is_waiting(self, ref: Ref) -> bool:
        """True for an object that is to be written, or is being written."""
        row = self.rows.get(ref)
        return row is not None and row.state in (RowState.DUE, RowState.SENT)

    def is_present_pool(self, ref: Ref) -> bool:
        """True for a pool of the device."""
        return ref.kind == Pool.KIND and ref in self._states()[1]

    def is_settled(self, refs: Iterable[Ref]) -> bool:
        """True if none of these objects is to be written or being written."""
        return not any(map(self.is_waiting, refs))

    def is_recent(self, ref: Ref) -> bool:
        """True while less specific Rules wait for an object, as it was not tried too often."""
        return ref not in self.failures or self.failures[ref].attempts < OVERTAKEN_AFTER

    def hanging(self, longest_s: float) -> list[Ref]:
        """Return the objects whose requests have had no reply for so long."""
        before = self._clock() - longest_s
        return [ref for ref in self.sent if self.rows[ref].sent_at <= before]

    def error(self, ref: Ref) -> BigIPError:
        """Return the error of a row of `failures`."""
        error = self.failures[ref].error
        assert error is not None, ref
        return error

    def next_due(self) -> float | None:
        """Return when the next back-off ends; None if time alone brings no attempt."""
        return min((row.until for row in self.failures.values() if row.state is RowState.REFUSED),
                   default=None)

    # --- transitions -----------------------------------------------------------------------

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
                row.state = RowState.DUE
                self.members[ref] = None

    def touch_differing(self, refs: Iterable[Ref], *, first: bool = False) -> None:
        """Make objects due that a reading has found to differ; what was refused waits as before.

        Args: first: it is the first reading.
        """
        self.touch((ref for ref in refs if not self.is_held(ref)), first=first)

    def queue_up(self, refs: Iterable[Ref]) -> None:
        """Put objects into the queue whether they differ or not: something that they need has changed."""
        for ref in refs:
            row = self.rows.setdefault(ref, ObjectRow())
            if row.state is RowState.SENT:
                row.again = True
            else:
                self._make_due(ref, row)

    def send(self, ref: Ref) -> None:
        """Record that a request for an object begins."""
        row = self.rows.setdefault(ref, ObjectRow())
        self._leave(ref, row)
        row.state, row.sent_at, row.again = RowState.SENT, self._clock(), False
        self.sent[ref] = None

    def refuse(self, ref: Ref, error: BigIPError) -> None:
        """Record that an object was refused, or its write not confirmed: it is tried again after a back-off.

        At once if an event has touched it meanwhile.
        """
        row = self._fail(ref, error)
        row.state, row.until = RowState.REFUSED, self._clock() + BACKOFF.delay_s(row.attempts)
        self._set_timer(ref, row)
        if row.again:
            row.again = False
            self.retry(ref)

    def block(self, ref: Ref, error: BigIPError, on: Ref) -> None:
        """Record that an object waits for another one that was refused, or gets no reply."""
        row = self._fail(ref, error)
        row.state, row.on = RowState.BLOCKED, on
        self.waiting.setdefault(on, set()).add(ref)
        if on not in self.rows:  # it has settled since
            self.wake(on)

    def not_sent(self, ref: Ref) -> None:
        """Make an object due again whose request was not sent."""
        row = self.rows.get(ref)
        if row is not None and row.state is RowState.SENT:
            self._leave(ref, row)
            row.state = RowState.DUE
            self.queue_up([ref])

    def rest(self, ref: Ref) -> None:
        """Drop the row of an object that is at rest, or held for a reason that is kept elsewhere."""
        row = self.rows.pop(ref, None)
        if row is None:
            return
        self._leave(ref, row)
        self.first.pop(ref, None)
        if self.failures.pop(ref, None) is not None:
            self._changed.add(ref)
            self.on_recovery()
        self.wake(ref)

    def confirm(self, ref: Ref, *, corrects: bool = False) -> None:
        """Record that an object was written: it is at rest if it is as it is wanted by now.

        Args: corrects: it was only corrected while its refusal goes on.
        """
        row = self.rows.get(ref)
        if corrects and row is not None and row.error is not None:
            again, now = row.again, self._clock()
            self._leave(ref, row)
            row.state, row.again = RowState.REFUSED, False
            row.until = row.until if row.until > now else now + BACKOFF.delay_s(row.attempts)
            self._set_timer(ref, row)
            if again:
                self.retry(ref)
            return
        self.rest(ref)
        self.touch([ref])

    def leave_queue(self, ref: Ref) -> None:
        """Take an object out of the queue: nothing is to be written, or something else will wake it."""
        self.queue.remove([ref])
        row = self.rows.get(ref)
        if row is not None and row.state is RowState.DUE and ref not in self.members:
            self.rest(ref)

    def keep(self, refs: Collection[Ref]) -> None:
        """Drop the rows of all other objects, which are as they are wanted, unless they are in flight."""
        for ref, row in list(self.rows.items()):
            if ref not in refs and row.state is not RowState.SENT:
                self.rest(ref)

    def start_over(self) -> None:
        """Drop all rows: what is in flight is for a unit that is not used any more."""
        for ref, row in list(self.rows.items()):
            self._leave(ref, row)
        for index in (self.rows, self.failures, self.first, self.waiting):
            index.clear()

    def take_changed(self) -> set[Ref]:
        """Return the objects whose refusal has begun, changed or ended since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def retry(self, ref: Ref) -> None:
        """End the back-off of an object."""
        if (row := self.rows.get(ref)) is None or row.state not in (RowState.REFUSED, RowState.BLOCKED):
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

    def wake(self, on: Ref) -> None:
        """Make the rows due that wait for an object."""
        for ref in sorted(self.waiting.pop(on, ())):
            row = self.rows.get(ref)
            if row is not None and row.state is RowState.BLOCKED and row.on == on:
                self.queue_up([ref])

    def clear(self) -> None:
        """Drop what is due: another router writes."""
        for ref, row in list(self.rows.items()):
            if row.state is RowState.DUE:
                self.rest(ref)

    # --- indexes ---------------------------------------------------------------------------

    def _set_timer(self, ref: Ref, row: ObjectRow) -> None:
        self.timers.at(row.until, ref, lambda: self._end_back_off(ref))

    def _end_back_off(self, ref: Ref) -> None:
        if _needs_reading(self.error(ref)):
            self.on_retry(ref)
        else:
            self.retry(ref)

    def _fail(self, ref: Ref, error: BigIPError) -> ObjectRow:
        row = self.rows.setdefault(ref, ObjectRow())
        self._leave(ref, row)
        if str(row.error) != str(error) or row.error is None:
            self._changed.add(ref)
        row.error, row.attempts, row.since = error, row.attempts + 1, None
        self.first.pop(ref, None)
        self.failures[ref] = row
        if is_usable(error):
            self.on_recovery()
            self.wake(ref)
        return row

    def _make_due(self, ref: Ref, row: ObjectRow) -> None:
        desired, observed = self._states()
        self._unblock(ref, row)
        row.state = RowState.DUE
        if ref.kind == Pool.KIND and ref in observed:
            self.members[ref] = None
            if ref in desired:
                return
        self.queue.add([ref], desired, observed)

    def _unblock(self, ref: Ref, row: ObjectRow) -> None:
        if row.state is RowState.REFUSED:
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


def _needs_reading(error: BigIPError) -> bool:
    """True if another attempt is of use only if something else is there than the router knows.

    The last one may have been carried out, late too. Somebody else may have made the object, or deleted
    it. Or nothing was sent, as something is missing.
    """
    return isinstance(error, Conflict | NotFound | Unconfirmed) or (
        isinstance(error, Refused) and not error.status)


def errors(failures: Mapping[Ref, ObjectRow], without: Collection[Ref]) -> dict[Ref, BigIPError]:
    """Return the errors of all rows but those of some objects."""
    return {ref: row.error for ref, row in failures.items() if ref not in without and row.error is not None}
