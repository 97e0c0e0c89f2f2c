"""Index of claims by subdomain and Host; an event resolves only those whose verdict may have changed."""

import itertools
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from f5router.admission import host_claims
from f5router.admission.admission import EvaluatedRoute, Rejection
from f5router.admission.host_claims import ClaimResult
from f5router.model import small
from f5router.model.cluster import Key

_NONE: Mapping[Any, Any] = {}
_NO_WILDCARD: tuple[tuple[str, str], bool, tuple[EvaluatedRoute, ...], bool] = (("", ""), False, (), False)

_Claim = tuple[tuple[str, str], Key, str, str]
"""Age, Route, Host and namespace of a claim; smaller is older."""


class ClaimIndex:
    """Claims of all Routes. An event costs the Routes of its Host; of the subdomain if its wildcard moves."""

    def __init__(self, *, ownership: bool):
        self._ownership = ownership
        self._routes: dict[Key, EvaluatedRoute] = {}
        self._subdomains: dict[str, dict[str, Mapping[Key, EvaluatedRoute]]] = {}
        """By subdomain, then by Host; see `small.put`."""
        self._oldest: dict[str, dict[str, _Claim]] = {}
        """By subdomain, then by Host that is no wildcard: the oldest claim."""
        self._verdicts: dict[Key, Rejection | None] = {}
        self._wildcards: dict[str, tuple[tuple[str, str], bool, tuple[EvaluatedRoute, ...], bool]] = {}
        """By subdomain, the last result that matters to its Hosts: owner, passthrough, and its ports."""
        self._changed: dict[str, set[str]] = {}
        """By subdomain: Hosts of Routes that came or went, and spec.host of a wildcard that went."""
        self.resolved = 0
        """Number of Routes that were resolved, counted each time."""

    def routes(self) -> Mapping[Key, EvaluatedRoute]:
        """Return every Route."""
        return self._routes

    def hosts(self, subdomain: str) -> Mapping[str, Mapping[Key, EvaluatedRoute]]:
        """Return the Routes of a subdomain by Host."""
        return self._subdomains.get(subdomain, _NONE)

    def put(self, key: Key, checked: EvaluatedRoute | None) -> None:
        """Store a Route as it is now, None when it is gone."""
        if (old := self._routes.pop(key, None)) is not None:
            self._verdicts.pop(key, None)
            self._changed.setdefault(old.subdomain, set()).update((old.host, old.route.host))
            hosts = self._subdomains[old.subdomain]
            small.remove(hosts, old.host, key)
            if not hosts:
                del self._subdomains[old.subdomain]
        if checked is not None:
            self._routes[key] = checked
            self._changed.setdefault(checked.subdomain, set()).add(checked.host)
            small.put(self._subdomains.setdefault(checked.subdomain, {}), checked.host, key, checked)

    def take(self) -> Iterator[tuple[str, Mapping[Key, EvaluatedRoute], ClaimResult]]:
        """Yield each Host whose result may have changed since the last call; without Routes when gone."""
        changed, self._changed = self._changed, {}
        for subdomain, touched in changed.items():
            hosts = self._subdomains.get(subdomain, _NONE)
            self._rank(subdomain, touched)
            affected: Collection[str] = self._concerned(subdomain, touched)
            claims, before = self._resolve(hosts, affected), self._wildcards.pop(subdomain, _NO_WILDCARD)
            if (claims.owner, claims.passthrough) != before[:2]:
                affected, claims = hosts, self._resolve(hosts, hosts)
            wildcard = (claims.owner, claims.passthrough, claims.on_port_80, claims.on_port_443)
            if wildcard != _NO_WILDCARD:
                self._wildcards[subdomain] = wildcard
            if claims.passthrough != before[1]:
                touched |= set(hosts)
            elif wildcard[2:] != before[2:]:
                touched |= {host for host, routes in hosts.items() if any(map(_is_silent, routes.values()))}
            touched |= {host for host in affected if any(
                self._verdicts.get(key) != claims.verdicts[key] for key in hosts[host])}
            self._verdicts.update(claims.verdicts)
            for host in touched:
                routes = hosts.get(host, _NONE)
                verdicts = small.compact({key: self._verdicts[key] for key in routes})
                yield host, routes, ClaimResult(verdicts, claims.passthrough, claims.on_port_80,
                                                claims.on_port_443, claims.owner)

    def _rank(self, subdomain: str, touched: set[str]) -> None:
        """Find the oldest claims of Hosts."""
        hosts, oldest = self._subdomains.get(subdomain, _NONE), self._oldest.setdefault(subdomain, {})
        for host in touched:
            oldest.pop(host, None)
            if claims := [(route.route.age, key, host, route.route.claim_namespace)
                          for key, route in hosts.get(host, _NONE).items()
                          if route.claims and not route.wildcard]:
                oldest[host] = min(claims)
        if not oldest:
            del self._oldest[subdomain]

    def _concerned(self, subdomain: str, touched: set[str]) -> set[str]:
        """Return the Hosts to resolve together for the verdicts of the touched Hosts and the wildcard.

        A wildcard contends with its spec.host, and loses to any older Host of another namespace. It is
        enough to look at the oldest Host of all or, when that is of the wildcard's namespace, at the oldest
        one of the others.
        """
        hosts = self._subdomains.get(subdomain, _NONE)
        wildcards = [route for route in hosts.get(f"*.{subdomain}", _NONE).values() if route.claims]
        concerned = {f"*.{subdomain}", *touched, *(wildcard.route.host for wildcard in wildcards)}
        if wildcards and self._ownership and (oldest := self._oldest.get(subdomain, _NONE).values()):
            first = min(oldest)
            others = (claim for claim in oldest if claim[3] != first[3])
            concerned |= {first[2], min(others, default=first)[2]}
        return concerned & hosts.keys()

    def _resolve(self, hosts: Mapping[str, Mapping[Key, EvaluatedRoute]],
                 some: Collection[str]) -> ClaimResult:
        routes = list(itertools.chain.from_iterable(hosts[host].values() for host in some))
        self.resolved += len(routes)
        return host_claims.resolve(routes, ownership=self._ownership)


def _is_silent(checked: EvaluatedRoute) -> bool:
    """True for a Route that keeps requests from other Routes: on port 80, or wherever it is not served."""
    protects = checked.rejection is not None and checked.rejection.protects
    return protects or checked.route.exclusive or (checked.termination != "" and checked.insecure == "None")
