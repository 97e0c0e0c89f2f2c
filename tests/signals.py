"""Signals at moments that a test chooses, and programs that handle signals, in the process of a test."""

import os
import signal
import sys
import threading

import click
from click.testing import CliRunner, Result


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


def command_line(program: click.Command, *arguments: str) -> Result:
    """Run a program that ends by itself, such as one with wrong arguments; signals are handled as before."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        return CliRunner().invoke(program, arguments)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
