"""Health monitors: every member of a pool with a monitor is checked over its real socket.

A member is down when the monitor's timeout has passed without a good answer, and up at the first good one
(bigip-behaviour.md B11), or as much later as timeUntilUp says (tmsh reference, ltm monitor http). Before the
first result it is being checked, and takes traffic.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from dataclasses import dataclass
from typing import Any

from mocks.bigip import addresses, pools
from mocks.bigip.dataplane import checks
from mocks.bigip.dataplane.shared import Shared
from mocks.bigip.kinds import find_in_group
from mocks.bigip.matching import Unsupported
from mocks.bigip.monitors import parse_monitor
from mocks.bigip.store import Key

AT_ONCE = 50
"""Checks under way."""
LOOK_S = 0.1
"""Between looks for members that are new."""
_RELEVANT = ("ltm/pool", "ltm/pool/members", "ltm/node")


@dataclass
class Checked:
    """A member under its monitor. down: None until there is a result."""

    pool: str
    name: str
    address: str
    port: int
    rule: tuple[int, tuple[str, ...]]
    """Least number of good monitors, 0 for all; their full paths."""
    since: float = 0.0
    """Loop time of the last good answer, of the beginning before there was one."""
    down: bool | None = None
    good_since: float | None = None
    """Loop time of the first of good answers without a bad one among them."""

    def learn(self, good: bool, *, now: float, interval_s: float, timeout_s: float,
              until_up_s: float = 0.0) -> float:
        """Take a result; returns when the next check is due."""
        due = now + interval_s
        if not good:
            self.good_since = None
        elif self.good_since is None:
            self.good_since = now
        if self.good_since is not None:
            self.since = now
            if now >= self.good_since + until_up_s:
                self.down = False
        elif now >= self.since + timeout_s:
            self.down = True
        elif not self.down:
            # not to be found down later than the timeout says
            due = min(due, self.since + timeout_s)
        return due


class Monitors:
    """All checked members of a data plane."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._members: dict[str, dict[str, Checked]] = {}
        """By pool and name."""
        self._due: list[tuple[float, int, Checked]] = []
        """A heap: when each is checked next."""
        self._count = itertools.count()
        self._dirty: set[str] = set()
        self._checking: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None
        self._told: set[str] = set()

    def is_down(self, pool: str, member: str) -> bool | None:
        """None: not known yet; False also without a monitor."""
        checked = self._members.get(pool, {}).get(member)
        if checked is None:
            return None if pool in self._dirty and member in self._wanted(pool) else False
        return checked.down

    @property
    def pools(self) -> set[str]:
        """Pools with members that are checked."""
        return set(self._members)

    def changed(self, written: set[tuple[str, Key]]) -> None:
        """Something was committed; the store's lock is held."""
        fresh = {key[0] for kind, key in written if kind in _RELEVANT[:2]}
        for kind, key in written:
            if kind == "ltm/node":
                users = self._shared.store.users("node", key[0])
                fresh |= {user[0] for name, user in users if name == "ltm/pool/members"}
        if fresh:
            first, self._dirty = not self._dirty, self._dirty | fresh
            if first:
                self._shared.thread.soon(self._update)

    # -- in the loop -------------------------------------------------------------------------------

    def _update(self) -> None:
        """Take over what was written about pools."""
        store, now = self._shared.store, self._shared.clock.now()
        with store.lock:
            dirty, self._dirty = self._dirty, set()
            for pool in dirty:
                old = self._members.pop(pool, {})
                for name, checked in self._wanted(pool).items():
                    kept = old.get(name)
                    if kept is not None and kept.rule == checked.rule:
                        checked = kept
                    else:
                        checked.since = now
                        self._plan(checked, now)
                    self._members.setdefault(pool, {})[name] = checked

    def _wanted(self, pool: str) -> dict[str, Checked]:
        """Members of a pool that are to be monitored. Hold the store's lock."""
        store = self._shared.store
        item = store.get("ltm/pool", pool)
        by_name = {}
        for member in store.children("ltm/pool/members", (pool,)).values() if item else ():
            own = member.fields.get("monitor", "default")
            least, paths = parse_monitor(item.fields.get("monitor") if own == "default" else own)
            node, port = pools.node_and_port(member.name)
            _, more = parse_monitor(store.get("ltm/node", node).fields.get("monitor"))
            paths = [path for path in (*paths, *more) if path not in ("none", "default", "/Common/none")]
            if paths:
                where = member.fields["address"], addresses.port_number(port)
                by_name[member.name] = Checked(pool, member.name, *where, (least, tuple(paths)))
        return by_name

    async def _run(self) -> None:
        """Check what is due, while anything is monitored."""
        gate = asyncio.Semaphore(AT_ONCE)
        for turn in itertools.count():
            if not self._due:
                break
            due, _, checked = self._due[0]
            wait_s = due - self._shared.clock.now()
            if wait_s > 0:
                await asyncio.sleep(min(wait_s, LOOK_S))
                continue
            heapq.heappop(self._due)
            if not self._is_current(checked):
                continue
            if self._shared.pods.lookup(checked.address, checked.port) is None:
                # nothing to wait for, nor to make a task of
                await self._check(checked)
                if turn % 16 == 0:
                    await asyncio.sleep(0)
                continue
            await gate.acquire()
            checking = asyncio.ensure_future(self._check(checked))
            self._checking.add(checking)
            checking.add_done_callback(lambda done: (self._checking.discard(done), gate.release()))
        self._task = None

    def _is_current(self, checked: Checked) -> bool:
        return self._members.get(checked.pool, {}).get(checked.name) is checked

    def _plan(self, checked: Checked, due: float) -> None:
        heapq.heappush(self._due, (due, next(self._count), checked))
        if self._task is None:
            self._task = asyncio.ensure_future(self._run())

    async def _check(self, checked: Checked) -> None:
        try:
            good, interval_s, timeout_s, until_up_s = await self._good(checked)
        except Unsupported as unknown:
            good, interval_s, timeout_s, until_up_s = False, 5.0, 16.0, 0.0
            self._tell(unknown)
        now, speed = self._shared.clock.now(), self._shared.clock.speed
        due = checked.learn(good, now=now, interval_s=interval_s / speed, timeout_s=timeout_s / speed,
                            until_up_s=until_up_s / speed)
        if self._is_current(checked):
            self._plan(checked, due)

    def _tell(self, unknown: Unsupported) -> None:
        """An error for each thing that is not known, not for each check."""
        if str(unknown) not in self._told:
            self._told.add(str(unknown))
            self._shared.errors.append(unknown)

    async def _good(self, checked: Checked) -> tuple[bool, float, float, float]:
        """(whether enough monitors are content, shortest interval and timeout, longest timeUntilUp).

        Raises: Unsupported.
        """
        least, paths = checked.rule
        monitors, where = [self._settings(path) for path in paths], (checked.address, checked.port)
        results = [await checks.check(self._shared, kind, fields, *where) for kind, fields in monitors]
        every = [fields for _, fields in monitors]
        return (
            sum(results) >= (least or len(results)),
            min(float(fields.get("interval", 5)) for fields in every),
            min(float(fields.get("timeout", 16)) for fields in every),
            max(float(fields.get("timeUntilUp", 0)) for fields in every),
        )

    def _settings(self, path: str) -> tuple[str, dict[str, Any]]:
        store = self._shared.store
        with store.lock:
            item = find_in_group(store, "monitor", path)
            return item.kind.rsplit("/", 1)[1], item.fields

    async def check_all(self) -> None:
        """Check every member now, and believe a bad answer at once."""
        self._update()
        every = [checked for members in self._members.values() for checked in members.values()]
        for checked in every:
            good, *_ = await self._good(checked)
            checked.down, checked.since = not good, self._shared.clock.now()

    def stop(self) -> None:
        self._members.clear()
        self._due.clear()
        for task in (self._task, *self._checking):
            if task is not None:
                task.cancel()
