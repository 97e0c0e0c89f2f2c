"""Times from an event of the cluster to the confirmed writes that it causes, for metrics.

Each object that an event touched has the time of the oldest event that is not written yet. The control loop
records; `seconds` and `oldest_at` may be read by any thread.
"""

import bisect
from collections.abc import Callable, Iterable, Set

from f5router.model.objects import Ref

BUCKETS_S = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
"""Upper bounds of the buckets, in seconds: from a change of endpoints to the load of a large cluster."""


class Seconds:
    """A histogram of durations."""

    def __init__(self) -> None:
        self.buckets = [0] * (len(BUCKETS_S) + 1)
        """Number of durations by bucket, each in one; the last has no upper bound."""
        self.sum_s = 0.0

    def observe(self, took_s: float) -> None:
        """Count a duration."""
        self.buckets[bisect.bisect_left(BUCKETS_S, took_s)] += 1
        self.sum_s += took_s


class ChangeTimes:
    """Objects that wait to be written because of an event, with the time of the event."""

    def __init__(self, is_waiting: Callable[[Ref], bool], clock: Callable[[], float]):
        """Args: is_waiting: True for an object that a pass or a write of members has still to take."""
        self._is_waiting, self._clock = is_waiting, clock
        self._since: dict[Ref, float] = {}
        """The oldest first, but for what was noted out of turn."""
        self._event_at: float | None = None
        self.seconds: dict[str, Seconds] = {}
        """Durations by kind of object."""

    def __len__(self) -> int:
        return len(self._since)

    def begin(self, event_at: float | None) -> None:
        """Take the time of the oldest event of those that are handled now; None if there is none."""
        self._event_at = event_at

    def note(self, refs: Iterable[Ref]) -> None:
        """Take objects that these events touched. One that waits already keeps its time."""
        now = self._clock()
        event_at = now if self._event_at is None else min(self._event_at, now)
        for ref in refs:
            if ref not in self._since or not self._is_waiting(ref):
                self._since[ref] = event_at

    def written(self, ref: Ref) -> None:
        """Take a confirmed write."""
        since = self._since.pop(ref, None)
        if since is not None:
            if (seconds := self.seconds.get(ref.kind)) is None:
                seconds = self.seconds[ref.kind] = Seconds()
            seconds.observe(self._clock() - since)

    def settle(self, refs: Iterable[Ref]) -> None:
        """Forget those of these objects that no longer wait: nothing was to be written, or it was refused."""
        for ref in refs:
            if ref in self._since and not self._is_waiting(ref):
                del self._since[ref]

    def keep(self, refs: Set[Ref]) -> None:
        """Forget all others: the device was read, and only these differ from what is wanted."""
        self._since = {ref: since for ref, since in self._since.items() if ref in refs}

    def oldest_s(self) -> float:
        """Return the age of the oldest event that is not written yet; 0 if nothing waits. From any thread."""
        since = next((since for ref, since in self._since.copy().items() if self._is_waiting(ref)), None)
        return 0.0 if since is None else max(0.0, self._clock() - since)
