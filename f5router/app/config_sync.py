"""Config sync: brings changes to the other units of the device group, or reports that they are missing there.

Config sync replaces the whole configuration of the other units, with what an administrator is about to
try out on this one, and without what was changed there. So the router starts it only where that is asked
for (--f5-config-sync=push), and only while the device itself recommends this unit as the source.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass

from f5router.app.debounce import wake_at
from f5router.app.timing import DEFAULT, SyncTiming
from f5router.icontrol.config_sync import ConfigSync, DeviceGroup, SyncStatus
from f5router.logs.log_output import PersistentLog
from f5router.model.errors import AuthFailed, BigIPError, Refused, Standby
from f5router.model.json_types import JSON

log = logging.getLogger(__name__)

OFF, CHECK, PUSH = ("off", "check", "push")

_UNDER_WAY = ("Syncing", "Not All Devices Synced")


@dataclass(frozen=True, slots=True)
class Decision:
    """Action that follows from a sync status."""

    push: bool = False
    wait: bool = False
    """The status may change by itself."""
    problem: str = ""
    """Text for the administrator, who has to act; "" for none."""


IN_SYNC = Decision()


def decide(group: DeviceGroup, status: SyncStatus, own_names: frozenset[str], *, push: bool) -> Decision:
    """Decide what to do about the status of a group. Args: push: the router shall sync its changes."""
    where = f"device group {group.name}"
    if status.status in ("In Sync", "Standalone"):
        return IN_SYNC
    if status.status in _UNDER_WAY:
        return Decision(wait=True, problem=f"{where}: {status.status}")
    if status.status == "Awaiting Initial Sync":
        return IN_SYNC if group.auto_sync else Decision(
            problem=f"{where} awaits its initial sync: an administrator decides from which unit")
    if status.status != "Changes Pending":
        return Decision(problem=f"{where}: {status.status or 'no sync status'}"
                                f"{': ' if status.summary else ''}{status.summary}")
    if status.conflict:
        return Decision(problem=f"{where} has changes on several units: an administrator decides which of "
                                "them counts, config sync overwrites the others")
    if status.source not in own_names:
        source = f"recommends {status.source} as the source" if status.source else "recommends no source"
        return Decision(problem=f"{where} has changes pending, and the device {source}: this unit's "
                                "configuration is not synced over them")
    if group.auto_sync:
        return Decision(wait=True, problem=f"{where} does not sync automatically although it is set to")
    if push:
        return Decision(push=True)
    return Decision(problem=f"the router's changes are not on the other units of {where} yet: "
                            f"tmsh run cm config-sync to-group {group.name}, or --f5-config-sync=push")


def look(sync: ConfigSync, folder: JSON, *, push: bool) -> tuple[DeviceGroup | None, Decision]:
    """Read the sync status of the group of a folder, None if there is none. Raises: BigIPError."""
    group = sync.group(folder)
    if group is None:
        return None, IN_SYNC
    status = sync.status(group)
    names = sync.own_names() if status.source else frozenset()
    return group, decide(group, status, names, push=push)


class ConfigSyncer:
    """Follows the sync status after changes; the thread of the loop uses it."""

    def __init__(self, sync: ConfigSync, *, mode: str, require_active: Callable[[], None],
                 folder: Callable[[], JSON], clock: Callable[[], float],
                 timing: SyncTiming = DEFAULT.sync):
        """Args: folder: properties of the router's folder; {} while they are not known."""
        self._sync, self._mode, self._clock, self._timing = sync, mode, clock, timing
        self._require_active, self._folder = require_active, folder
        self._problems = PersistentLog("config sync of the BIG-IP")
        self._first: float | None = None
        """Time of the oldest write that no reading of the status followed."""
        self._last = 0.0
        self._again_at: float | None = None
        self._waits_since: float | None = None
        self._refusals = 0
        """Looks in a row that the device refused: one odd refusal may pass at once."""
        self._lasting = ""
        """The problem that was logged and is not over."""
        self.in_sync: bool | None = None
        """State by the last answer; None without a device group."""
        self.state = ""
        """The same in words: "in sync", what is under way, or the problem; "" without a device group."""
        self.has_looked = False
        """True once the device has answered."""

    def changed(self) -> None:
        """Record a write."""
        if self._mode == OFF:
            return
        self._last = self._clock()
        if self._first is None:
            self._first = self._last

    def due_at(self) -> float | None:
        """Return when to look next; None if there is no reason to."""
        if self._first is not None:
            return wake_at(self._first, self._last, hold_off_s=self._timing.settle_s,
                           limit_s=self._timing.settle_limit_s)
        return self._again_at

    def due(self, now: float) -> bool:
        """Return True if it is time for a step."""
        at = self.due_at()
        return at is not None and at <= now

    def step(self) -> None:
        """Read the status, and start a sync or log a problem."""
        now = self._clock()
        if self._first is not None:
            self._first, self._waits_since = None, None
        self._again_at, answered = None, False
        try:
            group, decision = self._look()
            if group and decision.push and self._waits_since is None:
                self._push(group)
        except Standby:
            decision = IN_SYNC  # the router of the active unit sees to it
        except BigIPError as exc:
            refused = isinstance(exc, Refused | AuthFailed)
            self._refusals = self._refusals + 1 if refused else 0
            decision = Decision(wait=not refused, problem=f"not possible: {exc}")
        else:
            self._refusals, answered = 0, True
        problem = self._follow(decision, now)
        self.state = problem or ("" if self.in_sync is None else
                                 "in sync" if self.in_sync else "a sync is under way")
        self.has_looked = self.has_looked or answered

    def _look(self) -> tuple[DeviceGroup | None, Decision]:
        self.in_sync = None
        group, decision = look(self._sync, self._folder(), push=self._mode == PUSH)
        if group is not None:
            self.in_sync = decision == IN_SYNC
        return group, decision

    def _push(self, group: DeviceGroup) -> None:
        """Start a sync. Raises: Standby: the unit is no longer active; BigIPError."""
        self._require_active()
        self._sync.push(group)
        log.info("config sync started", extra={"group": group.path})

    def _follow(self, decision: Decision, now: float) -> str:
        """Log a problem that lasts, and plan the next look; returns the problem, also a new one."""
        if decision.push or decision.wait:
            self._waits_since = now if self._waits_since is None else self._waits_since
            if now < self._waits_since + self._timing.patience_s:
                self._again_at = now + self._timing.wait_s
                return decision.problem or self._lasting
            self._waits_since = None
            decision = Decision(problem=decision.problem or "started, but changes are pending still")
        else:
            self._waits_since = None
        self._lasting = decision.problem
        self._problems.update((), (decision.problem,) if decision.problem else ())
        if decision.problem:
            self._again_at = now + (self._timing.refused.delay_s(self._refusals) if self._refusals
                                    else self._timing.problem_s)
        return decision.problem
