"""Settings of HTTP and TLS between the clients and the BIG-IP: versions, cipher suites, headers, pages.

Source: openshift/router, images/router/haproxy/conf/haproxy-config.template.

Sources: openshift/router, haproxy-config.template (errorfile 503, errorfile 404, deny_status 404); HAProxy
2.6 configuration manual, errorfile (a file must fit into a buffer, that is ROUTER_BUF_SIZE).
"""

import http.client
import io
import re
from collections.abc import Callable
from dataclasses import replace

from f5router.config.options import OPTIONS
from f5router.config.reader import Reader
from f5router.model import cipher_suites
from f5router.model.client_tls import VERSIONS, TLSFiles, TLSSettings
from f5router.model.http_edge import ErrorPage, HTTPEdge, UniqueID

CIPHERS, CIPHERSUITES = "ciphers", "ciphersuites"
MINIMUM, MAXIMUM = "ssl-min-version", "ssl-max-version"
LOWEST = "1.2"
"""Oldest version if only the newest is set, as in OpenShift's router."""

Parse = Callable[[str], tuple[tuple[str, ...], tuple[str, ...]]]


def load_tls(reader: Reader) -> TLSSettings:
    """Return the settings of TLS towards clients."""
    minimum, maximum = reader.value(MINIMUM), reader.value(MAXIMUM)
    if minimum or maximum:
        minimum, maximum = minimum or min(LOWEST, maximum), maximum or "1.3"
        order = list(VERSIONS)
        if order.index(minimum) > order.index(maximum):
            reader.problem("the oldest version is newer than the newest", MINIMUM, MAXIMUM)
    ciphers = _suites(reader, CIPHERS, cipher_suites.parse)
    ciphers_13 = _suites(reader, CIPHERSUITES, cipher_suites.parse_tls13)
    if ciphers_13 and not ciphers:
        reader.warn("not used: the cipher suites of a profile are one list, which is set with ROUTER_CIPHERS",
                    CIPHERSUITES)
    certificates, expression = reader.value("mutual-tls-auth"), reader.value("mutual-tls-auth-filter")
    if certificates == "none":
        for name in ("mutual-tls-auth-ca", "mutual-tls-auth-crl", "mutual-tls-auth-filter"):
            if reader.text(name):
                reader.warn("not used: clients are not asked for certificates", name)
    elif not reader.text("mutual-tls-auth-ca"):
        reader.warn("it is not set: certificates of every public CA are accepted", "mutual-tls-auth-ca")
    all_13 = tuple(cipher_suites.TLS13)
    settings = TLSSettings(ciphers, (ciphers_13 or all_13) if ciphers else (), minimum, maximum)
    if certificates == "none":
        return settings
    return replace(settings, client_certificates=certificates,
                   client_filter=expression or "")


def strict_sni(reader: Reader, files: TLSFiles) -> bool:
    """Return whether clients are refused whose server name no certificate has."""
    strict = bool(reader.value("strict-sni"))
    if strict and files.default_certificate is None:
        reader.warn("not used without a default certificate of the router, such as DEFAULT_CERTIFICATE_PATH: "
                    "the names in the virtual server's own certificate are unknown", "strict-sni")
    return strict


def _suites(reader: Reader, name: str, parse: Parse) -> tuple[str, ...]:
    """Return the suites of a list; words that stand for none are left out with a warning."""
    text = reader.text(name)
    if not text:
        return ()
    try:
        suites, unknown = parse(text)
    except ValueError as exc:
        reader.problem(str(exc), name)
        return ()
    if unknown:
        reader.warn(f"left out, the BIG-IP has no cipher suite of this name: {', '.join(unknown)}", name)
    return suites


BUILTIN, NO_PAGE = "builtin", "none"
"""Words in the place of a file."""
NOT_FOUND = ErrorPage(404, (("Content-Type", "text/plain; charset=utf-8"),),
                      b"404 Not Found: no application has this host and path.\n")

LARGEST_PAGE = 32768
"""Bytes of a file. In base64 it fits into an iRule, whose text may have 65,520 bytes."""
MOST_HEADERS = 30

_OF_CONNECTION = frozenset({
    "connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
    "upgrade"})
"""Headers that the BIG-IP writes itself."""
_WORDS = frozenset({"content", "ifile", "noserver"})
"""Arguments of the iRule command HTTP::respond, which stand where a name could."""
_HEADER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_HEADER_VALUE = re.compile(r"[ -~]{0,1024}")


class _Received:
    """A connection from which a response has come."""

    def __init__(self, raw: bytes):
        self._raw = raw

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._raw)


def parse_error_page(text: str) -> ErrorPage:
    """Read a response: status line, headers, an empty line, body. Raises: ValueError."""
    raw = text.encode()
    if len(raw) > LARGEST_PAGE:
        raise ValueError(f"it has {len(raw)} bytes, more than {LARGEST_PAGE}")
    response = http.client.HTTPResponse(_Received(raw))  # type: ignore[arg-type]
    try:
        response.begin()
        body = response.read()
    except (http.client.HTTPException, ValueError) as exc:
        raise ValueError(f"it is not an HTTP response: {exc!r}") from None
    if response.msg.defects:
        raise ValueError(f"it has a header that is none: {response.msg.defects[0]!r}")
    if not 200 <= response.status <= 599 or response.status in (204, 304):
        raise ValueError(f"status {response.status} is not that of an answer with a body")
    return ErrorPage(response.status, tuple(_headers(response)), body)


def _headers(response: http.client.HTTPResponse) -> list[tuple[str, str]]:
    headers = [(name, value) for name, value in response.getheaders()
               if name.lower() not in _OF_CONNECTION]
    if len(headers) > MOST_HEADERS:
        raise ValueError(f"it has more than {MOST_HEADERS} headers")
    for name, value in headers:
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _WORDS:
            raise ValueError(f"header {name!r} cannot be sent")
        if not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"header {name!r} has a value that is not one line of printable ASCII")
    return headers


def load_http(reader: Reader) -> HTTPEdge:
    """Return the settings, as far as they are right; the reader has what is wrong."""
    types, compresses = reader.value("compression-mime"), reader.value("enable-compression")
    if not compresses and types != OPTIONS["compression-mime"].parse(OPTIONS["compression-mime"].default):
        reader.warn("not used: it is part of --enable-compression", "compression-mime")
    unavailable = _page(reader, "errorfile-503")
    if unavailable and not reader.value("f5-503-page"):
        reader.warn("not used, because of --f5-503-page=false", "errorfile-503")
        unavailable = None
    return HTTPEdge(types if compresses else (), unavailable, _not_found(reader), reader.value("hsts-header"))


def _not_found(reader: Reader) -> ErrorPage | None:
    """Return the page for requests that no Route matches; None for that of all others.

    Source of the default: kubernetes-sigs/ingress-controller-conformance, features/*.feature, where the
    status of such a request is 404. Where Routes are served it is 503, as from OpenShift's router.
    """
    text = reader.text("errorfile-404")
    if not text:
        own = reader.text("f5-vserver-address") and reader.value("sources") == ("ingress",)
        text = BUILTIN if own and reader.value("f5-503-page") else NO_PAGE
    if text in (BUILTIN, NO_PAGE):
        return NOT_FOUND if text == BUILTIN else None
    return _page(reader, "errorfile-404")


def _page(reader: Reader, name: str) -> ErrorPage | None:
    """Return the page in the file that a setting names; None without one, and after a problem."""
    text = reader.read(name) if reader.text(name) else None
    if text is None:
        return None
    try:
        return parse_error_page(text)
    except ValueError as exc:
        reader.problem(f"cannot use {reader.text(name)!r}: {exc}", name)
        return None


def unique_id(reader: Reader) -> UniqueID | None:
    """Return the header with the ID of a request; None without its name."""
    name, pieces = reader.value("unique-id-header-name"), reader.value("unique-id-format")
    if not name and pieces != OPTIONS["unique-id-format"].parse(OPTIONS["unique-id-format"].default):
        reader.warn("not used: there is no name of a header", "unique-id-format", "unique-id-header-name")
    return UniqueID(name, pieces) if name else None
