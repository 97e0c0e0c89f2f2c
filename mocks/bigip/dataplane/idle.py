"""Server-side connections that wait for another client: OneConnect (bigip-behaviour.md B8, B11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mocks.bigip.dataplane.balancing import Member
    from mocks.bigip.dataplane.plane import DataPlane
    from mocks.bigip.dataplane.server_side import Server

Key = tuple[str, str, int]
"""Virtual server, address and port: a connection is reused by pool member
(bigip-behaviour.md B11), in whatever pool it is."""
_MAX_AGE_S = 86400.0


class IdleServers:
    """By virtual server and member. Only the age counts of the profile's limits."""

    def __init__(self, plane: DataPlane) -> None:
        self._plane = plane
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

    def sweep(self, now: float) -> None:
        for waiting in self._servers.values():
            for server in [old for old in waiting if now > old.raw.active + _MAX_AGE_S / self._plane.speed]:
                waiting.remove(server)
                server.close()

    def clear(self) -> None:
        for waiting in self._servers.values():
            for server in waiting:
                server.abort()
        self._servers.clear()

    def __len__(self) -> int:
        return sum(map(len, self._servers.values()))
