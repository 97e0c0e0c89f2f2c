"""Requests in threads, whose owner handles urgent work while it waits for them.

One thread, the owner, starts requests and takes their results. While it waits it calls `attend`, which may
start urgent requests by `begin_urgent` and take their results by `urgent_results`. So neither a slow request
nor a long series delays urgent work, and an urgent request that hangs delays nothing else.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

A = TypeVar("A")
B = TypeVar("B")

POLL_S = 0.02
"""Seconds between two calls of `attend` while no request ends."""


class Calls:
    """Threads for the requests of one owner. Not thread-safe, apart from `interrupted`."""

    def __init__(self, max_in_flight: int):
        # One more for what is urgent; the transport bounds how many are sent at once.
        self._executor = ThreadPoolExecutor(max_in_flight + 1, thread_name_prefix="bigip")
        self._limit = max_in_flight
        self._in_series = 0
        """Number of requests in flight that are not urgent."""
        self._urgent: list[Future[Any]] = []
        self._attending = False
        self._error: Exception | None = None
        self.attend: Callable[[], None] = lambda: None
        """Handles urgent work. What it raises is kept for `settle`, until no request is in flight."""
        self.urgent_ended: Callable[[], None] = lambda: None
        """Called from the thread of an urgent request when it has ended."""
        self.preempted: Callable[[], bool] = lambda: False
        """True if no new request should start, apart from urgent ones."""
        self.interrupted = False
        """True once `preempted` was true, or `attend` failed, until `settle`."""

    def close(self) -> None:
        """End the threads."""
        self._executor.shutdown()

    def run(self, call: Callable[[], B]) -> B:
        """Run a request, or a series, in a thread; return its result."""
        future = self._executor.submit(call)
        self._in_series = 1
        try:
            while not future.done():
                self.look()
                wait([future], timeout=POLL_S)
        finally:
            self._in_series = 0
        return future.result()

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
                        in_flight.add(self._executor.submit(call, item))
                        self._in_series = len(in_flight)
                if not in_flight:
                    return
                ended = wait(in_flight, timeout=POLL_S, return_when=FIRST_COMPLETED).done
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
        future = self._executor.submit(call, item)
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

    def wait_for_urgent(self) -> None:
        """Wait a moment for the first urgent request to end, and attend to urgent work."""
        self.look()
        wait(self._urgent, timeout=POLL_S, return_when=FIRST_COMPLETED)

    def pause(self, seconds: float, sleep: Callable[[float], object]) -> None:
        """Wait, and attend to urgent work meanwhile."""
        while seconds > 0:
            self.look()
            sleep(min(POLL_S, seconds))
            seconds -= POLL_S

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
