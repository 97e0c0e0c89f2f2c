"""The addresses of one unit of a pair, read now and then beside its failover state."""

import logging
import time
from collections.abc import Callable

from f5router.icontrol import own_addresses
from f5router.icontrol.own_addresses import Peer, UnitAddresses
from f5router.icontrol.rest.client import Client
from f5router.model.errors import BigIPError
from f5router.model.limits import Backoff

log = logging.getLogger(__name__)

REFRESH_S = 300.0
"""Age after which they are read again, as --f5-resync-interval by default."""
TIMEOUT_S = 2.0
"""Longest wait for each of the two replies: the unit's state waits for them."""
RETRY = Backoff(first_s=5.0, limit_s=60.0)


class PeerAddresses:
    """Keeps the last addresses that a unit has told, whatever becomes of it. One thread reads them."""

    def __init__(self, name: str, client: Client, *, clock: Callable[[], float] = time.monotonic):
        """Args: name: of the unit, for messages."""
        self._name, self._client, self._clock = name, client, clock
        self._known: UnitAddresses | None = None
        self._problem = ""
        self._due_at = float("-inf")
        self._failures = 0

    def peer(self) -> Peer:
        """Return the known addresses of the unit. From any thread."""
        return Peer(self._name, self._known, self._problem)

    def lose(self, problem: str) -> None:
        """Record that the unit does not answer; when it does it may have others, and is asked at once."""
        self._problem, self._failures, self._due_at = problem, 0, float("-inf")

    def refresh(self) -> bool:
        """Read them if they are due; returns True if they have changed."""
        if self._clock() < self._due_at:
            return False
        before = self._known
        try:
            self._known = own_addresses.of_unit(
                lambda path: self._client.look(path, timeout_s=TIMEOUT_S))
        except BigIPError as exc:
            self._failures += 1
            self._problem = exc.text
            self._due_at = self._clock() + RETRY.delay_s(self._failures)
            log.debug("addresses of a unit not read", extra={"bigip": self._name, "error": str(exc)})
            return False
        self._failures, self._due_at = 0, self._clock() + REFRESH_S
        return self._known != before
