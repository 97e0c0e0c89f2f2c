"""HTTP to the Kubernetes API.

The kubernetes package finds the server, the credentials and the TLS settings, and creates the connection
pool, with a proxy from the environment if there is one. Requests and replies are plain JSON: its generated
models would take several times the memory, and refuse objects that they do not know.

Certificates are verified equally under every version of Python. Since Python 3.13, urllib3 sets
VERIFY_X509_STRICT. It refuses certificates without key identifiers or key usage, as the authorities of many
clusters have them. Sources: kubernetes-client/python, issue 2394; canonical/microk8s, pull request 5537.
Signatures, dates and names are checked as ever.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

import urllib3
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import ConfigException
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.util.ssl_ import create_urllib3_context, resolve_cert_reqs

from f5router import __version__
from f5router.kube.api import api_errors
from f5router.kube.api.counts import Outages, WatchCounts
from f5router.kube.api.credentials import PERIOD_S, CredentialFiles
from f5router.kube.api.documents import Document, Splitter, UnreadableDocument
from f5router.kube.settings import KubeSettings
from f5router.model.clock_offset import ClockOffset
from f5router.model.errors import ConfigError, KubeInvalid, KubeNotLeader, KubeUnauthorized, KubeUnreachable
from f5router.model.limits import ALWAYS, WHY_NOT, WritePermit


class _Pool(HTTPSConnectionPool):
    """Connections with the same TLS settings, read once: urllib3 does so for each connection."""

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        if self.ca_certs:  # else the public ones, which urllib3 loads into a context of its own
            context = create_urllib3_context(cert_reqs=resolve_cert_reqs(self.cert_reqs), verify_flags=0)
            context.load_verify_locations(self.ca_certs)
            if self.cert_file:
                context.load_cert_chain(self.cert_file, self.key_file)
            self.conn_kw["ssl_context"] = context
            self.cert_file = self.key_file = None
            if self.proxy is None:  # else its certificate is verified, too
                self.ca_certs = None


def http_client(configuration: Configuration) -> RESTClientObject:
    """Return a client with connections of its own."""
    client = RESTClientObject(configuration)
    client.pool_manager.pool_classes_by_scheme = {"http": HTTPConnectionPool, "https": _Pool}
    return client


log = logging.getLogger(__name__)

READ_SIZE = 1 << 16

PLAIN = "application/json"
"""Media type of a reply with whole objects."""

MOST_REPLY = 32 << 20
"""Bytes of a reply that is read as a whole: one object, or discovery."""


REVIEWS = "/apis/authorization.k8s.io/"
"""Requests that are posted, and change nothing."""


class LineStream:
    """The documents of an endless reply. close() ends the reader at once."""

    def __init__(self, response: urllib3.BaseHTTPResponse, request: str):
        self._response = response
        self._request = request
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[object]:
        """Yield the values of the documents.

        Raises: KubeUnreachable: see documents(); KubeInvalid: one cannot be read.
        """
        for document in self.documents():
            yield value(document, self._request)

    def documents(self) -> Iterator[Document]:
        """Yield the documents as they arrive, until the server ends the reply, or close() is called.

        Raises: KubeUnreachable: the connection broke, was silent for too long, or a line is cut off.
        """
        splitter = Splitter()
        try:
            for chunk in self._chunks():
                for document in splitter.feed(chunk):
                    if self._closed.is_set():
                        return
                    yield document
            if not self._closed.is_set():
                yield from splitter.end()
        except (HTTPError, OSError, ValueError, AttributeError) as exc:
            # close() removes the connection while it is read, which may fail in many ways.
            if not self._closed.is_set():
                raise KubeUnreachable(f"{self._request}: {api_errors.reason(exc)}") from exc
        finally:
            self._response.close()

    def _chunks(self) -> Iterable[bytes]:
        if getattr(self._response, "chunked", False):
            return self._response.stream(READ_SIZE)
        return iter(lambda: self._response.read1(READ_SIZE), b"")

    def close(self) -> None:
        """End the stream, from any thread; a blocked reader returns."""
        self._closed.set()
        try:
            self._response.shutdown()
        except (ValueError, RuntimeError, OSError) as exc:  # ended already
            log.debug("stream already closed", extra={"error": api_errors.reason(exc)})


class Page:
    """A part of a list, decoded while it arrives, so that it is never in memory as a whole."""

    def __init__(self, response: urllib3.BaseHTTPResponse, request: str):
        self._response = response
        self._request = request
        self.version = ""
        """resourceVersion of the list, once all documents are read."""
        self.token = ""
        """Token of the next page, likewise; "" if there is none."""

    def documents(self) -> Iterator[Document]:
        """Yield the objects. Raises: KubeUnreachable: the connection broke, or the reply is no list."""
        splitter = Splitter(items=True)
        try:
            for chunk in self._response.stream(READ_SIZE):
                yield from splitter.feed(chunk)
            yield from splitter.end()
            around = splitter.around()
        except (HTTPError, OSError) as exc:
            raise KubeUnreachable(f"{self._request}: {api_errors.reason(exc)}") from exc
        except ValueError as exc:
            raise KubeUnreachable(f"{self._request}: the reply is not JSON") from exc
        finally:
            if not self._response.closed:  # read to its end, its connection is in the pool again
                self._response.close()
        if not isinstance(around, Mapping):
            raise KubeUnreachable(f"{self._request}: the reply is no list")
        metadata = around.get("metadata")
        if isinstance(metadata, Mapping):
            self.version, self.token = (
                text if isinstance(text := metadata.get(name), str) else ""
                for name in ("resourceVersion", "continue"))


def value(document: Document, request: str) -> object:
    """Return a document's value. Raises: KubeInvalid: it cannot be read; KubeUnreachable: it is no JSON."""
    try:
        return document.load()
    except UnreadableDocument as exc:
        raise KubeInvalid(f"{request}: an object {exc}") from exc
    except ValueError as exc:
        raise KubeUnreachable(f"{request}: the reply is not JSON") from exc


class Connection:
    """Requests to one API server; safe to use from several threads."""

    def __init__(self, credentials: CredentialFiles, settings: KubeSettings, permit: WritePermit = ALWAYS,
                 clock: Callable[[], float] = time.monotonic):
        """Args: permit: asked before each write."""
        self._credentials, self._permit, self._clock = credentials, permit, clock
        self.clock_offset = ClockOffset()
        """Offset of the API server's clock."""
        self._settings = settings
        self._lock = threading.Lock()
        self.outages, self.watch_counts = Outages(time.monotonic), WatchCounts()
        self._configuration = credentials.load()
        self._files_due = clock() + PERIOD_S
        # Read once: a refresh of the credentials resets the host of the configuration.
        self._base = self._configuration.host.rstrip("/")
        self._client = _client(self._configuration)

    @property
    def server(self) -> str:
        """URL of the API server, for log messages."""
        return self._base

    def request(self, method: str, path: str, *, query: dict[str, Any] | None = None, body: object = None,
                content_type: str = "application/json", stream: bool = False,
                timeout_s: float | None = None, accept: str = PLAIN) -> Any:
        """Send a request and return the JSON value of its reply, or a LineStream.

        Args:
            path: absolute and quoted, such as /api/v1/nodes.
            body: a value to send as JSON; None for an empty body.
            timeout_s: longest silence while reading; None for the setting.
            accept: media types of the reply, the preferred first.
        Raises:
            KubeUnreachable, KubeForbidden, ResourceUnavailable, KubeNotFound, KubeConflict, ResourceExpired,
            KubeInvalid: see api_errors.error_for. After KubeUnreachable a write may
            have been applied.
            KubeNotLeader: it is a write, and this router may not write.
        """
        response = self._request(method, path, query, body, content_type, timeout_s, accept)
        request = f"{method} {path}"
        if stream and response.status == 200:
            return LineStream(response, request)
        data = self._body(response, method, path)
        return value(Document(data), request) if data else None

    def answer(self, path: str) -> tuple[Any, Mapping[str, str]]:
        """Read a path; return the JSON value and the headers of the reply. Raises: see request()."""
        response = self._request("GET", path, None, None, "", None, PLAIN)
        data = self._body(response, "GET", path)
        return value(Document(data), f"GET {path}") if data else None, response.headers

    def page(self, path: str, query: dict[str, Any], accept: str = PLAIN) -> Page:
        """Request a part of a list. Raises: see request()."""
        response = self._request("GET", path, query, None, "", None, accept)
        if response.status != 200:
            self._body(response, "GET", path)
        return Page(response, f"GET {path}")

    def close(self) -> None:
        """Close idle connections."""
        self._client.pool_manager.clear()

    def _request(self, method: str, path: str, query: dict[str, Any] | None, body: object, content_type: str,
                  timeout_s: float | None, accept: str) -> urllib3.BaseHTTPResponse:
        """Send a request and return the reply, its body not read yet."""
        used = self._renewed()
        response = self._send(used, method, path, query, body, content_type, timeout_s, accept)
        if response.status == 403:
            with suppress(KubeUnauthorized):  # of system:anonymous
                self._body(response, method, path)
        elif response.status != 401:
            return response
        response.drain_conn()  # the token may have been replaced a moment ago
        return self._send(
            self._reconnected(used), method, path, query, body, content_type, timeout_s, accept)

    def _body(self, response: urllib3.BaseHTTPResponse, method: str, path: str) -> bytes:
        """Read a body as a whole. Raises: see request()."""
        data = bytearray()
        try:
            for chunk in response.stream(READ_SIZE):
                data += chunk
                if len(data) > MOST_REPLY:
                    response.close()
                    raise KubeInvalid(f"{method} {path}: the reply is larger than {MOST_REPLY >> 20} MiB")
        except (HTTPError, OSError) as exc:
            raise KubeUnreachable(f"{method} {path}: {api_errors.reason(exc)}") from exc
        if not 200 <= response.status < 300:
            raise api_errors.error_for(
                method, path, response.status, bytes(data), response.headers, sdn=self._settings.sdn)
        return bytes(data)

    def _send(self, client: RESTClientObject, method: str, path: str, query: dict[str, Any] | None,
              body: object, content_type: str, timeout_s: float | None,
              accept: str) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": accept, "User-Agent": f"f5router/{__version__}"}
        if body is not None:
            headers["Content-Type"] = content_type
        url = f"{self._base}{path}{'?' + urlencode(query) if query else ''}"
        with self._lock:  # the refresh of an expired token is not thread-safe
            headers |= self._authorization()
        if method != "GET" and not path.startswith(REVIEWS) and not self._permit.is_given():
            raise KubeNotLeader(f"{method} {path}: {WHY_NOT}")  # also before a repetition after 401
        begin = time.monotonic()
        try:
            response = client.pool_manager.request(
                method, url, headers=headers, retries=False, redirect=False, preload_content=False,
                body=None if body is None else json.dumps(body).encode(),
                timeout=urllib3.Timeout(connect=self._settings.connect_timeout_s,
                                        read=timeout_s or self._settings.read_timeout_s))
            self.clock_offset.record(response.headers.get("Date"), time.monotonic() - begin)
            return response
        except (HTTPError, OSError) as exc:
            raise KubeUnreachable(f"{method} {path}: {api_errors.reason(exc)}") from exc

    def _authorization(self) -> dict[str, str]:
        """Return the header with the token, which the configuration re-reads when it expires."""
        try:
            settings: Mapping[str, Any] = self._configuration.auth_settings()
        except (ConfigException, OSError) as exc:
            raise KubeUnreachable(f"credentials cannot be read: {api_errors.reason(exc)}") from exc
        return {item["key"]: _header(item["value"]) for item in settings.values()
                if item["in"] == "header" and item["value"]}

    def _renewed(self) -> RESTClientObject:
        """Return a client with the files as they are; open streams keep their connection."""
        if self._clock() >= self._files_due:
            with self._lock:
                if self._clock() >= self._files_due:
                    self._files_due = self._clock() + PERIOD_S
                    if (changed := self._credentials.changed(self._base)) is not None:
                        self._configuration = changed
                        self._client = http_client(changed)
        return self._client

    def _reconnected(self, used: RESTClientObject) -> RESTClientObject:
        """Return a client with token and certificates read again; open streams keep their connection."""
        with self._lock:
            if self._client is used:  # else another thread did so since
                try:
                    self._configuration = self._credentials.load(self._base)
                except ConfigError as exc:
                    raise KubeUnreachable(f"credentials cannot be read: {exc}") from exc
                self._client = _client(self._configuration)
            return self._client


def connect(settings: KubeSettings, permit: WritePermit = ALWAYS) -> Connection:
    """Return a Connection; nothing is sent yet.

    Raises: ConfigError: no configuration, or one that cannot be used.
    """
    return Connection(CredentialFiles(settings), settings, permit)


def _client(configuration: Configuration) -> RESTClientObject:
    """Return a client. Raises: ConfigError: its proxy cannot be used; its URL may hold a password."""
    try:
        return http_client(configuration)
    except HTTPError:
        problem = ("the proxy for the API server (HTTPS_PROXY, or proxy-url of the kubeconfig) cannot be "
                   "used: it takes a URL with http:// or https://, a host, and a valid port")
        raise ConfigError([problem]) from None


def _header(value: str) -> str:
    """Check a header value: http.client would quote an invalid one, the token, in its exception."""
    scheme, _, token = value.strip().partition(" ")
    if not (token.isascii() and token.isprintable()):
        raise KubeUnreachable("the token holds a line break or another character that cannot be sent")
    return f"{scheme.capitalize()} {token.strip()}"
