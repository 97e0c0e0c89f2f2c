"""Reports claims to Hosts that others hold: a line in the log for the loser, an Event for the winner.

Losers have a status or an Event of their own. A winner has an Event if an Ingress or IngressRoute is one of
the two; between Routes it has none, as with openshift/router. The Event names the winner's Hosts, not the
losers, whose tenants may be others. A tenant can make any number of losers: each Host is named once, and an
object with MOST_HOSTS named Hosts gets no further Event.
"""

from collections.abc import Callable, Iterable

from f5router.admission.admission import Rejection
from f5router.admission.claim_log import ClaimLog
from f5router.desired.engine import Engine
from f5router.kube.status.events import EventWriter, Involved
from f5router.kube.watch.sources import INGRESS_ROUTES, Source
from f5router.model import hostnames
from f5router.model.cluster import Key, Route
from f5router.sources.translator import INGRESS, ROUTE

CONTESTED = "HostContested"
"""Reason of the winner's Event."""

MOST_HOSTS = 10
"""Hosts of an object that Events name; further ones are counted."""
MOST_TEXT = 900
"""Characters of these names: an Event is cut at 1,024."""

_Object = tuple[str, Key]
"""Kind and key of an object that claims Hosts."""


class ClaimReporter:
    """Not thread-safe."""

    def __init__(self, engine: Engine, events: EventWriter, ingress_source: Callable[[], Source],
                 clock: Callable[[], float]):
        """Args: ingress_source: returns the API that serves Ingresses."""
        self._engine, self._events, self._ingress_source = engine, events, ingress_source
        self._log = ClaimLog(clock)
        self._lost: dict[Key, Rejection] = {}
        """As reported, by loser."""
        self._named: dict[_Object, set[str]] = {}
        """Hosts that Events name, by winner."""
        self._news: dict[_Object, dict[str, Route]] = {}
        """Hosts that no Event names yet, with a Route that holds them, by winner."""

    def evaluated(self, key: Key) -> None:
        """Report a Route that has lost its Host, once; `write` has the winner's Event written."""
        route, rejection = self._engine.route(key), self._engine.rejection(key)
        if route is None or rejection is None or rejection.holder is None:
            self._lost.pop(key, None)
            return
        if self._lost.get(key) == rejection:
            return
        self._lost[key] = rejection
        self._log.lost(route, rejection)
        if (holder := self._engine.route(rejection.holder)) is not None:
            self._note(holder, route)

    def removed(self, routes: Iterable[Route]) -> None:
        """Forget Routes that left: what comes in their place is news."""
        for route in routes:
            self._lost.pop(route.key, None)
            winner = _claimant(route)
            if (named := self._named.get(winner)) is not None:
                named.discard(_host(route))
                if not named:
                    del self._named[winner]

    def write(self) -> None:
        """Write Events for the Hosts that were lost since the last call, one for each winner."""
        news, self._news = self._news, {}
        for winner, hosts in news.items():
            named = self._named.setdefault(winner, set())
            shown = _shown(hosts, MOST_HOSTS - len(named))
            named.update(shown)
            self._warn(next(iter(hosts.values())), _text(shown, len(hosts) - len(shown)))

    def _note(self, holder: Route, loser: Route) -> None:
        winner, host = _claimant(holder), _host(holder)
        named = self._named.get(winner, ())
        if host in named or len(named) >= MOST_HOSTS:
            return
        if winner != _claimant(loser) and not winner[0] == _claimant(loser)[0] == ROUTE:
            self._news.setdefault(winner, {})[host] = holder

    def forget(self) -> None:
        """Forget what was reported."""
        for known in (self._lost, self._named, self._news):
            known.clear()

    def _warn(self, holder: Route, text: str) -> None:
        kind, key = _claimant(holder)
        if kind == ROUTE:
            self._events.warn(holder, CONTESTED, text)
            return
        source = self._ingress_source() if kind == INGRESS else INGRESS_ROUTES
        self._events.warn_about(Involved(source.api_version, kind, key, holder.uid), CONTESTED, text)


def _claimant(route: Route) -> _Object:
    """Return kind and key of the object that claims the Host."""
    return route.subject.kind, route.claimant


def _host(route: Route) -> str:
    return hostnames.wildcard(route.host) if route.wildcard_policy == "Subdomain" else route.host


def _shown(hosts: Iterable[str], most: int) -> list[str]:
    """Return the Hosts that an Event names, in order; the first in any case. Args: most: at least 1."""
    shown, length = list[str](), 0
    for host in sorted(hosts)[:most]:
        length += len(host) + len(", ")
        if shown and length > MOST_TEXT:
            break
        shown.append(host)
    return shown


def _text(shown: list[str], more: int) -> str:
    """Return the message of an Event. Args: shown: Hosts; more: number of others."""
    if len(shown) + more == 1:
        return f"another object claims {shown[0]}, too; this one is older and holds it"
    *first, last = (*shown, f"{more} more") if more else shown
    return f"other objects claim {', '.join(first)} and {last}, too; this one is older and holds them"
