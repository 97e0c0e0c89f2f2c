"""One connection to a pod stand-in: HTTP/1, WebSocket, HTTP/2 or raw bytes."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import socket
import ssl
import struct
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from mocks.bigip.dataplane import http
from mocks.bigip.dataplane.pod_http2 import HTTP2

_WEBSOCKET = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_LINGER = struct.pack("ii", 1, 0)
SHOWN_BODY = 4096
"""Bytes of a request's body that the answer repeats."""


@dataclass(eq=False)
class Pod:
    """A running stand-in. Its counters are read by tests."""

    address: str
    port: int
    name: str
    namespace: str = ""
    raw: bool = False
    """Answers the first bytes of a connection with a line of JSON, then sends back what comes."""
    greeting: bytes = b""
    """A raw one's first bytes, sent before anything came."""
    tls: ssl.SSLContext | None = None
    http2: bool = False
    """Speaks nothing but HTTP/2 in clear text, and resets what is none."""
    status: int = 200
    """Status of answers to requests that ask for none."""
    accepted: int = 0
    requests: list[str] = field(default_factory=list)
    """Method and target of each request."""
    connections: set[PodConnection] = field(default_factory=set)
    server: asyncio.Server | None = None

    @property
    def local_port(self) -> int:
        return self.server.sockets[0].getsockname()[1] if self.server and self.server.sockets else 0

    def identity(self) -> dict[str, Any]:
        return {"pod": self.name, "namespace": self.namespace, "address": self.address, "port": self.port}


class PodConnection(asyncio.Protocol):
    """Accepted by a pod."""

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        self._transport: asyncio.Transport | None = None
        self._parser = http.Parser(requests=True)
        self._head: http.Head | None = None
        self._body, self._size = b"", 0
        self._trailers: http.Headers = []
        self._answered = False
        self._count = 0
        self._number = 0
        self._frames: bytearray | None = None
        self._greeted = False
        self._http2 = HTTP2() if pod.http2 else None
        self._busy: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self.pod.connections.add(self)
        self.pod.accepted += 1
        self._number = self.pod.accepted
        if self.pod.greeting:
            self._transport.write(self.pod.greeting)

    def connection_lost(self, exc: Exception | None) -> None:
        self.pod.connections.discard(self)
        if self._busy is not None:
            self._busy.cancel()

    @property
    def is_busy(self) -> bool:
        """True while an answer waits for its delay."""
        return self._busy is not None

    def close(self) -> None:
        """FIN."""
        self._transport.close()

    def abort(self) -> None:
        """RST."""
        sock = self._transport.get_extra_info("socket")
        with contextlib.suppress(OSError, AttributeError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self.pod.raw:
            self._echo(data)
        elif self._http2 is not None:
            reply = self._http2.feed(data)
            self.abort() if reply is None else self._transport.write(reply)
        elif self._frames is not None:
            self._frames += data
            self._answer_frames()
        else:
            try:
                self._parser.feed(data)
            except http.BadMessage as wrong:
                self._send(http.reply(400, [(b"Connection", b"close")], str(wrong).encode(), version="1.1"))
                self._transport.close()
                return
            self._work()

    # -- raw ---------------------------------------------------------------------------------------

    def _echo(self, data: bytes) -> None:
        if not self._greeted:
            self._greeted = True
            self._transport.write(json.dumps({**self.pod.identity(), "tls": self._tls()}).encode() + b"\n")
        self._transport.write(data)

    # -- HTTP --------------------------------------------------------------------------------------

    def _work(self) -> None:
        while self._parser.events and self._busy is None and self._frames is None:
            kind, value = self._parser.events.popleft()
            if kind == http.HEAD:
                self._begin(value)
            elif kind == http.BODY:
                self._size += len(value)
                self._body = (self._body + value)[:SHOWN_BODY]
            elif not self._answered:
                self._trailers = value
                self._answer()

    def _begin(self, head: http.Head) -> None:
        self._head, self._body, self._size, self._answered = head, b"", 0, False
        self._count += 1
        self.pod.requests.append(f"{head.method.decode()} {head.target.decode('latin-1')}")
        if (head.get(b"Expect") or b"").lower() == b"100-continue":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if head.upgrade and (head.get(b"Upgrade") or b"").lower() == b"websocket":
            self._upgrade(head)
        elif self._asked().get("early"):
            self._answer()

    def _asked(self) -> dict[str, str]:
        return dict(parse_qsl(self._head.target.partition(b"?")[2].decode("latin-1")))

    def _answer(self) -> None:
        self._answered = True
        asked = self._asked()
        if asked.get("drop"):
            self.abort()
        elif asked.get("delay"):
            self._busy = asyncio.get_running_loop().call_later(float(asked["delay"]), self._late, asked)
        else:
            self._respond(asked)

    def _late(self, asked: dict[str, str]) -> None:
        self._busy = None
        self._respond(asked)
        self._work()

    def _respond(self, asked: dict[str, str]) -> None:
        body = json.dumps(self.seen()).encode() + b" " * int(asked.get("length", 0))
        head = http.Head("1.1", [(b"Content-Type", asked.get("type", "application/json").encode("latin-1"))])
        head.status = int(asked.get("status", self.pod.status))
        if "host" in asked and (self._head.get(b"Host") or b"") != asked["host"].encode("latin-1"):
            head.status = 404
        head.reason = http.REASONS.get(head.status, b"")
        head.headers += [(b"Set-Cookie", cookie.encode("latin-1"))
                         for cookie in asked.get("cookies", "").split(",") if cookie]
        head.headers += [tuple(pair.encode("latin-1").split(b":", 1))
                         for pair in asked.get("headers", "").split("|") if pair]
        if asked.get("etag"):
            head.headers.append((b"ETag", asked["etag"].encode("latin-1")))
        ends = bool(asked.get("close")) or bool(asked.get("unframed")) or not self._head.keep_alive
        if ends:
            head.headers.append((b"Connection", b"close"))
        elif self._head.version == "1.0":
            head.headers.append((b"Connection", b"keep-alive"))
        if asked.get("chunked"):
            head.headers.append((b"Transfer-Encoding", b"chunked"))
            size = -(-len(body) // int(asked["chunked"]))
            pieces = [body[at : at + size] for at in range(0, len(body), size)]
            body = b"".join(map(http.chunk, pieces)) + http.last_chunk([(b"X-End", b"yes")])
        elif not asked.get("unframed"):
            head.headers.append((b"Content-Length", b"%d" % len(body)))
        self._send((head, b"" if self._head.method == b"HEAD" or head.status in (204, 304) else body))
        if ends:
            self._transport.close()

    def _send(self, message: tuple[http.Head, bytes]) -> None:
        self._transport.write(message[0].encode() + message[1])

    def seen(self) -> dict[str, Any]:
        """Facts about a request, which the answer tells."""
        head = self._head
        return {
            **self.pod.identity(),
            "protocol": f"HTTP/{head.version}",
            "method": head.method.decode(),
            "target": head.target.decode("latin-1"),
            "headers": _shown(head.headers),
            "trailers": _shown(self._trailers),
            "body": self._body.decode("latin-1"),
            "body_size": self._size,
            "tls": self._tls(),
            "connection": self._number,
            "request": self._count,
        }

    def _tls(self) -> dict[str, Any] | None:
        tls = self._transport.get_extra_info("ssl_object")
        if tls is None:
            return None
        return {
            "sni": getattr(tls, "asked_for", None),
            "version": tls.version(),
            "cipher": tls.cipher()[0],
            "client_certificate": bool(tls.getpeercert()),
        }

    # -- WebSocket ---------------------------------------------------------------------------------

    def _upgrade(self, head: http.Head) -> None:
        """RFC 6455; the first frame tells what was received, then text and data come back."""
        key = head.get(b"Sec-WebSocket-Key") or b""
        accept = base64.b64encode(hashlib.sha1(key + _WEBSOCKET).digest())
        answer = http.Head("1.1", [(b"Upgrade", b"websocket"), (b"Connection", b"Upgrade")], status=101)
        answer.headers.append((b"Sec-WebSocket-Accept", accept))
        answer.reason = b"Switching Protocols"
        self._transport.write(answer.encode() + frame(1, json.dumps(self.seen()).encode()))
        self._frames = bytearray(self._parser.rest)
        self._answer_frames()

    def _answer_frames(self) -> None:
        while (taken := take_frame(self._frames)) is not None:
            opcode, data = taken
            self._transport.write(frame({9: 10}.get(opcode, opcode), data))
            if opcode == 8:
                self._transport.close()


def _shown(headers: http.Headers) -> list[list[str]]:
    return [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers]


def frame(opcode: int, data: bytes, *, mask: bytes = b"") -> bytes:
    """A WebSocket frame; a client's have a mask of four bytes."""
    length, flag = len(data), 0x80 if mask else 0
    if length < 126:
        head = struct.pack("!BB", 0x80 | opcode, flag | length)
    elif length < 65536:
        head = struct.pack("!BBH", 0x80 | opcode, flag | 126, length)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, flag | 127, length)
    return head + mask + (_masked(data, mask) if mask else data)


def take_frame(buffer: bytearray) -> tuple[int, bytes] | None:
    """(opcode, data) of the first frame of a buffer, which it leaves; None: not all of it is there."""
    if len(buffer) < 2:
        return None
    length, at = buffer[1] & 0x7F, 2
    if length >= 126:
        width = 2 if length == 126 else 8
        length, at = int.from_bytes(buffer[2 : 2 + width], "big"), 2 + width
    size = 4 if buffer[1] & 0x80 else 0
    if len(buffer) < at + size + length:
        return None
    mask, data = bytes(buffer[at : at + size]), bytes(buffer[at + size : at + size + length])
    opcode = buffer[0] & 0x0F
    del buffer[: at + size + length]
    return opcode, _masked(data, mask) if mask else data


def _masked(data: bytes, mask: bytes) -> bytes:
    return bytes(byte ^ mask[at % 4] for at, byte in enumerate(data))
