"""One client connection, from its acceptance to its end.

The order is TMM's (bigip-behaviour.md B11): CLIENT_ACCEPTED, CLIENT_DATA while iRules collect, the
ClientHello and the profile for its server name, the handshake, then HTTP or plain bytes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mocks.bigip import selection
from mocks.bigip.dataplane import config, hello, persistence, wire
from mocks.bigip.dataplane.connection import NONE, Reset
from mocks.bigip.dataplane.http_flow import HttpFlow
from mocks.bigip.dataplane.rules import Rules
from mocks.bigip.dataplane.server_side import NoServer, ServerSide
from mocks.bigip.dataplane.servers import Server
from mocks.bigip.dataplane.shared import Shared
from mocks.bigip.dataplane.state import Served, State
from mocks.bigip.dataplane.tls import TLSFailure, TLSWire
from mocks.bigip.dataplane.wire import Closed, Wire
from mocks.bigip.matching import Unsupported
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Store
from mocks.bigip.tmm import RuleError

log = logging.getLogger(__name__)


class Flow:
    """A connection accepted for a virtual server."""

    def __init__(self, shared: Shared, wire: Wire, path: str) -> None:
        self.shared, self.wire, self.path = shared, wire, path
        self.virtual: config.Virtual | None = None
        self.client: tuple[str, int] = ("", 0)
        self.state = State()
        self.rules: Rules | None = None
        self.server_now: Server | None = None
        self.tls: TLSWire | None = None
        self.sni: str | None = None
        self.client_ssl: str | None = None
        self.deadline: float | None = None
        """Loop time at which a handshake must be done."""
        self.idle_s: float | None = None
        """Idle time-out of the client side, None for the profile's; so has a Server."""
        self.served: Served | None = None
        self.servers = ServerSide(self)
        self.task: asyncio.Task[None] | None = None
        wire.on_lost = self._gone
        self.tally = shared.store.tally("ltm/virtual", (path,))
        self.tally.opened()
        wire.meter = self.tally.carried

    # -- life --------------------------------------------------------------------------------------

    async def run(self) -> None:
        try:
            await self._accepted()
        except (Reset, TLSFailure, Closed, NoServer) as ended:
            self._ended(f"reset: {ended}")
        except (Unsupported, RuleError) as wrong:
            self.shared.errors.append(wrong)
            self._ended(f"reset: {wrong}")
        except asyncio.CancelledError:
            self._ended("reset: the client is gone" if self.wire.lost else "reset: the data plane stops")
        except Exception as fault:
            log.exception("fault of the data plane: %s", self.path)
            self.shared.errors.append(fault)
            self._ended(f"reset: fault of the fake: {fault!r}")
        finally:
            self._close()

    def _ended(self, outcome: str) -> None:
        if self.served is not None and not self.served.outcome:
            self.served.outcome = outcome
        if self.state.ended != "TCP::close":  # which has sent FIN behind what was to be sent
            self.wire.abort()

    def _gone(self) -> None:
        """The client's connection was reset; nothing that is under way makes sense any more."""
        if self.server_now is not None:
            self.server_now.abort()
        if self.task is not None:
            self.task.cancel()

    def _close(self) -> None:
        self.wire.on_lost = None
        self.tally.closed()
        self.leave_server()
        if self.rules is not None:
            try:
                self.rules.fire("CLIENT_CLOSED")
            except (RuleError, Unsupported) as wrong:
                self.shared.errors.append(wrong)
            finally:
                self.rules.close()
        self.wire.close()

    def expire(self, reason: str) -> None:
        """The idle or handshake time-out is over: RST on both sides."""
        if self.served is not None and not self.served.outcome:
            self.served.outcome = f"reset: {reason}"
        if self.server_now is not None:
            self.server_now.abort()
        self.wire.abort()

    def go_on_with(self, store: Store) -> None:
        """Another unit has taken over, and its configuration counts from now on."""
        self.shared = replace(self.shared, store=store)
        self.servers = ServerSide(self)

    async def _accepted(self) -> None:
        with self.shared.store.lock:
            self.virtual = config.virtual(self.shared.store, self.path)
        self.client = self.wire.peer
        if self.virtual is None or not config.admits(self.virtual.source, self.client[0]):
            raise Reset("no virtual server takes this connection")
        if self.virtual.rules:
            self.rules = Rules(self)
        self.fire("CLIENT_ACCEPTED")
        await self._collect()
        if self.virtual.ends_tls and not self.state.client_ssl_off:
            await self._end_tls()
        stream = self.tls or self.wire
        if self.virtual.http is not None and not self.state.http_off:
            await HttpFlow(self, stream).run()
        else:
            await self._carry(stream)

    def server_ssl(self) -> str | None:
        """Full path of the profile for the server side. Hold the store's lock."""
        if self.shared.store.has(Quirk.SERVER_SSL_LIVE):
            return selection.server_ssl(self.shared.store, self.virtual.path)
        return self.virtual.server_ssl

    # -- iRules ------------------------------------------------------------------------------------

    def fire(self, event: str, variables: Mapping[str, str] = NONE) -> None:
        """Run the handlers of an event, after a policy has set variables.

        Raises: RuleError, Unsupported, Reset: a rule rejects.
        """
        if self.rules is not None:
            self.rules.fire(event, variables)
            if self.state.ended:
                raise Reset(self.state.ended)

    @property
    def _once(self) -> bool:
        return self.shared.store.has(Quirk.COLLECT_AGAIN)

    async def _collect(self) -> None:
        """Hold back what comes while TCP::collect waits for it (bigip-behaviour.md B5)."""
        state = self.state
        while state.collect is not None:
            data = await self.wire.read()
            if not data:
                raise Closed("ended while bytes were collected")
            state.payload += data
            if len(state.payload) < state.collect or not (state.waits or not self._once):
                continue
            state.waits = False
            self.fire("CLIENT_DATA")
        held = bytes(state.payload)
        state.payload.clear()
        if held:
            self.wire.unread(held)

    # -- TLS ---------------------------------------------------------------------------------------

    async def _end_tls(self) -> None:
        """Raises: TLSFailure, Closed, Reset: no profile for the name, or no TLS at all."""
        data, hello_ = b"", None
        self.deadline = self.shared.clock.now() + self._handshake_s() / self.shared.clock.speed
        while hello_ is None:
            more = await self.wire.read()
            if not more:
                raise Closed("ended in the ClientHello")
            data += more
            try:
                hello_ = hello.parse(data)
            except hello.NotTLS as wrong:
                if self._allows_clear_text():
                    self.deadline = None
                    self.wire.unread(data)
                    return
                raise Reset(f"no TLS on a virtual server that ends it: {wrong}") from None
        self.sni, self.state.hello = hello_.server_name, hello_
        with self.shared.store.lock:
            self.client_ssl = selection.client_ssl(self.shared.store, self.path, self.sni)
            if self.client_ssl is None:
                raise Reset(f"no client-ssl profile for {self.sni}")
            context = self.shared.contexts.client_side(self.client_ssl)
            fields = selection.profile_fields(self.shared.store, self.client_ssl)
        self.fire("CLIENTSSL_CLIENTHELLO")
        if self.state.client_ssl_off:
            self.client_ssl, self.deadline = None, None
            self.wire.unread(data)
            return
        self.tls = TLSWire(
            self.wire,
            context,
            server_side=True,
            begin=data,
            unclean=fields.get("uncleanShutdown") != "disabled",
        )
        await self.tls.handshake()
        self.deadline = None
        self.fire("CLIENTSSL_HANDSHAKE")

    def _default_profile(self) -> dict[str, Any]:
        with self.shared.store.lock:
            path = selection.client_ssl(self.shared.store, self.path, None)
            return selection.profile_fields(self.shared.store, path) if path else {}

    def _handshake_s(self) -> float:
        return config.seconds(self._default_profile().get("handshakeTimeout", 10)) or 3600.0

    def _allows_clear_text(self) -> bool:
        return self._default_profile().get("allowNonSsl") == "enabled"

    # -- plain bytes -------------------------------------------------------------------------------

    async def _carry(self, stream: Wire | TLSWire) -> None:
        """Without HTTP: one decision for the connection."""
        served = self.begin_record()
        served.pool = self.state.rule_pool or self.virtual.pool
        server = await self.connect(served.pool)
        served.outcome = "tunnelled"
        await wire.carry(stream, server.stream)

    # -- server side -------------------------------------------------------------------------------

    async def connect(self, pool: str | None) -> Server:
        """A new server-side connection; LB_FAILED may name another pool (LB::reselect).

        Raises: NoServer: nobody is there, and no rule helped. Reset, TLSFailure, Unsupported.
        """
        state = self.state
        for _ in range(8):
            try:
                server = await self.servers.connect(pool, state.request)
                break
            except NoServer:
                state.reselect = False
                self.fire("LB_FAILED")
                if not state.reselect or state.response is not None:
                    raise
                pool = state.request_pool or pool
        else:
            raise Reset("LB::reselect without end")
        self.server_now = server
        if self.served is not None:
            served = self.served
            served.pool, served.member = server.member.pool, server.member.short
            served.server_ssl, served.verified = server.profile, server.verified
        self._remember(server)
        return server

    def _remember(self, server: Server) -> None:
        with self.shared.store.lock:
            persist = persistence.in_force(self.shared.store, self.virtual, self.state)
        if persist and persist[0] in ("source-addr", "universal"):
            self.servers.keep(server.member, persist[1])

    def idle_limit(self) -> float:
        """The shorter idle time-out of both sides, which ends both; 0 for none."""
        limits = [self.virtual.idle_s if self.idle_s is None else self.idle_s]
        if (server := self.server_now) is not None:
            limits.append(self.virtual.server_idle_s if server.idle_s is None else server.idle_s)
        return min((limit for limit in limits if limit), default=0.0)

    def leave_server(self) -> None:
        """Give up the server-side connection."""
        if self.server_now is not None:
            self.server_now.close()
            self.server_now = None

    # -- records -----------------------------------------------------------------------------------

    def begin_record(self) -> Served:
        """The record of a new request, or of a connection without HTTP."""
        self.served = Served(self.path, self.client, self.sni, self.client_ssl, snat=self.virtual.snat)
        self.shared.log.append(self.served)
        return self.served
