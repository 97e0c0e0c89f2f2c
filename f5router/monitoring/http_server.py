"""HTTP for probes, Prometheus and people: /healthz, /readyz, /metrics and the status page.

    GET /healthz                ok; 500 and the list of checks when one fails
    GET /healthz?verbose        the list in any case
    GET /healthz/controller     one check
    GET /readyz, /healthz/ready likewise, /readyz/bigip-reached one check
    GET /metrics                with basic authentication where a login is set
    GET /, /api/v1/...          the status page and its API, likewise; without a login on loopback alone

Source: openshift/router, pkg/router/metrics/metrics.go and health.go.
Probes are open, as kubelet has no credentials.
With a certificate the same port serves TLS and HTTP, distinguished by the first byte of a connection; there
upstream takes the password over HTTP too (openshift/router, metrics.go), this router over TLS alone.
"""

import base64
import binascii
import contextlib
import hmac
import http.client
import io
import logging
import socket
import socketserver
import ssl
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol
from urllib.parse import parse_qs, urlsplit

from f5router.config.options import OPTIONS
from f5router.config.parsers import Address
from f5router.model.errors import ConfigError
from f5router.monitoring import connections, health
from f5router.monitoring.connections import ConnectionLimits, Contexts
from f5router.monitoring.health import CheckResult

log = logging.getLogger(__name__)

SILENCE_S = 10.0
"""A client that sends nothing for so long is disconnected."""
HEAD_BYTES = 16384
"""Request line and headers."""
POLL_S = 0.25
"""How long an idle server may take to notice that it is to stop."""
TLS_HANDSHAKE = b"\x16"
"""First byte of a connection that begins TLS, and never of one with HTTP. Source: RFC 8446, 5.1."""
TEXT = "text/plain; charset=utf-8"
ALWAYS = (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))
"""Headers of every answer, errors too: no cache keeps it, and no browser takes text for a page."""


@dataclass(frozen=True, slots=True)
class Response:
    """Response to a request."""

    status: int
    body: bytes
    content_type: str = TEXT
    headers: tuple[tuple[str, str], ...] = ()
    stream: Callable[[Callable[[bytes], object]], None] | None = None
    """Sends a body that goes on after `body`; None for one that ends there."""


class StatusPage(Protocol):
    """The status page and its API."""

    def serves(self, path: Sequence[str]) -> bool: ...

    def answer(self, path: Sequence[str], query: Mapping[str, list[str]]) -> Response: ...


@dataclass(frozen=True, slots=True)
class Pages:
    """The pages of the server."""

    live: Callable[[], Sequence[CheckResult]]
    ready: Callable[[], Sequence[CheckResult]]
    metrics: Callable[[str], tuple[bytes, str]]
    """Given an Accept header: body and content type."""
    login: tuple[str, str] | None = None
    """User name and password for metrics and status page; None: everybody may read the metrics."""
    status: StatusPage | None = None
    """None where it is not served."""
    local: bool = False
    """True if only this machine can connect: the status page needs no login then, and no browser that was led
    here by a name of somebody else reads the metrics."""

    def answer(self, target: str, accept: str, authorization: str, *, host: str = "",
               clear: bool = False) -> Response:
        """Return the reply to a GET.

        Args:
            target: path and query.
            host: header Host.
            clear: anybody on the way can read along, and TLS is served as well.
        """
        try:
            url = urlsplit(target)
        except ValueError as exc:  # "http://[::1"
            log.debug("request target not understood", extra={"reason": str(exc)})
            return Response(400, b"bad request\n")
        query = parse_qs(url.query, keep_blank_values=True)
        verbose, path = "verbose" in query, [name for name in url.path.split("/") if name]
        match path:
            case ["metrics"]:
                return self._metrics(accept, authorization, host, clear=clear)
            case ["readyz", *names] | ["healthz", "ready", *names]:
                return _checked("readyz", self.ready(), names, verbose=verbose)
            case ["healthz", *names]:
                return _checked("healthz", self.live(), names, verbose=verbose)
        if self.status is None or not self.status.serves(path):
            return Response(404, b"404 page not found\n")
        refusal = self._refusal(authorization, clear=clear) or self._status_refusal(host)
        return refusal or self.status.answer(path, query)

    def _status_refusal(self, host: str) -> Response | None:
        """Return why the status page is not shown without a login; None if it may be.

        A site whose name somebody points at this machine must not read it: only names of this machine count.
        """
        if self.login or (self.local and connections.is_own(host)):
            return None
        return Response(403, b"the status page needs a login, or an address of this machine alone: set "
                             b"--stats-user and --stats-password, or --listen-addr 127.0.0.1:1936\n")

    def _metrics(self, accept: str, authorization: str, host: str, *, clear: bool) -> Response:
        """Return the metrics: also to a proxy beside the router, which passes the Host of its client on.

        Source: Go, net/http/httputil, NewSingleHostReverseProxy, which kube-rbac-proxy uses.
        """
        if refusal := self._refusal(authorization, clear=clear):
            return refusal
        if self.local and not self.login and connections.is_foreign(host):
            return Response(403, b"metrics are not shown under this name: use an address or localhost, or "
                                 b"set --stats-user and --stats-password\n")
        body, content_type = self.metrics(accept)
        return Response(200, body, content_type)

    def _refusal(self, authorization: str, *, clear: bool) -> Response | None:
        """Return the reply to a client without the login; None if it has it, or none is needed."""
        if self.login and clear:
            return Response(403, b"metrics need a password, which is accepted over HTTPS only\n")
        if self.login and not _is(self.login, authorization):
            return Response(401, b"Unauthorized\n", headers=(("WWW-Authenticate", 'Basic realm="metrics"'),))
        return None


def _checked(title: str, checks: Sequence[CheckResult], names: list[str], *, verbose: bool) -> Response:
    """Return the reply for all checks, or for the named one."""
    if names:
        checks = [check for check in checks if [check.name] == names]
        if not checks:
            return Response(404, b"404 page not found\n")
    good, body = health.report(title, checks, verbose=verbose)
    return Response(200 if good else 500, body.encode())


def _is(login: tuple[str, str], authorization: str) -> bool:
    """True if an Authorization header carries this login."""
    scheme, _, encoded = authorization.strip().partition(" ")
    try:
        given = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return False
    return scheme.lower() == "basic" and hmac.compare_digest(given, ":".join(login).encode())


class _Head:
    """Lines of a request's head, of HEAD_BYTES in all."""

    def __init__(self, stream: io.BufferedIOBase):
        self._stream, self._left = stream, HEAD_BYTES

    def readline(self, limit: int) -> bytes:
        """Read a line. Raises: http.client.LineTooLong: the head is too long; it is answered with 431."""
        line = self._stream.readline(min(limit, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise http.client.LineTooLong("request head")
        return line

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


class Handler(BaseHTTPRequestHandler):
    """Handler of one connection with one request: HTTP/1.0."""

    server: "Server"
    server_version = "f5router"
    sys_version = ""

    def setup(self) -> None:
        """Limit the size and the time of reads."""
        super().setup()
        self.connection.settimeout(self.server.silence_s)
        self.rfile = _Head(self.rfile)  # type: ignore[assignment]  # it has what is called of it

    def handle(self) -> None:
        """Answer; a request line that is too long too, which the base class looks for elsewhere."""
        try:
            super().handle()
        except http.client.LineTooLong:
            self.requestline, self.request_version, self.command = "", "HTTP/1.0", ""
            self.send_error(431)

    def do_GET(self) -> None:
        """Answer, HEAD too."""
        headers = self.headers
        try:
            answer = self.server.pages.answer(
                self.path, headers.get("Accept", ""), headers.get("Authorization", ""),
                host=headers.get("Host", ""),
                clear=bool(self.server.contexts) and not isinstance(self.connection, ssl.SSLSocket))
        except Exception:  # a probe must get an answer, and the log the reason
            log.exception("request failed")
            answer = Response(500, b"internal error\n")
        self.send_response(answer.status)
        length = () if answer.stream else (("Content-Length", str(len(answer.body))),)
        for name, value in (("Content-Type", answer.content_type), *length, *answer.headers):
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(answer.body)
        if answer.stream is not None:
            self.server.connections.unlimit(self.connection)
            answer.stream(self.wfile.write)

    do_HEAD = do_GET

    def end_headers(self) -> None:
        """Send the head, with the headers that every answer has, including those of the base class."""
        for name, value in ALWAYS:
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Probes come every few seconds: at debug only, and without what a client wrote."""
        log.debug("request", extra={"client": self.client_address[0]})


class Server(socketserver.ThreadingTCPServer):
    """Serves Pages from threads of its own; a context manager."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64
    block_on_close = False
    """A client that is slow does not hold up the end."""

    def __init__(self, address: Address, pages: Pages, contexts: Contexts | None = None, *,
                 silence_s: float = SILENCE_S, clock: Callable[[], float] = time.monotonic):
        """Listen.

        Args:
            contexts: for TLS; None: HTTP only.
            silence_s: a client that sends nothing for so long is disconnected.
        Raises: ConfigError: the address cannot be used.
        """
        self.pages, self.contexts, self.silence_s = pages, contexts, silence_s
        self.connections = ConnectionLimits(clock)
        self.address_family, where = _family(address)
        try:
            super().__init__(where, Handler)
        except (OSError, OverflowError) as exc:
            labels = f"{OPTIONS['listen-addr'].label}, {OPTIONS['stats-port'].label}"
            reason = getattr(exc, "strerror", None) or exc
            problem = f"{labels}: cannot listen on {shown(*address)}: {reason}"
            raise ConfigError([problem]) from exc
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": POLL_S}, name="serving", daemon=True)

    def server_bind(self) -> None:
        """Accept IPv4 too if the address is the IPv6 wildcard."""
        if self.address_family == socket.AF_INET6 and not self.server_address[0]:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()

    def process_request(  # type: ignore[override]  # TCP alone: what comes in is a socket
            self, request: socket.socket, client_address: tuple[Any, ...]) -> None:
        """Start a thread for a connection, unless there are too many that do not end."""
        if not self.connections.admit(request, client_address[0]):
            log.debug("connection refused: too many", extra={"client": client_address[0]})
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except RuntimeError:  # no thread can be started
            self.connections.release(request)
            raise

    def process_request_thread(  # type: ignore[override]  # as above
            self, request: socket.socket, client_address: tuple[Any, ...]) -> None:
        """Serve a connection, in its own thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.connections.release(request)

    def service_actions(self) -> None:
        """Close connections that take too long; called between connections, and every POLL_S."""
        self.connections.close_expired()

    def finish_request(  # type: ignore[override]  # as above
            self, request: socket.socket, client_address: tuple[Any, ...]) -> None:
        """Answer, in the connection's own thread: a handshake holds up nobody else."""
        if self.contexts is None:
            super().finish_request(request, client_address)
            return
        request.settimeout(self.silence_s)
        if request.recv(1, socket.MSG_PEEK) != TLS_HANDSHAKE:
            super().finish_request(request, client_address)
            return
        connection = self.contexts.current().wrap_socket(
            request, server_side=True, do_handshake_on_connect=False)
        try:
            if self.connections.follow(request, connection):
                connection.do_handshake()
                super().finish_request(connection, client_address)
        finally:
            _end(connection)

    def handle_error(self, request: object, client_address: tuple[Any, ...]) -> None:
        """Log an error; a client that left and a failed handshake only at debug."""
        exc = sys.exception()
        if isinstance(exc, OSError):
            log.debug("connection without a request", extra={"client": client_address[0], "reason": str(exc)})
        else:
            log.error("connection failed", exc_info=True)

    @property
    def where(self) -> str:
        """Address and port, as in a URL."""
        host, port = self.server_address[:2]
        return shown(str(host), port)

    def __enter__(self) -> "Server":
        self._thread.start()
        log.info("serving metrics and health", extra={"address": self.where, "tls": bool(self.contexts)})
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.shutdown()
        self.server_close()
        self.connections.close_all()
        self._thread.join(1.0)


def _end(connection: ssl.SSLSocket) -> None:
    """Close with the alert that tells the client that nothing was cut off; its own is not waited for."""
    with connection, contextlib.suppress(OSError):
        connection.setblocking(False)
        connection.unwrap()


def shown(host: str, port: int) -> str:
    """"10.0.0.1:80", "[::1]:80", ":80" for all addresses."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _family(address: Address) -> tuple[socket.AddressFamily, tuple[str, int]]:
    """Address family and what to bind. Raises: ConfigError: the name has no address."""
    if not address.host:
        family = socket.AF_INET6 if socket.has_dualstack_ipv6() else socket.AF_INET
        return family, ("", address.port)
    try:
        addresses = socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as exc:
        problem = f"{OPTIONS['listen-addr'].label}: {address.host!r} has no address"
        raise ConfigError([problem]) from exc
    return addresses[0][0], (str(addresses[0][4][0]), address.port)
