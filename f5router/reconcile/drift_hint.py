"""Decides between two readings of the device whether one is worth its cost at once.

Names and generations are read every minute, beside the loop. Generations that the replies to own writes do
not show are read at once, and the names of Rules and records some seconds later. Somebody else has changed an
object if the router's own readings and writes do not explain its generation. A hint that proves wrong makes
the next ones rarer, so that a device whose generations mean something else costs no more than the periodic
readings.
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
LEARN_S = 1.0
"""From one look that learns the generations of own writes to the next, which comes at once after a pause.
Before it, a change of others inside a Rule goes unnoticed until the periodic reading."""
SETTLED_S = 2.0
"""From an own write to the look at the names of Rules and records."""
LOOKS = 3
"""Looks in an interval at most, with those at names."""
REPAIRS = 0.05
"""Part of one core for readings while somebody changes things again and again."""
NAMED = 5
"""Objects that a line of the log names."""

LOOK, LEARN, NAMES, HINT = "generations", "own generations", "names", "hint"
"""Timers: of the next look at everything, at generations of own writes, and at names; of a hint that was not
given at once."""


class DriftHint:
    """The loop's thread calls its methods."""

    def __init__(self, read: Callable[[Extent, Callable[[Job], None]], object], explained: Explained, *,
                 pace: ReadingPace, limit_s: float, timers: Timers, clock: Callable[[], float]):
        """Args:
            read: begins to read names and generations; the loop calls its second argument with the ended Job.
            pace: of the readings of names and generations.
            limit_s: period of readings of everything; with no shorter one there are no hints.
        """
        self._read, self.explained, self._timers, self._clock = read, explained, timers, clock
        self.pace, self._limit_s = pace, limit_s
        self._is_useful = pace.interval_s < limit_s
        """False if there are no hints."""
        self._shortest_s = self._period_s = pace.interval_s
        """The period is longer after wrong hints."""
        self._not_before = self._learned_at = self._named_at = -math.inf
        """When a hint may be given, and when the last looks at own generations and at names began."""
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
        self._is_void = self.is_looking
        for name in (LOOK, LEARN, NAMES, HINT):
            self._timers.cancel(name)
        self.explained.start_over()

    def begin_reading(self) -> None:
        """Record that a reading of the whole device begins."""
        self.explained.begin_reading()

    def take_reading(self, read: Generations) -> None:
        """Record the generations of a reading of the whole device: the baseline of the first comparison."""
        if not self._is_useful:
            return
        self.explained.take_reading(read)
        self._is_void = self.is_looking
        self._timers.cancel(HINT)
        if self._timers.when(LOOK) is None:
            self._look_at(self._clock() + min(FIRST_S, self._wait_s()))
        self._look_soon()

    def record(self, change: AnyChange) -> None:
        """Record a confirmed write."""
        if not self._is_useful:
            return
        self.explained.record(change)
        self._look_soon()
        if changed := self.explained.take_opened_changed():
            self._hint(changed, by_replies=True)

    def _look_soon(self) -> None:
        """Set the timers of what is to be read after own writes."""
        now = self._clock()
        if self.explained.has_unknown and self._timers.when(LEARN) is None:
            self._timers.at(max(now, self._learned_at + LEARN_S), LEARN, self._look_at_own)
        if self.explained.has_unchecked and self._timers.when(NAMES) is None:
            self._timers.at(max(now + SETTLED_S, self._named_at + self._wait_s() / LOOKS), NAMES,
                            self._look_at_names)

    def _look_at(self, at: float) -> None:
        """Let the next look at everything begin then."""
        self._timers.at(max(at, self._not_before), LOOK, self._look_at_everything)

    # --- looks: a reading that is due, or the end of the look under way, sets these timers again ----------

    def _look_at_everything(self) -> None:
        if self.is_looking:
            self._look_at(self._clock() + SETTLED_S)
        elif self.may_look():
            self._look_at(self._clock() + self._wait_s())
            self._look(self.explained.begin_look(whole=True, names=True))

    def _look_at_own(self) -> None:
        if not self.is_looking and self.may_look() and self.explained.has_unknown:
            self._learned_at = self._clock()
            self._look(self.explained.begin_look())

    def _look_at_names(self) -> None:
        if self.is_looking or not self.may_look() or not self.explained.has_unchecked:
            return
        if self._clock() + SETTLED_S >= (self._timers.when(LOOK) or math.inf):
            self._look_at_everything()
        else:
            self._look(self.explained.begin_look(names=True))

    def _look(self, extent: Extent) -> None:
        self.is_looking, self._is_void = True, False
        if extent.holders:
            self._named_at = self._clock()
        self._read(extent, lambda job: self._looked(extent, job))

    def _looked(self, extent: Extent, job: Job) -> None:
        """Take what a look has read."""
        is_void, self.is_looking = self._is_void, False
        if extent.is_whole:
            self.pace.record(job.cpu_s)
            if self._timers.when(LOOK) is not None:
                self._look_at(self._clock() + self._wait_s())
        if isinstance(job.error, NotSelected):
            log.info("no generations to compare: only full readings find drift",
                     extra={"reason": str(job.error)})
            self._is_useful = False
            for name in (LOOK, LEARN, NAMES):
                self._timers.cancel(name)
            return
        if job.error is None and not is_void:
            differing, by_replies = self.explained.compare(extent, job.result)
            self._hint(differing, by_replies=by_replies)
        self._look_soon()
        if isinstance(job.error, BigIPError):
            log.debug("generations not read", extra={"error": str(job.error)})
        elif job.error is not None:
            raise job.error

    # --- hints -------------------------------------------------------------------------------

    def _hint(self, differing: set[Ref], *, by_replies: bool) -> None:
        """Give a hint if REST objects differ, but not soon after the last right one."""
        if not differing:
            return
        log.info("somebody else may have changed objects", extra={
            "objects": [str(ref) for ref in sorted(differing)[:NAMED]], "count": len(differing)})
        self._by_replies = by_replies
        self._timers.at(max(self._clock(), self._not_before), HINT, lambda: self.on_hint())

    def record_reading(self, *, right: bool, cost_s: float = 0.0) -> None:
        """Record whether the reading that followed a hint found a difference.

        Wrong hints make them rarer. After a right one the next look comes soon: whoever makes a change often
        makes another one.

        Args: cost_s: CPU time of such a reading.
        """
        now, planned = self._clock(), self._timers.when(LOOK) or math.inf
        if right:
            self._period_s = self._shortest_s
            self._not_before = now + max(FIRST_S, cost_s / REPAIRS)
            self._look_at(min(planned, max(self._not_before, now + self.pace.interval_s / LOOKS)))
        elif self._by_replies:
            log.info("generations in replies are not those of readings")
            self.explained.distrust_replies()
        else:
            self._period_s = min(2 * self._period_s, self._limit_s)
            self._not_before = now + self._wait_s() / LOOKS
            self._look_at(now + self._wait_s())

    def _wait_s(self) -> float:
        return max(self._period_s, self.pace.interval_s)
