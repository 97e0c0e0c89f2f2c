"""Claims of all Routes, kept up to date by what an event affects: see host_claims.py."""

import heapq
import itertools
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from f5router.admission.admission import EvaluatedRoute, Rejection
from f5router.admission.host_claims import ClaimResult, DeepWildcard, resolve
from f5router.model import hostnames, small
from f5router.model.cluster import Key

_NONE: Mapping[Any, Any] = {}
_NO_WILDCARD: tuple[tuple[str, str], bool, tuple[EvaluatedRoute, ...], bool] = (("", ""), False, (), False)


class Site(NamedTuple):
    """A Host on a front end: no other front end's Routes have a part in its requests."""

    front_end: str
    host: str


_Domain = tuple[str, str]
"""Front end, and subdomain on it."""

_Claim = tuple[tuple[str, str], Key, str, str]
"""Age, Route, Host and namespace of a claim; smaller is older."""


class ClaimIndex:
    """Claims of all Routes. An event costs the Routes of its Host; of the subdomain if its wildcard moves."""

    def __init__(self, *, ownership: bool):
        self._ownership = ownership
        self._routes: dict[Key, EvaluatedRoute] = {}
        self._subdomains: dict[_Domain, dict[str, Mapping[Key, EvaluatedRoute]]] = {}
        """By subdomain, then by Host; see `small.put`."""
        self._lower: dict[_Domain, dict[_Domain, None]] = {}
        """By domain: the subdomains of Routes below it, at any depth; by "" all of the front end but that."""
        self._oldest: dict[_Domain, dict[str, _Claim]] = {}
        """By subdomain, then by Host that is no wildcard: the oldest claim."""
        self._verdicts: dict[Key, Rejection | None] = {}
        self._wildcards: dict[_Domain, tuple[tuple[str, str], bool, tuple[EvaluatedRoute, ...], bool]] = {}
        """By subdomain, the last result that matters to its Hosts: owner, passthrough, and its ports."""
        self._deep: dict[_Domain, DeepWildcard] = {}
        """By subdomain, the wildcard of any depth that holds it."""
        self._passing: set[_Domain] = set()
        """Domains for which ClaimResult.passes_below holds."""
        self._changed: dict[_Domain, set[str]] = {}
        """By subdomain: Hosts of Routes that came or went, and spec.host of a wildcard that went."""
        self.resolved = 0
        """Number of Routes that were resolved, counted each time."""

    def routes(self) -> Mapping[Key, EvaluatedRoute]:
        """Return every Route."""
        return self._routes

    def hosts(self, front_end: str, subdomain: str) -> Mapping[str, Mapping[Key, EvaluatedRoute]]:
        """Return the Routes of a subdomain on a front end by Host."""
        return self._subdomains.get((front_end, subdomain), _NONE)

    def put(self, key: Key, checked: EvaluatedRoute | None) -> None:
        """Store a Route as it is now, None when it is gone."""
        if (old := self._routes.pop(key, None)) is not None:
            self._verdicts.pop(key, None)
            domain = key.front_end, old.subdomain
            self._changed.setdefault(domain, set()).update((old.host, old.route.host))
            hosts = self._subdomains[domain]
            small.remove(hosts, old.host, key)
            if not hosts:
                del self._subdomains[domain]
                for above in _ancestors(domain):
                    del self._lower[above][domain]
                    if not self._lower[above]:
                        del self._lower[above]
        if checked is not None:
            self._routes[key] = checked
            domain = key.front_end, checked.subdomain
            self._changed.setdefault(domain, set()).add(checked.host)
            if domain not in self._subdomains:
                self._subdomains[domain] = {}
                for above in _ancestors(domain):
                    self._lower.setdefault(above, {})[domain] = None
            small.put(self._subdomains[domain], checked.host, key, checked)

    def take(self) -> Iterator[tuple[Site, Mapping[Key, EvaluatedRoute], ClaimResult]]:
        """Yield each Host whose result may have changed since the last call; without Routes when gone."""
        changed, self._changed = self._changed, {}
        queue = [(domain[1].count("."), domain) for domain in changed]
        heapq.heapify(queue)
        while queue:  # those above come first: they may change what is below
            domain = heapq.heappop(queue)[1]
            touched, above = changed[domain], self._above(domain)
            hosts = self._subdomains.get(domain, _NONE)
            self._rank(domain, touched)
            affected: Collection[str] = self._concerned(domain, touched)
            claims, before = self._resolve(hosts, affected, above), self._wildcards.pop(domain, _NO_WILDCARD)
            is_passed_around = self._is_passed_around(domain)
            if (claims.owner, claims.passthrough) != before[:2]:
                affected, claims = hosts, self._resolve(hosts, hosts, above)
            passes_otherwise = claims.passes_below != (domain in self._passing)
            for below in {*self._put_deep(domain, claims.deep), *self._put_passing(domain, claims)}:
                if below not in changed:
                    heapq.heappush(queue, (below[1].count("."), below))
                changed.setdefault(below, set()).update(self._subdomains[below])
            wildcard = (claims.owner, claims.passthrough, claims.on_port_80, claims.on_port_443)
            if wildcard != _NO_WILDCARD:
                self._wildcards[domain] = wildcard
            if claims.passthrough != before[1] or passes_otherwise:
                touched |= set(hosts)
            elif wildcard[2:] != before[2:]:
                touched |= {host for host, routes in hosts.items() if any(map(_is_silent, routes.values()))}
            touched |= {host for host in affected if any(
                self._verdicts.get(key) != claims.verdicts[key] for key in hosts[host])}
            self._verdicts.update(claims.verdicts)
            for host in touched:
                routes = hosts.get(host, _NONE)
                verdicts = small.compact({key: self._verdicts[key] for key in routes})
                yield Site(domain[0], host), routes, replace(
                    claims, verdicts=verdicts, is_passed_around=is_passed_around)

    def _above(self, domain: _Domain) -> tuple[DeepWildcard, ...]:
        """Return the wildcards of any depth that cover a subdomain, of domains above it."""
        above = _ancestors(domain) if self._deep else ()
        return tuple(deep for each in above if each[1] and (deep := self._deep.get(each)))

    def _put_deep(self, domain: _Domain, deep: DeepWildcard | None) -> list[_Domain]:
        """Store the wildcard of any depth of a subdomain; returns the subdomains below if it differs."""
        if self._deep.get(domain) == deep:
            return []
        self._deep.pop(domain, None)
        if deep is not None:
            self._deep[domain] = deep
        return list(self._lower.get(domain, ()))

    def _put_passing(self, domain: _Domain, claims: ClaimResult) -> list[_Domain]:
        """Record if all hosts below a domain are passed through. Returns: as _put_deep."""
        if claims.passes_below == (domain in self._passing):
            return []
        self._passing ^= {domain}
        return list(self._lower.get(domain, ()))

    def _is_passed_around(self, domain: _Domain) -> bool:
        """True if a wildcard of a domain above passes all hosts below it through."""
        return bool(self._passing) and any(above in self._passing for above in _ancestors(domain))

    def _rank(self, domain: _Domain, touched: set[str]) -> None:
        """Find the oldest claims of Hosts."""
        hosts, oldest = self._subdomains.get(domain, _NONE), self._oldest.setdefault(domain, {})
        for host in touched:
            oldest.pop(host, None)
            if claims := [(route.route.age, key, host, route.route.claim_namespace)
                          for key, route in hosts.get(host, _NONE).items()
                          if route.claims and not route.wildcard]:
                oldest[host] = min(claims)
        if not oldest:
            del self._oldest[domain]

    def _concerned(self, domain: _Domain, touched: set[str]) -> set[str]:
        """Return the Hosts to resolve together for the verdicts of the touched Hosts and the wildcard.

        A wildcard contends with its spec.host, and loses to any older Host of another namespace. It is
        enough to look at the oldest Host of all or, when that is of the wildcard's namespace, at the oldest
        one of the others.
        """
        hosts, wildcard_host = self._subdomains.get(domain, _NONE), f"*.{domain[1]}"
        wildcards = [route for route in hosts.get(wildcard_host, _NONE).values() if route.claims]
        concerned = {wildcard_host, hostnames.ANY, *touched, *(wildcard.route.host for wildcard in wildcards)}
        if wildcards and self._ownership and (oldest := self._oldest.get(domain, _NONE).values()):
            first = min(oldest)
            others = (claim for claim in oldest if claim[3] != first[3])
            concerned |= {first[2], min(others, default=first)[2]}
        return concerned & hosts.keys()

    def _resolve(self, hosts: Mapping[str, Mapping[Key, EvaluatedRoute]], some: Collection[str],
                 above: Collection[DeepWildcard]) -> ClaimResult:
        routes = list(itertools.chain.from_iterable(hosts[host].values() for host in some))
        self.resolved += len(routes)
        return resolve(routes, ownership=self._ownership, above=above)


def _ancestors(domain: _Domain) -> Iterator[_Domain]:
    """Yield the domains above one, and that of all hosts, the nearest first."""
    front_end, name = domain
    while name:
        name = hostnames.parent(name)
        yield front_end, name


def _is_silent(checked: EvaluatedRoute) -> bool:
    """True for a Route that keeps requests from other Routes: on port 80, or wherever it is not served."""
    protects = checked.rejection is not None and checked.rejection.protects
    return protects or checked.route.exclusive or (checked.termination != "" and checked.insecure == "None")
