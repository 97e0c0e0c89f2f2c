"""A queue of delayed work: one item per key, the newest, each not before it is due.

Namespaces take turns, so that one with many items delays another's by a moment only.
"""

import heapq
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, Generic

from f5router.kube.api.fair_queue import FairQueue, K
from f5router.kube.api.request_rate import RequestRate


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
        self._changed = threading.Condition()
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
                    return self._waiting.pop(key)[1]
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
            self._changed.notify_all()

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
                self._changed.wait(wait_s)
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
            return self._changed.wait_for(ended, timeout_s) and not len(self)

    def close(self) -> None:
        """End all waiting."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _push(self, item: WorkItem[K], delay_s: float) -> None:
        number, due = next(self._number), self._clock() + delay_s
        self._due.discard(item.key)
        self._parked.discard(item.key)
        self._waiting[item.key] = (number, item, due)
        heapq.heappush(self._heap, (due, number, item.key))
        self._changed.notify_all()

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
