"""Waiting for what other threads and processes do.

A test never bets on the speed of the machine: a wait ends as soon as its condition holds, and its deadline
is far beyond what a loaded machine needs. pytest-timeout ends a test that hangs elsewhere.
"""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

DEADLINE_S = 240.0
"""After so long a wait fails; below the time-out that pytest has for a test."""

POLL_S = 0.01
SLOW_POLL_S = 0.1
"""Pauses before a condition is looked at again: longer if it takes long to look at, so that what it waits for
gets most of the machine."""

Result = TypeVar("Result")


def until(condition: Callable[[], Result], problem: Callable[[], object] | str = "not in time") -> Result:
    """Wait until a condition is true, and return its value. Args: problem: what the failure says."""
    deadline, pause, begin = time.monotonic() + DEADLINE_S, threading.Event(), time.monotonic()
    while not (result := condition()):
        now = time.monotonic()
        assert now < deadline, problem() if callable(problem) else problem
        pause.wait(min(max(POLL_S, 4 * (now - begin)), SLOW_POLL_S))
        begin = time.monotonic()
    return result


def ends_elsewhere(action: Callable[[], object]) -> bool:
    """True if another thread completes an action meanwhile: no lock of the caller keeps it waiting."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    thread.join(DEADLINE_S)
    return not thread.is_alive()
