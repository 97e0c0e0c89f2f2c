"""Durations and results of requests to the BIG-IP, by method and collection, for metrics."""

import bisect
import threading
from collections import Counter
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
