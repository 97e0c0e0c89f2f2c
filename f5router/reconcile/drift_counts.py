"""Counts of drift: objects that others have changed, and those that the router has repaired."""

import time
from collections import Counter
from collections.abc import Callable

from f5router.model.objects import Ref
from f5router.reconcile.other_router import OtherRouter


class DriftCounts:
    """Numbers since the start by kind of object. The loop records, any thread may read them."""

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self.others = OtherRouter(clock)
        self.detected, self.fixed = Counter[str](), Counter[str]()
        self._to_fix: set[Ref] = set()

    def find(self, ref: Ref, *, is_wrong: bool) -> None:
        """Record an object that others changed. Args: is_wrong: it also differs from its desired state."""
        self.detected[ref.kind] += 1
        if is_wrong:
            self.others.repair(ref)
            self._to_fix.add(ref)

    def written(self, ref: Ref) -> None:
        """Record a confirmed write."""
        self.others.written(ref)
        if self._to_fix and ref in self._to_fix:
            self._to_fix.discard(ref)
            self.fixed[ref.kind] += 1
