"""Slots for the requests that are under way at once; a request that hangs gives its slot to another."""

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class Slots:
    """At most a number of requests at once. Thread-safe; a thread has one request at a time."""

    def __init__(self, most: int):
        self._free = threading.Semaphore(most)
        self._lock = threading.Lock()
        self._holders: set[int] = set()
        """Threads that have a slot."""
        self._begun = Counter[int]()

    @contextmanager
    def use(self) -> Iterator[None]:
        """Wait for a slot, and have it until the end of a request, or until it is given up."""
        thread = threading.get_ident()
        self._free.acquire()
        with self._lock:
            self._holders.add(thread)
            self._begun[thread] += 1
        try:
            yield
        finally:
            self.give_up(thread)

    def begun(self, thread: int) -> int:
        """Return how many requests a thread has begun: while the number grows, it gets replies."""
        return self._begun[thread]

    def give_up(self, thread: int) -> None:
        """Free the slot of a thread, if it has one, although its request goes on. From any thread."""
        with self._lock:
            has_one = thread in self._holders
            self._holders.discard(thread)
        if has_one:
            self._free.release()
