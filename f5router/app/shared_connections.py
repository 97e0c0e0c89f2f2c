"""Warning about pods to which Routes share connections although their TLS towards the pods differs."""

import time
from collections.abc import Callable, Iterator

from f5router.desired.shared_pods import differing_routes
from f5router.model import names
from f5router.reconcile.reconciler import Reconciler

SHARE = 20
"""Between two looks is at least this many times the duration of the last one."""


class SharedConnections:
    """Looks for such Routes while settings name a OneConnect profile; otherwise it costs nothing."""

    def __init__(self, reconciler: Reconciler, clock: Callable[[], float] = time.monotonic):
        self._engine, self._device, self._clock = reconciler.engine, reconciler.device, clock
        self._due_at = 0.0
        self._warnings: tuple[str, ...] = ()

    def warnings(self) -> tuple[str, ...]:
        """Return a warning for each profile, as at the last look; each names two Routes."""
        listeners = self._device.own_servers.listeners
        if not any(each.placement.one_connect for each in listeners):
            self._warnings = ()
        elif (begin := self._clock()) >= self._due_at:
            self._warnings = tuple(self._look())
            self._due_at = self._clock() + SHARE * (self._clock() - begin)
        return self._warnings

    def _look(self) -> Iterator[str]:
        for profile, front_ends in self._by_profile().items():
            if shared := differing_routes(self._engine, front_ends):
                first, second = (names.label(key, "Route") for key in shared)
                yield (f"{profile}: {first} and {second} have a pod in common, and different TLS towards "
                       "it: a connection that one of them has verified may serve the other")

    def _by_profile(self) -> dict[str, list[str]]:
        """Return the front ends of each profile: no source says that those of one do not share."""
        by_profile: dict[str, list[str]] = {}
        for name in self._engine.front_ends:
            view = self._engine.front_ends.get(name)
            server = view[0].https_virtual if view else None
            if server and (profile := self._device.own_servers.placement(server).one_connect):
                by_profile.setdefault(profile, []).append(name)
        return by_profile
