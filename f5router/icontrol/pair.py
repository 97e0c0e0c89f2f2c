"""The units of a pair: which one is active, and may be written to.

Units are asked in threads of their own: one that does not answer delays nothing. A router with one
address has no such threads, and no call more than without this module.

Sources: K8665 and F5's manual "BIG-IP Device Service Clustering: Administration", Managing Failover (both
units are active while they do not hear each other); f5-ansible, #1788 (a standby takes writes).
"""

import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial

from f5router.icontrol.failover import ACTIVE, PATH
from f5router.icontrol.own_addresses import Peer
from f5router.icontrol.unit import Unit
from f5router.model.errors import AuthFailed, BigIPError, LoginRefused, Standby, Unreachable

log = logging.getLogger(__name__)

LOOK_S = 5.0
"""Longest wait for a unit's state."""
REFUSED_S = 60.0
"""Pause after a refused login: accounts are locked after a few."""
LATE_S = 0.2
"""How long a unit that did not answer the last time is waited for: the others do not wait for it."""


class UnitWatch:
    """Reads the failover state of one unit in a thread, when asked and periodically."""

    def __init__(self, unit: Unit, changed: Callable[[Unit, bool], None],
                 moved: Callable[[Unit], None], *, period_s: float, look_s: float, refused_s: float):
        """Args:
        changed: called after a reading, with True if the unit has become active.
        moved: called if its addresses have changed.
        """
        self.unit, self._changed, self._moved = unit, changed, moved
        self._period_s, self._look_s = period_s, look_s
        self._refused_s = refused_s
        self._condition = threading.Condition()
        self._asked = self._answered = 0
        self._ended = False
        self._was_active = False
        self._refused_until = -math.inf
        """Nothing is asked before: the login was refused."""
        self._thread = threading.Thread(target=self._run, daemon=True, name="unit-state")

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; if it waits for an answer, join it only for a moment."""
        with self._condition:
            self._ended = True
            self._condition.notify_all()
        self._thread.join(LATE_S)

    def ask(self) -> int:
        """Ask for a state that is read from now on; returns a number for `wait`."""
        with self._condition:
            self._asked += 1
            self._condition.notify_all()
            return self._asked

    def wait(self, number: int) -> bool:
        """Wait for an answer; False if it does not come in time, or is an error."""
        patience_s = LATE_S if self.unit.failover.error else self._look_s
        with self._condition:
            came = self._condition.wait_for(lambda: self._answered >= number or self._ended, patience_s)
        return came and self.unit.failover.error is None

    def _run(self) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(lambda: self._asked > self._answered or self._ended, self._period_s)
                if self._ended:
                    return
                number = self._asked
            if time.monotonic() >= self._refused_until:
                self._check()
            has_moved = self._look_at_addresses()
            is_active = may_be_written(self.unit)
            with self._condition:
                self._answered = number
                self._condition.notify_all()
            self._changed(self.unit, is_active and not self._was_active)
            self._was_active = is_active
            if has_moved:
                self._moved(self.unit)

    def _look_at_addresses(self) -> bool:
        """Read the addresses of a unit that answers, if they are due; True if they have changed."""
        addresses, error = self.unit.addresses, self.unit.failover.error
        if error is not None:
            addresses.lose(error.text)
            return False
        try:
            return addresses.refresh()
        except Exception:
            if not self._ended:  # else its connections were closed meanwhile
                log.exception("addresses not read", extra={"bigip": self.unit.name})
            return False

    def _check(self) -> None:
        try:
            self.unit.failover.check()
        except LoginRefused:
            self._refused_until = time.monotonic() + self._refused_s
        except BigIPError as exc:
            log.debug("failover state not read", extra={"bigip": self.unit.name, "error": str(exc)})
        except Exception:
            if not self._ended:  # else its connections were closed meanwhile
                log.exception("failover state not read", extra={"bigip": self.unit.name})


def may_be_written(unit: Unit) -> bool:
    """True if a unit is active by its last answer, and answered when it was asked last."""
    failover = unit.failover
    return failover.error is None and failover.state.status == ACTIVE and not failover.obstacle()


def is_lost(unit: Unit) -> bool:
    """True if a unit did not answer when it was asked last, or is not active; False if it was not asked."""
    failover = unit.failover
    return failover.error is not None or (bool(failover.state.status) and not may_be_written(unit))


class Pair:
    """The units of the settings, often one. One thread uses it, apart from `rival`."""

    def __init__(self, units: Sequence[Unit], *, period_s: float = 5.0, look_s: float = LOOK_S,
                 refused_s: float = REFUSED_S):
        """Args:
        period_s: how often the state of each unit is read; look_s: longest wait for it.
        refused_s: pause after a refused login.
        """
        self.units = tuple(units)
        self._current = self.units[0]
        self._problem = ""
        self.on_change: Callable[[], None] = lambda: None
        """Called from a thread when another unit has become active."""
        self._watches = [UnitWatch(unit, self._changed, self._moved, period_s=period_s, look_s=look_s,
                                   refused_s=refused_s)
                         for unit in self.units] if len(self.units) > 1 else []
        for unit in self.units:
            unit.failover.rival = partial(self.rival, unit)
        for watch in self._watches:
            watch.start()

    def close(self) -> None:
        """Stop the threads."""
        for watch in self._watches:
            watch.stop()

    # --- the choice ----------------------------------------------------------------------

    @property
    def is_several(self) -> bool:
        """True if there is more than one unit."""
        return bool(self._watches)

    def may_choose(self) -> bool:
        """True if another unit may be active, and none was looked for in vain since."""
        return self.is_several and not self._problem

    def choose(self, answered: Sequence[Unit], traffic_group: Callable[[Unit], str]) -> Unit:
        """Return the only active unit.

        Args:
            answered: from `look`.
            traffic_group: reads the traffic group of our folder.
        Raises: Standby: none is active, or several are; Unreachable, AuthFailed: no unit answers.
        """
        active = [unit for unit in answered if may_be_written(unit)]
        if len(active) > 1 and not active[0].failover.traffic_group:
            self.set_traffic_group(traffic_group(active[0]))
            active = [unit for unit in active if may_be_written(unit)]
        if len(active) != 1:
            self._problem = self._why_none(active, answered)
            if not answered:
                errors = [unit.failover.error for unit in self.units]
                raise next((kind for kind in (LoginRefused, AuthFailed) if all(
                    isinstance(error, kind) for error in errors)), Unreachable)("GET", PATH, self._problem)
            raise Standby("GET", PATH, self._problem)
        (unit,) = active
        if unit is not self._current and not unit.dispatcher.is_quiet:
            self._problem = f"{unit.name}: requests from before its failover are still under way"
            raise Standby("GET", PATH, self._problem)
        self._problem = ""
        if unit is not self._current:
            self._current.client.abandon()
            unit.nodes.take_over(self._current.nodes)
        self._current = unit
        unit.client.resume()
        return unit

    def look(self) -> list[Unit]:
        """Read the states of all units at once; returns those that answered."""
        asked = [(watch, watch.ask()) for watch in self._watches]
        return [watch.unit for watch, number in asked if watch.wait(number)]

    def rival(self, unit: Unit) -> str:
        """Return why a unit must not be written to because of the others; "" if it may be."""
        if not self._watches:
            return ""
        names = [other.name for other in self.units if other is not unit and may_be_written(other)]
        return f"{' and '.join(names)} is active too" if names else ""

    def set_traffic_group(self, name: str) -> None:
        """Set the traffic group of our folder, which all units share."""
        for unit in self.units:
            unit.failover.traffic_group = name

    def peers(self, unit: Unit) -> list[Peer]:
        """Return the known addresses of all units but one."""
        return [other.addresses.peer() for other in self.units if other is not unit]

    def _moved(self, unit: Unit) -> None:
        """Have the loop re-read the device: another unit has other addresses. Called by the watches."""
        if unit is not self._current:
            self.on_change()

    def _changed(self, unit: Unit, is_new: bool) -> None:
        """End requests to a unit after another unit has taken over. Called by the watches."""
        current = self._current
        if is_new and unit is not current:
            self._watches[self.units.index(current)].ask()  # it may hang, and still count as active
            self.on_change()
        if is_lost(current) and any(map(may_be_written, self.units)):
            current.client.abandon()
            self.on_change()

    # --- what an administrator should know -----------------------------------------------

    def _why_none(self, active: Sequence[Unit], answered: Sequence[Unit]) -> str:
        if active:
            names = " and ".join(unit.name for unit in active)
            return (f"{names} are both active: they do not hear each other, and the router writes to none of "
                    "them")
        return "; ".join(f"{unit.name}: {self._state(unit, unit in answered)}" for unit in self.units)

    def _state(self, unit: Unit, has_answered: bool) -> str:
        failover = unit.failover
        if not has_answered:
            return failover.error.text if failover.error else "no reply in time"
        if failover.state.unreadable:
            return f"the failover state cannot be read ({failover.state.unreadable})"
        return failover.obstacle() or "active"

    def obstacle(self) -> str:
        """Return why nothing is written, by the last answers; "" if it may be."""
        if self._problem or not self._watches:
            return self._problem or self._current.failover.obstacle()
        return self._current.failover.obstacle() or self.rival(self._current)

    def remarks(self) -> tuple[str, ...]:
        """Return the remarks on the states for an administrator."""
        if not self._watches:
            return self._current.failover.remarks()
        obstacle = self.obstacle()
        return (obstacle,) if obstacle else ()

    def active(self) -> bool | None:
        """Return True if a unit may be written to by the last answers; None if that is not known."""
        if not self._watches:
            return self._current.failover.active()
        return not self.obstacle()

    def states(self) -> dict[str, bool | None]:
        """Return for each unit's name True if it is active, None if that is not known; {} for one unit."""
        return {unit.name: None if unit.failover.error else may_be_written(unit)
                for unit in self.units} if self._watches else {}
