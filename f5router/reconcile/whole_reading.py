"""A reading of the whole device, in threads: which unit is active, the facts, and then the objects."""

from collections.abc import Callable

from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import Job
from f5router.icontrol.observe import DeviceReading
from f5router.model.device_facts import DeviceFacts


class WholeReading:
    """One reading under way. The loop's thread calls its methods."""

    def __init__(self, device: Device, *, create_folder: bool, on_facts: Callable[[DeviceFacts], None],
                 on_end: Callable[[Exception | None], None]):
        """Begin to read.

        Args:
            create_folder: False to treat a missing folder as an empty one instead of creating it.
            on_facts: called when the facts are known, before the objects are read.
            on_end: called at the end, with the error because of which nothing was read.
        """
        self._device, self._create_folder = device, create_folder
        self._on_facts, self._on_end = on_facts, on_end
        self._reading: DeviceReading | None = None
        if device.pair.is_several:
            device.dispatcher.send(device.active_unit, self._unit_chosen)
        else:
            self._read_facts()

    def _unit_chosen(self, job: Job) -> None:
        if job.error is not None:
            self._on_end(job.error)
            return
        self._device.turn_to(job.result)
        self._read_facts()

    def _read_facts(self) -> None:
        device = self._device
        reading = self._reading = device.begin_whole_reading()
        device.dispatcher.send(lambda: device.read_facts(reading, create_folder=self._create_folder),
                               self._facts_read)

    def _facts_read(self, job: Job) -> None:
        if self._fails(job) or self._reading is None:
            return
        self._on_facts(self._reading.facts)
        self._device.expect(self._reading)
        self._device.dispatcher.send(self._reading.read_objects, self._objects_read)

    def _objects_read(self, job: Job) -> None:
        if not self._fails(job):
            self._device.take(job.result)
            self._on_end(None)

    def _fails(self, job: Job) -> bool:
        if job.error is not None:
            self._device.fail_reading()
            self._on_end(job.error)
        return job.error is not None
