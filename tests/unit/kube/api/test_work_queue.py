"""work_queue.py: the newest item per key, each in its time."""

import threading
import time

import pytest

from f5router.kube.api.work_queue import WorkQueue
from f5router.model.cluster import Key
from tests.waiting import DEADLINE_S

FAST = 1e6
A, B, OTHER = Key("shop", "a"), Key("shop", "b"), Key("other", "c")


@pytest.fixture
def pending():
    queue = WorkQueue(rate_per_s=FAST)
    yield queue
    queue.close()


def taken(pending):
    item = pending.take()
    pending.done(item)
    return item.key, item.value


def test_order(pending):
    """First come, first served; a newer item waits where it came."""
    pending.put(A, 1)
    pending.put(B, 1)
    pending.put(A, 2)
    assert [taken(pending), taken(pending)] == [(B, 1), (A, 2)]
    assert pending.wait_empty(0)


def test_equal_item_keeps_its_place(pending):
    pending.put(A, 1)
    pending.put(B, 1)
    pending.put(A, 1)
    assert [taken(pending), taken(pending)] == [(A, 1), (B, 1)]


def test_newer_item_of_a_taken_key(pending):
    """It waits until the key is given back, and stands in for the retry."""
    pending.put(A, 1)
    item = pending.take()
    pending.put(A, 2)
    pending.put(B, 1)
    assert pending.take().key == B
    pending.done(item, 60.0)
    assert taken(pending) == (A, 2)


def test_retry_waits(pending):
    pending.put(A, 1)
    pending.done(pending.take(), 0.05)
    started = time.monotonic()
    assert not pending.wait_empty(0)
    item = pending.take()
    assert time.monotonic() - started >= 0.04
    assert (item.value, item.failures) == (1, 1)


def test_nobody_waits_for_a_parked_item(pending):
    """It is taken when it is due, or at once if somebody asks for it: then that is waited for."""
    pending.put(A, 1)
    pending.done(pending.take(), 0.05, parked=True)
    assert (pending.wait_empty(0), len(pending)) == (True, 0)
    item = pending.take()
    assert (item.value, item.failures) == (1, 1)
    assert not pending.wait_empty(0)
    for value, failures in ((1, 2), (2, 0)):
        pending.done(item, 60.0, parked=True)
        assert (pending.wait_empty(0), len(pending)) == (True, 0)
        pending.put(A, value)
        assert (pending.wait_empty(0), len(pending)) == (False, 1)
        item = pending.take()
        assert (item.value, item.failures) == (value, failures)


def test_retry_is_replaced_by_a_newer_item(pending):
    """A new wish is not held up by the failures of the old one."""
    pending.put(A, 1)
    pending.done(pending.take(), 60.0)
    pending.put(A, 2)
    item = pending.take()
    assert (item.value, item.failures) == (2, 0)


def test_delay(pending):
    """A new item may wait too; one that is given back lets it wait on."""
    pending.put(A, 1)
    item = pending.take()
    started = time.monotonic()
    pending.put(A, 2, 0.05)
    pending.done(item)
    assert taken(pending) == (A, 2)
    assert time.monotonic() - started >= 0.04


def flood(pending, count=10_000, **options):
    for number in range(count):
        pending.put(Key("flood", str(number)), number, **options)


@pytest.mark.parametrize("delay_s", [0.0, 5.0])
def test_a_namespace_with_many_items_does_not_starve_others(delay_s):
    """They take turns, also with what was to wait; within a namespace the order stays."""
    now = [0.0]
    pending = WorkQueue(rate_per_s=FAST, clock=lambda: now[0])
    flood(pending, delay_s=delay_s)
    for key in (A, OTHER, B):
        pending.put(key, 1, delay_s)
    now[0] += delay_s
    keys = [taken(pending)[0] for _ in range(7)]
    assert keys == [Key("flood", "0"), A, OTHER, Key("flood", "1"), B, Key("flood", "2"), Key("flood", "3")]


def test_nothing_is_taken_before_it_is_due():
    """Whoever is next: a turn is for what is due."""
    now = [0.0]
    pending = WorkQueue(rate_per_s=FAST, clock=lambda: now[0])
    pending.put(OTHER, 1, 60.0)
    flood(pending, 3)
    assert [taken(pending)[0].namespace for _ in range(3)] == ["flood"] * 3
    assert len(pending) == 1
    now[0] = 60.0
    assert taken(pending) == (OTHER, 1)


@pytest.mark.parametrize(("namespace", "before", "makes", "left"), [
    pytest.param("shop", 10, True, 9, id="in favour of another namespace"),
    pytest.param("flood", 10, False, 10, id="not of itself"),
    pytest.param("shop", 1, False, 1, id="not of one that has as much"),
])
def test_room_is_made_by_who_has_most(pending, namespace, before, makes, left):
    flood(pending, before)
    assert pending.make_room(namespace) is makes
    assert len(pending) == left
    assert [taken(pending)[0].name for _ in range(left)] == [str(number) for number in range(left)]
    assert pending.wait_empty(0)


def test_pause(pending):
    started = time.monotonic()
    pending.pause(0.05)
    pending.put(A, 1)
    assert taken(pending) == (A, 1)
    assert time.monotonic() - started >= 0.05


def test_rate():
    pending = WorkQueue(rate_per_s=100)
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
        thread.join(DEADLINE_S)
    assert results == [None, None]
    assert pending.spend() is False


def test_wait_empty(pending):
    pending.put(A, 1)
    assert not pending.wait_empty(0)
    item = pending.take()
    assert not pending.wait_empty(0)
    pending.done(item)
    assert pending.wait_empty(0)


def test_wait_empty_is_given_up(pending):
    """When something else says so; not while a worker may still finish."""
    pending.put(A, 1)
    assert not pending.wait_empty(60, unless=lambda: True)
    item = pending.take()
    assert not pending.wait_empty(0.01, unless=lambda: True)
    pending.done(item)
    assert pending.wait_empty(0, unless=lambda: True)


def test_the_rate_grows_while_it_is_the_limit():
    now = [0.0]
    pending = WorkQueue(rate_per_s=100, first_per_s=20, clock=lambda: now[0])
    for _ in range(3):  # nobody waited
        assert pending.spend()
        pending.accepted()
        now[0] += 1
    assert pending.rate_per_s() == 20
    assert pending.spend()
    waiting = threading.Thread(target=pending.spend)
    waiting.start()
    while waiting.is_alive():
        now[0] += 0.1
        pending.put(A, now[0])  # wakes it
        waiting.join(0.01)
    pending.accepted()
    assert pending.rate_per_s() == pytest.approx(20.2)
    pending.refused()
    assert pending.rate_per_s() == pytest.approx(10.1)
