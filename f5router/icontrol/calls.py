"""Requests in threads, whose owner handles urgent work while it waits for them.

One thread, the owner, starts requests and takes their results. While it waits it calls `attend`, which may
start urgent requests by `begin_urgent` and take their results by `urgent_results`. So neither a slow request
nor a long series delays urgent work, and an urgent request that hangs delays nothing else.

A wait ends when a request ends, when another thread calls `wake`, and at the time that `due_in` gives.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")

LONGEST_S = 1.0
"""Longest wait until `attend` and `preempted` are called again, whatever `due_in` gives."""


class Calls:
    """Threads for the requests of one owner. Not thread-safe, apart from `interrupted` and `wake`."""

    def __init__(self, max_in_flight: int, *, longest_s: float = LONGEST_S):
        # One more for what is urgent; the transport bounds how many are sent at once.
        self._executor = ThreadPoolExecutor(max_in_flight + 1, thread_name_prefix="bigip")
        self._limit, self._longest_s = max_in_flight, longest_s
        self._in_series = 0
        """Number of requests in flight that are not urgent."""
        self._urgent: list[Future[Any]] = []
        self._attending = False
        self._error: Exception | None = None
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._woken = False
        """True while a wake is queued that no wait has taken: one is enough."""
        self._given_up = False
        self.attend: Callable[[], None] = lambda: None
        """Handles urgent work. Its exception is kept for `settle`, until no request is in flight."""
        self.urgent_ended: Callable[[], None] = lambda: None
        """Called from the thread of an urgent request when it has ended."""
        self.preempted: Callable[[], bool] = lambda: False
        """True if no new request should start, apart from urgent ones."""
        self.due_in: Callable[[], float] = lambda: math.inf
        """Returns after how many seconds `attend` or `preempted` has something new, if nothing wakes."""
        self.interrupted = False
        """True once `preempted` was true, or `attend` failed, until `settle`."""

    def close(self) -> None:
        """End the threads."""
        self._executor.shutdown()

    def wake(self) -> None:
        """Let the owner look now, or before its next wait. From any thread."""
        if not self._woken:
            self._woken = True
            self._wakes.put(None)

    def give_up(self) -> None:
        """End pauses. From any thread."""
        self._given_up = True
        self.wake()

    def run(self, call: Callable[[], B]) -> B:
        """Run a request, or a series, in a thread; return its result."""
        future = self._submit(call)
        self._in_series = 1
        try:
            while True:
                self.look()
                if future.done():
                    return future.result()
                self._wait()
        finally:
            self._in_series = 0

    def _submit(self, call: Callable[..., B], *arguments: Any) -> Future[B]:
        future = self._executor.submit(call, *arguments)
        future.add_done_callback(lambda _: self.wake())
        return future

    def _wait(self, longest_s: float = math.inf) -> None:
        """Wait for a request to end or another wake, or until there is something to attend to."""
        due_s = math.inf if self._error is not None else self.due_in()
        try:
            self._wakes.get(timeout=max(0.0, min(due_s, longest_s, self._longest_s)))
        except Empty:
            return
        self._woken = False  # before anything is looked at

    def each(self, call: Callable[[A], B], items: Iterable[A],
             ready: Callable[[A], A | None]) -> Iterator[B]:
        """Yield the results of independent requests, started in this order until interrupted.

        Args: ready: called just before a request; returns the current item, None if nothing is to be sent.
        """
        waiting = deque(items)
        in_flight: set[Future[B]] = set()
        try:
            while True:
                self.look()
                while waiting and len(in_flight) < self._window() and not self.interrupted:
                    if (item := ready(waiting.popleft())) is not None:
                        in_flight.add(self._submit(call, item))
                        self._in_series = len(in_flight)
                if not in_flight:
                    return
                self._wait()
                ended = {future for future in in_flight if future.done()}
                in_flight -= ended
                self._in_series = len(in_flight)
                yield from (future.result() for future in ended)
        finally:
            wait(in_flight)
            self._in_series = 0

    def _window(self) -> int:
        """Return how many requests of a series may be in flight: room is left for an urgent one."""
        return max(1, self._limit - 1 - len(self._urgent))

    # --- urgent requests -----------------------------------------------------------------

    def urgent_room(self) -> int:
        """Return how many urgent requests may start now and are sent at once.

        With a limit of one request in flight, an urgent one waits for it.
        """
        return max(self._limit - self._in_series, 1) - len(self._urgent)

    def begin_urgent(self, call: Callable[[A], B], item: A) -> None:
        """Start a request beside those in flight, without waiting for it."""
        future = self._submit(call, item)
        self._urgent.append(future)
        future.add_done_callback(lambda _: self.urgent_ended())

    def urgent_results(self) -> list[Any]:
        """Return the results of urgent requests that ended since the last call."""
        ended = [future for future in self._urgent if future.done()]
        self._urgent = [future for future in self._urgent if future not in ended]
        return [future.result() for future in ended]

    def is_quiet(self) -> bool:
        """True if no urgent request is in flight."""
        return all(future.done() for future in self._urgent)

    def wait_for_urgent(self, longest_s: float) -> None:
        """Attend to urgent work, and wait for a request of it to end, or for more of it."""
        self.look()
        self._wait(longest_s)

    def pause(self, seconds: float) -> None:
        """Wait until `give_up`, or as long as given, and attend to urgent work meanwhile."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0 and not self._given_up:
            self.look()
            self._wait(left)

    def begin(self) -> None:
        """Start a new series of requests; an earlier interruption is over."""
        self._error, self.interrupted = None, False

    def settle(self) -> None:
        """End a series of requests. Raises: what `attend` raised meanwhile."""
        error = self._error
        self.begin()
        if error is not None:
            raise error

    def look(self) -> None:
        """Attend to urgent work. An error is kept for `settle`."""
        if self._attending or self._error is not None:
            return
        self._attending = True
        try:
            self.attend()
            self.interrupted = self.interrupted or self.preempted()
        except Exception as exc:
            self._error, self.interrupted = exc, True
        finally:
            self._attending = False
