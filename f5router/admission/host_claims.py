"""Claims to Hosts: which Route holds which Host and path, resolved from scratch or by what an event affects.

Oldest first, so that no order of events matters. A wildcard Route (wildcardPolicy Subdomain) competes with
every host of its subdomain, so Routes of one subdomain are resolved together. Sources:
openshift/router, host_admitter.go and hostindex/activation.go.

An object of which nothing is served on a Host keeps it by a Route of its own: as with Routes, a mistake never
gives a Host to another tenant. Lines of the log say which Route holds a Host that another one claims; the
status and the Event of that Route do not name a holder in another namespace, as those of openshift/router do
not (pkg/router/controller/unique_host.go, host_admitter.go): tenants read them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from f5router.admission import validation
from f5router.admission.admission import EvaluatedRoute, Rejection
from f5router.admission.validation import terminates
from f5router.model import hostnames, names
from f5router.model.cluster import Key, Origin, PathMatch, Route
from f5router.model.findings import CLAIMED
from f5router.model.request_match import NO_REQUEST, RequestMatch

WON = ("", None)
_PORTS = (80, 443)


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """Result for the Routes of a subdomain."""

    verdicts: Mapping[Key, Rejection | None] = field(default_factory=dict)
    """Rejection by Route; None if it is admitted."""
    passthrough: bool = False
    """The wildcard of the subdomain is passthrough: hosts whose TLS ends here must be distinguished."""
    passes_below: bool = False
    """It is so for all hosts below the domain, at any depth."""
    is_passed_around: bool = False
    """True if such a wildcard of a domain above is passthrough; known to the ClaimIndex alone."""
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
    subdomain, wildcards, passes_below = _Subdomain(ownership, above), [], False
    for claim in sorted(routes, key=lambda c: (c.route.age, c.route.key)):
        key = claim.route.key
        reason, holder = subdomain.lost(claim) if claim.claims else WON
        message = validation.field_of_origin(claim.route, f"{claim.source}: {reason}")
        verdicts[key] = Rejection(CLAIMED, message, holder) if holder else claim.rejection
        if claim.claims and not holder:
            subdomain.hold(claim)
        if verdicts[key] is None:
            wildcards += [claim] if claim.wildcard else []
            passes_below |= claim.is_for_any_depth and _kind(claim.route) == "passthrough"
    on_port_80 = sorted((wildcard for wildcard in wildcards if wildcard.insecure != "None"),
                        key=lambda c: c.route.key)
    passthrough = any(_kind(wildcard.route) == "passthrough" for wildcard in wildcards)
    secure = any(wildcard.termination in ("edge", "reencrypt") for wildcard in wildcards)
    return ClaimResult(
        verdicts, passthrough, passes_below, False, tuple(on_port_80), secure, subdomain.owner(),
        subdomain.deep, frozenset(each.namespace for each in above))


def _kind(route: Route) -> str:
    """Return the termination of what a Route serves; "" if it shows a certificate alone."""
    return "" if route.match == NO_REQUEST else terminates(route)


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
        kind = _kind(route)
        return (self._secure if kind == "passthrough" else self._passthrough) if kind else None

    def _holder(self, path: "_Path", route: Route) -> Route | None:
        """Return the Route that keeps another one from a path: Routes of one Gateway share it."""
        holder = self._paths.get(path)
        if holder is None or holder.match is None or route.match is None or (
                holder.claimant != route.claimant):
            return holder
        return self._matches.get((path, _untied(route.match)))

    def hold(self, route: Route) -> None:
        kind = _kind(route)
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
