"""debounce.py: when changes of the cluster are due."""

import pytest

from f5router.app.debounce import FEW, LEAD_S, EventSignal, wake_at

NOW = 100.0


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


@pytest.mark.parametrize(("events", "at_rest", "due_in"), [
    pytest.param(1, True, LEAD_S, id="one"),
    pytest.param(FEW, True, LEAD_S, id="a few"),
    pytest.param(FEW + 1, True, 1.0, id="a burst"),
    pytest.param(1, False, 1.0, id="while something is under way"),
])
def test_a_few_events_at_rest_wait_for_no_hold_off(events, at_rest, due_in):
    signal = EventSignal(lambda: NOW)
    for _ in range(events):
        signal.notify()
    assert signal.due(hold_off_s=1.0, limit_s=5.0, at_rest=at_rest) == NOW + due_in


def test_events_that_are_given_back_are_due_as_before():
    """Others may have come since they were taken."""
    now = [NOW]
    signal = EventSignal(lambda: now[0])
    signal.notify()
    first = signal.take()
    assert first == NOW
    signal.give_back(first)
    assert signal.due(hold_off_s=1.0, limit_s=5.0) == NOW + 1.0
    signal.take()
    now[0] += 0.5
    signal.notify()
    signal.give_back(first)
    assert (signal.first, signal.due(hold_off_s=1.0, limit_s=5.0)) == (NOW, NOW + 1.5)


def test_only_the_first_event_changes_when_the_loop_has_something_to_do():
    """Later ones only put off the time of a turn that comes anyway."""
    signal, told = EventSignal(lambda: NOW), list[bool]()
    signal.on_event = told.append
    for _ in range(2):
        signal.notify()
        signal.notify()
        signal.take()
    assert told == [True, False, True, False]
