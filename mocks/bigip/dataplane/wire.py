"""One end of a TCP connection: bytes in, bytes out, and the ways to end it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Callable
from typing import Protocol

HIGH = 256 * 1024
"""Unread bytes at which reading from the socket pauses."""
_LINGER = struct.pack("ii", 1, 0)


class Closed(ConnectionError):
    """The connection was reset or given up."""


class Wire(asyncio.Protocol):
    """A TCP connection. made: called once it is there. Only one coroutine reads."""

    def __init__(self, on_made: Callable[[Wire], None] | None = None) -> None:
        self._made = on_made
        self.transport: asyncio.Transport | None = None
        self.active = 0.0
        """Loop time of the last byte in either direction."""
        self.lost = False
        self.on_lost: Callable[[], None] | None = None
        self.on_end: Callable[[], None] | None = None
        """Called when the other side sends no more."""
        self.meter: Callable[[int, int], None] | None = None
        """Called with the numbers of bytes received and sent."""
        self._parts: list[bytes] = []
        self._size = 0
        self._ended = False
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._full = False
        self._loop = asyncio.get_running_loop()

    # -- of the event loop -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.active = self._loop.time()
        if self._made is not None:
            self._made(self)

    def data_received(self, data: bytes) -> None:
        self.active = self._loop.time()
        self._parts.append(data)
        if self.meter is not None:
            self.meter(len(data), 0)
        self._size += len(data)
        if self._size > HIGH and not self._paused:
            self._paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._ended = True
        self._wake()
        if self.on_end is not None:
            self.on_end()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self._wake()
        self.resume_writing()
        for told in (self.on_lost, self.on_end):
            if told is not None:
                told()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    # -- of whoever uses it ------------------------------------------------------------------------

    @property
    def readable(self) -> bool:
        """True if `read` returns or raises at once."""
        return bool(self._parts) or self._ended or self.lost

    async def read(self) -> bytes:
        """Return what has come, at least a byte; b"" at the end. Raises: Closed."""
        if not self._parts:
            await self.wait()
        if not self._parts:
            if self._ended:
                return b""
            raise Closed("reset by the other side")
        data = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts.clear()
        self._size = 0
        if self._paused and not self.lost:
            self._paused = False
            self.transport.resume_reading()
        return data

    def unread(self, data: bytes) -> None:
        """The next read begins with these bytes."""
        self._parts.insert(0, data)
        self._size += len(data)

    async def wait(self) -> None:
        """Wait until something can be read."""
        if not self.readable:
            self._waiter = self._loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def write(self, data: bytes) -> None:
        """Raises: Closed."""
        if self.lost or self.transport.is_closing():
            raise Closed("the connection is gone")
        self.active = self._loop.time()
        if self.meter is not None:
            self.meter(0, len(data))
        self.transport.write(data)

    async def drain(self) -> None:
        """Wait until the other side takes more. Raises: Closed."""
        if self._full and not self.lost:
            self._drained = self._loop.create_future()
            await self._drained
        if self.lost:
            raise Closed("the connection is gone")

    def end(self) -> None:
        """Send nothing more (FIN); what comes is still read."""
        with contextlib.suppress(OSError):
            if not self.lost and not self.transport.is_closing():
                self.transport.write_eof()

    def close(self) -> None:
        """Send what is left, then FIN."""
        if self.transport is not None:
            self.transport.close()

    def abort(self) -> None:
        """RST: what is unsent is lost."""
        if self.transport is None or self.lost:
            return
        sock = self.transport.get_extra_info("socket")
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER)
        self.transport.abort()

    @property
    def peer(self) -> tuple[str, int]:
        return self.transport.get_extra_info("peername")[:2]

    @property
    def local(self) -> tuple[str, int]:
        return self.transport.get_extra_info("sockname")[:2]


def no_delay(transport: asyncio.BaseTransport) -> None:
    transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class Stream(Protocol):
    """A Wire or a TLSWire."""

    async def read(self) -> bytes: ...
    def write(self, data: bytes) -> None: ...
    async def drain(self) -> None: ...
    def end(self) -> None: ...


async def carry(client: Stream, server: Stream) -> None:
    """Copy until both sides have sent FIN. Raises: Closed, TLSFailure: one was reset."""
    ways = [asyncio.ensure_future(_copy(client, server)), asyncio.ensure_future(_copy(server, client))]
    try:
        await asyncio.gather(*ways)
    finally:
        for way in ways:
            way.cancel()


async def _copy(source: Stream, target: Stream) -> None:
    while data := await source.read():
        target.write(data)
        await target.drain()
    target.end()
