"""HTTP on a client connection: each request through policies, iRules, load balancing and back.

Without a OneConnect profile a client connection has one server-side connection, that of its first request:
connections are balanced, not requests, whatever is chosen later (DevCentral 276984). LB::detach gives it up,
and the request is balanced. With OneConnect every request is balanced and connections are reused by member.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol

from mocks.bigip import matching
from mocks.bigip.dataplane import compression, edits, http, wire
from mocks.bigip.dataplane.connection import Connection, Reset
from mocks.bigip.dataplane.exchange import Exchange
from mocks.bigip.dataplane.request_log import RequestLog
from mocks.bigip.dataplane.server_side import NoServer
from mocks.bigip.dataplane.servers import Server
from mocks.bigip.dataplane.state import Response, Served
from mocks.bigip.dataplane.tls import TLSWire
from mocks.bigip.dataplane.wire import Closed, Wire
from mocks.bigip.quirks import Quirk

LINGER_S = 5.0
"""finWaitTimeout of the tcp profile: how long an ended connection is still read."""


SMALL = 65536
"""Bytes of a body that are sent before the response is looked at."""


class Balanced(Connection, Protocol):
    """A connection that is balanced, and recorded."""

    async def connect(self, pool: str | None) -> Server:
        """A new server-side connection. Raises: NoServer, Reset, TLSFailure, Unsupported."""

    def leave_server(self) -> None:
        """Give up the server-side connection."""

    def begin_record(self) -> Served:
        """The record of a new request."""


class HttpFlow:
    """The requests of one connection, one after the other; pipelined ones wait."""

    def __init__(self, flow: Balanced, stream: Wire | TLSWire) -> None:
        self.flow, self.stream, self.state = flow, stream, flow.state
        profile = flow.virtual.http
        edits.check_profile(profile)
        compression.check_profile(flow.virtual.compression)
        limits = profile.get("enforcement") or {}
        self._parser = http.Parser(
            requests=True,
            largest=int(limits.get("maxHeaderSize", 32768)),
            most=int(limits.get("maxHeaderCount", 64)),
        )
        self._log: RequestLog | None = None
        """Lines of the request that is under way; None without a request-log profile."""
        self._bad = ""
        """Error behind the requests that are still to be served."""

    async def run(self) -> None:
        """Raises: Reset, Closed, TLSFailure, NoServer, Unsupported, RuleError."""
        while (head := await self._next_head()) is not None:
            if not await self._request(head):
                break
        self.flow.leave_server()
        if not self._parser.idle or self._parser.events:
            await self._linger()
        self.stream.close()

    async def _linger(self) -> None:
        """Take what the client still sends: closing on it would reset the response away."""
        self.stream.end()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER_S / self.flow.shared.clock.speed):
                while await self.stream.read():
                    pass

    # -- reading -----------------------------------------------------------------------------------

    async def _next_head(self) -> http.Head | None:
        while not self._parser.events:
            if self._bad:
                raise Reset(self._bad)
            if not await self._read():
                return None
        kind, head = self._parser.events.popleft()
        assert kind == http.HEAD, kind
        return head

    async def _read(self) -> bool:
        """More bytes into the parser; False at the end. Raises: Reset: not HTTP, or over a limit."""
        server = self.flow.server_now
        if server is not None:
            # without requests the end of one side is the end of the other
            server.raw.on_end = self.stream.close
        try:
            data = await self.stream.read()
        finally:
            if server is not None:
                server.raw.on_end = None
        self._feed(data)
        return bool(data)

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed(data)
        except http.BadMessage as wrong:
            self._bad = f"not HTTP as the profile allows it: {wrong}"

    async def next_body(self) -> tuple[str, object]:
        """The next event of the request's body. Raises: Closed, Reset: it is no HTTP."""
        while not self._parser.events:
            if self._bad:
                raise Reset(self._bad)
            data = await self.stream.read()
            if not data:
                raise Closed("the client ended in a request")
            try:
                self._parser.feed(data)
            except http.BadMessage as wrong:
                self._bad = f"body: {wrong}"  # also if the response ends just now
                raise Reset(self._bad) from None
        return self._parser.events.popleft()

    @property
    def body_is_here(self) -> bool:
        """Return True if all of it has come, and is no more than a socket takes at once."""
        size = 0
        for kind, value in self._parser.events:
            if kind == http.END:
                return size <= SMALL
            size += len(value)  # of bytes: heads come first and alone
        return False

    async def skip_body(self) -> None:
        """Read what is left of a request that was answered here."""
        while (await self.next_body())[0] != http.END:
            pass

    def leftover(self) -> bytes:
        """Return what the client sent behind an upgrade."""
        rest, self._parser.rest = self._parser.rest, b""
        return rest

    # -- one request -------------------------------------------------------------------------------

    async def _request(self, head: http.Head) -> bool:
        """Answer a request; return True if the connection goes on."""
        flow, state = self.flow, self.state
        state.begin(head)
        served = flow.begin_record()
        self._log = RequestLog(flow, head) if flow.virtual.request_log else None
        if self._log:
            self._log.requested()
        flow.tally.requests += 1
        served.method, served.target = head.method.decode(), head.target.decode("latin-1")
        served.host = (head.get(b"Host") or b"").decode("latin-1")
        pool = self._judge(head)
        served.rule, served.pool = state.effect.rule, pool
        if state.response is None or not flow.shared.store.has(Quirk.REPLY_SKIPS_HTTP_REQUEST):
            flow.fire("HTTP_REQUEST", state.effect.variables)
        if state.response is None and not state.http_off:
            pool = state.last_pool = state.request_pool or self._left(pool)
            try:
                return await self._forward(head, pool)
            except NoServer as missing:
                if state.response is None:
                    served.outcome = f"reset: {missing}"
                    raise
        return await self._respond(head)

    def _left(self, pool: str | None) -> str | None:
        """Return what is left of a choice without iRules."""
        if self.state.detach and self.flow.shared.store.has(Quirk.DETACH_FORGETS_POOL):
            return self.state.rule_pool or self.flow.virtual.pool
        return pool

    def _judge(self, head: http.Head) -> str | None:
        """Policies; the pool that the request would go to without iRules. Raises: Unsupported, Reset."""
        flow, store = self.flow, self.flow.shared.store
        with store.lock:
            virtual = store.get("ltm/virtual", flow.virtual.path)
            if virtual is None:
                raise Reset("the virtual server is gone")
            request = edits.request_of(head, sni=flow.sni, tls=flow.tls is not None)
            effect = self.state.effect = matching.judge(store, virtual, request)
            stays = self.state.last_pool if store.has(Quirk.POLICY_POOL_STAYS) else None
            pool = effect.pool or self.state.rule_pool or stays or virtual.fields.get("pool")
        for message in effect.messages:
            store.irule_log.append(edits.expanded(message, request, flow))
        edits.apply_all(head, effect.edits, request, flow)
        if effect.kind == "reset":
            raise Reset(f"by {effect.rule}")
        if effect.kind == "redirect":
            location = edits.expanded(effect.location, request, flow)
            self.state.response = Response.redirect(location, effect.code)
        return pool

    async def _respond(self, head: http.Head) -> bool:
        """Send an answer of a policy or an iRule."""
        state, response = self.state, self.state.response
        if response is None:
            raise Reset("HTTP::disable in HTTP_REQUEST is not known here")
        served = self.flow.served
        served.status = response.head.status
        if not served.outcome:
            served.outcome = "redirected" if 300 <= response.head.status < 400 else "responded"
        body = b"" if head.method == b"HEAD" else response.body
        self.stream.write(response.head.encode() + body)
        await self.stream.drain()
        if self._log:
            self._log.responded(response.head, len(body), own=True)
        if state.close or not head.keep_alive or head.upgrade:
            return False
        if head.get(b"Expect") is not None and not self.body_is_here:
            # the client may never send the body now
            return False
        await self.skip_body()
        return True

    async def _forward(self, head: http.Head, pool: str | None) -> bool:
        flow = self.flow
        server = await self._server(pool)
        for tally in flow.shared.balancer.tallies(server.member):
            tally.requests += 1
        exchange = Exchange(self, head, server)
        goes_on = await exchange.run()
        if self._log:
            self._log.responded(exchange.answer, exchange.size)
        if exchange.upgraded:
            await self._tunnel(server, exchange)
            return False
        if head.upgrade:
            # the parser stopped there, but the member did not want it
            self._feed(self.leftover())
        if flow.virtual.one_connect and server.usable and goes_on:
            flow.server_now = None
            flow.shared.idle.put(flow.virtual.path, server)
        return goes_on

    async def _server(self, pool: str | None) -> Server:
        flow, state = self.flow, self.state
        now = flow.server_now
        if now is not None:
            if now.usable and not state.detach and not self._switches(now, pool):
                served = flow.served
                served.pool, served.member = now.member.pool, now.member.short
                served.server_ssl, served.verified = now.profile, now.verified
                return now
            flow.leave_server()
        return await flow.connect(pool)

    def _switches(self, now: Server, pool: str | None) -> bool:
        """Return True if another choice than that of the first request counts."""
        state = self.state
        chosen = state.forced_member is not None or state.node is not None or now.member.pool != pool
        return chosen and self.flow.shared.store.has(Quirk.POOL_SWITCHES_SERVER)

    async def _tunnel(self, server: Server, exchange: Exchange) -> None:
        self.flow.served.outcome = "tunnelled"
        if exchange.rest:
            self.stream.write(exchange.rest)
        rest = self.leftover()
        if rest:
            server.stream.write(rest)
        await wire.carry(self.stream, server.stream)


