"""Lines in the log about long work: how much of it is done."""

import logging
import time
from collections.abc import Callable

PERIOD_S = 5.0


class Progress:
    """Counts changes, and logs them every few seconds from the first one on. Not thread-safe."""

    def __init__(self, log: logging.Logger, what: str, *, period_s: float = PERIOD_S,
                 clock: Callable[[], float] = time.monotonic):
        """Args: what: message of the lines."""
        self._log, self._what, self._period_s, self._clock = log, what, period_s, clock
        self._done = 0
        self._due_at: float | None = None

    def step(self, total: int) -> None:
        """Count one change of a number that is to be made."""
        self._done += 1
        now = self._clock()
        if self._due_at is None:
            self._due_at = now + self._period_s
        elif now >= self._due_at:
            self._due_at = now + self._period_s
            self._log.info(self._what, extra={"changes": f"{self._done:,} of {max(total, self._done):,}"})
