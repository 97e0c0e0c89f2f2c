"""Connections of the server: bounds, TLS, names in their requests, and events for pages that are open.

A bound is on how long each connection lasts, how many there are, and for each client. A new connection is
always let in, so that no client locks out the kubelet's probes: where there are too many, one that is older
is closed, of the client with the most. The standard library's server has no such bounds; those of cheroot,
waitress and aiohttp serve either TLS or HTTP on a port, not both.

A server-sent event says that something has changed. It has a revision and nothing else; a page asks again for
what it shows. Each listener has the thread of its connection, so their number is bounded.
Source: WHATWG HTML, 9.2 Server-sent events.

The files of the certificate are read again when they change. Source: openshift/router, makeTLSConfig. The
files are those of a serving certificate, which the cluster replaces.

Names are checked against pages of others that are led here by a name of theirs.
"""

import contextlib
import ipaddress
import logging
import math
import socket
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
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

MOST, MOST_OF_CLIENT = 64, 16
"""Open connections, and those of one client."""
MOST_THREADS = 2 * MOST
"""Connections whose threads have not ended, closed ones included; one above is refused."""
LIFE_S = 15.0
"""From the first byte to the last: handshake, request and answer."""


@dataclass(slots=True)
class _OpenConnection:
    client: str
    ends_at: float
    socket: socket.socket
    closed: bool = False


class ConnectionLimits:
    """Bounds on the connections of one server. Thread-safe."""

    def __init__(self, clock: Callable[[], float]):
        self._clock = clock
        self._lock = threading.Lock()
        self._connections: dict[socket.socket, _OpenConnection] = {}
        """By the accepted socket, the oldest first."""

    def admit(self, accepted: socket.socket, address: str) -> bool:
        """Admit a connection, and close another if there are too many.

        Returns: False if too many threads have not ended yet; the connection is then not taken in.
        """
        with self._lock:
            if len(self._connections) >= MOST_THREADS:
                return False
            client = client_of(address)
            self._connections[accepted] = _OpenConnection(client, self._clock() + LIFE_S, accepted)
            self._make_room(client)
            return True

    def follow(self, accepted: socket.socket, current: socket.socket) -> bool:
        """Record the socket that has taken over the connection; False if the connection has to be closed."""
        with self._lock:
            connection = self._connections[accepted]
            connection.socket = current
            return not connection.closed

    def unlimit(self, current: socket.socket) -> None:
        """Keep a connection until its handler ends it. Args: current: the socket that has it now."""
        with self._lock:
            for connection in self._connections.values():
                if connection.socket is current:
                    connection.ends_at = math.inf

    def release(self, accepted: socket.socket) -> None:
        """Forget a connection: its thread ends."""
        with self._lock:
            self._connections.pop(accepted, None)

    def close_expired(self) -> None:
        """Close the connections that have lasted too long."""
        now = self._clock()
        with self._lock:
            for connection in self._connections.values():
                if connection.ends_at <= now:
                    _close(connection)

    def close_all(self) -> None:
        """Close every connection; their threads end."""
        with self._lock:
            for connection in self._connections.values():
                _close(connection)

    def __len__(self) -> int:
        """Connections whose threads have not ended."""
        with self._lock:
            return len(self._connections)

    def _make_room(self, client: str) -> None:
        """Close the oldest connection of this client, or of the one with the most."""
        counts = Counter(
            connection.client for connection in self._connections.values() if not connection.closed)
        if counts[client] <= MOST_OF_CLIENT:
            if counts.total() <= MOST:
                return
            client = counts.most_common(1)[0][0]
        _close(next(connection for connection in self._connections.values()
                    if connection.client == client and not connection.closed))


def client_of(address: str) -> str:
    """Return the client of an address: itself, for IPv6 its /64, which one machine can have."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.ip_network((parsed, 64), strict=False).network_address)


def _close(connection: _OpenConnection) -> None:
    """Shut a connection down; its thread notices, and closes the socket.

    Not SSLSocket.shutdown, which takes the TLS state away from the thread that reads.
    """
    connection.closed = True
    with contextlib.suppress(OSError):
        socket.socket.shutdown(connection.socket, socket.SHUT_RDWR)


MOST_LISTENERS = 16
"""Listeners at a time."""
HEARTBEAT_S = 15.0
"""Silence after which a comment is sent, so that a listener that has gone is noticed."""
PAUSE_S = 0.5
"""Shortest time between two events of a listener."""
EVENTS_LIFE_S = 600.0
"""Time after which a listener has to connect, and to log in, again."""
RETRY_MS = 2000
"""Wait of a listener before it connects again."""


CROWDED_MS = 30_000
"""The same where there are too many."""


class Listeners:
    """Everybody who follows changes. Thread-safe."""

    def __init__(self, revision: Callable[[], int], *, most: int = MOST_LISTENERS,
                 heartbeat_s: float = HEARTBEAT_S,
                 pause_s: float = PAUSE_S, life_s: float = EVENTS_LIFE_S):
        """Args: revision: grows with each change."""
        self._revision, self._most = revision, most
        self._heartbeat_s, self._pause_s, self._life_s = heartbeat_s, pause_s, life_s
        self._changed = threading.Condition()
        self._count = 0
        self._closed = threading.Event()

    def __len__(self) -> int:
        """Number of listeners."""
        return self._count

    def _enter(self) -> bool:
        """Count a listener in; False if there are too many."""
        with self._changed:
            if self._count >= self._most or self._closed.is_set():
                return False
            self._count += 1
            return True

    def wake(self) -> None:
        """Notify the listeners of the revision. From any thread; quick."""
        if self._count:
            with self._changed:
                self._changed.notify_all()

    def close(self) -> None:
        """End all streams."""
        self._closed.set()
        with self._changed:
            self._changed.notify_all()

    def stream(self, write: Callable[[bytes], object]) -> None:
        """Send events until the listener leaves, in the thread of its connection.

        One too many is sent nothing but when to come again.

        Raises: OSError: it has left.
        """
        if not self._enter():
            write(b"retry: %d\n\n" % CROWDED_MS)
            return
        try:
            end, sent = time.monotonic() + self._life_s, -1
            write(b"retry: %d\n\n" % RETRY_MS)
            while not self._closed.is_set() and time.monotonic() < end:
                revision = self._revision()
                write(b": \n\n" if revision == sent else b"event: change\ndata: %d\n\n" % revision)
                sent = revision
                self._closed.wait(self._pause_s)
                with self._changed:
                    if not self._closed.is_set() and self._revision() == sent:
                        self._changed.wait(self._heartbeat_s)
        finally:
            with self._changed:
                self._count -= 1


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
