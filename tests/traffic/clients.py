"""Clients of the BIG-IP, each with a TLS stack of its own, and what each of them saw.

Every client takes the address of a listener and says what a user of it would notice: the answer, the
certificate that it was shown, whether the connection ended without an answer.
"""

import contextlib
import functools
import http.client
import io
import json
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import curl_cffi.requests
from cryptography import x509
from cryptography.x509.oid import NameOID

from tests.waiting import DEADLINE_S

Address = tuple[str, int]
PIECE_S = 0.0005
"""Pause between the pieces of a ClientHello that comes in pieces."""


@dataclass(frozen=True)
class Seen:
    """Answer to one request, as the client saw it."""

    status: int = 0
    """0: the connection ended before an answer."""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    certificate: str = ""
    """Common name of the certificate that the client was shown; "" without TLS or handshake."""
    error: str = ""
    """Why there is no answer."""
    lines: tuple[tuple[str, str], ...] = ()
    """Every header of the answer as it was sent, also those that stand twice."""

    @property
    def pod(self) -> dict:
        """Return what the pod said of itself and of the request; {} if no pod answered."""
        return json.loads(self.body) if self.headers.get("content-type") == "application/json" else {}

    @property
    def location(self) -> str:
        return self.headers.get("location", "")


def request_bytes(host: str | None, path: str = "/", *, method: str = "GET", version: str = "1.1",
                  headers: Iterable[str] = (), close: bool = True) -> bytes:
    """A request as it goes over the wire. Args: host: None sends no Host header."""
    lines = [f"{method} {path} HTTP/{version}"]
    lines += [f"Host: {host}"] if host is not None else []
    lines += ["Connection: close"] if close else []
    return "\r\n".join([*lines, *headers, "", ""]).encode("latin-1")


def answer(raw: bytes, certificate: str = "", *, method: str = "GET") -> Seen:
    """The first answer in what came over the wire, to a request with this method."""
    if not raw:
        return Seen(certificate=certificate, error="closed without an answer")

    class Wire:
        def makefile(self, mode):
            return io.BytesIO(raw)

    reply = http.client.HTTPResponse(Wire(), method=method)
    reply.begin()
    headers = {name.lower(): value for name, value in reply.getheaders()}
    return Seen(reply.status, headers, reply.read(), certificate, lines=tuple(reply.getheaders()))


def plain(address: Address, host: str | None, path: str = "/", *, source: str = "", **how) -> Seen:
    """HTTP without TLS. Args: source: address of the client, "" for any."""
    return raw(address, request_bytes(host, path, **how), source=source)


def raw(address: Address, data: bytes, *, source: str = "") -> Seen:
    """Any request without TLS. Args: source: address of the client, "" for any."""
    try:
        return answer(whole(address, data, source=source), method=data.split()[0].decode())
    except OSError as exc:
        return Seen(error=repr(exc))


def whole(address: Address, data: bytes, *, source: str = "") -> bytes:
    """Everything that comes back on a connection without TLS. Raises: OSError."""
    with socket.create_connection(address, DEADLINE_S, (source, 0)) as sock:
        sock.sendall(data)
        return _all(sock.recv)


def after_hello(address: Address, sni: str | None) -> bytes:
    """The first bytes that come back to a ClientHello; b"" if the connection ends before.

    Args: sni: None sends no server name.
    """
    received, sent = ssl.MemoryBIO(), ssl.MemoryBIO()
    with contextlib.suppress(ssl.SSLWantReadError):
        trusting().wrap_bio(received, sent, server_hostname=sni).do_handshake()
    try:
        with socket.create_connection(address, DEADLINE_S) as sock:
            sock.sendall(sent.read())
            return sock.recv(1)
    except ConnectionError:
        return b""


@functools.cache
def trusting(maximum: str = "TLSv1_3") -> ssl.SSLContext:
    """TLS that takes any certificate. Args: maximum: newest version that the client offers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.maximum_version = ssl.TLSVersion[maximum]
    if maximum in ("TLSv1", "TLSv1_1"):
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.set_ciphers("DEFAULT@SECLEVEL=0")
    return context


def several(address: Address, *requests: bytes, sni: str | None = None,
            pipelined: bool = False) -> list[Seen]:
    """Raw requests on one connection; the last ones are missing where it ended before their answers.

    Args:
        sni: name in TLS; None speaks without TLS.
        pipelined: send all requests before the first answer is read.
    """
    replies: list[Seen] = []
    with contextlib.ExitStack() as stack:
        sock = stack.enter_context(socket.create_connection(address, DEADLINE_S))
        if sni is not None:
            sock = stack.enter_context(trusting().wrap_socket(sock, server_hostname=sni))
        wire = stack.enter_context(_Kept(sock))
        with contextlib.suppress(OSError, http.client.HTTPException):
            for data in (b"".join(requests), *[b""] * (len(requests) - 1)) if pipelined else requests:
                sock.sendall(data)
                reply = http.client.HTTPResponse(wire)
                reply.begin()
                headers = {name.lower(): value for name, value in reply.getheaders()}
                replies.append(Seen(reply.status, headers, reply.read(), lines=tuple(reply.getheaders())))
    return replies


class _Kept:
    """A connection whose buffer outlives each answer."""

    def __init__(self, sock: socket.socket):
        self._file = sock.makefile("rb")

    def makefile(self, mode: str) -> io.BufferedIOBase:
        return _Unclosed(self._file)

    def __enter__(self) -> "_Kept":
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


class _Unclosed(io.BufferedIOBase):
    """Socket of an answer: what it reads of one."""

    def __init__(self, file: io.BufferedIOBase):
        self._file = file

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        return self._file.read(size)

    def read1(self, size: int = -1) -> bytes:
        return self._file.read1(size)

    def readline(self, size: int = -1) -> bytes:
        return self._file.readline(size)

    def readinto(self, buffer: bytearray) -> int:
        return self._file.readinto(buffer)


def python(address: Address, host: str, path: str = "/", *, sni: str | None = "", maximum: str = "TLSv1_3",
           source: str = "",
           pieces: Callable[[bytes], Iterable[bytes]] = lambda hello: [hello], **how) -> Seen:
    """Python's OpenSSL.

    Args:
        sni: "" is the host; None sends none.
        maximum: newest version that the client offers.
        source: address of the client, "" for any.
        pieces: cuts the ClientHello into segments.
    """
    inside, outside = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = trusting(maximum).wrap_bio(inside, outside, server_hostname=host if sni == "" else sni)
    certificate = ""
    try:
        with socket.create_connection(address, DEADLINE_S, (source, 0)) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            wire = _Wire(sock, tls, inside, outside, pieces)
            wire.run(tls.do_handshake)
            certificate = common_name(tls.getpeercert(binary_form=True))
            wire.run(lambda: tls.write(request_bytes(host, path, **how)))
            whole = _all(lambda size: wire.run(lambda: tls.read(size)))
            return answer(whole, certificate, method=how.get("method", "GET"))
    except (OSError, ssl.SSLError) as exc:
        return Seen(certificate=certificate, error=repr(exc))


class _Wire:
    """TLS over a socket with the first flight under control."""

    def __init__(self, sock, tls, inside, outside, pieces):
        self._sock, self._tls, self._in, self._out, self._pieces = sock, tls, inside, outside, pieces

    def run(self, step: Callable):
        while True:
            try:
                result = step()
            except ssl.SSLWantReadError:
                self._flush()
                data = self._sock.recv(65536)
                self._in.write(data) if data else self._in.write_eof()
            else:
                self._flush()
                return result

    def _flush(self) -> None:
        data = self._out.read()
        pieces, self._pieces = self._pieces(data) if data else (), lambda rest: [rest]
        for number, piece in enumerate(pieces):
            time.sleep(PIECE_S if number else 0)
            self._sock.sendall(piece)


def byte_by_byte(hello: bytes) -> Iterable[bytes]:
    """The ClientHello in segments of one byte."""
    return (hello[at:at + 1] for at in range(len(hello)))


def in_two(hello: bytes) -> Iterable[bytes]:
    """The ClientHello in two segments, cut in the middle of what it says."""
    return hello[: len(hello) // 2], hello[len(hello) // 2:]


def chrome(address: Address, host: str, path: str = "/", *, ca: str = "") -> Seen:
    """Chrome's TLS (BoringSSL): GREASE, shuffled extensions, a post-quantum key share.

    Args: ca: file of authorities; with it the certificate has to be right for the host.
    """
    options = {curl_cffi.CurlOpt.RESOLVE: [f"{host}:{address[1]}:{address[0]}"]}
    try:
        reply = curl_cffi.requests.get(
            f"https://{host}:{address[1]}{path}", impersonate="chrome131", verify=ca or False,
            http_version="v1", curl_options=options, allow_redirects=False, timeout=DEADLINE_S,
            headers={"Host": host, "Connection": "close"})
    except curl_cffi.requests.exceptions.RequestException as exc:
        return Seen(error=repr(exc))
    return Seen(reply.status_code, {k.lower(): v for k, v in reply.headers.items()}, reply.content)


def openssl(address: Address, host: str, path: str = "/", *, sni: str | None = "",
            flags: Iterable[str] = ()) -> Seen:
    """OpenSSL's own client. Args: sni: as for python; flags: more of its command line."""
    named = ["-noservername"] if sni is None else ["-servername", sni or host]
    process = subprocess.run(
        ["openssl", "s_client", "-connect", "{}:{}".format(*address), "-ign_eof", "-showcerts", *named,
         *flags],
        input=request_bytes(host, path), capture_output=True, timeout=DEADLINE_S)
    pem = process.stdout.partition(b"-----BEGIN CERTIFICATE-----")[2].partition(b"-----END")[0]
    certificate = ""
    if pem:
        text = b"-----BEGIN CERTIFICATE-----" + pem + b"-----END CERTIFICATE-----\n"
        certificate = _name(x509.load_pem_x509_certificate(text))
    start = process.stdout.find(b"HTTP/1.")
    return answer(process.stdout[start:] if start >= 0 else b"", certificate)


def certificate_for(address: Address, *segments: bytes) -> str:
    """Common name in the Certificate message after a ClientHello of TLS 1.2 made by hand; "" for none."""
    buffer = b""
    try:
        with socket.create_connection(address, DEADLINE_S) as sock:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for number, segment in enumerate(segments):
                time.sleep(PIECE_S if number else 0)
                sock.sendall(segment)
            while data := sock.recv(65536):
                buffer += data
                if der := _certificate_message(_handshakes(buffer)):
                    return common_name(der)
    except OSError:
        pass
    return ""


def _handshakes(stream: bytes) -> bytes:
    """Return what the whole records of type handshake hold."""
    handshakes, at = b"", 0
    while at + 5 <= len(stream):
        end = at + 5 + int.from_bytes(stream[at + 3:at + 5], "big")
        if end > len(stream):
            break
        handshakes += stream[at + 5:end] if stream[at] == 22 else b""
        at = end
    return handshakes


def _certificate_message(handshakes: bytes) -> bytes:
    at = 0
    while at + 4 <= len(handshakes):
        size = int.from_bytes(handshakes[at + 1:at + 4], "big")
        if handshakes[at] == 11 and at + 4 + size <= len(handshakes):
            first = at + 7
            length = int.from_bytes(handshakes[first:first + 3], "big")
            return handshakes[first + 3:first + 3 + length]
        at += 4 + size
    return b""


def common_name(der: bytes) -> str:
    return _name(x509.load_der_x509_certificate(der))


def _name(certificate: x509.Certificate) -> str:
    return certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value


def _all(read: Callable[[int], bytes]) -> bytes:
    """Until the other side closes; a reset after an answer ends it too."""
    received = b""
    try:
        while data := read(65536):
            received += data
    except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
        pass
    except OSError:
        if not received:
            raise
    return received
