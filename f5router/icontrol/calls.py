"""Requests under way, made by threads; whoever waits for them attends to what cannot wait.

One thread, the owner, starts requests and takes their results. While it waits it calls `attend`, which may
begin urgent requests by `begin_urgent` and take their results by `urgent_results`: so a request that takes
long, or a long series, holds up nothing that is urgent, and an urgent request that hangs nothing else.
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
    """Not thread-safe: for the owner, apart from `interrupted`."""

    def __init__(self, max_in_flight: int):
        # One more for what is urgent; the transport bounds how many are sent at once.
        self._executor = ThreadPoolExecutor(max_in_flight + 1, thread_name_prefix="bigip")
        self._most = max_in_flight
        self._in_series = 0
        """Requests under way that are not urgent."""
        self._urgent: list[Future[Any]] = []
        self._attending = False
        self._trouble: Exception | None = None
        self.attend: Callable[[], None] = lambda: None
        """What it raises is kept for `settle`, so that nobody goes on while requests are under way."""
        self.urgent_ended: Callable[[], None] = lambda: None
        """Called from the thread of an urgent request when its result is there."""
        self.preempted: Callable[[], bool] = lambda: False
        """True when no new request should begin, apart from urgent ones."""
        self.interrupted = False
        """True from the moment on when `preempted` was, or `attend` failed, until `settle`."""

    def close(self) -> None:
        """End the threads."""
        self._executor.shutdown()

    def run(self, call: Callable[[], B]) -> B:
        """One request, or a series, in a thread; its result."""
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
        """Results of independent requests, some at once, begun in this order until it is interrupted.

        Args: ready: called just before a request; gives the item as it is now, None for nothing to send.
        """
        todo = deque(items)
        under_way: set[Future[B]] = set()
        try:
            while True:
                self.look()
                while todo and len(under_way) < self._window() and not self.interrupted:
                    if (item := ready(todo.popleft())) is not None:
                        under_way.add(self._executor.submit(call, item))
                        self._in_series = len(under_way)
                if not under_way:
                    return
                ended = wait(under_way, timeout=POLL_S, return_when=FIRST_COMPLETED).done
                under_way -= ended
                self._in_series = len(under_way)
                yield from (future.result() for future in ended)
        finally:
            wait(under_way)
            self._in_series = 0

    def _window(self) -> int:
        """Requests of a series at most: there is room for one more, unless urgent ones take all of it."""
        return max(1, self._most - 1 - len(self._urgent))

    # --- urgent requests -----------------------------------------------------------------

    def urgent_room(self) -> int:
        """How many urgent requests may begin now: each is sent as soon as it begins.

        Where one request at most is in flight, it waits for the one under way.
        """
        return max(self._most - self._in_series, 1) - len(self._urgent)

    def begin_urgent(self, call: Callable[[A], B], item: A) -> None:
        """Begin a request beside those under way; nobody waits for it."""
        future = self._executor.submit(call, item)
        self._urgent.append(future)
        future.add_done_callback(lambda _: self.urgent_ended())

    def urgent_results(self) -> list[Any]:
        """Results of the urgent requests that ended since the last call."""
        ended = [future for future in self._urgent if future.done()]
        self._urgent = [future for future in self._urgent if future not in ended]
        return [future.result() for future in ended]

    def wait_for_urgent(self) -> None:
        """Wait for the first urgent request to end, for a moment at most, and attend meanwhile."""
        self.look()
        wait(self._urgent, timeout=POLL_S, return_when=FIRST_COMPLETED)

    def pause(self, seconds: float, sleep: Callable[[float], object]) -> None:
        """Wait, and attend meanwhile."""
        while seconds > 0:
            self.look()
            sleep(min(POLL_S, seconds))
            seconds -= POLL_S

    def begin(self) -> None:
        """A new series of requests begins: an interruption of the one before is over."""
        self._trouble, self.interrupted = None, False

    def settle(self) -> None:
        """All requests are through. Raises: what `attend` raised meanwhile."""
        trouble = self._trouble
        self.begin()
        if trouble is not None:
            raise trouble

    def look(self) -> None:
        """Attend to what cannot wait, if something is. What fails is kept for `settle`."""
        if self._attending or self._trouble is not None:
            return
        self._attending = True
        try:
            self.attend()
            self.interrupted = self.interrupted or self.preempted()
        except Exception as exc:
            self._trouble, self.interrupted = exc, True
        finally:
            self._attending = False
