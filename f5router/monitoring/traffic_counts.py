"""Metrics of the BIG-IP's statistics.

Each pool has its series up to a number of pools. Above it there is one for all of them together, as the
router of OpenShift leaves out servers above a threshold. The labels of the sum are empty, so `sum()` fits
either. Members have series up to a number of members; there is no sum of them, that of the pools has it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from f5router.icontrol.statistics import PoolStatistics, Traffic
from f5router.monitoring.collectors import front_end_labels
from f5router.monitoring.growth import Rate
from f5router.monitoring.members import namespace
from f5router.monitoring.statistics import MEMBER, POOL, VIRTUAL_SERVER, Statistics

Labels = tuple[str, ...]
_COUNTERS: Mapping[str, tuple[str, Callable[[Traffic], int]]] = {
    "connections": ("Connections opened so far", lambda traffic: traffic.opened),
    "requests": ("HTTP requests so far", lambda traffic: traffic.requests),
    "in_bytes": ("Bytes of requests so far", lambda traffic: traffic.bytes_in),
    "out_bytes": ("Bytes of responses so far", lambda traffic: traffic.bytes_out),
}
_GAUGES: Mapping[str, tuple[str, Callable[[Traffic, Rate | None], float | None]]] = {
    "current_connections": ("Open connections", lambda traffic, rate: traffic.connections),
    "max_connections": (
        "Most connections that were open at once", lambda traffic, rate: traffic.max_connections),
    "queued_connections": ("Connections that wait for a member", lambda traffic, rate: traffic.queued),
    "connections_per_second": (
        "New connections per second between the last two readings",
        lambda traffic, rate: rate.now if rate else None),
    "max_connections_per_second": (
        "Most new connections per second between two readings since the router started",
        lambda traffic, rate: rate.most if rate else None),
}
"""Those without a value have no sample."""


class TrafficCounts(Collector):
    """Collector of statistics; without any yet it only has the number of readings."""

    def __init__(self, newest: Callable[[], Statistics | None], readings: Callable[[], Mapping[str, int]],
                 most_pools: int, most_members: int, front_ends: Callable[[], Mapping[str, str]]):
        """Args:
        readings: number of readings by result.
        front_ends: as Sources.front_ends.
        most_pools: number of pools up to which each has its own series.
        most_members: number of members that have series at most; 0 for none.
        """
        self._newest, self._readings = newest, readings
        self._most_pools, self._most_members = most_pools, most_members
        self._front_ends = front_ends

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of the last reading."""
        newest = self._newest()
        readings = CounterMetricFamily(
            "f5router_statistics_readings", "Readings of the BIG-IP's statistics.", labels=["result"])
        for result, count in self._readings().items():
            readings.add_metric([result], count)
        yield readings
        if newest is None:
            return
        yield from self._of_the_reading(newest)
        yield from self._pools(newest)
        yield from _virtual_servers(newest, self._front_ends())
        if self._most_members:
            yield from self._members(newest)

    def _of_the_reading(self, newest: Statistics) -> Iterator[Metric]:
        read_at = GaugeMetricFamily(
            "f5router_statistics_timestamp_seconds", "When the BIG-IP's statistics were read, in seconds "
            "since the epoch.", labels=["unit"])
        read_at.add_metric([newest.unit], newest.read_at)
        yield read_at
        yield GaugeMetricFamily(
            "f5router_statistics_reading_seconds", "Duration of the last reading of the BIG-IP's statistics.",
            value=newest.took_s)
        threshold = GaugeMetricFamily(
            "f5router_statistics_pools", "Pools with statistics, and the maximum number of pools with series "
            "of their own.", labels=["type"])
        threshold.add_metric(["current"], len(newest.pools))
        threshold.add_metric(["limit"], self._most_pools)
        yield threshold

    def _pools(self, newest: Statistics) -> Iterator[Metric]:
        by_labels: dict[Labels, tuple[Traffic, Rate | None]]
        if len(newest.pools) > self._most_pools:
            by_labels = {(newest.unit, "", ""): (newest.total, newest.rates.get((POOL, "")))}
            members: dict[Labels, list[PoolStatistics]] = {(newest.unit, "", ""): [*newest.pools.values()]}
        else:
            labels = {path: (newest.unit, namespace(path), path) for path in newest.pools}
            by_labels = {labels[path]: (pool.traffic, newest.rates.get((POOL, path)))
                         for path, pool in newest.pools.items()}
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

    def _members(self, newest: Statistics) -> Iterator[Metric]:
        threshold = GaugeMetricFamily(
            "f5router_statistics_members", "Pool members, those with series of their own, and the maximum "
            "number of them.", labels=["type"])
        threshold.add_metric(["current"], sum(pool.members or 0 for pool in newest.pools.values()))
        threshold.add_metric(["shown"], len(newest.members))
        threshold.add_metric(["limit"], self._most_members)
        yield threshold
        names = ("unit", "namespace", "pool", "member")
        labels = {key: (newest.unit, namespace(key[0]), *key) for key in newest.members}
        yield from _families("member", "a pool member", names, {
            labels[key]: (member.traffic, newest.rates.get((MEMBER, *key)))
            for key, (member, _) in newest.members.items()})
        up = GaugeMetricFamily(
            "f5router_member_up", "1 if the BIG-IP sends connections to a pool member, 0 if a monitor finds "
            "it down, or it is disabled.", labels=names)
        failures = CounterMetricFamily(
            "f5router_member_check_failures", "Times that a pool member was up in one reading, and found "
            "down by its monitor in the next.", labels=names)
        downtime = CounterMetricFamily(
            "f5router_member_downtime_seconds", "Time in which a pool member was not up, as the readings saw "
            "it.", labels=names)
        for key, (_, health) in newest.members.items():
            up.add_metric(labels[key], health.is_up)
            failures.add_metric(labels[key], health.check_failures)
            downtime.add_metric(labels[key], health.down_s)
        yield from (up, failures, downtime)


def _virtual_servers(newest: Statistics, front_ends: Mapping[str, str]) -> Iterator[Metric]:
    more, of = front_end_labels(front_ends)
    names = ("unit", "virtual_server", *more)
    labels = {path: (newest.unit, path, *of(path)) for path in newest.virtual_servers}
    yield from _families("virtual_server", "a virtual server", names, {
        labels[path]: (server.traffic, newest.rates.get((VIRTUAL_SERVER, path)))
        for path, server in newest.virtual_servers.items()})
    responses = CounterMetricFamily(
        "f5router_virtual_server_responses", "HTTP responses of a virtual server by class of their status.",
        labels=(*names, "code"))
    errors = CounterMetricFamily(
        "f5router_virtual_server_connection_errors", "Connections of a virtual server to pool members that "
        "could not be opened.", labels=names)
    for path, server in newest.virtual_servers.items():
        for code, count in server.responses.items():
            responses.add_metric([*labels[path], code], count)
        if server.connection_errors is not None:
            errors.add_metric(labels[path], server.connection_errors)
    yield from (responses, errors)


def _families(what: str, words: str, labels: Labels,
              traffic: Mapping[Labels, tuple[Traffic, Rate | None]]) -> Iterator[Metric]:
    """Build the metrics of a kind of object. Args: traffic: by values of the labels."""
    for name, (text, value) in _GAUGES.items():
        gauge = GaugeMetricFamily(f"f5router_{what}_{name}", f"{text} of {words}.", labels=labels)
        for key, (each, rate) in traffic.items():
            if (number := value(each, rate)) is not None:
                gauge.add_metric(key, number)
        if gauge.samples or name == "current_connections":
            yield gauge
    for name, (text, count) in _COUNTERS.items():
        family = CounterMetricFamily(f"f5router_{what}_{name}", f"{text} of {words}.", labels=labels)
        for key, (each, _) in traffic.items():
            family.add_metric(key, count(each))
        yield family


def _states(pools: Iterable[PoolStatistics]) -> dict[str, int]:
    counts = {"up": 0, "down": 0, "unchecked": 0}
    for pool in pools:
        members = pool.members or 0
        if pool.is_checked:
            counts["up"] += min(pool.active, members)
            counts["down"] += max(0, members - pool.active)
        else:
            counts["unchecked"] += members
    return counts
