"""Fair sharing between namespaces: turns in a queue, and a rate of requests."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Namespaced(Protocol):
    """Hashable key that can be queued, such as an object's key."""

    @property
    def namespace(self) -> str: ...


K = TypeVar("K", bound=Namespaced)


class Bucket:
    """A token bucket: a burst at once, then a rate per second."""

    def __init__(self, burst: float, per_s: float, now: float):
        self._burst, self._per_s = burst, per_s
        self._tokens, self._at = burst, now

    def wait_s(self, now: float) -> float:
        """Return the seconds until there is a token; 0 if there is one."""
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._per_s)
        self._at = now
        return max(0.0, (1.0 - self._tokens) / self._per_s)

    def take(self) -> None:
        """Use a token, after wait_s() was 0."""
        self._tokens -= 1.0


class FairQueue(Generic[K]):
    """Objects in order of arrival within a namespace; namespaces take turns."""

    def __init__(self) -> None:
        self._by_namespace: OrderedDict[str, dict[K, None]] = OrderedDict()
        """Namespaces in the order of their turns, with their objects."""

    def push(self, key: K) -> None:
        """Append an object; an object that is already queued keeps its place."""
        self._by_namespace.setdefault(key.namespace, {}).setdefault(key)

    def discard(self, key: K) -> None:
        """Remove an object, if it is queued."""
        queued = self._by_namespace.get(key.namespace)
        if queued is None:
            return
        queued.pop(key, None)
        if not queued:
            del self._by_namespace[key.namespace]

    def ready(self, allowed: Callable[[str], bool] = lambda namespace: True) -> bool:
        """True if pop() would return an object."""
        return any(map(allowed, self._by_namespace))

    def pop(self, allowed: Callable[[str], bool] = lambda namespace: True) -> K | None:
        """Return the next object of an allowed namespace; None if there is none."""
        namespace = next(filter(allowed, self._by_namespace), None)
        if namespace is None:
            return None
        self._by_namespace.move_to_end(namespace)
        key = next(iter(self._by_namespace[namespace]))
        self.discard(key)
        return key
