"""The BIG-IP's statistics for metrics: read beside everything else when Prometheus asks, and kept.

A page never waits for the BIG-IP: it shows what was read last, and begins a reading if that is older than the
interval. One goes on at a time, and the pause behind it is at least ten times as long as it took, so a device
with thousands of pools spends a tenth of one worker's time on it at most. Only the replica that leads reads.

Each pool has its series up to a number of pools. Above it there is one for all of them together, as the
router of OpenShift leaves out servers above a threshold. The labels of the sum are empty, so `sum()` fits
either.
"""

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from f5router.icontrol import statistics
from f5router.icontrol.rest.client import Client
from f5router.icontrol.statistics import PoolStatistics, Traffic
from f5router.logs.log_output import PersistentLog
from f5router.model import names
from f5router.model.errors import AuthFailed, BigIPError, Refused

log = logging.getLogger(__name__)

LOAD = 10
"""A reading is followed by a pause of so many times its duration, or more."""


@dataclass(frozen=True, slots=True)
class Statistics:
    """Statistics of one unit."""

    unit: str
    read_at: float
    """Seconds since the epoch."""
    pools: Mapping[str, PoolStatistics]
    """The router's own, by path."""
    virtual_servers: Mapping[str, Traffic]
    total: Traffic
    """All pools together. Its counters never fall, also when pools go."""


def _begin(read: Callable[[], None]) -> None:
    threading.Thread(target=read, name="statistics", daemon=True).start()


class StatisticsReader:
    """Reads the statistics of the unit in use. Thread-safe."""

    def __init__(self, unit: Callable[[], tuple[str, Client]], own_pools: Callable[[], Mapping[str, int]],
                 virtual_servers: Collection[str], *, interval_s: float, may_read: Callable[[], bool],
                 clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time,
                 begin: Callable[[Callable[[], None]], object] = _begin):
        """Args:
        unit: returns name and client of the unit in use.
        own_pools: returns the router's pools by path, with the number of their members.
        virtual_servers: paths.
        interval_s: shortest time between two readings; 0 for none at all.
        may_read: False while the device must be left alone, or another replica reads.
        begin: calls a function in a thread that nobody waits for.
        """
        self._unit, self._own_pools, self._virtual_servers = unit, own_pools, virtual_servers
        self._interval_s, self._may_read, self._clock, self._wall = interval_s, may_read, clock, wall
        self._begin, self._log = begin, PersistentLog("statistics of the BIG-IP are refused")
        self._turn = threading.Lock()
        """Held while a reading goes on."""
        self._due_at = float("-inf")
        self._newest: Statistics | None = None
        self._counted: dict[str, dict[str, Traffic]] = {}
        """By unit, the counters of each pool when they were read last."""
        self._totals: dict[str, Traffic] = {}

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
        begin = self._clock()
        try:
            name, client = self._unit()
            read = statistics.pools(client)
            own = {path: _with_members(read[path], members)
                   for path, members in self._own_pools().items() if path in read}
            servers = {path: traffic for path in self._virtual_servers
                       if (traffic := statistics.virtual_server(client, path)) is not None}
            self._newest = Statistics(name, self._wall(), own, servers, self._add_up(name, own, read.keys()))
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
            took_s = self._clock() - begin
            self._due_at = self._clock() + max(self._interval_s - took_s, LOAD * took_s)
            self._turn.release()

    def _add_up(self, unit: str, pools: Mapping[str, PoolStatistics], there: Collection[str]) -> Traffic:
        """Add the growth of each pool's counters since the last reading; a counter that fell was reset.

        Args: there: all pools of the device. One that is not ours for a moment is not counted twice.
        """
        before, total = self._counted.get(unit, {}), self._totals.get(unit, Traffic())
        for path, pool in pools.items():
            total = _added(total, pool.traffic, before.get(path, Traffic()))
        self._counted[unit] = {
            **{path: traffic for path, traffic in before.items() if path in there},
            **{path: pool.traffic for path, pool in pools.items()}}
        self._totals[unit] = total
        return Traffic(sum(pool.traffic.connections for pool in pools.values()), total.opened,
                       total.bytes_in, total.bytes_out, total.requests)


def _with_members(pool: PoolStatistics, members: int) -> PoolStatistics:
    """Fill in the number of members, which old versions do not report."""
    return replace(pool, members=members) if pool.members is None else pool


def _added(total: Traffic, now: Traffic, before: Traffic) -> Traffic:
    def grown(new: int, old: int) -> int:
        return new - old if new >= old else new

    return Traffic(
        0, total.opened + grown(now.opened, before.opened),
        total.bytes_in + grown(now.bytes_in, before.bytes_in),
        total.bytes_out + grown(now.bytes_out, before.bytes_out),
        total.requests + grown(now.requests, before.requests))


Labels = tuple[str, ...]
_COUNTERS: Mapping[str, tuple[str, Callable[[Traffic], int]]] = {
    "connections": ("Connections opened so far", lambda traffic: traffic.opened),
    "requests": ("HTTP requests so far", lambda traffic: traffic.requests),
    "in_bytes": ("Bytes of requests so far", lambda traffic: traffic.bytes_in),
    "out_bytes": ("Bytes of responses so far", lambda traffic: traffic.bytes_out),
}


class TrafficCounts(Collector):
    """Collector of statistics; without any yet it has no metrics."""

    def __init__(self, newest: Callable[[], Statistics | None], most_pools: int):
        """Args: most_pools: number of pools up to which each has its own series."""
        self._newest, self._most_pools = newest, most_pools

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of the last reading."""
        if (newest := self._newest()) is None:
            return
        read_at = GaugeMetricFamily(
            "f5router_statistics_timestamp_seconds", "When the BIG-IP's statistics were read, in seconds "
            "since the epoch.", labels=["unit"])
        read_at.add_metric([newest.unit], newest.read_at)
        yield read_at
        threshold = GaugeMetricFamily(
            "f5router_statistics_pools", "Pools with statistics, and the maximum number of pools with series "
            "of their own.", labels=["type"])
        threshold.add_metric(["current"], len(newest.pools))
        threshold.add_metric(["limit"], self._most_pools)
        yield threshold
        yield from self._pools(newest)
        yield from _families(
            "virtual_server", "a virtual server", ("unit", "virtual_server"),
            {(newest.unit, path): traffic for path, traffic in newest.virtual_servers.items()})

    def _pools(self, newest: Statistics) -> Iterator[Metric]:
        by_labels: dict[Labels, Traffic]
        if len(newest.pools) > self._most_pools:
            by_labels = {(newest.unit, "", ""): newest.total}
            members: dict[Labels, list[PoolStatistics]] = {(newest.unit, "", ""): [*newest.pools.values()]}
        else:
            labels = {path: (newest.unit, _namespace(path), path) for path in newest.pools}
            by_labels = {labels[path]: pool.traffic for path, pool in newest.pools.items()}
            members = {labels[path]: [pool] for path, pool in newest.pools.items()}
        yield from _families("pool", "a pool", ("unit", "namespace", "pool"), by_labels)
        states = GaugeMetricFamily(
            "f5router_pool_members", "Pool members by state of the BIG-IP's monitors; unchecked without a "
            "monitor.", labels=["unit", "namespace", "pool", "state"])
        for key, pools in members.items():
            for state, count in _states(pools).items():
                states.add_metric([*key, state], count)
        yield states
        dead = GaugeMetricFamily(
            "f5router_pools_down", "Pools with members of which none is up.", labels=["unit"])
        dead.add_metric([newest.unit], sum(
            pool.is_checked and bool(pool.members) and not pool.active for pool in newest.pools.values()))
        yield dead


def _namespace(path: str) -> str:
    """Return the namespace of a pool's Service; "" for the pool that has none."""
    return "" if path.endswith(f"/{names.NOWHERE_POOL}") else names.pool_namespace(path)


def _families(what: str, words: str, labels: Labels, traffic: Mapping[Labels, Traffic]) -> Iterator[Metric]:
    """Build the metrics of a kind of object. Args: traffic: by values of the labels."""
    current = GaugeMetricFamily(
        f"f5router_{what}_current_connections", f"Open connections of {words}.", labels=labels)
    for key, each in traffic.items():
        current.add_metric(key, each.connections)
    yield current
    for name, (text, count) in _COUNTERS.items():
        family = CounterMetricFamily(f"f5router_{what}_{name}", f"{text} of {words}.", labels=labels)
        for key, each in traffic.items():
            family.add_metric(key, count(each))
        yield family


def _states(pools: list[PoolStatistics]) -> dict[str, int]:
    counts = {"up": 0, "down": 0, "unchecked": 0}
    for pool in pools:
        members = pool.members or 0
        if pool.is_checked:
            counts["up"] += min(pool.active, members)
            counts["down"] += max(0, members - pool.active)
        else:
            counts["unchecked"] += members
    return counts
