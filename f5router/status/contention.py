"""Detects Routes that another router of the same name keeps changing, so that two do not write forever.

The rule is that of openshift/router, pkg/router/controller/contention.go, with two differences: a removed
entry counts as a change too, since this router removes entries; and a write of its own is no change by
others, except that overwriting somebody else's entry makes the Route a candidate.
"""

from collections.abc import Callable
from dataclasses import dataclass

from f5router.model.json_types import JSON
from f5router.status import condition

CHANGE_LIMIT = 5
"""Changes of contended Routes after which no existing entry is written any more."""

FLUSH, CANDIDATE, CONTENDED = 2, 3, 1
"""In intervals: how often old records are dropped, and the ages at which they are old."""

CALM = 10
"""Intervals without a change after which contention is over: two routers that differ meet at every pass."""


@dataclass(slots=True)
class ContentionRecord:
    """The last change of a Route's entry by another router."""

    at: float
    """When the Route became a candidate, or contended."""
    contended: bool
    last: JSON | None
    """The entry after the last change, by any router; None for none."""


class Contention:
    """Contention for the entries of one router name. Not thread-safe."""

    def __init__(self, *, interval_s: float, clock: Callable[[], float]):
        """Arguments:
        interval_s: how long a contended Route is left alone; upstream: a tenth of the resync interval.
        """
        self._interval_s, self._clock = interval_s, clock
        self._records: dict[str, ContentionRecord] = {}
        self._own_entries: dict[str, JSON] = {}
        self._changes = 0
        """Changes of contended Routes since the last flush."""
        self._flush_at = clock() + FLUSH * interval_s
        self._contended_at: float | None = None

    def count(self) -> int:
        """Count the contended Routes."""
        self._flush()
        return sum(record.contended for record in self._records.values())

    def is_lasting(self) -> bool:
        """True if another router keeps changing entries, or did so not long ago."""
        at = self._contended_at
        return at is not None and self._clock() <= at + CALM * self._interval_s

    def changed(self, uid: str, entry: JSON | None) -> bool:
        """Record an entry that differs from the reading before. Returns True if others changed it.

        The first change makes a Route a candidate, a second, different one makes it contended.
        """
        self._flush()
        if uid in self._own_entries and condition.same(self._own_entries[uid], entry):
            return False
        if self._changes > CHANGE_LIMIT:
            return True
        record = self._records.get(uid)
        if record is None:
            self._records[uid] = ContentionRecord(self._clock(), False, entry)
        elif not condition.same(record.last, entry):
            self._changes += 1
            self._contended_at = self._clock()
            if not record.contended:
                self._records[uid] = ContentionRecord(self._clock(), True, entry)
        return True

    def confirmed(self, uid: str, entry: JSON) -> None:
        """Record that the entry read is the desired one."""
        self._own_entries[uid] = entry

    def own_entry(self, uid: str) -> JSON | None:
        """Return the entry that this router wrote or confirmed; None if that is not known."""
        return self._own_entries.get(uid)

    def writing(self, uid: str, entry: JSON, over: JSON | None) -> None:
        """Record that this router is about to write an entry.

        Args: over: the present entry, None for none. If it is somebody else's, the Route becomes a
            candidate: if that router writes once more, both contend.
        """
        before, self._own_entries[uid] = self._own_entries.get(uid), entry
        if (record := self._records.get(uid)) is not None:
            record.last, record.contended = entry, False
        elif over is not None and not condition.same(over, before):
            self._records[uid] = ContentionRecord(self._clock(), False, entry)

    def contended(self, uid: str, *, created: bool) -> bool:
        """True if the status of a Route must be left alone.

        Args: created: it has no entry yet; such a Route is written even while others are contended.
        """
        self._flush()
        record = self._records.get(uid)
        if record is not None and record.contended and self._clock() <= record.at + self._interval_s:
            return True
        return self._changes > CHANGE_LIMIT and not created

    def discard(self, uid: str) -> None:
        """Forget a Route that this router no longer serves."""
        self._records.pop(uid, None)
        self._own_entries.pop(uid, None)

    def _flush(self) -> None:
        now = self._clock()
        if now < self._flush_at:
            return
        self._flush_at = now + FLUSH * self._interval_s
        for uid, record in list(self._records.items()):
            if now > record.at + (CONTENDED if record.contended else CANDIDATE) * self._interval_s:
                del self._records[uid]
        self._changes = sum(record.contended for record in self._records.values())
