"""A Wire by itself: what is not read is not taken from the socket for ever."""

from __future__ import annotations

import asyncio

import pytest

from mocks.bigip.dataplane.wire import HIGH, Closed, Wire
from tests.waiting import DEADLINE_S


class Transport(asyncio.Transport):
    """Counts; keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.reading, self.closed = True, False
        self.written = b""

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.closed

    def write(self, data: bytes) -> None:
        self.written += data


def wired(check) -> None:
    """Run a check with a wire and its transport."""

    async def run() -> None:
        wire, transport = Wire(), Transport()
        wire.connection_made(transport)
        await asyncio.wait_for(check(wire, transport), DEADLINE_S)

    asyncio.run(run())


def test_reading_pauses_until_what_came_is_read():
    async def check(wire, transport):
        wire.data_received(b"x" * HIGH)
        assert transport.reading
        wire.data_received(b"y")
        assert not transport.reading
        assert len(await wire.read()) == HIGH + 1
        assert transport.reading

    wired(check)


def test_drain_waits_for_the_other_side():
    async def check(wire, transport):
        wire.pause_writing()
        waiting = asyncio.ensure_future(wire.drain())
        await asyncio.sleep(0)
        assert not waiting.done()
        wire.resume_writing()
        await waiting

    wired(check)


@pytest.mark.parametrize("full", [False, True])
def test_a_lost_connection_wakes_everybody(full):
    async def check(wire, transport):
        if full:
            wire.pause_writing()
        reading = asyncio.ensure_future(wire.read())
        await asyncio.sleep(0)
        draining = asyncio.ensure_future(wire.drain()) if full else None
        await asyncio.sleep(0)
        told = []
        wire.on_lost = lambda: told.append("lost")
        wire.connection_lost(ConnectionResetError())
        for task in filter(None, (reading, draining)):
            with pytest.raises(Closed):
                await task
        assert told == ["lost"]
        with pytest.raises(Closed):
            wire.write(b"x")

    wired(check)


def test_what_came_before_the_end_is_read_first():
    async def check(wire, transport):
        wire.data_received(b"b")
        wire.unread(b"a")
        wire.eof_received()
        assert await wire.read() == b"ab"
        assert await wire.read() == b""

    wired(check)
