"""Warnings about Routes as Kubernetes Events, which `oc describe route` shows."""

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from f5router.cluster import Route
from f5router.errors import KubeError, KubeForbidden, KubeNotFound, KubeUnreachable
from f5router.kube.connection import Connection
from f5router.kube.pending import Pending

log = logging.getLogger(__name__)

QUEUE_SIZE = 1000
"""Warnings that wait; more are dropped."""

REPEAT_S = 600.0
"""How long the same warning counts up one Event instead of making another."""

NAME_LENGTH = 253
MESSAGE_LENGTH = 1024
"""Characters that the API server allows."""

TRIES = 3
"""Of one warning, while the API server cannot be reached."""

JOIN_S = 0.9


@dataclass(frozen=True, slots=True)
class Warned:
    """A warning to write."""

    route: Route
    reason: str
    message: str


@dataclass(slots=True)
class Sent:
    """An Event that exists."""

    name: str
    since: float
    """Time of its creation, by the writer's clock."""
    count: int = 1


class EventWriter:
    """Writes Events from a thread of its own; a warning may be lost, the caller never waits."""

    def __init__(self, connection: Connection, component: str = "f5router", *, rate_per_s: float = 10,
                 queue_size: int = QUEUE_SIZE, retry_s: float = 2.0,
                 clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time):
        """Arguments:
        component: source of the Events.
        rate_per_s: requests per second.
        retry_s: seconds to the next try when the API server cannot be reached and does not say.
        wall: seconds since the epoch, for the times in Events.
        """
        self._connection, self._component = connection, component
        self._queue_size, self._retry_s, self._clock, self._wall = queue_size, retry_s, clock, wall
        self._pending = Pending(rate_per_s=rate_per_s, clock=clock)
        self._sent: dict[tuple[str, str, str], Sent] = {}
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="events", daemon=True)
        self._started = self._disabled = False
        self.dropped = 0
        """Warnings that were not written: too many at a time, or the API server refused."""

    def warn(self, route: Route, reason: str, message: str) -> None:
        """Warn about a Route; the same again within ten minutes raises the count of the Event.

        Args: reason: a CamelCase word; message: a sentence, cut at 1024 characters.
        """
        if self._disabled:
            return
        message = message[:MESSAGE_LENGTH]
        with self._lock:
            if len(self._pending) >= self._queue_size:
                self.dropped += 1
                return
            if not self._started:
                self._started = True
                self._thread.start()
        self._pending.put((route.uid, reason, message), Warned(route, reason, message))

    def pending(self) -> int:
        """How many warnings wait."""
        return len(self._pending)

    def flush(self, timeout_s: float) -> bool:
        """Wait until no warning is left to write; False if that takes longer."""
        return self._pending.wait_empty(timeout_s)

    def stop(self) -> None:
        """End the thread; what is not written yet is lost."""
        self._pending.close()
        if self._thread.is_alive():
            self._thread.join(JOIN_S)

    def _work(self) -> None:
        while (job := self._pending.take()) is not None:
            retry_s = None
            try:
                if not self._disabled and self._pending.spend():
                    self._write(job.key, job.item)
            except KubeForbidden as exc:
                self._disabled = True
                log.warning("events cannot be written", extra={"error": str(exc)})
            except KubeUnreachable as exc:
                if job.failures + 1 < TRIES:
                    retry_s = exc.retry_after_s or self._retry_s
                else:
                    self._drop(exc)
            except KubeError as exc:
                self._drop(exc)
            except Exception:  # the thread must outlive a bug
                log.exception("event writer failed")
            finally:
                self._pending.done(job, retry_s)

    def _drop(self, exc: KubeError) -> None:
        with self._lock:
            self.dropped += 1
        log.info("event dropped", extra={"error": str(exc)})

    def _write(self, key: tuple[str, str, str], warned: Warned) -> None:
        """Raises: KubeError."""
        self._forget_old()
        now = datetime.fromtimestamp(int(self._wall()), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        path = f"/api/v1/namespaces/{quote(warned.route.key.namespace, safe='')}/events"
        if (sent := self._sent.get(key)) is not None:
            try:
                self._connection.request(
                    "PATCH", f"{path}/{quote(sent.name, safe='')}",
                    body={"count": sent.count + 1, "lastTimestamp": now},
                    content_type="application/merge-patch+json")
                sent.count += 1
                return
            except KubeNotFound:  # events are kept for an hour or so, or were deleted
                del self._sent[key]
        event = self._event(warned, now)
        self._connection.request("POST", path, body=event)
        self._sent[key] = Sent(event["metadata"]["name"], self._clock())

    def _event(self, warned: Warned, now: str) -> dict:
        route = warned.route
        suffix = f".{secrets.token_hex(8)}"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"namespace": route.key.namespace,
                         "name": route.key.name[:NAME_LENGTH - len(suffix)] + suffix},
            "involvedObject": {"apiVersion": "route.openshift.io/v1", "kind": "Route",
                               "namespace": route.key.namespace, "name": route.key.name,
                               "uid": route.uid, "resourceVersion": route.resource_version},
            "reason": warned.reason,
            "message": warned.message,
            "type": "Warning",
            "count": 1,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "source": {"component": self._component},
            "reportingComponent": self._component,
            "reportingInstance": "",
        }

    def _forget_old(self) -> None:
        """Drop what is too old to be repeated: entries are in the order of their creation."""
        while self._sent:
            key = next(iter(self._sent))
            if self._clock() - self._sent[key].since < REPEAT_S:
                return
            del self._sent[key]
