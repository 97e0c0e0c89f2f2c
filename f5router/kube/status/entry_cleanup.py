"""Removes entries that the router left in Routes outside its selection, once after the start.

The watch reports a Route that leaves the selection while the router runs. One that left while the router did
not run is found here, by one list without selectors. This has the lowest priority: it starts after the first
load of the BIG-IP, and proceeds only while no other status waits to be written.

Another router of the same name may maintain those entries: two shards with one name, by mistake or while one
replaces the other. So a few entries are removed first; if one of them returns, the rest is left alone.
"""

import logging
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from f5router.admission import condition
from f5router.kube.api import decode, fields
from f5router.kube.api.connection import Connection
from f5router.kube.api.requests import Collection
from f5router.kube.settings import PAGE_SIZE
from f5router.kube.status.status_request import OwnedEntry, RouteStatus
from f5router.kube.status.status_writer import StatusWriter
from f5router.kube.watch.reflector import decode_document
from f5router.kube.watch.sources import Source
from f5router.model.cluster import Key
from f5router.model.errors import (
    KubeConflict,
    KubeError,
    KubeInvalid,
    KubeNotFound,
    ResourceExpired,
)
from f5router.model.json_types import JSON

log = logging.getLogger(__name__)

LIST_TRIES = 3
"""Attempts to read a list whose pages expire before it is complete."""

PROBES = 5
"""Entries that are removed first."""

PROBE_S = 30.0
"""How long another router has to restore one of them."""

REMOVE_TRIES = 3
"""Attempts to remove an entry of a Route that changes at the same time."""

FOREIGN = ("another router of the same name restores statuses of Routes outside the selection: give each "
           "router its own --name")

IDLE_S = 1.0
JOIN_S = 0.5


def find_entries(connection: Connection, source: Source, router_name: str, *, namespace: str | None = None,
                 selectors: Mapping[str, str] | None = None, page_size: int = PAGE_SIZE) -> list[OwnedEntry]:
    """List every Route with an entry of a router name, page by page; no other object is kept in memory.

    Args: source: the API that serves Routes. selectors: labelSelector and fieldSelector of the request.
    Raises: KubeError.
    """
    def decode_entry(obj: JSON) -> tuple[OwnedEntry, ...]:
        entry = condition.own(decode.ingress(obj), router_name)
        return () if entry is None else (OwnedEntry(fields.key(obj), fields.uid(obj), entry),)

    return list_values(connection, replace(source, decode=decode_entry), namespace=namespace,
                       selectors=selectors, page_size=page_size)


def list_values(connection: Connection, source: Source, *, namespace: str | None = None,
                selectors: Mapping[str, str] | None = None, page_size: int = PAGE_SIZE) -> list[Any]:
    """List the decoded value of each object, page by page; see find_entries. Raises: KubeError."""
    for attempt in range(LIST_TRIES):
        objects = Collection(connection, source.path(namespace), selectors or {}, page_size=page_size)
        try:
            return [value for document in objects.documents()
                    for value in decode_document(source, document)[1]]
        except ResourceExpired:
            if attempt == LIST_TRIES - 1:
                raise
    return []


class EntryCleanup:
    """A thread that lists once, removes entries, and ends."""

    def __init__(self, connection: Connection, statuses: StatusWriter, *, router_name: str,
                 namespace: str | None, page_size: int = PAGE_SIZE,
                 wait: Callable[[float], bool] | None = None):
        """Arguments:
        namespace: the only one that is listed: the router may have no rights on others.
        wait: waits for so many seconds; True if stop() ended the wait. None: real seconds.
        """
        self._connection, self._statuses, self._source = connection, statuses, statuses.route_source
        self._routes = RouteStatus(connection, self._source)
        self._router_name, self._namespace = router_name, namespace
        self._page_size = page_size
        self._selected: frozenset[Key] = frozenset()
        self._stopped = threading.Event()
        self._wait = wait or self._stopped.wait
        self._thread = threading.Thread(target=self.run, name="entry-cleanup", daemon=True)

    def start(self, selected: frozenset[Key]) -> None:
        """Start, once. Args: selected: Routes of the selection, which are not touched."""
        self._selected = selected
        self._thread.start()

    def stop(self) -> None:
        """End soon; entries not removed yet stay until the next start."""
        self._stopped.set()
        self.join(JOIN_S)

    def join(self, timeout_s: float) -> bool:
        """Wait for the end of the thread; False if that takes longer."""
        if self._thread.is_alive():
            self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def run(self) -> None:
        """List and remove; the body of the thread."""
        try:
            entries = find_entries(
                self._connection, self._source(), self._router_name, namespace=self._namespace,
                page_size=self._page_size)
            leftovers = [entry for entry in entries if not self._serves(entry)]
            if leftovers:
                self._remove(leftovers)
        except KubeError as exc:
            if not self._stopped.is_set():
                log.warning("statuses of Routes outside the selection may be left", extra={
                    "error": str(exc), "remedy": "f5router status clear"})

    def _remove(self, leftovers: Sequence[OwnedEntry]) -> None:
        """Remove a few entries, then the rest, unless somebody restores one. Raises: KubeError."""
        # Random ones: a router that starts again and again must not remove the same ones, see condition.py.
        probes = random.sample(leftovers, min(PROBES, len(leftovers)))
        rest = [entry for entry in leftovers if entry not in probes]
        removed = [entry for entry in probes if self._remove_entry(entry)]
        if removed and (self._wait(PROBE_S) or self._is_restored(removed)):
            return
        count = len(removed) + sum(self._remove_entry(entry) for entry in rest)
        log.info("removed statuses of Routes outside the selection", extra={"routes": count})

    def _remove_entry(self, entry: OwnedEntry) -> bool:
        """Return True if the entry was removed. Raises: KubeError: not an error of this Route alone."""
        for _ in range(REMOVE_TRIES):
            self._wait_idle()
            if self._stopped.is_set() or self._serves(entry):
                return False
            try:
                return self._statuses.remove(entry)
            except KubeConflict:
                continue
            except KubeNotFound:
                return False
            except KubeInvalid as exc:
                log.warning("status not removed", extra={"route": str(entry.key), "error": str(exc)})
                return False
        return False

    def _wait_idle(self) -> None:
        """Wait until no status is queued, apart from those that may not be written."""
        while not self._stopped.is_set():
            if self._statuses.flush(IDLE_S, unless_forbidden=True) or self._statuses.refusal():
                return

    def _serves(self, entry: OwnedEntry) -> bool:
        return entry.key in self._selected or self._statuses.is_requested(entry.key, entry.uid)

    def _is_restored(self, removed: Sequence[OwnedEntry]) -> bool:
        """True if somebody has restored a removed entry. Raises: KubeError."""
        for entry in removed:
            obj = self._routes.read(entry.key)
            current = condition.own(decode.ingress(obj), self._router_name)
            if current is not None and fields.uid(obj) == entry.uid and not self._serves(entry):
                log.warning(FOREIGN, extra={"router": self._router_name, "route": str(entry.key)})
                return True
        return False
