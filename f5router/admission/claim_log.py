"""Log of Hosts that Routes have lost to others, at a bounded rate."""

import logging
from collections.abc import Callable

from f5router.admission.admission import Rejection
from f5router.model import names
from f5router.model.cluster import Route

log = logging.getLogger(__name__)

MOST, PERIOD_S = 30, 60.0
"""Lines in a period of seconds: a tenant can make any number of Routes for Hosts of others."""


class ClaimLog:
    """Log of lost Hosts, at a bounded rate. One thread uses it."""

    def __init__(self, clock: Callable[[], float]):
        self._clock = clock
        self._since, self._lines, self._left_out = float("-inf"), 0, 0

    def lost(self, route: Route, rejection: Rejection) -> None:
        """Log that a Route has just lost its Host; a rejection for another reason is not logged."""
        if rejection.holder is None:
            return
        if self._clock() - self._since >= PERIOD_S:
            self._since, self._lines = self._clock(), 0
        if self._lines >= MOST:
            self._left_out += 1
            return
        self._lines += 1
        left_out, self._left_out = self._left_out, 0
        log.warning("host already claimed", extra={
            "host": route.host, "route": names.label(route.key), "holder": names.label(rejection.holder),
            **({"lines_left_out": left_out} if left_out else {})})
