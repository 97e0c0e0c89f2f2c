"""One object that may be read but not listed, kept up to date in a Store by reading it now and then.

system:sdn-reader allows `get` on ClusterNetworks and nothing else (f5-router.md 10.3). Such objects
hardly ever change.
"""

import logging
import threading
from collections.abc import Callable

from f5router.cluster import Key
from f5router.errors import KindNotServed, KubeError, KubeForbidden, KubeNotFound
from f5router.kube import backoff, decode
from f5router.kube.connection import Connection
from f5router.kube.reflector import Source, Timing
from f5router.kube.store import Store

log = logging.getLogger(__name__)


class Poller:
    """Follows one object until stop(); run() is the body of its thread, as a Reflector's is."""

    def __init__(self, connection: Connection, source: Source, name: str, store: Store, *, timing: Timing,
                 sleep: Callable[[float], object], on_list: Callable[[], None],
                 on_change: Callable[[], None], on_problem: Callable[[str], None]):
        """Arguments:
        name: of the object, which lies in no namespace.
        on_list, on_change, on_problem: see Reflector.
        """
        self._connection, self._source, self._name, self._store = connection, source, name, store
        self._timing, self._sleep = timing, sleep
        self._on_list, self._on_change, self._on_problem = on_list, on_change, on_problem
        self._stopped = threading.Event()
        self._failures = 0

    def run(self) -> None:
        """Follow the object; returns after stop()."""
        while not self._stopped.is_set():
            try:
                self._read()
            except KubeError as exc:
                self._failed(exc)
            else:
                self._failures = 0
                self._sleep(self._timing.resync_s or self._timing.backoff_s[1])

    def stop(self) -> None:
        """End run() soon, from any thread."""
        self._stopped.set()

    def _read(self) -> None:
        path = f"{self._source.path(None)}/{self._name}"
        objects: dict[Key, tuple] = {}
        try:
            found = self._connection.request("GET", path)
            objects[decode.key(found)] = self._source.decode(found)
        except (KubeNotFound, decode.DecodeError) as exc:
            log.info("object is not there", extra={"path": path, "reason": str(exc)})
        changed = self._store.replace(self._source.field, objects)
        self._on_problem("")
        self._on_list()
        if changed:
            self._on_change()

    def _failed(self, exc: KubeError) -> None:
        if self._stopped.is_set():
            return
        self._failures += 1
        if isinstance(exc, KubeForbidden | KindNotServed):
            self._on_problem(str(exc))
        else:
            log.warning("object cannot be read", extra={"kind": self._source.resource, "error": str(exc)})
        first_s, limit_s = self._timing.backoff_s
        self._sleep(backoff.delay_s(self._failures, first_s=first_s, limit_s=limit_s,
                                    retry_after_s=getattr(exc, "retry_after_s", None)))
