"""Messages of other threads, and computations in steps."""

import threading

import pytest

from f5router.reconcile.inbox import Inbox, Work
from tests.waiting import DEADLINE_S


def test_messages_come_in_their_order_and_wakes_are_one():
    inbox, taken = Inbox(), []
    inbox.wake()
    inbox.put(lambda: taken.append(1))
    inbox.wake()
    inbox.put(lambda: taken.append(2))
    for message in inbox.take(DEADLINE_S):
        message()
    assert taken == [1, 2]
    assert inbox.take(0.0) == []


@pytest.mark.parametrize("event", ["put", "wake"])
def test_a_message_ends_the_wait(event):
    inbox, ended = Inbox(), threading.Event()
    waiting = threading.Thread(target=lambda: (inbox.take(DEADLINE_S), ended.set()), daemon=True)
    waiting.start()
    inbox.wake() if event == "wake" else inbox.put(lambda: None)
    assert ended.wait(DEADLINE_S)


def test_a_wake_after_a_wake_was_taken_counts():
    inbox = Inbox()
    for _ in range(2):
        inbox.wake()
        assert inbox.take(DEADLINE_S) == []


class Ticks:
    """A clock that goes on by a second whenever it is read."""

    now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def test_computations_go_on_in_their_order_for_a_while():
    done: list[str] = []

    def steps(name: str):
        for number in range(3):
            done.append(f"{name}{number}")
            yield

    work = Work(Ticks())
    work.add(steps("a"))
    work.add(steps("b"))
    work.step(2.0)
    assert done == ["a0", "a1"]
    while work:
        work.step(1.0)
    assert done == ["a0", "a1", "a2", "b0", "b1", "b2"]


def test_a_computation_that_fails_is_dropped():
    def fails():
        yield
        raise ValueError("no")

    work = Work(Ticks())
    work.add(fails())
    with pytest.raises(ValueError, match="no"):
        work.step(10.0)
    assert not work
