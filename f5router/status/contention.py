"""Which Routes another router of the same name keeps changing, so that two of them do not write for ever.

The rule is upstream's (pkg/router/controller/contention.go of openshift/router). Two
differences: a removed entry counts as a change too, since this router removes entries; and an own write is
no change by others, except that one over somebody else's entry makes a candidate.
"""

from collections.abc import Callable
from dataclasses import dataclass

from f5router.model.json_types import JSON
from f5router.status import condition

MOST = 5
"""Changes of contended Routes after which no existing entry is written any more."""

FLUSH, CANDIDATE, CONTENDED = 2, 3, 1
"""In intervals: how often old knowledge is dropped, and how old it is then."""

CALM = 10
"""Intervals without a contended Route after which it is over: two routers that differ meet at every pass."""


@dataclass(slots=True)
class ContentionRecord:
    """What is known of a Route whose entry somebody else has changed."""

    at: float
    """When it became a candidate, or contended."""
    contended: bool
    last: JSON | None
    """The entry after the last change, by anybody; None for none."""


class Contention:
    """Of the entries of one router name. Not thread-safe."""

    def __init__(self, *, interval_s: float, clock: Callable[[], float]):
        """interval_s: how long a contended Route is left alone; upstream: a tenth of the resync interval."""
        self._interval_s, self._clock = interval_s, clock
        self._routes: dict[str, ContentionRecord] = {}
        self._ours: dict[str, JSON] = {}
        self._changes = 0
        """Of contended Routes, since the last flush."""
        self._flush_at = clock() + FLUSH * interval_s
        self._contended_at: float | None = None

    def count(self) -> int:
        """How many Routes are contended."""
        self._flush()
        return sum(route.contended for route in self._routes.values())

    def lasts(self) -> bool:
        """Whether another router keeps changing entries, or did so not long ago."""
        at = self._contended_at
        return at is not None and self._clock() <= at + CALM * self._interval_s

    def changed(self, uid: str, entry: JSON | None) -> bool:
        """The watch told of an entry that differs from the one before. Returns whether others changed it.

        The first change makes a Route a candidate, a second, different one makes it contended.
        """
        self._flush()
        if uid in self._ours and condition.same(self._ours[uid], entry):
            return False
        if self._changes > MOST:
            return True
        known = self._routes.get(uid)
        if known is None:
            self._routes[uid] = ContentionRecord(self._clock(), False, entry)
        elif not condition.same(known.last, entry):
            self._changes += 1
            self._contended_at = self._clock()
            if not known.contended:
                self._routes[uid] = ContentionRecord(self._clock(), True, entry)
        return True

    def agrees(self, uid: str, entry: JSON) -> None:
        """The entry is there as we wish it."""
        self._ours[uid] = entry

    def ours(self, uid: str) -> JSON | None:
        """The entry that we wrote or found right; None if that is not known."""
        return self._ours.get(uid)

    def wrote(self, uid: str, entry: JSON, over: JSON | None) -> None:
        """We are about to write this entry.

        Args: over: the one that is there, None for none. Where it is not ours, the Route becomes a
            candidate: whoever wrote it may do so again, and that is then one time too many.
        """
        before, self._ours[uid] = self._ours.get(uid), entry
        if (known := self._routes.get(uid)) is not None:
            known.last, known.contended = entry, False
        elif over is not None and not condition.same(over, before):
            self._routes[uid] = ContentionRecord(self._clock(), False, entry)

    def contended(self, uid: str, *, created: bool) -> bool:
        """Whether to leave a Route alone.

        Args: created: it has no entry yet; that is written also while there is too much contention elsewhere.
        """
        self._flush()
        known = self._routes.get(uid)
        if known is not None and known.contended and self._clock() <= known.at + self._interval_s:
            return True
        return self._changes > MOST and not created

    def discard(self, uid: str) -> None:
        """The Route is none of ours any more."""
        self._routes.pop(uid, None)
        self._ours.pop(uid, None)

    def _flush(self) -> None:
        now = self._clock()
        if now < self._flush_at:
            return
        self._flush_at = now + FLUSH * self._interval_s
        for uid, known in list(self._routes.items()):
            if now > known.at + (CONTENDED if known.contended else CANDIDATE) * self._interval_s:
                del self._routes[uid]
        self._changes = sum(known.contended for known in self._routes.values())
