"""Counts of lists, watches and their failures, and outages of the API server.

Every watch and the writer of statuses meet the same cause repeatedly; their own messages have the level
debug.
"""

import logging
import math
import threading
from collections import Counter
from collections.abc import Callable

from f5router.model.errors import KubeUnreachable
from f5router.model.findings import API_ERRORS, API_UNREACHABLE, Finding, Link, finding

log = logging.getLogger(__name__)


class Outages:
    """Users that cannot reach the API server, with the causes; safe to use from several threads."""

    def __init__(self, clock: Callable[[], float]):
        self._clock = clock
        self._lock = threading.Lock()
        self._cause_of: dict[str, int] = {}
        """The last HTTP status by user of the API server, 0 for no reply."""
        self._since: dict[int, float] = {}
        self._texts: dict[int, str] = {}
        """The newest message by cause."""

    def failed(self, user: str, exc: KubeUnreachable) -> None:
        """Record a failed request or watch. Args: user: the kind watched, or the sub-resource written."""
        with self._lock:
            begins = exc.status not in self._since
            self._since.setdefault(exc.status, self._clock())
            self._texts[exc.status] = str(exc)
            before, self._cause_of[user] = self._cause_of.get(user, exc.status), exc.status
            lasted_s = self._end(before)
        _log_end(user, before, lasted_s)
        log.log(logging.WARNING if begins else logging.DEBUG, "API server unusable",
                extra={"kind": user, "error": str(exc)})

    def findings(self) -> list[Finding]:
        """Return what is wrong with the API server now, by cause."""
        with self._lock:
            causes = {cause: self._texts[cause] for cause in self._since}
        return [finding(Link.CLUSTER, API_ERRORS if cause else API_UNREACHABLE, text, at=str(cause))
                for cause, text in sorted(causes.items())]

    def since(self) -> float:
        """Return since when the API server is unusable for somebody; infinite if it is not."""
        with self._lock:
            return min(self._since.values(), default=math.inf)

    def answered(self, user: str) -> None:
        """Record that the API server answered a request, or refused it with a reason."""
        with self._lock:
            if (cause := self._cause_of.pop(user, None)) is None:
                return
            lasted_s = self._end(cause)
        _log_end(user, cause, lasted_s)

    def _end(self, cause: int) -> float | None:
        """End a cause, and return how long it lasted; None if another user still meets it."""
        return None if cause in self._cause_of.values() else self._clock() - self._since.pop(cause)


def _log_end(user: str, cause: int, lasted_s: float | None) -> None:
    if lasted_s is not None:
        log.info("API server usable again", extra={
            "kind": user, "was": f"HTTP {cause}" if cause else "no reply", "lasted_s": round(lasted_s, 1)})


LISTS, WATCHES, FAILURES = "lists", "watches", "failures"


class WatchCounts:
    """Numbers since the start by what happened and resource; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, what: str, resource: str) -> None:
        """Count a complete list, an accepted watch, or a failure of a list or watch."""
        with self._lock:
            self._counts[what, resource] += 1

    def counts(self) -> dict[tuple[str, str], int]:
        """Return a copy."""
        with self._lock:
            return dict(self._counts)
