"""Writes warnings about Routes as Kubernetes Events, which `oc describe route` shows.

There is one Event per Route, reason and message; a repeated warning raises its count while it exists, which
is an hour or so after its last change. Its name is built from these, so that a restarted router, or a
replica, finds it again.
"""

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import quote

from f5router.kube.api import fields
from f5router.kube.api.connection import Connection
from f5router.kube.api.work_queue import WorkQueue
from f5router.kube.status.recent_events import RecentEvent, RecentEvents
from f5router.kube.watch.sources import ROUTES, Source
from f5router.model.cluster import Key, Route, Subject
from f5router.model.errors import (
    KubeConflict,
    KubeError,
    KubeForbidden,
    KubeNotFound,
    KubeNotLeader,
    KubeUnreachable,
)
from f5router.model.texts import bounded, rfc3339

log = logging.getLogger(__name__)

QUEUE_SIZE = 1000
"""Warnings queued at most; further ones are dropped, from the namespaces with the most."""

REMEMBERED_S = 600.0
"""How long the count of an Event is remembered."""

FORBIDDEN_S = 600.0
"""Pause after a refusal for want of rights; warnings are only logged meanwhile."""

NAME_LENGTH = 253
"""Characters, all of them ASCII, of the name of an object. Source: RFC 1123 as Kubernetes applies it."""

MESSAGE_BYTES = 1024
"""Limit of the API server, which it applies to Events of the newer form, with an eventTime.

Source: kubernetes/kubernetes, pkg/apis/core/validation/events.go: NoteLengthLimit. Its text says characters;
what it compares is Go's len, which counts bytes.
"""

TRIES = 3
"""Attempts to write one warning while the API server cannot be reached."""

COMPONENT = "f5router"
"""Source of the Events."""

WARNING = "Warning"
"""Type of the Events."""

JOIN_S = 0.9


class Involved(NamedTuple):
    """The object that a warning is about."""

    api_version: str
    kind: str
    key: Key
    uid: str
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class ObjectWarning:
    """A warning to write."""

    about: Involved
    reason: str
    message: str


class _Key(NamedTuple):
    """The identity of a warning that may be repeated."""

    namespace: str
    uid: str
    reason: str
    message: str


@dataclass(slots=True)
class WrittenEvent:
    """An Event that exists."""

    since: float
    """When it was written first, by the writer's clock."""
    count: int


class EventWriter:
    """Writes Events from a thread of its own; a warning may be lost, the caller never waits."""

    def __init__(self, connection: Connection, *, router_name: str = "",
                 route_source: Callable[[], Source] = lambda: ROUTES, rate_per_s: float = 10,
                 queue_size: int = QUEUE_SIZE, retry_s: float = 2.0,
                 clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time):
        """Arguments:
        router_name: routers of different names have Events of their own.
        route_source: returns the API that serves Routes.
        rate_per_s: requests per second.
        retry_s: wait before the next attempt if the API server cannot be reached, unless it asks for another.
        wall: seconds since the epoch, for the times in Events.
        """
        self._connection, self._router_name = connection, router_name
        self._size_limit, self._retry_s, self._clock, self._wall = queue_size, retry_s, clock, wall
        self._queue: WorkQueue[_Key] = WorkQueue(rate_per_s=rate_per_s, clock=clock)
        self._route_source = route_source
        self._written: dict[_Key, WrittenEvent] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="events", daemon=True)
        self._started, self._forbidden_until = False, float("-inf")
        self._forbidden_logged = False
        self.dropped = 0
        """Number of warnings not written: too many at a time, or refused by the API server."""
        self.recent = RecentEvents()
        """The Events that were written since the start."""
        self.on_written: Callable[[], None] = lambda: None
        """Called for each of them, in this object's thread."""

    def warn(self, route: Route, reason: str, message: str) -> None:
        """Warn about a Route; a repeated warning raises the count of the Event. Args: see warn_about."""
        self.warn_about(Involved(self._route_source().api_version, "Route", route.key, route.uid,
                                 route.resource_version), reason, message)

    def warn_about(self, about: Involved, reason: str, message: str) -> None:
        """Warn about an object; a repeated warning raises the count of the Event.

        Args: reason: a CamelCase word; message: a sentence, cut at MESSAGE_BYTES.
        """
        if self._clock() < self._forbidden_until:
            return
        message = bounded(message, MESSAGE_BYTES)
        with self._lock:
            if len(self._queue) >= self._size_limit:
                self.dropped += 1
                if not self._queue.make_room(about.key.namespace):
                    return
            if not self._started:
                self._started = True
                self._thread.start()
        key = _Key(about.key.namespace, about.uid, reason, message)
        self._queue.put(key, ObjectWarning(about, reason, message))

    def pending(self) -> int:
        """Count the queued warnings."""
        return len(self._queue)

    def flush(self, timeout_s: float) -> bool:
        """Wait until no warning is left to write; False if that takes longer."""
        return self._queue.wait_empty(timeout_s)

    def stop(self) -> None:
        """End the thread; queued warnings are lost."""
        self._queue.close()
        if self._thread.is_alive():
            self._thread.join(JOIN_S)

    def _work(self) -> None:
        while (item := self._queue.take()) is not None:
            retry_s = None
            try:
                if self._clock() >= self._forbidden_until and self._queue.spend():
                    self._write(item.key, item.value)
            except KubeForbidden as exc:
                self._refused(exc)
            except KubeNotLeader:
                log.debug("event left to the leader")
            except KubeUnreachable as exc:
                if item.failures + 1 < TRIES:
                    retry_s = exc.retry_after_s or self._retry_s
                else:
                    self._drop(exc)
            except KubeError as exc:
                self._drop(exc)
            except Exception:  # the thread must outlive a bug
                log.exception("event writer failed")
            finally:
                self._queue.done(item, retry_s)

    def _refused(self, exc: KubeForbidden) -> None:
        self._forbidden_until = self._clock() + FORBIDDEN_S
        if not self._forbidden_logged:
            self._forbidden_logged = True
            log.warning("events not written", extra={"error": str(exc)})

    def _drop(self, exc: KubeError) -> None:
        with self._lock:
            self.dropped += 1
        log.info("event dropped", extra={"error": str(exc)})

    def _write(self, key: _Key, warning: ObjectWarning) -> None:
        """Write a warning as an Event. Raises: KubeError."""
        self._forget_old()
        at = self._wall()
        count = self._count(key, warning, rfc3339(at))
        self.recent.record(Subject(warning.about.kind, warning.about.key), key.uid,
                           RecentEvent(at, WARNING, key.reason, key.message, count))
        self.on_written()

    def _count(self, key: _Key, warning: ObjectWarning, now: str) -> int:
        """Write a warning as a new Event, or raise the count of the old one; return the count.

        Raises: KubeError.
        """
        path = f"/api/v1/namespaces/{quote(warning.about.key.namespace, safe='')}/events"
        event = self._event(warning, now)
        name = event["metadata"]["name"]
        if (known := self._written.get(key)) is not None:
            try:
                self._patch(path, name, {"count": known.count + 1, "lastTimestamp": now})
                known.count += 1
                return known.count
            except KubeNotFound:  # the API server deletes Events after an hour or so
                del self._written[key]
        try:
            self._connection.request("POST", path, body=event)
            count = 1
        except KubeConflict:  # written before a restart, or by a replica
            count = self._increase(path, name, now)
        self._forbidden_logged = False
        self._written[key] = WrittenEvent(self._clock(), count)
        return count

    def _increase(self, path: str, name: str, now: str) -> int:
        """Raise the unknown count of an Event, without the right to read it; return the count."""
        event = fields.mapping(self._patch(path, name, {"lastTimestamp": now}))
        count = (fields.integer(event.get("count")) or 1) + 1
        self._patch(path, name, {"count": count})
        return count

    def _patch(self, path: str, name: str, fields: dict[str, Any]) -> object:
        return self._connection.request("PATCH", f"{path}/{quote(name, safe='')}", body=fields,
                                        content_type="application/merge-patch+json")

    def _event(self, warning: ObjectWarning, now: str) -> dict[str, Any]:
        about = warning.about
        identity = (COMPONENT, self._router_name, about.uid, warning.reason, warning.message)
        suffix = f".{hashlib.sha256(repr(identity).encode()).hexdigest()[:16]}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": about.key.namespace,
                         "name": about.key.name[:NAME_LENGTH - len(suffix)] + suffix},
            "involvedObject": {"apiVersion": about.api_version, "kind": about.kind,
                               "namespace": about.key.namespace, "name": about.key.name,
                               "uid": about.uid, "resourceVersion": about.resource_version},
            "reason": warning.reason,
            "message": warning.message,
            "type": WARNING,
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": COMPONENT},
            "reportingComponent": COMPONENT,
            "reportingInstance": self._router_name,
        }

    def _forget_old(self) -> None:
        """Forget old Events, which are in the order of their creation."""
        while self._written:
            key = next(iter(self._written))
            if self._clock() - self._written[key].since < REMEMBERED_S:
                return
            del self._written[key]
