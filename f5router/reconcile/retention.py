"""Decides what may not be deleted, or touched, yet: one object for each reason to wait.

- DeferredDeletes: the device still uses the object, or the object serves while its successor is refused.
- Draining: the Route has just become passthrough.
- Undetermined: a Secret that decides about the object, or the source that it belongs to, is not read yet.
- DeleteGuard: the deletes are so many that a second list of the cluster must confirm them.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Set
from itertools import islice

from f5router.desired import baseline
from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.icontrol.outcome import RetentionTest
from f5router.model import ownership
from f5router.model.cluster import Key, Route
from f5router.model.errors import BigIPError
from f5router.model.ltm import Object, Pool, Rule
from f5router.model.net import FDBRecord, StaticRoute
from f5router.model.objects import Ref
from f5router.plan.change import DELETE, Change, Plan, of_kind
from f5router.plan.diff import with_early_deletes
from f5router.plan.rule_order import leaves
from f5router.reconcile import delete_guard, previous_objects
from f5router.reconcile.backlog import hosts_of
from f5router.reconcile.delete_guard import DeleteGuard
from f5router.reconcile.hold import Hold, HoldReason
from f5router.reconcile.host_owners import HostOwners
from f5router.reconcile.placeholders import is_placeholder, with_placeholders
from f5router.reconcile.table import BACKOFF
from f5router.reconcile.undetermined import Undetermined
from f5router.reconcile.unread_sources import UnreadSources

OF_NODES = (FDBRecord.KIND, StaticRoute.KIND)
"""Kinds of the objects that the device has for each Node."""


class DeferredDeletes:
    """Deletes that wait, with one back-off for all of them."""

    def __init__(self) -> None:
        self.refs: set[Ref] = set()
        self.in_use: Mapping[Ref, BigIPError] = {}
        """Those that the device refused, with its words."""
        self._due = 0.0
        self._attempts = 0

    def due(self, now: float) -> set[Ref]:
        """Return the deletes to try now."""
        return self.refs if self._due <= now else set()

    def next_due(self) -> float | None:
        """Return when they are tried again; None if there are none."""
        return self._due if self.refs else None

    def retry(self) -> None:
        """Let them be tried at once."""
        self._due = 0.0

    def record(self, deferred: Set[Ref], ended: Set[Ref], in_use: Mapping[Ref, BigIPError], now: float, *,
               is_going: Callable[[Ref], bool], recovered: bool) -> None:
        """Record what a pass did about deletes.

        Args:
            deferred: deletes of the pass that wait.
            ended: objects that the pass wrote or that were refused.
            in_use: those of `deferred` that the device refused.
            is_going: True for an object that is on the device and not wanted.
            recovered: True if a refused object recovered: its previous objects may go.
        """
        self.refs = {ref for ref in (self.refs - ended) | deferred if is_going(ref)}
        refused = {ref: error for ref, error in self.in_use.items() if ref not in ended} | dict(in_use)
        self.in_use = {ref: error for ref, error in refused.items() if ref in self.refs}
        if not self.refs:
            self._attempts = 0
        elif recovered:
            self._due = now
        elif deferred or self._due <= now:
            self._attempts += 1
            self._due = now + BACKOFF.delay_s(self._attempts)


class Draining:
    """Routes that have become passthrough: connections whose TLS the BIG-IP has ended already stay served."""

    def __init__(self, drain_s: float):
        """Args: drain_s: how long the previous objects of such a Route stay."""
        self._drain_s = drain_s
        self._ends: dict[Key, float] = {}

    def note(self, key: Key, old: Route | None, new: Route | None, now: float) -> bool:
        """Take a Route before and after an event; returns True if its draining has ended early."""
        if old and new and previous_objects.becomes_passthrough(old, new):
            self._ends[key] = now + self._drain_s
        elif key in self._ends and (
                new is None or old is None or old.tls != new.tls or not previous_objects.same_host(old, new)):
            del self._ends[key]
            return True
        return False

    def expire(self, now: float) -> None:
        """Drop the Routes whose time is over."""
        self._ends = {key: end for key, end in self._ends.items() if end > now}

    def routes(self) -> Collection[Key]:
        """Return the Routes that drain."""
        return self._ends.keys()


class Retention:
    """Joins these reasons, for one engine and one device."""

    def __init__(self, engine: Engine, device: Device, *, folder: str,
                 guard: DeleteGuard, drain_s: float):
        self._engine, self._device, self._folder = engine, device, folder
        self.guard = guard
        self.deferred = DeferredDeletes()
        self.draining = Draining(drain_s)
        self.awaiting_secret: frozenset[Ref] = frozenset()
        """Objects that were left out of the last Plan, until Secrets or sources are read."""
        self.of_unread: frozenset[Ref] = frozenset()
        """Those of them whose source is not read."""
        self._undetermined = Undetermined()
        self._unread = UnreadSources(engine)

    @property
    def unread_kinds(self) -> frozenset[str]:
        """Kinds that are not known, if objects stay for that."""
        cluster = self._engine.cluster
        kinds = cluster.sources_unread | {kind for kind, _ in cluster.undecided}
        return kinds if self.of_unread else frozenset()

    @property
    def unread_problem(self) -> str:
        """Text about the objects that stay for kinds which cannot be read; "" if none does."""
        if not self.of_unread:
            return ""
        kinds = " and ".join(
            f"{kind}{'es' if kind.endswith('s') else 's'}" for kind in sorted(self.unread_kinds))
        return (f"{len(self.of_unread)} objects of the BIG-IP stay although nothing known wants them: they "
                f"may serve {kinds}, which cannot be read")

    def owns(self, obj: Object) -> bool:
        """True for an object that this router may delete if it is not wanted."""
        if obj.KIND in OF_NODES and not self._engine.cluster.nodes_listed:
            return False
        if isinstance(obj, StaticRoute) and self._engine.ways.may_stay(obj):
            return False
        return ownership.owns(self._folder, obj)

    def is_going(self, ref: Ref) -> bool:
        """True for an object that is on the device and not wanted."""
        return ref not in self._engine.objects and ref in self._device.observed

    # --- deletes that wait for Secrets, refusals or connections -----------------------------

    def determine(self, plan: Plan) -> Plan:
        """Return the Changes of a Plan that wait for nothing to be read; the others are `awaiting_secret`."""
        observed = self._device.observed
        self.of_unread = self._unread.held(
            observed, (change.ref for change in plan if change.verb == DELETE))
        undetermined = self._engine.undetermined() | self.of_unread
        foreign = previous_objects.foreign_objects(self._engine, observed, undetermined)
        self._undetermined = Undetermined.of(undetermined, self._engine.objects, observed, foreign,
                                             waiting=self._unread.lacks_owners(observed, plan))
        possible, self.awaiting_secret = self._undetermined.split(plan, observed)
        if not self.awaiting_secret:
            return possible
        # A Rule whose update waits may have lost its Host to another namespace.
        owners = HostOwners(self._engine)
        lost = [Change(DELETE, change.old, None) for change in of_kind(plan, Rule)
                if change.ref in self.awaiting_secret and change.old is not None and leaves(change)
                and (is_placeholder(change.old) or owners.serves_foreign_namespace(change.old))]
        nowhere = baseline.nowhere(self._folder, self._device.facts)
        possible = with_placeholders(plan, self.awaiting_secret, self._engine, observed, nowhere)
        return with_early_deletes(possible, lost)

    def should_retain(self, failed: Collection[Ref]) -> RetentionTest:
        """Return the function that decides which previous objects stay. Args: failed: refused objects."""
        draining = {key for key in self.draining.routes() if self._engine.rejection(key) is None}
        return previous_objects.should_retain(
            self._engine, self._device.observed, {*failed, *self._undetermined.absent}, draining)

    def corrections(self, failed: Collection[Ref]) -> Plan:
        """Return the Changes of objects that stay which cannot wait. Args: failed: refused objects."""
        staying = {*failed, *self.deferred.refs, *self.awaiting_secret, *self.guard.held}
        return previous_objects.corrections(self._engine, self._device.observed, staying)

    # --- deletes and members that a second list must confirm ---------------------------------

    def hold_deletes(self, due: Iterable[Ref], now: float) -> frozenset[Ref]:
        """Decide which deletes must be confirmed; returns those that need not be any more.

        Args: due: objects that are compared now.
        """
        before, desired, observed = self.guard.held, self._engine.objects, self._device.observed
        refs = [ref for ref in (*due, *before) if ref not in desired]
        holdable: set[Ref] = set()
        if refs:
            undetermined = self._engine.undetermined() | self._unread.held(observed, refs)
            mine = {ref for ref in refs
                    if ref in observed and ref not in undetermined and self.owns(observed[ref])}
            holdable = delete_guard.holdable(mine, desired, observed,
                                             lambda host: bool(self._engine.host_routes(host)))
        self.guard.review(holdable, delete_guard.counted(holdable, observed), now=now, is_going=self.is_going,
                         total=lambda: delete_guard.total(observed, self.owns))
        return before - self.guard.held

    def keep_pods(self) -> None:
        """Let pools keep their pods that would lose all members by the settings, not by what became of these.
        """
        if not self.guard.allow:
            self._engine.keep_pods({
                pool.path: pool.members for pool in self._device.observed.values()
                if isinstance(pool, Pool) and pool.members and self._loses_all(pool.ref)})

    def _loses_all(self, ref: Ref) -> bool:
        wanted = self._engine.objects.get(ref)
        return isinstance(wanted, Pool) and not wanted.members

    def hold_members(self, now: float) -> None:
        """Keep the members of pools to which the first list of the cluster leaves none, if they are many."""
        pools = [pool for pool in self._device.observed.values()
                 if isinstance(pool, Pool) and pool.members and self.owns(pool)]
        emptied = [pool.ref for pool in pools if self._is_emptied(pool.ref)]
        self.guard.review_emptied(emptied, len(pools), now, of_nodes=self._engine.cluster.lacks_nodes)

    def hold_ways(self, now: float) -> None:
        """Keep the ways to the pods of Nodes that the first list of the cluster lacks, if these are many."""
        ways = [obj for obj in self._device.observed.values() if obj.KIND in OF_NODES and self.owns(obj)]
        self.guard.review_ways([obj.ref for obj in ways if self.is_going(obj.ref)], len(ways), now)

    def hold_emptied(self, ref: Ref) -> Hold | None:
        """Hold a pool that would lose all members, or a way that would go, until a second list confirms it.
        """
        held = (ref in self.guard.emptied | self.guard.held and self._is_emptied(ref)) or (
            ref in self.guard.ways and self.is_going(ref))
        return Hold(HoldReason.UNCONFIRMED, math.inf) if held else None

    def _is_emptied(self, ref: Ref) -> bool:
        """True for a pool that shall have no members, wanted or still used."""
        pool = self._engine.objects.get(ref) or self._device.observed.get(ref)
        return isinstance(pool, Pool) and not self._engine.members(pool)

    def held_hosts(self, most: int) -> list[str]:
        """Return some Hosts whose deletes must be confirmed."""
        observed = self._device.observed
        hosts = (host for ref in sorted(self.guard.held) if ref in observed
                 for host in sorted(hosts_of(observed[ref], observed)))
        return list(islice(dict.fromkeys(hosts), most))
