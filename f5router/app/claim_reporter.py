"""Reports claims to Hosts that others hold: a line in the log for the loser, an Event for the winner.

Losers have a status or an Event of their own. A winner has an Event if an Ingress or IngressRoute is one of
the two; between Routes it has none, as with openshift/router. The Event does not name the loser, whose tenant
may be another one, and there is one for each winner: a tenant can make any number of losers.
"""

from collections.abc import Callable, Iterable

from f5router.admission.admission import Rejection
from f5router.admission.claim_log import ClaimLog
from f5router.desired.engine import Engine
from f5router.kube.status.events import EventWriter, Involved
from f5router.kube.watch.sources import INGRESS_ROUTES, Source
from f5router.model.cluster import Key, Route
from f5router.sources.translator import INGRESS, ROUTE

CONTESTED = "HostContested"
"""Reason of the winner's Event."""


class ClaimReporter:
    """Not thread-safe."""

    def __init__(self, engine: Engine, events: EventWriter, ingress_source: Callable[[], Source],
                 clock: Callable[[], float]):
        """Args: ingress_source: returns the API that serves Ingresses."""
        self._engine, self._events, self._ingress_source = engine, events, ingress_source
        self._log = ClaimLog(clock)
        self._lost: dict[Key, Rejection] = {}
        """As reported, by loser."""
        self._winners: set[tuple[str, Key]] = set()
        """Kind and key of those that have an Event."""

    def judged(self, key: Key) -> None:
        """Report a Route that has lost its Host, once."""
        route, rejection = self._engine.route(key), self._engine.rejection(key)
        if route is None or rejection is None or rejection.holder is None:
            self._lost.pop(key, None)
            return
        if self._lost.get(key) == rejection:
            return
        self._lost[key] = rejection
        self._log.lost(route, rejection)
        if (holder := self._engine.route(rejection.holder)) is not None:
            self._warn(holder, route)

    def removed(self, routes: Iterable[Route]) -> None:
        """Forget Routes that left: what comes in their place is news."""
        for route in routes:
            self._lost.pop(route.key, None)
            self._winners.discard(_claimant(route))

    def _warn(self, holder: Route, loser: Route) -> None:
        winner = kind, key = _claimant(holder)
        if winner in self._winners or winner == _claimant(loser) or kind == _claimant(loser)[0] == ROUTE:
            return
        self._winners.add(winner)
        text = f"another object claims {holder.host}, too; this one is older and holds it"
        if kind == ROUTE:
            self._events.warn(holder, CONTESTED, text)
            return
        source = self._ingress_source() if kind == INGRESS else INGRESS_ROUTES
        self._events.warn_about(Involved(source.api_version, kind, key, holder.uid), CONTESTED, text)


def _claimant(route: Route) -> tuple[str, Key]:
    """Return kind and key of the object that claims the Host."""
    return route.subject.kind, route.claimant
