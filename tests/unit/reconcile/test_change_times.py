"""Times from an event to its confirmed writes."""

import pytest

from f5router.model.objects import Ref
from f5router.reconcile.change_times import BUCKETS_S, ChangeTimes

A, B = Ref("ltm/pool", "/Common/a"), Ref("ltm/rule", "/Common/b")


class Bench:
    """Change times with a clock, and the objects that wait."""

    def __init__(self):
        self.now, self.waiting = 100.0, {A, B}
        self.times = ChangeTimes(lambda ref: ref in self.waiting, lambda: self.now)

    def note(self, event_at, *refs):
        self.times.begin(event_at)
        self.times.note(refs)

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


def test_an_object_that_left_the_queue_unwritten_begins_anew(bench):
    bench.note(50.0, A)
    bench.waiting.discard(A)
    assert bench.times.oldest_s() == 0.0
    bench.note(99.0, A)
    bench.waiting.add(A)
    assert bench.times.oldest_s() == 1.0


def test_without_an_event_it_is_now(bench):
    bench.note(None, A)
    bench.now = 103.0
    assert bench.times.oldest_s() == 3.0


def test_an_event_is_not_of_the_future(bench):
    bench.note(200.0, A)
    bench.times.written(A)
    assert bench.written() == {"ltm/pool": 0.0}


def test_what_is_settled_is_forgotten(bench):
    """Nothing was to be written, or the BIG-IP refused it; what is tried again stays."""
    bench.note(90.0, A, B)
    bench.waiting.discard(A)
    bench.times.settle([A, B])
    assert len(bench.times) == 1
    bench.times.keep({A})
    assert len(bench.times) == 0
    bench.times.written(B)  # as after a retry
    assert bench.written() == {}


def test_buckets(bench):
    """Each duration in one bucket, the upper bound included."""
    for took_s in (BUCKETS_S[0], BUCKETS_S[0] + 0.001, BUCKETS_S[-1] + 1):
        bench.note(bench.now, A)
        bench.now += took_s
        bench.times.written(A)
    buckets = bench.times.seconds["ltm/pool"].buckets
    assert (buckets[0], buckets[1], buckets[-1], sum(buckets)) == (1, 1, 1, 3)
