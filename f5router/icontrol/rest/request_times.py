"""Durations of requests, by method and collection; slow ones are logged.

The numbers of rules, profiles and records that a BIG-IP accepts are not published. Reading and publishing a
policy take time that grows with it, and the device ends a request after 60 s, its `icrd.timeout` and
`restjavad.timeout` (F5 AS3, "Best practices", https://clouddocs.f5.com/products/extensions/
f5-appsvcs-extension/latest/userguide/best-practices.html). So the time that is left is what warns in advance.
"""

import bisect
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
"""Upper bounds of the buckets, in seconds: the device ends a request after 60 s."""

NO_REPLY = 0
"""Status of a request that got no reply."""

MOST = 200
"""Collections with times of their own; the others share theirs."""
OTHER = "other"


@dataclass(slots=True)
class Durations:
    """A histogram of one method on one collection."""

    buckets: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS_S) + 1))
    """Number of requests by bucket, each in one; the last has no upper bound."""
    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    """Number of requests by HTTP status."""


class RequestTimes:
    """Durations of the requests of a client; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._durations: dict[tuple[str, str], Durations] = {}

    def record(self, method: str, path: str, status: int, took_s: float) -> None:
        """Record a request. Args: status: NO_REPLY without a reply."""
        key = method, collection(path)
        with self._lock:
            if key not in self._durations and len(self._durations) >= MOST:
                key = method, OTHER
            durations = self._durations.setdefault(key, Durations())
            durations.buckets[bisect.bisect_left(BUCKETS_S, took_s)] += 1
            durations.seconds += took_s
            durations.statuses[status] += 1

    def durations(self) -> dict[tuple[str, str], Durations]:
        """Return copies by method and collection."""
        with self._lock:
            return {key: Durations([*each.buckets], each.seconds, each.statuses.copy())
                    for key, each in self._durations.items()}


def collection(path: str) -> str:
    """Return the collection of a path, without names of objects, which teams choose, and without tokens.

    /mgmt/tm/ltm/pool/~Common~x/members/~Common~10.1.1.1:80 is ltm/pool/members.
    """
    kind, _, item = path.removeprefix("/mgmt/tm/").partition("/~")
    if kind.startswith("/mgmt/"):  # shared/authz/tokens/TOKEN, shared/file-transfer/uploads/NAME
        return "/".join(kind.split("/")[2:5])
    nested = item.split("/")[1:2]
    return "/".join([kind, *nested])


DEVICE_LIMIT_S = 60.0
NEAR = 0.5
"""Part of the limit from which on a request is reported."""
REMEMBERED_S = 3600.0
"""Time for which a slow request is reported,"""
MOST_SLOW = 10
"""and the number of paths that are."""


class SlowRequests:
    """The slowest recent requests by method and path; thread-safe."""

    def __init__(self, timeout_s: float, clock: Callable[[], float]):
        """Args: timeout_s: of the client, which may give up before the device does."""
        self._limit_s, self._clock = min(timeout_s, DEVICE_LIMIT_S), clock
        self._lock = threading.Lock()
        self._slow: dict[tuple[str, str], tuple[float, float]] = {}
        """Seconds that the last slow one took, and when it ended, by method and path."""

    def record(self, method: str, path: str, took_s: float) -> None:
        """Record a request that was answered or given up."""
        if took_s < NEAR * self._limit_s:
            return
        with self._lock:
            self._slow[(method, path)] = (took_s, self._clock())
            if len(self._slow) > MOST_SLOW:
                del self._slow[min(self._slow, key=lambda key: self._slow[key])]

    def warnings(self) -> tuple[str, ...]:
        """Return a text for each method and path, in order; stable until a request takes 10 s longer."""
        with self._lock:
            oldest = self._clock() - REMEMBERED_S
            self._slow = {key: value for key, value in self._slow.items() if value[1] >= oldest}
            return tuple(
                f"{method} {path} takes over {int(took_s // 10 * 10)} s, and requests end after "
                f"{self._limit_s:.0f} s: give some of the Routes to another shard (docs/sharding.md)"
                for (method, path), (took_s, _) in sorted(self._slow.items()))
