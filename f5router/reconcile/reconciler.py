"""One pass: from what changed in the cluster to writes on the BIG-IP and verdicts on Routes.

Two kinds of pass. A full one reads the device and compares everything: at the start, on a period,
and after anything that leaves doubt. Between them a pass looks only at what an event touched.
"""

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass, field, replace
from itertools import islice

from f5router.desired.engine import Engine
from f5router.icontrol.device import Device, Outcome
from f5router.model import names
from f5router.model.cluster import Delta, Key, Route
from f5router.model.errors import NO_RIGHT, UNCERTAIN_ERRORS, BigIPError, Unconfirmed, is_usable
from f5router.model.ltm import Object, Pool, Rule
from f5router.model.net import FDBRecord, StaticRoute
from f5router.model.objects import Ref
from f5router.network import static_routes, vxlan, vxlan_checks
from f5router.network.diagnostics import Findings
from f5router.plan.change import CREATE, DELETE, UPDATE, AnyChange, Change, Plan, Stage, stage
from f5router.plan.diff import diff
from f5router.plan.problems import Problem, grouped
from f5router.reconcile import delete_guard, retention
from f5router.reconcile.backlog import Backlog, hosts_of
from f5router.reconcile.delete_guard import DeleteGuard
from f5router.reconcile.undetermined import Undetermined
from f5router.status.condition import PENDING, Verdict

log = logging.getLogger(__name__)

DEVICE_REJECTED = "DeviceRejected"
RETRY_FIRST_S, RETRY_MOST_S = 5.0, 300.0

OVERTAKEN_AFTER = 3
"""Attempts without a usable reply after which less specific Rules wait for an object no longer."""

JUDGED_MOST = 1000
"""Routes at most that a pass judges besides those that it wrote something of."""

JUDGED_AT_ONCE = 100
"""Routes that are judged between two looks at endpoints."""

MEMBERS_OF_ONE = 2
"""Pools of a namespace whose members are written at once: others have room also when these writes hang."""

PATIENCE_S = 1.0
"""A pass waits for members that are being written, each for so long; then it goes on without that pool."""

_OF_NODES = (FDBRecord.KIND, StaticRoute.KIND)
"""Kinds of what each Node has on the device."""


@dataclass(slots=True)
class Failure:
    """An object that the device refused."""

    error: BigIPError
    attempts: int
    due: float
    """Monotonic seconds of the next attempt; infinite while it waits for another's."""
    blocked: bool = False
    """Not sent, because it needs an object that was refused."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a pass did. One that was to take only a part of the work leaves the rest to the next."""

    outcome: Outcome
    full: bool
    verdicts: dict[Key, Verdict]
    """Of the Routes that may have a new one; those not yet served have none."""
    warnings: dict[Key, tuple[str, ...]]
    """Of the same Routes."""
    left: dict[Key, Route] = field(default_factory=dict)
    """Routes that are served no longer, as they were last judged: deleted, or not selected any more."""


class Reconciler:
    """Joins the pure parts with the device; one thread uses it."""

    def __init__(self, engine: Engine, device: Device, *, folder: str, clock: Callable[[], float],
                 linger_s: float = 0.0, guard: DeleteGuard | None = None):
        """Args:
            linger_s: how long the old form of a Route stays that becomes passthrough.
            guard: a new one if None is given.
        """
        self.engine = engine
        self.guard = guard or DeleteGuard()
        self.device = device
        self._folder = folder
        self._clock = clock
        self.failures: dict[Ref, Failure] = {}
        self._withheld: set[Ref] = set()
        self._in_use: dict[Ref, BigIPError] = {}
        """Those of them that the device would not delete."""
        self._withheld_due = 0.0
        self._withheld_times = 0
        self._backlog = Backlog()
        """What may differ between Desired and Observed."""
        self._first_load: set[Ref] | None = None
        """What the first reading found to be written, and no pass has tried yet; None before it."""
        self._members: set[Ref] = set()
        """Pools that are there, and whose members may differ."""
        self._writing: dict[Ref, float] = {}
        """Pools whose members are being written, each with the time when that began."""
        self._overtaken: set[Ref] = set()
        """Those of them that have changed since."""
        self._recovered = False
        """Whether members were written that had been refused, since what waits for others was looked at."""
        self.patience_s = PATIENCE_S
        self._members_done: list[AnyChange] = []
        """What was written of them since the last report."""
        self._leaving: dict[Key, set[Ref]] = {}
        """Pools that are there and not wanted any more, by their Service, of which the name may be unknown:
        requests may still come to them."""
        self._touched: dict[Key, None] = {}
        """Routes to be judged."""
        self._again_for: set[Ref] = set()
        """Objects of which the books of refusals say something else since the last pass."""
        self._left: dict[Key, Route] = {}
        self._portion: set[Ref] = set()
        """What of the backlog the last Plan is about."""
        self._planned: set[Ref] = set()
        """What the Plan that is being carried out is about."""
        self._undetermined = Undetermined()
        self._waiting: frozenset[Ref] = frozenset()
        """Objects that were left out of the last Plan, until Secrets are read."""
        self._again = False
        """Whether another pass is due at once."""
        self._unfinished = False
        """Whether the last pass ended early: what it left is due."""
        self._linger_s = linger_s
        self._lingering: dict[Key, float] = {}
        """Routes whose old form stays, each until this time."""

    # --- the pass ------------------------------------------------------------------------

    def apply(self, delta: Delta) -> None:
        """Take changes of the cluster; cheap, writes nothing but members of pools."""
        before, unknown = self.engine.nodes_listed, self.engine.unknown()
        known = {key: self.engine.route(key) for key in {*delta.routes, *self.engine.undecided()}}
        services = self.engine.services_of(delta)
        for part in (replace(delta, routes={}), Delta(routes=delta.routes)):
            for _ in self.engine.apply_in_steps(part):
                self.device.calls.look()
            self._collect()
            self.device.calls.look()
        for key, old in known.items():
            new = self.engine.route(key)
            self._note_lingering(key, old, new)
            if new is not None:
                self._left.pop(key, None)
            elif old is not None:
                self._left[key] = old
        if self.engine.unknown() != unknown:
            self._withheld_due = 0.0  # what waits may do so for them
        self._collect(services)
        if self.engine.nodes_listed and not before:
            # What Nodes left behind can be told only now.
            self._queue(ref for ref in self.device.observed if ref.kind in _OF_NODES)

    def _collect(self, services: Iterable[Key] = ()) -> None:
        """Take from the engine what an event touched. Args: services: whose endpoints changed."""
        dirty, touched = self.engine.take()
        for service in services:
            for one in (service, Key(service.namespace, "")):
                self._members |= self._leaving.get(one, set())
        for ref in dirty:
            if self._is_there(ref):
                self._members.add(ref)
                self._note_leaving(ref)
        self._queue(ref for ref in dirty if not (self._is_there(ref) and ref in self.engine.objects))
        self._touched |= dict.fromkeys(touched)
        self._overtaken |= dirty & self._writing.keys()
        self._forgive(dirty, touched)

    def _is_there(self, ref: Ref) -> bool:
        """True for a pool of the device."""
        return ref.kind == Pool.KIND and ref in self.device.observed

    def _queue(self, refs: Iterable[Ref]) -> None:
        self._backlog.add(refs, self.engine.objects, self.device.observed)

    def _note_leaving(self, ref: Ref) -> None:
        """Remember a pool that is not wanted any more, until it is gone or wanted again."""
        found = names.pool_key(self._folder, ref.path)
        service = found[0] if found else Key(names.pool_namespace(ref.path), "")
        pools = self._leaving.setdefault(service, set())
        if ref in self.engine.objects or ref not in self.device.observed:
            pools.discard(ref)
        else:
            pools.add(ref)
        if not pools:
            del self._leaving[service]

    # --- members of pools that are there -------------------------------------------------

    def take_endpoints(self, delta: Delta) -> None:
        """Take changes of endpoints only; `program_members` writes them."""
        services = self.engine.services_of(delta)
        self.engine.apply_endpoints(delta)
        self._collect(services)

    def program_members(self, on_change: Callable[[AnyChange], None] = lambda change: None) -> bool:
        """Begin to write members of pools that are there, whatever else is under way, and take results.

        Pools refer to nothing, so that is right between any two writes of a Plan, or reads. A write that
        hangs holds up its own pool, and what needs it. Raises: BigIPError.

        Returns: whether a write is under way that does not hang.
        """
        self._take_members(on_change)
        changes = self._member_changes(self.device.calls.urgent_room())
        self._members.difference_update(change.ref for change in changes)
        for change in changes:
            self._writing[change.ref] = self._clock()
            if change.ref in self.failures:
                self.failures[change.ref].due = math.inf  # until it ends
        self.device.begin_updates(changes)
        return self._awaits_members()

    def _take_members(self, on_change: Callable[[AnyChange], None]) -> None:
        """Note what became of writes of members. Raises: BigIPError."""
        outcome, results = Outcome(), self.device.updated()
        refs = {change.ref for change, _ in results}
        try:
            self.device.settle_updates(results, lambda change: self._written(change, on_change), outcome)
        finally:
            # What is neither done nor refused stays to be done.
            done = {change.ref for change in outcome.done}
            unsettled = refs - done - outcome.failed.keys()
            self._members |= unsettled
            self._members_done += outcome.done
            self._again_for |= refs & (self.failures.keys() | outcome.failed.keys())
            self._record(outcome)
            for ref in refs:
                del self._writing[ref]
            for ref in done & self.failures.keys():
                del self.failures[ref]
                self._recovered = True
                self._queue({ref})  # its delete may have waited
            for ref in self.failures.keys() & (unsettled | refs & self._overtaken):
                self._try_at_once(ref)
            self._overtaken -= refs
            # A pool with a part of its members is enough for the Rules that wait for it.
            self._recovered = self._recovered or any(map(is_usable, outcome.failed.values()))


    def _awaits_members(self) -> bool:
        """True while members are being written, and not for too long."""
        return any(self._clock() < began + self.patience_s for began in self._writing.values())

    def _leave_hanging(self, on_change: Callable[[AnyChange], None]) -> None:
        """Wait until members are written, but not for a write that hangs: what needs its pool waits."""
        self._take_members(on_change)
        while self._awaits_members():
            self.device.calls.wait_for_urgent()
            self._take_members(on_change)
        for ref in self._writing:
            attempts = self.failures[ref].attempts if ref in self.failures else 0
            self.failures[ref] = Failure(Unconfirmed(text="no reply so far"), attempts, math.inf)

    def has_members(self) -> bool:
        """True if `program_members` may have something to begin."""
        return any(map(self._may_begin, self._members))

    def _may_begin(self, ref: Ref) -> bool:
        """True unless a pool is being written, or too many of its namespace are."""
        namespace = names.pool_namespace(ref.path)
        same = sum(names.pool_namespace(other.path) == namespace for other in self._writing)
        return ref not in self._writing and same < MEMBERS_OF_ONE

    def _is_held_up(self, ref: Ref) -> bool:
        """True for members that may not be written yet; the end of another write wakes the loop."""
        return ref in self._members and not self._may_begin(ref)

    def _goes_beside(self, change: AnyChange) -> bool:
        """True for members that are written beside a Plan, as their request hangs, or may do so again."""
        ref = change.ref
        if change.verb != UPDATE or ref.kind != Pool.KIND:
            return False
        failure = self.failures.get(ref)
        return not self._may_begin(ref) or (failure is not None and isinstance(failure.error, Unconfirmed))

    def _member_changes(self, most: int) -> list[AnyChange]:
        """A few Changes of pools that are there; not of those about which a request is under way."""
        changes: list[AnyChange] = []
        settled, spaces = [], Counter(names.pool_namespace(ref.path) for ref in self._writing)
        for ref in self._members:
            if len(changes) >= most:
                break
            there, namespace = self.device.observed.get(ref), names.pool_namespace(ref.path)
            under_way = self.device.is_in_flight(ref) or (ref in self.failures and ref in self._planned)
            if there is not None and (under_way or spaces[namespace] >= MEMBERS_OF_ONE):
                continue
            wanted = self._wanted_members(ref, there) if isinstance(there, Pool) else None
            done = wanted == there and ref not in self.device.unknown
            if wanted is None or done or self._waits(ref):
                settled.append(ref)
                continue
            spaces[namespace] += 1
            changes.append(Change(UPDATE, there, wanted))
        self._members.difference_update(settled)
        return changes

    def _wanted_members(self, ref: Ref, there: Pool) -> Pool:
        """A pool as it should be; one that nobody wants any more follows its pods as long as it is there."""
        if isinstance(wanted := self.engine.objects.get(ref), Pool):
            return wanted
        if (found := self.engine.pool(ref.path)) is not None:
            return replace(there, members=found.members)
        known = self.engine.addresses(names.pool_namespace(ref.path))
        return replace(there, members=frozenset(one for one in there.members if one.address in known))

    def _newest(self, change: AnyChange) -> AnyChange | None:
        """The Change of a pool with the members of now: events may have come since the Plan was made."""
        if change.verb == DELETE:
            return change
        if self._waits(change.ref):
            return None  # it was refused meanwhile
        there, wanted = self.device.observed.get(change.ref), self.engine.objects.get(change.ref, change.new)
        if there == wanted and change.ref not in self.device.unknown:
            return None
        return Change(UPDATE if there else CREATE, there, wanted)

    def _written(self, change: AnyChange, on_change: Callable[[AnyChange], None]) -> None:
        """Note a confirmed write."""
        if change.ref.kind == Pool.KIND:
            self._note_leaving(change.ref)
            if isinstance(change.new, Pool) and self._wanted_members(change.ref, change.new) != change.new:
                self._members.add(change.ref)  # its endpoints changed while it was written
        on_change(change)

    def _note_lingering(self, key: Key, old: Route | None, new: Route | None) -> None:
        if old and new and retention.becomes_passthrough(old, new):
            self._lingering[key] = self._clock() + self._linger_s
        elif key in self._lingering and (
                new is None or old is None or old.tls != new.tls or not retention.same_host(old, new)):
            del self._lingering[key]
            self._withheld_due = 0.0

    def _old_forms(self) -> set[Key]:
        """Routes that have just become passthrough, and are admitted as such."""
        return {key for key in self._lingering if self.engine.rejection(key) is None}

    def needs_observation(self) -> bool:
        """Whether the next pass must read the device first."""
        now = self._clock()
        return self.device.stale or any(
            failure.due <= now and ref not in self._backlog and not self._is_held_up(ref)
            for ref, failure in self.failures.items())

    def next_retry(self) -> float | None:
        """Monotonic time of the next attempt at what was refused or withheld, or left over by a pass."""
        times = [failure.due for ref, failure in self.failures.items()
                 if failure.due != math.inf and not self._is_held_up(ref)]
        if self._withheld:
            times.append(self._withheld_due)
        if self._again or self._unfinished or self.engine.checks.news or self._backlog or (
                self.has_members() or self._again_for or self._touched):
            times.append(-math.inf)
        return min(times, default=None)

    def plan(self, *, full: bool, most: int | None = None) -> Plan:
        """What is to be written now.

        Args:
            full: look everywhere.
            most: about so many objects of the backlog at most.
        """
        if full:
            self.engine.set_facts(self.device.facts)
        self._collect()
        if full:
            found = diff(self.engine.objects, self.device.observed, self._owns)
            self._start_over(found)
        also = self._withheld_now() | self._waiting
        self._hold_back(also)
        self._portion = (self._members | self._backlog.portion(
            self.engine.objects, self.device.observed, most, also - self.guard.held)) - self.guard.held
        self.device.calls.look()
        if not full or most is not None or self.guard.held:
            found = diff(self.engine.objects, self.device.observed, self._owns, self._portion)
            self.device.calls.look()
        unknown = self.engine.unknown()
        foreign = retention.foreign(self.engine, self.device.observed, unknown)
        self._undetermined = Undetermined.of(unknown, self.engine.objects, self.device.observed, foreign)
        found, self._waiting = self._undetermined.split(found, self.device.observed)
        return Plan(tuple(change for change in found
                          if not self._waits(change.ref) and not self._goes_beside(change)))

    def run(self, *, full: bool, most: int | None = None,
            on_change: Callable[[AnyChange], None] = lambda change: None) -> Report:
        """Plan and write.

        Args:
            full: compare everything; the caller has observed the device.
            most: see `plan`. What is left over then, or when the device was interrupted, is for the next one.
        Raises:
            BigIPError: the pass ended early; the next one must be full.
        """
        now, self._unfinished = self._clock(), True
        self._lingering = {key: end for key, end in self._lingering.items() if end > now}
        self._leave_hanging(on_change)
        plan = self.plan(full=full, most=most)
        self._backlog.remove(self._portion)
        try:
            outcome = self._carry_out(plan, on_change)
        except BaseException:
            self._put_back(self._portion)
            raise
        self._put_back(change.ref for change in outcome.not_sent)
        self.guard.note_done(sum(
            (change.verb == DELETE) - (change.verb == CREATE) for change in outcome.done
            if delete_guard.counts(change.obj) and not self.guard.is_confirmed(change.ref)), now)
        changed = self._note(outcome)
        while self.program_members(on_change):  # pools that go, and what came in since
            self.device.calls.wait_for_urgent()
        outcome.done += self._amend(on_change)
        # What needed them may be gone, or have changed, since the Plan was made. One pass more tells.
        self._again = not self._again and bool(outcome.done and self._waiting - self.engine.objects.keys())
        self._unfinished = False
        if outcome.done and self.device.facts.original.reencrypt and not self._backlog:
            self.device.stale = True  # what was there only until the original's Rules were ours goes now
        changed |= self._again_for
        self._again_for = set()
        outcome.done += self._members_done
        self._members_done = []
        self._first_load = {ref for ref in self._first_load or ()
                            if ref in self._backlog or ref in self._members}
        return self._report(outcome, changed, full=full)

    def _start_over(self, found: Plan) -> None:
        """Fill the backlog after a reading: with everything that differs, and nothing else."""
        self._backlog.clear()
        self._members = {change.ref for change in found if self._is_there(change.ref)}
        self._queue(change.ref for change in found if change.new is None or change.ref not in self._members)
        if self._first_load is None:
            self._first_load = {*self._backlog, *self._members}
            self._hold_members()
        self._leaving.clear()
        for ref in self._members:
            self._note_leaving(ref)

    def _hold_back(self, also: set[Ref]) -> None:
        """Take deletes out of the backlog that must be confirmed; put back those that need not be any more.

        Args: also: refs that are compared besides the backlog.
        """
        before, observed, desired = self.guard.held, self.device.observed, self.engine.objects
        waiting = self._holdable(also)
        self.guard.judge(waiting, delete_guard.counted(waiting, observed), now=self._clock(),
                         is_going=lambda ref: ref in observed and ref not in desired,
                         total=lambda: delete_guard.total(observed, self._owns))
        self._backlog.remove(self.guard.held)
        self._queue(before - self.guard.held)

    def _holdable(self, also: set[Ref]) -> set[Ref]:
        """Deletes that are due and can be held back. Args: see `_hold_back`."""
        desired, observed = self.engine.objects, self.device.observed
        refs = [ref for part in (self._backlog, also, self.guard.held) for ref in part if ref not in desired]
        if not refs:
            return set()
        unknown = self.engine.unknown()
        mine = {ref for ref in refs
                if ref in observed and ref not in unknown and self._owns(observed[ref])}
        return delete_guard.holdable(mine, desired, observed,
                                    lambda host: bool(self.engine.host_routes(host)))

    def confirm_deletes(self, confirmed: Set[Ref]) -> None:
        """Let deletes go ahead; what else is held back is judged anew.

        The caller has applied a complete list of the cluster that began when these were held back.
        """
        held, emptied = self.guard.held, self.guard.emptied
        self.guard.confirm(confirmed)
        self._queue(held)
        self._members |= emptied

    def _hold_members(self) -> None:
        """Keep members of pools that the first list of the cluster leaves without any, if they are many."""
        there = [pool for pool in self.device.observed.values()
                 if isinstance(pool, Pool) and pool.members and self._owns(pool)]
        emptied = []
        for pool in there:
            wanted = self._desired_pool(pool.ref)
            if wanted is not None and not wanted.members:
                emptied.append(pool.ref)
        self.guard.judge_emptied(emptied, len(there), self._clock())

    def _keeps_members(self, ref: Ref) -> bool:
        """True for a pool that would lose all members before a second list confirms that they are gone."""
        if ref not in self.guard.emptied:
            return False
        wanted = self._desired_pool(ref)
        return wanted is not None and not wanted.members

    def _desired_pool(self, ref: Ref) -> Pool | None:
        """A pool as it is wanted, or as it would be for those that still use it."""
        wanted = self.engine.objects.get(ref)
        return wanted if isinstance(wanted, Pool) else self.engine.pool(ref.path)

    def held_hosts(self, most: int) -> list[str]:
        """Some Hosts whose deletes are held back."""
        observed = self.device.observed
        hosts = (host for ref in sorted(self.guard.held) if ref in observed
                 for host in sorted(hosts_of(observed[ref], observed)))
        return list(islice(dict.fromkeys(hosts), most))

    def _carry_out(self, plan: Plan, on_change: Callable[[AnyChange], None]) -> Outcome:
        self._planned = planned = {change.ref for change in plan}
        waiting = {ref: failure.error for ref, failure in self.failures.items() if ref not in planned}
        outcome = Outcome()
        try:
            self.device.apply(
                plan,
                earlier_failures={ref: error for ref, error in waiting.items() if ref in self.engine.objects},
                deferred={*self._withheld, *waiting}, newest=self._newest, outcome=outcome,
                soon=lambda ref: ref not in self.failures or self.failures[ref].attempts < OVERTAKEN_AFTER,
                on_change=lambda change: self._written(change, on_change),
                should_retain=lambda outcome: retention.keeper(
                    self.engine, self.device.observed,
                    {*outcome.failed, *waiting, *self._undetermined.absent}, self._old_forms()),
            )
        except BaseException:
            # The next pass tries others first: so that it ends, one by one, for whom it is to blame.
            self._record(outcome)
            raise
        finally:
            self._planned = set()
        return outcome

    def _amend(self, on_change: Callable[[AnyChange], None]) -> list[AnyChange]:
        """Correct what stays because of a refusal; returns what was written.

        That is tried in every pass, but not where that would go on without end: an object waits for its turn
        if the last error of its write makes the next pass follow at once, with a reading.
        """
        staying = {*self.failures, *self._withheld, *self._waiting, *self.guard.held}
        waiting = {ref for ref, failure in self.failures.items()
                   if isinstance(failure.error, UNCERTAIN_ERRORS) and self._waits(ref)}
        plan = retention.amends(self.engine, self.device.observed, staying)
        changes = [change for change in plan
                   if change.ref not in waiting and not self._keeps_members(change.ref)]
        outcome = Outcome()
        try:
            self.device.apply(Plan(tuple(changes)),
                              on_change=on_change, outcome=outcome)
        finally:
            self._record(Outcome(failed={
                ref: error for ref, error in outcome.failed.items() if isinstance(error, UNCERTAIN_ERRORS)}))
        self._queue(change.ref for change in outcome.done if change.verb == CREATE)  # nobody wants it
        return outcome.done

    def _put_back(self, refs: Iterable[Ref]) -> None:
        self._backlog.put_back(refs, self.engine.objects, self.device.observed)

    @property
    def loaded(self) -> bool:
        """True once all that the first reading found to be written was tried, whatever has come in since."""
        return self._first_load is not None and not self._first_load

    def _report(self, outcome: Outcome, changed: set[Ref], *, full: bool) -> Report:
        """Judge the Routes that may have a new verdict: those with everything that they need behind them."""
        routes = self.engine.routes()
        if full:
            self._touched |= dict.fromkeys(routes)
        self._touched |= dict.fromkeys(self._routes_needing(changed))
        keys = self._settled_routes()
        left, self._left = self._left, {}
        verdicts, warnings = {}, {}
        for key in self._while_looking(keys):
            if (verdict := self.verdict(key)) is not None:
                verdicts[key] = verdict
            warnings[key] = self.engine.warnings(key)
        return Report(outcome, full, verdicts, warnings, left)

    def _while_looking(self, keys: Iterable[Key]) -> Iterator[Key]:
        """The same, with looks at endpoints in between."""
        for number, key in enumerate(keys, start=1):
            yield key
            if number % JUDGED_AT_ONCE == 0:
                self.device.calls.look()

    def _settled_routes(self) -> list[Key]:
        """Routes of the portion, and as many others as take no time; the rest is for the next pass."""
        hosts = self._hosts(self._portion)
        looked_at = dict.fromkeys(
            key for host in hosts for key in self.engine.keys_of(host) if key in self._touched)
        looked_at |= dict.fromkeys(islice(self._touched, JUDGED_MOST))
        settled = []
        for key in self._while_looking(looked_at):
            del self._touched[key]
            if key in self.engine.routes():
                if self._is_settled(key):
                    settled.append(key)
                else:
                    self._touched[key] = None  # behind the others
        return settled

    def _hosts(self, refs: Iterable[Ref]) -> set[str]:
        """Hosts of what leads requests, as it is wanted and as it is there."""
        states = (self.engine.objects, self.device.observed)
        return {host for ref in refs for state in states if ref in state
                for host in hosts_of(state[ref], state)}

    def _is_settled(self, key: Key) -> bool:
        """True if nothing that a Route needs is in the backlog."""
        return not self._backlog or self._backlog.isdisjoint(self.engine.closure(self.engine.uses(key)))

    # --- verdicts ------------------------------------------------------------------------

    def verdict(self, key: Key) -> Verdict | None:
        """What a Route's status should say; None while it is not yet known."""
        if rejection := self.engine.rejection(key):
            return Verdict(False, rejection.reason, rejection.message)
        if fault := self.engine.fault(key):
            return Verdict(False, DEVICE_REJECTED, fault)
        needed = self.engine.closure(self.engine.uses(key))
        if not self.device.unknown.isdisjoint(needed):
            return PENDING  # the last write may have been done
        if (ref := self._refused_part(needed)) is not None:
            error = self.failures[ref].error
            return PENDING if isinstance(error, Unconfirmed) else Verdict(
                False, DEVICE_REJECTED, f"{ref}: {error.text}")
        if not self._backlog.isdisjoint(needed):
            return None
        known = not self.engine.pending_secret(key) and not self.engine.pending(key)
        served = known and needed <= self.device.observed.keys()
        return Verdict(True) if served else None

    def _refused_part(self, needed: set[Ref]) -> Ref | None:
        """Of these objects one that was refused itself, not what needs it; None if none was."""
        failed = needed & self.failures.keys()
        return min(failed, key=lambda ref: (stage(self.engine.objects[ref]), ref), default=None)

    def unserved(self, *, written: bool = True) -> dict[Key, str]:
        """Admitted Routes that the device does not serve, with the reason.

        Args: written: False before a pass; then a Route that only waits for it is left out.
        """
        found = {}
        for key in self.engine.routes():
            verdict = self.verdict(key)
            if self.engine.pending(key):
                found[key] = "its certificates are not checked yet"
            elif secret := self.engine.pending_secret(key):
                found[key] = f"Secret {secret.key.name} is not read yet"
            elif verdict is None or verdict == PENDING:
                if written:
                    found[key] = "not yet programmed"
            elif not verdict.admitted and verdict.reason == DEVICE_REJECTED:
                found[key] = verdict.message
        return found

    def problems(self, *, written: bool = True) -> list[Problem]:
        """Why anything is not in place: refused objects, needed by a Route or not, and unserved Routes.

        Not the way to the pods, which `network_findings` has.

        Args: written: see `unserved`.
        """
        refused = self._refused_texts()
        unserved = self.unserved(written=written)
        for key in unserved:
            part = self._refused_part(self.engine.closure(self.engine.uses(key)))
            if part is not None:
                unserved[key] = refused.get(part, unserved[key])
        return grouped(refused, unserved, {ref for ref, failure in self.failures.items() if failure.blocked})

    def _refused_texts(self) -> dict[Ref, str]:
        """Refused objects with the cause, those first that others refer to.

        A right that is missing is one cause, whatever the objects on which it is.
        """
        errors = self._in_use | {ref: failure.error for ref, failure in self.failures.items()
                                 if ref.kind not in (*vxlan.KINDS, StaticRoute.KIND)}
        found, denied = {}, ""
        for ref in sorted(errors, key=lambda ref: (self._stage(ref), ref)):
            text = errors[ref].text if ref in self.engine.objects else f"not deleted: {errors[ref].text}"
            if errors[ref].code == NO_RIGHT:
                text = denied = denied or text
            found[ref] = text
        return found

    def _stage(self, ref: Ref) -> Stage:
        obj = self.engine.objects.get(ref) or self.device.observed.get(ref)
        return stage(obj) if obj is not None else Stage.POOL

    def foresee(self, plan: Plan) -> None:
        """Note the refusals of a Plan that are known beforehand, as if it had been carried out."""
        self._record(Outcome(failed=self.device.foresee(plan)))

    def network_findings(self) -> Findings:
        """What keeps the pods from being reached, besides pools: also what the device refused."""
        refused: dict[BigIPError, Ref] = {}
        ours = [ref for ref in self.failures if ref.kind in vxlan.KINDS]
        # What needs a refused object has the same error: the lowest is the one to tell of.
        for ref in sorted(ours, key=lambda ref: (vxlan.KINDS.index(ref.kind), ref)):
            refused.setdefault(self.failures[ref].error, ref)
        texts = tuple(vxlan_checks.refusal(ref, error) for error, ref in refused.items())
        routes = {ref: failure.error for ref, failure in self.failures.items()
                  if ref.kind == StaticRoute.KIND}
        return self.engine.network_findings() + Findings(texts) + static_routes.refusals(routes)

    def _routes_needing(self, refs: set[Ref]) -> set[Key]:
        """Routes whose verdict these objects have a part in."""
        if not refs:
            return set()
        if all(ref.kind == Rule.KIND for ref in refs):  # nothing but what is of the same Host needs it
            return {key for host in self._hosts(refs) for key in self.engine.keys_of(host)}
        return {key for key in self.engine.routes()
                if not refs.isdisjoint(self.engine.closure(self.engine.uses(key)))}

    # --- refusals ------------------------------------------------------------------------

    def _owns(self, obj: Object) -> bool:
        if obj.KIND in _OF_NODES and not self.engine.nodes_listed:
            return False
        return names.owns(self._folder, obj)

    def _waits(self, ref: Ref) -> bool:
        """Whether it is too early to try an object again, or what it waits for, or to empty a pool."""
        if self._keeps_members(ref):
            return True
        failure, now = self.failures.get(ref), self._clock()
        if failure is None or not failure.blocked:
            return failure is not None and failure.due > now
        others = (self.failures.get(need) for need in self.engine.closure({ref}))
        return any(other is not None and not other.blocked and other.due > now and not is_usable(other.error)
                   for other in others)

    def _forgive(self, dirty: set[Ref], touched: set[Key]) -> None:
        """What a team changed is tried at once, not when its back-off ends."""
        if not self.failures:
            return
        dirty = dirty | self.engine.closure(ref for key in touched for ref in self.engine.uses(key))
        forgiven = dirty & self.failures.keys() - self._writing.keys()
        for ref in forgiven:
            self._try_at_once(ref)

    def _try_at_once(self, ref: Ref) -> None:
        """End the back-off of an object."""
        self.failures[ref].due = 0.0
        self._queue({ref})
        if self._is_there(ref):
            self._members.add(ref)

    def _withheld_now(self) -> set[Ref]:
        return self._withheld if self._withheld_due <= self._clock() else set()

    def _note(self, outcome: Outcome) -> set[Ref]:
        """Keep the books of refusals; returns the objects of which they say something else now."""
        now = self._clock()
        before = {ref: (failure.blocked, str(failure.error)) for ref, failure in self.failures.items()}
        self._record(outcome)
        # A delete that is withheld has a back-off as such.
        waiting = self._waiting | {change.ref for change in outcome.deferred_deletes}
        for ref in self.failures.keys() - outcome.failed.keys():
            if ref in waiting or self.engine.objects.get(ref) == self.device.observed.get(ref):
                del self.failures[ref]
        recovered = self._recovered or any(not before[ref][0] for ref in before.keys() - self.failures.keys())
        self._recovered = False
        self._release(now, recovered=recovered)
        self._note_withheld(outcome, now, recovered=recovered)
        after = {ref: (failure.blocked, str(failure.error)) for ref, failure in self.failures.items()}
        return {ref for ref, _ in before.items() ^ after.items()}

    def try_again(self) -> None:
        """Let everything be tried at once whose last write left it in doubt."""
        for failure in self.failures.values():
            if isinstance(failure.error, UNCERTAIN_ERRORS):
                failure.due = self._clock()

    def _record(self, outcome: Outcome) -> None:
        """Note what was refused, and when it is tried again."""
        for ref, error in outcome.failed.items():
            attempts = self.failures[ref].attempts + 1 if ref in self.failures else 1
            delay = min(RETRY_MOST_S, RETRY_FIRST_S * 2 ** (attempts - 1))
            blocked = ref in outcome.blocked
            due = math.inf if blocked else self._clock() + delay
            self.failures[ref] = Failure(error, attempts, due, blocked)

    def _release(self, now: float, *, recovered: bool) -> None:
        """Try what waited for others when one of these recovered; see that nothing waits for ever."""
        alone = all(failure.blocked for failure in self.failures.values())
        for failure in self.failures.values():
            if failure.blocked and recovered:
                failure.due = now
            elif failure.blocked and (alone or failure.due <= now):
                failure.due = now + RETRY_FIRST_S if alone else math.inf

    def _note_withheld(self, outcome: Outcome, now: float, *, recovered: bool) -> None:
        waited = {change.ref for change in outcome.deferred_deletes}
        ended = {change.ref for change in outcome.done} | outcome.failed.keys()
        kept = (self._withheld - ended) | waited
        self._withheld = {ref for ref in kept
                          if ref not in self.engine.objects and ref in self.device.observed}
        refused = {ref: error for ref, error in self._in_use.items() if ref not in ended} | outcome.in_use
        self._in_use = {ref: error for ref, error in refused.items() if ref in self._withheld}
        if not self._withheld:
            self._withheld_times = 0
        elif recovered:
            self._withheld_due = now
        elif waited or self._withheld_due <= now:
            delay = min(RETRY_MOST_S, RETRY_FIRST_S * 2**self._withheld_times)
            self._withheld_times, self._withheld_due = self._withheld_times + 1, now + delay
