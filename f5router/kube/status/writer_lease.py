"""Whose turn it is to write, where several replicas wish for the same statuses.

Nothing is stored for it: who writes with success is the leader, who is overtaken follows, and writes
again when the leader has had its time. Source: pkg/router/writerlease of
openshift/router. Unlike there only a write of the same router name counts as being overtaken: a Route whose
labels change all the time, or another router's entry, holds up no other status. Neither does a contended
Route, which costs no request (see contention.py).
"""

import random
from collections.abc import Callable

LENGTH_S = 60.0
FIRST_S, FACTOR, STEPS = 0.02, 4, 5
JITTER = 0.5
"""Largest part that is added to each step."""


class WriterLease:
    """Not thread-safe."""

    def __init__(self, *, clock: Callable[[], float],
                 jitter: Callable[[float, float], float] = random.uniform):
        """jitter: a number between two others."""
        self._clock, self._jitter = clock, jitter
        self.following = False
        """Whether another was quicker, since the last write that succeeded."""
        self._steps = 0
        self._lost_at = float("-inf")
        self._until = 0.0

    def wait_s(self) -> float:
        """Seconds until a write may be sent; 0 for now."""
        return max(0.0, self._until - self._clock()) if self.following else 0.0

    def won(self) -> None:
        """A write succeeded."""
        self.following, self._steps = False, 0

    def lost(self, begun: float) -> None:
        """Another of the same name was quicker: let it write.

        Args: begun: when the write began that shows it; several that were under way count once.
        """
        if self.wait_s() or begun < self._lost_at:
            return
        self._lost_at = self._clock()
        self._steps = self._steps + 1 if self.following else 0
        self.following = True
        self._until = self._clock() + self._backoff_s()

    def served(self) -> None:
        """What we wished for is there without our doing: the leader is at work."""
        if self.following:
            self.lost(self._clock())

    def _backoff_s(self) -> float:
        if self._steps > STEPS:
            return LENGTH_S
        # The first wait is twice as long, to give the leader a chance.
        seconds = FIRST_S * 2 if self._steps == 0 else FIRST_S
        for _ in range(self._steps):
            seconds *= FACTOR * (1 + self._jitter(0, JITTER))
        return min(LENGTH_S, seconds)
