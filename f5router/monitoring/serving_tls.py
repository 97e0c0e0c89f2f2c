"""TLS of metrics and health: the files of the certificate are read again when they change.

Source: openshift/router, makeTLSConfig. The files are those of a serving certificate, which the cluster
replaces.
"""

import hashlib
import logging
import ssl
import threading
from pathlib import Path

from f5router.config.metrics_tls import CERT, KEY, TLS, context, reason
from f5router.config.options import OPTIONS
from f5router.model.errors import ConfigError

log = logging.getLogger(__name__)


class Contexts:
    """TLS context of the current files; unusable files leave the previous context.

    Thread-safe.
    """

    def __init__(self, tls: TLS):
        """Raises: ConfigError: the files cannot be used."""
        self._tls, self._lock = tls, threading.Lock()
        try:
            self._seen = _digest(tls)
            self._context = context(tls)
        except OSError as exc:
            raise ConfigError([f"{OPTIONS[CERT].label}, {OPTIONS[KEY].label}: {reason(exc)}"]) from exc

    def current(self) -> ssl.SSLContext:
        """Return the context for one connection. Reads both files: a few KiB, little beside a handshake."""
        try:
            seen = _digest(self._tls)
        except OSError as exc:
            seen = reason(exc)
        with self._lock:
            # Noted before they are loaded: should they change between, they are loaded once more.
            before, self._seen = self._seen, seen
        if seen != before:
            self._load(seen)
        return self._context

    def _load(self, seen: str) -> None:
        """Load the files. Args: seen: their digest; nothing is done if another thread saw newer ones."""
        shown = {"certificate": self._tls.cert_file, "key": self._tls.key_file}
        try:
            loaded = context(self._tls)
        except OSError as exc:
            log.warning("changed certificate of metrics and health not used, the one before is served",
                        extra={**shown, "reason": reason(exc)})
            return
        with self._lock:
            if self._seen != seen:
                return
            self._context = loaded
        log.info("changed certificate of metrics and health is served", extra=shown)


def _digest(tls: TLS) -> str:
    """Return a digest of both files. Raises: OSError."""
    parts = [hashlib.sha256(Path(name).read_bytes()).hexdigest() for name in (tls.cert_file, tls.key_file)]
    return " ".join(parts)
