"""Notices another router that writes to the same folder: each undoes the other's work, and Routes go down.

Nothing is written for it. A Rule of a Route or a pool of a Service has a name that only a router gives. If
such objects appear that no Route here asks for, while those that Routes here ask for are gone, or if the
same object has to be put right again and again, others work with this folder.
"""

import logging
import math
import time
from collections.abc import Callable, Collection, Mapping

from f5router.model import ownership
from f5router.model.ltm import Object, Pool, Rule
from f5router.model.objects import Ref
from f5router.model.texts import printable

log = logging.getLogger(__name__)

CALM_S = 600.0
"""Without a further sign after which the other router is taken to be gone."""
ENOUGH = 2
"""Signs after which another router is reported: one may be a late write, or an administrator's."""
REPEATED = 3
"""Readings in which the same object was wrong that are a sign."""
MOST_REPEATED = 1000
"""Objects whose repeated repairs are counted."""
NAMED = 3
"""Objects that the message names."""


PROBLEM = "another router, or other automation, writes to the same partition"


class OtherRouter:
    """The loop's thread calls its methods; `problem` may be read from any."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self.problem = ""
        """Text about the other router; "" for none."""
        self._signs, self._last_at = 0, -math.inf
        self._written: set[Ref] = set()
        """Objects that this router has written since the reading under way began."""
        self._repairs: dict[Ref, int] = {}
        """How often each object was put right lately."""
        self._repairs_since = -math.inf
        self._is_comparable = False
        """True if this router alone has written since the last reading, as far as it knows."""

    def start_over(self) -> None:
        """Take that another replica, or another unit of a pair, has changed what was read last."""
        self._is_comparable = False

    def begin_reading(self) -> None:
        """Record that a reading of the whole device begins."""
        self._written = set()

    def written(self, ref: Ref) -> None:
        """Take a confirmed write of this router."""
        self._written.add(ref)

    def compare(self, before: Mapping[Ref, Object], there: Mapping[Ref, Object],
                wanted: Collection[Ref]) -> None:
        """Compare a reading with the objects that this router knew of.

        Args: before: as they were when this router last read or wrote them.
        """
        self._end_if_calm()
        was_comparable, self._is_comparable = self._is_comparable, True
        if not was_comparable or not before:
            return
        appeared = [ref for ref in there.keys() - before.keys()
                    if ref not in wanted and ref not in self._written and _only_a_router_makes(ref)]
        if appeared:
            gone = any(ref in wanted and ref not in self._written and _only_a_router_makes(ref)
                       for ref in before.keys() - there.keys())
            self._sign(ENOUGH if gone else 1, "it wrote", appeared)

    def repair(self, ref: Ref) -> None:
        """Take an object that others have changed and this router puts right."""
        if self._clock() >= self._repairs_since + CALM_S:
            self._repairs, self._repairs_since = {}, self._clock()
        if ref in self._repairs or len(self._repairs) < MOST_REPEATED:
            self._repairs[ref] = self._repairs.get(ref, 0) + 1
        if self._repairs.get(ref, 0) >= REPEATED:
            del self._repairs[ref]
            self._sign(ENOUGH, "it undoes", [ref])

    def _sign(self, weight: int, what: str, refs: Collection[Ref]) -> None:
        self._signs, self._last_at = self._signs + weight, self._clock()
        named = printable(", ".join(_shown(ref) for ref in sorted(refs)[:NAMED]))
        if self._signs < ENOUGH:
            log.warning("found objects of a router that no Route here asks for", extra={
                "objects": named, "count": len(refs)})
            return
        problem = f"{PROBLEM}: {what} {named}"
        if not self.problem:
            log.error(problem, extra={"count": len(refs), "remedy": _REMEDY})
        self.problem = problem

    def _end_if_calm(self) -> None:
        """Forget signs that are long ago."""
        if self._clock() < self._last_at + CALM_S:
            return
        if self.problem:
            log.info("no further sign of another router")
        self.problem, self._signs = "", 0


_REMEDY = "give each router a partition of its own, or run replicas of one with --leader-elect"


def _only_a_router_makes(ref: Ref) -> bool:
    """True for Rules of Routes and pools of Services: an administrator makes none of such names by hand."""
    if ref.kind == Rule.KIND:
        return ownership.rule_stem(ref.path.rsplit("/rules/", 1)[-1]) != ""
    return ref.kind == Pool.KIND and ownership.is_of_service(ref.path)


def _shown(ref: Ref) -> str:
    return f"{'rule' if ref.kind == Rule.KIND else ref.kind} {ref.path.rsplit('/', 1)[-1]}"
