"""Writes fields of the status of custom resources: the newest ones for each object, until they are there.

The resource need not have a sub-resource `status`: Contour's IngressRoute has none, so its status is a field
like others, and a patch of the object itself writes it. Where the CRD has one, such a patch is accepted and
changes nothing, which its reply shows.
"""

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

from f5router.kube.api import fields
from f5router.kube.api.connection import Connection
from f5router.kube.api.work_queue import WorkItem, WorkQueue
from f5router.kube.settings import StatusSettings, StatusTiming
from f5router.kube.status import status_request
from f5router.kube.status.status_request import RetryPolicy
from f5router.kube.watch.sources import Source
from f5router.model.cluster import Key
from f5router.model.json_types import JSON
from f5router.model.known_status import KnownStatus

JOIN_S = 0.9
RESULTS = ("written", "conflict", "refused", "forbidden", "unreachable")


@dataclass(frozen=True, slots=True)
class DesiredFields:
    """Fields of the status that an object should have."""

    uid: str
    status: JSON | Callable[[JSON], JSON]
    """The fields, or a function that makes them of the status as it is: others write to the same lists."""

    def fields(self, known: JSON) -> JSON:
        """Return the fields. Args: known: the status as it is."""
        return self.status(known) if callable(self.status) else self.status


class ObjectStatusWriter:
    """A thread that writes; the caller never waits."""

    def __init__(self, connection: Connection, source: Source, kind: str, settings: StatusSettings,
                 known: Callable[[Key], KnownStatus | None], *, timing: StatusTiming | None = None,
                 subresource: str = "", served: Callable[[], Source] | None = None):
        """Arguments:
        known: returns the newest reading of an object; None if it is gone.
        subresource: "/status" for a kind that has one for certain.
        served: returns the API that serves the kind, where it has a fallback.
        """
        self._connection, self._source, self._known = connection, served or (lambda: source), known
        self._enabled, self._subresource = settings.enabled, subresource
        timing = timing or StatusTiming()
        self._queue: WorkQueue[Key] = WorkQueue(
            rate_per_s=settings.rate_per_s, first_per_s=timing.first_per_s)
        self._retries = RetryPolicy(self._queue, connection.outages, timing=timing,
                                    resource=source.resource, kind=kind)
        self._thread = threading.Thread(target=self._work, name=f"status-{source.resource}", daemon=True)
        self._lock, self._started = threading.Lock(), False
        self._written: dict[Key, KnownStatus] = {}
        """Objects as the API server returned them, until the watch has them."""
        self.counts = Counter(dict.fromkeys(RESULTS, 0))
        """Attempts to write, by result."""

    def submit(self, key: Key, uid: str, status: JSON | Callable[[JSON], JSON]) -> None:
        """Request fields of a status; the newest request for an object wins.

        Args: uid: of the object that was evaluated: another one of the same name is left alone.
        """
        if not self._enabled:
            return
        with self._lock:
            if not self._started:
                self._started = True
                self._thread.start()
        self._queue.put(key, DesiredFields(uid, status))

    def discard(self, key: Key) -> None:
        """Forget an object that is gone."""
        with self._lock:
            self._written.pop(key, None)

    def pending(self) -> int:
        """Count the objects whose status waits to be written."""
        return len(self._queue)

    def flush(self, timeout_s: float, *, unless_forbidden: bool = False) -> bool:
        """Wait until nothing is left to write; False if that takes longer. Args: see StatusWriter.flush."""
        return self._queue.wait_empty(timeout_s, unless=self.refusal if unless_forbidden else None)

    def refusal(self) -> str:
        """Return why no queued status may be written; "" if some may."""
        return self._retries.refusal()

    def stop(self) -> None:
        """End the thread; queued statuses are dropped."""
        self._queue.close()
        if self._thread.is_alive():
            self._thread.join(JOIN_S)

    def _newest(self, key: Key, desired: DesiredFields) -> KnownStatus | None:
        """Return the status of an object, as the watch or a later reply shows it; None if it is gone."""
        if (known := self._known(key)) is None or known.uid != desired.uid:
            return None
        with self._lock:
            written = self._written.get(key)
            if written is not None and written.uid == known.uid and known.version < written.version:
                return written
            self._written.pop(key, None)
        return known

    def _work(self) -> None:
        status_request.work(self._queue, self._retries, self._attempt, self._count)

    def _attempt(self, item: WorkItem[Key]) -> None:
        """Write one status, if it differs. Raises: KubeError."""
        if (known := self._newest(item.key, item.value)) is not None:
            wanted = item.value.fields(known.status)
            differs = any(known.status.get(name) != value for name, value in wanted.items())
            if differs and self._queue.spend():
                version = str(known.version) if callable(item.value.status) and known.version else ""
                self._write(item.key, item.value.uid, wanted, version)
                self._count("written")
                self._retries.answered(written=True)
        self._retries.discard(item.value.uid)

    def _write(self, key: Key, uid: str, wanted: JSON, version: str) -> None:
        """Patch the status, with the uid, and a version if given, as conditions. Raises: KubeError."""
        reply = self._patch(key, uid, wanted, version)
        if not self._subresource and _lacks(reply, wanted):
            self._subresource = "/status"
            reply = self._patch(key, uid, wanted, version)
        newest = fields.resource_version(reply)
        with self._lock:
            if newest.isdecimal():
                self._written[key] = KnownStatus(uid, int(newest), _status(reply))

    def _patch(self, key: Key, uid: str, wanted: JSON, version: str) -> object:
        path = f"{self._source().path(key.namespace)}/{quote(key.name, safe='')}{self._subresource}"
        metadata = {"uid": uid} | ({"resourceVersion": version} if version else {})
        return self._connection.request("PATCH", path, body={"metadata": metadata, "status": wanted},
                                        content_type="application/merge-patch+json")

    def _count(self, result: str) -> None:
        with self._lock:
            self.counts[result] += 1


def _status(reply: object) -> JSON:
    return fields.mapping(fields.mapping(reply).get("status"))


def _lacks(reply: object, status: JSON) -> bool:
    """True if an object does not have these fields of a status."""
    return any(_status(reply).get(name) != value for name, value in status.items())
