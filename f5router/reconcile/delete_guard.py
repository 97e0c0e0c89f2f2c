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

from collections import deque
from collections.abc import Callable, Collection, Iterable, Set

from f5router.model import names, ownership
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

BURST_S = 60.0
"""Deletes within this time count together."""

_OF_ROUTES = (Rule, Record, ClientSSL, ServerSSL, CertFile, KeyFile, Pool)
_COUNTED = (Rule, Record, ClientSSL)


class DeleteGuard:
    """The deletes that are held back; one thread uses it, others may read the counts."""

    def __init__(self, *, allow: bool = False):
        """Args: allow: hold nothing back."""
        self.allow = allow
        self.held: frozenset[Ref] = frozenset()
        """Deletes that wait for a confirmation, counted or not."""
        self.emptied: frozenset[Ref] = frozenset()
        """Pools that keep their members, although the first list has none, until that is confirmed."""
        self.lacks_nodes = False
        """True if they keep Nodes, of which none is listed."""
        self.ways: frozenset[Ref] = frozenset()
        """FDB records and static routes that stay, although the first list has no Node for them, likewise."""
        self.kept: frozenset[Ref] = frozenset()
        """Pools that keep their pods although the settings leave them no member; no list confirms that."""
        self.since: float | None = None
        """Monotonic seconds when the first of both was held back; None if nothing is."""
        self.figures = (0, 0)
        """Deletes, and objects before them, at the last mass delete."""
        self.held_ever = 0
        """Deletes that were held back since the start."""
        self._confirmed: set[Ref] = set()
        """Deletes that may go ahead."""
        self._burst: deque[tuple[float, int]] = deque()
        """Time of passes, and how many more objects they deleted than they created."""

    def review(self, waiting: Set[Ref], counted: Set[Ref], *, is_going: Callable[[Ref], bool],
              total: Callable[[], int], now: float) -> None:
        """Decide which deletes are held back from now on.

        Once one is held back, every further delete is too, until a list confirms all of them.

        Args:
            waiting: all deletes that could be held back.
            counted: those of them that take something away from clients.
            is_going: True for an object that is on the device and not wanted.
            total: counts all objects of these kinds on the device now.
        """
        self._confirmed = set(filter(is_going, self._confirmed))
        waiting, confirmed = waiting - self._confirmed, len(counted & self._confirmed)
        if self.held.isdisjoint(waiting) and not self._begins(
                len(counted) - confirmed, lambda: total() - confirmed, now):
            waiting = frozenset()
        self.held_ever += len(waiting - self.held)
        self.held = frozenset(waiting)
        self._date(now)

    def confirm(self, waiting: Set[Ref]) -> None:
        """Let these deletes go ahead: a complete list that began after `since` has been taken over."""
        self._confirmed |= waiting
        self._burst.clear()
        self.held, self.emptied, self.ways, self.since = frozenset(), frozenset(), frozenset(), None

    def review_emptied(self, pools: Collection[Ref], total: int, now: float, *, of_nodes: bool) -> None:
        """Decide whether pools keep their members.

        Args:
            total: pools that have members.
            of_nodes: no Node at all is listed, so that each pool loses its members, however few there are.
        """
        if not self.allow and pools and (of_nodes or is_mass(len(pools), total)):
            self.emptied, self.lacks_nodes = frozenset(pools), of_nodes
            self._date(now)

    def review_ways(self, ways: Collection[Ref], total: int, now: float) -> None:
        """Decide whether ways to pods stay: if all would go, or most of many. Args: total: ways there are."""
        if not self.allow and ways and (len(ways) == total or is_mass(len(ways), total)):
            self.ways = frozenset(ways)
            self._date(now)

    def is_confirmed(self, ref: Ref) -> bool:
        """True for a delete that a second list has confirmed."""
        return ref in self._confirmed

    def record_pass(self, done: Iterable[AnyChange], now: float) -> None:
        """Record by how many a pass reduced the counted objects; confirmed deletes are left out."""
        fewer = sum((change.verb == DELETE) - (change.verb == CREATE) for change in done
                    if counts(change.obj) and not self.is_confirmed(change.ref))
        if fewer:
            self._burst.append((now, fewer))

    def _begins(self, deletes: int, total: Callable[[], int], now: float) -> bool:
        while self._burst and self._burst[0][0] <= now - BURST_S:
            self._burst.popleft()
        recent = self._recent()
        if not deletes or deletes + recent < LEAST:
            return False
        deletes, before = deletes + recent, total() + recent
        if not is_mass(deletes, before):
            return False
        self.figures = deletes, before
        return not self.allow

    def _recent(self) -> int:
        """Return how far the number of objects is below its highest in the burst."""
        fewer = most = 0
        for _, count in reversed(self._burst):
            fewer += count
            most = max(most, fewer)
        return most

    def _date(self, now: float) -> None:
        if not self.held and not self.emptied and not self.ways:
            self.since = None
        elif self.since is None:
            self.since = now


def holdable(refs: Iterable[Ref], desired: BigIPState, observed: BigIPState,
             is_served: Callable[[str], bool]) -> set[Ref]:
    """Return the deletes that can be held back: of objects of Routes, with all that they need.

    Previous objects of a Host that is served are left out: they may lead to another namespace's pods. A
    record that excepts a Host from a passthrough wildcard must not go before the wildcard, so it stays too.

    Args: is_served: True for a Host that an admitted Route has.
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
        isinstance(obj, Record) and obj.group.endswith(names.OWNER_GROUP))


def _is_holdable(obj: Object, desired: BigIPState, observed: BigIPState,
                 is_served: Callable[[str], bool]) -> bool:
    hosts = hosts_of(obj, observed)
    if isinstance(obj, Attachment):
        return bool(hosts) and not any(map(is_served, hosts))
    if not isinstance(obj, _OF_ROUTES):
        return False
    if isinstance(obj, Record):
        if obj.data == names.EXCLUSION:
            return True
        if not hosts:  # TLS towards the pods of a pool
            return Ref(Pool.KIND, obj.name) not in desired
    return not any(map(is_served, hosts))
