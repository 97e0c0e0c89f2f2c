"""Statuses of Routes on several front ends: an entry for each, by a writer with the name of its own router.

An entry of status.ingress is identified by its routerName. So each front end writes as one router among
several does, which are shards of HAProxy's, too. Source: openshift/router, pkg/router/controller/status.go:
recordIngressConditionFailure.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from f5router.admission import condition
from f5router.kube.status.entry_cleanup import EntryCleanup
from f5router.kube.status.status_writer import RESULTS, StatusWriter
from f5router.model.cluster import Key, Route


class FrontEndStatuses:
    """The writers of all front ends. A Route of a front end without one has no entry."""

    def __init__(self, writers: Mapping[str, StatusWriter]):
        """Args: writers: by front end; the one without a name has one."""
        self._writers, self._going = writers, dict[str, StatusWriter]()
        self._ended = Counter[str]()
        """Attempts of the writers of front ends that have gone."""

    def of(self, front_end: str) -> StatusWriter:
        """Return the writer of a front end."""
        return self._writers[front_end]

    def withdraw(self, front_ends: Iterable[str]) -> None:
        """Begin to remove the entries of front ends that are to go; they get no more."""
        for name in front_ends:
            if (writer := self._writers.get(name)) is not None:
                self._writers = {other: each for other, each in self._writers.items() if other != name}
                self._going[name] = writer
                writer.withdraw()

    def are_withdrawn(self) -> bool:
        """True if all these entries are removed, except those that may not be written."""
        return all(writer.flush(0.0, unless_forbidden=True) for writer in self._going.values())

    def set_writers(self, writers: Mapping[str, StatusWriter]) -> None:
        """Replace the writers of some front ends, and drop those of front ends that have gone."""
        gone, self._going = self._going, {}
        for writer in gone.values():
            writer.stop()
            self._ended += Counter(writer.counts)
        self._writers = {**self._writers, **writers}

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
        writers = (*self._writers.values(), *self._going.values())
        return dict.fromkeys(RESULTS, 0) | sum((Counter(each.counts) for each in writers), self._ended)

    def contended(self) -> int:
        """See StatusWriter."""
        return sum(writer.contended() for writer in self._writers.values())

    def pending(self) -> int:
        """See StatusWriter."""
        return sum(writer.pending() for writer in self._writers.values())

    def rate_per_s(self) -> float:
        """Return the current limit of writes per second of each writer: the lowest."""
        return min(each.rate_per_s() for each in (*self._writers.values(), *self._going.values()))

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
        for writer in (*self._writers.values(), *self._going.values()):
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
