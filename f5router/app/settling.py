"""Work that follows writes once they have settled: LTM nodes are removed, the configuration is saved."""

import logging
import threading
from collections.abc import Callable

from f5router.app.config_sync import ConfigSyncer
from f5router.app.debounce import wake_at
from f5router.app.saving import Saver
from f5router.app.timing import Timing
from f5router.icontrol.device import Device
from f5router.model.errors import BigIPError

log = logging.getLogger(__name__)


class Settling:
    """Follows the writes to one BIG-IP. The thread of the loop uses it."""

    def __init__(self, device: Device, syncer: ConfigSyncer, *, save: bool, wake: Callable[[], None],
                 timing: Timing, clock: Callable[[], float]):
        """Args:
        save: the configuration is to be saved.
        wake: called from the thread of a save when it has ended.
        """
        self._device, self.syncer, self._save = device, syncer, save
        self._timing, self._clock = timing, clock
        self.saver = Saver(device.save, ended=wake, clock=clock)
        self._first_write: float | None = None
        self._last_write = 0.0

    def record_write(self) -> None:
        """Record a write, or one that may have been done."""
        self.syncer.changed()
        self._last_write = self._clock()
        if self._first_write is None:
            self._first_write = self._last_write

    def settles_at(self) -> float | None:
        """Return when the writes count as settled; None without writes."""
        if self._first_write is None:
            return None
        return wake_at(self._first_write, self._last_write,
                       hold_off_s=self._timing.settle_s, limit_s=self._timing.settle_limit_s)

    def due_at(self) -> float | None:
        """Return when there is something to do; None while a save runs, which wakes the loop by itself."""
        if self.saver.under_way:
            return None
        times = (self.settles_at(), self.syncer.due_at())
        return min((time for time in times if time is not None), default=None)

    def is_disturbing(self) -> bool:
        """True if the device may refuse requests as busy, because it saves or has just saved.

        Which requests a BIG-IP answers while it saves is not recorded; a request that it refused as busy was
        not carried out.
        """
        return self.saver.disturbs(self._timing.busy_s)

    def sync(self, now: float) -> None:
        """Make a step of config sync, if it is due and no save runs."""
        if self.syncer.due(now) and not self.saver.under_way:
            self.syncer.step()

    def advance(self, *, blocked_until: float) -> None:
        """Take the result of a save; remove some LTM nodes; begin the next save. Does not wait for a save.

        Args: blocked_until: nothing is begun before.
        """
        self._take_save()
        now, settles_at, first = self._clock(), self.settles_at(), self._first_write
        if (first is None or settles_at is None or settles_at > now or self.saver.under_way
                or now < blocked_until):
            return
        if self._tidy() and now < first + 2 * self._timing.settle_limit_s:
            return  # the next turn removes more
        self._first_write = None
        if self._save:
            self.saver.begin()

    def finish(self, *, timeout_s: float | None = None) -> bool:
        """Remove LTM nodes that were left behind, and save, at once; False if that is not finished in time.

        Args: timeout_s: how long to wait for saves, if not forever; then only some nodes are removed.
        """
        begin = self._clock()
        if not self.saver.wait(timeout_s):
            return False
        self._take_save()
        if self._first_write is None:
            return True
        while self._tidy() and timeout_s is None:
            pass
        if self._device.orphans:
            self._tidy()  # one lost reply is no reason to leave them
        self._first_write = None
        if self._save:
            self.saver.begin()
            left_s = None if timeout_s is None else max(0.0, begin + timeout_s - self._clock())
            if not self.saver.wait(left_s):
                return False
            self._take_save()
        return True

    def finish_at_exit(self) -> None:
        """Do the same, as far as possible in the time that a pod has before it is killed."""
        limit_s = self._timing.exit_s
        finished: list[bool] = []
        ending = threading.Thread(
            target=lambda: finished.append(self.finish(timeout_s=limit_s)), daemon=True, name="settle")
        ending.start()
        ending.join(limit_s)
        if finished != [True]:
            log.warning("configuration perhaps not saved", extra={"waited_s": limit_s})

    def _tidy(self) -> bool:
        """Remove some LTM nodes that were left behind; True if there are more."""
        try:
            removed = self._device.remove_orphans(self._timing.tidy_most)
        except Exception as exc:
            log.warning("LTM nodes not removed", exc_info=not isinstance(exc, BigIPError),
                        extra={"error": str(exc)})
            return False
        if removed:
            log.info("LTM nodes removed", extra={"removed": removed, "left": self._device.orphans})
        return self._device.orphans > 0

    def _take_save(self) -> None:
        """Record how a save ended; one that failed is repeated."""
        ended, error = self.saver.take_result()
        if error is not None:
            log.warning("configuration not saved", exc_info=not isinstance(error, BigIPError),
                        extra={"error": str(error)})
            self._first_write = self._last_write = self._clock()
        elif ended:
            log.info("configuration saved")
