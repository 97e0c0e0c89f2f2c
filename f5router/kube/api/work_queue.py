"""Queue of requests to the API server, fair between namespaces, at a bounded rate.

Namespaces take turns, so that one with many items delays another's by a moment only.

Additive increase and multiplicative decrease (RFC 5681, section 3.1, for TCP). The API server queues what it
cannot take at once and refuses what does not fit into the queues with 429 (API priority and fairness,
https://kubernetes.io/docs/concepts/cluster-administration/flow-control/). A reply that takes longer needs no
rule here: the number of requests under way at once is fixed, so that slower replies mean fewer requests.
"""

import heapq
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic, Protocol, TypeVar


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


GROWTH = 0.2
"""Requests per second that each accepted request adds: at full use, the rate grows by a fifth per second."""

CAREFUL_GROWTH = 0.02
"""The same in the time after a refusal, so that the rate stays close below what is taken,"""
CAREFUL_S = 60.0
"""and the length of this time."""

SAME_REFUSAL_S = 1.0
"""Refusals within this time have one cause: requests that were under way together."""


class RequestRate:
    """A number of requests per second between a first one and a limit, or below after refusals."""

    def __init__(self, first_per_s: float, limit_per_s: float, *, least_per_s: float = 1.0):
        self._limit_per_s = limit_per_s
        self._least_per_s = min(least_per_s, limit_per_s)
        self.per_s = min(first_per_s, limit_per_s)
        self._refused_at = float("-inf")

    def accepted(self, now: float) -> None:
        """Count a request that was accepted after it had waited for its turn."""
        careful = now - self._refused_at < CAREFUL_S
        self.per_s = min(self._limit_per_s, self.per_s + (CAREFUL_GROWTH if careful else GROWTH))

    def refused(self, now: float) -> None:
        """Halve the rate, once for requests that were under way together."""
        if now - self._refused_at >= SAME_REFUSAL_S:
            self.per_s = max(self._least_per_s, self.per_s / 2)
        self._refused_at = now


@dataclass(slots=True)
class WorkItem(Generic[K]):
    """An item that a worker has taken, and must return with done()."""

    key: K
    value: Any
    failures: int = 0
    """Number of failed attempts in a row."""


class WorkQueue(Generic[K]):
    """Queue for several workers. No two workers hold one key at a time."""

    def __init__(self, *, rate_per_s: float, first_per_s: float | None = None,
                 clock: Callable[[], float] = time.monotonic):
        """Arguments:
        rate_per_s: requests per second that spend() allows at most.
        first_per_s: requests per second that it allows before any was accepted; None for rate_per_s.
        """
        self._clock = clock
        self._rate = RequestRate(rate_per_s if first_per_s is None else first_per_s, rate_per_s)
        lock = threading.RLock()
        self._changed, self._returned, self._pace = (threading.Condition(lock) for _ in range(3))
        """For workers without an item; for those who wait until all is finished; for requests that wait for
        their turn. An item wakes one worker: to wake all costs more than most requests."""
        self._waiting: dict[K, tuple[int, WorkItem[K], float]] = {}
        """Number in the heap, item, and time when it is due, by key."""
        self._heap: list[tuple[float, int, K]] = []
        """Items not due yet, or not when a worker looked last."""
        self._parked: set[K] = set()
        """Keys of items that wait, but that nobody waits for."""
        self._due: FairQueue[K] = FairQueue()
        self._taken: set[K] = set()
        self._number = count()
        self._not_before = 0.0
        self._next_spend = 0.0
        self._limited = False
        """True if the last request had to wait for its turn: the rate is what limits the queue."""
        self._closed = False

    def __len__(self) -> int:
        """Count the queued items, without those that are parked or that workers have taken."""
        return len(self._waiting) - len(self._parked)

    def put(self, key: K, value: object, delay_s: float = 0.0) -> None:
        """Add an item, due after delay_s, replacing the waiting item of its key unless they are equal.

        One that is parked is due then, but remembers its failures if it is equal.
        """
        with self._changed:
            known = self._waiting.get(key)
            if known is None or known[1].value != value:
                self._push(WorkItem(key, value), delay_s)
            elif key in self._parked:
                self._push(known[1], delay_s)

    def take(self) -> WorkItem[K] | None:
        """Wait for the next item that is due; None after close()."""
        with self._changed:
            while not self._closed:
                wait_s = self._until_due()
                if wait_s is not None and wait_s <= 0 and (key := self._due.pop()) is not None:
                    self._taken.add(key)
                    self._parked.discard(key)
                    item = self._waiting.pop(key)[1]
                    if self._waiting:  # another worker must know when the next one is due
                        self._changed.notify()
                    return item
                self._changed.wait(wait_s)
            return None

    def done(self, item: WorkItem[K], retry_after_s: float | None = None, *, parked: bool = False) -> None:
        """Return an item: finished, or to be tried again unless a newer one is queued.

        Args: parked: its result is known, so that nobody waits for the next attempt.
        """
        with self._changed:
            self._taken.discard(item.key)
            if item.key in self._waiting:
                _, newer, due = self._waiting[item.key]
                self._push(newer, due - self._clock())
            elif retry_after_s is not None:
                self._push(WorkItem(item.key, item.value, item.failures + 1), retry_after_s)
                if parked:
                    self._parked.add(item.key)
            self._returned.notify_all()

    def make_room(self, namespace: str) -> bool:
        """Drop an item of the namespace with the most items; False if this one has as many."""
        with self._changed:
            counts = Counter(key.namespace for key in self._waiting)
            most = max(counts, key=counts.__getitem__, default=namespace)
            if counts[most] <= counts[namespace] + 1:
                return False
            key = next(key for key in reversed(self._waiting) if key.namespace == most)
            del self._waiting[key]
            self._parked.discard(key)
            self._due.discard(key)
        return True

    def pause(self, seconds: float) -> None:
        """Pause the whole queue."""
        with self._changed:
            self._not_before = max(self._not_before, self._clock() + seconds)

    def spend(self) -> bool:
        """Wait until the rate allows one more request; False if closed meanwhile."""
        with self._changed:
            start = max(now := self._clock(), self._next_spend)
            self._limited = start > now
            self._next_spend = start + 1 / self._rate.per_s
            while not self._closed and (wait_s := start - self._clock()) > 0:
                self._pace.wait(wait_s)
            return not self._closed

    def accepted(self) -> None:
        """Raise the rate if it limits the queue: the server accepted a request."""
        with self._changed:
            if self._limited:
                self._rate.accepted(self._clock())

    def refused(self) -> None:
        """Lower the rate: the server is overloaded, or does not answer."""
        with self._changed:
            self._rate.refused(self._clock())

    def rate_per_s(self) -> float:
        """Return the requests per second that spend() allows now."""
        with self._changed:
            return self._rate.per_s

    def wait_empty(self, timeout_s: float, *, unless: Callable[[], object] | None = None) -> bool:
        """Wait until everything is finished or parked; False if that takes longer than timeout_s.

        Args: unless: ends the wait early when true; evaluated whenever no worker has an item.
        """
        def ended() -> bool:
            return not self._taken and bool(not len(self) or (unless and unless()))

        with self._changed:
            return self._returned.wait_for(ended, timeout_s) and not len(self)

    def close(self) -> None:
        """End all waiting."""
        with self._changed:
            self._closed = True
            for waiting in (self._changed, self._returned, self._pace):
                waiting.notify_all()

    def _push(self, item: WorkItem[K], delay_s: float) -> None:
        number, due = next(self._number), self._clock() + delay_s
        self._due.discard(item.key)
        self._parked.discard(item.key)
        self._waiting[item.key] = (number, item, due)
        heapq.heappush(self._heap, (due, number, item.key))
        self._changed.notify()

    def _until_due(self) -> float | None:
        """Return the seconds until an item may be taken; None without items."""
        now = self._clock()
        while self._heap:
            due, number, key = self._heap[0]
            if key not in self._taken and self._waiting.get(key, (None,))[0] == number:
                if due > now:
                    break
                self._due.push(key)
            heapq.heappop(self._heap)  # due, replaced by a newer item, or pushed again by done()
        if self._due.ready():
            return self._not_before - now
        return max(self._heap[0][0], self._not_before) - now if self._heap else None
