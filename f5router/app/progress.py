"""Lines in the log about long work: how much of it is done."""

import logging
import time
from collections.abc import Callable

PERIOD_S = 5.0


class Progress:
    """Counts steps of long work, and logs them now and then. Not thread-safe."""

    def __init__(self, log: logging.Logger, what: str, *, period_s: float = PERIOD_S,
                 clock: Callable[[], float] = time.monotonic):
        """Args: what: message of the lines."""
        self._log, self._what, self._period_s, self._clock = log, what, period_s, clock
        self._done = self._total = 0
        self._due_at = clock() + period_s

    def begin(self, total: int) -> None:
        """Begin to count, up to a number of changes."""
        self._done, self._total = 0, total
        self._due_at = self._clock() + self._period_s

    def step(self) -> None:
        """Count one change."""
        self._done += 1
        if self._clock() >= self._due_at:
            self._due_at = self._clock() + self._period_s
            self._log.info(self._what, extra={
                "changes": f"{self._done:,} of {max(self._total, self._done):,}"})
