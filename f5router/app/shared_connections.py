"""Warning about pods to which Routes share connections although their TLS towards the pods differs."""

import time
from collections.abc import Callable

from f5router.desired.shared_pods import differing_routes
from f5router.icontrol.own_servers import OwnServers
from f5router.model import names
from f5router.reconcile.reconciler import Reconciler

SHARE = 20
"""Between two looks is at least this many times the duration of the last one."""


class SharedConnections:
    """Looks for such Routes while the settings name a OneConnect profile; otherwise it costs nothing."""

    def __init__(self, reconciler: Reconciler, own_servers: OwnServers,
                 clock: Callable[[], float] = time.monotonic):
        self._engine, self._clock = reconciler.engine, clock
        self._profile = next(filter(None, (each.placement.one_connect for each in own_servers.listeners)), "")
        self._due_at = 0.0
        self._warnings: tuple[str, ...] = ()

    def warnings(self) -> tuple[str, ...]:
        """Return the warning, as it was at the last look; the first two Routes are named."""
        if self._profile and (begin := self._clock()) >= self._due_at:
            self._warnings = self._look()
            self._due_at = self._clock() + SHARE * (self._clock() - begin)
        return self._warnings

    def _look(self) -> tuple[str, ...]:
        if (shared := differing_routes(self._engine)) is None:
            return ()
        first, second = (names.label(key, "Route") for key in shared)
        return (f"{self._profile}: {first} and {second} have a pod in common, and different TLS towards it: "
                "a connection that one of them has verified may serve the other",)
