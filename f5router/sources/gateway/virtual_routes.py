"""The virtual Routes of a Gateway, kept up to date: a change of an HTTPRoute costs its own places.

The oldest HTTPRoute of those that have the same place is served; the others stay in memory.
Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/httproute_types.go, HTTPRouteRule.Matches.
"""

import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from f5router.model.cluster import Key, PathMatch, Route, Subject
from f5router.model.gateway import Gateway
from f5router.sources.gateway import hosts, translation
from f5router.sources.gateway.attachment import RouteAttachment
from f5router.sources.gateway.listeners import TLS, CheckedListener
from f5router.sources.gateway.route_rules import CheckedRoute
from f5router.sources.gateway.translation import RoutePlace

Age = tuple[str, str, str]
"""See HTTPRoute.age."""


class _Site(NamedTuple):
    """A host of a listener."""

    listener: int
    host: str

    def at_last(self) -> RoutePlace:
        """Return the place of all requests that nothing else matches."""
        return RoutePlace(self.listener, self.host, PathMatch.SEGMENTS, "")


@dataclass(frozen=True, slots=True)
class _Share:
    """The part of an HTTPRoute."""

    age: Age
    sites: Collection[_Site]
    routes: Mapping[RoutePlace, Route]


class VirtualRoutes:
    """Not thread-safe."""

    def __init__(self, gateway: Gateway, listeners: Iterable[CheckedListener]):
        """Args: listeners: those that can be served."""
        self._gateway = gateway
        self._listeners = {each.number: each for each in listeners}
        self._owners = {(each.listener.port, each.listener.hostname): number
                        for number, each in self._listeners.items()}
        self._shares: dict[Subject, _Share] = {}
        """By route."""
        self._places: dict[RoutePlace, list[tuple[Age, Route]]] = {}
        """The oldest one first, as below."""
        self._sites: dict[_Site, list[Age]] = {}
        """The HTTPRoutes that a host has."""
        self._served: dict[RoutePlace, Route] = {}
        self.routes: dict[Key, Route] = {}
        self._settle({site.at_last() for site in self._named()})

    def of_listener(self, number: int) -> Key | None:
        """Return the Route that shows if a listener with a hostname of its own, or none, is programmed."""
        if (listener := self._listeners.get(number)) is None:
            return None
        served = self._served.get(_Site(number, listener.listener.hostname).at_last())
        return served.key if served is not None else None

    def of_route(self, subject: Subject) -> list[Key]:
        """Return the Routes of an HTTPRoute that no older one has displaced."""
        share = self._shares.get(subject)
        return [route.key for place, route in share.routes.items()
                if self._served.get(place) is route] if share else []

    def closing(self) -> Iterator[Key]:
        """Yield the Routes that answer where no rule matches."""
        for site in {*self._named(), *self._sites}:
            last = site.at_last()
            if last in self._served and last not in self._places:
                yield self._served[last].key

    def put(self, checked: CheckedRoute,
            attachments: Iterable[RouteAttachment]) -> dict[Key, Route | None]:
        """Replace the part of an HTTPRoute; returns the Routes that differ, None for removed ones."""
        sites = [site for site in dict.fromkeys(
            _Site(number, host) for each in attachments for number, names in each.hosts for host in names)
            if self._owner(site) == site.listener]
        routes: dict[RoutePlace, Route] = {}
        for site in sites:
            listener = self._listeners[site.listener]
            for place, route in translation.routes(self._gateway, listener, checked, site.host):
                routes.setdefault(place, route)
        touched = self._withdraw(checked.route.subject)
        self._shares[checked.route.subject] = share = _Share(checked.route.age, sites, routes)
        for place, route in routes.items():
            bisect.insort(self._places.setdefault(place, []), (share.age, route), key=_age)
        for site in sites:
            bisect.insort(self._sites.setdefault(site, []), share.age)
        return self._settle({*touched, *_touched(share)})

    def remove(self, subject: Subject) -> dict[Key, Route | None]:
        """Remove the part of an HTTPRoute. Returns: as put."""
        return self._settle(self._withdraw(subject))

    def _named(self) -> Iterable[_Site]:
        """Return the hosts that listeners name: they are answered for without any HTTPRoute."""
        return (_Site(number, name) for number, each in self._listeners.items()
                if not (name := each.listener.hostname).startswith("*.")
                and not (name == hosts.ALL and each.listener.protocol == TLS))

    def _owner(self, site: _Site) -> int | None:
        """Return the listener of a port that has the requests for a host: the most specific one."""
        listener = self._listeners.get(site.listener)
        places = ((listener.listener.port, name) for name in hosts.patterns(site.host)) if listener else ()
        return next((self._owners[place] for place in places if place in self._owners), None)

    def _withdraw(self, subject: Subject) -> set[RoutePlace]:
        """Withdraw the part of an HTTPRoute; returns its places."""
        if (share := self._shares.pop(subject, None)) is None:
            return set()
        for place in share.routes:
            candidates = self._places[place]
            del candidates[bisect.bisect_left(candidates, share.age, key=_age)]
            if not candidates:
                del self._places[place]
        for site in share.sites:
            ages = self._sites[site]
            del ages[bisect.bisect_left(ages, share.age)]
            if not ages:
                del self._sites[site]
        return _touched(share)

    def _settle(self, touched: Iterable[RoutePlace]) -> dict[Key, Route | None]:
        """Find what is served in some places."""
        changes: dict[Key, Route | None] = {}
        for place in touched:
            before, after = self._served.pop(place, None), self._wanted(place)
            if before is not None and (after is None or before.key != after.key):
                del self.routes[before.key]
                changes[before.key] = None
            if after is not None:
                self._served[place] = after
                if self.routes.get(after.key) != after:
                    self.routes[after.key] = changes[after.key] = after
        return changes

    def _wanted(self, place: RoutePlace) -> Route | None:
        if candidates := self._places.get(place):
            return candidates[0][1]
        site, listener = _Site(place.listener, place.host), self._listeners[place.listener]
        ages = self._sites.get(site)
        if place != site.at_last() or not (ages or listener.listener.hostname == site.host):
            return None
        return translation.closing(self._gateway, listener, site.host, ages[0][0] if ages else "")


def _age(candidate: tuple[Age, Route]) -> Age:
    return candidate[0]


def _touched(share: _Share) -> set[RoutePlace]:
    return {*share.routes, *(site.at_last() for site in share.sites)}
