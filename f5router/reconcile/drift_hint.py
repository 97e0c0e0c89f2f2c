"""Decides between two readings of the device whether one is worth its cost at once.

Names and generations are read every minute, beside the loop. An object that has another generation than
before, and that this router did not write in between, was changed by somebody else. A hint that proves wrong
makes the next ones rarer, so that a device whose generations mean something else costs no more than the
periodic readings.
"""

import logging
import math
from collections.abc import Callable

from f5router.icontrol.beside import Reading
from f5router.icontrol.generations import Generations, NotSelected, holder
from f5router.model.errors import BigIPError
from f5router.model.objects import Ref
from f5router.plan.change import AnyChange
from f5router.reconcile.reading_pace import ReadingPace

log = logging.getLogger(__name__)


class DriftHint:
    """The loop's thread calls its methods."""

    def __init__(self, begin: Callable[[], Reading[Generations]], is_writing: Callable[[Ref], bool], *,
                 pace: ReadingPace, limit_s: float, clock: Callable[[], float]):
        """Args:
            begin: begins to read names and generations.
            is_writing: True for a pool whose write is under way.
            pace: of the readings of names and generations.
            limit_s: period of readings of everything; with no shorter one there are no hints.
        """
        self._begin, self._is_writing, self._clock = begin, is_writing, clock
        self.pace, self._limit_s = pace, limit_s
        self._shortest_s = pace.interval_s if pace.interval_s < limit_s else math.inf
        self._period_s = self._shortest_s
        """Longer after wrong hints."""
        self._next = clock() + self._shortest_s
        self._future: Reading[Generations] | None = None
        self._before: Generations | None = None
        self._written: set[Ref] = set()
        """REST objects that were written since the last reading of generations began."""
        self._earlier: set[Ref] = set()
        """Those that were written between the two readings before."""

    def record(self, change: AnyChange) -> None:
        """Take a confirmed write."""
        self._written.add(holder(change.obj))

    def start_over(self) -> None:
        """Forget what was read: another unit of a pair has generations of its own."""
        self._future = self._before = None

    def due_at(self) -> float:
        """Return when `check` has something to do."""
        if self._future is None:
            return self._next
        return -math.inf if self._future.done() else math.inf

    def check(self, now: float) -> bool:
        """Begin to read, or compare what was read; returns True if somebody else has changed something."""
        if self._future is None:
            if now >= self._next:
                self._earlier, self._written = self._written, set()
                self._future = self._begin()
            return False
        if not self._future.done():
            return False
        future, self._future = self._future, None
        self.pace.record(future.cpu_s)
        self._next = now + self._wait_s()
        try:
            generations = future.result()
        except NotSelected as exc:
            log.info("no generations to compare: only full readings find drift", extra={"reason": str(exc)})
            self._next = math.inf
            return False
        except BigIPError as exc:
            log.debug("generations not read", extra={"error": str(exc)})
            self._written |= self._earlier
            return False
        before, self._before = self._before, generations
        own = self._written | self._earlier
        return before is not None and any(
            before.get(ref) != generations.get(ref) and ref not in own and not self._is_writing(ref)
            for ref in before.keys() | generations.keys())

    def record_reading(self, *, right: bool) -> None:
        """Take whether the reading that followed a hint found something; wrong hints make them rarer."""
        self._period_s = self._shortest_s if right else min(2 * self._period_s, self._limit_s)
        at = self._clock() + self._wait_s()
        self._next = min(self._next, at) if right else at

    def _wait_s(self) -> float:
        return max(self._period_s, self.pace.interval_s)
