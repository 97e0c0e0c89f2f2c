"""States of pools as the BIG-IP reports them: health of the members, and connections.

`explain` asks about each of a few pools, with two calls. `get` asks about all pools with one call, and about
each pool of which not every member is active with one more.
"""

import logging
from collections.abc import Mapping
from typing import NamedTuple

from f5router.icontrol import statistics
from f5router.icontrol.device import Device
from f5router.icontrol.statistics import PoolStatistics
from f5router.model.errors import BigIPError
from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.views.route_view import UNCHECKED, UP, Connections, Health

log = logging.getLogger(__name__)

MOST_POOLS = 50
"""Pools about which the BIG-IP is asked one by one."""


class PoolState(NamedTuple):
    """The state of a pool."""

    health: Health | None = None
    """None if it is not known."""
    connections: Connections | None = None
    """None if they are not known."""
    problem: str = ""
    """Why the health is not known; "" if it is, or was not asked for."""


NOT_ASKED = PoolState()


class PoolReader:
    """Reads the states of pools, each once."""

    def __init__(self, device: Device, *, all_at_once: bool = False, connections: bool = True):
        """Arguments:
        all_at_once: read the statistics of all pools first; pools whose members are up need no more.
        connections: read the connections of each pool whose health is read.
        """
        self._device, self._counts = device, connections and not all_at_once
        self._states: dict[str, PoolState] = {}
        self._asked = 0
        self._statistics: Mapping[str, PoolStatistics] = {}
        self._problem = ""
        """Why the statistics of all pools are not known."""
        if all_at_once:
            try:
                self._statistics = statistics.pools(device.client)
            except BigIPError as exc:
                self._problem = str(exc)

    def state(self, pool: Ref) -> PoolState:
        """Return the state of a pool; NOT_ASKED for one that is not on the BIG-IP."""
        there = self._device.observed.get(pool)
        if not isinstance(there, Pool):
            return NOT_ASKED
        if pool.path not in self._states:
            self._states[pool.path] = self._read(there)
        return self._states[pool.path]

    def _read(self, pool: Pool) -> PoolState:
        if self._problem:
            return PoolState(problem=self._problem)
        known = self._statistics.get(pool.path)
        connections = None if known is None else (known.traffic.connections, known.traffic.opened)
        if known is not None and known.members is not None and known.active >= max(
                known.members, len(pool.members)):
            health = UP if known.is_checked else UNCHECKED
            return PoolState({(each.address, each.port): health for each in pool.members}, connections)
        if self._asked == MOST_POOLS:
            return PoolState(None, connections, f"the BIG-IP is asked about {MOST_POOLS} pools at most")
        self._asked += 1
        try:
            read = statistics.read_health(self._device.client, pool.path)
        except BigIPError as exc:
            return PoolState(None, connections, str(exc))
        return PoolState(read, connections or self._connections(pool.path))

    def _connections(self, path: str) -> Connections | None:
        """Read the connections of a pool; None if the BIG-IP does not report them."""
        if not self._counts:
            return None
        try:
            read = statistics.pool(self._device.client, path)
        except BigIPError as exc:
            log.debug("statistics not read", extra={"pool": path, "error": str(exc)})
            return None
        return None if read is None else (read.traffic.connections, read.traffic.opened)
