"""Offset of a server's clock, by the time that its replies carry.

Certificates that are valid by one clock are not by another, and logs cannot be read side by side. Every reply
has its time in the header Date (RFC 9110, 6.6.1), so a comparison costs no request.
"""

import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime

MOST_S = 30.0
"""Largest offset that is well."""
PERIOD_S = 1.0
"""Shortest time between two replies whose time is decoded."""
_QUARTER_S = 900.0
"""Time zones differ by a multiple of this."""


def offset_s(server_s: float, begin_s: float, end_s: float) -> float:
    """Return how far a clock that shows whole seconds is ahead, at least; 0 if it may be right.

    Args: server_s: its time, read at a moment between begin_s and end_s of this machine's clock.
    """
    return max(server_s - end_s, 0.0) or min(server_s + 1 - begin_s, 0.0)


def describe(ahead_s: float, than: str) -> str:
    """Describe an offset, as in "is 3600 s ahead of this machine". Args: than: the clock that is compared."""
    quarters = round(ahead_s / _QUARTER_S)
    zone = (", or it shows the time of another zone"
            if quarters and abs(ahead_s - quarters * _QUARTER_S) <= MOST_S else "")
    return f"is {abs(ahead_s):.0f} s {'ahead of' if ahead_s > 0 else 'behind'} {than}{zone}"


class ClockOffset:
    """The newest known offset of one server's clock. Thread-safe: it is replaced as a whole."""

    def __init__(self, wall: Callable[[], float] = time.time):
        """Args: wall: this machine's clock, in seconds since the epoch."""
        self._wall, self._due_s = wall, 0.0
        self.ahead_s: float | None = None
        """Seconds; negative for a clock that is behind, None before the first reply with a time."""

    def record(self, date: str | None, took_s: float) -> None:
        """Record the header Date of a reply that has just come. Args: took_s: duration of its request."""
        end_s = self._wall()
        if date is None or abs(end_s - self._due_s) < PERIOD_S:  # this machine's clock may be set back
            return
        try:
            server_s = parsedate_to_datetime(date).timestamp()
        except (ValueError, OverflowError):  # a proxy's reply may have anything there
            return
        self._due_s, self.ahead_s = end_s, offset_s(server_s, end_s - took_s, end_s)
