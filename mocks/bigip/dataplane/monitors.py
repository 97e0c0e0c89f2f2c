"""Health monitors: every member of a pool with a monitor is checked over its real socket.

A member is down when the monitor's timeout has passed without a good answer, and up at the first good one
(`bigip-rest.md` B11). Before the first result it is being checked, and takes traffic.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mocks.bigip import addresses, pools
from mocks.bigip.dataplane import checks
from mocks.bigip.kinds import find_in_group
from mocks.bigip.matching import Unsupported

if TYPE_CHECKING:
    from mocks.bigip.dataplane.plane import DataPlane
    from mocks.bigip.store import Key

AT_ONCE = 50
"""Checks under way."""
_RELEVANT = ("ltm/pool", "ltm/pool/members", "ltm/node")


@dataclass
class Checked:
    """A member under its monitor. down: None until there is a result."""

    address: str
    port: int
    rule: tuple[int, tuple[str, ...]]
    """Least number of good monitors, 0 for all; their full paths."""
    since: float
    """Loop time of the last good answer, of the beginning before there was one."""
    due: float
    down: bool | None = None
    busy: bool = False


class Monitors:
    """All checked members of a data plane."""

    def __init__(self, plane: DataPlane) -> None:
        self._plane = plane
        self._members: dict[tuple[str, str], Checked] = {}
        self._dirty: set[str] = set()
        self._task: asyncio.Task[None] | None = None
        self._told: set[str] = set()

    def is_down(self, pool: str, member: str) -> bool | None:
        """None: not known yet; False also without a monitor."""
        found = self._members.get((pool, member))
        if found is None:
            return None if self._dirty and pool in self._dirty else False
        return found.down

    def changed(self, written: set[tuple[str, Key]]) -> None:
        """Something was committed; the store's lock is held."""
        fresh = {key[0] for kind, key in written if kind in _RELEVANT[:2]}
        for kind, key in written:
            if kind == "ltm/node":
                users = self._plane.store.users("node", key[0])
                fresh |= {user[0] for name, user in users if name == "ltm/pool/members"}
        if fresh:
            first, self._dirty = not self._dirty, self._dirty | fresh
            if first:
                self._plane.thread.soon(self._update)

    # -- in the loop -------------------------------------------------------------------------------

    def _update(self) -> None:
        """Take over what was written about pools."""
        store, now = self._plane.store, self._plane.now()
        with store.lock:
            dirty, self._dirty = self._dirty, set()
            for pool in dirty:
                wanted = self._wanted(pool)
                for key in [key for key in self._members if key[0] == pool and key not in wanted]:
                    del self._members[key]
                for key, (address, port, rule) in wanted.items():
                    old = self._members.get(key)
                    if old is None or old.rule != rule:
                        self._members[key] = Checked(address, port, rule, since=now, due=now)
        if self._members and self._task is None:
            self._task = asyncio.ensure_future(self._run())

    def _wanted(self, pool: str) -> dict[tuple[str, str], tuple[str, int, tuple[int, tuple[str, ...]]]]:
        store = self._plane.store
        item = store.get("ltm/pool", pool)
        found = {}
        for member in store.children("ltm/pool/members", (pool,)).values() if item else ():
            own = member.fields.get("monitor", "default")
            least, paths = pools.parse_monitor(item.fields.get("monitor") if own == "default" else own)
            node, port = pools.node_and_port(member.name)
            _, more = pools.parse_monitor(store.get("ltm/node", node).fields.get("monitor"))
            paths = [path for path in (*paths, *more) if path not in ("none", "default", "/Common/none")]
            if paths:
                where = member.fields["address"], addresses.port_number(port)
                found[pool, member.name] = (*where, (least, tuple(paths)))
        return found

    async def _run(self) -> None:
        """Check what is due, while anything is monitored."""
        gate = asyncio.Semaphore(AT_ONCE)
        while self._members:
            now, started = self._plane.now(), []
            for key, one in list(self._members.items()):
                if one.due <= now and not one.busy:
                    one.busy = True
                    started.append(asyncio.ensure_future(self._check(key, one, gate)))
            due = min((one.due for one in self._members.values() if not one.busy), default=now + 0.05)
            await asyncio.sleep(min(max(due - now, 0.005), 0.25))
        self._task = None

    async def _check(self, key: tuple[str, str], one: Checked, gate: asyncio.Semaphore) -> None:
        async with gate:
            try:
                good, interval_s, timeout_s = await self._good(one)
            except Unsupported as unknown:
                good, interval_s, timeout_s = False, 5.0, 16.0
                self._tell(unknown)
        now = self._plane.now()
        one.busy, one.due = False, now + interval_s / self._plane.speed
        if good:
            one.since, one.down = now, False
        elif now >= one.since + timeout_s / self._plane.speed:
            one.down = True
        elif one.down is None:
            one.due = min(one.due, one.since + timeout_s / self._plane.speed)

    def _tell(self, unknown: Unsupported) -> None:
        """An error for each thing that is not known, not for each check."""
        if str(unknown) not in self._told:
            self._told.add(str(unknown))
            self._plane.errors.append(unknown)

    async def _good(self, one: Checked) -> tuple[bool, float, float]:
        """(whether enough monitors are content, shortest interval, shortest timeout). Raises: Unsupported."""
        least, paths = one.rule
        found, where = [self._settings(path) for path in paths], (one.address, one.port)
        results = [await checks.check(self._plane, kind, fields, *where) for kind, fields in found]
        every = [fields for _, fields in found]
        return (
            sum(results) >= (least or len(results)),
            min(float(fields.get("interval", 5)) for fields in every),
            min(float(fields.get("timeout", 16)) for fields in every),
        )

    def _settings(self, path: str) -> tuple[str, dict[str, Any]]:
        store = self._plane.store
        with store.lock:
            item = find_in_group(store, "monitor", path)
            return item.kind.rsplit("/", 1)[1], item.fields

    async def check_all(self) -> None:
        """Check every member now, and believe a bad answer at once."""
        self._update()
        for one in list(self._members.values()):
            good, _, _ = await self._good(one)
            one.down, one.since = not good, self._plane.now()

    def stop(self) -> None:
        self._members.clear()
        if self._task is not None:
            self._task.cancel()
