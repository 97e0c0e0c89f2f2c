"""Series of pool members: which members have any, and what this router has seen of their health.

The BIG-IP says whether a member is up, but counts neither failures nor downtime: both are as exact as the
interval of the readings, and begin with the router. Only the thread of a reading uses these.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from f5router.icontrol.statistics import MemberStatistics
from f5router.model import names, ownership

MemberKey = tuple[str, str]
"""Path of the pool, and address and port."""


def namespace(pool: str) -> str:
    """Return the namespace of a pool's Service; "" for the pool that has none."""
    return names.pool_namespace(pool) if ownership.is_of_service(pool) else ""


def pools_with_series(members: Mapping[str, int], limit: int) -> list[str]:
    """Return the pools whose members get series, so that no more members than the limit have any.

    Namespaces share the limit evenly, and those that need less leave the rest to the others: one with
    thousands of pods takes nothing from those with a few. A pool has series of all its members, or of none.

    Args: members: number of members by path of the pool.
    """
    by_namespace: dict[str, list[str]] = {}
    for path in sorted(path for path, count in members.items() if count):
        by_namespace.setdefault(namespace(path), []).append(path)
    chosen, left = [], limit
    smallest_first = sorted(by_namespace.values(), key=lambda paths: sum(members[path] for path in paths))
    for number, paths in enumerate(smallest_first):
        share = left // (len(smallest_first) - number)
        for path in paths:
            if members[path] <= share:
                chosen.append(path)
                share, left = share - members[path], left - members[path]
    return chosen


@dataclass(frozen=True, slots=True)
class SeenHealth:
    """Health of a member in the last reading, and in those before."""

    is_up: bool
    """True if the BIG-IP sends connections to it: enabled, and not down by a monitor."""
    is_available: bool | None
    """By the monitors; None without any."""
    check_failures: int = 0
    """Times that it was available in one reading, and not in the next."""
    down_s: float = 0.0
    """Time since a reading that found it down, until the next reading, added up."""


class HealthRecords:
    """Health of members by unit."""

    def __init__(self) -> None:
        self._units: dict[str, tuple[float, dict[MemberKey, SeenHealth]]] = {}

    def update(self, unit: str, at_s: float,
               members: Mapping[MemberKey, MemberStatistics]) -> Mapping[MemberKey, SeenHealth]:
        """Record a reading. Members that are not in it are forgotten.

        Args: at_s: when it was, by a clock that is never set.
        """
        before_s, before = self._units.get(unit, (at_s, {}))
        now = {key: _seen(member, before.get(key), at_s - before_s) for key, member in members.items()}
        self._units[unit] = at_s, now
        return now


def _seen(member: MemberStatistics, before: SeenHealth | None, seconds: float) -> SeenHealth:
    is_up = member.is_enabled and member.is_available is not False
    if before is None:
        return SeenHealth(is_up, member.is_available)
    # an administrator who forces a member offline makes it unavailable too: that is no failed check
    has_failed = before.is_available is True and member.is_available is False and member.is_enabled
    return SeenHealth(
        is_up, member.is_available, before.check_failures + has_failed,
        before.down_s + (0.0 if before.is_up else seconds))
