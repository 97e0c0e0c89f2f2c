"""Growth of the BIG-IP's counters between two readings: sums that never fall, and rates.

The BIG-IP has no rates in its statistics, and its counters begin at 0 again when it, or somebody, resets
them, or when an object is made anew. Only the thread of a reading uses these.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from f5router.icontrol.statistics import PoolStatistics, Traffic

Key = tuple[str, ...]
"""Kind and names of an object."""


def grown(new: int, old: int) -> int:
    """Return by how much a counter has grown; one that fell was reset."""
    return new - old if new >= old else new


class Totals:
    """Counters of all pools together by unit. They never fall, also when pools go."""

    def __init__(self) -> None:
        self._counted: dict[str, dict[str, Traffic]] = {}
        """By unit, the counters of each pool when they were read last."""
        self._totals: dict[str, Traffic] = {}

    def add(self, unit: str, pools: Mapping[str, PoolStatistics], there: Collection[str]) -> Traffic:
        """Add the growth of each pool's counters since the last reading.

        Args: there: all pools of the device. One that is not ours for a moment is not counted twice.
        """
        before, total = self._counted.get(unit, {}), self._totals.get(unit, Traffic())
        for path, pool in pools.items():
            total = _added(total, pool.traffic, before.get(path, Traffic()))
        self._counted[unit] = {
            **{path: traffic for path, traffic in before.items() if path in there},
            **{path: pool.traffic for path, pool in pools.items()}}
        self._totals[unit] = total
        return Traffic(
            sum(pool.traffic.connections for pool in pools.values()), total.opened, total.bytes_in,
            total.bytes_out, total.requests,
            queued=sum(pool.traffic.queued or 0 for pool in pools.values()))


def _added(total: Traffic, now: Traffic, before: Traffic) -> Traffic:
    return Traffic(
        0, total.opened + grown(now.opened, before.opened),
        total.bytes_in + grown(now.bytes_in, before.bytes_in),
        total.bytes_out + grown(now.bytes_out, before.bytes_out),
        total.requests + grown(now.requests, before.requests))


@dataclass(frozen=True, slots=True)
class Rate:
    """Connections per second between the last two readings."""

    now: float
    most: float
    """The largest since the router started."""


class Rates:
    """Rates of new connections by unit and object."""

    def __init__(self) -> None:
        self._units: dict[str, tuple[float, dict[Key, int], dict[Key, Rate]]] = {}

    def update(self, unit: str, at_s: float, opened: Mapping[Key, int]) -> Mapping[Key, Rate]:
        """Return the rate of each object that was there at the last reading too.

        Args:
        at_s: when the counters were read, by a clock that is never set.
        opened: connections opened so far. Other objects are forgotten.
        """
        before_s, before, rates = self._units.get(unit, (at_s, {}, {}))
        seconds, now = at_s - before_s, {}
        for key, count in opened.items():
            if key in before and seconds > 0:
                rate = grown(count, before[key]) / seconds
                now[key] = Rate(rate, max(rate, rates[key].most if key in rates else 0.0))
        self._units[unit] = at_s, dict(opened), now
        return now
