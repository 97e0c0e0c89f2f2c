"""Server-sent events: that something has changed, for pages that are open.

An event has a revision and nothing else; a page asks again for what it shows. Each listener has the thread of
its connection, so their number is bounded.
Source: WHATWG HTML, 9.2 Server-sent events.
"""

import threading
import time
from collections.abc import Callable

MOST = 16
"""Listeners at a time."""
HEARTBEAT_S = 15.0
"""Silence after which a comment is sent, so that a listener that has gone is noticed."""
PAUSE_S = 0.5
"""Shortest time between two events of a listener."""
LIFE_S = 600.0
"""Time after which a listener has to connect, and to log in, again."""
RETRY_MS = 2000
"""Wait of a listener before it connects again."""


CROWDED_MS = 30_000
"""The same where there are too many."""


class Listeners:
    """Everybody who follows changes. Thread-safe."""

    def __init__(self, revision: Callable[[], int], *, most: int = MOST, heartbeat_s: float = HEARTBEAT_S,
                 pause_s: float = PAUSE_S, life_s: float = LIFE_S):
        """Args: revision: grows with each change."""
        self._revision, self._most = revision, most
        self._heartbeat_s, self._pause_s, self._life_s = heartbeat_s, pause_s, life_s
        self._changed = threading.Condition()
        self._count = 0
        self._closed = threading.Event()

    def __len__(self) -> int:
        """Number of listeners."""
        return self._count

    def _enter(self) -> bool:
        """Count a listener in; False if there are too many."""
        with self._changed:
            if self._count >= self._most or self._closed.is_set():
                return False
            self._count += 1
            return True

    def wake(self) -> None:
        """Notify the listeners of the revision. From any thread; quick."""
        if self._count:
            with self._changed:
                self._changed.notify_all()

    def close(self) -> None:
        """End all streams."""
        self._closed.set()
        with self._changed:
            self._changed.notify_all()

    def stream(self, write: Callable[[bytes], object]) -> None:
        """Send events until the listener leaves, in the thread of its connection.

        One too many is sent nothing but when to come again.

        Raises: OSError: it has left.
        """
        if not self._enter():
            write(b"retry: %d\n\n" % CROWDED_MS)
            return
        try:
            end, sent = time.monotonic() + self._life_s, -1
            write(b"retry: %d\n\n" % RETRY_MS)
            while not self._closed.is_set() and time.monotonic() < end:
                revision = self._revision()
                write(b": \n\n" if revision == sent else b"event: change\ndata: %d\n\n" % revision)
                sent = revision
                self._closed.wait(self._pause_s)
                with self._changed:
                    if not self._closed.is_set() and self._revision() == sent:
                        self._changed.wait(self._heartbeat_s)
        finally:
            with self._changed:
                self._count -= 1
