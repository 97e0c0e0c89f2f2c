"""Route status: the newest wish for each Route, written until the API server has it.

What happens to a write: see docs/operations.md, "Status". Whether another router of the same name wants
something else is known from what the watch tells of our own entries (`route_updated`).
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from f5router.kube.api import decode
from f5router.kube.api.connection import Connection
from f5router.kube.cluster_watch import EVERY_ROUTE, ClusterWatcher
from f5router.kube.status import owned_entries
from f5router.kube.status.owned_entries import OwnedEntry
from f5router.kube.status.retry_policy import FORBIDDEN_S, Troubles
from f5router.kube.status.status_request import RouteStatus
from f5router.kube.status.work_queue import WorkItem, WorkQueue
from f5router.kube.status.writer_lease import WriterLease
from f5router.model.cluster import Key, Route
from f5router.model.errors import (
    KubeConflict,
    KubeForbidden,
    KubeInvalid,
    KubeNotFound,
    KubeUnreachable,
    ResourceUnavailable,
)
from f5router.model.json_types import JSON
from f5router.model.selection import Selection
from f5router.status import condition
from f5router.status.contention import Contention

log = logging.getLogger(__name__)

REPAIR_S = 3.0
"""Wait before our entry is set right that somebody else changed: we may just be about to agree."""

CONTENTION_S = 180.0
"""How long a Route is left alone that another router of the same name keeps changing."""

RESULTS = ("written", "removed", "conflict", "contended", "refused", "forbidden", "unreachable")
"""What became of attempts to write; see `StatusWriter.counts`."""

JOIN_S = 0.9


@dataclass(frozen=True, slots=True)
class DesiredStatus:
    """What the status of a Route should say."""

    uid: str
    verdict: condition.Verdict
    host: str
    only_new: bool = False
    """Only where nothing was said yet, or that it is not known."""


class StatusWriter:
    """Writes the router's entry of status.ingress; entries of other routers are never lost."""

    def __init__(self, connection: Connection, cluster: ClusterWatcher, *, router_name: str,
                 selection: Selection = EVERY_ROUTE, canonical_hostname: str = "",
                 rate_per_s: float = 20, workers: int = 1, enabled: bool = True,
                 forbidden_s: float = FORBIDDEN_S, repair_s: float = REPAIR_S,
                 contention_s: float = CONTENTION_S,
                 clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time):
        """Arguments:
        selection: of the ClusterWatcher: a Route that has left it must not come back by a reply.
        rate_per_s: writes per second, all workers together; what needs no write costs nothing.
        enabled: False makes submit() do nothing (--update-status=false).
        wall: seconds since the epoch, for lastTransitionTime.
        """
        self.route_source = cluster.route_source
        """Where Routes are served."""
        self._cluster, self._others = cluster, RouteStatus(connection, cluster.route_source)
        self._routes = RouteStatus(
            connection, cluster.route_source, labels=selection.labels, fields=selection.fields)
        self._all_known = not (selection.labels or selection.fields)
        """Whether the ClusterWatcher knows Routes that are not selected, too."""
        self._router_name, self._canonical_hostname = router_name, canonical_hostname
        self._enabled, self._repair_s = enabled, repair_s
        self._clock, self._wall = clock, wall
        self._pending: WorkQueue[Key] = WorkQueue(rate_per_s=rate_per_s, clock=clock)
        self._troubles = Troubles(self._pending, connection.outages, forbidden_s=forbidden_s)
        self._lock = threading.Lock()
        self._lease = WriterLease(clock=clock)
        self._contention = Contention(interval_s=contention_s, clock=clock)
        self._desired: dict[Key, DesiredStatus] = {}
        self._missed: set[Key] = set()
        """Routes that were away when their status should have been looked at: the pass may not notice."""
        self._threads = [threading.Thread(target=self._work, name=f"status-{number}", daemon=True)
                         for number in range(workers)]
        self._started = False
        self._said_contended = False
        self.counts = Counter(dict.fromkeys(RESULTS, 0))
        """Attempts, by what became of them."""

    # --- what is wished ------------------------------------------------------------------

    def submit(self, key: Key, uid: str, verdict: condition.Verdict, host: str) -> None:
        """Ask for a status. The newest wish for a Route wins; nothing is sent that is so already.

        Args: uid: of the Route that was judged: another one of the same name is left alone.
        """
        self._submit(key, DesiredStatus(uid, verdict, host))

    def submit_new(self, key: Key, uid: str, verdict: condition.Verdict, host: str) -> bool:
        """Ask for a status where none was asked for, and nothing said, yes or no, before.

        Returns: whether that is so.
        """
        known, route = self._desired.get(key), self._cluster.route(key)
        if known is not None and known.uid == uid and not known.only_new:
            return False
        if route is None or condition.judged(route.status_ingress, self._router_name):
            return False
        self._submit(key, DesiredStatus(uid, verdict, host, only_new=True))
        return self._enabled

    def is_requested(self, key: Key, uid: str) -> bool:
        """Whether a status was asked for, and the Route has not left since."""
        with self._lock:
            known = self._desired.get(key)
            return known is not None and known.uid == uid

    def route_removed(self, route: Route, *, remove: bool) -> None:
        """A Route is deleted, or no longer served by this router.

        Args:
            route: as it was when it was judged last.
            remove: take our entry out of its status, should it still exist. Not one that says
                something else than ours did: then another router of this name has taken over.
        """
        key, uid = route.key, route.uid
        with self._lock:
            entry = self._contention.ours(uid)
            if (known := self._desired.get(key)) is not None and known.uid == uid:
                del self._desired[key]
                # Perhaps one from before the start, which was to be written anew.
                entry = entry or condition.own(route.status_ingress, self._router_name)
                self._missed.discard(key)
            self._discard(uid)
        if remove and entry is not None and self._enabled:
            self._put(key, OwnedEntry(key, uid, entry))

    def drop_requests(self) -> None:
        """Drop every status that was asked for, written or not, but those for Routes without any.

        The BIG-IP is no longer the active unit: the router of the active one tells the statuses, and an
        entry of its must not be set right.
        """
        with self._lock:
            self._desired = {key: wish for key, wish in self._desired.items() if wish.only_new}
            self._missed &= self._desired.keys()

    def route_updated(self, old: Route, new: Route) -> None:
        """A Route was read again. Our entry that somebody else changed or removed is set right later."""
        before, after = (condition.own(route.status_ingress, self._router_name) for route in (old, new))
        with self._lock:
            missed, changed = new.key in self._missed, not condition.same(before, after)
            self._missed.discard(new.key)
            wish = self._desired.get(new.key)
            if not (missed or changed) or wish is None or wish.uid != new.uid or self._is_over(wish, new):
                return
            by_others = changed and self._contention.changed(new.uid, after)
            self._say_contended(new.key)
        if by_others or missed:
            self._put(new.key, wish, self._repair_s if by_others else 0.0)

    def contended(self) -> int:
        """How many Routes are left alone, because another router of this name keeps changing them."""
        with self._lock:
            return self._contention.count()

    def pending(self) -> int:
        """How many Routes wait for their status to be looked at."""
        return len(self._pending)

    def flush(self, timeout_s: float, *, unless_forbidden: bool = False) -> bool:
        """Wait until nothing is left to write; False if that takes longer.

        Args: unless_forbidden: do not wait for a right that is missing, which may come later.
        """
        return self._pending.wait_empty(timeout_s, unless=self.refusal if unless_forbidden else None)

    def refusal(self) -> str:
        """Why what waits may not be written, with the command that grants it; "" when some of it may."""
        return self._troubles.refusal()

    def stop(self) -> None:
        """End the threads; what is not written yet is dropped."""
        self._pending.close()
        end = time.monotonic() + JOIN_S
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))

    def _submit(self, key: Key, wish: DesiredStatus) -> None:
        if not self._enabled:
            return
        with self._lock:
            known, self._desired[key] = self._desired.get(key), wish
            if known is not None and known.uid != wish.uid:
                self._discard(known.uid)
        self._put(key, wish)

    def _discard(self, uid: str) -> None:
        self._troubles.discard(uid)
        self._contention.discard(uid)

    def _put(self, key: Key, item: DesiredStatus | OwnedEntry, delay_s: float = 0.0) -> None:
        with self._lock:
            if not self._started:
                self._started = True
                for thread in self._threads:
                    thread.start()
        self._pending.put(key, item, delay_s)

    # --- the workers ---------------------------------------------------------------------

    def _work(self) -> None:
        while (item := self._pending.take()) is not None:
            retry_s = None
            try:
                retry_s = self._attempt(item)
            except Exception:  # the thread must outlive a bug
                log.exception("status writer failed", extra={"route": str(item.key)})
            finally:
                self._pending.done(item, retry_s)

    def _attempt(self, item: WorkItem[Key]) -> float | None:
        """Write one status. Returns seconds until the next try, None when there is none."""
        self._troubles.begins(item)
        try:
            if isinstance(item.value, OwnedEntry):
                self.remove(item.value)
                return None
            retry_s = self._write(item.key, item.value)
        except KubeConflict as exc:
            self._count("conflict")
            log.debug("route was changed meanwhile", extra={"route": str(item.key), "error": str(exc)})
            return self._troubles.conflict(item)
        except KubeNotFound:
            self._troubles.answered(written=False)
            return None
        except (KubeInvalid, ResourceUnavailable, decode.DecodeError) as exc:
            self._count("refused")
            self._troubles.refused(item, exc)
            return None
        except KubeForbidden as exc:
            self._count("forbidden")
            return self._troubles.forbidden(item, exc)
        except KubeUnreachable as exc:
            self._count("unreachable")
            return self._troubles.unreachable(item, exc)
        if retry_s is None:
            self._troubles.discard(item.value.uid)
        return retry_s

    def _write(self, key: Key, wish: DesiredStatus) -> float | None:
        """Write if there is need. Returns seconds until another may be expected to have done so.

        Raises: KubeError.
        """
        if not self.is_requested(key, wish.uid):  # removed meanwhile; the watcher may know it still
            return None
        with self._lock:
            self._missed.add(key)  # before the look: it may come back just then
        if (route := self._cluster.route(key)) is None:
            return None
        with self._lock:
            self._missed.discard(key)
        if route.uid != wish.uid or self._is_over(wish, route):
            return None
        new = self._entries(route, wish)
        wait_s = self._wait_s(route, new)
        if new is None or wait_s != 0 or not self._pending.spend():
            return wait_s
        old, entry = (condition.own(ingress, self._router_name) for ingress in (route.status_ingress, new))
        assert entry is not None, "what is written has an entry of this router"
        with self._lock:
            self._contention.wrote(wish.uid, entry, old)
        begun = self._clock()
        try:
            written = self._routes.write(
                key, route.resource_version, new, lambda obj: self._for_newer(obj, wish))
        except KubeConflict:
            self._overtaken(route, begun)
            raise
        if written is not None:
            self._count("written")
            log.debug("status written", extra={"route": str(key), "status": wish.verdict.status})
        else:
            with self._lock:
                self._missed.add(key)
        self._succeeded(written)
        return None

    def _wait_s(self, route: Route, new: list[JSON] | None) -> float | None:
        """Seconds until this may be written: 0 for now, None if it need not or must not be."""
        old = condition.own(route.status_ingress, self._router_name)
        with self._lock:
            self._say_contended(route.key)
            if new is None:
                if old is not None:
                    self._contention.agrees(route.uid, old)
                self._lease.served()
                return None
            if self._contention.contended(route.uid, created=old is None):
                self.counts["contended"] += 1
                return None
            return self._lease.wait_s()

    def remove(self, found: OwnedEntry) -> bool:
        """Take our entry out of a Route that this router does not serve, at the rate of all writes.

        Returns: whether it was there, and as `found` says. Raises: KubeError.
        """
        if not self._pending.spend():
            return False
        written = owned_entries.remove(self._others, found, self._router_name)
        if written is not None:
            self._count("removed")
            log.info("status removed", extra={"route": str(found.key)})
        self._succeeded(written, observe=self._all_known)
        return written is not None

    def _succeeded(self, written: dict[str, Any] | None, *, observe: bool = True) -> None:
        self._troubles.answered(written=written is not None)
        if written is None:
            return
        with self._lock:
            self._lease.won()
        if observe:
            # The watch tells of it later; a wish that comes before would be judged by old entries.
            self._cluster.observe(decode.route(written))

    def _entries(self, route: Route, wish: DesiredStatus) -> list[JSON] | None:
        now = datetime.fromtimestamp(int(self._wall()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return condition.entries(
            route, wish.verdict, host=wish.host, router_name=self._router_name,
            canonical_hostname=self._canonical_hostname, now=now)

    def _for_newer(self, obj: dict[str, Any], wish: DesiredStatus) -> list[JSON] | None:
        """The same for an object that was read since."""
        route = decode.route(obj)
        self._cluster.observe(route)
        if route.uid != wish.uid or self._is_over(wish, route):
            return None
        return self._entries(route, wish)

    def _is_over(self, wish: DesiredStatus, route: Route) -> bool:
        return wish.only_new and condition.judged(route.status_ingress, self._router_name)

    # --- others who write ----------------------------------------------------------------

    def _overtaken(self, route: Route, begun: float) -> None:
        """Read a Route again, as the watch may be far behind; who wrote our entry goes on writing.

        Raises: KubeError.
        """
        obj = self._routes.read(route.key)
        if obj is None:
            return
        newer = decode.route(obj)
        self._cluster.observe(newer)
        ours = (condition.own(each.status_ingress, self._router_name) for each in (route, newer))
        if newer.uid == route.uid and not condition.same(*ours):
            with self._lock:
                self._lease.lost(begun)

    def _say_contended(self, key: Key) -> None:
        lasts = self._contention.lasts()
        if lasts and not self._said_contended:
            log.warning(
                "another router of the same name writes other statuses; give each a name of its own (--name)",
                extra={"router": self._router_name, "route": str(key)})
        elif self._said_contended and not lasts:
            log.info("no other router of the same name writes statuses", extra={"router": self._router_name})
        self._said_contended = lasts

    def _count(self, result: str) -> None:
        with self._lock:
            self.counts[result] += 1
