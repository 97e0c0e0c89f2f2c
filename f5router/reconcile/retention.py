"""Decides what may not be deleted, or touched, yet, and why; the table of rows keeps it."""

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from f5router.desired import baseline
from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.model import ownership
from f5router.model.cluster import Key, Route
from f5router.model.errors import UNCERTAIN_ERRORS
from f5router.model.ltm import Object, Pool, Rule
from f5router.model.net import FDBRecord, StaticRoute
from f5router.model.objects import Ref
from f5router.plan.change import DELETE, Change, Plan, of_kind
from f5router.plan.diff import with_early_deletes
from f5router.plan.rule_order import leaves
from f5router.reconcile import delete_guard, previous_objects, unread_certificates
from f5router.reconcile.backlog import hosts_of
from f5router.reconcile.delete_guard import DeleteGuard
from f5router.reconcile.host_owners import HostOwners
from f5router.reconcile.placeholders import is_placeholder, with_placeholders
from f5router.reconcile.rollout import RetentionTest
from f5router.reconcile.row import UNREAD, HoldReason, RowState
from f5router.reconcile.table import Table
from f5router.reconcile.undetermined import Undetermined
from f5router.reconcile.unread_sources import UnreadSources

OF_NODES = (FDBRecord.KIND, StaticRoute.KIND)
"""Kinds of the objects that the device has for each Node."""


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

    def next_end(self) -> float:
        """Return when the time of the next Route is over; infinite if none drains."""
        return min(self._ends.values(), default=math.inf)


@dataclass(frozen=True, slots=True)
class Determined:
    """A Plan, sorted by what is known."""

    plan: Plan
    """The Changes that may be made."""
    waiting: Mapping[Ref, HoldReason] = field(default_factory=dict)
    """The objects of the others, and why they wait. If one is in `plan`, this is another Change of it."""
    absent: frozenset[Ref] = frozenset()
    """Objects that are neither wanted so far, nor there: what needs them waits, as do its predecessors."""


class Retention:
    """Joins these reasons, for one engine and one device."""

    def __init__(self, engine: Engine, device: Device, table: Table, *, folder: str,
                 guard: DeleteGuard, drain_s: float):
        self._engine, self._device, self._table, self._folder = engine, device, table, folder
        self.guard = guard
        self.draining = Draining(drain_s)
        self._unread = UnreadSources(engine)

    @property
    def of_unread(self) -> Collection[Ref]:
        """Objects that stay as their source is not read."""
        return self._table.held[HoldReason.SOURCE].keys()

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

    def undetermined(self) -> object:
        """Return what decides which objects wait for a Secret, to be compared."""
        return self._engine.undetermined(), self._engine.front_ends.unread

    def determine(self, plan: Plan) -> Determined:
        """Take out the Changes of a Plan that wait for something to be read."""
        observed = self._device.observed
        deletes = [change.ref for change in plan if change.verb == DELETE]
        of_unread = self._unread.held(observed, deletes)
        unknown = self._engine.undetermined() | of_unread | unread_certificates.held(
            self._engine, observed, deletes)
        foreign = previous_objects.foreign_objects(self._engine, observed, unknown)
        undetermined = Undetermined.of(unknown, self._engine.objects, observed, foreign,
                                       waiting=self._unread.lacks_owners(observed, plan))
        possible, held = undetermined.split(plan, observed)
        if not held:
            return Determined(possible, absent=undetermined.absent)
        # A Rule whose update waits may have lost its Host to another namespace.
        owners = HostOwners(self._engine)
        lost = [Change(DELETE, change.old, None) for change in of_kind(plan, Rule)
                if change.ref in held and change.old is not None and leaves(change)
                and (is_placeholder(change.old) or owners.serves_foreign_namespace(change.old))]
        nowhere = baseline.nowhere(self._folder, self._device.facts)
        possible = with_placeholders(plan, held, self._engine, observed, nowhere)
        waiting = {ref: HoldReason.SOURCE if ref in of_unread else HoldReason.SECRET for ref in held}
        return Determined(with_early_deletes(possible, lost), waiting, undetermined.absent)

    def unread(self) -> Collection[Ref]:
        """Return the objects that wait for something to be read: each Plan examines them again."""
        return [ref for ref in self._table.held_for(*UNREAD) if self._table.is_asleep(ref)]

    def should_retain(self, failed: Collection[Ref]) -> RetentionTest:
        """Return the function that decides which previous objects stay.

        Args: failed: objects that were refused, or are not known yet.
        """
        draining = {key for key in self.draining.routes() if self._engine.rejection(key) is None}
        return previous_objects.should_retain(self._engine, self._device.observed, {*failed}, draining)

    def staying(self) -> set[Ref]:
        """Return the objects that were refused, or are held."""
        return {*self._table.failures, *self._table.held_for(*HoldReason)}

    def corrections(self) -> Plan:
        """Return the Changes of objects that stay which cannot wait; pools follow their pods anyway.

        An object waits for its turn if the last error of its write makes a reading follow at once.
        """
        rows = self._table.rows
        changes = previous_objects.corrections(self._engine, self._device.observed, self.staying())
        return tuple(change for change in changes if (row := rows.get(change.ref)) is None or not (
            row.state in (RowState.DUE, RowState.SENT) or isinstance(row.error, UNCERTAIN_ERRORS)))

    # --- deletes and members that a second list must confirm ---------------------------------

    def hold_deletes(self, due: Iterable[Ref], now: float) -> None:
        """Decide which deletes must be confirmed, and make those due that need not be any more.

        Args: due: objects that are compared now.
        """
        desired, observed = self._engine.objects, self._device.observed
        refs = [ref for ref in {*due, *self.guard.held} if ref not in desired]
        holdable: set[Ref] = set()
        if self.guard.may_hold(len(refs), len(observed), now=now,
                               total=lambda: delete_guard.total(observed, self.owns)):
            undetermined = self._engine.undetermined() | self._unread.held(observed, refs) | (
                unread_certificates.held(self._engine, observed, refs))
            mine = {ref for ref in refs
                    if ref in observed and ref not in undetermined and self.owns(observed[ref])}
            holdable = delete_guard.holdable(mine, desired, observed,
                                             lambda *site: bool(self._engine.host_routes(*site)))
        self.guard.review(holdable, delete_guard.counted(holdable, observed), now=now,
                         total=lambda: delete_guard.total(observed, self.owns))

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

    def is_unconfirmed(self, ref: Ref) -> bool:
        """True for a pool that would lose all members, or a way that would go, before that is confirmed."""
        row = self._table.rows.get(ref)
        if row is None or row.hold is None:
            return False
        if row.hold is HoldReason.WAY:
            return self.is_going(ref)
        return row.hold in (HoldReason.EMPTIED, HoldReason.MASS_DELETE) and self._is_emptied(ref)

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
