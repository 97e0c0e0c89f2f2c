"""debounce.py: when the next pass is due, and the wait for it."""

from f5router.app.debounce import EventSignal
from tests.waiting import ends_elsewhere


def test_an_event_while_the_time_is_computed_ends_the_wait(clock):
    """It does not wait for the computation, which asks many objects, and the loop does not miss it."""
    signal, ended = EventSignal(clock), []

    def until():
        ended.append(ends_elsewhere(signal.notify))

    signal.wait(until)
    signal.wait(until)
    assert ended == [True, True]
