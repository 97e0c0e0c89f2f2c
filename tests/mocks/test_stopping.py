"""How the fakes are told to end."""

import signal

import pytest

from mocks.stopping import stop_event
from tests.signals import signal_in_wait
from tests.waiting import DEADLINE_S

NUMBERS = (signal.SIGTERM, signal.SIGINT)


@pytest.fixture(autouse=True)
def _restored():
    before = {number: signal.getsignal(number) for number in NUMBERS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", NUMBERS)
def test_while_the_waiting_thread_holds_the_lock(number):
    """A signal may come between two lines of Event.wait(), which has the lock there."""
    assert signal_in_wait(stop_event(), number, timeout_s=DEADLINE_S)
