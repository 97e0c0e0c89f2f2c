"""Rows of the objects that are not at rest: their states, the reasons for which they wait, and indexes."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from f5router.model.errors import BigIPError, Conflict, InUse, NotFound, Refused, Unconfirmed
from f5router.model.limits import Backoff
from f5router.model.ltm import BigIPState, Pool
from f5router.model.objects import Ref
from f5router.reconcile.backlog import Backlog

RETRY_FIRST_S, RETRY_MOST_S = 5.0, 300.0
BACKOFF = Backoff(RETRY_FIRST_S, RETRY_MOST_S)


class RowState(Enum):
    """State of a row, with the event that ends it."""

    DUE = "its turn"
    SENT = "the reply of the BIG-IP"
    REFUSED = "the end of its back-off"
    BLOCKED = "an object that it needs"
    HELD = "the end of the reason for which it is held"


class HoldReason(Enum):
    """Reasons for which a Change is not made now."""

    SECRET = "a Secret that decides about it is not read yet"
    SOURCE = "it may serve objects that could not be listed"
    SUCCESSOR = "it serves until the new objects of its Route are in place"
    DRAINING = "it serves connections whose TLS the BIG-IP has ended already"
    NEEDED = "an object that stays needs it"
    MASS_DELETE = "a second list of the cluster must confirm so many deletes"
    EMPTIED = "a second list of the cluster must confirm that the pool loses all members"
    WAY = "a second list of the cluster must confirm that the Node is gone"


FOR_SERVING = (HoldReason.SUCCESSOR, HoldReason.DRAINING, HoldReason.NEEDED)
"""Reasons of deletes that are tried again when a refusal ends, and after a while."""
UNREAD = (HoldReason.SECRET, HoldReason.SOURCE)
"""Reasons that each Plan examines again."""
LISTED = (HoldReason.MASS_DELETE, HoldReason.EMPTIED, HoldReason.WAY)
"""Reasons that a second list of the cluster ends. They have nothing to do with what is on the device."""


@dataclass(slots=True)
class ObjectRow:
    """The fate of an object that is not at rest."""

    state: RowState = RowState.DUE
    again: bool = False
    """SENT, and an event has touched the object since."""
    error: BigIPError | None = None
    """Why its last write was not done, or that of the object that it needs; None if that is over."""
    doubt: int | None = None
    """Number of readings that had begun when its last write may have been applied; None if that is known."""
    attempts: int = 0
    """Attempts that failed in a row."""
    until: float = 0.0
    """Monotonic seconds of the next attempt, while REFUSED, or of the next look, while HELD."""
    hold: HoldReason | None = None
    """Why its Change is not made. Members of a pool whose delete is held are written all the same."""
    is_asked: bool = False
    """Its delete was held back when the second list was asked for: this confirms no other one."""
    is_confirmed: bool = False
    """A second list has confirmed its delete."""
    on: Ref | None = None
    """The object that it waits for, while BLOCKED."""
    sent_at: float = 0.0
    """Monotonic seconds when its request began, while SENT."""
    corrects: bool = False
    """DUE or SENT, only to write what cannot wait for the end of its refusal, or of its hold."""
    since: float | None = None
    """When the oldest event came that is not written yet; None if no event is the reason."""

    @property
    def is_in_use(self) -> bool:
        """True if the BIG-IP refused to delete it, as it uses it."""
        return isinstance(self.error, InUse)

    @property
    def blocked(self) -> bool:
        """True if it was not sent, because an object that it needs was refused, or gets no reply."""
        return self.on is not None and self.error is not None

    @property
    def needs_reading(self) -> bool:
        """True if another attempt is of use only if something else is there than the router knows.

        The last one may have been carried out, late too. Somebody else may have made the object, or deleted
        it. Or nothing was sent, as something is missing.
        """
        return isinstance(self.error, Conflict | NotFound | Unconfirmed) or (
            isinstance(self.error, Refused) and not self.error.status)


class Counts(NamedTuple):
    """Numbers of Changes, by what has become of them."""

    writes: int = 0
    """The device confirmed them."""
    refused: int = 0
    """Refused, not confirmed, or not sent as they need such an object."""
    withheld: int = 0
    """Deletes of objects that are in use, or serve on."""

    def since(self, before: "Counts") -> "Counts":
        """Return the numbers without those of before."""
        return Counts(*(now - then for now, then in zip(self, before, strict=True)))

    def plus(self, others: "Counts") -> "Counts":
        """Return the sums."""
        return Counts(*map(sum, zip(self, others, strict=True)))


OVERTAKEN_AFTER = 3
"""Attempts without a usable reply after which less specific Rules wait for an object no longer."""


class RowIndexes:
    """All rows, and indexes of them. The loop's thread uses it; others may read `failures` and `held`."""

    def __init__(self, states: Callable[[], tuple[BigIPState, BigIPState]],
                 clock: Callable[[], float]):
        """Args: states: returns Desired and Observed."""
        self._states, self._clock = states, clock
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
        self.held: dict[HoldReason, dict[Ref, None]] = {reason: {} for reason in HoldReason}
        """Rows with a hold, by reason; they are HELD, unless their members are written."""
        self._changed: set[Ref] = set()
        self._settled: set[Ref] = set()
        self.writes = self.withheld = 0
        """Numbers since the start, as those of Counts;"""
        self.refused = Counter[str]()
        """and those of refusals, by kind of object."""

    @property
    def counts(self) -> Counts:
        """Numbers of Changes since the start."""
        return Counts(self.writes, self.refused.total(), self.withheld)

    def is_sent(self, ref: Ref) -> bool:
        """True while a request for an object is in flight."""
        return ref in self.sent

    def is_held(self, ref: Ref) -> bool:
        """True for an object whose back-off has not ended, or that waits for another one."""
        row = self.rows.get(ref)
        return row is not None and (row.corrects or row.state in (RowState.REFUSED, RowState.BLOCKED))

    def is_asleep(self, ref: Ref) -> bool:
        """True for an object that is HELD, and of which nothing else is to be done."""
        row = self.rows.get(ref)
        return row is not None and row.state is RowState.HELD

    def is_waiting(self, ref: Ref) -> bool:
        """True for an object that is to be written, or is being written."""
        row = self.rows.get(ref)
        return row is not None and row.state in (RowState.DUE, RowState.SENT) and not row.corrects

    def is_present_pool(self, ref: Ref) -> bool:
        """True for a pool of the device."""
        return ref.kind == Pool.KIND and ref in self._states()[1]

    def is_in_doubt(self, refs: Iterable[Ref]) -> bool:
        """True if the last write of one of these may have been applied, and it was not read since."""
        return any(row.doubt is not None for ref in refs if (row := self.rows.get(ref)) is not None)

    def doubt(self, ref: Ref, readings: int) -> None:
        """Record that a write may have been applied. Args: readings: number of those that have begun."""
        self.rows[ref].doubt = readings

    def end_doubts(self, reading: int) -> bool:
        """Take the end of a reading, by its number; True if a write is in doubt since it began."""
        for row in self.failures.values():
            if row.doubt is not None and row.doubt < reading:
                row.doubt = None
        return self.is_in_doubt(self.failures)

    def is_settled(self, refs: Iterable[Ref]) -> bool:
        """True if none of these objects is to be written or being written."""
        return not any(map(self.is_waiting, self.rows.keys() & refs))

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

    def held_for(self, *reasons: HoldReason) -> set[Ref]:
        """Return the objects that are held for one of these reasons."""
        return {ref for reason in reasons for ref in self.held[reason]}

    def take_changed(self) -> set[Ref]:
        """Return the objects whose refusal has begun, changed or ended since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def take_settled(self) -> set[Ref]:
        """Return the objects that were written, refused or held since the last call."""
        settled, self._settled = self._settled, set()
        return settled

    def _goes_on_waiting(self, ref: Ref, row: ObjectRow) -> bool:
        """True for an object that is held, in use, or only corrected, and not as it is wanted."""
        desired, observed = self._states()
        return desired.get(ref) != observed.get(ref) and (
            row.hold is not None or (row.corrects and row.error is not None)
            or (row.is_in_use and ref not in desired))

    def _set_hold(self, ref: Ref, row: ObjectRow, reason: HoldReason) -> None:
        if row.hold is not reason:
            self._end_hold(ref, row)
            row.hold, self.held[reason][ref] = reason, None

    def _end_hold(self, ref: Ref, row: ObjectRow) -> None:
        if row.hold is not None:
            self.held[row.hold].pop(ref, None)
            row.hold = None


def errors(failures: Mapping[Ref, ObjectRow], without: Collection[Ref]) -> dict[Ref, BigIPError]:
    """Return the errors of all rows but those of some objects."""
    return {ref: row.error for ref, row in failures.items() if ref not in without and row.error is not None}
