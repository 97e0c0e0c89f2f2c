"""HTTPS to one BIG-IP: sends a request, returns a Reply or raises Unreachable.

The only module that imports the HTTP libraries. It does not handle tokens and never repeats a request. Its
exceptions hold no request, header or body of the library: those contain the password, the token and private
keys.

Proxies of the environment (HTTPS_PROXY, NO_PROXY) at the start are honoured, as the original router did; the
credentials of a .netrc file are not, and cookies are neither kept nor sent.

The requests package says what the environment means and makes the pool of connections; requests go to the
pool itself. A request through the package takes more than twice the processor time, most of it for settings
that are the same each time.
"""

import collections
import contextlib
import functools
import logging
import math
import os
import re
import socket
import ssl
import threading
import time
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import requests
import requests.adapters
import urllib3.exceptions as wire
from requests.utils import DEFAULT_CA_BUNDLE_PATH
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, Timeout
from urllib3.connection import HTTPSConnection
from urllib3.util.ssl_ import create_urllib3_context, resolve_cert_reqs
from urllib3.util.ssl_match_hostname import CertificateError

import f5router
from f5router.icontrol.rest.request_times import NO_REPLY, RequestTimes, SlowRequests
from f5router.icontrol.rest.slots import Slots
from f5router.icontrol.rest.wire import Reply, target
from f5router.icontrol.settings import ClientSettings, Renewable
from f5router.logs import log_output
from f5router.model.clock_offset import ClockOffset
from f5router.model.errors import ConfigError, Unreachable, Untrusted
from f5router.model.limits import ALWAYS, WritePermit

log = logging.getLogger(__name__)

# Raised before the first byte of the request was sent.
_NOT_SENT = (wire.NewConnectionError, wire.ConnectTimeoutError, wire.ProxyError)
# OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH, _EMAIL_ and _IP_ADDRESS_MISMATCH.
_MISMATCH = frozenset({62, 63, 64})
STATISTICS = "statistics"
"""Name in `counts` of requests for statistics."""
BESIDE = SAVING, READING, LOOKING = "save", "reading", "looking"
"""Lanes beside max_in_flight, with one request at a time in each."""
_HEADERS = {"Accept": "application/json", "User-Agent": f"f5router/{f5router.__version__}"}
STATE = "/mgmt/tm/cm/failover-status"
"""Path of the state of a unit."""
REMOVAL = "/mgmt/tm/util/unix-rm"
"""Path of the command that removes uploaded files."""
_LOGIN_PATHS = ("/mgmt/shared/authn/", "/mgmt/shared/authz/tokens")
_TOKEN_IN_PATH = re.compile(r"(/authz/tokens/)[^/?\s\"]+")


class _GuardedConnection(HTTPSConnection):
    """A connection that sends no write without permission.

    The permission is asked for when the connection is there, before the headers and again before the body,
    without which a BIG-IP carries out nothing: whatever came before, a login, a queue, a slow handshake or a
    process that was stopped, may have taken longer than the permission lasts. A login changes nothing that is
    served.
    """

    def __init__(self, *args: Any, permit: WritePermit, opened: "weakref.WeakSet[_GuardedConnection]",
                 **kwargs: Any):
        super().__init__(*args, **kwargs)
        # Without VERIFY_X509_STRICT, the default since Python 3.13: certificates of devices often lack the
        # extensions that it asks for, and a newer Python must not lose the BIG-IP.
        self.ssl_context = create_urllib3_context(cert_reqs=resolve_cert_reqs(self.cert_reqs), verify_flags=0)
        self._permit = permit
        opened.add(self)
        self._is_look = False
        """True while it asks for the state of the unit: that decides what is ended."""
        self._write: tuple[str, str] | None = None
        """Method and path of the write that is being sent."""

    def request(self, method: str, url: str, *args: Any, **kwargs: Any) -> None:
        """Send a request. Raises: NotLeader: it is a write, and there is no permission."""
        self._is_look = url == STATE
        is_write = method != "GET" and not url.startswith(_LOGIN_PATHS)
        self._write = (method, url) if is_write else None
        try:
            super().request(method, url, *args, **kwargs)
        finally:
            self._write = None

    def send(self, data: Any) -> None:
        """Send a part of a request. Raises: NotLeader: it is a write, and there is no permission."""
        if self._write is not None:
            permit = self._permit.for_cleanup if self._write[1] == REMOVAL else self._permit
            if not permit.is_given():
                raise permit.refusal(*self._write)
        super().send(data)

    def abort(self) -> None:
        """End the request under way, if there is one, from any thread: it fails at once."""
        connection = self.sock
        if connection is not None and not self._is_look:
            with contextlib.suppress(OSError):
                # Not its own shutdown, which a thread that reads from it does not survive.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)


class _Adapter(requests.adapters.HTTPAdapter):
    """Connections to one device, as the environment and the settings ask for.

    Raises: requests.exceptions.InvalidSchema, InvalidProxyURL: the environment's proxy cannot be used.
    """

    def __init__(self, settings: ClientSettings, permit: WritePermit,
                 opened: "weakref.WeakSet[_GuardedConnection]"):
        """Args: opened: gets all connections that are made."""
        super().__init__(pool_connections=1, pool_maxsize=settings.max_in_flight + len(BESIDE))
        self._permit = permit
        self._opened = opened
        # Once: the environment counts as it is at the start.
        environment = requests.Session().merge_environment_settings(
            settings.base_url, {}, None, settings.verify, None)
        self._url, self._proxies = settings.base_url, environment["proxies"]
        self._verify = environment["verify"]
        if self._verify is True:
            self._verify = DEFAULT_CA_BUNDLE_PATH

    def pool(self, certificates: str = "") -> HTTPConnectionPool:
        """Return a pool of connections. Args: certificates: in PEM, instead of the settings' certificates."""
        if (requests.utils.select_proxy(self._url, self._proxies) or "").lower().startswith("socks"):
            # Its connections would be of a class of their own, whether its package is installed or not.
            raise requests.exceptions.InvalidSchema("a SOCKS proxy")
        request = requests.Request("GET", self._url).prepare()
        pool = self.get_connection_with_tls_context(request, self._verify, self._proxies)
        assert isinstance(pool, HTTPSConnectionPool)
        if certificates:
            pool.ca_certs = pool.ca_cert_dir = None
            pool.conn_kw["ca_cert_data"] = certificates
        pool.ConnectionCls = functools.partial(  # type: ignore[assignment]  # called as the class would be
            _GuardedConnection, permit=self._permit, opened=self._opened)
        if self._permit.delivery_s < math.inf:
            # The kernel goes on to deliver what was sent, for minutes, even after the process has ended.
            limit_ms = int(self._permit.delivery_s * 1000)
            pool.conn_kw["socket_options"] = [
                *HTTPSConnection.default_socket_options,
                (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, limit_ms)]
        return pool


class Transport:
    """Connections to one device, shared by threads; at most max_in_flight requests at once, and BESIDE.

    Attributes:
        counts: requests sent, by method or by the label given to send().
        newest: path of the request that was sent last; "" before the first.
        times: durations and results of requests.
        slots: those of max_in_flight.
        clock_offset: of the device's clock.
        slow_requests: those that took long, without saves, which have a limit of their own.
    """

    def __init__(self, settings: ClientSettings, permit: WritePermit = ALWAYS,
                 authorities: Renewable[str] | None = None, clock: Callable[[], float] = time.monotonic):
        """Args: authorities: CA certificates in PEM, if they may change; by default, the settings' CAs."""
        self._settings, self._permit, self._authorities = settings, permit, authorities
        self._clock, self.slow_requests = clock, SlowRequests(settings.timeout_s, clock)
        self.times, self.clock_offset = RequestTimes(), ClockOffset()
        self._trusted = authorities.get() if authorities else ""
        """Authorities of the connections, in PEM; "" for those of the settings."""
        self.slots = Slots(settings.max_in_flight)
        self._beside = {lane: threading.BoundedSemaphore(1) for lane in BESIDE}
        self._counting, self.newest = threading.Lock(), ""
        self.counts: collections.Counter[str] = collections.Counter()
        self._opened: weakref.WeakSet[_GuardedConnection] = weakref.WeakSet()
        self._adapter = _Adapter(settings, permit, self._opened)
        self._pool: HTTPConnectionPool | None = None
        _check_trust(settings)
        logging.getLogger("urllib3.connectionpool").addFilter(_hide_tokens)

    def send(
        self, method: str, path: str, *,
        credentials: Mapping[str, str], query: str = "", body: bytes | None = None,
        headers: Mapping[str, str] | None = None, timeout_s: float | None = None, label: str = "",
        beside: str = "",
    ) -> Reply:
        """Send a request once.

        Args:
            path: absolute, encoded, without query.
            query: encoded, without "?".
            credentials: headers that authenticate the request, perhaps none.
            timeout_s: read time-out instead of the settings'; connecting takes no longer either.
            label: name in `counts` instead of the method.
            beside: one of BESIDE.
        Raises:
            Unreachable: no complete reply came; may_have_applied is True for a write that was sent.
            NotLeader: it is a write, and this router may not write; nothing was sent.
        """
        connect_s = min(self._settings.connect_timeout_s, timeout_s or self._settings.connect_timeout_s)
        urlopen = {
            "url": f"{path}{'?' if query else ''}{query}", "body": body,
            "headers": {**_HEADERS, **(headers or {}), **credentials},
            "timeout": Timeout(connect=connect_s, read=timeout_s or self._settings.timeout_s)}
        with self._beside[beside] if beside else self.slots.use():
            with self._counting:
                self.counts[label or method] += 1
            self.newest = hide_token(path)
            begin = self._clock()
            trusted = self._newest_authorities()
            answer = self._attempt(method, path, trusted, urlopen)
            if isinstance(answer, Untrusted) and (newest := self._newest_authorities(now=True)) != trusted:
                answer = self._attempt(method, path, newest, urlopen)  # nothing was sent before
            took_s = self._clock() - begin
            self.clock_offset.record(answer.date if isinstance(answer, Reply) else None, took_s)
            self.times.record(method, path, answer.status if isinstance(answer, Reply) else NO_REPLY, took_s)
            if beside != SAVING:
                self.slow_requests.record(method, hide_token(path), took_s)
        if isinstance(answer, Unreachable):
            raise answer
        return answer

    def _attempt(self, method: str, path: str, trusted: str, urlopen: dict[str, Any]) -> Reply | Unreachable:
        """Send a request; return the exception instead of raising it, so that it has no context."""
        try:
            answer = self._connections(trusted).urlopen(method, retries=False, redirect=False, **urlopen)
            return Reply(answer.status, answer.data, target(answer.headers), answer.headers.get("Date"))
        except (OSError, wire.HTTPError) as exc:
            return _failure(method, hide_token(path), exc)

    def _newest_authorities(self, *, now: bool = False) -> str:
        """Return CA certificates in PEM; "" for the settings' CAs. Args: now: read the file at once."""
        return self._authorities.get(now=now) if self._authorities else ""

    def _connections(self, certificates: str) -> HTTPConnectionPool:
        """Return the connections to a device with the given CAs; "" for the settings' CAs."""
        with self._counting:
            if certificates != self._trusted:
                # Not closed: other threads are about to use it. It goes with the last of them.
                self._adapter, self._pool = _Adapter(
                    self._settings, self._permit, self._opened), None
                self._trusted = certificates
            if self._pool is None:
                self._pool = self._adapter.pool(certificates)
            return self._pool

    def abort(self) -> None:
        """End all requests in flight, except for the state, from any thread: they fail as if cut off."""
        for connection in list(self._opened):
            connection.abort()

    def close(self) -> None:
        """Close the connections."""
        self._adapter.close()


def hide_token(text: str) -> str:
    """Replace the token in a path."""
    return _TOKEN_IN_PATH.sub(r"\1*", text)


def _hide_tokens(record: logging.LogRecord) -> bool:
    """Filter log records: urllib3 logs each path, and a token's own path contains the token."""
    if isinstance(record.args, tuple):
        record.args = tuple(hide_token(a) if isinstance(a, str) else a for a in record.args)
    return True


def _check_trust(settings: ClientSettings) -> None:
    """Check the CA bundle before the first request; warn once if there is no verification.

    Raises: ConfigError: the CA bundle cannot be read or holds no certificate.
    """
    if settings.verify is False:
        log.warning("TLS certificate of the BIG-IP is not verified", extra={"url": settings.base_url})
        # urllib3 would warn again for every connection.
        warnings.filterwarnings("ignore", category=wire.InsecureRequestWarning)
    if not isinstance(settings.verify, str):
        return
    try:
        if os.path.isdir(settings.verify):
            return
        ssl.create_default_context(cafile=settings.verify)
    except OSError as exc:  # ssl.SSLError too
        reason = getattr(exc, "reason", None) or exc.strerror or type(exc).__name__
        problem = f"--f5-ca-bundle: {settings.verify} is no file of PEM certificates: {reason}"
        raise ConfigError([problem]) from None


def _failure(method: str, path: str, exc: BaseException) -> Unreachable:
    """Translate the library's exception; str(exc) may contain the URL, its query or a header."""
    links = log_output.exception_links(exc)
    for link in links:
        if isinstance(link, (ssl.SSLCertVerificationError, CertificateError)):
            return Untrusted(method, path, _certificate(link))
    sent = not any(isinstance(link, _NOT_SENT) for link in links)
    return Unreachable(method, path, _words(links), may_have_applied=sent and method != "GET")


def _certificate(link: BaseException) -> str:
    code = getattr(link, "verify_code", None)
    words = getattr(link, "verify_message", "") or "it does not carry the address"
    if code is None or code in _MISMATCH:
        return (f"the certificate is for another name ({words}): "
                "give --f5-host a name or address that the certificate carries")
    return f"the certificate is not trusted ({words}): give the file of its CA with --f5-ca-bundle"


_PROXY_ERRORS = (requests.exceptions.InvalidSchema, requests.exceptions.InvalidProxyURL)


def _words(links: list[BaseException]) -> str:
    """Return why there is no reply."""
    for kind, words in (
        (wire.NameResolutionError, "the host name has no address"),
        (wire.ProxyError, "the proxy of the environment gave no connection"),
        (_PROXY_ERRORS, "the proxy of the environment (HTTPS_PROXY) cannot be used: it takes a URL with "
                        "http:// or https://, and a host"),
        (wire.ReadTimeoutError, "no reply within the time-out"),
    ):
        if any(isinstance(link, kind) for link in links):
            return words
    if text := log_output.failure_words(links):
        return text
    if any(isinstance(link, wire.ConnectTimeoutError) for link in links):
        return "no connection within the time-out"
    return "no usable reply"
