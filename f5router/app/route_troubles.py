"""Routes that together are an incident: those without a pod that takes requests, and rejections that rise.

Each is its team's, and is in its status. An operator on call has to know when they become many, or when all
pods of a Service have gone.
"""

from collections import deque
from collections.abc import Callable, Mapping

from f5router.desired.engine import Engine
from f5router.model import findings, names
from f5router.model.cluster import Key
from f5router.model.findings import CAUSES_OF_EMPTY_POOLS, Finding, Link, finding
from f5router.model.ltm import Pool
from f5router.model.texts import Problem
from f5router.views.incidents import listed

WINDOW_S = 3600.0
"""Time in which a rise of rejections counts."""
LEAST, PART = 3, 0.01
"""Rejections more than before that are a rise: so many, and this part of all Routes."""


class RouteTroubles:
    """Troubles of many Routes. The loop's thread records; any may call `findings`."""

    def __init__(self, engine: Engine, clock: Callable[[], float]):
        self._engine, self._clock = engine, clock
        self._lacking: dict[Key, str] = {}
        """Code of the cause by Route."""
        self._counts: deque[tuple[float, int]] = deque()
        """Numbers of rejected Routes, and since when."""
        self._rise: Finding | None = None

    def record(self, warnings: Mapping[Key, tuple[Problem, ...]]) -> None:
        """Take a report. Args: warnings: of all Routes that it is about."""
        routes = self._engine.routes()
        lacking = {key: code for key, code in self._lacking.items() if key in routes and key not in warnings}
        for key, problems in warnings.items():
            causes = [each.reason for each in problems if each.reason in CAUSES_OF_EMPTY_POOLS]
            if causes and self._is_empty(key):
                lacking[key] = causes[0]
        self._lacking = lacking

    def record_rejections(self, rejected: int) -> None:
        """Take the number of Routes that are rejected now."""
        now = self._clock()
        if not self._counts or self._counts[-1][1] != rejected:
            self._counts.append((now, rejected))
        while len(self._counts) > 1 and self._counts[1][0] <= now - WINDOW_S:
            self._counts.popleft()
        more = rejected - min(count for _, count in self._counts)
        is_rise = more >= max(LEAST, PART * len(self._engine.routes()))
        self._rise = finding(Link.ROUTE, findings.REJECTIONS_RISE, (
            f"{rejected} Routes are rejected, {more} more than within the last hour")) if is_rise else None

    def findings(self) -> list[Finding]:
        """Return what there is to know."""
        lacking, rise = self._lacking, self._rise
        known = [] if rise is None else [rise]
        if lacking:
            named = [f"{names.label(key)} ({code})" for key, code in sorted(lacking.items())]
            count = f"{len(named)} Routes have" if len(named) > 1 else "1 Route has"
            known.append(finding(Link.POOL, findings.ROUTES_WITHOUT_PODS,
                                 f"{count} no pod that takes requests: {listed(named)}"))
        return known

    def _is_empty(self, key: Key) -> bool:
        """True if a Route has a pool without members; a rejected one has none."""
        ref = self._engine.pool_of(key)
        pool = None if ref is None else self._engine.objects.get(ref)
        return isinstance(pool, Pool) and not pool.members
