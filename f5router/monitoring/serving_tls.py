"""TLS of metrics and health, and the names in the Host header of requests.

The files of the certificate are read again when they change. Source: openshift/router, makeTLSConfig. The
files are those of a serving certificate, which the cluster replaces.

Names are checked against pages of others that are led here by a name of theirs.
"""

import ipaddress
import logging
import ssl
import threading
from urllib.parse import urlsplit

from f5router.config.options import OPTIONS
from f5router.config.tls_files import (
    METRICS_CERT,
    METRICS_KEY,
    TLS,
    ServingKeyPair,
    context,
    metrics_reason,
    read,
)
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
            self._seen: ServingKeyPair | str = read(tls)
            self._context = context(tls, self._seen)
        except OSError as exc:
            settings = f"{OPTIONS[METRICS_CERT].label}, {OPTIONS[METRICS_KEY].label}"
            raise ConfigError([f"{settings}: {metrics_reason(exc)}"]) from exc

    def current(self) -> ssl.SSLContext:
        """Return the context for one connection. Reads both files: a few KiB, little beside a handshake."""
        seen: ServingKeyPair | str
        try:
            seen = read(self._tls)
        except OSError as exc:
            seen = metrics_reason(exc)
        with self._lock:
            before, self._seen = self._seen, seen
        if seen != before:
            self._load(seen)
        return self._context

    def _load(self, seen: ServingKeyPair | str) -> None:
        """Use another certificate. Args: seen: or why it cannot be read.

        Nothing is done if another thread saw a newer one.
        """
        shown = {"certificate": self._tls.cert_file, "key": self._tls.key_file}
        built = seen if isinstance(seen, str) else _build(self._tls, seen)
        if isinstance(built, str):
            log.warning("changed certificate for metrics and health not used, serving the previous one",
                        extra={**shown, "reason": built})
            return
        with self._lock:
            if self._seen != seen:
                return
            self._context = built
        log.info("serving the changed certificate for metrics and health", extra=shown)


def _build(tls: TLS, pair: ServingKeyPair) -> ssl.SSLContext | str:
    """Return the context, or why there is none."""
    try:
        return context(tls, pair)
    except OSError as exc:
        return metrics_reason(exc)


PRIVATE = (".localhost", ".local", ".svc")
"""Domains that nobody owns in the public DNS."""


def is_own(host: str) -> bool:
    """True if a Host header has a name of this machine alone."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def is_foreign(host: str) -> bool:
    """True if a Host header has a name whose owner may point it at any machine, and so at this one.

    An address is no such name, nor is one without a dot or below a domain that is not in the public DNS.
    Sources: RFC 6761, 6.3; RFC 6762, 3; Kubernetes, "DNS for Services and Pods".
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return "." in name and not name.endswith(PRIVATE)
    return False
