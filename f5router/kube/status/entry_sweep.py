"""Entries that the router left behind in Routes outside its selection, removed once after the start.

A Route that leaves the selection while the router runs is known from the watch. One that left while it
did not run is found here, by one list without selectors. It is of the lowest priority: after the first
load of the BIG-IP, page by page, and only while no other status waits to be written.

Another router of the same name may be keeping those entries: two shards with one name, by mistake or while
one replaces the other. So a few are removed first; where one of them comes back, the rest is left alone.
"""

import logging
import random
import threading
from collections.abc import Callable, Sequence

from f5router.kube.api import decode
from f5router.kube.api.collection import PAGE_SIZE
from f5router.kube.api.connection import Connection
from f5router.kube.status import owned_entries
from f5router.kube.status.owned_entries import OwnedEntry
from f5router.kube.status.status_request import RouteStatus
from f5router.kube.status.status_writer import StatusWriter
from f5router.model.cluster import Key
from f5router.model.errors import KubeConflict, KubeError, KubeInvalid, KubeNotFound
from f5router.status import condition

log = logging.getLogger(__name__)

PROBES = 5
"""Entries that are removed first."""

PROBE_S = 30.0
"""How long another router has to put one of them back."""

TRIES = 3
"""Of a Route that changes just then."""

KEPT = ("another router of the same name keeps statuses of Routes outside the selection, which stay; give "
        "each a name of its own (--name)")

IDLE_S = 1.0
JOIN_S = 0.5


class Sweep:
    """A thread that looks once, removes, and ends."""

    def __init__(self, connection: Connection, statuses: StatusWriter, *, router_name: str,
                 namespace: str | None, page_size: int = PAGE_SIZE,
                 wait: Callable[[float], bool] | None = None):
        """Arguments:
        namespace: the only one that is looked at: the router may have no rights on others.
        wait: lets so many seconds pass; True if stop() cut them short. None: real ones.
        """
        self._connection, self._statuses, self._source = connection, statuses, statuses.route_source
        self._routes = RouteStatus(connection, self._source)
        self._router_name, self._namespace = router_name, namespace
        self._page_size = page_size
        self._selected: frozenset[Key] = frozenset()
        self._stopped = threading.Event()
        self._wait = wait or self._stopped.wait
        self._thread = threading.Thread(target=self.run, name="sweep", daemon=True)

    def start(self, selected: frozenset[Key]) -> None:
        """Begin, once. Args: selected: Routes of the selection, none of which is touched."""
        self._selected = selected
        self._thread.start()

    def stop(self) -> None:
        """End soon; what is not removed yet stays until the next start."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join(JOIN_S)

    def run(self) -> None:
        """Look and remove."""
        try:
            found = owned_entries.find(
                self._connection, self._source(), self._router_name, namespace=self._namespace,
                page_size=self._page_size)
            left = [one for one in found if not self._serves(one)]
            if left:
                self._remove(left)
        except KubeError as exc:
            if not self._stopped.is_set():
                log.warning("statuses of Routes outside the selection may be left", extra={
                    "error": str(exc), "remedy": "f5router status clear"})

    def _remove(self, left: Sequence[OwnedEntry]) -> None:
        """Raises: KubeError."""
        # Others at each start: who keeps them leaves alone what goes again and again, see contention.py.
        probes = random.sample(left, min(PROBES, len(left)))
        rest = [one for one in left if one not in probes]
        removed = [one for one in probes if self._remove_one(one)]
        if removed and (self._wait(PROBE_S) or self._is_kept(removed)):
            return
        count = len(removed) + sum(self._remove_one(one) for one in rest)
        log.info("statuses of Routes outside the selection are removed", extra={"routes": count})

    def _remove_one(self, found: OwnedEntry) -> bool:
        """Raises: KubeError: of a sort that others would meet too."""
        for _ in range(TRIES):
            self._wait_idle()
            if self._stopped.is_set() or self._serves(found):
                return False
            try:
                return self._statuses.remove(found)
            except KubeConflict:
                continue
            except KubeNotFound:
                return False
            except KubeInvalid as exc:
                log.warning("status not removed", extra={"route": str(found.key), "error": str(exc)})
                return False
        return False

    def _wait_idle(self) -> None:
        """Until no status waits to be written, but for those that may not be."""
        while not self._stopped.is_set():
            if self._statuses.flush(IDLE_S, unless_forbidden=True) or self._statuses.refusal():
                return

    def _serves(self, found: OwnedEntry) -> bool:
        return found.key in self._selected or self._statuses.is_requested(found.key, found.uid)

    def _is_kept(self, removed: Sequence[OwnedEntry]) -> bool:
        """Whether somebody has put back what was removed. Raises: KubeError."""
        for one in removed:
            obj = self._routes.read(one.key)
            entry = condition.own(decode.ingress(obj), self._router_name)
            if entry is not None and decode.uid(obj) == one.uid and not self._serves(one):
                log.warning(KEPT, extra={"router": self._router_name, "route": str(one.key)})
                return True
        return False
