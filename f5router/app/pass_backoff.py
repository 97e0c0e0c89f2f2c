"""Back-off of the control loop after a pass that failed."""

import logging
import math
from collections.abc import Callable

from f5router.app.timing import Timing
from f5router.model.errors import BigIPError, LoginRefused

log = logging.getLogger(__name__)


class PassBackoff:
    """Decides when the loop goes on after a failure. One thread uses it."""

    def __init__(self, bigip: str, *, timing: Timing, clock: Callable[[], float]):
        """Args: bigip: name of the BIG-IP, for the log."""
        self._bigip, self._timing, self._clock = bigip, timing, clock
        self._until = 0.0
        self._endpoints_until = 0.0
        """The same while changed endpoints are pending."""
        self._failures = 0
        self._logged: set[tuple[type[Exception], int, str]] = set()
        """Causes of failures since the last good pass: class, HTTP status, TMOS code."""

    def resumes_at(self, *, endpoints: bool) -> float:
        """Return when the back-off ends. Args: endpoints: changed endpoints are pending."""
        return min(self._until, self._endpoints_until) if endpoints else self._until

    @property
    def until(self) -> float:
        """When the back-off ends for everything but changed endpoints."""
        return self._until

    def block(self, delay_s: float, endpoints_s: float = math.inf) -> None:
        """Back off. Args: endpoints_s: no longer than this while changed endpoints are pending."""
        now = self._clock()
        self._until, self._endpoints_until = now + delay_s, now + min(delay_s, endpoints_s)

    def succeeded(self) -> None:
        """End the back-off: a pass went through."""
        if self._failures:
            log.info("BIG-IP programmed again", extra={"failures": self._failures})
            self._logged.clear()
        self._failures = 0
        self.block(0.0)

    def failed(self, exc: Exception) -> None:
        """Back off. Anything but a BigIPError is a bug or a malformed reply, and gets a traceback."""
        self._failures += 1
        delay_s = self._timing.backoff.delay_s(self._failures)
        refused = isinstance(exc, LoginRefused)
        if refused:
            delay_s = self._timing.refused_login_s
        self.block(delay_s, math.inf if refused else self._timing.endpoints_s)
        cause = (type(exc), exc.status, exc.code) if isinstance(exc, BigIPError) else None
        log.log(logging.DEBUG if cause in self._logged else logging.ERROR, "BIG-IP not programmed",
                exc_info=cause is None, extra={
                    "bigip": self._bigip, "error": str(exc) or repr(exc), "retry_in_s": delay_s})
        if cause:
            self._logged.add(cause)
