"""Route status: the newest wish for each Route, written until the API server has it."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from f5router import status
from f5router.cluster import Key, Route
from f5router.errors import (
    KindNotServed,
    KubeConflict,
    KubeForbidden,
    KubeNotFound,
    KubeRefused,
    KubeUnreachable,
)
from f5router.kube import backoff, decode
from f5router.kube.connection import Connection
from f5router.kube.pending import Job, Pending
from f5router.kube.watch import Cluster

log = logging.getLogger(__name__)

FORBIDDEN_S = 60.0
"""Pause of all writing after a refusal for want of rights."""

CONFLICT_BACKOFF_S = (0.02, 10.0)
"""First and longest wait after a conflict with another writer of the same Route."""

TROUBLE_BACKOFF_S = (0.5, 60.0)
"""First and longest wait after 429, 5xx or no reply."""

JOIN_S = 0.9


@dataclass(frozen=True, slots=True)
class Wish:
    """What the status of a Route should say."""

    uid: str
    verdict: status.Verdict
    host: str


class StatusWriter:
    """Writes the router's entry of status.ingress; entries of other routers are never lost."""

    def __init__(self, connection: Connection, cluster: Cluster, *, router_name: str,
                 canonical_hostname: str = "", rate_per_s: float = 20, workers: int = 1,
                 enabled: bool = True, forbidden_s: float = FORBIDDEN_S,
                 clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time):
        """Arguments:
        rate_per_s: writes per second, all workers together; what needs no write costs nothing.
        enabled: False makes submit() do nothing (--update-status=false).
        wall: seconds since the epoch, for lastTransitionTime.
        """
        self._connection, self._cluster = connection, cluster
        self._router_name, self._canonical_hostname = router_name, canonical_hostname
        self._enabled, self._forbidden_s, self._wall = enabled, forbidden_s, wall
        self._pending = Pending(rate_per_s=rate_per_s, clock=clock)
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._work, name=f"status-{number}", daemon=True)
                         for number in range(workers)]
        self._started = False
        self._patch_is_forbidden = False
        self._forbidden = ""
        self._refused: dict[str, str] = {}
        self._troubles = 0

    def submit(self, key: Key, uid: str, verdict: status.Verdict, host: str) -> None:
        """Ask for a status. The newest wish for a Route wins; nothing is sent that is so already.

        Args: uid: of the Route that was judged: another one of the same name is left alone.
        """
        if not self._enabled:
            return
        with self._lock:
            if not self._started:
                self._started = True
                for thread in self._threads:
                    thread.start()
        self._pending.put(key, Wish(uid, verdict, host))

    def pending(self) -> int:
        """How many Routes wait for their status to be looked at."""
        return len(self._pending)

    def flush(self, timeout_s: float, *, unless_forbidden: bool = False) -> bool:
        """Wait until nothing is left to write; False if that takes longer.

        Args: unless_forbidden: do not wait for a right that is missing, which may come later.
        """
        return self._pending.wait_empty(timeout_s, unless=self.refusal if unless_forbidden else None)

    def refusal(self) -> str:
        """Why statuses may not be written, with the command that grants it; "" when they may."""
        return self._forbidden

    def stop(self) -> None:
        """End the threads; what is not written yet is dropped."""
        self._pending.close()
        end = time.monotonic() + JOIN_S
        for thread in self._threads:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))

    def _work(self) -> None:
        while (job := self._pending.take()) is not None:
            retry_s = None
            try:
                retry_s = self._attempt(job)
            except Exception:  # the thread must outlive a bug
                log.exception("status writer failed", extra={"route": str(job.key)})
            finally:
                self._pending.done(job, retry_s)

    def _attempt(self, job: Job) -> float | None:
        """Write one status. Returns seconds until the next try, None when there is none."""
        try:
            self._write(job.key, job.item)
        except KubeConflict as exc:
            log.debug("route was changed meanwhile", extra={"route": str(job.key), "error": str(exc)})
            return _delay_s(CONFLICT_BACKOFF_S, job.failures + 1)
        except KubeNotFound:
            return None
        except (KubeRefused, KindNotServed, decode.DecodeError) as exc:
            self._say_refused(job, str(exc))
            return None
        except KubeForbidden as exc:
            return self._wait_for_right(exc)
        except KubeUnreachable as exc:
            return self._wait_for_server(job, exc)
        self._refused.pop(job.item.uid, None)
        return None

    def _write(self, key: Key, wish: Wish) -> None:
        """Raises: KubeError."""
        route = self._cluster.route(key)
        if route is None or route.uid != wish.uid:
            return
        new = self._entries(route, wish)
        if new is None or not self._pending.spend():
            return
        try:
            written = self._patch(route, new) or self._update(key, wish)
        except KubeConflict:
            self._read(key)  # the watch may be far behind
            raise
        self._troubles, self._forbidden = 0, ""
        if written is not None:
            # The watch tells of it later; a wish that comes before would be judged by old entries.
            self._cluster.observe(decode.route(written))
            log.debug("status written", extra={"route": str(key), "admitted": wish.verdict.admitted})

    def _entries(self, route: Route, wish: Wish) -> list[dict] | None:
        now = datetime.fromtimestamp(int(self._wall()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return status.entries(
            route, wish.verdict, host=wish.host, router_name=self._router_name,
            canonical_hostname=self._canonical_hostname, now=now)

    def _patch(self, route: Route, new: list[dict]) -> dict | None:
        """The patched object; None when patches are forbidden.

        With the resourceVersion that the entries were made from: an entry that another router
        wrote since makes a conflict instead of being lost.
        """
        if self._patch_is_forbidden:
            return None
        body = {"metadata": {"resourceVersion": route.resource_version}, "status": {"ingress": new}}
        try:
            return self._connection.request(
                "PATCH", _status_path(route.key), body=body, content_type="application/merge-patch+json")
        except KubeForbidden as exc:
            log.info("patch is forbidden, trying update", extra={"error": str(exc)})
            self._patch_is_forbidden = True
            return None

    def _update(self, key: Key, wish: Wish) -> dict | None:
        """The object after an update, which OpenShift 3's role system:router allows; None: no need.

        The whole object goes back as it was read, private key included; nothing of it is logged.
        """
        obj = self._read(key)
        if obj is None:
            return None
        route = decode.route(obj)
        new = self._entries(route, wish) if route.uid == wish.uid else None
        if new is None:
            return None
        held = obj.get("status") if isinstance(obj.get("status"), dict) else {}
        body = {"apiVersion": "route.openshift.io/v1", "kind": "Route", **obj,
                "status": {**held, "ingress": new}}
        try:
            return self._connection.request("PUT", _status_path(key), body=body)
        except KubeForbidden:
            self._patch_is_forbidden = False  # either right may be granted later
            raise

    def _read(self, key: Key) -> dict | None:
        """The newest object, None if it is gone. A list: system:router has no right to get one.

        Raises: KubeError.
        """
        found = self._connection.request(
            "GET", _collection_path(key), query={"fieldSelector": f"metadata.name={key.name}"})
        items = found.get("items") if isinstance(found, dict) else None
        if not items:
            return None
        self._cluster.observe(decode.route(items[0]))
        return items[0]

    def _say_refused(self, job: Job, text: str) -> None:
        if self._refused.get(job.item.uid) != text:
            self._refused[job.item.uid] = text
            log.error("status refused", extra={"route": str(job.key), "error": text})

    def _wait_for_right(self, exc: KubeForbidden) -> float:
        if not self._forbidden:
            log.error("status cannot be written", extra={"error": str(exc)})
        self._forbidden = str(exc)
        self._pending.pause(self._forbidden_s)
        return self._forbidden_s

    def _wait_for_server(self, job: Job, exc: KubeUnreachable) -> float:
        """Pause all writing by troubles in a row, and this Route by its own, so others go first."""
        self._troubles += 1
        log.warning("status not written yet", extra={"route": str(job.key), "error": str(exc)})
        self._pending.pause(_delay_s(TROUBLE_BACKOFF_S, self._troubles, exc.retry_after_s))
        return _delay_s(TROUBLE_BACKOFF_S, job.failures + 1, exc.retry_after_s)


def _delay_s(limits: tuple[float, float], failures: int, retry_after_s: float | None = None) -> float:
    return backoff.delay_s(failures, first_s=limits[0], limit_s=limits[1], retry_after_s=retry_after_s)


def _collection_path(key: Key) -> str:
    return f"/apis/route.openshift.io/v1/namespaces/{quote(key.namespace, safe='')}/routes"


def _status_path(key: Key) -> str:
    return f"{_collection_path(key)}/{quote(key.name, safe='')}/status"
