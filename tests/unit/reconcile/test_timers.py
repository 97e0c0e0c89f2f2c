"""One heap of timers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.reconcile.timers import Timers

NAMES = st.sampled_from("abc")


def test_a_new_time_replaces_the_one_before():
    timers, fired = Timers(), []
    timers.at(5.0, "a", lambda: fired.append("early"))
    timers.at(9.0, "a", lambda: fired.append("late"))
    assert (timers.next_at(), timers.when("a"), timers.when("b")) == (9.0, 9.0, None)
    timers.fire(8.0)
    assert fired == []
    timers.fire(9.0)
    assert (fired, timers.next_at()) == (["late"], None)


def test_a_timer_that_its_action_sets_again_waits():
    timers, fired = Timers(), []

    def again() -> None:
        fired.append(1)
        timers.at(0.0, "a", again)

    timers.at(0.0, "a", again)
    timers.fire(10.0)
    assert fired == [1]
    timers.cancel("a")
    timers.cancel("a")
    assert timers.next_at() is None


def test_an_action_that_fails_ends_no_other():
    """The others stay due, but for a timer that was set anew."""
    timers, fired = Timers(), []

    def fail() -> None:
        timers.at(30.0, "c", lambda: fired.append("c"))
        raise ZeroDivisionError

    timers.at(1.0, "a", fail)
    timers.at(2.0, "b", lambda: fired.append("b"))
    timers.at(3.0, "c", lambda: fired.append("old"))
    with pytest.raises(ZeroDivisionError):
        timers.fire(10.0)
    assert (fired, timers.next_at()) == ([], 2.0)
    timers.fire(10.0)
    assert (fired, timers.next_at()) == (["b"], 30.0)


@given(st.lists(st.tuples(NAMES, st.one_of(st.none(), st.integers(0, 20))), max_size=20), st.integers(0, 20))
def test_what_is_set_fires_in_the_order_of_time(steps, now):
    """Steps set a timer, or cancel it."""
    timers, fired, there = Timers(), [], {}
    for name, at in steps:
        if at is None:
            timers.cancel(name)
            there.pop(name, None)
        else:
            timers.at(at, name, lambda name=name: fired.append(name))
            there[name] = at
    assert timers.next_at() == min(there.values(), default=None)
    timers.fire(now)
    assert [there[name] for name in fired] == sorted(at for at in there.values() if at <= now)
    assert timers.next_at() == min((at for at in there.values() if at > now), default=None)
