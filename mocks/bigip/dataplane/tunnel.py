"""Bytes in both directions until both have ended: passthrough, plain TCP, WebSocket."""

from __future__ import annotations

import asyncio
from typing import Protocol


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
