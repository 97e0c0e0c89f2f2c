"""Decision whether a failed write is the fault of the object or of the device.

A refusal blames the object. A write without a usable reply (a time-out, a page instead of JSON, no reply,
an unforeseen form of reply), or with a 403, may be the fault of either. It blames the object if the device
answers a cheap read, and no other object failed in the same way since a write succeeded or was refused.
"""

import logging
import threading
from collections.abc import Callable
from typing import TypeGuard

from f5router.model.errors import AuthFailed, BigIPError, Forbidden, Refused, Unconfirmed, UploadError
from f5router.model.objects import Ref

log = logging.getLogger(__name__)


def blames_object(error: Exception) -> TypeGuard[BigIPError]:
    """True if only the object is to blame, so that the pass can go on."""
    return (isinstance(error, Refused | UploadError)
            or (isinstance(error, AuthFailed) and error.status == 400)
            or (isinstance(error, Forbidden | Unconfirmed) and bool(error.alone)))


class Blame:
    """Remembers which object last failed without a usable reply. Thread-safe."""

    def __init__(self, read: Callable[[], object]):
        """Args: read: a cheap read that shows whether the device answers."""
        self._read = read
        self._lock = threading.Lock()
        self._suspect: Ref | None = None
        """An object without a usable reply, or with a 403, until the device answers another write."""

    def attempt(self, ref: Ref, write: Callable[[], object]) -> Exception | None:
        """Write an object; return None on success, else the error, which blames the object or the device."""
        error: Exception | None = None
        try:
            write()
        except Exception as exc:
            error = self._attributed(ref, exc)
        if error is None or isinstance(error, Refused):
            self._suspect = None
        return error

    def _is_alone(self, ref: Ref) -> bool:
        """Suspect an object; return True if no other one is suspected."""
        with self._lock:
            alone = self._suspect in (None, ref)
            self._suspect = self._suspect or ref
        return alone

    def _attributed(self, ref: Ref, error: Exception) -> Exception:
        """Return the error itself if the device is certainly to blame, else one blaming the object."""
        if isinstance(error, Forbidden):  # the client has tried a read
            return Forbidden(error.method, error.path, error.text, alone=self._is_alone(ref))
        if isinstance(error, BigIPError) and (isinstance(error, Unconfirmed) or not error.may_have_applied):
            return error
        alone = self._is_alone(ref)
        try:
            self._read()
        except Exception as exc:
            log.debug("BIG-IP does not answer a read either", extra={"error": str(exc)})
            return error
        if isinstance(error, BigIPError):
            return Unconfirmed(error.method, error.path, error.text, status=error.status, alone=alone)
        # The exception's own words may hold what was sent, a key for instance.
        log.error("unexpected error while writing an object", exc_info=error, extra={"object": str(ref)})
        words = f"unforeseen in the object or in its reply: {type(error).__name__}"
        return Unconfirmed(text=words, alone=alone)
