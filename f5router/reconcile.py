"""One pass: from what changed in the cluster to writes on the BIG-IP and verdicts on Routes.

Two kinds of pass. A full one reads the device and compares everything: at the start, on a period,
and after anything that leaves doubt. Between them a pass looks only at what an event touched.
"""

import logging
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from f5router import names, oldforms, podroutes, vxlan, vxlan_checks
from f5router.bigip import FDBRecord, Object, Ref, StaticRoute
from f5router.cluster import Delta, Key, Route
from f5router.errors import BigIPError
from f5router.findings import Findings
from f5router.icontrol.device import Device, Outcome
from f5router.incremental import Engine
from f5router.plan import CREATE, Change, Plan, Unknown, diff, level
from f5router.status import Verdict

log = logging.getLogger(__name__)

DEVICE_REJECTED = "DeviceRejected"
RETRY_FIRST_S, RETRY_MOST_S = 5.0, 300.0

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
    """What a pass did."""

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
                 linger_s: float = 0.0):
        """Args: linger_s: how long the old form of a Route stays that becomes passthrough."""
        self.engine = engine
        self.device = device
        self._folder = folder
        self._clock = clock
        self.failures: dict[Ref, Failure] = {}
        self._withheld: set[Ref] = set()
        self._withheld_due = 0.0
        self._withheld_times = 0
        self._dirty: set[Ref] = set()
        self._touched: set[Key] = set()
        self._left: dict[Key, Route] = {}
        self._unknown = Unknown()
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
        """Take changes of the cluster; cheap, writes nothing."""
        before, unknown = self.engine.nodes_listed, self.engine.unknown()
        known = {key: self.engine.route(key) for key in {*delta.routes, *self.engine.undecided()}}
        self.engine.apply(delta)
        for key, old in known.items():
            new = self.engine.route(key)
            self._note_lingering(key, old, new)
            if new is not None:
                self._left.pop(key, None)
            elif old is not None:
                self._left[key] = old
        if self.engine.unknown() != unknown:
            self._withheld_due = 0.0  # what waits may do so for them
        if self.engine.nodes_listed and not before:
            # What Nodes left behind can be told only now.
            self._dirty |= {ref for ref in self.device.observed if ref.kind in _OF_NODES}

    def _note_lingering(self, key: Key, old: Route | None, new: Route | None) -> None:
        if old and new and oldforms.becomes_passthrough(old, new):
            self._lingering[key] = self._clock() + self._linger_s
        elif key in self._lingering and (
                new is None or old is None or old.tls != new.tls or not oldforms.same_host(old, new)):
            del self._lingering[key]
            self._withheld_due = 0.0

    def _old_forms(self) -> set[Key]:
        """Routes that have just become passthrough, and are admitted as such."""
        return {key for key in self._lingering if self.engine.rejection(key) is None}

    def needs_observation(self) -> bool:
        """Whether the next pass must read the device first."""
        now = self._clock()
        return self.device.stale or any(failure.due <= now for failure in self.failures.values())

    def next_retry(self) -> float | None:
        """Monotonic time of the next attempt at what was refused or withheld, or left over by a pass."""
        times = [failure.due for failure in self.failures.values() if failure.due != math.inf]
        if self._withheld:
            times.append(self._withheld_due)
        if self._again or self._unfinished or self.engine.checks.news:
            times.append(-math.inf)
        return min(times, default=None)

    def plan(self, *, full: bool) -> Plan:
        """What is to be written now; a full plan looks everywhere."""
        if full:
            self.engine.set_facts(self.device.facts)
        dirty, touched = self.engine.take()
        self._dirty |= dirty
        self._touched |= touched
        self._forgive(dirty, touched)
        refs: Iterable[Ref] | None = None if full else self._dirty | self._withheld_now() | self._waiting
        found = diff(self.engine.objects, self.device.observed, self._owns, refs)
        unknown = self.engine.unknown()
        foreign = oldforms.foreign(self.engine, self.device.observed, unknown)
        self._unknown = Unknown.of(unknown, self.engine.objects, self.device.observed, foreign)
        found, self._waiting = self._unknown.split(found, self.device.observed)
        return Plan(tuple(change for change in found if not self._waits(change.ref)))

    def run(self, *, full: bool, on_change: Callable[[Change], None] = lambda change: None) -> Report:
        """Plan and write.

        Args:
            full: compare everything; the caller has observed the device.
        Raises:
            BigIPError: the pass ended early; the next one must be full.
        """
        now, self._unfinished = self._clock(), True
        self._lingering = {key: end for key, end in self._lingering.items() if end > now}
        plan = self.plan(full=full)
        planned = {change.ref for change in plan}
        waiting = {ref: failure.error for ref, failure in self.failures.items() if ref not in planned}
        outcome = self.device.apply(
            plan, known={ref: error for ref, error in waiting.items() if ref in self.engine.objects},
            withheld={*self._withheld, *waiting}, on_change=on_change,
            withhold=lambda outcome: oldforms.keeper(
                self.engine, self.device.observed, {*outcome.failed, *waiting, *self._unknown.lacking},
                self._old_forms()),
        )
        self._dirty.clear()
        changed = self._note(outcome, full=full)
        staying = {*self.failures, *self._withheld, *self._waiting}
        amends = oldforms.amends(self.engine, self.device.observed, staying)
        amended = self.device.apply(amends, on_change=on_change).done
        self._dirty |= {change.ref for change in amended if change.verb == CREATE}  # nobody wants it
        outcome.done += amended
        # What needed them may be gone, or have changed, since the Plan was made. One pass more tells.
        self._again = not self._again and bool(outcome.done and self._waiting - self.engine.objects.keys())
        routes = self.engine.routes().keys()
        keys = set(routes) if full else (self._touched | self._routes_needing(changed)) & routes
        self._touched = set()
        left, self._left = self._left, {}
        self._unfinished = False
        verdicts = {key: verdict for key in keys if (verdict := self.verdict(key)) is not None}
        return Report(outcome, full, verdicts, {key: self.engine.warnings(key) for key in keys}, left)

    # --- verdicts ------------------------------------------------------------------------

    def verdict(self, key: Key) -> Verdict | None:
        """What a Route's status should say; None while it is not yet known."""
        if rejection := self.engine.rejection(key):
            return Verdict(False, rejection.reason, rejection.message)
        if fault := self.engine.fault(key):
            return Verdict(False, DEVICE_REJECTED, fault)
        needed = self.engine.closure(self.engine.uses(key))
        if failed := needed & self.failures.keys():
            # What was refused itself, not what needs it.
            ref = min(failed, key=lambda ref: (level(self.engine.objects[ref]), ref))
            return Verdict(False, DEVICE_REJECTED, f"{ref}: {self.failures[ref].error.text}")
        known = not self.engine.awaited(key) and not self.engine.pending(key)
        served = known and needed <= self.device.observed.keys()
        return Verdict(True) if served else None

    def unserved(self) -> dict[Key, str]:
        """Admitted Routes that the device does not serve, with the reason."""
        found = {}
        for key in self.engine.routes():
            verdict = self.verdict(key)
            if self.engine.pending(key):
                found[key] = "its certificates are not checked yet"
            elif secret := self.engine.awaited(key):
                found[key] = f"Secret {secret.key.name} is not read yet"
            elif verdict is None:
                found[key] = "not yet programmed"
            elif not verdict.admitted and verdict.reason == DEVICE_REJECTED:
                found[key] = verdict.message
        return found

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
        return self.engine.network_findings() + Findings(texts) + podroutes.refusals(routes)

    def _routes_needing(self, refs: set[Ref]) -> set[Key]:
        """Routes whose verdict these objects have a part in."""
        if not refs:
            return set()
        return {key for key in self.engine.routes()
                if not refs.isdisjoint(self.engine.closure(self.engine.uses(key)))}

    # --- refusals ------------------------------------------------------------------------

    def _owns(self, obj: Object) -> bool:
        if obj.KIND in _OF_NODES and not self.engine.nodes_listed:
            return False
        return names.owns(self._folder, obj)

    def _waits(self, ref: Ref) -> bool:
        """Whether it is too early to try an object again, or what it waits for."""
        failure, now = self.failures.get(ref), self._clock()
        if failure is None or not failure.blocked:
            return failure is not None and failure.due > now
        others = (self.failures.get(need) for need in self.engine.closure({ref}))
        return any(other is not None and not other.blocked and other.due > now for other in others)

    def _forgive(self, dirty: set[Ref], touched: set[Key]) -> None:
        """What a team changed is tried at once, not when its back-off ends."""
        if not self.failures:
            return
        for key in touched:
            dirty = dirty | self.engine.closure(self.engine.uses(key))
        for ref in dirty & self.failures.keys():
            self.failures[ref].due = 0.0
            self._dirty.add(ref)

    def _withheld_now(self) -> set[Ref]:
        return self._withheld if self._withheld_due <= self._clock() else set()

    def _note(self, outcome: Outcome, *, full: bool) -> set[Ref]:
        """Keep the books of refusals; returns the objects of which they say something else now."""
        now = self._clock()
        before = {ref: (failure.blocked, str(failure.error)) for ref, failure in self.failures.items()}
        for ref, error in outcome.failed.items():
            attempts = self.failures[ref].attempts + 1 if ref in self.failures else 1
            delay = min(RETRY_MOST_S, RETRY_FIRST_S * 2 ** (attempts - 1))
            blocked = ref in outcome.blocked
            self.failures[ref] = Failure(error, attempts, math.inf if blocked else now + delay, blocked)
        for ref in self.failures.keys() - outcome.failed.keys():
            if ref in self._waiting or self.engine.objects.get(ref) == self.device.observed.get(ref):
                del self.failures[ref]
        recovered = any(not before[ref][0] for ref in before.keys() - self.failures.keys())
        self._release(now, recovered=recovered)
        self._note_withheld(outcome, now, full=full, recovered=recovered)
        after = {ref: (failure.blocked, str(failure.error)) for ref, failure in self.failures.items()}
        return {ref for ref, _ in before.items() ^ after.items()}

    def _release(self, now: float, *, recovered: bool) -> None:
        """Try what waited for others when one of these recovered; see that nothing waits for ever."""
        alone = all(failure.blocked for failure in self.failures.values())
        for failure in self.failures.values():
            if failure.blocked and recovered:
                failure.due = now
            elif failure.blocked and (alone or failure.due <= now):
                failure.due = now + RETRY_FIRST_S if alone else math.inf

    def _note_withheld(self, outcome: Outcome, now: float, *, full: bool, recovered: bool) -> None:
        waited = {change.ref for change in outcome.withheld}
        ended = {change.ref for change in outcome.done} | outcome.failed.keys()
        kept = waited if full else (self._withheld - ended) | waited
        self._withheld = {ref for ref in kept if ref not in self.engine.objects}
        if not self._withheld:
            self._withheld_times = 0
        elif recovered:
            self._withheld_due = now
        elif waited or self._withheld_due <= now:
            delay = min(RETRY_MOST_S, RETRY_FIRST_S * 2**self._withheld_times)
            self._withheld_times, self._withheld_due = self._withheld_times + 1, now + delay
