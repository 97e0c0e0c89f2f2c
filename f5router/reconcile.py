"""One pass: from what changed in the cluster to writes on the BIG-IP and verdicts on Routes.

Two kinds of pass. A full one reads the device and compares everything: at the start, on a period,
and after anything that leaves doubt. Between them a pass looks only at what an event touched.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from f5router import names
from f5router.bigip import Object, Ref, Rule
from f5router.cluster import Delta, Key
from f5router.errors import BigIPError
from f5router.icontrol.device import Device, Outcome
from f5router.incremental import Engine
from f5router.plan import Change, Plan, diff, level
from f5router.status import Verdict

log = logging.getLogger(__name__)

DEVICE_REJECTED = "DeviceRejected"
RETRY_FIRST_S, RETRY_MOST_S = 5.0, 300.0


@dataclass(slots=True)
class Failure:
    """An object that the device refused."""

    error: BigIPError
    attempts: int
    due: float
    """Monotonic seconds of the next attempt."""


@dataclass(frozen=True, slots=True)
class Report:
    """What a pass did."""

    outcome: Outcome
    full: bool
    verdicts: dict[Key, Verdict]
    """Of the Routes that may have a new one; those not yet served have none."""
    warnings: dict[Key, tuple[str, ...]]
    """Of the same Routes."""


class Reconciler:
    """Joins the pure parts with the device; one thread uses it."""

    def __init__(self, engine: Engine, device: Device, *, folder: str, clock: Callable[[], float]):
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

    # --- the pass ------------------------------------------------------------------------

    def apply(self, delta: Delta) -> None:
        """Take changes of the cluster; cheap, writes nothing."""
        self.engine.apply(delta)

    def needs_observation(self) -> bool:
        """Whether the next pass must read the device first."""
        now = self._clock()
        return self.device.stale or any(failure.due <= now for failure in self.failures.values())

    def next_retry(self) -> float | None:
        """Monotonic time of the next attempt at what was refused or withheld."""
        times = [failure.due for failure in self.failures.values()]
        if self._withheld:
            times.append(self._withheld_due)
        return min(times, default=None)

    def plan(self, *, full: bool) -> Plan:
        """What is to be written now; a full plan looks everywhere."""
        if full:
            self.engine.set_facts(self.device.facts)
        dirty, touched = self.engine.take()
        self._dirty |= dirty
        self._touched |= touched
        self._forgive(dirty, touched)
        refs: Iterable[Ref] | None = None if full else self._dirty | self._withheld_now()
        found = diff(self.engine.objects, self.device.observed, self._owns, refs)
        return Plan(tuple(change for change in found if not self._waits(change)))

    def run(self, *, full: bool, on_change: Callable[[Change], None] = lambda change: None) -> Report:
        """Plan and write.

        Args:
            full: compare everything; the caller has observed the device.
        Raises:
            BigIPError: the pass ended early; the next one must be full.
        """
        plan = self.plan(full=full)
        planned = {change.ref for change in plan}
        known = {ref: failure.error for ref, failure in self.failures.items() if ref not in planned}
        outcome = self.device.apply(plan, known=known, withhold=self._threatened, on_change=on_change)
        self._dirty.clear()
        changed = self._note(outcome, full=full)
        keys = set(self.engine.routes()) if full or changed else self._touched & self.engine.routes().keys()
        self._touched = set()
        verdicts = {key: verdict for key in keys if (verdict := self.verdict(key)) is not None}
        return Report(outcome, full, verdicts, {key: self.engine.warnings(key) for key in keys})

    # --- verdicts ------------------------------------------------------------------------

    def verdict(self, key: Key) -> Verdict | None:
        """What a Route's status should say; None while it is not yet known."""
        if rejection := self.engine.rejection(key):
            return Verdict(False, rejection.reason, rejection.message)
        if fault := self.engine.fault(key):
            return Verdict(False, DEVICE_REJECTED, fault)
        needed = self._closure(self.engine.uses(key))
        if failed := needed & self.failures.keys():
            # What was refused itself, not what needs it.
            ref = min(failed, key=lambda ref: (level(self.engine.objects[ref]), ref))
            return Verdict(False, DEVICE_REJECTED, f"{ref}: {self.failures[ref].error.text}")
        return Verdict(True) if needed <= self.device.observed.keys() else None

    def unserved(self) -> dict[Key, str]:
        """Admitted Routes that the device does not serve, with the reason."""
        found = {}
        for key in self.engine.routes():
            verdict = self.verdict(key)
            if verdict is None:
                found[key] = "not yet programmed"
            elif not verdict.admitted and verdict.reason == DEVICE_REJECTED:
                found[key] = verdict.message
        return found

    def _closure(self, refs: Iterable[Ref]) -> set[Ref]:
        seen: set[Ref] = set()
        stack = list(refs)
        while stack:
            ref = stack.pop()
            if ref in seen:
                continue
            seen.add(ref)
            obj = self.engine.objects.get(ref)
            if obj is not None:
                stack.extend(obj.needs)
        return seen

    # --- refusals ------------------------------------------------------------------------

    def _owns(self, obj: Object) -> bool:
        return names.owns(self._folder, obj)

    def _waits(self, change: Change) -> bool:
        failure = self.failures.get(change.ref)
        return failure is not None and failure.due > self._clock()

    def _forgive(self, dirty: set[Ref], touched: set[Key]) -> None:
        """What a team changed is tried at once, not when its back-off ends."""
        if not self.failures:
            return
        for key in touched:
            dirty = dirty | self._closure(self.engine.uses(key))
        for ref in dirty & self.failures.keys():
            self.failures[ref].due = 0.0
            self._dirty.add(ref)

    def _withheld_now(self) -> set[Ref]:
        return self._withheld if self._withheld_due <= self._clock() else set()

    def _threatened(self, outcome: Outcome) -> set[str]:
        """Hosts whose old objects must stay, because the new ones are not all there."""
        failed = {*outcome.failed, *self.failures}
        if not failed:
            return set()
        stems, hosts = set(), set()
        for key, checked in self.engine.routes().items():
            if failed & self._closure(self.engine.uses(key)):
                hosts.add(checked.route.host)
                stems.add(names.route(key))
        for obj in self.device.observed.values():
            if isinstance(obj, Rule) and names.rule_stem(obj.name) in stems:
                hosts |= obj.hosts
        return hosts

    def _note(self, outcome: Outcome, *, full: bool) -> bool:
        """Keep the books of refusals; tells whether verdicts of untouched Routes may differ."""
        before = {ref: str(failure.error) for ref, failure in self.failures.items()}
        now = self._clock()
        for ref in {change.ref for change in outcome.done}:
            self.failures.pop(ref, None)
        for ref, error in outcome.failed.items():
            attempts = self.failures[ref].attempts + 1 if ref in self.failures else 1
            delay = min(RETRY_MOST_S, RETRY_FIRST_S * 2 ** (attempts - 1))
            self.failures[ref] = Failure(error, attempts, now + delay)
        for ref in list(self.failures):
            settled = self.engine.objects.get(ref) == self.device.observed.get(ref)
            if ref not in outcome.failed and (settled or ref not in self.engine.objects):
                del self.failures[ref]
        self._note_withheld(outcome, now, full=full)
        return before != {ref: str(failure.error) for ref, failure in self.failures.items()}

    def _note_withheld(self, outcome: Outcome, now: float, *, full: bool) -> None:
        waited = {change.ref for change in outcome.withheld}
        done = {change.ref for change in outcome.done}
        kept = waited if full else (self._withheld - done) | waited
        self._withheld = {ref for ref in kept if ref not in self.engine.objects}
        if not self._withheld:
            self._withheld_times = 0
        elif waited:
            delay = min(RETRY_MOST_S, RETRY_FIRST_S * 2**self._withheld_times)
            self._withheld_times, self._withheld_due = self._withheld_times + 1, now + delay
