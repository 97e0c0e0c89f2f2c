"""Claims to Hosts: which Route holds which Host and path, resolved from scratch.

Oldest first, so that no order of events matters. A wildcard Route (wildcardPolicy Subdomain) competes with
every host of its subdomain, so Routes of one subdomain are resolved together. Sources:
openshift/router, host_admitter.go and hostindex/activation.go.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from f5router.admission import field_names
from f5router.admission.admission import CLAIMED, EvaluatedRoute, Rejection
from f5router.admission.validation import terminates
from f5router.model import hostnames
from f5router.model.cluster import Key, PathMatch, Route

WON = ("", None)


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


def resolve(routes: Iterable[EvaluatedRoute], *, ownership: bool) -> ClaimResult:
    """Resolve the claims of the Routes of one subdomain, or of the Routes that the ClaimIndex selects.

    A Route that is invalid by itself keeps its claim, so that a mistake never gives a host to another
    tenant; one that lost claims nothing.

    Args: ownership: the namespace of the oldest claim holds a host with all its paths, and a subdomain
        with all its hosts; without, each Route holds its host and path.
    """
    verdicts: dict[Key, Rejection | None] = {}
    subdomain, wildcards = _Subdomain(ownership), []
    for claim in sorted(routes, key=lambda c: (c.route.age, c.route.key)):
        key = claim.route.key
        reason, holder = subdomain.lost(claim) if claim.claims else WON
        message = field_names.of_origin(claim.route, f"{claim.source}: {reason}")
        verdicts[key] = Rejection(CLAIMED, message, holder) if holder else claim.rejection
        if claim.claims and not holder:
            subdomain.hold(claim)
        if verdicts[key] is None and claim.wildcard:
            wildcards.append(claim)
    on_port_80 = sorted((wildcard for wildcard in wildcards if wildcard.insecure != "None"),
                        key=lambda c: c.route.key)
    passthrough = any(wildcard.termination == "passthrough" for wildcard in wildcards)
    secure = any(wildcard.termination in ("edge", "reencrypt") for wildcard in wildcards)
    return ClaimResult(verdicts, passthrough, tuple(on_port_80), secure, subdomain.owner())


class _Place:
    """Holders of one host."""

    def __init__(self) -> None:
        self.owner: Route | None = None
        self._paths: dict[tuple[str, bool], Route] = {}
        self._passthrough: Route | None = None
        self._secure: Route | None = None

    def foreign(self, route: Route) -> Route | None:
        """Return the owner, if another namespace holds the host by it."""
        if self.owner is None or self.owner.claim_namespace == route.claim_namespace:
            return None
        return self.owner

    def rival(self, route: Route) -> Route | None:
        """Return the holder that excludes a Route: a holder of the path, or passthrough beside other TLS."""
        if (holder := self._paths.get(_path(route))) is not None:
            return holder
        kind = terminates(route)
        return (self._secure if kind == "passthrough" else self._passthrough) if kind else None

    def hold(self, route: Route) -> None:
        kind = terminates(route)
        self.owner = self.owner or route
        self._paths[_path(route)] = route
        if kind:
            self._secure = self._secure or route
        if kind == "passthrough":
            self._passthrough = self._passthrough or route


class _Subdomain:
    """Holders of the hosts of a subdomain, and of its wildcard."""

    def __init__(self, ownership: bool):
        self._ownership = ownership
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
        rival = place.rival(route) or (self._wildcard.rival(route) if claim.wildcard else None)
        if rival is None:
            return WON
        subject = rival.subject
        if subject.key.namespace != route.key.namespace:
            return _elsewhere(claim.host, route, rival), rival.key
        return (f"{subject.kind.lower()} {subject.key.name} already exposes {claim.host} and is older",
                rival.key)

    def owner(self) -> tuple[str, str]:
        held = self._wildcard.owner if self._ownership else None
        return (held.claim_namespace, held.subject.kind) if held else ("", "")

    def hold(self, claim: EvaluatedRoute) -> None:
        route = claim.route
        self._places.setdefault(route.host, _Place()).hold(route)
        if claim.wildcard:
            self._wildcard.hold(route)
        else:
            self._holders.setdefault(route.claim_namespace, route)


def _path(route: Route) -> tuple[str, bool]:
    """Return the path that a Route claims: a prefix, or the single path that it stands for."""
    exact = route.path_match is PathMatch.EXACT
    return (route.path or "/" if exact else route.path), exact


def _elsewhere(host: str, route: Route, holder: Route) -> str:
    """Return the message about a holder that its tenant may not know.

    Source: openshift/router, unique_host.go.
    """
    kind = holder.subject.kind.lower()
    article = "an" if kind.startswith("i") else "a"
    return (f"{article} {kind} in another namespace holds {host} and is older than "
            f"{route.subject.key.name}")
