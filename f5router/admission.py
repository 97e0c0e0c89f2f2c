"""Which Routes hold their host and path, and why the others do not.

Everything is judged from scratch per host: the order of events does not matter. Sources:
haproxy-parity.md 3.2-3.4; f5-router.md 1.3.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from f5router import hosts, pem, validation
from f5router.cluster import Key, Route
from f5router.hosts import quote

NO_HOST = "NoHostValue"
INVALID_HOST = "InvalidHost"
CLAIMED = "HostAlreadyClaimed"
NOT_ADMITTED = "RouteNotAdmitted"
INVALID = "ExtendedValidationFailed"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the administrator says of admission; docs/configuration.md."""

    ownership: bool = True
    """A host belongs to the namespace of its oldest Route, with all paths."""
    naming: hosts.Naming = field(default_factory=hosts.Naming)
    allowed: frozenset[str] = frozenset()
    """Domains; empty for all."""
    denied: frozenset[str] = frozenset()
    """They go before `allowed`."""
    extended: bool = True
    """With the rules of upstream's validator."""


@dataclass(frozen=True, slots=True)
class Rejection:
    """Why a Route is not admitted; reason is one of upstream's, or of docs/routes.md."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Checked:
    """A Route by itself: its claim and, when it is valid, what its TLS needs."""

    route: Route
    """With its Host: given, or made by the router."""
    rejection: Rejection | None = None
    """Its own fault; it may hold its host all the same."""
    claims: bool = True
    """Takes part in the contest for its host."""
    material: pem.Material | None = field(default=None, repr=False)
    destination_ca: str = ""
    """PEM, re-encoded; "" without one."""

    @property
    def termination(self) -> str:
        """"", edge, reencrypt or passthrough."""
        return validation.terminates(self.route)

    @property
    def insecure(self) -> str:
        """What port 80 does: None, Allow or Redirect; Allow for a Route without TLS."""
        if not self.termination:
            return "Allow"
        policy = self.route.tls.insecure_policy
        return policy if policy in validation.INSECURE.get(self.termination, ()) else "None"


def check(route: Route, settings: Settings) -> Checked:
    """Judge one Route by itself; costs a parse of its certificates.

    Whatever a team writes costs its Route at most: a fault of ours in judging it is no reason to
    stop judging the others.
    """
    try:
        return _check(route, settings)
    except Exception as exc:
        return Checked(route, Rejection(INVALID, f"spec: it cannot be judged ({type(exc).__name__})"))


def _check(route: Route, settings: Settings) -> Checked:
    host, source = settings.naming.host(route)
    if host != route.host:
        route = replace(route, host=host)
    if refusal := _domain_refusal(host, settings):
        return _refused(route, NOT_ADMITTED, f"{source}: {quote(host)}: {refusal}")
    if route.wildcard_policy == "Subdomain":
        return _refused(route, NOT_ADMITTED, "spec.wildcardPolicy: wildcard routes are not yet supported")
    if route.wildcard_policy != "None":
        policy = quote(route.wildcard_policy)
        return _refused(route, NOT_ADMITTED, f"spec.wildcardPolicy: unknown wildcard policy {policy}")
    if not host:
        return _refused(route, NO_HOST, "spec.host: no host value was defined for the route")
    if problem := hosts.problem(host):
        return _refused(route, INVALID_HOST, f"{source}: {quote(host)}: {problem}")
    found = validation.check(route, extended=settings.extended)
    rejection = Rejection(INVALID, "; ".join(found.problems)) if found.problems else None
    return Checked(route, rejection, material=found.material, destination_ca=found.destination_ca)


def _domain_refusal(host: str, settings: Settings) -> str:
    """What the domain lists say against a Host. Source: haproxy-parity.md 3.2."""
    if hosts.within(host, settings.denied):
        return "host in list of denied domains"
    if host and settings.allowed and not hosts.within(host, settings.allowed):
        return "host not in the allowed list of domains"
    return ""


def admit(checked: Iterable[Checked], *, ownership: bool = True) -> Mapping[Key, Rejection | None]:
    """Judge the Routes of one host together; None means admitted.

    With ownership, the namespace of the oldest Route holds the host; a (host, path) belongs to its
    oldest Route; a passthrough Route excludes every other Route with TLS. A Route that is invalid
    by itself keeps its claim, so that a mistake never gives a host to another tenant.
    """
    verdicts: dict[Key, Rejection | None] = {}
    holders: list[Route] = []
    for one in sorted(checked, key=lambda c: (c.route.age, c.route.key)):
        if not one.claims:
            verdicts[one.route.key] = one.rejection
            continue
        conflict = _conflict(one.route, holders, ownership)
        verdicts[one.route.key] = conflict or one.rejection
        if conflict is None:
            holders.append(one.route)
    return verdicts


def _conflict(route: Route, holders: list[Route], ownership: bool) -> Rejection | None:
    if not holders:
        return None
    owner = holders[0]
    if ownership and owner.key.namespace != route.key.namespace:
        return Rejection(
            CLAIMED,
            f"spec.host: a route in another namespace holds {route.host} and is older than {route.key.name}",
        )
    for holder in holders:
        tls = validation.terminates(route), validation.terminates(holder)
        both = tls[0] and tls[1] and "passthrough" in tls
        if holder.path == route.path or both:
            shown = holder.key.name if holder.key.namespace == route.key.namespace else "in another namespace"
            return Rejection(CLAIMED, f"spec.host: route {shown} already exposes {route.host} and is older")
    return None


def _refused(route: Route, reason: str, message: str) -> Checked:
    return Checked(route, Rejection(reason, message), claims=False)
