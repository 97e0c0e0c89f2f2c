"""pending.py and backoff.py: the newest item per key, each in its time."""

import threading
import time

import pytest

from f5router.kube.backoff import delay_s
from f5router.kube.pending import Pending

FAST = 1e6


@pytest.fixture
def pending():
    queue = Pending(rate_per_s=FAST)
    yield queue
    queue.close()


def taken(pending):
    job = pending.take()
    pending.done(job)
    return job.key, job.item


def test_order(pending):
    """First come, first served; a newer item waits where it came."""
    pending.put("a", 1)
    pending.put("b", 1)
    pending.put("a", 2)
    assert [taken(pending), taken(pending)] == [("b", 1), ("a", 2)]
    assert pending.wait_empty(0)


def test_equal_item_keeps_its_place(pending):
    pending.put("a", 1)
    pending.put("b", 1)
    pending.put("a", 1)
    assert [taken(pending), taken(pending)] == [("a", 1), ("b", 1)]


def test_newer_item_of_a_taken_key(pending):
    """It waits until the key is given back, and stands in for the retry."""
    pending.put("a", 1)
    job = pending.take()
    pending.put("a", 2)
    pending.put("b", 1)
    assert pending.take().key == "b"
    pending.done(job, 60.0)
    assert taken(pending) == ("a", 2)


def test_retry_waits(pending):
    pending.put("a", 1)
    pending.done(pending.take(), 0.05)
    started = time.monotonic()
    assert not pending.wait_empty(0)
    job = pending.take()
    assert time.monotonic() - started >= 0.04
    assert (job.item, job.failures) == (1, 1)


def test_retry_is_replaced_by_a_newer_item(pending):
    """A new wish is not held up by the failures of the old one."""
    pending.put("a", 1)
    pending.done(pending.take(), 60.0)
    pending.put("a", 2)
    job = pending.take()
    assert (job.item, job.failures) == (2, 0)


def test_delay(pending):
    """A new item may wait too; one that is given back lets it wait on."""
    pending.put("a", 1)
    job = pending.take()
    started = time.monotonic()
    pending.put("a", 2, 0.05)
    pending.done(job)
    assert taken(pending) == ("a", 2)
    assert time.monotonic() - started >= 0.04


def test_pause(pending):
    started = time.monotonic()
    pending.pause(0.05)
    pending.put("a", 1)
    assert taken(pending) == ("a", 1)
    assert time.monotonic() - started >= 0.05


def test_rate():
    pending = Pending(rate_per_s=100)
    started = time.monotonic()
    for _ in range(6):
        assert pending.spend()
    assert time.monotonic() - started >= 0.05


def test_close_ends_waiting(pending):
    results = []
    threads = [threading.Thread(target=lambda: results.append(pending.take())) for _ in range(2)]
    for thread in threads:
        thread.start()
    pending.close()
    for thread in threads:
        thread.join(5)
    assert results == [None, None]
    assert pending.spend() is False


def test_wait_empty(pending):
    pending.put("a", 1)
    assert not pending.wait_empty(0)
    job = pending.take()
    assert not pending.wait_empty(0)
    pending.done(job)
    assert pending.wait_empty(0)


def test_wait_empty_is_given_up(pending):
    """When something else says so; not while a worker may still finish."""
    pending.put("a", 1)
    assert not pending.wait_empty(60, unless=lambda: True)
    job = pending.take()
    assert not pending.wait_empty(0.01, unless=lambda: True)
    pending.done(job)
    assert pending.wait_empty(0, unless=lambda: True)


@pytest.mark.parametrize(("failures", "retry_after_s", "low", "high"), [
    pytest.param(1, None, 0.25, 0.5, id="first"),
    pytest.param(4, None, 2, 4, id="doubles"),
    pytest.param(50, None, 30, 60, id="limit"),
    pytest.param(100_000, None, 30, 60, id="no overflow"),
    pytest.param(1, 20, 20, 20, id="the server asks for more"),
    pytest.param(9, 1, 30, 60, id="the server asks for less"),
])
def test_backoff(failures, retry_after_s, low, high):
    for _ in range(20):
        assert low <= delay_s(failures, first_s=0.5, limit_s=60, retry_after_s=retry_after_s) <= high
