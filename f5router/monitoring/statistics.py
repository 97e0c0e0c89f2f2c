"""The BIG-IP's statistics for metrics: read beside everything else when Prometheus asks, and kept.

A page never waits for the BIG-IP: it shows what was read last, and begins a reading if that is older than the
interval. One goes on at a time, and the pause behind it is at least ten times as long as it took, so a device
with thousands of pools spends a tenth of one worker's time on it at most. Only the replica that leads reads.

Members of pools are read only if a setting allows it, one request for each pool, and no more members than it
says.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from f5router.icontrol import statistics
from f5router.icontrol.rest.client import Client
from f5router.icontrol.statistics import MemberStatistics, PoolStatistics, Traffic, VirtualStatistics
from f5router.logs.log_output import PersistentLog
from f5router.model.errors import AuthFailed, BigIPError, NotFound, Refused
from f5router.monitoring.growth import Key, Rate, Rates, Totals
from f5router.monitoring.members import HealthRecords, MemberKey, SeenHealth, pools_with_series

log = logging.getLogger(__name__)

LOAD = 10
"""A reading is followed by a pause of so many times its duration, or more."""
SUCCESS, FAILURE = "success", "failure"
POOL, MEMBER, VIRTUAL_SERVER = "pool", "member", "virtual_server"


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of one unit."""

    unit: str
    read_at: float
    """Seconds since the epoch."""
    pools: Mapping[str, PoolStatistics]
    """The router's own, by path."""
    virtual_servers: Mapping[str, VirtualStatistics]
    total: Traffic
    """All pools together. Its counters never fall, also when pools go."""
    rates: Mapping[Key, Rate] = field(default_factory=dict)
    """New connections by kind and name of an object; a pool without a name is all together."""
    members: Mapping[MemberKey, tuple[MemberStatistics, SeenHealth]] = field(default_factory=dict)
    took_s: float = 0.0
    """Duration of the reading."""


def _begin(read: Callable[[], None]) -> None:
    threading.Thread(target=read, name="statistics", daemon=True).start()


class StatisticsReader:
    """Reads the statistics of the unit in use. Thread-safe."""

    def __init__(self, unit: Callable[[], tuple[str, Client]], own_pools: Callable[[], Mapping[str, int]],
                 virtual_servers: Callable[[], Collection[str]], *, interval_s: float, most_members: int = 0,
                 may_read: Callable[[], bool],
                 clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time,
                 begin: Callable[[Callable[[], None]], object] = _begin):
        """Args:
        unit: returns name and client of the unit in use.
        own_pools: returns the router's pools by path, with the number of their members.
        virtual_servers: returns their paths.
        interval_s: shortest time between two readings; 0 for none at all.
        most_members: number of pool members whose statistics are read, at most.
        may_read: False while the device must be left alone, or another replica reads.
        begin: calls a function in a thread that nobody waits for.
        """
        self._unit, self._own_pools, self._virtual_servers = unit, own_pools, virtual_servers
        self._interval_s, self._may_read, self._clock, self._wall = interval_s, may_read, clock, wall
        self._begin, self._log = begin, PersistentLog("statistics of the BIG-IP are refused")
        self._most_members, self._left_out = most_members, PersistentLog("pool members without statistics")
        self._turn = threading.Lock()
        """Held while a reading goes on."""
        self._due_at = float("-inf")
        self._newest: Statistics | None = None
        self._totals, self._rates, self._health = Totals(), Rates(), HealthRecords()
        self._readings = Counter[str]()

    def readings(self) -> Mapping[str, int]:
        """Return the number of readings by their result, SUCCESS or FAILURE; empty without statistics."""
        return {each: self._readings[each] for each in (SUCCESS, FAILURE)} if self._interval_s else {}

    def newest(self) -> Statistics | None:
        """Return the newest statistics, and start a reading if it is due; None without statistics."""
        if not self._interval_s or not self._may_read():
            return None
        if self._clock() >= self._due_at and self._turn.acquire(blocking=False):
            try:
                self._begin(self._read)
            except RuntimeError as exc:  # no thread can be started
                self._turn.release()
                log.warning("statistics not read", extra={"error": str(exc)})
        return self._newest

    def _read(self) -> None:
        begin, result = self._clock(), FAILURE
        try:
            self._newest, result = self._read_all(begin), SUCCESS
            self._log.update((), ())
        except BigIPError as exc:
            self._newest = None
            log.debug("statistics not read", extra={"error": str(exc)})
            # Anything that may pass is a problem of the passes too, which log it.
            self._log.update((), (str(exc),) if isinstance(exc, AuthFailed | Refused) else ())
        except Exception:  # a reply of a form that nobody knows must not end the readings for good
            self._newest = None
            log.exception("statistics not understood")
        finally:
            self._readings[result] += 1
            took_s = self._clock() - begin
            self._due_at = self._clock() + max(self._interval_s - took_s, LOAD * took_s)
            self._turn.release()

    def _read_all(self, begin: float) -> Statistics:
        """Read everything. Raises: BigIPError. Args: begin: when the reading began."""
        unit, client = self._unit()
        read, read_at = statistics.pools(client), self._clock()
        own = {path: _with_members(read[path], members)
               for path, members in self._own_pools().items() if path in read}
        servers = {path: server for path in self._virtual_servers()
                   if (server := statistics.virtual_server(client, path)) is not None}
        members = self._read_members(client, own) if self._most_members else {}
        health = self._health.update(unit, self._clock(), members)
        total = self._totals.add(unit, own, read.keys())
        opened: dict[Key, int] = {
            (POOL, ""): total.opened,
            **{(POOL, path): pool.traffic.opened for path, pool in own.items()},
            **{(VIRTUAL_SERVER, path): server.traffic.opened for path, server in servers.items()},
            **{(MEMBER, *key): member.traffic.opened for key, member in members.items()}}
        return Statistics(
            unit, self._wall(), own, servers, total, self._rates.update(unit, read_at, opened),
            {key: (member, health[key]) for key, member in members.items()}, self._clock() - begin)

    def _read_members(self, client: Client,
                      pools: Mapping[str, PoolStatistics]) -> dict[MemberKey, MemberStatistics]:
        """Read the members of as many pools as the limit allows, and log if some are left out."""
        counts = {path: pool.members or 0 for path, pool in pools.items()}
        members: dict[MemberKey, MemberStatistics] = {}
        for path in pools_with_series(counts, self._most_members):
            try:
                read = statistics.members(client, path)
            except NotFound:  # it has gone since
                continue
            if len(members) + len(read) <= self._most_members:
                members |= {(path, name): member for name, member in read.items()}
        self._left_out.update((), [
            f"--f5-statistics-members={self._most_members} is less than the number of pool members: those of "
            "some namespaces have no metrics"] if sum(counts.values()) > self._most_members else ())
        return members


def _with_members(pool: PoolStatistics, members: int) -> PoolStatistics:
    """Fill in the number of members, which old versions do not report."""
    return replace(pool, members=members) if pool.members is None else pool
