"""Times from an event of the cluster to the confirmed writes that it causes, for metrics.

The row of each object that an event touched has the time of the oldest event that is not written yet. The
loop records; any thread may read.
"""

import bisect
from collections.abc import Callable

from f5router.model.objects import Ref
from f5router.reconcile.row import RowState
from f5router.reconcile.table import Table

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
    """Durations by kind of object; which objects wait, the table knows."""

    def __init__(self, table: Table, clock: Callable[[], float]):
        self._table, self._clock = table, clock
        self.seconds: dict[str, Seconds] = {}
        """Durations by kind of object."""

    def written(self, ref: Ref) -> None:
        """Take a confirmed write."""
        row = self._table.rows.get(ref)
        if row is None or row.since is None:
            return
        if (seconds := self.seconds.get(ref.kind)) is None:
            seconds = self.seconds[ref.kind] = Seconds()
        seconds.observe(self._clock() - row.since)
        row.since = None

    def oldest_s(self) -> float:
        """Return the age of the oldest event that is not written yet; 0 if nothing waits. From any thread."""
        ages = [row.since for row in self._table.rows.copy().values()
                if row.since is not None and row.state in (RowState.DUE, RowState.SENT)]
        return max(0.0, self._clock() - min(ages)) if ages else 0.0
