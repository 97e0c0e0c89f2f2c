"""debounce.py: when the next pass is due, and the wait for it."""

import threading

import pytest

from f5router.app.debounce import EventSignal, wake_at
from tests.waiting import DEADLINE_S, ends_elsewhere

NOW = 100.0
LONG_S = 100_000.0


def ends(wait) -> bool:
    """True if a call returns although no event comes."""
    ended = threading.Event()
    threading.Thread(target=lambda: (wait(), ended.set()), daemon=True).start()
    return ended.wait(DEADLINE_S)


@pytest.mark.parametrize(("wake_s", "due"), [
    pytest.param(0.01, None, id="nothing is due"),
    pytest.param(0.01, NOW + LONG_S, id="due later"),
    pytest.param(LONG_S, NOW + 0.01, id="due earlier"),
    pytest.param(LONG_S, NOW - 1, id="overdue"),
])
def test_a_wait_ends_without_an_event(wake_s, due):
    """The loop is seen to be alive, whatever there is to wait for."""
    signal = EventSignal(lambda: NOW, wake_s=wake_s)
    assert ends(lambda: signal.wait(lambda: due))


@pytest.mark.parametrize("event", ["notify", "wake"])
def test_an_event_ends_a_wait(event):
    signal, asked = EventSignal(lambda: NOW, wake_s=LONG_S), threading.Event()
    waiting = threading.Thread(target=signal.wait, args=(lambda: asked.set(),), daemon=True)
    waiting.start()
    assert asked.wait(DEADLINE_S)
    getattr(signal, event)()
    waiting.join(DEADLINE_S)
    assert not waiting.is_alive()


def test_a_call_of_wake_before_the_wait_is_not_lost():
    signal = EventSignal(lambda: NOW, wake_s=LONG_S)
    signal.wake()
    assert ends(lambda: signal.wait(lambda: None))


@pytest.mark.parametrize(("first", "last", "due"), [
    (10.0, 10.0, 11.0), (10.0, 12.5, 13.5), (10.0, 14.9, 15.0)])
def test_due_after_a_pause_without_events_or_at_the_limit(first, last, due):
    now = [first]
    signal = EventSignal(lambda: now[0])
    assert signal.due(hold_off_s=1.0, limit_s=5.0) is None
    signal.notify()
    now[0] = last
    signal.notify()
    assert signal.due(hold_off_s=1.0, limit_s=5.0) == due
    signal.take()
    assert signal.due(hold_off_s=1.0, limit_s=5.0) is None


def test_endpoint_events_are_handled_apart():
    """`look` handles the endpoint events only: everything stays due."""
    signal = EventSignal(lambda: NOW)
    signal.notify()
    assert signal.unseen() == NOW
    signal.look()
    assert (signal.unseen(), signal.due(hold_off_s=1.0, limit_s=5.0)) == (None, NOW + 1)


def test_a_limit_below_the_pause_is_refused():
    with pytest.raises(ValueError, match="is below"):
        wake_at(1.0, 2.0, hold_off_s=2.0, limit_s=1.0)


def test_an_event_while_the_time_is_computed_ends_the_wait(clock):
    """It does not wait for the computation, which asks many objects, and the loop does not miss it."""
    signal, ended = EventSignal(clock), []

    def until():
        ended.append(ends_elsewhere(signal.notify))

    signal.wait(until)
    signal.wait(until)
    assert ended == [True, True]
