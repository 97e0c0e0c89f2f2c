"""Work that waits for its turn: one item per key, the newest, each not before its time.

Namespaces take turns, so that one with many items costs another's a moment.
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


@dataclass(slots=True)
class WorkItem(Generic[K]):
    """An item that a worker has taken; it must be given back with done()."""

    key: K
    value: Any
    failures: int = 0
    """How often it was retried in a row."""


class WorkQueue(Generic[K]):
    """A queue for several workers. No two of them have the same key at a time."""

    def __init__(self, *, rate_per_s: float, clock: Callable[[], float] = time.monotonic):
        """rate_per_s: how many requests a second spend() lets through."""
        self._clock = clock
        self._interval_s = 1 / rate_per_s
        self._changed = threading.Condition()
        self._waiting: dict[K, tuple[int, WorkItem[K], float]] = {}
        """Number in the heap, item, and when it is due."""
        self._heap: list[tuple[float, int, K]] = []
        """What is not due yet, or was not when somebody looked last."""
        self._due: FairQueue[K] = FairQueue()
        self._taken: set[K] = set()
        self._number = count()
        self._not_before = 0.0
        self._next_spend = 0.0
        self._closed = False

    def __len__(self) -> int:
        """Items that wait, without those that workers have."""
        return len(self._waiting)

    def put(self, key: K, value: object, delay_s: float = 0.0) -> None:
        """Add an item, due after delay_s, in place of the one that waits; an equal one changes nothing."""
        with self._changed:
            known = self._waiting.get(key)
            if known is None or known[1].value != value:
                self._push(WorkItem(key, value), delay_s)

    def take(self) -> WorkItem[K] | None:
        """The next item that is due, as soon as there is one; None after close()."""
        with self._changed:
            while not self._closed:
                wait_s = self._until_due()
                if wait_s is not None and wait_s <= 0 and (key := self._due.pop()) is not None:
                    self._taken.add(key)
                    return self._waiting.pop(key)[1]
                self._changed.wait(wait_s)
            return None

    def done(self, item: WorkItem[K], retry_after_s: float | None = None) -> None:
        """Give an item back: finished, or to be tried again unless a newer one has come."""
        with self._changed:
            self._taken.discard(item.key)
            if item.key in self._waiting:
                _, newer, due = self._waiting[item.key]
                self._push(newer, due - self._clock())
            elif retry_after_s is not None:
                self._push(WorkItem(item.key, item.value, item.failures + 1), retry_after_s)
            self._changed.notify_all()

    def make_room(self, namespace: str) -> bool:
        """Drop an item of the namespace that has most; False if this one has as many."""
        with self._changed:
            counts = Counter(key.namespace for key in self._waiting)
            most = max(counts, key=counts.__getitem__, default=namespace)
            if counts[most] <= counts[namespace] + 1:
                return False
            key = next(key for key in reversed(self._waiting) if key.namespace == most)
            del self._waiting[key]
            self._due.discard(key)
        return True

    def pause(self, seconds: float) -> None:
        """Let nothing be taken for a while."""
        with self._changed:
            self._not_before = max(self._not_before, self._clock() + seconds)

    def spend(self) -> bool:
        """Wait until the rate allows one more request; False if closed meanwhile."""
        with self._changed:
            start = max(self._clock(), self._next_spend)
            self._next_spend = start + self._interval_s
            while not self._closed and (wait_s := start - self._clock()) > 0:
                self._changed.wait(wait_s)
            return not self._closed

    def wait_empty(self, timeout_s: float, *, unless: Callable[[], object] | None = None) -> bool:
        """Whether everything is finished, at the latest after timeout_s seconds.

        Args: unless: says when it is of no use to wait; looked at whenever no worker has an item.
        """
        def ended() -> bool:
            return not self._taken and bool(not self._waiting or (unless and unless()))

        with self._changed:
            return self._changed.wait_for(ended, timeout_s) and not self._waiting

    def close(self) -> None:
        """End all waiting."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _push(self, item: WorkItem[K], delay_s: float) -> None:
        number, due = next(self._number), self._clock() + delay_s
        self._due.discard(item.key)
        self._waiting[item.key] = (number, item, due)
        heapq.heappush(self._heap, (due, number, item.key))
        self._changed.notify_all()

    def _until_due(self) -> float | None:
        """Seconds until an item may be taken; None without items."""
        now = self._clock()
        while self._heap:
            due, number, key = self._heap[0]
            if key not in self._taken and self._waiting.get(key, (None,))[0] == number:
                if due > now:
                    break
                self._due.push(key)
            heapq.heappop(self._heap)  # due, replaced by a newer one, or pushed again by done()
        if self._due.ready():
            return self._not_before - now
        return max(self._heap[0][0], self._not_before) - now if self._heap else None
