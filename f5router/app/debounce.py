"""Debouncing of events: computes when the next pass is due, and waits for it."""

import threading
from collections.abc import Callable

WAKE_S = 30.0
"""A wait ends at least so often, so that the loop is seen to be alive."""


def wake_at(first: float, last: float, *, hold_off_s: float, limit_s: float) -> float:
    """Return the time of the next pass: hold_off_s after the last event, at most limit_s after the first.

    Args: first, last: monotonic seconds of the oldest and newest unhandled event.
    Raises: ValueError: limit_s is below hold_off_s.
    Source: Contour's hold-off timer.
    """
    if limit_s < hold_off_s:
        raise ValueError(f"{limit_s=} is below {hold_off_s=}")
    return min(last + hold_off_s, first + limit_s)


class EventSignal:
    """Remembers that something changed, and wakes the loop. Thread-safe."""

    def __init__(self, clock: Callable[[], float], *, wake_s: float = WAKE_S):
        """Args: wake_s: longest wait."""
        self._clock, self._wake_s = clock, wake_s
        self._condition = threading.Condition()
        self._first: float | None = None
        self._last = 0.0
        self._unseen: float | None = None
        self._woken = False
        self._events = 0
        self.on_event: Callable[[], None] = lambda: None
        """Called after each event, from the thread that records it."""

    def notify(self) -> None:
        """Record that something changed."""
        with self._condition:
            self._last = self._clock()
            self._events += 1
            if self._first is None:
                self._first = self._last
            if self._unseen is None:
                self._unseen = self._last
            self._condition.notify_all()
        self.on_event()

    def wake(self) -> None:
        """End this wait, or the next one, without an event."""
        with self._condition:
            self._woken = True
            self._condition.notify_all()

    def take(self) -> None:
        """Mark all events so far as handled."""
        with self._condition:
            self._first = self._unseen = None

    def look(self) -> None:
        """Mark the endpoint events so far as handled; the others remain."""
        with self._condition:
            self._unseen = None

    @property
    def first(self) -> float | None:
        """When the first event came since the last `take`; None without one."""
        return self._first

    def unseen(self) -> float | None:
        """Return when the first event came since the last `look` or `take`; None without one."""
        return self._unseen

    def due(self, *, hold_off_s: float, limit_s: float) -> float | None:
        """Return when the events so far should be handled; None without events."""
        with self._condition:
            if self._first is None:
                return None
            return wake_at(self._first, self._last, hold_off_s=hold_off_s, limit_s=limit_s)

    def wait(self, until: Callable[[], float | None]) -> None:
        """Wait for the next event, at most until a monotonic time, and never longer than wake_s.

        Args: until: asked before the wait; an event that comes in meanwhile ends it.
        """
        events, at = self._events, until()
        timeout = self._wake_s if at is None else min(self._wake_s, max(0.0, at - self._clock()))
        with self._condition:
            if timeout != 0.0 and not self._woken and self._events == events:
                self._condition.wait(timeout)
            self._woken = False
