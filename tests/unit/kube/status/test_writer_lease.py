"""writerlease.py: who may write, of several. Numbers: openshift/router, pkg/router/writerlease."""

import pytest

from f5router.kube.status.writer_lease import LENGTH_S, WriterLease


@pytest.fixture
def lease(clock):
    return WriterLease(clock=clock, jitter=lambda low, high: low)


def run_out(lease, clock):
    clock.now += lease.wait_s()


def test_nobody_has_it_at_first(lease):
    assert lease.wait_s() == 0


def test_the_leader_never_waits(lease, clock):
    lease.won()
    lease.served()
    assert lease.wait_s() == 0
    clock.now += 10 * LENGTH_S
    assert lease.wait_s() == 0


def test_a_follower_waits_longer_each_time(lease, clock):
    """20 ms times 4 per step, the first doubled; a minute after five steps."""
    waits = []
    for _ in range(8):
        lease.lost(clock())
        waits.append(lease.wait_s())
        run_out(lease, clock)
    assert waits == pytest.approx([0.04, 0.08, 0.32, 1.28, 5.12, 20.48, 60, 60])


def test_jitter(clock):
    lease = WriterLease(clock=clock, jitter=lambda low, high: high)
    for expected in (0.04, 0.12, 0.72):
        lease.lost(clock())
        assert lease.wait_s() == pytest.approx(expected)
        run_out(lease, clock)


@pytest.mark.parametrize("event", ["lost", "served"])
def test_several_events_are_one_step(lease, clock, event):
    """Many Routes wait for the same leader."""
    def happens() -> None:
        lease.lost(clock()) if event == "lost" else lease.served()

    lease.lost(clock())
    for _ in range(10):
        happens()
    assert lease.wait_s() == pytest.approx(0.04)
    run_out(lease, clock)
    happens()
    assert lease.wait_s() == pytest.approx(0.08)


def test_writes_that_were_under_way_together_are_one_step(lease, clock):
    """Their replies may come when the wait is over already."""
    begun = clock()
    clock.now += 0.01
    lease.lost(begun)
    run_out(lease, clock)
    lease.lost(begun)
    assert lease.wait_s() == 0
    lease.lost(clock())
    assert lease.wait_s() == pytest.approx(0.08)


def test_success_ends_it(lease, clock):
    for _ in range(4):
        lease.lost(clock())
        run_out(lease, clock)
    lease.won()
    lease.lost(clock())
    assert lease.wait_s() == pytest.approx(0.04)
