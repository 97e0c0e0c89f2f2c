"""A reading of the device beside the control loop."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

Result = TypeVar("Result")


class Reading(Future[Result]):
    """Result of a thread that reads."""

    cpu_s = 0.0
    """Seconds of CPU that it took, once it has ended."""


def begin(read: Callable[[], Result], ended: Callable[[], None]) -> Reading[Result]:
    """Read in a thread that nobody waits for, also at the end. Args: ended: called from it."""
    future: Reading[Result] = Reading()
    future.add_done_callback(lambda _: ended())

    def run() -> None:
        try:
            result = read()
        except BaseException as exc:
            future.cpu_s = time.thread_time()
            future.set_exception(exc)
        else:
            future.cpu_s = time.thread_time()
            future.set_result(result)

    threading.Thread(target=run, daemon=True, name="reading").start()
    return future
