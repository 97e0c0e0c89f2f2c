"""One kind of object, kept up to date in a Store: list, watch, and again when the watch ends.

A kind that may be read but not watched is read periodically instead.
"""

import logging
import random
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from f5router.kube.api import api_errors, fields
from f5router.kube.api.connection import PLAIN, Connection, LineStream
from f5router.kube.api.counts import FAILURES, LISTS, WATCHES
from f5router.kube.api.documents import Document, UnreadableDocument
from f5router.kube.api.requests import Collection
from f5router.kube.settings import WatchTiming
from f5router.kube.watch.sources import Source, choose_served, is_absent, is_served
from f5router.kube.watch.store import Value
from f5router.model.cluster import Key
from f5router.model.errors import (
    KubeError,
    KubeForbidden,
    KubeInvalid,
    KubeNotFound,
    KubeUnreachable,
    ResourceExpired,
    ResourceUnavailable,
)
from f5router.model.json_types import JSON
from f5router.model.limits import is_mass

log = logging.getLogger(__name__)

METADATA, METADATA_LIST = (
    f"application/json;as={kind};g=meta.k8s.io;v=v1,application/json"
    for kind in ("PartialObjectMetadata", "PartialObjectMetadataList"))
"""Media types of an event and of a list with metadata alone. Source: k8s.io/client-go/metadata."""

TRIES_WITH_VERSION = 3
"""Failures since a watch was last accepted, before the next list. A cluster that was restored from a
backup does not know the resourceVersion, and may show that only by a time-out."""

HEALTHY_S = 5.0
"""A watch that lasted this long, or delivered an event, did not fail."""


class Receiver(Protocol):
    """Receiver of the objects: a Store, or a substitute."""

    def put(self, field: str, obj: Key, values: tuple[Any, ...], /) -> bool: ...

    def replace(self, field: str, objects: Mapping[Key, tuple[Any, ...]], /) -> bool: ...

    def missing(self, field: str, objects: Mapping[Key, tuple[Any, ...]], /) -> tuple[int, int]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    """Calls from the thread that follows a kind."""

    on_list: Callable[[], None] = lambda: None
    """A list is complete."""
    on_change: Callable[[], None] = lambda: None
    """A value in the store changed."""
    on_problem: Callable[[str], None] = lambda text: None
    """Given the reason why the kind cannot be read; "" when it can."""
    on_absence: Callable[[bool], None] | None = None
    """Called when the API server does not serve the kind, which may come later, with True if it is sure of
    that; without it this is a problem like others."""


class Reflector:
    """Keeps the objects of one kind up to date until stop(); run() is the body of its thread."""

    def __init__(self, connection: Connection, source: Source, store: Receiver, *, namespace: str | None,
                 selectors: Mapping[str, str], timing: WatchTiming, listener: Listener,
                 clock: Callable[[], float], sleep: Callable[[float], object]):
        """Args: selectors: labelSelector and fieldSelector, if any."""
        self._connection, self._source, self._store = connection, source, store
        self._namespace, self._selectors = namespace, selectors
        self._timing, self._clock, self._sleep = timing, clock, sleep
        self._listener = listener
        self._stopped = threading.Event()
        self._stream: LineStream | None = None
        self._accepted_at: float | None = None
        """When the current watch was accepted."""
        self._ends_at_once = False
        """True if the last watch broke soon: that the server accepts the next one proves nothing."""
        self._version = ""
        self._list_at = 0.0
        self._failures = 0
        """Failures in a row; each makes the next wait longer."""
        self._not_accepted = 0
        """Failures since a watch was accepted."""
        self._requested, self._relisted = 0, 0
        """Number of relists requested, and of those requested before the last complete list began."""
        self._preferred = source
        self._source_is_chosen = source.fallback is None and listener.on_absence is None

    def run(self) -> None:
        """Follow the kind; return after stop()."""
        while not self._stopped.is_set():
            try:
                self._follow()
            except KubeError as exc:
                self._failed(exc)
            except Exception as exc:  # a bug here must not end the updates for good
                log.exception("watcher failed", extra={"kind": self._source.resource})
                self._failed(KubeError(str(exc)))

    @property
    def source(self) -> Source:
        """Return the API that is read: the fallback, if only that is served."""
        return self._source

    def stop(self) -> None:
        """End run() soon, from any thread."""
        self._stopped.set()
        if (stream := self._stream) is not None:
            stream.close()

    def relist(self) -> None:
        """List everything again soon; called from one thread."""
        self._requested += 1
        if (stream := self._stream) is not None:
            stream.close()

    @property
    def relisted(self) -> bool:
        """True if a list that began after the last `relist` is complete."""
        return self._relisted >= self._requested

    def _follow(self) -> None:
        if not self._source_is_chosen:
            self._choose_source()
        if not self._source_is_chosen and self._listener.on_absence is not None:
            self._version = ""
            self._listener.on_absence(self._is_surely_absent())
            self._sleep(self._timing.absent_s * random.uniform(0.8, 1.0))
            return
        period_s = self._source.period_s
        if period_s or not self._version or self._clock() >= self._list_at or not self.relisted:
            self._list()
        if self._stopped.is_set():
            return
        if period_s:
            self._record_success()
            self._listener.on_problem("")
            self._sleep(min(period_s, self._timing.resync_s or period_s))
        else:
            self._watch()

    def _failed(self, exc: KubeError) -> None:
        if self._stopped.is_set():
            return
        self._failures += 1
        self._not_accepted += 1
        self._count(FAILURES)
        # A refused list is refused again the next time; a refused watch may only need a new list.
        lasting = (KubeForbidden, ResourceUnavailable, *(() if self._version else (KubeInvalid,)))
        if not isinstance(exc, KubeUnreachable) or self._not_accepted >= TRIES_WITH_VERSION:
            self._version = ""
        if isinstance(exc, ResourceUnavailable):  # perhaps served elsewhere since an upgrade
            self._source_is_chosen = self._preferred.fallback is None and self._listener.on_absence is None
        if isinstance(exc, lasting):
            self._listener.on_problem(self._explained(exc))
        elif isinstance(exc, KubeUnreachable):
            if self._accepted_at is not None:
                self._ends_at_once = self._clock() - self._accepted_at < HEALTHY_S
            self._accepted_at = None
            self._connection.outages.failed(self._source.resource, exc)
        elif not isinstance(exc, ResourceExpired):
            log.warning("watch broken", extra={"kind": self._source.resource, "error": str(exc)})
        if isinstance(exc, ResourceExpired) and self._failures == 1:
            return  # nothing is wrong with the server: list at once
        self._sleep(self._timing.backoff.jittered_s(self._failures, exc.retry_after_s))

    def _choose_source(self) -> None:
        """Use the first fallback that is served; where none is, look again next time."""
        source = choose_served(self._connection, self._preferred)
        self._source, self._source_is_chosen = source or self._preferred, source is not None
        if self._source is not self._preferred:
            log.info("API not served, falling back", extra={
                "kind": self._preferred.resource, "instead": self._source.path(None)})

    def _is_surely_absent(self) -> bool:
        try:
            return is_absent(self._connection, self._preferred)
        except KubeError:
            return False

    def _explained(self, exc: KubeError) -> str:
        if isinstance(exc, KubeInvalid):
            selectors = ", ".join(f"{name} {text!r}" for name, text in self._selectors.items())
            return f"{exc} ({selectors})" if selectors else str(exc)
        try:
            known = isinstance(exc, KubeForbidden) and is_served(self._connection, self._source)
        except KubeError:
            known = True
        return str(exc) if known else f"{self._not_served()} ({exc})"

    def _not_served(self) -> str:
        return (f"the API server does not serve {self._source.resource} of "
                f"{self._source.group_path.removeprefix('/apis/')}: is its API service available, its "
                "custom resource definition installed?")

    def _list(self) -> None:
        requested = self._requested
        objects, version = self._read()
        if self._is_suspicious(objects):
            self._sleep(self._timing.confirm_s)
            requested = self._requested
            objects, version = self._read()
        if self._stopped.is_set():
            return
        changed = self._store.replace(self._source.field, objects)
        self._relisted = requested
        self._version = version
        self._list_at = self._clock() + (self._timing.resync_s or float("inf"))
        log.log(logging.DEBUG if self._source.period_s else logging.INFO, "listed", extra={
            "kind": self._source.resource, "objects": len(objects)})
        self._count(LISTS)
        self._listener.on_list()
        if changed:
            self._listener.on_change()

    def _is_suspicious(self, objects: Mapping[Key, tuple[Value, ...]]) -> bool:
        """True if most of the known objects, or all of them, are missing in a list.

        An API server that lists nothing by mistake would take members from pools, and give the Host of an
        Ingress to a Route of another namespace. Only the whole collection is looked at: a single object that
        does not exist is reported as such.
        """
        lost, known = (0, 0) if self._source.name else self._store.missing(self._source.field, objects)
        if not (is_mass(lost, known) or 0 < lost == known) or self._stopped.is_set():
            return False
        log.warning("most objects missing from a list: keeping them until a second list confirms it",
                    extra={"kind": self._source.resource, "missing": lost, "known": known,
                           "again_in_s": self._timing.confirm_s})
        return True

    def _read(self) -> tuple[dict[Key, tuple[Value, ...]], str]:
        """Read a list and its version; not to be used after stop(). Raises: KubeError."""
        path = self._source.path(self._namespace)
        if self._source.name:
            return self._read_object(f"{path}/{self._source.name}"), ""
        objects: dict[Key, tuple[Value, ...]] = {}
        collection = Collection(
            self._connection, path, self._selectors, page_size=self._timing.page_size, stopped=self._stopped,
            accept=METADATA_LIST if self._source.metadata_only else PLAIN)
        for document in collection.documents():
            key, values = decode_document(self._source, document)
            if key is not None:
                objects[key] = values
        if self._source.period_s:
            return objects, ""
        if not collection.version and not self._stopped.is_set():
            raise KubeUnreachable(f"GET {path}: a list without a resourceVersion")
        return objects, collection.version

    def _read_object(self, path: str) -> dict[Key, tuple[Value, ...]]:
        """Read the only object; nothing if it does not exist. Raises: KubeError."""
        try:
            key, values = decode_object(self._source, self._connection.request("GET", path))
        except KubeNotFound as exc:
            log.info("object does not exist", extra={"path": path, "reason": str(exc)})
            return {}
        return {} if key is None else {key: values}

    def _watch(self) -> None:
        lasts_s = min(random.uniform(*self._timing.watch_s), self._list_at - self._clock())
        whole_s = max(1, round(lasts_s))
        stream = self._connection.request(
            "GET", self._source.path(self._namespace), stream=True, timeout_s=whole_s + self._timing.grace_s,
            accept=METADATA if self._source.metadata_only else PLAIN,
            query={**self._selectors, "watch": "true", "resourceVersion": self._version,
                   "allowWatchBookmarks": "true", "timeoutSeconds": str(whole_s)})
        self._stream, self._not_accepted = stream, 0
        if self._stopped.is_set() or not self.relisted:  # stop() or relist() may not have seen it
            stream.close()
        self._listener.on_problem("")
        self._accepted_at = started = self._clock()
        self._count(WATCHES)
        if not self._ends_at_once:
            self._connection.outages.answered(self._source.resource)
        for document in stream.documents():
            self._handle(document)
            self._record_success()
        if not self.relisted or self._clock() - started >= min(HEALTHY_S, whole_s / 2):
            self._record_success()
        elif not self._stopped.is_set() and self._failures:
            raise KubeUnreachable("the watch ended at once")
        else:
            self._failures += 1

    def _count(self, what: str) -> None:
        self._connection.watch_counts.add(what, self._source.resource)

    def _record_success(self) -> None:
        """Record that a watch delivered an event, or lasted, or that a kind without one was read."""
        self._failures, self._ends_at_once = 0, False
        self._connection.outages.answered(self._source.resource)

    def _handle(self, document: Document) -> None:
        """Handle an event. Raises: KubeError: an ERROR event, or no event at all: the watch cannot go on."""
        try:
            event = fields.mapping(document.load())
        except UnreadableDocument as exc:
            metadata = document.members("object", "metadata")
            self._put(log_unreadable(self._source, metadata, exc), ())
            self._version = fields.resource_version({"metadata": metadata}) or self._version
            return
        except ValueError as exc:
            raise KubeUnreachable("the watch sent a line that is not JSON") from exc
        kind, obj = event.get("type"), event.get("object")
        if kind == "ERROR":
            self._version = ""
            raise api_errors.error_in_stream(self._source.path(self._namespace), obj)
        if kind in ("ADDED", "MODIFIED", "DELETED"):
            key, values = decode_object(self._source, obj)
            self._put(key, () if kind == "DELETED" else values)
        elif kind != "BOOKMARK":
            raise KubeUnreachable("the watch sent a line that is no event")
        self._version = fields.resource_version(obj) or self._version

    def _put(self, key: Key | None, values: tuple[Value, ...]) -> None:
        if key is not None and self._store.put(self._source.field, key, values):
            self._listener.on_change()


def decode_document(source: Source, document: Document) -> tuple[Key | None, tuple[Any, ...]]:
    """Decode an object of a list to key and values; without values, or even a key, if it cannot be used.

    Raises: KubeUnreachable: it is no JSON, so no API server sent the list.
    """
    try:
        return decode_object(source, document.load())
    except UnreadableDocument as exc:
        return log_unreadable(source, document.members("metadata"), exc), ()
    except ValueError as exc:
        raise KubeUnreachable(f"{source.resource}: the reply is not JSON") from exc


def log_unreadable(source: Source, metadata: JSON, reason: UnreadableDocument) -> Key | None:
    """Warn about an object that is ignored as a whole. Returns its key, None if that is unknown."""
    try:
        key = fields.key({"metadata": metadata})
    except fields.DecodeError:
        key = None
    log.warning("object ignored", extra={
        "kind": source.resource, "object": str(key or "without a name"), "reason": str(reason)})
    return key


def decode_object(source: Source, obj: Any) -> tuple[Key | None, tuple[Any, ...]]:
    """Decode an object to key and values; without values, or even a key, if it cannot be used.

    An error affects this object only.
    """
    key = None
    try:
        key = fields.key(obj)
        return key, source.decode(obj)
    except fields.DecodeError as exc:
        log.warning("object ignored", extra={
            "kind": source.resource, "object": exc.key, "field": exc.field, "reason": exc.problem})
    except Exception:
        log.exception("object ignored", extra={"kind": source.resource, "object": str(key or "")})
    return key, ()
