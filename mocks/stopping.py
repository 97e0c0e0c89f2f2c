"""Signals that end a fake in the foreground."""

import signal
import threading


def stop_event() -> threading.Event:
    """An event that SIGTERM and SIGINT set. Only the main thread may call this."""
    stop = threading.Event()

    def handle(*_: object) -> None:
        # Not here: the thread that is interrupted may hold the event's lock.
        threading.Thread(target=stop.set, daemon=True).start()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
    return stop
