"""One request to a member and its response to the client, bodies as they come."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol

from mocks.bigip.dataplane import compression, edits, http
from mocks.bigip.dataplane.connection import Connection, Reset
from mocks.bigip.dataplane.servers import Server
from mocks.bigip.dataplane.tls import TLSFailure
from mocks.bigip.dataplane.wire import Closed, Stream
from mocks.bigip.quirks import Quirk


class Client(Protocol):
    """The client's side of an exchange."""

    flow: Connection
    stream: Stream
    body_is_here: bool
    """True if all of the request's body has come, and is no more than a socket takes at once."""

    async def next_body(self) -> tuple[str, object]:
        """The next event of the request's body. Raises: Closed, Reset: it is no HTTP."""


class Exchange:
    """upgraded: the server agreed to another protocol; rest: its first bytes. answer: the response's head,
    None before it came; size: bytes of its body that went to the client."""

    def __init__(self, owner: Client, head: http.Head, server: Server) -> None:
        self._owner, self._flow = owner, owner.flow
        self._request, self._server = head, server
        self._parser = http.Parser(requests=False)
        self.answer: http.Head | None = None
        self._framed = True
        self._out = bytearray()
        """For the client: what came together goes together."""
        self._method = ""
        """Method of compression, as the client's request allows it; "" for none."""
        self._compressor: compression.Compressor | None = None
        self.size = 0
        self.upgraded = False
        self.rest = b""

    async def run(self) -> bool:
        """Carry a request; return True if both connections can take another.

        Raises: Reset, Closed, TLSFailure.
        """
        edits.note_cookie(self._flow, self._server)
        self._flow.fire("HTTP_REQUEST_SEND")
        profile = self._flow.virtual.compression
        if profile is not None:
            self._method = compression.accepted(self._request, profile)
            compression.towards_server(self._request, profile)
        edits.towards_server(self._request, self._flow)
        self._flow.fire("HTTP_REQUEST_RELEASE")
        self._server.stream.write(self._request.encode())
        body = None
        if self._owner.body_is_here:
            await self._send_body()
        elif not self._request.upgrade:
            body = asyncio.ensure_future(self._send_body())
        try:
            goes_on = await self._answered(body)
        finally:
            unsent = body is not None and not body.done()
            if body is not None:
                body.cancel()
                with contextlib.suppress(asyncio.CancelledError, Closed, TLSFailure, Reset):
                    await body
        return goes_on and not unsent

    async def _answered(self, body: asyncio.Future[None] | None) -> bool:
        """Return whether both connections can take another request, once the response is there.

        Raises: Reset, Closed: the body of the request is no HTTP or ends too early; the member would wait for
        the rest of it.
        """
        if body is None:
            return await self._receive()
        answer = asyncio.ensure_future(self._receive())
        try:
            await asyncio.wait({answer, body}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done() and isinstance(body.exception(), Reset | Closed):
                raise body.exception()
            return await answer
        finally:
            answer.cancel()
            await asyncio.wait({answer})

    async def _send_body(self) -> None:
        """The body in the framing that the client chose (requestChunking preserve)."""
        stream, chunked = self._server.stream, self._request.chunked
        while True:
            kind, value = await self._owner.next_body()
            if kind == http.BODY:
                stream.write(http.chunk(value) if chunked else value)
                await stream.drain()
            else:
                if chunked:
                    stream.write(http.last_chunk(value))
                return

    # -- response ----------------------------------------------------------------------------------

    async def _receive(self) -> bool:
        wrong = ""
        while True:
            ended = await self._take()
            await self._flush()
            if ended:
                return self._goes_on() and not wrong
            if wrong:
                raise Reset(f"the member's response is not HTTP: {wrong}")
            data = await self._server.stream.read()
            if not data:
                return await self._server_ended()
            try:
                self._parser.feed(data)
            except http.BadMessage as problem:
                wrong = str(problem)

    async def _take(self) -> bool:
        """Work on what has come; whether it was all of the response."""
        events = self._parser.events
        while events:
            kind, value = events.popleft()
            if kind == http.HEAD:
                await self._begin(value)
                if self.upgraded or (self.answer is not None and self._request.method == b"HEAD"):
                    return True
            elif kind == http.BODY:
                self._send(self._compressor.feed(value) if self._compressor else value)
            elif self.answer is not None:
                self._end(value)
                return True
        return False

    def _send(self, data: bytes) -> None:
        """Part of the body, which is not yet complete."""
        if data:
            self.size += len(data)
            self._out += http.chunk(data) if self.answer.chunked else data

    def _end(self, trailers: http.Headers) -> None:
        if self._compressor:
            self._send(self._compressor.end())
        self._out += http.last_chunk(trailers) if self.answer.chunked else b""

    async def _flush(self) -> None:
        if self._out:
            self._owner.stream.write(bytes(self._out))
            self._out.clear()
            await self._owner.stream.drain()

    async def _begin(self, head: http.Head) -> None:
        flow = self._flow
        if 100 <= head.status < 200 and head.status != 101:
            self._out += head.encode()
            return
        self.answer = head
        flow.state.answer = head
        early = flow.shared.store.has(Quirk.COOKIE_IN_HTTP_RESPONSE)
        if early:
            edits.insert_cookie(head, flow, self._server)
        flow.fire("HTTP_RESPONSE")
        if flow.state.response is not None:
            await self._replaced()
            return
        bodyless = self._request.method == b"HEAD" or head.status in (101, 204, 304)
        self._framed = bodyless or head.chunked or head.get(b"Content-Length") is not None
        edits.towards_client(head, flow)
        if not early:
            edits.insert_cookie(head, flow, self._server)
        profile = flow.virtual.compression
        if profile is not None:
            self._compressor = compression.compressor(self._method, self._request, head, profile)
            if self._compressor:
                self._compressor.change_head(head, profile)
        flow.fire("HTTP_RESPONSE_RELEASE")
        flow.served.status, flow.served.outcome = head.status, "served"
        flow.tally.responses[head.status // 100] += 1
        if head.status == 101:
            self.upgraded, self.rest = True, self._parser.rest
        if head.chunked and self._request.version == "1.0":
            head.remove(b"Transfer-Encoding")
            self._framed = False
        self._out += head.encode()

    async def _replaced(self) -> None:
        """An iRule answers in the place of the member."""
        response = self._flow.state.response
        self._owner.stream.write(response.head.encode() + response.body)
        self._flow.served.status, self._flow.served.outcome = response.head.status, "responded"
        await self._owner.stream.drain()
        raise Closed("the member's response was replaced")

    def _goes_on(self) -> bool:
        alive = self._request.keep_alive and self.answer.keep_alive and self._framed
        return alive and not self._flow.state.close

    async def _server_ended(self) -> bool:
        """FIN of the member: the end of a body without framing, else too early."""
        if self.answer is None or self._framed:
            raise Reset("the member closed before its response was complete")
        if self._compressor:
            self._end([])
            await self._flush()
        return False
