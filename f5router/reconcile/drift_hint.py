"""Decides between two readings of the device whether one is worth its cost at once.

Names and generations are read every minute, beside the loop, and some seconds after own writes whose replies
do not show the generation. Somebody else has changed an object if the router's own readings and writes do not
explain its generation. A hint that proves wrong makes the next ones rarer, so that a device whose generations
mean something else costs no more than the periodic readings.
"""

import logging
import math
from collections.abc import Callable

from f5router.icontrol.dispatcher import Job
from f5router.icontrol.generations import Extent, Generations, NotSelected
from f5router.model.errors import BigIPError
from f5router.model.objects import Ref
from f5router.plan.change import AnyChange
from f5router.reconcile.explained import Explained
from f5router.reconcile.reading_pace import ReadingPace
from f5router.reconcile.timers import Timers

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

HINT = "hint"
"""Timer of the next look, or of a hint that replies have given."""


class DriftHint:
    """The loop's thread calls its methods."""

    def __init__(self, begin: Callable[[Extent, Callable[[Job], None]], object], explained: Explained, *,
                 pace: ReadingPace, limit_s: float, timers: Timers, clock: Callable[[], float]):
        """Args:
            begin: begins to read names and generations; the loop calls its second argument at the end.
            pace: of the readings of names and generations.
            limit_s: period of readings of everything; with no shorter one there are no hints.
        """
        self._begin, self.explained, self._timers, self._clock = begin, explained, timers, clock
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
        self.is_looking = self._is_void = False
        """True during a look, and if it began before the end of a reading, which is newer."""
        self._by_replies = False
        """True if nothing but generations in replies was the reason for the last hint."""
        self.may_look: Callable[[], bool] = lambda: True
        """False while a reading of everything is due, or another router writes."""
        self.on_hint: Callable[[], None] = lambda: None
        """Called when somebody else has changed something."""

    # --- the router's own readings and writes ------------------------------------------------

    def start_over(self) -> None:
        """Forget all generations: another unit of a pair has generations of its own."""
        self._is_void, self._next = self.is_looking, math.inf
        self._settled_at = self._latest_at = math.inf
        self.explained.start_over()
        self._set_timer()

    def begin_reading(self) -> None:
        """Record that a reading of the whole device begins."""
        self.explained.begin_reading()

    def take_reading(self, read: Generations) -> None:
        """Record the generations of a reading of the whole device: the baseline of the first comparison."""
        if not self._is_useful:
            return
        self.explained.take_reading(read)
        self._is_void = self.is_looking
        if math.isinf(self._next):
            self._next = self._clock() + min(FIRST_S, self._wait_s())
        self._set_timer()

    def record(self, change: AnyChange) -> None:
        """Record a confirmed write."""
        if not self._is_useful:
            return
        self.explained.record(change)
        if self.explained.has_unknown:
            self._learn()
        self._set_timer()

    def _learn(self) -> None:
        """Put the look that learns generations some seconds off, but not for long."""
        now, spacing_s = self._clock(), self._wait_s() / LOOKS
        if math.isinf(self._latest_at):
            self._latest_at = max(now, self._learned_at) + spacing_s
        self._settled_at = min(max(now + SETTLED_S, self._learned_at + spacing_s), self._latest_at)

    # --- looks ------------------------------------------------------------------------------

    def _set_timer(self) -> None:
        """Let `_act` be called when it has something to do."""
        if self.explained.has_opened_changed:
            at = self._not_before
        else:
            at = math.inf if self.is_looking else max(min(self._next, self._settled_at), self._not_before)
        if at == math.inf:
            self._timers.cancel(HINT)
        elif self._timers.when(HINT) != (at := max(at, self._clock())):
            self._timers.at(at, HINT, self._act)

    def _act(self) -> None:
        """Give the hint of replies, or begin to look."""
        now = self._clock()
        if not self.may_look():  # the reading that follows sets the timer, if not another router writes
            self._timers.at(now + FIRST_S, HINT, self._act)
            return
        if changed := self.explained.take_opened_changed():
            self._hint(changed, by_replies=True)
        elif not self.is_looking:
            self._look(now)
        self._set_timer()

    def _look(self, now: float) -> None:
        whole = now + SETTLED_S >= self._next
        self._settled_at = self._latest_at = math.inf
        if whole or self.explained.has_unknown:
            if whole:
                self._next = now + self._wait_s()
            else:
                self._learned_at = now
            extent = self.explained.begin_look(whole=whole)
            self.is_looking, self._is_void = True, False
            self._begin(extent, lambda job: self._looked(extent, job))

    def _looked(self, extent: Extent, job: Job) -> None:
        """Take what a look has read."""
        is_void, self.is_looking = self._is_void, False
        if extent.is_whole:
            self.pace.record(job.cpu_s)
            if math.isfinite(self._next):
                self._next = self._clock() + self._wait_s()
        if isinstance(job.error, NotSelected):
            log.info("no generations to compare: only full readings find drift",
                     extra={"reason": str(job.error)})
            self._is_useful, self._next = False, math.inf
        elif isinstance(job.error, BigIPError):
            log.debug("generations not read", extra={"error": str(job.error)})
        elif job.error is None and not is_void:
            differing, by_replies = self.explained.compare(extent, job.result)
            self._hint(differing, by_replies=by_replies)
        if self.explained.has_unknown and self._is_useful:
            self._learn()
        self._set_timer()
        if job.error is not None and not isinstance(job.error, BigIPError | NotSelected):
            raise job.error

    def _hint(self, differing: set[Ref], *, by_replies: bool) -> None:
        """Log which REST objects differ, if any do, and tell it."""
        self._by_replies = by_replies
        if differing:
            log.info("somebody else may have changed objects", extra={
                "objects": [str(ref) for ref in sorted(differing)[:NAMED]], "count": len(differing)})
            self.on_hint()

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
        self._set_timer()

    def _wait_s(self) -> float:
        return max(self._period_s, self.pace.interval_s)
