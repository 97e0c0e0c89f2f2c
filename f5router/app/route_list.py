"""The list of all Routes on the status page: a summary of each, made again when it has changed."""

import datetime
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from f5router.icontrol.statistics import PoolStatistics
from f5router.model.cluster import Key
from f5router.model.ltm import Pool
from f5router.views import routes
from f5router.views.nodes import Locator, NodeView
from f5router.views.records import RouteRecord
from f5router.views.route_view import RouteSummary, Summaries

FRESH_S, STALE_S = 2.0, 10.0
"""Age up to which the list is shown again while nothing is known to have changed, and in any case."""
SHARE = 20
"""While everything changes, making the list takes one part of so many of the time."""
REMADE_S = 60.0
"""Age up to which a summary is shown again: the days until a certificate expires count down."""


@dataclass(frozen=True, slots=True)
class Input:
    """Everything that the list is made of."""

    records: Sequence[RouteRecord]
    nodes: tuple[NodeView, ...]
    pools: Mapping[str, PoolStatistics]
    """Statistics of pools by path, as far as they are known."""


@dataclass(frozen=True, slots=True)
class _Made:
    """A summary with what it was made of."""

    record: RouteRecord
    others: tuple[object, ...]
    """Further values that it was made of."""
    summary: RouteSummary
    at: float


class RouteList:
    """Keeps the summaries of all Routes in the order of namespaces and names. Thread-safe."""

    def __init__(self, take: Callable[[], Input], *, clock: Callable[[], float],
                 wall: Callable[[], datetime.datetime], cost: Callable[[], float] = time.perf_counter):
        """Args: take: asks for the input, and raises Unanswered; cost: a clock that times the making."""
        self._take, self._clock, self._wall, self._cost = take, clock, wall, cost
        self._lock = threading.Lock()
        """Held while the list is made: whoever waits for it needs the same."""
        self._nodes: tuple[NodeView, ...] = ()
        self._made: dict[Key, _Made] = {}
        self._list: tuple[RouteSummary, ...] = ()
        self._revision = -1
        self._at, self._kept_s = float("-inf"), 0.0

    def get(self, revision: int) -> Summaries:
        """Return the summaries. Args: revision: another one than before calls for another list.

        Raises: Unanswered.
        """
        with self._lock:
            age_s = self._clock() - self._at
            if age_s >= self._kept_s and (revision != self._revision or age_s >= FRESH_S):
                begin = self._cost()
                self._make(self._take())
                self._revision, self._at = revision, self._clock()
                self._kept_s = min(STALE_S, SHARE * (self._cost() - begin))
            return Summaries(self._list, self._revision == revision)

    def _make(self, given: Input) -> None:
        if given.nodes != self._nodes:
            self._nodes, self._made = given.nodes, {}
        before, self._made = self._made, {}
        locator, now, clock = Locator(given.nodes), self._wall(), self._clock()
        for record in sorted(given.records, key=lambda each: routes.place(each.evaluated.route)):
            key, active = record.evaluated.route.key, _active(record, given.pools)
            old = before.get(key)
            others = active, *(facts and facts.enabled for facts in (record.http, record.https))
            if (old is None or old.record != record or old.others != others
                    or clock - old.at >= REMADE_S):
                old = _Made(record, others, routes.summary(routes.view(record, now, locator, active=active)),
                            clock)
            self._made[key] = old
        self._list = tuple(each.summary for each in self._made.values())


def _active(record: RouteRecord, pools: Mapping[str, PoolStatistics]) -> int | None:
    """Return how many members of a Route's pool take connections, if these were checked; else None."""
    observed = next((each.observed for each in record.objects if each.ref == record.pool), None)
    read = pools.get(record.pool.path) if record.pool is not None else None
    if read is None or not read.is_checked or not isinstance(observed, Pool):
        return None
    return read.active if read.members == len(observed.members) else None  # else they are others by now
