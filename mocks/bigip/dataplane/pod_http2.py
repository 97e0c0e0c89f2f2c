"""A pod stand-in for HTTP/2 in clear text and nothing else (RFC 9113 3.3): requests get an empty 200."""

from __future__ import annotations

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_HEADERS, _SETTINGS, _PING = 1, 4, 6
_ACK, _END_STREAM, _END_HEADERS = 1, 1, 4
_OK = b"\x88"
""":status 200, from the static table of HPACK (RFC 7541, appendix A)."""


class HTTP2:
    """The frames of one connection."""

    def __init__(self) -> None:
        self._received = b""
        self._begun = False

    def feed(self, data: bytes) -> bytes | None:
        """Return what is sent for the bytes that came; None if they are no HTTP/2."""
        self._received += data
        sent = b""
        if not self._begun:
            if not _PREFACE.startswith(self._received[: len(_PREFACE)]):
                return None
            if len(self._received) < len(_PREFACE):
                return b""
            self._begun, self._received, sent = True, self._received[len(_PREFACE) :], _frame(_SETTINGS)
        while (end := 9 + int.from_bytes(self._received[:3], "big")) <= len(self._received):
            frame, self._received = self._received[:end], self._received[end:]
            sent += _reply(frame)
        return sent


def _reply(frame: bytes) -> bytes:
    kind, flags, stream, payload = frame[3], frame[4], frame[5:9], frame[9:]
    if kind == _HEADERS:
        return _frame(_HEADERS, _END_STREAM | _END_HEADERS, stream, _OK)
    if kind == _SETTINGS and not flags & _ACK:
        return _frame(_SETTINGS, _ACK)
    if kind == _PING and not flags & _ACK:
        return _frame(_PING, _ACK, payload=payload)
    return b""


def _frame(kind: int, flags: int = 0, stream: bytes = bytes(4), payload: bytes = b"") -> bytes:
    return len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream + payload
