"""Which member of a pool gets a connection: availability, priority groups, methods.

Source: bigip-behaviour.md B3, B11.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from fractions import Fraction

from mocks.bigip import addresses, pools, selection
from mocks.bigip.matching import Unsupported
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Store, Tally

ROUND_ROBIN = frozenset(("round-robin",))
RATIO = frozenset(("ratio-member", "ratio-session"))
LEAST = frozenset(("least-connections-member",))
RATIO_LEAST = frozenset(("ratio-least-connections-member",))
LEAST_NODE = frozenset(("least-connections-node",))
"""Counts the connections of a node, through whatever pools (techdocs.f5.com, Load balancing methods)."""


@dataclass(frozen=True, slots=True)
class Member:
    """A pool member, or a node without a pool. address: with its route domain, if it has one."""

    pool: str
    name: str
    """Full path."""
    address: str
    port: int
    ratio: int = 1
    priority: int = 0
    limit: int = 0
    """Connections at once; 0: no limit."""
    enabled: bool = True
    """Takes new clients; a disabled one keeps its persistent ones."""
    down: bool = False
    """Forced down by the user, or found down by its monitor."""

    @property
    def short(self) -> str:
        """Name without its folder."""
        return self.name.rpartition("/")[2]

    @property
    def key(self) -> tuple[str, str]:
        return self.pool, self.name


def members(store: Store, pool: str) -> list[Member]:
    """All members of a pool in order of creation. Hold the lock."""
    pool_members, unknown_is_down = [], store.has(Quirk.CHECKING_TAKES_NOTHING)
    for item in store.children("ltm/pool/members", (pool,)).values():
        fields, down = item.fields, store.is_down(pool, item.name)
        pool_members.append(
            Member(
                pool,
                item.name,
                fields["address"],
                addresses.port_number(pools.node_and_port(item.name)[1]),
                int(fields.get("ratio", 1)),
                int(fields.get("priorityGroup", 0)),
                int(fields.get("connectionLimit", 0)),
                selection.takes_new(store, item),
                selection.forced_down(store, item) or (unknown_is_down if down is None else down),
            )
        )
    return pool_members


def tallies(store: Store, member: Member) -> tuple[Tally, ...]:
    """The counters of a member and its pool; none of a node without a pool."""
    if not member.pool:
        return ()
    return store.tally("ltm/pool", (member.pool,)), store.tally("ltm/pool/members", member.key)


class Balancer:
    """State that is kept between choices. Used by the loop alone."""

    def __init__(self, tallies: Callable[[Member], tuple[Tally, ...]] = lambda member: ()) -> None:
        self.tallies = tallies
        """The counters of a member and its pool."""
        self.connections: Counter[tuple[str, str]] = Counter()
        """Server-side connections by (pool, member)."""
        self._turn: Counter[str] = Counter()
        self._credit: Counter[tuple[str, str]] = Counter()
        self._queued: list[asyncio.Future[None]] = []

    def opened(self, member: Member) -> None:
        self.connections[member.key] += 1
        for tally in self.tallies(member):
            tally.opened()

    def closed(self, member: Member) -> None:
        self.connections[member.key] -= 1
        for tally in self.tallies(member):
            tally.closed()
        if self.connections[member.key] <= 0:
            del self.connections[member.key]
        for waiting in self._queued:
            if not waiting.done():
                waiting.set_result(None)

    async def freed(self, timeout_s: float | None) -> bool:
        """Wait until a connection to any member ends; False after a time, None for no limit."""
        waiting = asyncio.get_running_loop().create_future()
        self._queued.append(waiting)
        try:
            await asyncio.wait_for(waiting, timeout_s)
        except TimeoutError:
            return False
        finally:
            self._queued.remove(waiting)
        return True

    def full(self, member: Member) -> bool:
        return bool(member.limit) and self.connections[member.key] >= member.limit

    def choose(
        self,
        candidates: Collection[Member],
        *,
        method: str,
        least_active: int = 0,
        not_these: Collection[str] = (),
    ) -> Member | None:
        """A member for a new connection, None if none is available. Raises: Unsupported: the method.

        Args: least_active: minActiveMembers of priority groups, 0 without. not_these: names that were tried.
        """
        usable = [
            member
            for member in candidates
            if member.enabled and not member.down and member.name not in not_these and not self.full(member)
        ]
        if least_active:
            usable = _by_priority(usable, least_active)
        if not usable:
            return None
        if method in ROUND_ROBIN:
            return self._next(usable)
        if method in RATIO:
            return self._weighted(usable)
        if method in LEAST | RATIO_LEAST | LEAST_NODE:
            counts = self._of_nodes() if method in LEAST_NODE else self.connections
            shares = [
                (Fraction(counts[_node(member.key) if method in LEAST_NODE else member.key],
                          member.ratio if method in RATIO_LEAST else 1), member)
                for member in usable
            ]
            fewest = min(share for share, _ in shares)
            return self._next([member for share, member in shares if share == fewest])
        raise Unsupported(f"load-balancing method {method}")

    def _of_nodes(self) -> Counter[tuple[str, str]]:
        counts: Counter[tuple[str, str]] = Counter()
        for key, count in self.connections.items():
            counts[_node(key)] += count
        return counts

    def _next(self, usable: list[Member]) -> Member:
        turn = self._turn[usable[0].pool]
        self._turn[usable[0].pool] += 1
        return usable[turn % len(usable)]

    def _weighted(self, usable: list[Member]) -> Member:
        """Smooth weighted round robin: each earns its ratio, the richest pays the sum."""
        for member in usable:
            self._credit[member.key] += member.ratio
        best = max(usable, key=lambda member: self._credit[member.key])
        self._credit[best.key] -= sum(member.ratio for member in usable)
        return best


def _node(member: tuple[str, str]) -> tuple[str, str]:
    """Key of a member's node, whatever pool it is in."""
    return "", pools.node_and_port(member[1])[0]


def _by_priority(usable: list[Member], least: int) -> list[Member]:
    """Members of the highest groups that together have enough."""
    chosen: list[Member] = []
    for priority in sorted({member.priority for member in usable}, reverse=True):
        if len(chosen) >= least:
            break
        chosen += [member for member in usable if member.priority == priority]
    return chosen
