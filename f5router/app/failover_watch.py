"""The failover state of the BIG-IP, read while nothing is written."""

import logging
from collections.abc import Callable

from f5router.icontrol.device import Device
from f5router.logs.log_output import PersistentLog
from f5router.model.errors import BigIPError, Busy, DeviceTimeout

log = logging.getLogger(__name__)

SUBJECT = "failover state of the BIG-IP"
"""The log's message."""


class FailoverWatch:
    """Reads the state periodically, and logs what it changes to. One thread uses it."""

    def __init__(self, device: Device, *, period_s: float, clock: Callable[[], float]):
        self._device, self._period_s, self._clock = device, period_s, clock
        self._log = PersistentLog(SUBJECT)
        self.due_at = float("-inf")
        """When the state is to be read again."""

    def check(self) -> None:
        """Read the state.

        The device becomes stale where the unit is a standby, so that a pass follows and ends at once; also
        where it does not answer, so that the pass logs why, and backs off: after a refused login nothing
        may be asked for a while.
        """
        try:
            self._device.failover.check()
            self._device.stale = self._device.stale or bool(self._device.pair.obstacle())
        except BigIPError as exc:
            log.debug("failover state not read", extra={"error": str(exc)})
            self._device.stale = self._device.stale or not isinstance(exc, Busy | DeviceTimeout)
        self.record()

    def record(self) -> None:
        """Log what the state has changed to: it has just been read."""
        self.due_at = self._clock() + self._period_s
        self._log.update((), self._device.pair.remarks())
