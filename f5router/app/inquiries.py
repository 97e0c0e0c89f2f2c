"""Questions of other threads about what the control loop owns, which it answers between two of its steps."""

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from typing import Any, TypeVar

from f5router.model.errors import Unanswered
from f5router.model.limits import Steps

T = TypeVar("T")

BUDGET_S = 0.002
"""Longest time for answers before the loop goes on, plus one step."""
MOST = 64
"""Questions that wait; further ones are refused."""


class _Inquiry:
    """A question, with the steps of its answer."""

    def __init__(self, begin: Callable[[], Steps[Any]]):
        self._begin = begin
        self._steps: Steps[Any] | None = None
        self.result: Future[Any] = Future()

    def step(self) -> bool:
        """Do a step; returns True if it was the last one."""
        if self.result.cancelled():
            return True
        try:
            if self._steps is None:
                self._steps = self._begin()
            next(self._steps)
            return False
        except StopIteration as end:
            if self.result.set_running_or_notify_cancel():
                self.result.set_result(end.value)
        except Exception as exc:
            if self.result.set_running_or_notify_cancel():
                self.result.set_exception(exc)
        return True


class Inquiries:
    """The queue of questions. Any thread calls `ask`; `answer` is called by the control loop alone."""

    def __init__(self, wake: Callable[[], None], *, clock: Callable[[], float] = time.perf_counter):
        """Args: wake: ends the wait of the loop; called when a question waits."""
        self._wake, self._clock = wake, clock
        self._lock = threading.Lock()
        self._waiting: deque[_Inquiry] = deque()

    def ask(self, begin: Callable[[], Steps[T]], *, timeout_s: float) -> T:
        """Return the answer to a question.

        Args: begin: begins the steps that find the answer, in the thread of the loop.
        Raises: Unanswered: the loop is busy for too long, or too many others wait.
        """
        inquiry = _Inquiry(begin)
        with self._lock:
            if len(self._waiting) >= MOST:
                raise Unanswered("too many requests wait for the control loop")
            self._waiting.append(inquiry)
        self._wake()
        try:
            answer: T = inquiry.result.result(timeout_s)
        except NotInTime:
            inquiry.result.cancel()
            raise Unanswered(f"the control loop has not answered within {timeout_s:g} s") from None
        return answer

    def answer(self) -> None:
        """Answer for at most BUDGET_S, each question in its turn."""
        if not self._waiting:
            return
        end = self._clock() + BUDGET_S
        while self._waiting:
            with self._lock:
                inquiry = self._waiting.popleft()
            if not inquiry.step():
                with self._lock:
                    self._waiting.append(inquiry)
            if self._clock() >= end:
                break
        if self._waiting:
            self._wake()
