"""Keeps kinds up to date in a Store that may be read but not watched, by reading them periodically.

The ClusterNetwork: system:sdn-reader allows `get` on it and nothing else (openshift/origin v3.11.0,
pkg/cmd/server/bootstrappolicy/policy.go), and it
hardly ever changes. Projects: a watch on them with a selector is silent when a label goes
(openshift-apiserver, pkg/project/auth/watch.go), so the original router lists them too.
"""

import logging
import threading
from collections.abc import Callable, Mapping

from f5router.kube.api.connection import Connection
from f5router.kube.api.outages import Outages
from f5router.kube.timing import WatchTiming
from f5router.kube.watch.reflector import Listener, decode_object, list_objects
from f5router.kube.watch.sources import Source
from f5router.kube.watch.store import Store, Value
from f5router.model.cluster import Key
from f5router.model.errors import (
    KubeError,
    KubeForbidden,
    KubeInvalid,
    KubeNotFound,
    KubeUnreachable,
    ResourceUnavailable,
)

log = logging.getLogger(__name__)

Objects = dict[Key, tuple[Value, ...]]


class Poller:
    """Reads one kind until stop(); run() is the body of its thread, as a Reflector's is."""

    def __init__(self, outages: Outages, source: Source, read: Callable[[], Objects], store: Store, *,
                 period_s: float, timing: WatchTiming, listener: Listener,
                 sleep: Callable[[float], object]):
        """Args: outages: those of the API server. read: returns all current objects; raises KubeError."""
        self._outages, self.source, self._read, self._store = outages, source, read, store
        self._period_s, self._timing, self._sleep = period_s, timing, sleep
        self._listener = listener
        self._stopped = threading.Event()
        self._failures = 0
        self._requested, self._relisted = 0, 0

    def run(self) -> None:
        """Follow the kind; return after stop()."""
        while not self._stopped.is_set():
            requested = self._requested
            try:
                objects = self._read()
            except KubeError as exc:
                self._failed(exc)
            except Exception as exc:  # a bug here must not end the updates for good
                log.exception("watcher failed", extra={"kind": self.source.resource})
                self._failed(KubeError(str(exc)))
            else:
                self._failures = 0
                self._outages.answered(self.source.resource)
                self._store_objects(objects, requested)
                self._sleep(self._period_s)

    def stop(self) -> None:
        """End run() soon, from any thread."""
        self._stopped.set()

    def relist(self) -> None:
        """Request another reading, which the next one is; called from one thread."""
        self._requested += 1

    @property
    def relisted(self) -> bool:
        """True if a reading that began after the last `relist` is complete."""
        return self._relisted >= self._requested

    def _store_objects(self, objects: Objects, requested: int) -> None:
        if self._stopped.is_set():
            return
        changed = self._store.replace(self.source.field, objects)
        self._relisted = requested
        self._listener.on_problem("")
        self._listener.on_list()
        if changed:
            self._listener.on_change()

    def _failed(self, exc: KubeError) -> None:
        if self._stopped.is_set():
            return
        self._failures += 1
        if isinstance(exc, KubeForbidden | ResourceUnavailable | KubeInvalid):
            self._listener.on_problem(str(exc))
        elif isinstance(exc, KubeUnreachable):
            self._outages.failed(self.source.resource, exc)
        else:
            log.warning("kind not read", extra={"kind": self.source.resource, "error": str(exc)})
        self._sleep(self._timing.backoff.jittered_s(self._failures, exc.retry_after_s))


def object_reader(connection: Connection, source: Source, name: str) -> Callable[[], Objects]:
    """Return what reads one object without a namespace, by its name; nothing if it does not exist."""
    path = f"{source.path(None)}/{name}"

    def read() -> Objects:
        try:
            obj = connection.request("GET", path)
        except KubeNotFound as exc:
            log.info("object does not exist", extra={"path": path, "reason": str(exc)})
            return {}
        key, values = decode_object(source, obj)
        return {} if key is None else {key: values}

    return read


def collection_reader(connection: Connection, source: Source, selectors: Mapping[str, str], *,
          page_size: int, stopped: threading.Event) -> Callable[[], Objects]:
    """Return what reads all objects that the selectors match."""
    return lambda: list_objects(connection, source, source.path(None), selectors, page_size=page_size,
                          stopped=stopped)[0]
