"""The report of a pass, and the choice of the Routes that are in it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from f5router.admission.condition import Verdict
from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.icontrol.outcome import Outcome
from f5router.model.cluster import Key, Route
from f5router.model.ltm import Rule
from f5router.model.objects import Ref
from f5router.model.texts import Problem
from f5router.reconcile.backlog import hosts_of
from f5router.reconcile.table import Table

OTHERS_MOST = 1000
"""Most Routes in a report besides those of which the pass wrote something."""

ROUTES_OF_A_TURN = 150
"""Most Routes that are judged at once: in between the loop looks at its messages."""

@dataclass(frozen=True, slots=True)
class Report:
    """Changes and verdicts that have settled since the last report."""

    outcome: Outcome
    full: bool
    verdicts: dict[Key, Verdict]
    """Verdicts of the Routes that may have a new one; a Route that is not yet served has none."""
    warnings: dict[Key, tuple[Problem, ...]]
    """Warnings of the same Routes."""
    removed: dict[Key, Route] = field(default_factory=dict)
    """Routes that are served no longer, as they were last evaluated: deleted, or not selected any more."""


def combined(reports: Iterable[Report]) -> Report:
    """Return several reports as one, the later over the earlier."""
    whole = Report(Outcome(), full=False, verdicts={}, warnings={})
    for report in reports:
        whole.outcome.add(report.outcome)
        whole.verdicts.update(report.verdicts)
        whole.warnings.update(report.warnings)
        whole.removed.update(report.removed)
        whole = replace(whole, full=whole.full or report.full)
    return whole


class ChangedRoutes:
    """Routes whose verdict may have changed since it was last reported."""

    def __init__(self, engine: Engine, device: Device, table: Table):
        self._engine, self._device, self._table = engine, device, table
        self._keys: dict[Key, None] = {}
        self._chosen: dict[Key, None] = {}
        """Routes of the report that is being made."""

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, keys: Iterable[Key]) -> None:
        """Add Routes behind all others."""
        self._keys |= dict.fromkeys(keys)

    def add_users(self, refs: set[Ref]) -> None:
        """Add the Routes that need one of these objects."""
        if not refs:
            return
        if all(ref.kind == Rule.KIND for ref in refs):  # only objects of the same Host need it
            self.add({key for host in self._hosts(refs) for key in self._engine.routes_of_host(host)})
            return
        self.add({key for key in self._engine.routes()
                  if not refs.isdisjoint(self._engine.closure(
                      self._engine.uses(key) | self._engine.closing(key)))})

    def clear(self) -> None:
        """Forget all Routes."""
        self._keys.clear()
        self._chosen.clear()

    @property
    def are_left(self) -> bool:
        """True if a report goes on in the next turn."""
        return bool(self._chosen)

    def take(self, portion: Iterable[Ref]) -> Iterator[tuple[Key, set[Ref]]]:
        """Yield the Routes to report, with all that each needs.

        These are the Routes of a portion, and as many others as take no time.

        A Route that needs something which is to be written stays for a later report.
        """
        goes_on = bool(self._chosen)
        self._chosen |= dict.fromkeys(
            key for host in self._hosts(portion) for key in self._engine.routes_of_host(host)
            if key in self._keys)
        if not goes_on:
            self._chosen |= dict.fromkeys(islice(self._keys, OTHERS_MOST))
        for key in list(islice(self._chosen, ROUTES_OF_A_TURN)):
            del self._chosen[key], self._keys[key]
            if key in self._engine.routes():
                needed = self._engine.closure(self._engine.uses(key))
                if self._table.is_settled(needed):
                    yield key, needed
                else:
                    self._keys[key] = None  # behind the others

    def _hosts(self, refs: Iterable[Ref]) -> set[str]:
        """Return the Hosts of objects that lead requests, desired or observed."""
        states = (self._engine.objects, self._device.observed)
        return {host for ref in refs for state in states if ref in state
                for host in hosts_of(state[ref], state)}
