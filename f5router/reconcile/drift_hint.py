"""Decides between two readings of the device whether one is worth its cost at once.

Names and generations are read every minute, beside the loop, and some seconds after own writes whose replies
do not show the generation. Somebody else has changed an object if the router's own readings and writes do not
explain its generation. A hint that proves wrong makes the next ones rarer, so that a device whose generations
mean something else costs no more than the periodic readings.
"""

import logging
import math
from collections.abc import Callable

from f5router.icontrol.beside import Reading
from f5router.icontrol.generations import Extent, Generations, Look, NotSelected
from f5router.model.errors import BigIPError
from f5router.model.objects import Ref
from f5router.plan.change import AnyChange
from f5router.reconcile.explained import Explained
from f5router.reconcile.reading_pace import ReadingPace

log = logging.getLogger(__name__)

FIRST_S = 15.0
"""From a reading of the device to the first look: another router, or an administrator who has just made a
change, often makes the next one soon."""
SETTLED_S = 2.0
"""From the last own write to the look that learns its generation."""
LOOKS = 3
"""Looks in an interval at most, with those that learn generations."""
REPAIRS = 0.05
"""Part of one core for readings while somebody changes things again and again."""
NAMED = 5
"""Objects that a line of the log names."""


class DriftHint:
    """The loop's thread calls its methods."""

    def __init__(self, begin: Callable[[Extent], Reading[Look]], explained: Explained, *,
                 pace: ReadingPace, limit_s: float, clock: Callable[[], float]):
        """Args:
            begin: begins to read names and generations.
            pace: of the readings of names and generations.
            limit_s: period of readings of everything; with no shorter one there are no hints.
        """
        self._begin, self.explained, self._clock = begin, explained, clock
        self.pace, self._limit_s = pace, limit_s
        self._is_useful = pace.interval_s < limit_s
        """False if there are no hints."""
        self._shortest_s = pace.interval_s
        self._period_s = self._shortest_s
        """Longer after wrong hints."""
        self._next = math.inf
        """When the next look at everything begins: not before the device was read."""
        self._settled_at = self._latest_at = math.inf
        """When the look begins that learns the generations of own writes, and how far others put it off."""
        self._not_before = self._learned_at = -math.inf
        """When a look may begin, and when the last one of that sort did."""
        self._extent = Extent()
        self._future: Reading[Look] | None = None
        self._is_void = False
        """True if the look under way began before the end of a reading, which is newer."""
        self._by_replies = False
        """True if nothing but generations in replies was the reason for the last hint."""

    # --- the router's own readings and writes ------------------------------------------------

    def start_over(self) -> None:
        """Forget all generations: another unit of a pair has generations of its own."""
        self._future, self._next = None, math.inf
        self.explained.start_over()

    def begin_reading(self) -> None:
        """Record that a reading of the whole device begins."""
        self.explained.begin_reading()

    def take_reading(self, read: Generations) -> None:
        """Record the generations of a reading of the whole device: the baseline of the first comparison."""
        if not self._is_useful:
            return
        self.explained.take_reading(read)
        self._is_void = self._future is not None
        if math.isinf(self._next):
            self._next = self._clock() + min(FIRST_S, self._wait_s())

    def record(self, change: AnyChange) -> None:
        """Record a confirmed write."""
        if not self._is_useful:
            return
        self.explained.record(change)
        if self.explained.has_unknown:
            self._learn()

    def _learn(self) -> None:
        """Put the look that learns generations some seconds off, but not for long."""
        now, spacing_s = self._clock(), self._wait_s() / LOOKS
        if math.isinf(self._latest_at):
            self._latest_at = max(now, self._learned_at) + spacing_s
        self._settled_at = min(max(now + SETTLED_S, self._learned_at + spacing_s), self._latest_at)

    # --- looks ------------------------------------------------------------------------------

    def due_at(self) -> float:
        """Return when `check` has something to do."""
        if self.explained.has_opened_changed:
            return self._not_before
        if self._future is None:
            return max(min(self._next, self._settled_at), self._not_before)
        return -math.inf if self._future.done() else math.inf

    def check(self, now: float) -> bool:
        """Begin to read, or compare what was read; returns True if somebody else has changed something."""
        if now >= self._not_before and (changed := self.explained.take_opened_changed()):
            self._by_replies = True
            return _named(changed)
        if self._future is None:
            if now >= self.due_at():
                self._look(now)
            return False
        if not self._future.done():
            return False
        future, self._future = self._future, None
        is_void, self._is_void = self._is_void, False
        try:
            return self._compare(future, is_void=is_void)
        finally:
            if self.explained.has_unknown and self._is_useful:
                self._learn()

    def _look(self, now: float) -> None:
        whole = now + SETTLED_S >= self._next
        self._settled_at = self._latest_at = math.inf
        if whole or self.explained.has_unknown:
            if whole:
                self._next = now + self._wait_s()
            else:
                self._learned_at = now
            self._extent = self.explained.begin_look(whole=whole)
            self._future = self._begin(self._extent)

    def _compare(self, future: Reading[Look], *, is_void: bool) -> bool:
        if self._extent.is_whole:
            self.pace.record(future.cpu_s)
            self._next = self._clock() + self._wait_s()
        try:
            look = future.result()
        except NotSelected as exc:
            log.info("no generations to compare: only full readings find drift", extra={"reason": str(exc)})
            self._is_useful, self._next = False, math.inf
            return False
        except BigIPError as exc:
            log.debug("generations not read", extra={"error": str(exc)})
            return False
        if is_void:
            return False
        differing, self._by_replies = self.explained.compare(self._extent, look)
        return _named(differing)

    def record_reading(self, *, right: bool, cost_s: float = 0.0) -> None:
        """Record whether the reading that followed a hint found a difference.

        Wrong hints make them rarer. After a right one the next look comes soon: whoever makes a change often
        makes another one.

        Args: cost_s: CPU time of such a reading.
        """
        now = self._clock()
        if right:
            self._period_s = self._shortest_s
            self._not_before = now + max(FIRST_S, cost_s / REPAIRS)
            self._next = min(self._next, max(self._not_before, now + self.pace.interval_s / LOOKS))
        elif self._by_replies:
            log.info("generations in replies are not those of readings")
            self.explained.distrust_replies()
        else:
            self._period_s = min(2 * self._period_s, self._limit_s)
            self._next = now + self._wait_s()
            self._not_before = now + self._wait_s() / LOOKS

    def _wait_s(self) -> float:
        return max(self._period_s, self.pace.interval_s)


def _named(differing: set[Ref]) -> bool:
    """Log which REST objects differ; returns True if any does."""
    if differing:
        log.info("somebody else may have changed objects", extra={
            "objects": [str(ref) for ref in sorted(differing)[:NAMED]], "count": len(differing)})
    return bool(differing)
