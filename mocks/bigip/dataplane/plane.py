"""The listening sockets of the virtual servers and everything that lives as long as they do."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable

from mocks.bigip import destinations, virtual_addresses
from mocks.bigip.dataplane import balancing, config, firewall, wire
from mocks.bigip.dataplane.balancing import Balancer
from mocks.bigip.dataplane.contexts import Contexts
from mocks.bigip.dataplane.flow import Flow
from mocks.bigip.dataplane.loop import LoopThread
from mocks.bigip.dataplane.monitors import Monitors
from mocks.bigip.dataplane.persistence import SourceTable
from mocks.bigip.dataplane.pods import Pods
from mocks.bigip.dataplane.servers import IdleServers
from mocks.bigip.dataplane.session_table import SessionTable
from mocks.bigip.dataplane.shared import Clock, Engine, Shared
from mocks.bigip.dataplane.wire import Wire
from mocks.bigip.matching import Unsupported
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Key, Store

Told = Callable[[str, str, tuple[str, int] | None], None]
SWEEP_S = 0.05
"""Between looks for connections that are idle for too long."""
LOG_LENGTH = 20_000
_TLS_MIRRORED = (12, 1)
_LISTENING = ("ltm/virtual", "ltm/virtual-address")
"""Kinds whose changes may begin or end listening."""


class DataPlane:
    """Traffic through a store's virtual servers.

    Args: errors: where faults, unknown configuration and errors of iRules are put. pods: who answers for
    the pool members; None: a registry of its own. speed: all of the device's time-outs and intervals
    (idle, handshake, persistence, monitors, SYN) are divided by it. told: called in the loop with a
    virtual server, its destination and the local address, None when it stops listening.
    """

    def __init__(
        self,
        store: Store,
        errors: list[BaseException],
        *,
        pods: Pods | None = None,
        speed: float = 1.0,
        told: Told | None = None,
    ) -> None:
        self._told = told
        self.thread = LoopThread("fake-data-plane")
        self._own_pods = pods is None
        self.clock = Clock(self.thread.loop.time, speed)
        self.shared = Shared(
            store, errors, deque(maxlen=LOG_LENGTH), self.thread, self.clock,
            pods if pods is not None else Pods(self.thread),
            Balancer(lambda member: balancing.tallies(store, member)), Contexts(store), SourceTable(),
            SessionTable(lambda: self.clock.time_of_day()), IdleServers(), Engine())
        self.store, self.errors = store, errors
        self.pods, self.log, self.table = self.shared.pods, self.shared.log, self.shared.table
        self.monitors = Monitors(self.shared)
        self.vlan = ""
        """Full path of the VLAN on which clients come from now on; "" for one that no test names."""
        self.flows: set[Flow] = set()
        self.units: tuple[Store, ...] = (store,)
        """Stores of the units of a pair, or this one: mirrored connections go on with another one's."""
        self._dropped: list[Wire] = []
        """Connections of clients that get no answer."""
        self._listening: dict[str, tuple[str, asyncio.Server]] = {}
        self._ports: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._sweeper: asyncio.TimerHandle | None = None
        self._syncing = asyncio.Lock()
        with store.lock:
            store.on_commit.append(self._changed)
            store.is_down = self.monitors.is_down
            self.monitors.changed({("ltm/pool", item.key) for item in store.all("ltm/pool")})
        self.sync()

    # -- listeners ---------------------------------------------------------------------------------

    def _changed(self, written: set[tuple[str, Key]]) -> None:
        if any(kind in _LISTENING for kind, _ in written):
            self.thread.soon(lambda: asyncio.ensure_future(self._sync()))
        self.monitors.changed(written)
        for kind, key in written:  # an object of the same name begins at 0
            if (kind, key) in self.store.tallies and self.store.get(kind, *key) is None:
                del self.store.tallies[kind, key]

    def sync(self) -> None:
        """Listen for exactly the virtual servers that there are now."""
        self.thread.run(self._sync())

    async def _sync(self) -> None:
        async with self._syncing:
            await self._listen_for_all()

    async def _listen_for_all(self) -> None:
        with self.store.lock:
            items = [item for item in self.store.all("ltm/virtual") if config.carried(self.store, item)
                     and virtual_addresses.is_here(self.store, item)]
            wanted = {item.path: item.fields["destination"].rsplit("/", 1)[1] for item in items}
        for path, (destination, server) in list(self._listening.items()):
            if wanted.get(path) != destination:
                del self._listening[path]
                await _end(server)
                self._tell(path, destination, None)
        for flow in tuple(self.flows):
            self._fail_over(flow)
        if self.store.has(Quirk.LISTENER_GONE_RESETS):
            self._reset_gone()
        for path, destination in wanted.items():
            if path not in self._listening:
                server = await self._listen(path, destination)
                self._listening[path] = (destination, server)
                self._tell(path, destination, server.sockets[0].getsockname()[:2])

    def _fail_over(self, flow: Flow) -> None:
        """End a connection whose address is on another unit by now, which goes on with it if it is mirrored.

        The setting counts with which it began (inferred). The list of protocols that can be mirrored has TLS
        from 12.1 on. Source: techdocs.f5.com, BIG-IP Device Service Clustering: Administration, "Managing
        Connection Mirroring".
        """
        with self.store.lock:
            if _has(flow.shared.store, flow.path):
                return
            takes_over = next((store for store in self.units if _has(store, flow.path)), None)
        is_mirrored = flow.virtual is not None and flow.virtual.is_mirrored and (
            flow.tls is None or self.store.version >= _TLS_MIRRORED)
        if takes_over is not None and is_mirrored:
            flow.go_on_with(takes_over)
        else:
            flow.expire("failover")

    def _reset_gone(self) -> None:
        """End the connections of virtual servers that were deleted or moved; disabled ones are neither."""
        for flow in tuple(self.flows):
            with self.store.lock:
                item = self.store.get("ltm/virtual", flow.path)
            virtual = flow.virtual
            if item is None or (virtual and config.destination(item) != (virtual.address, virtual.port)):
                flow.expire("the listener is gone")

    def _tell(self, path: str, destination: str, where: tuple[str, int] | None) -> None:
        if self._told is not None:
            self._told(path, destination, where)

    async def _listen(self, path: str, destination: str) -> asyncio.Server:
        """On loopback of the destination's family, and the port that it had before, if that is free."""
        loop = asyncio.get_running_loop()
        name = f"{path} {destination}"
        ipv6 = destinations.is_ipv6(f"/{destination}")
        family, address = (socket.AF_INET6, "::1") if ipv6 else (socket.AF_INET, "127.0.0.1")
        for port in dict.fromkeys((self._ports.get(name, 0), 0)):
            sock = socket.socket(family)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                sock.bind((address, port))
                break
            except OSError:
                sock.close()
        self._ports[name] = sock.getsockname()[1]
        return await loop.create_server(
            lambda: Wire(lambda client: self._accepted(client, path)), sock=sock, backlog=1024
        )

    def endpoint(self, path: str) -> tuple[str, int]:
        """Where a virtual server listens. Raises: KeyError: it does not exist, or is disabled."""
        self.sync()
        return self._listening[path][1].sockets[0].getsockname()[:2]

    def listeners(self) -> dict[str, tuple[str, int]]:
        """Destination such as 10.0.0.1:443 -> where it listens."""
        self.sync()
        listening = self._listening.values()
        return {destination: server.sockets[0].getsockname()[:2] for destination, server in listening}

    # -- connections -------------------------------------------------------------------------------

    def _accepted(self, client: Wire, path: str) -> None:
        with self.store.lock:
            virtual, is_here = config.virtual(self.store, path), _has(self.store, path)
        if not is_here:  # it came just before the failover
            client.abort()
            return
        if virtual and (self._is_full(virtual) or not virtual.answers_on(self.vlan)):
            client.abort()
            return
        if virtual and not self._is_admitted(virtual, client):
            return
        wire.no_delay(client.transport)
        flow = Flow(self.shared, client, path)
        self.flows.add(flow)
        task = flow.task = self.thread.loop.create_task(flow.run())
        self._tasks.add(task)
        task.add_done_callback(lambda done: self._done(flow, done))
        if self._sweeper is None:
            self._sweeper = self.thread.loop.call_later(SWEEP_S, self._sweep)

    def _is_admitted(self, virtual: config.Virtual, client: Wire) -> bool:
        """Return True if the firewall policy of a virtual server lets a client in."""
        try:
            action = firewall.decide(virtual.firewall, client.peer[0], virtual.address, virtual.port)
        except Unsupported as wrong:
            self.errors.append(wrong)
            action = firewall.REJECT
        if action == firewall.REJECT:
            client.abort()
        elif action == firewall.DROP:
            self._dropped.append(client)
        return action == firewall.ACCEPT

    def _is_full(self, virtual: config.Virtual) -> bool:
        """Return True if a virtual server has as many connections as its connectionLimit allows.

        Further ones are refused (K8457); a TMM's share of the limit is not modelled.
        """
        limit = virtual.limit
        return bool(limit) and self.store.tally("ltm/virtual", (virtual.path,)).current >= limit

    def _done(self, flow: Flow, task: asyncio.Task[None]) -> None:
        self.flows.discard(flow)
        self._tasks.discard(task)

    def _sweep(self) -> None:
        """Reset what has been idle for its time-out; runs while there are connections."""
        now = self.clock.now()
        for flow in list(self.flows):
            if flow.deadline is not None and now > flow.deadline:
                flow.expire("handshake time-out")
            elif flow.virtual is not None and (limit := flow.idle_limit()):
                server = flow.server_now
                active = max(flow.wire.active, server.raw.active if server else 0)
                if now > active + limit / self.clock.speed:
                    flow.expire("idle time-out")
        self.shared.idle.sweep(now, self.clock.speed)
        busy = self.flows or len(self.shared.idle)
        self._sweeper = self.thread.loop.call_later(SWEEP_S, self._sweep) if busy else None

    def check_members(self) -> None:
        """Run every monitor once and believe its result at once."""
        self.thread.run(self.monitors.check_all())

    def counters(self) -> dict[str, int]:
        """Counts of what lives now; all 0 when no connection is open."""
        return {
            "connections": len(self.flows),
            "tasks": len(self._tasks),
            "server connections": sum(self.shared.balancer.connections.values()),
            "rules": self.shared.engine.connections,
            "idle server connections": len(self.shared.idle),
        }

    def close(self) -> None:
        """Reset all connections and stop."""
        with self.store.lock:
            self.store.on_commit.remove(self._changed)
            self.store.is_down = lambda pool, member: False
        self.thread.run(self._close())
        if self._own_pods:
            self.pods.close()
        self.thread.stop()

    async def _close(self) -> None:
        for _, server in self._listening.values():
            server.close()
        if self._sweeper is not None:
            self._sweeper.cancel()
        for client in self._dropped:
            client.abort()
        self.shared.idle.clear()
        self.monitors.stop()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.shared.engine.close()


def _has(store: Store, path: str) -> bool:
    """Return True if a unit carries connections of a virtual server; of one that is gone, if it is active."""
    item = store.get("ltm/virtual", path)
    return store.unit.is_active_for("") if item is None else virtual_addresses.is_here(store, item)


async def _end(server: asyncio.Server) -> None:
    """Stop listening. A connection that was just accepted gets its Flow: Server.close would forget it."""
    for sock in server.sockets:
        asyncio.get_running_loop().remove_reader(sock.fileno())
    await asyncio.sleep(0)
    server.close()
