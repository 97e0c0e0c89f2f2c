"""HTTP to the Kubernetes API.

The kubernetes package finds the server, the credentials and the TLS settings and makes the
connection pool, with a proxy from the environment if there is one. Requests and replies are plain
JSON: its generated models would cost several times the memory and refuse objects that they do not
know.
"""

import json
import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import urllib3
import yaml
from kubernetes import config as kube_config
from kubernetes.client.configuration import Configuration
from kubernetes.client.rest import RESTClientObject
from kubernetes.config import incluster_config
from urllib3.exceptions import HTTPError

from f5router import __version__
from f5router.kube.api import api_errors, kubeconfig
from f5router.kube.api.documents import Document, Splitter, Unreadable
from f5router.kube.api.kubeconfig import MemoryFiles
from f5router.kube.api.outages import Outages
from f5router.kube.settings import KubeSettings
from f5router.model.errors import ConfigError, KubeInvalid, KubeUnreachable

log = logging.getLogger(__name__)

KEEPALIVE = (
    *urllib3.connection.HTTPConnection.default_socket_options,
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    # A firewall that forgets an idle watch is noticed after 30 + 3 * 10 s.
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)

POOL_SIZE = 16
"""Idle connections kept: a watch per kind and the writers."""

READ_SIZE = 1 << 16

PLAIN = "application/json"
"""Form of a reply: whole objects."""

MOST_REPLY = 32 << 20
"""Bytes of a reply that is read as a whole: one object, or what the API server serves."""


class LineStream:
    """The documents of an endless reply. Closing it ends the reader at once."""

    def __init__(self, response: urllib3.BaseHTTPResponse, request: str):
        self._response = response
        self._request = request
        self._closed = threading.Event()

    def __iter__(self) -> Iterator[object]:
        """The values of the documents.

        Raises: KubeUnreachable: see documents(); KubeInvalid: one cannot be read.
        """
        for document in self.documents():
            yield value(document, self._request)

    def documents(self) -> Iterator[Document]:
        """The documents as they arrive; ends when the server ends the reply, or after close().

        Raises:
            KubeUnreachable: the connection broke, was silent for too long, or a line is cut off.
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
            # close() takes the connection from under the reader, which may fail in many ways.
            if not self._closed.is_set():
                raise KubeUnreachable(f"{self._request}: {_reason(exc)}") from exc
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
            log.debug("stream was closed before", extra={"error": _reason(exc)})


class Page:
    """Part of a list, read while it arrives, so that it is never in memory as a whole."""

    def __init__(self, response: urllib3.BaseHTTPResponse, request: str):
        self._response = response
        self._request = request
        self.version = ""
        """resourceVersion of the list, once all documents are read."""
        self.token = ""
        """Where the next page begins, likewise; "" if there is none."""

    def documents(self) -> Iterator[Document]:
        """The objects. Raises: KubeUnreachable: the connection broke, or the reply is no list."""
        splitter = Splitter(items=True)
        try:
            for chunk in self._response.stream(READ_SIZE):
                yield from splitter.feed(chunk)
            yield from splitter.end()
            around = splitter.around()
        except (HTTPError, OSError) as exc:
            raise KubeUnreachable(f"{self._request}: {_reason(exc)}") from exc
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
    """The value of a document. Raises: KubeInvalid: it cannot be read; KubeUnreachable: it is no JSON."""
    try:
        return document.load()
    except Unreadable as exc:
        raise KubeInvalid(f"{request}: an object {exc}") from exc
    except ValueError as exc:
        raise KubeUnreachable(f"{request}: the reply is not JSON") from exc


class Connection:
    """Requests to one API server; safe to use from several threads."""

    def __init__(self, load: Callable[[], Configuration], settings: KubeSettings):
        """load reads the configuration anew each time that it is called."""
        self._load = load
        self._settings = settings
        self._lock = threading.Lock()
        self.outages = Outages(time.monotonic)
        self._configuration = load()
        # Taken once: a refresh of the credentials sets the host of the configuration back.
        self._base = self._configuration.host.rstrip("/")
        self._client = RESTClientObject(self._configuration)

    @property
    def server(self) -> str:
        """URL of the API server, for log messages."""
        return self._base

    @property
    def namespace(self) -> str | None:
        """Namespace of the settings."""
        return self._settings.namespace

    def request(self, method: str, path: str, *, query: dict[str, Any] | None = None, body: object = None,
                content_type: str = "application/json", stream: bool = False,
                timeout_s: float | None = None, accept: str = PLAIN) -> Any:
        """Send a request and return the JSON value of its reply, or a LineStream.

        Args:
            path: absolute and quoted, such as /api/v1/nodes.
            body: a value to send as JSON; None for an empty body.
            timeout_s: longest silence while reading; None for the setting.
            accept: forms of the reply, the best first.
        Raises:
            KubeUnreachable, KubeForbidden, ResourceUnavailable, KubeNotFound, KubeConflict, ResourceExpired,
            KubeInvalid: see replies.error_for. A write may have been done when it is
            KubeUnreachable.
        """
        sent = self._answered(method, path, query, body, content_type, timeout_s, accept)
        request = f"{method} {path}"
        if stream and sent.status == 200:
            return LineStream(sent, request)
        data = self._body(sent, method, path)
        return value(Document(data), request) if data else None

    def page(self, path: str, query: dict[str, Any], accept: str = PLAIN) -> Page:
        """Ask for part of a list. Raises: as request()."""
        sent = self._answered("GET", path, query, None, "", None, accept)
        if sent.status != 200:
            self._body(sent, "GET", path)
        return Page(sent, f"GET {path}")

    def close(self) -> None:
        """Give up idle connections."""
        self._client.pool_manager.clear()

    def _answered(self, method: str, path: str, query: dict[str, Any] | None, body: object, content_type: str,
                  timeout_s: float | None, accept: str) -> urllib3.BaseHTTPResponse:
        """The reply, its body not read yet."""
        used = self._client
        sent = self._send(used, method, path, query, body, content_type, timeout_s, accept)
        if sent.status != 401:
            return sent
        sent.drain_conn()  # the token may have been replaced a moment ago
        return self._send(
            self._logged_in_again(used), method, path, query, body, content_type, timeout_s, accept)

    def _body(self, sent: urllib3.BaseHTTPResponse, method: str, path: str) -> bytes:
        """A body as a whole. Raises: as request()."""
        data = bytearray()
        try:
            for chunk in sent.stream(READ_SIZE):
                data += chunk
                if len(data) > MOST_REPLY:
                    sent.close()
                    raise KubeInvalid(f"{method} {path}: the reply is larger than {MOST_REPLY >> 20} MiB")
        except (HTTPError, OSError) as exc:
            raise KubeUnreachable(f"{method} {path}: {_reason(exc)}") from exc
        if not 200 <= sent.status < 300:
            raise api_errors.error_for(
                method, path, sent.status, bytes(data), sent.headers, sdn=self._settings.sdn)
        return bytes(data)

    def _send(self, client: RESTClientObject, method: str, path: str, query: dict[str, Any] | None,
              body: object, content_type: str, timeout_s: float | None,
              accept: str) -> urllib3.BaseHTTPResponse:
        headers = {"Accept": accept, "User-Agent": f"f5router/{__version__}"}
        if body is not None:
            headers["Content-Type"] = content_type
        url = f"{self._base}{path}{'?' + urlencode(query) if query else ''}"
        with self._lock:  # the refresh of an expired token is not made for threads
            headers |= self._authorization()
        try:
            return client.pool_manager.request(
                method, url, headers=headers, retries=False, redirect=False, preload_content=False,
                body=None if body is None else json.dumps(body).encode(),
                timeout=urllib3.Timeout(connect=self._settings.connect_timeout_s,
                                        read=timeout_s or self._settings.read_timeout_s))
        except (HTTPError, OSError) as exc:
            raise KubeUnreachable(f"{method} {path}: {_reason(exc)}") from exc

    def _authorization(self) -> dict[str, str]:
        """The header with the token, which the configuration re-reads when it expires."""
        try:
            settings: Mapping[str, Any] = self._configuration.auth_settings()
        except (kube_config.ConfigException, OSError) as exc:
            raise KubeUnreachable(f"credentials cannot be read: {_reason(exc)}") from exc
        return {item["key"]: _header(item["value"]) for item in settings.values()
                if item["in"] == "header" and item["value"]}

    def _logged_in_again(self, used: RESTClientObject) -> RESTClientObject:
        """A client with token and certificates read anew; open streams keep their connection."""
        with self._lock:
            if self._client is used:  # else another thread did so since
                try:
                    self._configuration = self._load()
                except ConfigError as exc:
                    raise KubeUnreachable(f"credentials cannot be read: {exc}") from exc
                self._client = RESTClientObject(self._configuration)
            return self._client


def connect(settings: KubeSettings) -> Connection:
    """A Connection; nothing is sent yet.

    Raises:
        ConfigError: no configuration, or one that cannot be used.
    """
    files = MemoryFiles()
    return Connection(lambda: _configuration(settings, files), settings)


def _configuration(settings: KubeSettings, files: MemoryFiles) -> Configuration:
    result = Configuration()
    result.socket_options = list(KEEPALIVE)
    result.connection_pool_maxsize = POOL_SIZE
    source = settings.kubeconfig or os.environ.get("KUBECONFIG")
    try:
        if source:
            kubeconfig.load(result, source, settings.context, files)
        elif os.path.exists(incluster_config.SERVICE_TOKEN_FILENAME):
            kube_config.load_incluster_config(client_configuration=result)
        elif os.path.exists(os.path.expanduser("~/.kube/config")):
            kubeconfig.load(result, "~/.kube/config", settings.context, files)
        elif not settings.master:
            raise ConfigError(["no kubeconfig, no service account and no KUBERNETES_MASTER: the API "
                               "server is unknown"])
    except (kube_config.ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, KeyError,
            AttributeError) as exc:
        raise ConfigError([f"{source or 'service account'}: {_reason(exc)}"]) from exc
    if settings.master:
        result.host = settings.master
    return _checked(result)


def _checked(result: Configuration) -> Configuration:
    """Certificate files are read when the first request is sent: too late for a clear message."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if result.ssl_ca_cert:
            context.load_verify_locations(result.ssl_ca_cert)
        if result.cert_file:
            context.load_cert_chain(result.cert_file, result.key_file)
    except OSError as exc:  # ssl.SSLError too
        raise ConfigError([f"certificates for {result.host}: {_reason(exc)}"]) from exc
    return result


def _header(value: str) -> str:
    """A value as it may be sent: http.client would quote a bad one, the token, in its exception."""
    scheme, _, token = value.strip().partition(" ")
    if not (token.isascii() and token.isprintable()):
        raise KubeUnreachable("the token holds a line break or another character that cannot be sent")
    return f"{scheme.capitalize()} {token.strip()}"


def _reason(exc: BaseException) -> str:
    """Class and first line of an exception; those of urllib3 hold addresses, never headers."""
    return api_errors.excerpt(f"{type(exc).__name__}: {exc}")
