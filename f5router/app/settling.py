"""Work that follows writes once they have settled: LTM nodes go, the configuration is saved and synced."""

import logging
import threading
from collections.abc import Callable

from f5router.app.config_sync import ConfigSyncer
from f5router.app.debounce import wake_at
from f5router.app.timing import Timing
from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import Job
from f5router.model import findings
from f5router.model.errors import BigIPError, Standby
from f5router.model.findings import Finding, Link, finding
from f5router.reconcile.row import BACKOFF
from f5router.reconcile.timers import Timers

log = logging.getLogger(__name__)

AGAIN_S = 1.0
"""Time after which something is tried again that had to wait for a save."""


class Settling:
    """Follows the writes to one BIG-IP. The thread of the loop uses it."""

    def __init__(self, device: Device, syncer: ConfigSyncer, *, save: bool, timing: Timing,
                 clock: Callable[[], float]):
        """Args: save: the configuration is to be saved."""
        self._device, self.syncer, self._save = device, syncer, save
        self._timing, self._clock = timing, clock
        self._timers: Timers | None = None
        self._first_write: float | None = None
        self._last_write = 0.0
        self._saved_at = float("-inf")
        """When the last save ended."""
        self._is_saving = self._is_syncing = False
        self._is_tidying = False
        """LTM nodes are being removed: one thread at a time does so."""
        self._tidy_failures = 0
        """Attempts in a row that have left LTM nodes."""
        self.unsaved: Finding | None = None
        """Why the last save failed; None if it did not. Any thread may read it, as `saves`."""
        self.saves = 0
        """Saves that have ended."""
        self.last_save: float | None = None
        """When a save last succeeded; None before. Any thread may read it."""
        self._save_ended = threading.Event()
        self._save_ended.set()

    def connect(self, timers: Timers) -> None:
        """Do from now on by itself what writes call for."""
        self._timers = timers
        self._set_timers()

    def record_write(self) -> None:
        """Record a write, or one that may have been done."""
        self.syncer.changed()
        self._last_write = self._clock()
        if self._first_write is None:
            self._first_write = self._last_write
        self._set_timers()

    def is_disturbing(self) -> bool:
        """True if the device may refuse requests as busy, because it saves or has just saved.

        Which requests a BIG-IP answers while it saves is not recorded; a request that it refused as busy was
        not carried out.
        """
        return self._is_saving or self._clock() - self._saved_at < self._timing.busy_s

    def save_state(self) -> str:
        """Return if the configuration is saved, in words; "" while that is not known. Any thread may ask."""
        if not self._save:
            return "off: the router saves nothing"
        if (failure := self.unsaved) is not None:
            return f"failed: {failure.text}"
        if self._is_saving:
            return "a save is under way"
        if self._first_write is not None:
            return "changes are saved soon"
        return "" if self.last_save is None else "saved"

    # --- in the loop -------------------------------------------------------------------------

    def _set_timers(self) -> None:
        """Set the timers that are not set: one that turns out to be early is set again."""
        if self._timers is None:
            return
        if (at := self.settles_at()) is not None and self._timers.when("settle") is None:
            self._timers.at(at, "settle", self._settle)
        if (at := self.syncer.due_at()) is not None and self._timers.when("sync") is None:
            self._timers.at(at, "sync", self._sync)

    def settles_at(self) -> float | None:
        """Return when the writes count as settled; None without writes."""
        if self._first_write is None:
            return None
        return wake_at(self._first_write, self._last_write,
                       hold_off_s=self._timing.settle_s, limit_s=self._timing.settle_limit_s)

    def _settle(self) -> None:
        """Remove some LTM nodes, if the writes have settled."""
        at, now = self.settles_at(), self._clock()
        if at is None or self._timers is None:
            return
        if at > now:
            self._timers.at(at, "settle", self._settle)
        elif self._is_saving or self._is_tidying:
            self._timers.at(now + AGAIN_S, "settle", self._settle)
        else:
            self._send_tidy(self._tidied)

    def _send_tidy(self, then: Callable[[Job], None]) -> None:
        """Begin to remove some LTM nodes. Args: then: called at the end."""
        def ended(job: Job) -> None:
            self._is_tidying = False
            then(job)

        self._is_tidying = True
        self._device.keep_used_nodes()
        self._device.dispatcher.send(self._tidy, ended)

    def _tidied(self, job: Job) -> None:
        """Go on with more LTM nodes, or save."""
        first = self._first_write
        if first is None or self._timers is None:
            return
        if job.result and self._clock() < first + 2 * self._timing.settle_limit_s:
            self._timers.at(self._clock(), "settle", self._settle)
            return
        self._first_write = None
        if self._save:
            self._is_saving = True
            self._save_ended.clear()
            self._device.dispatcher.send(self._save_now, self._saved)
        self._tidy_again(failed=not job.result)

    def _tidy_again(self, *, failed: bool) -> None:
        """Try again later to remove LTM nodes that stay, ever more rarely."""
        self._tidy_failures = self._tidy_failures + 1 if failed and self._device.orphans else 0
        if self._timers is not None and self._device.orphans:
            delay_s = BACKOFF.delay_s(max(1, self._tidy_failures))
            self._timers.at(self._clock() + delay_s, "tidy", self._tidy_left)

    def _tidy_left(self) -> None:
        """Remove LTM nodes that an earlier attempt has left."""
        if not self._is_tidying:  # else it is set again at the end
            self._send_tidy(lambda job: self._tidy_again(failed=not job.result))

    def _save_now(self) -> Exception | None:
        """Save; returns the error with which it ended."""
        error = self._try_to_save()
        if not isinstance(error, Standby):  # the active unit saves
            self.saves += 1
            self.unsaved = None if error is None else finding(
                Link.DEVICE, findings.NOT_SAVED, str(error) or type(error).__name__)
            if error is None:
                self.last_save = self._clock()
        return error

    def _try_to_save(self) -> Exception | None:
        try:
            self._device.save()
        except Exception as exc:
            return exc
        finally:
            self._save_ended.set()
        return None

    def _saved(self, job: Job) -> None:
        """Record how a save ended; one that failed is repeated."""
        self._is_saving, self._saved_at = False, self._clock()
        error = job.result
        if error is None:
            log.info("configuration saved")
            return
        log.warning("configuration not saved", exc_info=not isinstance(error, BigIPError),
                    extra={"error": str(error)})
        self._first_write = self._last_write = self._clock()
        self._set_timers()

    def _sync(self) -> None:
        """Make a step of config sync, if it is due and no save runs."""
        now = self._clock()
        if self._timers is None or (at := self.syncer.due_at()) is None:
            return
        if at > now or self._is_saving or self._is_syncing:
            self._timers.at(max(at, now + AGAIN_S if at <= now else at), "sync", self._sync)
        else:
            self._is_syncing = True
            self._device.dispatcher.send(self.syncer.step, self._synced)

    def _synced(self, _: Job) -> None:
        self._is_syncing = False
        self._set_timers()

    # --- at the end --------------------------------------------------------------------------

    def finish(self, *, timeout_s: float | None = None) -> bool:
        """Remove LTM nodes that were left behind, and save, at once; False if that is not finished in time.

        Args: timeout_s: how long to wait for a save under way, if not forever; then only some nodes are
            removed.
        """
        if not self._save_ended.wait(timeout_s):
            return False
        if self._first_write is None:
            return True
        self._device.keep_used_nodes()
        while self._tidy() and timeout_s is None:
            pass
        if self._device.orphans:
            self._tidy()  # one lost reply is no reason to leave them
        self._first_write = None
        if self._save:
            error = self._save_now()
            if error is not None:
                self._first_write = self._last_write = self._clock()
                log.warning("configuration not saved", exc_info=not isinstance(error, BigIPError),
                            extra={"error": str(error)})
            else:
                log.info("configuration saved")
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
        """Remove some LTM nodes that were left behind; True if there are more. From any thread."""
        try:
            removed = self._device.remove_orphans(self._timing.tidy_most)
        except Exception as exc:
            log.warning("LTM nodes not removed", exc_info=not isinstance(exc, BigIPError),
                        extra={"error": str(exc)})
            return False
        if removed:
            log.info("LTM nodes removed", extra={"removed": removed, "left": self._device.orphans})
        return self._device.orphans > 0
