"""Requests that take so long that the BIG-IP may soon give up on them.

The numbers of rules, profiles and records that a BIG-IP accepts are not published. Reading and publishing a
policy take time that grows with it, and the device ends a request after 60 s, its `icrd.timeout` and
`restjavad.timeout` (F5 AS3, "Best practices", https://clouddocs.f5.com/products/extensions/
f5-appsvcs-extension/latest/userguide/best-practices.html). So the time that is left is what warns in advance.
"""

import threading
from collections.abc import Callable

DEVICE_LIMIT_S = 60.0
NEAR = 0.5
"""Part of the limit from which on a request is reported."""
REMEMBERED_S = 3600.0
"""Time for which a slow request is reported,"""
MOST = 10
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
            if len(self._slow) > MOST:
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
