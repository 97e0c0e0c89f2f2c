"""The turn of the control loop to another unit of a pair."""

from collections.abc import Callable

from f5router.app.settling import Settling
from f5router.reconcile.drift_hint import DriftHint
from f5router.reconcile.reconciler import Reconciler


class UnitSwitch:
    """Lets the loop look which unit is active, and forget what it knew of the one before."""

    def __init__(self, reconciler: Reconciler, settling: Settling, hint: DriftHint, *,
                 wake: Callable[[], None]):
        self._reconciler, self._settling, self._hint, self._wake = reconciler, settling, hint, wake
        self.is_due = False
        """True if another unit may be active; a back-off ends."""
        reconciler.device.on_switch, reconciler.device.pair.on_change = self._switched, self._found

    def take(self) -> bool:
        """Return `is_due`, and let the next pass choose the unit then."""
        if not self.is_due:
            return False
        self.is_due, self._reconciler.device.stale = False, True
        return True

    def _found(self) -> None:
        """Wake the loop. From any thread."""
        self.is_due = True
        self._wake()

    def _switched(self) -> None:
        """Begin with another unit: it may have what config sync brought in memory only."""
        self._reconciler.unit_changed()
        self._hint.start_over()
        self._settling.record_write()
