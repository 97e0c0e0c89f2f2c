"""The server side of a connection: choosing a member, connecting, TLS towards it."""

from __future__ import annotations

import asyncio
import math
import ssl

from mocks.bigip import selection
from mocks.bigip.dataplane import balancing, config, contexts, persistence, wire
from mocks.bigip.dataplane.balancing import Member
from mocks.bigip.dataplane.connection import Connection, Reset
from mocks.bigip.dataplane.http import Head
from mocks.bigip.dataplane.servers import Server
from mocks.bigip.dataplane.tls import TLSFailure, TLSWire
from mocks.bigip.dataplane.wire import Wire
from mocks.bigip.quirks import Quirk


class NoServer(Exception):
    """No pool, no member, or the member cannot be reached: LB_FAILED."""


class ServerSide:
    """Makes server-side connections of one client connection."""

    def __init__(self, flow: Connection) -> None:
        self.flow, self.shared, self.store = flow, flow.shared, flow.shared.store

    async def connect(self, pool: str | None, head: Head | None) -> Server:
        """A new connection to a member of a pool. Raises: NoServer, Reset, TLSFailure, Unsupported."""
        flow, tried, queued_until = self.flow, set(), None
        flow.state.pool_now = pool
        while True:
            chosen, tries = self._choose(pool, head, tried)
            if chosen is None and (queue_s := self._queue_s(pool, tried)) is not None:
                now = asyncio.get_running_loop().time()
                queued_until = queued_until or now + queue_s
                if await self._freed(pool, queued_until - now if queue_s < math.inf else None):
                    continue
            if chosen is None:
                raise NoServer("no member available" if pool else "no pool")
            flow.state.member = chosen
            flow.fire("LB_SELECTED")
            # what is not looked into as HTTP never goes into a connection that others have used
            reuses = flow.virtual.one_connect and head is not None
            idle = self.shared.idle.take(flow.virtual.path, chosen) if reuses else None
            if idle is not None:
                return idle
            try:
                server = await self._dial(chosen)
            except OSError as refused:
                flow.tally.connect_failures += 1
                tried.add(chosen.name)
                if len(tried) > tries:
                    raise NoServer(str(refused)) from None
                continue
            try:
                await self._prepare(server)
            except BaseException:
                server.abort()
                raise
            return server

    def _choose(self, pool: str | None, head: Head | None, tried: set[str]) -> tuple[Member | None, int]:
        """(member, reselectTries)"""
        if self.flow.state.node is not None:
            return Member("", *self.flow.state.node), 0
        with self.store.lock:
            item = self.store.get("ltm/pool", pool) if pool else None
            if item is None:
                return None, 0
            members = balancing.members(self.store, pool)
            tries = int(item.fields.get("reselectTries", 0))
            method, least = item.fields["loadBalancingMode"], int(item.fields.get("minActiveMembers", 0))
            persist = persistence.in_force(self.store, self.flow.virtual, self.flow.state)
        forced = self.flow.state.forced_member
        if forced is not None:
            return next((member for member in members if forced in (member.short, member.name)), None), 0
        kept = self._persistent(members, persist, pool, head) if not tried else None
        return (
            kept or self.shared.balancer.choose(members, method=method, least_active=least, not_these=tried),
            tries,
        )

    def _queue_s(self, pool: str | None, tried: set[str]) -> float | None:
        """How long the pool lets a connection wait for a member at its limit, None if it does not."""
        with self.store.lock:
            item = self.store.get("ltm/pool", pool) if pool else None
            if item is None or item.fields.get("queueOnConnectionLimit") != "enabled":
                return None
            usable = (member for member in balancing.members(self.store, pool)
                      if member.enabled and not member.down and member.name not in tried)
            if not any(map(self.shared.balancer.full, usable)):
                return None
            limit_ms = int(item.fields.get("queueTimeLimit", 0))
        return limit_ms / 1000 / self.shared.clock.speed if limit_ms else math.inf

    async def _freed(self, pool: str, timeout_s: float | None) -> bool:
        """Wait in the queue of a pool until a connection to any member ends; False after a time."""
        tally = self.store.tally("ltm/pool", (pool,))
        tally.waiting += 1
        try:
            return await self.shared.balancer.freed(timeout_s)
        finally:
            tally.waiting -= 1

    def _persistent(
        self, members: list[Member], persist: tuple[str, dict] | None, pool: str, head: Head | None
    ) -> Member | None:
        if persist is None:
            return None
        kind, fields = persist
        if kind == "cookie":
            name = persistence.cookie_name(pool, str(fields.get("cookieName", "none")))
            return persistence.by_cookie(members, head.cookie(name) if head else None)
        client = self._client(fields)
        timeout_s = config.seconds(fields.get("timeout")) / self.shared.clock.speed
        now = self.shared.clock.now()
        kept = self.shared.sources.find(self.flow.virtual.path, client, now=now, timeout_s=timeout_s)
        return next((member for member in members if member.key == kept and not member.down), None)

    def keep(self, member: Member, fields: dict) -> None:
        """Remember the member of a client, or of a key that an iRule gave."""
        client = self._client(fields)
        self.shared.sources.keep(self.flow.virtual.path, client, member, now=self.shared.clock.now())

    def _client(self, fields: dict) -> str:
        """Key of a persistence record."""
        if "key" in fields:
            return f"uie {fields['key']}"
        return persistence.masked(self.flow.client[0], str(fields.get("mask", "none")))

    async def _dial(self, member: Member) -> Server:
        """Raises: OSError: refused, or nobody answers."""
        port = self.shared.pods.lookup(member.address, member.port)
        if port is None:
            raise ConnectionRefusedError(f"{member.name} refuses connections")
        if port == 0:
            await asyncio.sleep(self.flow.virtual.syn_s / self.shared.clock.speed)
            raise TimeoutError(f"{member.name} does not answer")
        _, raw = await asyncio.get_running_loop().create_connection(Wire, "127.0.0.1", port)
        wire.no_delay(raw.transport)
        return Server(member, raw, self.shared.balancer)

    async def _prepare(self, server: Server) -> None:
        """SERVER_CONNECTED, then TLS if the virtual server or an iRule wants it."""
        flow = self.flow
        flow.server_now = server
        flow.fire("SERVER_CONNECTED")
        with self.store.lock:
            profile = flow.state.server_profile or flow.server_ssl()
            off = flow.state.server_ssl_off or flow.state.effect.server_ssl is False
            if self.store.has(Quirk.SERVER_SSL_AFRESH):
                # what was said before, in CLIENT_DATA for example, was for this connection
                flow.state.server_ssl_off, flow.state.server_profile = False, None
            if profile is None or off:
                return
            if self.store.get("ltm/profile/server-ssl", profile) is None:
                raise Reset(f"the profile {profile} is gone")
            context = self.shared.contexts.server_side(profile)
            fields = selection.profile_fields(self.store, profile)
        name = str(fields.get("serverName") or "none")
        server.stream = TLSWire(
            server.raw,
            context,
            server_side=False,
            server_name=name if name != "none" else None,
            unclean=fields.get("uncleanShutdown") != "disabled",
        )
        await server.stream.handshake()
        server.profile, server.verified = profile, context.verify_mode == ssl.CERT_REQUIRED
        wanted = str(fields.get("authenticateName") or "none")
        certificate = server.stream.object.getpeercert(binary_form=True)
        if server.verified and wanted != "none" and not contexts.is_named(certificate, wanted):
            raise TLSFailure(f"the member's certificate is not for {wanted}")
