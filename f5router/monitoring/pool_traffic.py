"""Metrics of the traffic, by the BIG-IP's own statistics.

Each pool has its series up to a number of pools. Above it there is one for all of them together, as the
router of OpenShift leaves out servers above a threshold. The labels of the sum are empty, so `sum()` fits
either.
"""

from collections.abc import Callable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from f5router.icontrol.statistics import PoolStatistics, Traffic
from f5router.model import names
from f5router.monitoring.statistics_reader import Statistics

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
