"""Decides between two readings of the device whether one is worth its cost at once.

Names and generations are read every minute, beside the loop. What has another generation than before, and was
not written by this router in between, was changed by somebody else. A hint that proves wrong makes the next
ones rarer, so that a device whose generations mean something else costs no more than the periodic readings.
"""

import logging
import math
from collections.abc import Callable
from concurrent.futures import Future

from f5router.icontrol.generations import Generations, NotSelected, holder
from f5router.model.errors import BigIPError
from f5router.model.objects import Ref
from f5router.plan.change import AnyChange

log = logging.getLogger(__name__)


class DriftHint:
    """The loop's thread calls its methods."""

    def __init__(self, begin: Callable[[], Future[Generations]], is_writing: Callable[[Ref], bool], *,
                 period_s: float, limit_s: float, clock: Callable[[], float]):
        """Args:
            begin: begins to read names and generations.
            is_writing: True for a pool whose write is under way.
            limit_s: period of readings; with no shorter period there are no hints.
        """
        self._begin, self._is_writing, self._clock = begin, is_writing, clock
        self._shortest_s, self._limit_s = (period_s, limit_s) if period_s < limit_s else (math.inf, limit_s)
        self._period_s = self._shortest_s
        self._next = clock() + self._shortest_s
        self._future: Future[Generations] | None = None
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
        future, self._future, self._next = self._future, None, now + self._period_s
        try:
            generations = future.result()
        except NotSelected as exc:
            log.info("no generations to compare, only readings find drift", extra={"reason": str(exc)})
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

    def judge(self, *, right: bool) -> None:
        """Take whether the reading that followed a hint found something; wrong hints make them rarer."""
        self._period_s = self._shortest_s if right else min(2 * self._period_s, self._limit_s)
        self._next = min(self._next, self._clock() + self._period_s) if right else (
            self._clock() + self._period_s)
