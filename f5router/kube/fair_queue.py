"""Sharing what is scarce: turns by namespace, and a number of requests per second."""

from collections import deque
from collections.abc import Callable

from f5router.cluster import Key


class Bucket:
    """A token bucket: a burst at once, then so many per second."""

    def __init__(self, burst: float, per_s: float, now: float):
        self._burst, self._per_s = burst, per_s
        self._tokens, self._at = burst, now

    def wait_s(self, now: float) -> float:
        """Seconds until there is a token; 0 if there is one."""
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_s)
        self._at = now
        return max(0.0, (1.0 - self._tokens) / self._per_s)

    def take(self) -> None:
        """Use a token, after wait_s() was 0."""
        self._tokens -= 1.0


class FairQueue:
    """Objects in order of arrival within a namespace; namespaces take turns."""

    def __init__(self):
        self._by_namespace: dict[str, dict[Key, None]] = {}
        self._turns: deque[str] = deque()

    def push(self, key: Key) -> None:
        """Append an object; one that is queued keeps its place."""
        if key.namespace not in self._by_namespace:
            self._by_namespace[key.namespace] = {}
            self._turns.append(key.namespace)
        self._by_namespace[key.namespace].setdefault(key)

    def discard(self, key: Key) -> None:
        """Remove an object, if it is queued."""
        queued = self._by_namespace.get(key.namespace)
        if queued is None:
            return
        queued.pop(key, None)
        if not queued:
            del self._by_namespace[key.namespace]
            self._turns.remove(key.namespace)

    def ready(self, allowed: Callable[[str], bool]) -> bool:
        """True if pop() would give an object."""
        return any(map(allowed, self._turns))

    def pop(self, allowed: Callable[[str], bool]) -> Key | None:
        """The next object of a namespace that is allowed; None without one."""
        for _ in range(len(self._turns)):
            namespace = self._turns[0]
            self._turns.rotate(-1)
            if allowed(namespace):
                key = next(iter(self._by_namespace[namespace]))
                self.discard(key)
                return key
        return None
