"""The failover state of the BIG-IP, read while nothing is written."""

import logging

from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import Job
from f5router.logs.log_output import PersistentLog
from f5router.model.errors import Busy, DeviceTimeout
from f5router.reconcile.whole_reading import DeviceReader

log = logging.getLogger(__name__)

SUBJECT = "failover state of the BIG-IP"
"""The log's message."""


class FailoverWatch:
    """Logs what the state changes to. The loop's thread uses it."""

    def __init__(self, device: Device, reader: DeviceReader):
        self._device, self._reader = device, reader
        self._log = PersistentLog(SUBJECT)

    def checked(self, job: Job) -> None:
        """Take the end of a reading of the state.

        A reading of everything follows where the unit is a standby, and ends at once; also where it does not
        answer, so that the loop logs why, and backs off: after a refused login nothing may
        be asked for a while.
        """
        if job.error is None:
            if obstacle := self._device.pair.obstacle():
                self._reader.must_read(obstacle)
        else:
            log.debug("failover state not read", extra={"error": str(job.error)})
            if not isinstance(job.error, Busy | DeviceTimeout):
                self._reader.must_read(f"its failover state was not read: {job.error}")
        self.record()

    def record(self) -> None:
        """Log what the state has changed to: it has just been read."""
        self._log.update((), self._device.pair.remarks())
