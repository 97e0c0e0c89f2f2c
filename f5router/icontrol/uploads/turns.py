"""Concurrent commands over one SSH connection: up to a limit, or one command alone."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

MOST = 4
"""Commands at the same time. sshd takes 10 sessions of a connection by default (MaxSessions)."""


class Turns:
    """Gives commands their turn. Thread-safe."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._most = MOST
        self._running = self._waiting_alone = 0
        self._is_alone = False

    @contextmanager
    def taken(self, *, alone: bool = False) -> Iterator[None]:
        """Wait for a turn, and have it for the duration of the block.

        Args: alone: let no other command run meanwhile. Those that begin later wait for it.
        """
        with self._condition:
            self._waiting_alone += alone
            try:
                self._condition.wait_for(lambda: self._is_free(alone=alone))
            finally:
                self._waiting_alone -= alone
            self._running += 1
            self._is_alone = alone
        try:
            yield
        finally:
            with self._condition:
                self._running -= 1
                self._is_alone = False
                self._condition.notify_all()

    def _is_free(self, *, alone: bool) -> bool:
        if alone:
            return self._running == 0
        return self._running < self._most and not self._is_alone and not self._waiting_alone

    @property
    def several(self) -> bool:
        """True if more than one command runs."""
        return self._running > 1

    def limit(self, most: int) -> None:
        """Set the maximum number of concurrent commands."""
        with self._condition:
            self._most = most
            self._condition.notify_all()
