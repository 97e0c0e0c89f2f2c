"""Finds drift: objects of the device that somebody else has changed, added or deleted.

The device is read beside the loop, and what was read is compared in steps of some milliseconds, so that no
change of the cluster waits for it. Only the loop's thread compares. An object that the router has written
since the reading began is not compared with it, nor one whose write is under way.
"""

import math
import time
from collections.abc import Callable, Iterator
from itertools import islice

from f5router.icontrol.beside import Reading
from f5router.icontrol.observation import Observation
from f5router.model.errors import BigIPError
from f5router.model.ltm import Attachment, Policy, Pool, Rule
from f5router.model.objects import Ref
from f5router.reconcile.reading_pace import ReadingPace
from f5router.reconcile.reconciler import Reconciler

STEP = 500
"""Objects that are compared before the loop looks at events again."""

OF_VIRTUALS = frozenset({Attachment.KIND, Policy.KIND, Rule.KIND})
"""Kinds on whose writes the facts of a reading depend, and its drafts."""

MOST_WITHOUT_FACTS = 3
"""Readings in a row whose facts are not compared, as something of the virtual servers was written meanwhile;
then the device is read while nothing is written."""


class DriftCheck:
    """The periodic reading. The loop's thread calls its methods."""

    def __init__(self, reconciler: Reconciler, *, wake: Callable[[], None], pace: ReadingPace):
        """Args: wake: lets the loop look what is due. pace: gets the cost of each reading."""
        self._reconciler, self._device, self._wake = reconciler, reconciler.device, wake
        self.pace = pace
        self._last: Reading[Observation] | None = None
        """The last reading, whose thread may go on although nobody wants its result any more."""
        self._steps: Iterator[set[Ref]] | None = None
        self._reading: Reading[Observation] | None = None
        self._without_facts = 0
        self._cpu_s = 0.0
        """Seconds of CPU that the last reading has taken so far."""
        self.found_drift = False
        """True if the last reading found something that was not as the router had it."""

    @property
    def is_active(self) -> bool:
        """True from the beginning of a reading until everything is compared."""
        return self._reading is not None

    def begin(self) -> None:
        """Begin to read, unless that is under way."""
        if not self.is_active and (self._last is None or self._last.done()):
            begin = time.thread_time()
            self._device.begin_reading(self._wake)
            self._last, self.found_drift = self._device.beside, False
            self._reading, self._cpu_s = self._last, time.thread_time() - begin

    def due_at(self) -> float:
        """Return when there is something to compare."""
        return -math.inf if self._reading is not None and self._reading.done() else math.inf

    def step(self) -> bool:
        """Compare some objects; returns True at the end of a reading that counts."""
        begin = time.thread_time()
        try:
            return self._step()
        finally:
            self._cpu_s += time.thread_time() - begin

    def _step(self) -> bool:
        reading = self._reading
        if reading is None or not reading.done():
            return False
        if reading is not self._device.beside:  # the device was read as a whole since
            self._end()
            return False
        if self._steps is None:
            try:
                observation = reading.result()
            except BaseException as exc:
                self._end()
                self._reconciler.must_read(f"the reading failed: {exc}")
                if isinstance(exc, BigIPError):
                    return False  # reported if the reading that follows fails too
                raise
            self._device.failover.update_from(observation)
            self._steps = self._compare(observation)
        differing = next(self._steps, None)
        if differing is None:
            self._end()
            self._cpu_s += reading.cpu_s
            self.pace.record(self._cpu_s)
            self._reconciler.end_reading()
            return not self._reconciler.reader.reason
        self._reconciler.take_drift(differing)
        return False

    def _end(self) -> None:
        if self._device.beside is self._reading:
            self._device.end_reading()
        self._reading = self._steps = None

    def _compare(self, observation: Observation) -> Iterator[set[Ref]]:
        """Compare the read objects in steps; yield the objects that differ from what they should be."""
        self._device.on_read(observation)
        self._compare_facts(observation)
        observed, read = self._device.observed, observation.objects
        wanted = self._reconciler.engine.objects
        everything = iter([*read, *(ref for ref in list(observed) if ref not in read)])
        while refs := list(islice(everything, STEP)):
            differing = set()
            for ref in refs:
                if ref in (self._device.written or ()) or self._reconciler.table.is_sent(ref):
                    continue
                there, before, want = read.get(ref), observed.get(ref), wanted.get(ref)
                if there != want:
                    differing.add(ref)
                if there != before:
                    self.found_drift = True
                    self._reconciler.drift.find(ref, is_wrong=there != want)
                if there is not before:
                    self._device.record_object(ref, there)
                if isinstance(there, Pool) and before is None and want is None:
                    self._reconciler.must_read(f"{ref}: whose Services does it follow")
            yield differing
        routes = iter(list(self._reconciler.engine.routes()))
        while keys := list(islice(routes, STEP)):
            self._reconciler.reports.reevaluate(keys)
            yield set()

    def _compare_facts(self, observation: Observation) -> None:
        """Request a reading of the whole device if something beside our objects has changed."""
        if all(ref.kind not in OF_VIRTUALS for ref in self._device.written or ()):
            self._without_facts = 0
            if (observation.facts, observation.legacy) != (self._device.facts, self._device.legacy) or (
                    observation.drafts):
                self.found_drift = True
                self._reconciler.must_read("somebody has changed the virtual servers, or their drafts")
            return
        self._without_facts += 1
        if self._without_facts >= MOST_WITHOUT_FACTS:
            self._without_facts = 0
            self._reconciler.must_read("no reading shows the virtual servers while something is written")
