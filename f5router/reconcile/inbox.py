"""The inbox of the loop, and its long computations."""

import math
import time
import weakref
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue

from f5router.model.limits import Steps

Message = Callable[[], None]
"""Function that the loop calls when it takes the message."""


class Inbox:
    """Messages of other threads: requests that have ended, and wakes. Any thread puts, the loop takes."""

    def __init__(self) -> None:
        self._queue: SimpleQueue[Message | None] = SimpleQueue()
        self._woken = False
        """True while a wake is queued that was not taken: one is enough."""

    def put(self, message: Message) -> None:
        """Deliver a message."""
        self._queue.put(message)

    def wake(self) -> None:
        """Let the loop look at once what is due."""
        if not self._woken:
            self._woken = True
            self._queue.put(None)

    def take(self, wait_s: float) -> list[Message]:
        """Return the messages that have come. Args: wait_s: longest wait for one, 0 to wait for none."""
        messages: list[Message] = []
        try:
            message = self._queue.get(timeout=wait_s) if wait_s > 0 else self._queue.get_nowait()
            while True:
                if message is None:
                    self._woken = False  # before anything is looked at
                else:
                    messages.append(message)
                message = self._queue.get_nowait()
        except Empty:
            return messages


def weakly(method: Callable[..., None]) -> Callable[..., None]:
    """Return a function that calls a method while its object exists: no cycle of references keeps it."""
    reference = weakref.WeakMethod(method)

    def call(*arguments: object) -> None:
        if (bound := reference()) is not None:
            bound(*arguments)

    return call


class Work:
    """Long computations of the loop, done in their order and a step of about a millisecond at a time."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter):
        self._clock = clock
        self._waiting: deque[Steps[None]] = deque()

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, steps: Steps[None]) -> None:
        """Add a computation behind the others."""
        self._waiting.append(steps)

    def finish(self) -> None:
        """Do all steps. Raises: as `step`."""
        while self._waiting:
            self.step(math.inf)

    def step(self, longest_s: float) -> None:
        """Do steps for so long. Raises: what a step raises; the rest of its computation is dropped."""
        end = self._clock() + longest_s
        while self._waiting:
            steps = self._waiting[0]
            try:
                next(steps)
            except StopIteration:
                self._waiting.popleft()
            except BaseException:
                self._waiting.popleft()
                raise
            if self._clock() >= end:
                return
