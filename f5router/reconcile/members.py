"""Writes members of pools that are on the device, beside whatever else is under way.

Pools need nothing but a monitor, and go without a new one until it is there. So their members can be written
between any two writes of a rollout, or reads. A write that hangs holds up its own pool and what needs it, and
a namespace has only a few writes under way at once.
"""

import ipaddress
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.model import names, ownership
from f5router.model.cluster import Key
from f5router.model.ltm import Object, Pool
from f5router.model.net import StaticRoute
from f5router.model.objects import Ref
from f5router.model.route_options import MONITOR_TYPES
from f5router.plan import diff
from f5router.plan.change import CREATE, DELETE, UPDATE, AnyChange, Change
from f5router.reconcile.retention import Retention
from f5router.reconcile.table import Table

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

NAMESPACE_MOST = 2
"""Pools of a namespace whose members are written at once: others have room also when these writes hang."""


class Members:
    """Decides which pools are written beside a rollout, and with which members. The loop's thread uses it."""

    def __init__(self, engine: Engine, device: Device, table: Table, retention: Retention):
        self._engine, self._device, self._table, self._retention = engine, device, table, retention

    # --- what is due -------------------------------------------------------------------------

    def note_endpoints(self, services: Iterable[Key], since: float | None = None) -> None:
        """Take Services whose endpoints changed: pools that nobody wants follow them too."""
        for service in services:
            self._table.touch_members(self._engine.dropped_pools(service), since)

    def start_over(self, pools: Iterable[Ref]) -> None:
        """Take the pools of the device that differ, after a reading."""
        pools = set(pools)
        self._engine.set_dropped_pools({ref for ref in pools if ref not in self._engine.objects})

    def correct(self, refs: Iterable[Ref]) -> None:
        """Let pools follow their pods that wait for something else than that.

        A wanted one whose own write was refused loses the pods that left, and gets no new ones.
        """
        for ref in refs:
            pool = self._device.observed.get(ref)
            if isinstance(pool, Pool) and not self._retention.is_unconfirmed(ref) and (
                    self._followed(pool) != pool):
                self._table.correct_members(ref)

    # --- writing -----------------------------------------------------------------------------

    def take_due(self, room: int) -> list[AnyChange]:
        """Return Changes of a few pools to be sent now. Args: room: number of requests that may start."""
        table = self._table
        if room <= 0 or not table.members:
            return []
        changes: list[AnyChange] = []
        counts = self._counts()
        for ref in list(table.members):
            if len(changes) >= room:
                break
            old, namespace = self._device.observed.get(ref), names.pool_namespace(ref.path)
            if old is not None and counts[namespace] >= NAMESPACE_MOST:
                continue
            new = self._desired(ref, old) if isinstance(old, Pool) else None
            held = self._retention.is_unconfirmed(ref) or (
                table.is_held(ref) and not table.rows[ref].corrects)
            if held or new is None or (new == old and not table.is_in_doubt([ref])):
                self._settle(ref)
                continue
            if not new.members and ref in table.queue:
                continue  # a Plan decides first whether it may go
            counts[namespace] += 1
            changes.append(Change(UPDATE, old, new))
        return changes

    def take_read(self, pools: Set[Ref], room: int) -> tuple[list[AnyChange], set[Ref]]:
        """Return Changes of pools that were just read one by one, and the pools that have to wait.

        Only members are written, as nothing else is known of the device, and no pool is emptied: whether so
        many may be is found out by a reading of everything.
        """
        changes: list[AnyChange] = []
        waiting: set[Ref] = set()
        counts = self._counts()
        for ref in sorted(pools):
            old, wanted = self._device.observed.get(ref), self._engine.objects.get(ref)
            if not isinstance(old, Pool) or not isinstance(wanted, Pool) or self._is_held(ref) or (
                    wanted.members == old.members or not wanted.members):
                continue
            namespace = names.pool_namespace(ref.path)
            if len(changes) >= room or self._table.is_sent(ref) or counts[namespace] >= NAMESPACE_MOST:
                waiting.add(ref)
            else:
                counts[namespace] += 1
                changes.append(Change(UPDATE, old, replace(old, members=wanted.members)))
        return changes, waiting

    def _counts(self) -> Counter[str]:
        """Return how many pools of each namespace are being written."""
        return Counter(names.pool_namespace(ref.path) for ref in self._table.sent if ref.kind == Pool.KIND)

    def _settle(self, ref: Ref) -> None:
        """Take out a pool with no members to write; it waits for its monitor, if that is missing."""
        wanted, observed = self._engine.objects.get(ref), self._device.observed
        needs = wanted.dependencies if wanted is not None else ()
        missing = next((need for need in needs if need not in observed), None)
        if missing is not None and ref in observed and not self._is_held(ref):
            self._table.wait_for(ref, missing)
        else:
            self._table.leave_members(ref)

    def newest(self, change: AnyChange) -> AnyChange | None:
        """Return the Change of a pool with its present members; None if nothing is to be written now.

        Events may have come since the Plan was made.
        """
        if change.verb == DELETE:
            return change
        if self._is_held(change.ref):
            return None  # it was refused meanwhile
        old = self._device.observed.get(change.ref)
        new = self._engine.objects.get(change.ref, change.new)
        if isinstance(new, Pool):
            new = self._writable(new, old if isinstance(old, Pool) else None)
        if old == new and not self._table.is_in_doubt([change.ref]):
            return None
        return Change(UPDATE if old else CREATE, old, new)

    def written(self, change: AnyChange) -> None:
        """Record a confirmed write of any kind."""
        if change.ref.kind == Pool.KIND:
            if change.verb == DELETE:
                self._engine.forget_pool(change.ref)
            needed = change.old.dependencies if change.old else ()
            self._table.touch(ref for ref in needed if ref not in self._engine.objects)

    # --- what waits for members ----------------------------------------------------------------

    def under_way(self, change: AnyChange) -> list[Ref]:
        """Return the pools of the device that a Change needs, and whose members are still to be written."""
        table = self._table
        if isinstance(change.obj, Pool) or not (table.members or table.sent):
            return []
        return [ref for ref in self._engine.closure(change.obj.dependencies)
                if ref.kind == Pool.KIND and ref in self._device.observed
                and (ref in table.members or table.is_sent(ref)) and not self._is_held(ref)]

    def writes_beside(self, change: AnyChange) -> bool:
        """True for a Change of a pool of the device: its members are written beside the Plan."""
        return change.verb == UPDATE and change.ref.kind == Pool.KIND

    def leaving(self) -> dict[Ref, set[Address]]:
        """Return the addresses that pools of the device lose, once for all deletes of a Plan."""
        result = {}
        for ref in chain(self._table.sent, self._table.members):
            old = self._device.observed.get(ref)
            if isinstance(old, Pool) and not self._is_held(ref):
                staying = {member.address for member in self._desired(ref, old).members}
                if gone := set(_addresses({member.address for member in old.members} - staying)):
                    result[ref] = gone
        return result

    def user_of(self, change: AnyChange, leaving: Mapping[Ref, Set[Address]]) -> Ref | None:
        """Return a pool that needs what is to be deleted, and is still to be written.

        It has the monitor, also while it waits for the one that takes its place, or loses members: these get
        requests until then, and a static route, a tunnel or an FDB record may be the way to them.

        Args: leaving: see `leaving`.
        """
        ref, table, observed = change.ref, self._table, self._device.observed
        if change.verb != DELETE:
            return None
        if change.stage.is_network:
            return next((pool for pool, gone in leaving.items() if _leads_to(change.obj, gone)), None)
        if ref.kind not in MONITOR_TYPES:
            return None
        waiting = chain(table.sent, table.members, *table.waiting.values())
        return next((pool for pool in waiting if pool.kind == Pool.KIND and pool in observed
                     and ref in observed[pool].dependencies), None)

    def _desired(self, ref: Ref, old: Pool) -> Pool:
        """Return a pool as it should be. One that nobody wants follows its pods as long as it is there."""
        desired = self._engine.objects.get(ref)
        if isinstance(desired, Pool) and not self._table.rows[ref].corrects:
            return self._writable(desired, old)
        return self._followed(old)

    def _followed(self, old: Pool) -> Pool:
        """Return a pool of the device with the members that it should have; a wanted one gets no new ones."""
        if not ownership.is_of_service(old.path):
            return old  # no pods
        members = self._engine.members(old)
        if old.ref in self._engine.objects:
            names_left = {member.name for member in members}
            members = frozenset(member for member in old.members if member.name in names_left)
        return replace(old, members=members)

    def _writable(self, pool: Pool, old: Pool | None) -> Pool:
        """Return a pool as it can be written now; one whose monitor is missing is written again with it."""
        return diff.without_missing_monitors(pool, old, self._device.observed)

    def _is_held(self, ref: Ref) -> bool:
        """True for a pool that may only be corrected now, or not be written at all."""
        return self._table.is_held(ref) or self._retention.is_unconfirmed(ref)


def _addresses(texts: Iterable[str]) -> Iterator[Address]:
    """Yield addresses; a member that somebody has added by a DNS name has none."""
    for text in texts:
        with suppress(ValueError):
            yield ipaddress.ip_address(text)


def _leads_to(way: Object, addresses: Set[Address]) -> bool:
    """True for a static route to one of these; any other object of the network may be the way to each."""
    if not isinstance(way, StaticRoute):
        return True
    network = ipaddress.ip_network(way.network)
    return any(address in network for address in addresses)
