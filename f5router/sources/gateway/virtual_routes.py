"""The virtual Routes of a Gateway, kept up to date: a change of an HTTPRoute costs its own places.

The oldest HTTPRoute of those that have the same place is served; the others stay in memory.
Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/httproute_types.go, HTTPRouteRule.Matches.
"""

import bisect
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from f5router.model.cluster import Key, PathMatch, Route, Subject
from f5router.model.gateway import Gateway
from f5router.model.request_match import ANY_REQUEST, MOST_OWN_TIES, MOST_TIES
from f5router.sources.gateway import hosts, translation
from f5router.sources.gateway.attachment import RouteAttachment
from f5router.sources.gateway.listeners import HTTP, HTTPS, TCP, TLS, CheckedListener
from f5router.sources.gateway.ranks import Age, Order, Ranks
from f5router.sources.gateway.route_rules import CheckedRoute
from f5router.sources.gateway.translation import PlacedRoute, RoutePlace

TOO_MANY = (f"spec: more than {MOST_TIES} matches for the same host and path, {MOST_OWN_TIES} of them of one "
            "namespace, with as many headers and parameters and another name among them, come before one of "
            "its matches, which is not supported")


class _Site(NamedTuple):
    """A host of a listener."""

    listener: int
    host: str

    def at_last(self) -> RoutePlace:
        """Return the place of all requests that nothing else matches."""
        return RoutePlace(self.listener, self.host, PathMatch.SEGMENTS, "", ANY_REQUEST)


@dataclass(frozen=True, slots=True)
class _Share:
    """The part of an HTTPRoute."""

    age: Age
    sites: Collection[_Site]
    routes: Mapping[RoutePlace, PlacedRoute]


class VirtualRoutes:
    """Not thread-safe."""

    def __init__(self, gateway: Gateway, listeners: Iterable[CheckedListener],
                 closed: Iterable[CheckedListener] = ()):
        """
        Args:
            listeners: those that can be served.
            closed: those that cannot, but whose hostnames no other listener has.
        """
        self._gateway = gateway
        self._closed = {each.number: each for each in closed}
        self._listeners = {each.number: each for each in listeners} | self._closed
        self._owners = {(each.listener.port, each.listener.hostname): number
                        for number, each in self._listeners.items()}
        self._shares: dict[Subject, _Share] = {}
        """By route."""
        self._places: dict[RoutePlace, list[PlacedRoute]] = {}
        """The oldest one first, as below."""
        self._ranks = Ranks()
        self._unordered: dict[RoutePlace, Order | None] = {}
        """Places that have changed since put_in_order."""
        self._sites: dict[_Site, list[Age]] = {}
        """The HTTPRoutes that a host has."""
        self._served: dict[RoutePlace, Route] = {}
        self.routes: dict[Key, Route] = {}
        self._catching: set[tuple[int, str]] = set()
        """Ports with the wildcards, or hosts.ALL, that HTTPRoutes have there."""
        self._caught: set[tuple[int, str]] = set()
        """Those that came or went since put_in_order."""
        self._named = frozenset(self._find_named())
        """The hosts that are answered for without any HTTPRoute."""
        self._shown = {site: translation.showing(gateway, self._listeners[site.listener], site.host)
                       for site in self._find_shown()}
        """The Routes of server names that certificates have, by host."""
        self.routes.update((route.key, route) for route in self._shown.values())
        self._settle({site.at_last() for site in self._named})

    def of_listener(self, number: int) -> Key | None:
        """Return the Route that shows if a listener with a hostname of its own, or none, is programmed."""
        if (listener := self._listeners.get(number)) is None or number in self._closed:
            return None
        served = self._served.get(_Site(number, listener.listener.hostname).at_last())
        return served.key if served is not None else None

    def showing(self, number: int) -> list[Key]:
        """Return the Routes that show the certificates of a listener for further server names."""
        return [route.key for site, route in self._shown.items() if site.listener == number]

    def of_route(self, subject: Subject) -> list[Key]:
        """Return the Routes of an HTTPRoute that no older one has displaced."""
        share = self._shares.get(subject)
        return [each.route.key for each in share.routes.values()
                if each.route.key in self.routes] if share else []

    def closing(self) -> Iterator[Key]:
        """Yield the Routes that answer where no rule matches, and those that show certificates alone."""
        yield from (route.key for route in self._shown.values())
        for site in {*self._named, *self._sites}:
            last = site.at_last()
            if last in self._served and last not in self._places:
                yield self._served[last].key

    def put(self, checked: CheckedRoute,
            attachments: Iterable[RouteAttachment]) -> dict[Key, Route | None]:
        """Replace the part of an HTTPRoute; returns the Routes that differ, None for removed ones."""
        sites = [site for site in dict.fromkeys(
            _Site(number, host) for each in attachments for number, names in each.hosts for host in names)
            if self._owner(site) == site.listener and site.listener not in self._closed]
        routes: dict[RoutePlace, PlacedRoute] = {}
        for site in sites:
            listener = self._listeners[site.listener]
            for place, candidate in translation.routes(self._gateway, listener, checked, site.host):
                routes.setdefault(place, candidate)
        touched = self._withdraw(checked.route.subject)
        self._shares[checked.route.subject] = share = _Share(checked.route.age, sites, routes)
        for place, candidate in routes.items():
            bisect.insort(self._places.setdefault(place, []), candidate, key=_ORDER)
        for site in sites:
            if site not in self._sites:
                self._catch(site)
            bisect.insort(self._sites.setdefault(site, []), share.age)
        return self._settle({*touched, *_touched(share)})

    def remove(self, subject: Subject) -> dict[Key, Route | None]:
        """Remove the part of an HTTPRoute. Returns: as put."""
        return self._settle(self._withdraw(subject))

    def _find_named(self) -> Iterator[_Site]:
        """Yield the hosts that listeners name, and all others of each port.

        On the router's own front end, and beside listeners that end TLS, names that no listener for TLS has
        are not reset: Routes may have them, or the certificate of the router is shown. The connections of a
        listener of TCP have the name of all others.
        """
        ports = {port for port, name in self._owners if name == hosts.ALL}
        ended = {each.listener.port for number, each in self._listeners.items()
                 if each.listener.protocol != TLS and number not in self._closed}
        for number, each in self._listeners.items():
            site = _Site(number, each.listener.hostname)
            if each.awaits_routes or self._owner(site) != number:
                continue
            protocol, name, port = each.listener.protocol, each.listener.hostname, each.listener.port
            passes = protocol == TLS
            if not passes or each.front_end or not (name == hosts.ALL or name.startswith("*.")):
                yield site
            closes = protocol != TCP and (not passes or (each.front_end and port not in ended))
            if closes and port not in ports and number not in self._closed:
                ports.add(port)
                yield _Site(number, hosts.ALL)

    def _find_shown(self) -> Iterator[_Site]:
        """Yield the server names of listeners with several certificates, on front ends of their own.

        On the router's own front end a certificate claims no hosts.
        """
        for number, each in self._listeners.items():
            sites = {_Site(number, name) for certificate in each.certificates
                     for name in certificate.names or () if each.front_end}
            sites.discard(_Site(number, each.listener.hostname))  # it has a Route anyway
            yield from sorted(site for site in sites if self._owner(site) == number)

    def _owner(self, site: _Site) -> int | None:
        """Return the listener of a port that has the requests for a host: the most specific one."""
        listener = self._listeners.get(site.listener)
        places = ((listener.listener.port, name) for name in hosts.patterns(site.host)) if listener else ()
        return next((self._owners[place] for place in places if place in self._owners), None)

    def _withdraw(self, subject: Subject) -> set[RoutePlace]:
        """Withdraw the part of an HTTPRoute; returns its places."""
        if (share := self._shares.pop(subject, None)) is None:
            return set()
        for place, candidate in share.routes.items():
            candidates = self._places[place]
            del candidates[bisect.bisect_left(candidates, candidate.order, key=_ORDER)]
            if not candidates:
                del self._places[place]
        for site in share.sites:
            ages = self._sites[site]
            del ages[bisect.bisect_left(ages, share.age)]
            if not ages:
                del self._sites[site]
                self._catch(site)
        return _touched(share)

    def _catch(self, site: _Site) -> None:
        """Record that a host has its first HTTPRoute, or none any more."""
        listener = self._listeners[site.listener].listener
        if listener.protocol in (HTTP, HTTPS) and (site.host == hosts.ALL or site.host.startswith("*.")):
            changed = {(listener.port, site.host)}
            self._catching ^= changed
            self._caught ^= changed

    def _settle(self, touched: Collection[RoutePlace]) -> dict[Key, Route | None]:
        """Find what is served in some places."""
        for place in touched:
            candidates = self._places.get(place)
            self._unordered[place] = candidates[0].order if candidates else None
        return self._serve(touched)

    def _above(self, place: RoutePlace) -> Iterator[tuple[int, str]]:
        """Yield the wildcards that cover the host of a place, and hosts.ALL, each with the port."""
        port = self._listeners[place.listener].listener.port
        return ((port, name) for name in hosts.patterns(place.host) if name != place.host)

    def put_in_order(self) -> dict[Key, Route | None]:
        """Order matches of one rank, and settle hosts below wildcards, once after any number of changes.

        Returns: as put.
        """
        moved, self._unordered = self._ranks.put(self._unordered), {}
        caught, self._caught = self._caught, set()
        if caught:
            moved |= {place for place in self._served if not caught.isdisjoint(self._above(place))}
        return self._serve(moved)

    def _serve(self, places: Iterable[RoutePlace]) -> dict[Key, Route | None]:
        changes: dict[Key, Route | None] = {}
        for place in places:
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
            route, ties = self._beside_others(candidates[0].route, place), self._ranks.ties(place)
            return route if not ties else replace(route, match=place.match._replace(ties=ties),
                                                  option_refusal=TOO_MANY if ties >= MOST_TIES else "")
        site, listener = _Site(place.listener, place.host), self._listeners[place.listener]
        ages = self._sites.get(site)
        if place != site.at_last() or not (ages or site in self._named):
            return None
        closing = translation.closing(self._gateway, listener, site.host, ages[0][0] if ages else "")
        return self._beside_others(closing, place)

    def _beside_others(self, route: Route, place: RoutePlace) -> Route:
        """Return a Route as it is beside HTTPRoutes of wildcards above, and of hosts that nobody claims."""
        caught = route.alone and any(above in self._catching for above in self._above(place))
        return replace(route, alone=False) if caught else route


_ORDER = attrgetter("order")


def _touched(share: _Share) -> set[RoutePlace]:
    return {*share.routes, *(site.at_last() for site in share.sites)}
