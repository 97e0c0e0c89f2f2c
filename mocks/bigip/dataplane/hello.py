"""Server name of a ClientHello, read before TLS is begun (RFC 8446 4.1.2, RFC 6066 3)."""

from __future__ import annotations

from dataclasses import dataclass

HANDSHAKE, CLIENT_HELLO = 22, 1
SERVER_NAME = 0
LARGEST = 65536


@dataclass(frozen=True)
class Hello:
    """server_name: of the extension, None without. extensions: type to data, in their order."""

    server_name: str | None
    extensions: dict[int, bytes]


class NotTLS(ValueError):
    """The bytes are not the beginning of a TLS connection."""


def parse(data: bytes) -> Hello | None:
    """The ClientHello at the beginning of data; None: more bytes are needed. Raises: NotTLS."""
    message, at = b"", 0
    while len(message) < 4 or len(message) < 4 + int.from_bytes(message[1:4], "big"):
        if len(data) > at and data[at] != HANDSHAKE:
            raise NotTLS("no handshake record")
        if len(data) > at + 1 and data[at + 1] != 3:
            raise NotTLS("no version of TLS")
        if len(message) > LARGEST:
            raise NotTLS("longer than a ClientHello may be")
        size = int.from_bytes(data[at + 3 : at + 5], "big")
        if len(data) < at + 5:
            return None
        message += data[at + 5 : at + 5 + size]
        at += 5 + size
        if message and message[0] != CLIENT_HELLO:
            raise NotTLS("no ClientHello")
    return _hello(message[4 : 4 + int.from_bytes(message[1:4], "big")])


def _hello(body: bytes) -> Hello:
    at = 34
    for width in (1, 2, 1):
        at += width + int.from_bytes(body[at : at + width], "big")
    end = at + 2 + int.from_bytes(body[at : at + 2], "big")
    at += 2
    extensions: dict[int, bytes] = {}
    while at + 4 <= min(end, len(body)):
        size = int.from_bytes(body[at + 2 : at + 4], "big")
        extensions[int.from_bytes(body[at : at + 2], "big")] = body[at + 4 : at + 4 + size]
        at += 4 + size
    return Hello(_name(extensions.get(SERVER_NAME, b"")), extensions)


def _name(data: bytes) -> str | None:
    """The first host name of a server_name extension."""
    if len(data) < 5 or data[2] != 0:
        return None
    size = int.from_bytes(data[3:5], "big")
    return data[5 : 5 + size].decode("latin-1") or None
