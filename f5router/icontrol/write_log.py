"""A line of the log for each write: object, action, cause and duration."""

import logging

from f5router.model.ltm import Attachment
from f5router.model.objects import Ref
from f5router.plan.change import AnyChange
from f5router.plan.changes import cause

log = logging.getLogger(__name__)

SHARED = "shared"
"""Cause of a write for the settings, or of an object that several Routes share: its name shows no owner."""

MOST_REFUSED = 10_000
"""Refusals that are remembered."""


class WriteLog:
    """Logs what became of writes. Not thread-safe."""

    def __init__(self, *, most: int = MOST_REFUSED):
        self._most = most
        self._refused: dict[Ref, str] = {}
        """The BIG-IP's words about objects that it refused last, the oldest first."""
        self._newest: tuple[str, str] | None = None
        """Virtual server and words of the newest refusal, if it was about an attachment: those of a virtual
        server go in one request."""

    def done(self, change: AnyChange, seconds: float) -> None:
        """Log a write that the BIG-IP confirmed. Args: seconds: how long its requests took."""
        self._refused.pop(change.ref, None)
        self._newest = None
        if log.isEnabledFor(logging.INFO):
            log.info("changed", extra=_fields(change, seconds))

    def refused(self, change: AnyChange, error: Exception, seconds: float) -> None:
        """Log a write that the BIG-IP refused; at debug a retry with the same words, and a further attachment
        of the same request.
        """
        words = str(error)
        repeated = self._refused.pop(change.ref, None) == words
        while len(self._refused) >= self._most:
            del self._refused[next(iter(self._refused))]
        self._refused[change.ref] = words
        request = (change.obj.virtual, words) if isinstance(change.obj, Attachment) else None
        repeated = repeated or (request is not None and request == self._newest)
        self._newest = request
        log.log(logging.DEBUG if repeated else logging.WARNING, "change refused",
                extra={**_fields(change, seconds), "error": words})


def _fields(change: AnyChange, seconds: float) -> dict[str, object]:
    return {"object": str(change.ref), "action": change.verb, "cause": cause(change.obj) or SHARED,
            "seconds": round(seconds, 3)}
