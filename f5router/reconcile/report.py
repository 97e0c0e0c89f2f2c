"""The report of a pass, and the choice of the Routes that are in it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice

from f5router.admission.condition import Verdict
from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.model.cluster import Key, Route
from f5router.model.ltm import Rule
from f5router.model.objects import Ref
from f5router.model.texts import Problem
from f5router.reconcile.backlog import hosts_of
from f5router.reconcile.certificate_warnings import CertificateWarnings
from f5router.reconcile.row import Counts
from f5router.reconcile.table import Table
from f5router.reconcile.verdicts import Verdicts

OTHERS_MOST = 1000
"""Most Routes in a report besides those of which the pass wrote something."""

ROUTES_OF_A_TURN = 150
"""Most Routes that are judged at once: in between the loop looks at its messages."""

REMOVED_OF_A_TURN = 500
"""Most Routes that have left, of one report."""


@dataclass(frozen=True, slots=True)
class Report:
    """Verdicts that have settled since the last report, and numbers of Changes."""

    full: bool
    """True if everything was compared."""
    verdicts: dict[Key, Verdict]
    """Verdicts of the Routes that may have a new one; a Route that is not yet served has none."""
    warnings: dict[Key, tuple[Problem, ...]]
    """Warnings of the same Routes."""
    removed: dict[Key, Route] = field(default_factory=dict)
    """Routes that are served no longer, as they were last evaluated: deleted, or not selected any more."""
    counts: Counts = field(default_factory=Counts)
    """Numbers of Changes."""


def combined(reports: Iterable[Report]) -> Report:
    """Return several reports as one, the later over the earlier."""
    whole = Report(full=False, verdicts={}, warnings={})
    for report in reports:
        whole.verdicts.update(report.verdicts)
        whole.warnings.update(report.warnings)
        whole.removed.update(report.removed)
        whole = replace(whole, full=whole.full or report.full, counts=whole.counts.plus(report.counts))
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

    def take(self, settled: Iterable[Ref]) -> Iterator[tuple[Key, set[Ref]]]:
        """Yield the Routes to report, with all that each needs.

        These are the Routes of objects that have settled, and as many others as take no time. A Route that
        needs something which is to be written stays for a later report.
        """
        goes_on = bool(self._chosen)
        self._chosen |= dict.fromkeys(
            key for host in self._hosts(settled) for key in self._engine.routes_of_host(host)
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


class RouteReports:
    """Judges the Routes that may have a new verdict, once everything that they need is behind them."""

    def __init__(self, engine: Engine, device: Device, table: Table, verdicts: Verdicts,
                 certificates: CertificateWarnings):
        self._engine, self._table, self._verdicts, self._certificates = engine, table, verdicts, certificates
        self._routes = ChangedRoutes(engine, device, table)
        self._removed: dict[Key, Route] = {}
        self._counts = table.counts
        """Numbers of Changes up to the last report."""
        self.is_due = self.is_full = False
        """True if there is something to report; and if the next report counts as one of everything."""

    @property
    def are_left(self) -> bool:
        """As that of ChangedRoutes."""
        return self._routes.are_left

    def note_settled(self) -> None:
        """Take that something has become of Changes."""
        self.is_due = True

    def add(self, routes: Iterable[Key]) -> None:
        """Report on Routes again that may have changed."""
        self._routes.add(routes)
        self.is_due = True

    def reevaluate(self, routes: Iterable[Key]) -> None:
        """Report on Routes again, whether something changed or not."""
        before = bool(self._routes)
        self._routes.add(routes)
        self.is_due = self.is_due or (bool(self._routes) and not before)

    def note_route(self, key: Key, old: Route | None, new: Route | None) -> None:
        """Take a Route before and after an event."""
        if new is not None:
            self._removed.pop(key, None)
        elif old is not None:
            self._removed[key] = old
            self.is_due = True

    def add_all(self) -> None:
        """Report on everything: it was compared."""
        self._routes.add(self._engine.routes())
        self.is_due = self.is_full = True

    def clear(self) -> None:
        """Forget what is to be reported."""
        self._removed.clear()
        self._routes.clear()
        self.is_due = False

    def take(self) -> Report:
        """Return a report of what has settled since the last one."""
        self._routes.add_users(self._table.take_changed())
        verdicts, warnings = {}, {}
        for key, needed in self._routes.take(self._table.take_settled()):
            if (verdict := self._verdicts.verdict(key, needed)) is not None:
                verdicts[key] = verdict
            warnings[key] = self.warnings(key)
        removed = {key: self._removed.pop(key) for key in list(islice(self._removed, REMOVED_OF_A_TURN))}
        self.is_due = bool(self._removed) or self._routes.are_left or (
            bool(warnings) and bool(self._routes))
        full, self.is_full = self.is_full, False
        before, self._counts = self._counts, self._table.counts
        return Report(full, verdicts, warnings, removed, self._counts.since(before))

    def warnings(self, key: Key) -> tuple[Problem, ...]:
        """Return what the team should know about a Route that is served."""
        return (*self._engine.warnings(key), *self._certificates.of(key))
