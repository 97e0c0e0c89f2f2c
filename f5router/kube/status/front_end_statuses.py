"""Statuses of Routes on several front ends: an entry for each, by a writer with the name of its own router.

An entry of status.ingress is identified by its routerName. So each front end writes as one router among
several does, which are shards of HAProxy's, too. Source: openshift/router, pkg/router/controller/status.go:
recordIngressConditionFailure.
"""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from f5router.admission import condition
from f5router.kube.status.entry_cleanup import EntryCleanup
from f5router.kube.status.status_writer import StatusWriter
from f5router.model.cluster import Key, Route


class FrontEndStatuses:
    """The writers of all front ends. A Route of a front end without one has no entry."""

    def __init__(self, writers: Mapping[str, StatusWriter]):
        """Args: writers: by front end; the one without a name has one."""
        self._writers = writers

    def of(self, front_end: str) -> StatusWriter:
        """Return the writer of a front end."""
        return self._writers[front_end]

    def submit(self, key: Key, uid: str, verdict: condition.Verdict, host: str) -> None:
        """See StatusWriter."""
        if (writer := self._writers.get(key.front_end)) is not None:
            writer.submit(key.on(""), uid, verdict, host)

    def submit_new(self, key: Key, uid: str, verdict: condition.Verdict, host: str) -> bool:
        """See StatusWriter."""
        writer = self._writers.get(key.front_end)
        return writer is not None and writer.submit_new(key.on(""), uid, verdict, host)

    def route_removed(self, route: Route, *, remove: bool) -> None:
        """See StatusWriter."""
        if (writer := self._writers.get(route.key.front_end)) is not None:
            writer.route_removed(replace(route, key=route.key.on("")), remove=remove)

    def route_updated(self, old: Route, new: Route) -> None:
        """See StatusWriter."""
        for writer in self._writers.values():
            writer.route_updated(old, new)

    def drop_requests(self) -> None:
        """See StatusWriter."""
        for writer in self._writers.values():
            writer.drop_requests()

    @property
    def counts(self) -> Mapping[str, int]:
        """Attempts to write, by result."""
        return sum((Counter(writer.counts) for writer in self._writers.values()), Counter()) | {
            result: 0 for result, count in self._writers[""].counts.items() if not count}

    def contended(self) -> int:
        """See StatusWriter."""
        return sum(writer.contended() for writer in self._writers.values())

    def pending(self) -> int:
        """See StatusWriter."""
        return sum(writer.pending() for writer in self._writers.values())

    def rate_per_s(self) -> float:
        """Return the current limit of writes per second of each writer: the lowest."""
        return min(writer.rate_per_s() for writer in self._writers.values())

    def flush(self, timeout_s: float, *, unless_forbidden: bool = False) -> bool:
        """See StatusWriter."""
        end = time.monotonic() + timeout_s
        return all(writer.flush(max(0.0, end - time.monotonic()), unless_forbidden=unless_forbidden)
                   for writer in self._writers.values())

    def refusal(self) -> str:
        """See StatusWriter."""
        return next(filter(None, (writer.refusal() for writer in self._writers.values())), "")

    def stop(self) -> None:
        """See StatusWriter."""
        for writer in self._writers.values():
            writer.stop()


class FrontEndCleanup:
    """Removes entries of Routes from the statuses that a front end does not serve any more."""

    def __init__(self, cleanups: Mapping[str, EntryCleanup]):
        """Args: cleanups: by front end."""
        self._cleanups = cleanups

    def start(self, selected: frozenset[Key]) -> None:
        """See EntryCleanup."""
        for name, cleanup in self._cleanups.items():
            cleanup.start(frozenset(key.on("") for key in selected if key.front_end == name))

    def stop(self) -> None:
        """See EntryCleanup."""
        for cleanup in self._cleanups.values():
            cleanup.stop()
