"""The failover state of the BIG-IP, read while nothing is written."""

import logging

from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import Job
from f5router.logs.log_output import PersistentLog
from f5router.model.errors import Busy, DeviceTimeout

log = logging.getLogger(__name__)

SUBJECT = "failover state of the BIG-IP"
"""The log's message."""


class FailoverWatch:
    """Logs what the state changes to. The loop's thread uses it."""

    def __init__(self, device: Device):
        self._device = device
        self._log = PersistentLog(SUBJECT)

    def checked(self, job: Job) -> None:
        """Take the end of a reading of the state.

        The device becomes stale where the unit is a standby, so that a reading follows and ends at once; also
        where it does not answer, so that the loop logs why, and backs off: after a refused login nothing may
        be asked for a while.
        """
        if job.error is None:
            self._device.stale = self._device.stale or bool(self._device.pair.obstacle())
        else:
            log.debug("failover state not read", extra={"error": str(job.error)})
            self._device.stale = self._device.stale or not isinstance(job.error, Busy | DeviceTimeout)
        self.record()

    def record(self) -> None:
        """Log what the state has changed to: it has just been read."""
        self._log.update((), self._device.pair.remarks())
