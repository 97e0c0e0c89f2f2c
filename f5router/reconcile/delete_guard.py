"""Guard against mass deletes: a second list of the cluster must confirm them.

An API server that lists nothing by mistake looks like a cluster without Routes. Deletes of more than half
of what serves requests, and of at least LEAST objects, are held back until a complete list that began
afterwards confirms them. Precedent: Argo CD does not prune an application to nothing by default
(`allowEmpty`, https://argo-cd.readthedocs.io/en/stable/user-guide/auto_sync/).

The guard counts Rules, passthrough records and client SSL profiles of Hosts that no Route has any more, and
the pools behind them. An object whose Host is still served, by other objects or by another Route, has not
vanished: a takeover from another router, a renamed pool or a new certificate deletes much and takes nothing
away, and the previous objects must not stay beside the new ones. Deletes of the last BURST_S count too: many
small deletes add up to a large one.
"""

import math
from collections import deque
from collections.abc import Callable, Collection, Iterable, Set

from f5router.model import names, ownership
from f5router.model.front_end_names import base_name
from f5router.model.limits import LEAST, is_mass
from f5router.model.ltm import (
    Attachment,
    BigIPState,
    CertFile,
    ClientSSL,
    KeyFile,
    Object,
    Pool,
    Record,
    Rule,
    ServerSSL,
)
from f5router.model.objects import Ref
from f5router.plan.change import CREATE, DELETE, AnyChange
from f5router.reconcile.backlog import hosts_of
from f5router.reconcile.row import LISTED, HoldReason
from f5router.reconcile.table import Table

BURST_S = 60.0
"""Deletes within this time count together."""

_OF_ROUTES = (Rule, Record, ClientSSL, ServerSSL, CertFile, KeyFile, Pool)
_COUNTED = (Rule, Record, ClientSSL)


class DeleteGuard:
    """Decides which deletes are held back; their rows say so. One thread uses it, others may read the counts.
    """

    def __init__(self, table: Table, *, allow: bool = False):
        """Args: allow: hold nothing back."""
        self._table, self.allow = table, allow
        self.lacks_nodes = False
        """True if pools keep Nodes, of which none is listed."""
        self.kept: frozenset[Ref] = frozenset()
        """Pools that keep their pods although the settings leave them no member; no list confirms that."""
        self.since: float | None = None
        """Monotonic seconds when the first of all was held back; None if nothing is."""
        self.figures = (0, 0)
        """Deletes, and objects before them, at the last mass delete."""
        self.held_ever = 0
        """Deletes that were held back since the start."""
        self._fewer = 0
        """How many more objects were deleted than created since the last pass ended."""
        self._counted, self._counted_until = (0, 0), -math.inf
        """Numbers of the objects that count, and of all, and until when these may be used."""
        self._burst: deque[tuple[float, int]] = deque()
        """Time of passes, and how many more objects they deleted than they created."""

    @property
    def held(self) -> Set[Ref]:
        """Deletes that wait for a confirmation, counted or not."""
        return self._table.held[HoldReason.MASS_DELETE].keys()

    @property
    def emptied(self) -> Set[Ref]:
        """Pools that keep their members, although the first list has none, until that is confirmed."""
        return self._table.held[HoldReason.EMPTIED].keys()

    @property
    def ways(self) -> Set[Ref]:
        """FDB records and static routes that stay, although the first list has no Node for them, likewise."""
        return self._table.held[HoldReason.WAY].keys()

    def may_hold(self, deletes: int, size: int, *, total: Callable[[], int], now: float) -> bool:
        """False if nothing is held back, and twice as many deletes would be no mass delete.

        The device is counted once in BURST_S only; all that it has lost since is deducted.

        Args: size: number of all objects on the device; total: as that of `review`.
        """
        if self.held:
            return True
        if deletes + (recent := self._recent(now)) < LEAST:
            return False
        if now >= self._counted_until:
            self._counted, self._counted_until = (total(), size), now + BURST_S
        before = max(0, self._counted[0] - max(0, self._counted[1] - size))
        return is_mass(2 * deletes + recent, before + recent)

    def review(self, waiting: Set[Ref], counted: Set[Ref], *, total: Callable[[], int], now: float) -> None:
        """Decide which deletes are held back from now on.

        Once one is held back, every further delete is too, until a list confirms all of them.

        Args:
            waiting: all deletes that could be held back.
            counted: those of them that take something away from clients.
            total: counts all objects of these kinds on the device now.
        """
        table, held = self._table, set(self.held)
        released = {ref for ref in waiting if self.is_confirmed(ref)}
        waiting, confirmed = waiting - released, len(counted & released)
        if held.isdisjoint(waiting) and not self._begins(
                len(counted) - confirmed, lambda: total() - confirmed, now):
            waiting = frozenset()
        self.held_ever += len(waiting - held)
        for ref in waiting:
            if ref not in held or ref in table.queue:
                table.hold(ref, HoldReason.MASS_DELETE)
        table.let_go(held - waiting)
        self._date(now)

    def ask(self) -> None:
        """Record that a second list was asked for, which confirms what is held back now."""
        for ref in self.held:
            self._table.rows[ref].is_asked = True

    def confirm(self) -> None:
        """Let these deletes go ahead: the list has been taken over. The others are judged anew."""
        for ref in self.held:
            row = self._table.rows[ref]
            row.is_asked, row.is_confirmed = False, row.is_asked
        self._burst.clear()
        self._table.release(*LISTED)
        self.since = None

    def review_emptied(self, pools: Collection[Ref], total: int, now: float, *, of_nodes: bool) -> None:
        """Decide whether pools keep their members.

        Args:
            total: pools that have members.
            of_nodes: no Node at all is listed, so that each pool loses its members, however few there are.
        """
        if not self.allow and pools and (of_nodes or is_mass(len(pools), total)):
            self.lacks_nodes = of_nodes
            self._hold(pools, HoldReason.EMPTIED, now)

    def review_ways(self, ways: Collection[Ref], total: int, now: float) -> None:
        """Decide whether ways to pods stay: if all would go, or most of many. Args: total: ways there are."""
        if not self.allow and ways and (len(ways) == total or is_mass(len(ways), total)):
            self._hold(ways, HoldReason.WAY, now)

    def is_confirmed(self, ref: Ref) -> bool:
        """True for a delete that a second list has confirmed."""
        row = self._table.rows.get(ref)
        return row is not None and row.is_confirmed

    def note(self, change: AnyChange) -> None:
        """Count a confirmed write; confirmed deletes are left out."""
        if counts(change.obj) and not self.is_confirmed(change.ref):
            self._fewer += (change.verb == DELETE) - (change.verb == CREATE)

    def record_pass(self, now: float) -> None:
        """Record by how many a pass reduced the counted objects."""
        if self._fewer:
            self._burst.append((now, self._fewer))
        self._fewer = 0

    def _begins(self, deletes: int, total: Callable[[], int], now: float) -> bool:
        recent = self._recent(now)
        if not deletes or deletes + recent < LEAST:
            return False
        deletes, before = deletes + recent, total() + recent
        if not is_mass(deletes, before):
            return False
        self.figures = deletes, before
        return not self.allow

    def _recent(self, now: float) -> int:
        """Return how far the number of objects is below its highest in the burst."""
        while self._burst and self._burst[0][0] <= now - BURST_S:
            self._burst.popleft()
        fewer = most = 0
        for _, count in reversed(self._burst):
            fewer += count
            most = max(most, fewer)
        return most

    def _hold(self, refs: Iterable[Ref], reason: HoldReason, now: float) -> None:
        for ref in refs:
            self._table.hold(ref, reason)
        self._date(now)

    def _date(self, now: float) -> None:
        if not self.held and not self.emptied and not self.ways:
            self.since = None
        elif self.since is None:
            self.since = now


def holdable(refs: Iterable[Ref], desired: BigIPState, observed: BigIPState,
             is_served: Callable[[str, str], bool]) -> set[Ref]:
    """Return the deletes that can be held back: of objects of Routes, with all that they need.

    Previous objects of a Host that is served are left out: they may lead to another namespace's pods. A
    record that excepts a Host from a passthrough wildcard must not go before the wildcard, so it stays too.

    Args: is_served: True for a Host that an admitted Route has on a front end, which is given behind it.
    """
    going = {ref for ref in refs if ref not in desired and ref in observed}
    deletes = {ref for ref in going if _is_holdable(observed[ref], desired, observed, is_served)}
    needs = deletes
    while needs:
        needs = (ownership.stays_with(needs, observed) & going) - deletes
        deletes = deletes | needs
    return deletes


def counted(waiting: Set[Ref], observed: BigIPState) -> set[Ref]:
    """Return those of `holdable` deletes that take something away from clients."""
    leading = {ref for ref in waiting if _routes_requests(observed[ref])}
    return leading | {need for ref in leading for need in observed[ref].dependencies
                      if need.kind == Pool.KIND and need in waiting}


def total(observed: BigIPState, owns: Callable[[Object], bool]) -> int:
    """Count the objects of the kinds that count."""
    return sum(1 for obj in observed.values() if counts(obj) and owns(obj))


def counts(obj: Object) -> bool:
    """True for the kinds that count: objects that route requests for a Host, and pools."""
    return isinstance(obj, Pool) or _routes_requests(obj)


def _routes_requests(obj: Object) -> bool:
    return isinstance(obj, _COUNTED) and bool(hosts_of(obj, {})) and not (
        isinstance(obj, Record) and base_name(obj.group) == names.OWNER_GROUP)


def _is_holdable(obj: Object, desired: BigIPState, observed: BigIPState,
                 is_served: Callable[[str, str], bool]) -> bool:
    hosts, front_end = hosts_of(obj, observed), ownership.front_end(obj)
    served = any(is_served(host, front_end) for host in hosts)
    if isinstance(obj, Attachment):
        return bool(hosts) and not served
    if not isinstance(obj, _OF_ROUTES):
        return False
    if isinstance(obj, Record):
        if obj.data == names.EXCLUSION:
            return True
        if not hosts:  # TLS towards the pods of a pool
            return Ref(Pool.KIND, obj.name) not in desired
    return not served
