"""Writes of Route statuses that go wrong: who waits how long, and what is said of it.

What is of one Route costs no other anything; what is of all makes all writing wait.
"""

import logging
import threading
from http import HTTPStatus

from f5router.kube.api.outages import Outages
from f5router.kube.status.work_queue import WorkItem, WorkQueue
from f5router.model.backoff import Backoff
from f5router.model.cluster import Key
from f5router.model.errors import KubeForbidden, KubeUnreachable

log = logging.getLogger(__name__)

FORBIDDEN_S = 60.0
"""Wait of a Route after a refusal for want of rights; of all writing after two in a row."""

CONFLICT_BACKOFF = Backoff(first_s=0.02, limit_s=10.0)
"""Waits after a conflict with another writer of the same Route."""

BACKOFF = Backoff(first_s=0.5, limit_s=60.0)
"""Waits after 429, 5xx or no reply."""

STATUS = "routes/status"

FAILED_PAUSE_S = 0.25
"""Pause of all writing after a 500, which may be of this Route alone: a webhook that cannot be called."""


class Troubles:
    """Failures of the threads that write what one queue holds. Thread-safe."""

    def __init__(self, pending: WorkQueue[Key], outages: Outages, *, forbidden_s: float):
        self._pending, self._outages, self._forbidden_s = pending, outages, forbidden_s
        self._lock = threading.Lock()
        self._said: dict[str, str] = {}
        """What was said of a Route, by uid, until it could be written."""
        self._said_forbidden = False
        self._forbidden: dict[Key, str] = {}
        """Routes whose last attempt was forbidden."""
        self._forbidden_in_a_row = self._in_a_row = 0

    # --- what went wrong: seconds until the Route is tried again, None for not by itself ------

    def conflict(self, item: WorkItem[Key]) -> float:
        """The Route was changed meanwhile."""
        self._outages.answered(STATUS)
        return CONFLICT_BACKOFF.jittered_s(item.failures + 1)

    def refused(self, item: WorkItem[Key], exc: Exception) -> None:
        """It will never be taken."""
        self._outages.answered(STATUS)
        self._say(item, "status refused", str(exc))

    def forbidden(self, item: WorkItem[Key], exc: KubeForbidden) -> float:
        """The first refusal may be of this Route's namespace; the next one without a success is of all."""
        self._outages.answered(STATUS)
        with self._lock:
            self._forbidden_in_a_row += 1
            self._forbidden[item.key] = str(exc)
            said, self._said_forbidden = self._said_forbidden, True
            of_all = self._forbidden_in_a_row > 1
        if not said:
            self._say(item, "status cannot be written", str(exc))
        if of_all:
            self._pending.pause(self._forbidden_s)
        return self._forbidden_s

    def unreachable(self, item: WorkItem[Key], exc: KubeUnreachable) -> float:
        """All writing waits by troubles in a row, and this Route by its own, so others go first."""
        own_s = BACKOFF.jittered_s(item.failures + 1, exc.retry_after_s)
        if exc.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            self._say(item, "status not written yet", str(exc))
            self._pending.pause(FAILED_PAUSE_S)
            return own_s
        with self._lock:
            self._in_a_row += 1
            failures = self._in_a_row
        self._outages.failed(STATUS, exc)
        self._pending.pause(BACKOFF.jittered_s(failures, exc.retry_after_s))
        return own_s

    # --- what goes well ------------------------------------------------------------------

    def begins(self, item: WorkItem[Key]) -> None:
        """A Route is tried again."""
        with self._lock:
            self._forbidden.pop(item.key, None)

    def answered(self, *, written: bool) -> None:
        """The API server answered a write as it should. Args: written: it changed something."""
        with self._lock:
            self._in_a_row = 0
            if written:
                self._forbidden_in_a_row, self._said_forbidden = 0, False
        self._outages.answered(STATUS)

    def discard(self, uid: str) -> None:
        """The Route is as it should be, or none of ours any more."""
        with self._lock:
            self._said.pop(uid, None)

    def refusal(self) -> str:
        """Why what waits may not be written, with the command that grants it; "" when some of it may."""
        waiting = len(self._pending)
        with self._lock:
            if self._forbidden_in_a_row > 1 or waiting <= len(self._forbidden):
                return next(iter(self._forbidden.values()), "")
        return ""

    def _say(self, item: WorkItem[Key], message: str, text: str) -> None:
        """An error of one Route: once, until it could be written."""
        with self._lock:
            new = self._said.get(item.value.uid) != text
            self._said[item.value.uid] = text
        if new:
            log.error(message, extra={"route": str(item.key), "error": text})
