"""Signals at moments that a test chooses."""

import os
import sys
import threading


def signal_in_wait(event: threading.Event, number: int, *, timeout_s: float) -> bool:
    """Wait for an event, and send this process a signal while that holds the event's lock.

    Event.wait() calls Condition.wait() with the lock held. Only the main thread runs signal handlers.
    """
    def profile(frame, kind, _):
        if kind == "call" and frame.f_code is threading.Condition.wait.__code__:
            sys.setprofile(None)
            os.kill(os.getpid(), number)

    sys.setprofile(profile)
    try:
        return event.wait(timeout_s)
    finally:
        sys.setprofile(None)
