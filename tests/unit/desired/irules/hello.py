"""ClientHellos: built field by field, with any field wrong, and read by another parser than ours."""

from __future__ import annotations

import struct
from collections.abc import Sequence

SNI = 0
PADDING = 21
KEY_SHARE = 51
GREASE = 0x1A1A
LIMIT = 32768
"""Bytes the iRule collects."""
RECORDS, EXTENSIONS = 64, 128
"""Records and extensions it reads."""


def u8(data: bytes) -> bytes:
    return struct.pack("!B", len(data)) + data


def u16(data: bytes) -> bytes:
    return struct.pack("!H", len(data)) + data


def extension(kind: int, data: bytes = b"", *, length: int | None = None) -> bytes:
    """One extension; length: what its length field says."""
    return struct.pack("!HH", kind, len(data) if length is None else length) + data


def sni(
    name: bytes | str, *, kind: int = 0, length: int | None = None, listed: int | None = None,
    size: int | None = None,
) -> bytes:
    """server_name extension.

    Args: kind: type of the name. length, listed, size: what the length fields of the name, of the list
        and of the extension say.
    """
    name = name.encode() if isinstance(name, str) else name
    entry = struct.pack("!BH", kind, len(name) if length is None else length) + name
    names = struct.pack("!H", len(entry) if listed is None else listed) + entry
    return extension(SNI, names, length=size)


def message(
    extensions: Sequence[bytes] | None = (),
    *,
    session_id: bytes = bytes(32),
    suites: bytes = b"\x13\x01\xc0\x2f",
    compression: bytes = b"\0",
    version: int = 0x0303,
    kind: int = 1,
    length: int | None = None,
    block: int | None = None,
) -> bytes:
    """Handshake message.

    Args: extensions: None for no block at all. length, block: what the length fields of the message
        and of the block say.
    """
    body = struct.pack("!H", version) + bytes(range(32)) + u8(session_id) + u16(suites) + u8(compression)
    if extensions is not None:
        joined = b"".join(extensions)
        body += struct.pack("!H", len(joined) if block is None else block) + joined
    size = len(body) if length is None else length
    return struct.pack("!B", kind) + size.to_bytes(3, "big") + body


def records(handshake: bytes, *sizes: int, version: int = 0x0301, kind: int = 22) -> bytes:
    """Handshake bytes in records of these sizes, the rest in records of 16,384 bytes."""
    out = b""
    for size in sizes:
        out += struct.pack("!BH", kind, version) + u16(handshake[:size])
        handshake = handshake[size:]
    while handshake:
        out += struct.pack("!BH", kind, version) + u16(handshake[:16384])
        handshake = handshake[16384:]
    return out


def client_hello(*extensions: bytes, record_version: int = 0x0301, record_kind: int = 22, **fields) -> bytes:
    """ClientHello in records as few as possible; fields: see message."""
    return records(message(extensions, **fields), version=record_version, kind=record_kind)


def hello(name: str | bytes, *before: bytes) -> bytes:
    """A plain ClientHello with these extensions before the SNI."""
    return client_hello(*before, sni(name))


class Short(Exception):
    """More bytes are needed."""


class Bad(Exception):
    """Not a ClientHello with SNI, whatever follows."""


class _Reader:
    """Takes bytes from the front; raises when they run out."""

    def __init__(self, data: bytes, error: type[Exception]) -> None:
        self.data, self.error = data, error

    def take(self, count: int) -> bytes:
        if count > len(self.data):
            raise self.error
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def vector(self, width: int) -> _Reader:
        return _Reader(self.take(self.number(width)), Bad)


def read(data: bytes) -> str:
    """Host that a connection which begins with these bytes asks for, as the iRule has to see it.

    Raises: Short, Bad.
    """
    stream = _Reader(data, Short)
    handshake = b""
    for _ in range(RECORDS):
        if stream.number(1) != 22:
            raise Bad
        header = _Reader(stream.take(4), Bad)
        major, _, size = header.number(1), header.number(1), header.number(2)
        taken = len(data) - len(stream.data)
        if major != 3 or size > 16389 or taken + size > LIMIT:
            raise Bad
        handshake += stream.take(size)
        if len(handshake) >= 4:
            size = int.from_bytes(handshake[1:4], "big")
            if handshake[0] != 1 or size == 0 or size + 4 > LIMIT:
                raise Bad
            if len(handshake) >= size + 4:
                return _host(_Reader(handshake[4:size + 4], Bad))
    raise Bad


def _host(body: _Reader) -> str:
    body.take(2 + 32)
    if len(body.vector(1).data) > 32:
        raise Bad
    body.vector(2)
    body.vector(1)
    block = body.vector(2)
    if body.data:
        raise Bad
    for _ in range(EXTENSIONS):
        kind = block.number(2)
        data = block.vector(2)
        if kind == SNI:
            names = data.vector(2)
            if data.data or names.number(1) != 0:
                raise Bad
            return _canonical(names.vector(2).data)
    raise Bad


def _canonical(name: bytes) -> str:
    letters = b"abcdefghijklmnopqrstuvwxyz0123456789_"
    name = name.lower()
    if not name or name[0] not in letters or name.translate(None, letters + b".-"):
        raise Bad
    return name.decode("ascii").removesuffix(".")
