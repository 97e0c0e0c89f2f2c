"""Immutable records of what the control loop knows: of Routes and Nodes, and the reports of passes.

Views are made of them. Only the thread that owns the Reconciler may call `route`, `routes` and `nodes`: the
control loop, or a command with a Reconciler of its own. They collect references; `routes` and `nodes` yield
between steps of a millisecond. All that is built of a record may be built in any thread.

Reports of passes leave the last verdict on each Route, and the last changes, as people see them: their cause,
what was written, at what cost. The thread of the control loop records; `changes` and `revision` may be
read by any thread, as they are replaced as a whole. A pass costs what its report touched.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from f5router.admission.admission import EvaluatedRoute
from f5router.admission.condition import Verdict
from f5router.model.cluster import HostSubnet, Key, Node
from f5router.model.device_facts import VirtualFacts
from f5router.model.ltm import Rule
from f5router.model.objects import Ref
from f5router.model.texts import Problem
from f5router.plan.change import AnyChange
from f5router.plan.changes import cause
from f5router.reconcile.report import Report
from f5router.views.requests import NeededObject


class Known(NamedTuple):
    """The last verdict on a Route that was reported."""

    verdict: Verdict | None
    """None while it is not known."""
    since: float | None = None
    """When it last changed, in seconds since the epoch; None if nobody has seen it change."""
    is_warned: bool = False
    """True if there are warnings about the Route."""


@dataclass(frozen=True, slots=True)
class RouteRecord:
    """Everything known about a Route."""

    evaluated: EvaluatedRoute
    known: Known
    waits_for: str = ""
    """Reason why the objects of an admitted Route cannot be written yet; "" for none."""
    warnings: tuple[Problem, ...] = ()
    objects: tuple[NeededObject, ...] = ()
    """The objects that its requests need, in the order of their kinds and paths."""
    pool: Ref | None = None
    certificate: str = ""
    """PEM of the certificate that clients get for its Host; "" for that of the virtual server."""
    http: VirtualFacts | None = None
    """The virtual servers; None for one that is not configured."""
    https: VirtualFacts | None = None


@dataclass(frozen=True, slots=True)
class NodeRecord:
    """Everything known about a Node."""

    node: Node
    subnet: HostSubnet | None
    ways: tuple[NeededObject, ...] = ()
    """The FDB record or static routes by which the BIG-IP reaches its pods."""
    networks: tuple[str, ...] = ()
    """Networks of its pods that Calico or Cilium gave to it, as written."""
    problem: str = ""
    """Why a network of its pods has no route; "" if each has one."""


FIRST_LOAD = "first load"
"""Cause of what a router writes until the BIG-IP is as the cluster asks for it."""
MOST_OBJECTS, MOST_CAUSES = 20, 5
"""Objects and causes of a change that are kept."""


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One pass over the BIG-IP that wrote something or failed, or a write of members beside passes."""

    at: float
    """When it ended, in seconds since the epoch."""
    causes: tuple[str, ...]
    """Routes, Services, hosts and Nodes that it was for, at most MOST_CAUSES: "Route shop/web"; FIRST_LOAD
    alone for a pass of the first load, whichever object came first in it."""
    has_more_causes: bool
    """True if it was for others, too."""
    objects: tuple[str, ...]
    """Changes that were written, at most MOST_OBJECTS: "create ltm/pool /Common/..."."""
    writes: int
    """Objects that were written, in all."""
    refused: int = 0
    """Objects that the device refused."""
    calls: int | None = None
    """REST calls, readings included; None if they were not counted, for members beside a pass."""
    seconds: float | None = None
    """Duration; None likewise."""
    problem: str = ""
    """Why the pass ended early; "" if it did not."""


class WrittenObjects:
    """Collects the writes of a pass: the first few objects, and the total number."""

    def __init__(self) -> None:
        self._routes: dict[str, None] = {}
        self._others: dict[str, None] = {}
        self.objects: list[str] = []
        self.writes = 0
        self._has_more = False
        """True if a cause found no place."""

    def add(self, change: AnyChange) -> None:
        """Record a confirmed write."""
        self.writes += 1
        if len(self.objects) < MOST_OBJECTS:
            self.objects.append(f"{change.verb} {change.ref}")
        if self._has_more and len(self._routes) == MOST_CAUSES:
            return
        causes = self._routes if isinstance(change.obj, Rule) else self._others
        text = cause(change.obj)
        if text and len(causes) < MOST_CAUSES:
            causes[text] = None
        elif text and text not in causes:
            self._has_more = True

    @property
    def causes(self) -> tuple[str, ...]:
        """Routes first: what else is written is mostly for them."""
        return tuple([*self._routes, *self._others][:MOST_CAUSES])

    @property
    def has_more_causes(self) -> bool:
        """True if there were others."""
        return self._has_more or len(self._routes) + len(self._others) > MOST_CAUSES


def of_members(change: AnyChange, at: float) -> ChangeView:
    """Return the view of a write beside passes."""
    written = WrittenObjects()
    written.add(change)
    return ChangeView(at, written.causes, written.has_more_causes, tuple(written.objects), 1)


MOST_CHANGES = 100
"""Changes that are kept."""


class History:
    """One thread records; see the module for what others may read."""

    def __init__(self, wall: Callable[[], float]):
        """Args: wall: seconds since the epoch."""
        self._wall = wall
        self.known: dict[Key, Known] = {}
        """By Route; for the thread of the control loop alone."""
        self.changes: tuple[ChangeView, ...] = ()
        """The newest first."""
        self.revision = 0
        """A number that grows whenever anything has changed that a list of Routes or changes shows."""
        self.on_change: Callable[[], None] = lambda: None
        """Called after the revision has grown."""
        self._written: WrittenObjects | None = None
        """Writes of the pass that goes on; None between passes."""
        self._is_first_load = False
        """True if that pass began before the first load had ended."""

    def pass_began(self, *, is_first_load: bool) -> None:
        """Record the beginning of a pass."""
        self._written, self._is_first_load = WrittenObjects(), is_first_load

    def wrote(self, change: AnyChange) -> None:
        """Record a confirmed write."""
        if self._written is not None:
            self._written.add(change)
            return
        self._add(of_members(change, self._wall()))

    def pass_ended(self, *, refused: int, calls: int, seconds: float, problem: str = "") -> None:
        """Record the end of a pass; a pass without writes and problems is no change."""
        written, self._written = self._written or WrittenObjects(), None
        repeats = bool(problem) and bool(self.changes) and self.changes[0].problem == problem
        if written.writes or refused or (problem and not repeats):
            causes = ((FIRST_LOAD,), False) if self._is_first_load else (
                written.causes, written.has_more_causes)
            self._add(ChangeView(self._wall(), *causes, tuple(written.objects), written.writes,
                                 refused, calls, seconds, problem))

    def record(self, report: Report, routes: Mapping[Key, object]) -> None:
        """Record the verdicts of a pass. Args: routes: all Routes of the cluster."""
        now, differs = self._wall(), False
        for key, warnings in report.warnings.items():  # every Route that was looked at
            differs = self._set(key, report.verdicts.get(key), bool(warnings), now) or differs
        if len(self.known) != len(routes):
            for key in self.known.keys() - routes.keys():
                del self.known[key]
            differs = True
        if differs:
            self._grow()

    def _set(self, key: Key, verdict: Verdict | None, is_warned: bool, now: float) -> bool:
        """Record the verdict on a Route; returns True if it differs."""
        known = self.known.get(key)
        if known is None or known.verdict != verdict:
            self.known[key] = Known(verdict, now, is_warned)
        elif known.is_warned != is_warned:
            self.known[key] = known._replace(is_warned=is_warned)
        else:
            return False
        return True

    def _add(self, change: ChangeView) -> None:
        self.changes = (change, *self.changes[:MOST_CHANGES - 1])
        self._grow()

    def _grow(self) -> None:
        self.revision += 1
        self.on_change()
