"""Repetition of a request that failed for a reason that passes.

The first attempt is a plain call: only a failure needs tenacity, which costs a tenth of a request's CPU time.
"""

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

import tenacity

from f5router.model.errors import BigIPError
from f5router.model.limits import Backoff

log = logging.getLogger(__name__)

BACKOFF = Backoff(first_s=0.2, limit_s=5.0)
"""Pauses between repetitions of a read, or of a write that was not sent."""

Result = TypeVar("Result")


class Repetition:
    """Repeats requests of one client; thread-safe."""

    def __init__(self, retry_s: float, *, clock: Callable[[], float], sleep: Callable[[float], object],
                 given_up: threading.Event):
        """Args: retry_s: after this time no call begins again; given_up: set to end all repetition."""
        self._retry_s, self._clock, self._sleep, self._given_up = retry_s, clock, sleep, given_up
        self._is_logged = threading.Event()

    def repeat(self, call: Callable[[], Result], worth_repeating: Callable[[BaseException], bool]) -> Result:
        """Call until it succeeds, fails with an error not worth repeating, or retry_s is over."""
        end = self._clock() + self._retry_s
        try:
            result = call()
        except BigIPError as error:
            result = self._repeat_after(error, call, worth_repeating, end)
        self._is_logged.clear()
        return result

    def _repeat_after(self, error: BigIPError, call: Callable[[], Result],
                      worth_repeating: Callable[[BaseException], bool], end: float) -> Result:
        """Repeat a call. Args: error: result of its first attempt; end: when no other attempt begins."""
        first = [error]

        def attempt() -> Result:
            if first:
                raise first.pop()
            return call()

        result: Result = tenacity.Retrying(
            retry=tenacity.retry_if_exception(worth_repeating),
            wait=lambda state: BACKOFF.jittered_s(state.attempt_number),
            # Not tenacity's stop_after_delay: that has a clock of its own.
            stop=lambda _: self._given_up.is_set() or self._clock() >= end,
            before_sleep=self._log_repeat, sleep=self._pause, reraise=True,
        )(attempt)
        return result

    def _pause(self, seconds: float) -> None:
        self._sleep(seconds)

    def _log_repeat(self, state: tenacity.RetryCallState) -> None:
        """Log that a request is repeated: once, until one succeeds."""
        level = logging.DEBUG if self._is_logged.is_set() else logging.INFO
        self._is_logged.set()
        log.log(level, "repeating BIG-IP request", extra={
            "wait_s": round(state.upcoming_sleep, 1),
            "error": str(state.outcome and state.outcome.exception())})
