"""A client that sends exactly the bytes it is given, and says how the connection ended."""

from __future__ import annotations

import json
import socket
import ssl
from dataclasses import dataclass, field
from typing import Any

from cryptography import x509

from tests.waiting import DEADLINE_S

RESET, END = "reset", "end"


def tls_context(**options: Any) -> ssl.SSLContext:
    """Verifies nothing; options: attributes of the context."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    for name, value in options.items():
        setattr(context, name, value)
    return context


@dataclass
class Answer:
    """A response; ended: how the connection ended in it, "" when it is still open."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    version: str = "HTTP/1.1"
    ended: str = ""
    trailers: bytes = b""

    @property
    def seen(self) -> dict[str, Any]:
        """Return what the pod tells."""
        return json.loads(self.body)

    @property
    def pod(self) -> str:
        return self.seen["pod"]

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)


class TLSSocket:
    """TLS over a socket; unlike ssl.SSLSocket it tells a reset from an end."""

    def __init__(self, sock: socket.socket, context: ssl.SSLContext, name: str | None) -> None:
        self.sock = sock
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_hostname=name)
        self._work(self.tls.do_handshake)

    def _work(self, step, *args):
        """Raises: ConnectionResetError, ssl.SSLError."""
        while True:
            try:
                return step(*args)
            except ssl.SSLWantReadError:
                self._flush()
                data = self.sock.recv(65536)
                if not data:
                    return b""
                self._in.write(data)
            finally:
                self._flush()

    def _flush(self) -> None:
        if self._out.pending:
            self.sock.sendall(self._out.read())

    def recv(self, size: int) -> bytes:
        try:
            return self._work(self.tls.read, size)
        except ssl.SSLZeroReturnError:
            return b""

    def sendall(self, data: bytes) -> None:
        self._work(self.tls.write, data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.tls if hasattr(self.tls, name) else self.sock, name)


@dataclass
class Client:
    """One connection. where: as FakeBigIP.endpoint gives it. sni: TLS with this name, None for clear text;
    "" for TLS without a name. source: local address, another client to the BIG-IP; for IPv4 only."""

    where: tuple[str, int]
    sni: str | None = None
    source: str = "127.0.0.1"
    context: ssl.SSLContext | None = None
    buffer: bytes = field(default=b"", repr=False)
    ended: str = ""
    """How the connection ended, once it did."""
    _was_reset: bool = False
    """Seen when sending; reading tells of an end only then."""

    def __post_init__(self) -> None:
        ipv6 = ":" in self.where[0]
        self.sock = socket.socket(socket.AF_INET6 if ipv6 else socket.AF_INET)
        self.sock.settimeout(DEADLINE_S)
        if not ipv6:
            self.sock.bind((self.source, 0))
        try:
            self.sock.connect(self.where)
        except ConnectionResetError:
            self.ended = RESET
            return
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.sni is not None:
            context = self.context or tls_context()
            self.sock = TLSSocket(self.sock, context, self.sni or None)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.sock.close()

    @property
    def certificate(self) -> str:
        """Common name of what was shown."""
        shown = x509.load_der_x509_certificate(self.sock.getpeercert(binary_form=True))
        return shown.subject.rfc4514_string().rpartition("CN=")[2]

    def send(self, data: bytes) -> None:
        """Send bytes; the next read shows whether the connection is gone."""
        try:
            if not self.ended:
                self.sock.sendall(data)
        except (ConnectionResetError, BrokenPipeError):
            self._was_reset = True

    def more(self) -> str:
        """Read once; "" when bytes came, else how the connection ended."""
        if not self.ended:
            try:
                data = self.sock.recv(65536)
                self.buffer += data
                self.ended = "" if data else RESET if self._was_reset else END
            except (ConnectionResetError, ssl.SSLError):
                self.ended = RESET
        return self.ended

    def rest(self) -> tuple[bytes, str]:
        """Everything until the end, and how that was."""
        while not self.more():
            pass
        data, self.buffer = self.buffer, b""
        return data, self.ended

    def take(self, size: int) -> bytes:
        """Exactly so many bytes, fewer if the connection ends."""
        while len(self.buffer) < size and not self.more():
            pass
        data, self.buffer = self.buffer[:size], self.buffer[size:]
        return data

    def until(self, mark: bytes) -> bytes:
        """Everything up to and with the mark; what there was if the connection ends before."""
        while mark not in self.buffer:
            if self.more():
                break
        head, mark_read, rest = self.buffer.partition(mark)
        self.buffer = rest
        return head + mark_read

    def answer(self, *, to: str = "GET") -> Answer:
        """Read one response. to: method of its request."""
        head = self.until(b"\r\n\r\n")
        if not head.endswith(b"\r\n\r\n"):
            return Answer(0, [], head, ended=self.ended)
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        version, status, _ = (first + "  ").split(" ", 2)
        headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines)]
        answer = Answer(int(status), headers, b"", version)
        if to == "HEAD" or answer.status in (100, 101, 204, 304):
            return answer
        if (answer.header("Transfer-Encoding") or "").lower() == "chunked":
            answer.body = self._chunks()
            while (line := self.until(b"\r\n")) not in (b"\r\n", b""):
                answer.trailers += line
        elif answer.header("Content-Length") is not None:
            answer.body = self.take(int(answer.header("Content-Length")))
        else:
            answer.body, answer.ended = self.rest()
        return answer

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.until(b"\r\n").strip() or b"0", 16):
            body += self.take(size)
            self.until(b"\r\n")
        return body

    def ask(
        self, target: str = "/", *, host: str = "a.example", method: str = "GET", headers: str = "",
        body: bytes = b"", version: str = "1.1",
    ) -> Answer:
        """A request and its response. headers: further lines, each with its CRLF."""
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        lines = f"{method} {target} HTTP/{version}\r\nHost: {host}\r\n{headers}{length}\r\n"
        self.send(lines.encode("latin-1") + body)
        return self.answer(to=method)
