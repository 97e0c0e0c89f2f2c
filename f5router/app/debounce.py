"""Debouncing of events: computes when the changes of the cluster are due."""

import threading
from collections.abc import Callable

LEAD_S, FEW = 0.01, 3
"""While nothing is under way, so few events wait no longer than this: what follows them is gathered."""


def wake_at(first: float, last: float, *, hold_off_s: float, limit_s: float) -> float:
    """Return when events are due: hold_off_s after the last one, at most limit_s after the first.

    Args: first, last: monotonic seconds of the oldest and newest unhandled event.
    Raises: ValueError: limit_s is below hold_off_s.
    Source: Contour's hold-off timer.
    """
    if limit_s < hold_off_s:
        raise ValueError(f"{limit_s=} is below {hold_off_s=}")
    return min(last + hold_off_s, first + limit_s)


class EventSignal:
    """Remembers when something changed, and wakes the loop. Thread-safe."""

    def __init__(self, clock: Callable[[], float]):
        self._clock = clock
        self._lock = threading.Lock()
        self._first: float | None = None
        self._last = 0.0
        self._unseen: float | None = None
        self._events = 0
        """Since the first one."""
        self.on_event: Callable[[bool], None] = lambda is_first: None
        """Called after each event, from the thread that records it, with True for the first since `take`."""

    def notify(self) -> None:
        """Record that something changed."""
        with self._lock:
            self._last = self._clock()
            self._events += 1
            if is_first := self._first is None:
                self._first, self._events = self._last, 1
            if self._unseen is None:
                self._unseen = self._last
        self.on_event(is_first)

    def take(self) -> float | None:
        """Mark all events so far as handled; return when the first of them came."""
        with self._lock:
            first, self._first, self._unseen = self._first, None, None
            return first

    def give_back(self, first: float) -> None:
        """Let events since a time be handled still."""
        with self._lock:
            self._first = first if self._first is None else min(first, self._first)
            self._last = max(first, self._last)

    def look(self) -> None:
        """Mark the endpoint events so far as handled; the others remain."""
        with self._lock:
            self._unseen = None

    @property
    def first(self) -> float | None:
        """When the first event came since the last `take`; None without one."""
        return self._first

    def unseen(self) -> float | None:
        """Return when the first event came since the last `look` or `take`; None without one."""
        return self._unseen

    def due(self, *, hold_off_s: float, limit_s: float, at_rest: bool = False) -> float | None:
        """Return when the events so far are due; None without events.

        Args: at_rest: nothing is under way, and nothing was written within the hold-off.
        """
        with self._lock:
            if self._first is None:
                return None
            due = wake_at(self._first, self._last, hold_off_s=hold_off_s, limit_s=limit_s)
            return min(due, self._first + LEAD_S) if at_rest and self._events <= FEW else due
