"""Times at which the loop has something to do, on one heap."""

import heapq
from collections import deque
from collections.abc import Callable, Hashable
from itertools import count

Action = Callable[[], object]


class Timers:
    """Timers by name: a new time of a name replaces the one before. One thread uses them."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Hashable]] = []
        self._set: dict[Hashable, tuple[float, int, Action]] = {}
        self._number = count()

    def at(self, when: float, name: Hashable, action: Action = lambda: None) -> None:
        """Call an action at a time; without one, the wait of the loop ends.

        Args: when: monotonic seconds; name: of the only timer for it.
        """
        number = next(self._number)
        self._set[name] = when, number, action
        heapq.heappush(self._heap, (when, number, name))

    def cancel(self, name: Hashable) -> None:
        """Forget a timer, if it is set."""
        self._set.pop(name, None)

    def when(self, name: Hashable) -> float | None:
        """Return the time of a timer; None if it is not set."""
        timer = self._set.get(name)
        return timer[0] if timer else None

    def next_at(self) -> float | None:
        """Return the earliest time; None without timers."""
        while self._heap and not self._is_set(*self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def fire(self, now: float) -> None:
        """Call the actions whose time has come, in its order; those that they set themselves wait.

        Raises: what an action raises; the actions behind it stay due.
        """
        due = deque[tuple[float, Hashable, Action]]()
        while (at := self.next_at()) is not None and at <= now:
            _, _, name = heapq.heappop(self._heap)
            due.append((at, name, self._set.pop(name)[2]))
        try:
            while due:
                due.popleft()[2]()
        finally:
            for at, name, action in due:
                if name not in self._set:
                    self.at(at, name, action)

    def _is_set(self, when: float, number: int, name: Hashable) -> bool:
        timer = self._set.get(name)
        return timer is not None and timer[1] == number
