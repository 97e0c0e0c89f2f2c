"""Readings of the whole device, in threads: which unit is active, the facts, and then the objects."""

import logging
import math
from collections.abc import Callable

from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import Job, Lane
from f5router.icontrol.observe import DeviceReading
from f5router.model.device_facts import DeviceFacts
from f5router.reconcile.table import Table

log = logging.getLogger(__name__)

IN_DOUBT = "a write was left in doubt during the last reading"


class WholeReading:
    """One reading under way. The loop's thread calls its methods."""

    def __init__(self, device: Device, *, create_folder: bool, on_facts: Callable[[DeviceFacts], None],
                 on_end: Callable[[Exception | None], None], is_current: Callable[[], bool]):
        """Begin to read.

        Args:
            create_folder: False to treat a missing folder as an empty one instead of creating it.
            on_facts: called when the facts are known, before the objects are read.
            on_end: called at the end, with the error because of which nothing was read.
            is_current: False if a newer reading has begun: this one is of no use any more.
        """
        self._device, self._create_folder = device, create_folder
        self._on_facts, self._on_end, self._is_current = on_facts, on_end, is_current
        self._reading: DeviceReading | None = None
        if device.pair.is_several:
            device.dispatcher.send(device.active_unit, self._unit_chosen, Lane.BESIDE)
        else:
            self._read_facts()

    @property
    def has_begun(self) -> bool:
        """True if something was read, on the unit that is active."""
        return self._reading is not None

    def _unit_chosen(self, job: Job) -> None:
        if not self._is_current():
            return
        if job.error is not None:
            self._on_end(job.error)
            return
        self._device.turn_to(job.result)
        self._read_facts()

    def _read_facts(self) -> None:
        device = self._device
        reading = self._reading = device.begin_whole_reading()
        device.dispatcher.send(lambda: device.read_facts(reading, create_folder=self._create_folder),
                               self._facts_read, Lane.BESIDE)

    def _facts_read(self, job: Job) -> None:
        if self._fails(job) or self._reading is None:
            return
        self._on_facts(self._reading.facts)
        if self._device.is_outdated:  # the first lists of the cluster have brought front ends
            return self._read_facts()
        self._device.expect(self._reading)
        self._device.dispatcher.send(self._reading.read_objects, self._objects_read, Lane.BESIDE)

    def _objects_read(self, job: Job) -> None:
        if not self._fails(job):
            self._device.take(job.result)
            self._on_end(None)

    def _fails(self, job: Job) -> bool:
        """Take the end of a Job; True if nothing follows."""
        if not self._is_current():
            return True
        if job.error is not None:
            self._device.fail_reading()
            self._on_end(job.error)
        return job.error is not None


class DeviceReader:
    """Knows why the device must be read before the next Plan, and reads it. The loop's thread uses it."""

    def __init__(self, device: Device, table: Table, *, clock: Callable[[], float],
                 on_facts: Callable[[DeviceFacts], None], on_end: Callable[[Exception | None], None]):
        """Args: on_facts, on_end: as those of WholeReading."""
        self._device, self._table, self._clock = device, table, clock
        self._on_facts, self._on_end = on_facts, on_end
        self.reason = "nothing is known of it"
        """Why the device must be read; "" if what is known of it is right."""
        self.reading: WholeReading | None = None
        """The reading under way."""
        self._later_reason = ""
        """Why the device must be read once more: the reading under way may be older than that."""
        self.read_at = -math.inf
        """When the last reading began, in monotonic seconds."""
        self.number = 0
        """Number of the last reading that has begun; its end alone counts."""

    def must_read(self, reason: str) -> None:
        """Let a reading come before the next Plan. Args: reason: for the log."""
        if self.reading is not None and self.reading.has_begun:
            self._later_reason = self._later_reason or reason
        if not self.reason:
            log.debug("BIG-IP to be read", extra={"reason": reason})
            self.reason = reason

    def begin(self, *, create_folder: bool = True) -> None:
        """Begin to read. Args: as those of WholeReading."""
        self.read_at, self._later_reason = self._clock(), ""
        self.number += 1
        number = self.number
        self.reading = WholeReading(
            self._device, create_folder=create_folder, on_facts=self._on_facts,
            on_end=self._ended, is_current=lambda: number == self.number)

    def taken(self) -> None:
        """Record that the device was read."""
        doubt = IN_DOUBT if self._table.end_doubts(self.number) else ""
        self.reason, self._later_reason = self._later_reason or doubt, ""

    def drop(self) -> None:
        """Ignore the readings under way, also that beside the loop."""
        self._device.end_reading()
        self.number += 1
        self.reading = None

    def _ended(self, error: Exception | None) -> None:
        self.reading = None
        if self._device.is_outdated:
            self._later_reason = self._later_reason or "front ends have changed"
        if error is None:
            self.taken()
        self._on_end(error)


class DeviceLeftovers:
    """Removes what a failure has left on the device. The loop's thread uses it."""

    def __init__(self, device: Device, *, on_error: Callable[[Exception], None]):
        self._device, self._on_error = device, on_error
        self.is_due = self._goes = False
        self.takes_drafts = False
        """True while drafts are removed: no policy may be written."""

    def __bool__(self) -> bool:
        """True if something is to be removed, or is being removed."""
        return self.is_due or self._goes

    @property
    def may_begin(self) -> bool:
        """True if something is to be removed, and nothing is being removed."""
        return self.is_due and not self._goes

    def remove(self) -> None:
        """Begin to remove it, in a thread. The caller has seen to it that no policy is being written."""
        self.is_due, self._goes = False, True
        if self._device.unit.policies.has_drafts:
            self.takes_drafts = True
            self._device.dispatcher.send(self._device.remove_drafts, self._drafts_removed)
        else:
            self._remove_files()

    def _drafts_removed(self, job: Job) -> None:
        self.takes_drafts = False
        if job.error is not None:
            self._removed(job)
        else:
            self._remove_files()

    def _remove_files(self) -> None:
        installed = self._device.installed_files()
        self._device.dispatcher.send(lambda: self._device.remove_files(installed), self._removed)

    def _removed(self, job: Job) -> None:
        self._goes = False
        if job.error is not None:
            self._on_error(job.error)
