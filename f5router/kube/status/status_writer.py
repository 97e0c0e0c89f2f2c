"""Writes the status of Routes: the newest one for each Route, until the API server has it.

docs/operations.md, "Status", describes what happens to a write. The watch reports changes of the router's own
entries (`route_updated`), from which the writer recognises another router of the same name.
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from f5router.admission import condition
from f5router.admission.condition import Contention
from f5router.kube.api import decode
from f5router.kube.api.connection import Connection
from f5router.kube.api.work_queue import WorkItem, WorkQueue
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.settings import EVERY_ROUTE, StatusSettings, StatusTiming
from f5router.kube.status import status_request
from f5router.kube.status.status_request import OwnedEntry, RetryPolicy, RouteStatus
from f5router.model.cluster import Key, Route
from f5router.model.errors import KubeConflict
from f5router.model.json_types import JSON
from f5router.model.selection import Selection
from f5router.model.texts import rfc3339

log = logging.getLogger(__name__)

RESULTS = ("written", "removed", "conflict", "contended", "refused", "forbidden", "unreachable")
"""Results of attempts to write; see `StatusWriter.counts`."""

JOIN_S = 0.9


@dataclass(frozen=True, slots=True)
class DesiredStatus:
    """The status that a Route should have."""

    uid: str
    verdict: condition.Verdict
    host: str
    only_new: bool = False
    """True if it is written only where the Route has no verdict yet."""


class StatusWriter:
    """Writes the router's entry of status.ingress; entries of other routers are never lost."""

    def __init__(self, connection: Connection, cluster: ClusterWatcher, settings: StatusSettings, *,
                 selection: Selection = EVERY_ROUTE, timing: StatusTiming | None = None, workers: int = 1,
                 clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time):
        """Arguments:
        selection: that of the watcher: a reply must not bring back a Route that has left it.
        wall: seconds since the epoch, for lastTransitionTime.
        """
        self.route_source = cluster.route_source
        """The API that serves Routes."""
        self._cluster, self._settings = cluster, settings
        self._router_name, self._timing = settings.router_name, timing or StatusTiming()
        self._unselected = RouteStatus(connection, cluster.route_source)
        self._routes = RouteStatus(
            connection, cluster.route_source, labels=selection.labels, fields=selection.fields)
        self._all_known = not (selection.labels or selection.fields)
        """True if the watcher knows Routes outside the selection, too."""
        self._wall = wall
        self._queue: WorkQueue[Key] = WorkQueue(
            rate_per_s=settings.rate_per_s, first_per_s=self._timing.first_per_s, clock=clock)
        self._retries = RetryPolicy(self._queue, connection.outages, timing=self._timing, resource="routes")
        self._lock = threading.Lock()
        self._contention = Contention(interval_s=self._timing.contention_s, clock=clock)
        self._desired: dict[Key, DesiredStatus] = {}
        self._absent: set[Key] = set()
        """Routes that did not exist when their status was due: they may return before the next pass."""
        self._threads = [threading.Thread(target=self._work, name=f"status-{number}", daemon=True)
                         for number in range(workers)]
        self._started = False
        self._contention_logged = False
        self.counts = Counter(dict.fromkeys(RESULTS, 0))
        """Attempts to write, by result."""

    # --- desired statuses ----------------------------------------------------------------

    def submit(self, key: Key, uid: str, verdict: condition.Verdict, host: str) -> None:
        """Request a status. The newest request for a Route wins; a fulfilled request sends nothing.

        Args: uid: of the Route that was evaluated: another one of the same name is left alone.
        """
        self._submit(key, DesiredStatus(uid, verdict, host))

    def submit_new(self, key: Key, uid: str, verdict: condition.Verdict, host: str) -> bool:
        """Request a status for a Route that has no verdict, and for which none was requested.

        Returns: True if this is such a Route.
        """
        known, route = self._desired.get(key), self._cluster.route(key)
        if known is not None and known.uid == uid and not known.only_new:
            return False
        if route is None or condition.has_verdict(route.status_ingress, self._router_name):
            return False
        self._submit(key, DesiredStatus(uid, verdict, host, only_new=True))
        return self._settings.enabled

    def is_requested(self, key: Key, uid: str) -> bool:
        """True if a status was requested, and the Route was not removed since."""
        with self._lock:
            known = self._desired.get(key)
            return known is not None and known.uid == uid

    def route_removed(self, route: Route, *, remove: bool) -> None:
        """Stop writing for a Route that was deleted, or is no longer served by this router.

        Args:
            route: as it was when it was evaluated last.
            remove: take the router's entry out of its status, should it still exist. An entry that
                differs from the one written stays: another router of this name has taken over.
        """
        key, uid = route.key, route.uid
        with self._lock:
            entry = self._contention.own_entry(uid)
            if (known := self._desired.get(key)) is not None and known.uid == uid:
                del self._desired[key]
                # Perhaps an entry from before the start, which was to be rewritten.
                entry = entry or condition.own(route.status_ingress, self._router_name)
                self._absent.discard(key)
            self._discard(uid)
        if remove and entry is not None and self._settings.enabled:
            self._put(key, OwnedEntry(key, uid, entry))

    def withdraw(self) -> None:
        """Remove the router's entry from all Routes for which a status was requested."""
        with self._lock:
            keys = list(self._desired)
        for key in keys:
            if (route := self._cluster.route(key)) is not None:
                self.route_removed(route, remove=True)

    def drop_requests(self) -> None:
        """Drop every requested status, written or not, except those for Routes without any.

        The BIG-IP is no longer the active unit: the router of the active unit writes the statuses, and its
        entries must not be overwritten.
        """
        with self._lock:
            self._desired = {key: desired for key, desired in self._desired.items() if desired.only_new}
            self._absent &= self._desired.keys()

    def route_updated(self, old: Route, new: Route) -> None:
        """Schedule a repair if somebody else changed or removed the router's entry in a newer reading."""
        before, after = (condition.own(route.status_ingress, self._router_name) for route in (old, new))
        with self._lock:
            returned, changed = new.key in self._absent, not condition.same(before, after)
            self._absent.discard(new.key)
            desired = self._desired.get(new.key)
            if (not (returned or changed) or desired is None or desired.uid != new.uid
                    or self._is_settled(desired, new)):
                return
            by_others = changed and self._contention.changed(new.uid, after)
        self._log_contention(new.key)
        if by_others or returned:
            self._put(new.key, desired, self._timing.repair_s if by_others else 0.0)

    def contended(self) -> int:
        """Count the Routes that are left alone, because another router of this name keeps changing them."""
        with self._lock:
            return self._contention.count()

    def pending(self) -> int:
        """Count the Routes whose status waits to be checked."""
        return len(self._queue)

    def rate_per_s(self) -> float:
        """Return the current limit of writes per second, at most the setting."""
        return self._queue.rate_per_s()

    def flush(self, timeout_s: float, *, unless_forbidden: bool = False) -> bool:
        """Wait until nothing is left to write; False if that takes longer.

        Args: unless_forbidden: do not wait for a right that is missing, which may come later.
        """
        return self._queue.wait_empty(timeout_s, unless=self.refusal if unless_forbidden else None)

    def refusal(self) -> str:
        """Return why no queued status may be written, with the command that grants it; "" if some may."""
        return self._retries.refusal()

    def stop(self) -> None:
        """End the threads; queued statuses are dropped."""
        self._queue.close()
        end = time.monotonic() + JOIN_S
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))

    def _submit(self, key: Key, desired: DesiredStatus) -> None:
        if not self._settings.enabled:
            return
        with self._lock:
            known, self._desired[key] = self._desired.get(key), desired
            if known is not None and known.uid != desired.uid:
                self._discard(known.uid)
        self._put(key, desired)

    def _discard(self, uid: str) -> None:
        self._retries.discard(uid)
        self._contention.discard(uid)

    def _put(self, key: Key, value: DesiredStatus | OwnedEntry, delay_s: float = 0.0) -> None:
        with self._lock:
            if not self._started:
                self._started = True
                for thread in self._threads:
                    thread.start()
        self._queue.put(key, value, delay_s)

    # --- the workers ---------------------------------------------------------------------

    def _work(self) -> None:
        status_request.work(self._queue, self._retries, self._attempt, self._count)

    def _attempt(self, item: WorkItem[Key]) -> None:
        """Write one status. Raises: KubeError."""
        if isinstance(item.value, OwnedEntry):
            self.remove(item.value)
        else:
            self._write(item.key, item.value)
            self._retries.discard(item.value.uid)

    def _write(self, key: Key, desired: DesiredStatus) -> None:
        """Write the status if it differs. Raises: KubeError."""
        if not self.is_requested(key, desired.uid):  # removed meanwhile; the watcher may know it still
            return
        with self._lock:
            self._absent.add(key)  # before the look: the Route may return just then
        if (route := self._cluster.route(key)) is None:
            return
        with self._lock:
            self._absent.discard(key)
        if route.uid != desired.uid or self._is_settled(desired, route):
            return
        entries = self._entries(route, desired)
        if not self._is_due(route, entries) or entries is None or not self._queue.spend():
            return
        old, new = (condition.own(ingress, self._router_name) for ingress in (route.status_ingress, entries))
        assert new is not None, "the entries to write include one of this router"
        with self._lock:
            self._contention.writing(desired.uid, new, old)
        try:
            written = self._routes.write(
                key, route.resource_version, entries, lambda obj: self._entries_for(obj, desired))
        except KubeConflict:
            self._read_again(key)
            raise
        if written is not None:
            self._count("written")
            log.debug("status written", extra={"route": str(key), "status": desired.verdict.status})
        else:
            with self._lock:
                self._absent.add(key)
        self._succeeded(written)

    def _is_due(self, route: Route, entries: list[JSON] | None) -> bool:
        """True if a write is needed, and no other router of this name contends for the Route.

        Args: entries: to write; None if there is nothing to change.
        """
        old = condition.own(route.status_ingress, self._router_name)
        self._log_contention(route.key)
        with self._lock:
            if entries is None:
                if old is not None:
                    self._contention.confirmed(route.uid, old)
                return False
            if self._contention.contended(route.uid, created=old is None):
                self.counts["contended"] += 1
                return False
        return True

    def remove(self, owned: OwnedEntry) -> bool:
        """Remove the router's entry from a Route that it does not serve, at the rate of all writes.

        Returns: True if it was there, and unchanged. Raises: KubeError.
        """
        if not self._queue.spend():
            return False
        written = status_request.remove_entry(self._unselected, owned, self._router_name)
        if written is not None:
            self._count("removed")
            log.info("status removed", extra={"route": str(owned.key)})
        self._succeeded(written, observe=self._all_known)
        return written is not None

    def _succeeded(self, written: dict[str, Any] | None, *, observe: bool = True) -> None:
        self._retries.answered(written=written is not None)
        if written is not None and observe:
            # The watch reports it later; a status requested before that would be compared with old entries.
            self._cluster.observe(decode.route(written))

    def _entries(self, route: Route, desired: DesiredStatus) -> list[JSON] | None:
        now = rfc3339(self._wall())
        return condition.entries(
            route, desired.verdict, host=desired.host, router_name=self._router_name,
            canonical_hostname=self._settings.canonical_hostname, now=now)

    def _entries_for(self, obj: dict[str, Any], desired: DesiredStatus) -> list[JSON] | None:
        """Compute the entries for an object that was re-read; None if nothing has to change."""
        route = decode.route(obj)
        self._cluster.observe(route)
        if route.uid != desired.uid or self._is_settled(desired, route):
            return None
        return self._entries(route, desired)

    def _is_settled(self, desired: DesiredStatus, route: Route) -> bool:
        return desired.only_new and condition.has_verdict(route.status_ingress, self._router_name)

    # --- other writers -------------------------------------------------------------------

    def _read_again(self, key: Key) -> None:
        """Read a Route after a conflict: the watch may be far behind. Raises: KubeError."""
        if (obj := self._routes.read(key)) is not None:
            self._cluster.observe(decode.route(obj))

    def _log_contention(self, key: Key) -> None:
        with self._lock:
            lasting = self._contention.is_lasting()
            logged, self._contention_logged = self._contention_logged, lasting
        if lasting and not logged:
            log.warning(
                "another router of the same name writes different statuses: give each router its own --name",
                extra={"router": self._router_name, "route": str(key)})
        elif logged and not lasting:
            log.info("no other router of the same name writes statuses", extra={"router": self._router_name})

    def _count(self, result: str) -> None:
        with self._lock:
            self.counts[result] += 1
