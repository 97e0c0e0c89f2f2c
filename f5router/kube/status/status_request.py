"""Reads and writes the status of one Route on the API server, and decides how a failed write is retried."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import quote

from f5router.admission import condition
from f5router.kube.api import decode, fields
from f5router.kube.api.connection import Connection
from f5router.kube.api.counts import Outages
from f5router.kube.api.work_queue import WorkItem, WorkQueue
from f5router.kube.settings import StatusTiming
from f5router.kube.watch.sources import Source
from f5router.model.cluster import Key
from f5router.model.errors import (
    KubeConflict,
    KubeForbidden,
    KubeInvalid,
    KubeNotFound,
    KubeNotLeader,
    KubeUnreachable,
    ResourceUnavailable,
)
from f5router.model.json_types import JSON
from f5router.model.limits import Backoff
from f5router.sources.settings import ROUTE

log = logging.getLogger(__name__)

CONFLICT_BACKOFF = Backoff(first_s=0.02, limit_s=10.0)
"""Waits after a conflict with another writer of the same Route."""

BACKOFF = Backoff(first_s=0.5, limit_s=60.0)
"""Waits after 429, 5xx or no reply."""

FAILED_PAUSE_S = 0.25
"""Pause of the whole queue after a 500, which may concern one Route only: a webhook that cannot be called."""

Ingress = list[JSON]


@dataclass(frozen=True, slots=True)
class OwnedEntry:
    """Part of the status of an object that a router wrote: in a Route, an entry of its name."""

    key: Key
    uid: str
    entry: JSON
    """The first one, if there are several."""


class RouteStatus:
    """Requests on status.ingress; safe to use from several threads."""

    def __init__(self, connection: Connection, source: Callable[[], Source], *, labels: str = "",
                 fields: str = ""):
        """Arguments:
        source: the API that serves Routes.
        labels, fields: selectors that limit the Routes read; "" for all.
        """
        self._connection, self._source = connection, source
        self._labels, self._fields = labels, fields
        self._patch_is_forbidden = False

    def read(self, key: Key) -> dict[str, Any] | None:
        """Return the newest object, None if it is gone or not selected.

        It is a list that is requested: the role system:router may not get single Routes.

        Raises: KubeError.
        """
        query = {"fieldSelector": ",".join(filter(None, (f"metadata.name={key.name}", self._fields)))}
        if self._labels:
            query["labelSelector"] = self._labels
        reply = self._connection.request("GET", self._source().path(key.namespace), query=query)
        items = fields.items(fields.mapping(reply).get("items"))
        return items[0] if items else None

    def write(self, key: Key, version: str, ingress: Ingress,
              renew: Callable[[dict[str, Any]], Ingress | None]) -> dict[str, Any] | None:
        """Replace status.ingress; returns the object as it is then, None if nothing was to be changed.

        Args:
            version: resourceVersion from which ingress was computed: an entry that another router wrote
                since causes a conflict instead of being lost.
            renew: computes ingress for a newer object, None for no change; called where only a
                whole object may be written.
        Raises: KubeError: KubeConflict: the object has changed meanwhile.
        """
        if not self._patch_is_forbidden:
            body = {"metadata": {"resourceVersion": version}, "status": {"ingress": ingress}}
            try:
                written: dict[str, Any] | None = self._connection.request(
                    "PATCH", self._status_path(key), body=body,
                    content_type="application/merge-patch+json")
                return written
            except KubeForbidden as exc:
                log.info("patch forbidden, trying update", extra={"error": str(exc)})
                self._patch_is_forbidden = True
        return self._update(key, renew)

    def _update(self, key: Key, renew: Callable[[dict[str, Any]], Ingress | None]) -> dict[str, Any] | None:
        """Update the object, which OpenShift 3's role system:router allows; None if nothing has to change.

        The whole object goes back as it was read, private key included; nothing of it is logged.
        """
        obj = self.read(key)
        if obj is None or (ingress := renew(obj)) is None:
            return None
        body = {"apiVersion": self._source().api_version, "kind": "Route", **obj,
                "status": {**fields.mapping(obj.get("status")), "ingress": ingress}}
        try:
            whole: dict[str, Any] | None = self._connection.request("PUT", self._status_path(key), body=body)
            return whole
        except KubeForbidden:
            self._patch_is_forbidden = False  # either right may be granted later
            raise

    def _status_path(self, key: Key) -> str:
        return f"{self._source().path(key.namespace)}/{quote(key.name, safe='')}/status"


def remove_entry(routes: RouteStatus, owned: OwnedEntry, router_name: str, *,
                 unchanged: bool = True) -> dict[str, Any] | None:
    """Remove the entries of a router name from a Route; returns the Route as it is then.

    None if there is nothing to remove: the Route is gone or another one, or has no such entry.
    Args: unchanged: keep an entry that differs from `owned` by now: somebody else maintains it.
    Raises: KubeError: KubeConflict: the Route was changed meanwhile; to be tried again.
    """
    def without_entry(obj: JSON) -> list[JSON] | None:
        entry = condition.own(decode.ingress(obj), router_name)
        if fields.uid(obj) != owned.uid or entry is None:
            return None
        if unchanged and not condition.same(entry, owned.entry):
            return None
        return condition.without(decode.ingress(obj), router_name)

    obj = routes.read(owned.key)
    ingress = None if obj is None else without_entry(obj)
    if ingress is None:
        return None
    return routes.write(owned.key, fields.resource_version(obj), ingress, without_entry)


class Retry(NamedTuple):
    """Decides when a failed write is retried."""

    after_s: float
    parked: bool = False
    """True if nobody waits for that: the API server has answered, and will probably answer the same."""


class RetryPolicy:
    """Decides after a failed write how long the object waits, and whether the whole queue does; thread-safe.

    An error of one Route, or other object, delays only that one; an API-wide error pauses the queue.
    """

    def __init__(self, queue: WorkQueue[Key], outages: Outages, *, timing: StatusTiming, resource: str,
                 kind: str = ROUTE):
        """Args: resource: the one whose status is written; kind: of its objects, for the log."""
        self._queue, self._outages, self._timing = queue, outages, timing
        self._kind, self._user = kind, f"{resource}/status"
        self._lock = threading.Lock()
        self._logged: dict[str, str] = {}
        """The error logged for a Route, by uid, until a write succeeds."""
        self._forbidden_logged = False
        self._forbidden: dict[Key, str] = {}
        """Routes whose last attempt was forbidden, with the reason."""
        self._forbidden_in_a_row = self._unreachable_in_a_row = 0

    def started(self, item: WorkItem[Key]) -> None:
        """Record that a Route is tried again."""
        with self._lock:
            self._forbidden.pop(item.key, None)

    def answered(self, *, written: bool) -> None:
        """Record a write that the API server accepted. Args: written: it changed something."""
        with self._lock:
            self._unreachable_in_a_row = 0
            if written:
                self._forbidden_in_a_row, self._forbidden_logged = 0, False
        if written:
            self._queue.accepted()
        self._outages.answered(self._user)

    def conflict(self, item: WorkItem[Key]) -> Retry:
        """Record that the Route was changed in the meantime."""
        self._outages.answered(self._user)
        return Retry(CONFLICT_BACKOFF.jittered_s(item.failures + 1))

    def refused(self, item: WorkItem[Key], exc: Exception) -> Retry:
        """Record that the API server does not accept this status: it is tried again ever more rarely."""
        self._outages.answered(self._user)
        self._log_once(item, "status refused", str(exc))
        return Retry(self._timing.refused.jittered_s(item.failures + 1), parked=True)

    def forbidden(self, item: WorkItem[Key], exc: KubeForbidden) -> Retry:
        """Pause the queue if the second write in a row is forbidden: not only in one Route's namespace."""
        self._outages.answered(self._user)
        with self._lock:
            self._forbidden_in_a_row += 1
            self._forbidden[item.key] = str(exc)
            logged, self._forbidden_logged = self._forbidden_logged, True
            is_general = self._forbidden_in_a_row > 1
        if not logged:
            self._log_once(item, "status not written", str(exc))
        if is_general:
            self._queue.pause(self._timing.forbidden_s)
        return Retry(self._timing.forbidden_s)

    def unreachable(self, item: WorkItem[Key], exc: KubeUnreachable) -> Retry:
        """Back off the queue by consecutive failures, and this Route by its own count."""
        delay_s = BACKOFF.jittered_s(item.failures + 1, exc.retry_after_s)
        if exc.status == HTTPStatus.INTERNAL_SERVER_ERROR:
            self._log_once(item, "status not written yet", str(exc))
            self._queue.pause(FAILED_PAUSE_S)
            return Retry(delay_s)
        with self._lock:
            self._unreachable_in_a_row += 1
            failures = self._unreachable_in_a_row
        self._queue.refused()
        self._outages.failed(self._user, exc)
        self._queue.pause(BACKOFF.jittered_s(failures, exc.retry_after_s))
        return Retry(delay_s)

    def discard(self, uid: str) -> None:
        """Forget the errors of a Route whose status is up to date, or that this router no longer serves."""
        with self._lock:
            self._logged.pop(uid, None)

    def refusal(self) -> str:
        """Return why no queued status may be written, with the command that grants it; "" if some may."""
        waiting = len(self._queue)
        with self._lock:
            if self._forbidden_in_a_row > 1 or waiting <= len(self._forbidden):
                return next(iter(self._forbidden.values()), "")
        return ""

    def _log_once(self, item: WorkItem[Key], message: str, error: str) -> None:
        """Log an error of one Route, once until a write succeeds."""
        with self._lock:
            is_new = self._logged.get(item.value.uid) != error
            self._logged[item.value.uid] = error
        if is_new:
            log.error(message, extra={**self.about(item), "error": error})

    def about(self, item: WorkItem[Key]) -> dict[str, str]:
        """Return the fields of a log line that name an object."""
        name = str(item.key)
        return {"route": name} if self._kind == ROUTE else {"kind": self._kind, "object": name}


def work(queue: WorkQueue[Key], retries: RetryPolicy, write: Callable[[WorkItem[Key]], None],
         count: Callable[[str], None]) -> None:
    """Write queued statuses until the queue is closed.

    Args:
        write: writes one. Raises: KubeError, DecodeError.
        count: called with the result of an attempt that failed.
    """
    while (item := queue.take()) is not None:
        retry = None
        try:
            retry = _attempt(item, retries, write, count)
        except Exception:  # the thread must outlive a bug
            log.exception("status writer failed", extra=retries.about(item))
        finally:
            if retry is None:
                queue.done(item)
            else:
                queue.done(item, retry.after_s, parked=retry.parked)


def _attempt(item: WorkItem[Key], retries: RetryPolicy, write: Callable[[WorkItem[Key]], None],
             count: Callable[[str], None]) -> Retry | None:
    """Write one status. Returns when it is tried again, None if it is not."""
    retries.started(item)
    try:
        write(item)
    except KubeConflict as exc:
        count("conflict")
        log.debug("status changed meanwhile", extra={**retries.about(item), "error": str(exc)})
        return retries.conflict(item)
    except KubeNotFound:
        retries.answered(written=False)
    except (KubeInvalid, ResourceUnavailable, fields.DecodeError) as exc:
        count("refused")
        return retries.refused(item, exc)
    except KubeForbidden as exc:
        count("forbidden")
        return retries.forbidden(item, exc)
    except KubeNotLeader:
        log.debug("status left to the leader", extra=retries.about(item))
    except KubeUnreachable as exc:
        count("unreachable")
        return retries.unreachable(item, exc)
    return None
