"""Files with raw HTTP responses: pages for clients whom no pod can answer.

Sources: openshift/router, haproxy-config.template (errorfile 503, errorfile 404, deny_status 404); HAProxy
2.6 configuration manual, errorfile (a file must fit into a buffer, that is ROUTER_BUF_SIZE).
"""

import http.client
import io
import re

from f5router.model.http_edge import ErrorPage

LARGEST = 32768
"""Bytes of a file. In base64 it fits into an iRule, whose text may have 65,520 bytes."""
MOST_HEADERS = 30

_OF_CONNECTION = frozenset({
    "connection", "content-length", "keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding",
    "upgrade"})
"""Headers that the BIG-IP writes itself."""
_WORDS = frozenset({"content", "ifile", "noserver"})
"""Arguments of the iRule command HTTP::respond, which stand where a name could."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_VALUE = re.compile(r"[ -~]{0,1024}")


class _Received:
    """A connection from which a response has come."""

    def __init__(self, raw: bytes):
        self._raw = raw

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._raw)


def parse(text: str) -> ErrorPage:
    """Read a response: status line, headers, an empty line, body. Raises: ValueError."""
    raw = text.encode()
    if len(raw) > LARGEST:
        raise ValueError(f"it has {len(raw)} bytes, more than {LARGEST}")
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
        if not _NAME.fullmatch(name) or name.lower() in _WORDS:
            raise ValueError(f"header {name!r} cannot be sent")
        if not _VALUE.fullmatch(value):
            raise ValueError(f"header {name!r} has a value that is not one line of printable ASCII")
    return headers
