"""The file with the default authorities for pods, read again while the router runs.

OpenShift renews its service CA before it expires, and the file in the pod with it. Source:
docs.openshift.com, Service serving certificate secrets.
"""

import logging
from collections.abc import Callable
from pathlib import Path

from f5router.config.files import encode_certificates
from f5router.logs.persistent_log import PersistentLog

log = logging.getLogger(__name__)

SUBJECT = "default destination CA"
"""The log's message."""


class DestinationCAFile:
    """Looks for renewed certificates periodically; those before stay while there are no good ones."""

    def __init__(self, path: str, certificates: str, *, period_s: float, clock: Callable[[], float]):
        """Args: path: "" for none; certificates: what the file had, "" for none."""
        self._path, self.certificates = Path(path) if path else None, certificates
        self._period_s, self._clock = period_s, clock
        self._log = PersistentLog(SUBJECT)
        self.due_at = clock() + period_s if path else None
        """When the file is to be read again; None for never."""

    def renewed(self) -> bool:
        """Read the file if that is due; returns True if it has other certificates."""
        if self._path is None or self.due_at is None or self._clock() < self.due_at:
            return False
        self.due_at = self._clock() + self._period_s
        try:
            certificates = encode_certificates(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as exc:
            reason = getattr(exc, "strerror", None) or str(exc)
            self._log.update((), [f"{self._path}: {reason}"] if self.certificates else ())
            return False
        self._log.update((), ())
        if certificates == self.certificates:
            return False
        log.info("default destination CA renewed", extra={"file": str(self._path)})
        self.certificates = certificates
        return True
