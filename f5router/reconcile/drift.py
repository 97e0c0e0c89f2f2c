"""Finds drift: objects of the device that somebody else has changed, added or deleted.

The device is read beside the loop, and what was read is compared in steps of some milliseconds, so that no
change of the cluster waits for it. An object that the router has written since the reading began is not
compared with it, nor one whose write is under way.
"""

import time
from collections.abc import Callable, Collection, Iterator
from itertools import islice

from f5router.icontrol.dispatcher import Job
from f5router.icontrol.observation import Observation
from f5router.model.errors import BigIPError
from f5router.model.limits import Steps
from f5router.model.ltm import Attachment, Policy, Pool, Rule
from f5router.model.objects import Ref
from f5router.model.virtual_server import VirtualServer
from f5router.reconcile.reading_pace import ReadingPace
from f5router.reconcile.reconciler import Reconciler

STEP = 500
"""Objects that are compared before the loop looks at events again."""

OF_VIRTUALS = frozenset({Attachment.KIND, Policy.KIND, Rule.KIND, VirtualServer.KIND})
"""Kinds on whose writes the facts of a reading depend, and its drafts."""

MOST_WITHOUT_FACTS = 3
"""Readings in a row whose facts are not compared, as something of the virtual servers was written meanwhile;
then the device is read while nothing is written."""


class DriftCheck:
    """The periodic reading. The loop's thread calls its methods."""

    def __init__(self, reconciler: Reconciler, *, pace: ReadingPace):
        """Args: pace: gets the cost of each reading."""
        self._reconciler, self._device = reconciler, reconciler.device
        self.pace = pace
        self.is_active = False
        """True from the beginning of a reading until everything is compared, or its thread has ended."""
        self._without_facts = 0
        self.on_compared: Callable[[bool], None] = lambda differs: None
        """Called at the end of a reading that counts; True if something was not as the router had it."""

    def begin(self) -> None:
        """Begin to read, unless that is under way."""
        if self.is_active:
            return
        begin = time.thread_time()
        self._device.begin_reading(lambda job: self._take(job, own_s))
        self.is_active, own_s = True, time.thread_time() - begin

    def _take(self, job: Job, own_s: float) -> None:
        """Take the end of a reading. Args: own_s: seconds of CPU that it has taken the loop."""
        observation: Observation | None = job.result
        if job is not self._device.beside:  # the device was read as a whole since
            self._end(job)
        elif observation is None:
            self._end(job)
            self._reconciler.must_read(f"the reading failed: {job.error}")
            if job.error is not None and not isinstance(job.error, BigIPError):
                raise job.error  # others are reported if the reading that follows fails too
        else:
            self._device.failover.update_from(observation)
            self._reconciler.background.add(self._compare(job, observation, job.cpu_s + own_s))

    def _end(self, job: Job) -> None:
        if self._device.beside is job:
            self._device.end_reading()
        self.is_active = False

    def _compare(self, job: Job, observation: Observation, cpu_s: float) -> Steps[None]:
        """Compare what was read. Args: cpu_s: seconds of CPU that the reading has taken."""
        differs = False
        steps = self._compared(observation)
        try:
            while job is self._device.beside:
                begin = time.thread_time()
                differing = next(steps, None)
                cpu_s += time.thread_time() - begin
                if differing is None:
                    break
                differs = differs or differing
                yield
        finally:
            counts = job is self._device.beside
            self._end(job)
        self.pace.record(cpu_s)
        if counts:
            self._reconciler.end_reading()
            if not self._reconciler.reader.reason:
                self.on_compared(differs)

    def _compared(self, observation: Observation) -> Iterator[bool]:
        """Compare the read objects, then judge Routes anew; yield True for steps that found a difference."""
        self._device.on_read(observation)
        yield self._differ_facts(observation)
        observed, read = self._device.observed, observation.objects
        everything = iter([*read, *(ref for ref in list(observed) if ref not in read)])
        while refs := list(islice(everything, STEP)):
            yield self._differ(observation, refs)
        routes = iter(list(self._reconciler.engine.routes()))
        while keys := list(islice(routes, STEP)):
            self._reconciler.reports.reevaluate(keys)
            yield False

    def _differ(self, observation: Observation, refs: Collection[Ref]) -> bool:
        """Take some of the objects that were read; True if one is not as the router had it."""
        observed, read = self._device.observed, observation.objects
        wanted, table = self._reconciler.engine.objects, self._reconciler.table
        wrong, differs = set(), False
        for ref in refs:
            if ref in (self._device.written or ()) or table.is_sent(ref):
                continue
            there, before, want = read.get(ref), observed.get(ref), wanted.get(ref)
            if there != want:
                wrong.add(ref)
            if there != before:
                differs = True
                self._reconciler.drift.find(ref, is_wrong=there != want)
            if there is not before:
                self._device.record_object(ref, there)
            if isinstance(there, Pool) and before is None and want is None:
                self._reconciler.must_read(f"{ref}: whose Services does it follow")
        self._reconciler.take_drift(wrong)
        return differs

    def _differ_facts(self, observation: Observation) -> bool:
        """Request a reading of the whole device if something beside our objects has changed."""
        if all(ref.kind not in OF_VIRTUALS for ref in self._device.written or ()):
            self._without_facts, device = 0, self._device
            differs = bool(observation.drafts) or (
                (device.completed(observation.facts), observation.legacy) != (device.facts, device.legacy))
            if differs:
                self._reconciler.must_read("somebody has changed the virtual servers, or their drafts")
            return differs
        self._without_facts += 1
        if self._without_facts >= MOST_WITHOUT_FACTS:
            self._without_facts = 0
            self._reconciler.must_read("no reading shows the virtual servers while something is written")
        return False
