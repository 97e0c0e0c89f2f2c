"""Times from an event to its confirmed writes."""

import pytest

from f5router.model.errors import Refused
from f5router.model.objects import Ref
from f5router.reconcile.change_times import BUCKETS_S, ChangeTimes
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers

A, B = Ref("ltm/pool", "/Common/a"), Ref("ltm/rule", "/Common/b")


class Bench:
    """Change times with a clock, of objects that differ."""

    def __init__(self):
        self.now = 100.0
        self.table = Table(lambda: ({A: "wanted", B: "wanted"}, {}), Timers(), lambda: self.now)
        self.table.queue.add = lambda refs, desired, observed: None  # of objects without contents
        self.times = ChangeTimes(self.table, lambda: self.now)

    def note(self, event_at, *refs):
        self.table.touch(refs, since=event_at)

    def written(self) -> dict[str, float]:
        return {kind: seconds.sum_s for kind, seconds in self.times.seconds.items()}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_the_oldest_event_counts(bench):
    """An object that waits already keeps its time."""
    bench.note(95.0, A)
    bench.note(99.0, A, B)
    assert bench.times.oldest_s() == 5.0
    bench.times.written(A)
    assert bench.times.oldest_s() == 1.0
    bench.now = 101.0
    bench.times.written(B)
    assert bench.written() == {"ltm/pool": 5.0, "ltm/rule": 2.0}
    assert bench.times.oldest_s() == 0.0


def test_a_refused_object_waits_no_longer(bench):
    """Its next attempt is for no event; a later event counts from its own time."""
    bench.note(50.0, A)
    bench.table.refuse(A, Refused(text="no"))
    assert bench.times.oldest_s() == 0.0
    bench.note(99.0, A)
    assert bench.times.oldest_s() == 1.0


def test_buckets(bench):
    """Each duration in one bucket, the upper bound included."""
    for took_s in (BUCKETS_S[0], BUCKETS_S[0] + 0.001, BUCKETS_S[-1] + 1):
        bench.note(bench.now, A)
        bench.now += took_s
        bench.times.written(A)
    buckets = bench.times.seconds["ltm/pool"].buckets
    assert (buckets[0], buckets[1], buckets[-1], sum(buckets)) == (1, 1, 1, 3)
