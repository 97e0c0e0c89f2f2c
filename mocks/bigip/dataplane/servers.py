"""Connections to pods, and those that OneConnect keeps for another client (bigip-behaviour.md B8, B11)."""

from __future__ import annotations

from mocks.bigip.dataplane.balancing import Balancer, Member
from mocks.bigip.dataplane.tls import TLSWire
from mocks.bigip.dataplane.wire import Wire

Key = tuple[str, str, int]
"""Virtual server, address and port: a connection is reused by pool member
(bigip-behaviour.md B11), in whatever pool it is."""
_MAX_AGE_S = 86400.0


class Server:
    """A server-side connection. stream: a Wire or a TLSWire."""

    def __init__(self, member: Member, raw: Wire, balancer: Balancer) -> None:
        self.member, self.raw = member, raw
        self.stream: Wire | TLSWire = raw
        self.idle_s: float | None = None
        self.profile: str | None = None
        self.verified = False
        self._balancer = balancer
        self._open = True
        raw.meter = self._carried
        balancer.opened(member)

    @property
    def usable(self) -> bool:
        """True if another request can be sent."""
        return not self.raw.lost and not self.raw.readable

    def adopt(self, member: Member) -> None:
        """Used for a member of another pool from now on."""
        self._balancer.closed(self.member)
        self.member = member
        self._balancer.opened(member)

    def _carried(self, received: int, sent: int) -> None:
        for tally in self._balancer.tallies(self.member):
            tally.carried(sent, received)

    def close(self) -> None:
        self._closed()
        self.stream.close()

    def abort(self) -> None:
        self._closed()
        self.raw.abort()

    def _closed(self) -> None:
        if self._open:
            self._open = False
            self._balancer.closed(self.member)


class IdleServers:
    """By virtual server and member. Only the age counts of the profile's limits."""

    def __init__(self) -> None:
        self._servers: dict[Key, list[Server]] = {}

    def put(self, virtual: str, server: Server) -> None:
        key = (virtual, server.member.address, server.member.port)
        self._servers.setdefault(key, []).append(server)
        server.raw.on_end = lambda: self._gone(key, server)

    def take(self, virtual: str, member: Member) -> Server | None:
        """A connection to the member that is still good."""
        waiting = self._servers.get((virtual, member.address, member.port), [])
        while waiting:
            server = waiting.pop()
            server.raw.on_end = None
            if server.usable:
                server.adopt(member)
                return server
            server.close()
        return None

    def _gone(self, key: Key, server: Server) -> None:
        if server in self._servers.get(key, ()):
            self._servers[key].remove(server)
        server.close()

    def sweep(self, now: float, speed: float) -> None:
        """Close those that are too old. Args: now: loop time; speed: the age is divided by it."""
        for waiting in self._servers.values():
            for server in [old for old in waiting if now > old.raw.active + _MAX_AGE_S / speed]:
                waiting.remove(server)
                server.close()

    def clear(self) -> None:
        for waiting in self._servers.values():
            for server in waiting:
                server.abort()
        self._servers.clear()

    def __len__(self) -> int:
        return sum(map(len, self._servers.values()))
