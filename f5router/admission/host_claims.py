"""Claims to Hosts: which Route holds which Host and path, resolved from scratch or by what an event affects.

Oldest first, so that no order of events matters. A wildcard Route (wildcardPolicy Subdomain) competes with
every host of its subdomain, so Routes of one subdomain are resolved together. Sources:
openshift/router, host_admitter.go and hostindex/activation.go.

An object of which nothing is served on a Host keeps it by a Route of its own: as with Routes, a mistake never
gives a Host to another tenant. Lines of the log say which Route holds a Host that another one claims; the
status and the Event of that Route do not name a holder in another namespace, as those of openshift/router do
not (pkg/router/controller/unique_host.go, host_admitter.go): tenants read them.
"""

import heapq
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from f5router.admission import validation
from f5router.admission.admission import EvaluatedRoute, Rejection
from f5router.admission.validation import terminates
from f5router.model import hostnames, names, small
from f5router.model.cluster import Key, Origin, PathMatch, Route
from f5router.model.findings import CLAIMED
from f5router.model.request_match import RequestMatch

WON = ("", None)
_PORTS = (80, 443)


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """Result for the Routes of a subdomain."""

    verdicts: Mapping[Key, Rejection | None] = field(default_factory=dict)
    """Rejection by Route; None if it is admitted."""
    passthrough: bool = False
    """The wildcard of the subdomain is passthrough: hosts whose TLS ends here must be distinguished."""
    on_port_80: tuple[EvaluatedRoute, ...] = ()
    """Admitted wildcard Routes that answer there, with a pod or a redirect, by their Key."""
    on_port_443: bool = False
    """True if an admitted wildcard Route ends TLS here."""
    owner: tuple[str, str] = ("", "")
    """Namespace that holds the wildcard, so that no other gets a host, and the kind of its object.

    Empty without a wildcard, and without ownership.
    """
    deep: "DeepWildcard | None" = None
    """The oldest wildcard of any depth of the subdomain that holds it; None without ownership."""
    around: frozenset[str] = frozenset()
    """Namespaces that hold wildcards of any depth of domains above."""


class DeepWildcard(NamedTuple):
    """A claim to all hosts below a domain, at any depth."""

    age: tuple[str, str]
    key: Key
    namespace: str
    host: str
    kind: str


def resolve(routes: Iterable[EvaluatedRoute], *, ownership: bool,
            above: Collection[DeepWildcard] = ()) -> ClaimResult:
    """Resolve the claims of the Routes of one subdomain, or of the Routes that the ClaimIndex selects.

    A Route that is invalid by itself keeps its claim, so that a mistake never gives a host to another
    tenant; one that lost claims nothing.

    Args: ownership: the namespace of the oldest claim holds a host with all its paths, and a subdomain
        with all its hosts; without, each Route holds its host and path.
        above: wildcards that cover the subdomain, of domains above it.
    """
    verdicts: dict[Key, Rejection | None] = {}
    subdomain, wildcards = _Subdomain(ownership, above), []
    for claim in sorted(routes, key=lambda c: (c.route.age, c.route.key)):
        key = claim.route.key
        reason, holder = subdomain.lost(claim) if claim.claims else WON
        message = validation.field_of_origin(claim.route, f"{claim.source}: {reason}")
        verdicts[key] = Rejection(CLAIMED, message, holder) if holder else claim.rejection
        if claim.claims and not holder:
            subdomain.hold(claim)
        if verdicts[key] is None and claim.wildcard:
            wildcards.append(claim)
    on_port_80 = sorted((wildcard for wildcard in wildcards if wildcard.insecure != "None"),
                        key=lambda c: c.route.key)
    passthrough = any(wildcard.termination == "passthrough" for wildcard in wildcards)
    secure = any(wildcard.termination in ("edge", "reencrypt") for wildcard in wildcards)
    return ClaimResult(verdicts, passthrough, tuple(on_port_80), secure, subdomain.owner(), subdomain.deep,
                       frozenset(each.namespace for each in above))


class _Place:
    """Holders of one host."""

    def __init__(self) -> None:
        self.owner: Route | None = None
        self._paths: dict[_Path, Route] = {}
        self._matches: dict[tuple[_Path, RequestMatch], Route] = {}
        """Holders of a part of the requests for a path, which Routes of one claimant share."""
        self._passthrough: Route | None = None
        self._secure: Route | None = None

    def foreign(self, route: Route) -> Route | None:
        """Return the owner, if another namespace holds the host by it."""
        if self.owner is None or self.owner.claim_namespace == route.claim_namespace:
            return None
        return self.owner

    def rival(self, route: Route) -> Route | None:
        """Return the holder that excludes a Route: a holder of the path, or passthrough beside other TLS."""
        if (holder := next(filter(None, (self._holder(path, route) for path in _paths(route))), None)):
            return holder
        kind = terminates(route)
        return (self._secure if kind == "passthrough" else self._passthrough) if kind else None

    def _holder(self, path: "_Path", route: Route) -> Route | None:
        """Return the Route that keeps another one from a path: Routes of one Gateway share it."""
        holder = self._paths.get(path)
        if holder is None or holder.match is None or route.match is None or (
                holder.claimant != route.claimant):
            return holder
        return self._matches.get((path, _untied(route.match)))

    def hold(self, route: Route) -> None:
        kind = terminates(route)
        self.owner = self.owner or route
        for path in _paths(route):
            self._paths.setdefault(path, route)
            if route.match is not None:
                self._matches[path, _untied(route.match)] = route
        if kind:
            self._secure = self._secure or route
        if kind == "passthrough":
            self._passthrough = self._passthrough or route


class _Subdomain:
    """Holders of the hosts of a subdomain, and of its wildcard."""

    def __init__(self, ownership: bool, above: Collection[DeepWildcard]):
        self._ownership, self._above = ownership, above
        self.deep: DeepWildcard | None = None
        """See ClaimResult.deep."""
        self._places: dict[str, _Place] = {}
        """By spec.host, of wildcard Routes too: upstream keeps one list of both."""
        self._wildcard = _Place()
        self._holders: dict[str, Route] = {}
        """The oldest Route for each namespace that holds a host that is no wildcard."""

    def lost(self, claim: EvaluatedRoute) -> tuple[str, Key | None]:
        """Return why a Route does not get its claim, and which Route holds it; WON if it does."""
        route = claim.route
        place = self._places.get(route.host, _Place())
        if self._ownership:
            if owner := place.foreign(route):
                return _elsewhere(route.host, route, owner), owner.key
            if owner := self._wildcard.foreign(route):
                return _elsewhere(hostnames.wildcard(route.host), route, owner), owner.key
            others = (holder for space, holder in self._holders.items() if space != route.claim_namespace)
            if claim.wildcard and (holder := next(others, None)) is not None:
                return _elsewhere(f"a host of {claim.host}", route, holder), holder.key
            if place.owner is None and (deep := next((
                    deep for deep in self._above if deep.namespace != route.claim_namespace
                    and (deep.age, deep.key) < (route.age, route.key)), None)):
                return _held(deep.host, route, deep.kind, deep.age), deep.key
        rival = place.rival(route) or (self._wildcard.rival(route) if claim.wildcard else None)
        if rival is None:
            return WON
        subject = rival.subject
        if subject.key.namespace != route.key.namespace:
            return _elsewhere(claim.host, route, rival), rival.key
        order = "is older" if rival.created != route.created else f"is as old, {_FIRST}"
        return (f"{subject.kind.lower()} {subject.key.name} already exposes {claim.host} and {order}",
                rival.key)

    def owner(self) -> tuple[str, str]:
        held = self._wildcard.owner if self._ownership else None
        return (held.claim_namespace, held.subject.kind) if held else ("", "")

    def hold(self, claim: EvaluatedRoute) -> None:
        route = claim.route
        self._places.setdefault(route.host, _Place()).hold(route)
        if claim.wildcard:
            self._wildcard.hold(route)
            if self._ownership and self.deep is None and route.wildcard_policy == hostnames.ANY_DEPTH:
                self.deep = DeepWildcard(
                    route.age, route.key, route.claim_namespace, claim.host, route.subject.kind)
        else:
            self._holders.setdefault(route.claim_namespace, route)


_Path = tuple[str, bool, int]
"""See _paths."""


def _untied(match: RequestMatch) -> RequestMatch:
    return match._replace(ties=0)


def _paths(route: Route) -> Iterator[_Path]:
    """Yield the path that a Route claims, a prefix or the single one that it stands for, on each port."""
    exact = route.path_match is PathMatch.EXACT
    for port in (route.port,) if route.port else _PORTS:
        yield (route.path or "/" if exact else route.path), exact, port


def _elsewhere(host: str, route: Route, holder: Route) -> str:
    """Return the message about a holder that its tenant may not know.

    Source: openshift/router, unique_host.go.
    """
    return _held(host, route, holder.subject.kind, holder.age)


_FIRST = "but comes first by its UID"


def _held(host: str, route: Route, kind: str, age: tuple[str, str]) -> str:
    """Return the message about a holder. Args: age: its own, as of Route."""
    kind, mine = kind.lower(), route.subject.key.name
    article = "an" if kind.startswith(("i", "h")) else "a"
    order = f"is older than {mine}" if age[0] != route.created else f"is as old as {mine}, {_FIRST}"
    return f"{article} {kind} in another namespace holds {host} and {order}"


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
        self._oldest: dict[_Domain, dict[str, _Claim]] = {}
        """By subdomain, then by Host that is no wildcard: the oldest claim."""
        self._verdicts: dict[Key, Rejection | None] = {}
        self._wildcards: dict[_Domain, tuple[tuple[str, str], bool, tuple[EvaluatedRoute, ...], bool]] = {}
        """By subdomain, the last result that matters to its Hosts: owner, passthrough, and its ports."""
        self._deep: dict[_Domain, DeepWildcard] = {}
        """By subdomain, the wildcard of any depth that holds it."""
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
        if checked is not None:
            self._routes[key] = checked
            domain = key.front_end, checked.subdomain
            self._changed.setdefault(domain, set()).add(checked.host)
            small.put(self._subdomains.setdefault(domain, {}), checked.host, key, checked)

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
            if (claims.owner, claims.passthrough) != before[:2]:
                affected, claims = hosts, self._resolve(hosts, hosts, above)
            for below in self._put_deep(domain, claims.deep):
                if below not in changed:
                    heapq.heappush(queue, (below[1].count("."), below))
                changed.setdefault(below, set()).update(self._subdomains[below])
            wildcard = (claims.owner, claims.passthrough, claims.on_port_80, claims.on_port_443)
            if wildcard != _NO_WILDCARD:
                self._wildcards[domain] = wildcard
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
                yield Site(domain[0], host), routes, ClaimResult(
                    verdicts, claims.passthrough, claims.on_port_80, claims.on_port_443, claims.owner,
                    claims.deep, claims.around)

    def _above(self, domain: _Domain) -> tuple[DeepWildcard, ...]:
        """Return the wildcards of any depth that cover a subdomain, of domains above it."""
        front_end, name = domain
        above = []
        while self._deep and (name := hostnames.parent(name)):
            above += [deep] if (deep := self._deep.get((front_end, name))) else []
        return tuple(above)

    def _put_deep(self, domain: _Domain, deep: DeepWildcard | None) -> list[_Domain]:
        """Store the wildcard of any depth of a subdomain; returns the subdomains below if it differs."""
        if self._deep.get(domain) == deep:
            return []
        self._deep.pop(domain, None)
        if deep is not None:
            self._deep[domain] = deep
        return [each for each in self._subdomains
                if each[0] == domain[0] and each[1].endswith(f".{domain[1]}")]

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
        concerned = {wildcard_host, *touched, *(wildcard.route.host for wildcard in wildcards)}
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


def _is_silent(checked: EvaluatedRoute) -> bool:
    """True for a Route that keeps requests from other Routes: on port 80, or wherever it is not served."""
    protects = checked.rejection is not None and checked.rejection.protects
    return protects or checked.route.exclusive or (checked.termination != "" and checked.insecure == "None")


REFUSAL = "no part of it can be served; the host stays reserved for it"
"""Why such a Route is not admitted; the reasons are those of its object."""

NO_PATH = "?"
"""No request has it, and no other Route can claim it: the Host is held, but no path of it."""


def hold(claimant: Key, kind: str, uid: str, created: str, host: str, field: str, *,
         wildcard: bool = False) -> Route:
    """Return the Route of a claimant. Args: field: the field that has the Host."""
    return Route(
        key=Key(claimant.namespace, names.virtual_route(kind, claimant.name, f"{host} {NO_PATH}")),
        uid=uid, created=created, host=host, wildcard_policy="Subdomain" if wildcard else "None",
        path=NO_PATH, path_match=PathMatch.EXACT, option_refusal=REFUSAL,
        origin=Origin(kind, claimant, field, field))
