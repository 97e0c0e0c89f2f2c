"""HTTP/1 messages: heads with their headers as sent, bodies without their framing. The parser is llhttp's.

llhttp is lenient where TMM is: no Host, two Hosts, absolute-form targets and odd paths pass (`h11` refuses
several of them).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus

import httptools

Headers = list[tuple[bytes, bytes]]
REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}
REASONS[302] = b"Moved Temporarily"
"""Recorded of redirects (bigip-behaviour.md B11)."""


class BadMessage(ValueError):
    """Not HTTP, or over a limit of the profile."""


@dataclass
class Head:
    """A request's or response's first line and headers."""

    version: str = "1.1"
    headers: Headers = field(default_factory=list)
    method: bytes = b""
    target: bytes = b""
    status: int = 0
    reason: bytes = b""
    keep_alive: bool = True
    upgrade: bool = False

    def all(self, name: bytes) -> list[bytes]:
        """Values of the headers with a name, in their order."""
        name = name.lower()
        return [value for key, value in self.headers if key.lower() == name]

    def get(self, name: bytes) -> bytes | None:
        """Return a header, of several with its name the last, as HTTP::header has it."""
        values = self.all(name)
        return values[-1] if values else None

    def remove(self, name: bytes, *, every: bool = True) -> None:
        """Remove the headers with a name, or the last one of them."""
        places = [at for at, (key, _) in enumerate(self.headers) if key.lower() == name.lower()]
        gone = places if every else places[-1:]
        self.headers = [pair for at, pair in enumerate(self.headers) if at not in gone]

    def replace(self, name: bytes, value: bytes) -> None:
        """The header keeps its place; a new one goes to the end."""
        lowered = name.lower()
        for at, (key, _) in enumerate(self.headers):
            if key.lower() == lowered:
                self.headers[at] = (key, value)
                rest = [pair for pair in self.headers[at + 1 :] if pair[0].lower() != lowered]
                self.headers[at + 1 :] = rest
                return
        self.headers.append((name, value))

    def cookie(self, name: str) -> str | None:
        """The value of a cookie: the first one with the name."""
        for _, pair in self._cookies():
            key, _, value = pair.strip().partition(b"=")
            if key.strip() == name.encode("latin-1"):
                return value.decode("latin-1")
        return None

    def _cookies(self) -> Iterator[tuple[int, bytes]]:
        """(place of the header, NAME=VALUE) of each cookie. A response has one in each Set-Cookie."""
        for at, (key, value) in enumerate(self.headers):
            if self.status and key.lower() == b"set-cookie":
                yield at, value.partition(b";")[0]
            elif not self.status and key.lower() == b"cookie":
                yield from ((at, pair) for pair in value.split(b";"))

    def remove_cookie(self, name: str, *, every: bool) -> None:
        """Remove the first cookie with a name, or every one; a header without a cookie goes, too."""
        wanted, gone = name.encode("latin-1"), False
        kept: dict[int, list[bytes]] = {}
        for at, pair in self._cookies():
            left = kept.setdefault(at, [])
            if pair.partition(b"=")[0].strip() == wanted and (every or not gone):
                gone = True
            else:
                left.append(pair.strip())
        if gone and not self.status:
            changed = {at: b"; ".join(pairs) for at, pairs in kept.items()}
            self.headers = [(key, changed.get(at, value)) for at, (key, value) in enumerate(self.headers)
                            if changed.get(at, value) or at not in changed]
        elif gone:
            self.headers = [pair for at, pair in enumerate(self.headers) if kept.get(at, [b""])]

    @property
    def chunked(self) -> bool:
        return b"chunked" in (self.get(b"Transfer-Encoding") or b"").lower()

    def encode(self) -> bytes:
        version = self.version.encode()
        if self.method:
            first = b"%b %b HTTP/%b" % (self.method, self.target, version)
        else:
            first = b"HTTP/%b %d %b" % (version, self.status, self.reason)
        lines = [b"%b: %b" % pair for pair in self.headers]
        return b"\r\n".join([first, *lines, b"", b""])

    @property
    def path(self) -> bytes:
        """Without scheme and host of an absolute form."""
        path = self.target.partition(b"?")[0]
        if path.startswith(b"/") or b"://" not in path:
            return path
        _, slash, rest = path.partition(b"://")[2].partition(b"/")
        return slash + rest or b"/"

    @property
    def query(self) -> bytes:
        return self.target.partition(b"?")[2]

    @property
    def query_mark(self) -> bytes:
        """The question mark, which may stand before nothing."""
        return self.target.partition(b"?")[1]


def reply(
    status: int, headers: Headers = (), body: bytes = b"", *, version: str = "1.0"
) -> tuple[Head, bytes]:
    """A response of the device itself; redirects are HTTP/1.0 (bigip-behaviour.md B11)."""
    head = Head(version, [*headers, (b"Content-Length", b"%d" % len(body))], status=status)
    head.reason = REASONS.get(status, b"")
    return head, body


HEAD, BODY, END = "head", "body", "end"


class Parser:
    """Bytes to events: ("head", Head), ("body", bytes), ("end", trailers). One side of a connection."""

    def __init__(self, *, requests: bool, largest: int = 0, most: int = 0) -> None:
        """largest: bytes of a head; most: headers of one; 0 for no limit."""
        self.events: deque[tuple[str, object]] = deque()
        self.rest = b""
        """Bytes that follow an upgrade."""
        self._largest, self._most = largest, most
        self._requests = requests
        self._head = Head()
        self._in_head, self._size = True, 0
        self._trailers: Headers = []
        self._parser = httptools.HttpRequestParser(self) if requests else httptools.HttpResponseParser(self)

    @property
    def idle(self) -> bool:
        """True if it stands between messages."""
        return self._in_head and not self._size

    def feed(self, data: bytes) -> None:
        """Raises: BadMessage; events before the fault are there."""
        if self._in_head:
            self._size += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self.rest = data[upgrade.args[0] :]
        except httptools.HttpParserError as wrong:
            raise BadMessage(str(wrong)) from None
        if self._in_head and self._largest and self._size > self._largest:
            raise BadMessage("header is too large")

    # -- of httptools ------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._head, self._trailers, self._in_head = Head(), [], True

    def on_url(self, url: bytes) -> None:
        self._head.target += url

    def on_status(self, reason: bytes) -> None:
        self._head.reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        (self._head.headers if self._in_head else self._trailers).append((name, value.rstrip()))

    def on_headers_complete(self) -> None:
        head, parser = self._head, self._parser
        head.version = parser.get_http_version()
        head.keep_alive = parser.should_keep_alive()
        head.upgrade = parser.should_upgrade()
        if self._requests:
            head.method = parser.get_method()
        else:
            head.status = parser.get_status_code()
        self._in_head, self._size = False, 0
        size = len(head.target) + sum(len(name) + len(value) + 4 for name, value in head.headers)
        if (self._largest and size > self._largest) or (self._most and len(head.headers) > self._most):
            raise BadMessage("too many headers, or too large")
        self.events.append((HEAD, head))

    def on_body(self, body: bytes) -> None:
        self.events.append((BODY, body))

    def on_message_complete(self) -> None:
        self._in_head = True
        self.events.append((END, self._trailers))


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def last_chunk(trailers: Headers) -> bytes:
    return b"0\r\n" + b"".join(b"%b: %b\r\n" % pair for pair in trailers) + b"\r\n"
