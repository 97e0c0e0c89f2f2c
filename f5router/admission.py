"""Which Routes hold their host and path, and why the others do not.

Everything is judged from scratch per host: the order of events does not matter. Sources:
haproxy-parity.md 3.2-3.4; f5-router.md 1.3.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from f5router import hosts, names, pem
from f5router.cluster import Key, Route
from f5router.hosts import quote

NO_HOST = "NoHostValue"
INVALID_HOST = "InvalidHost"
CLAIMED = "HostAlreadyClaimed"
NOT_ADMITTED = "RouteNotAdmitted"
INVALID = "ExtendedValidationFailed"

_PORT_NUMBER = re.compile(r"[1-9][0-9]{0,4}")
_PORT_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SERVICE = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_SECURE = ("edge", "reencrypt", "passthrough")
_POLICIES = {
    "edge": ("", "None", "Allow", "Redirect"),
    "reencrypt": ("", "None", "Allow", "Redirect"),
    "passthrough": ("", "None", "Redirect"),
}


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
        return self.route.tls.termination if self.route.tls else ""

    @property
    def insecure(self) -> str:
        """What port 80 does: None, Allow or Redirect; Allow for a Route without TLS."""
        if not self.termination:
            return "Allow"
        return self.route.tls.insecure_policy or "None"


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
    problems = [*_service_problems(route), *_path_problems(route), *_tls_problems(route)]
    if problems:
        return Checked(route, Rejection(INVALID, "; ".join(problems)))
    try:
        return Checked(route, material=_material(route), destination_ca=_destination_ca(route))
    except pem.PEMError as exc:
        return Checked(route, Rejection(INVALID, str(exc)))


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
        tls = _terminates(route), _terminates(holder)
        both = tls[0] and tls[1] and "passthrough" in tls
        if holder.path == route.path or both:
            shown = holder.key.name if holder.key.namespace == route.key.namespace else "in another namespace"
            return Rejection(CLAIMED, f"spec.host: route {shown} already exposes {route.host} and is older")
    return None


def _terminates(route: Route) -> str:
    return route.tls.termination if route.tls else ""


def _refused(route: Route, reason: str, message: str) -> Checked:
    return Checked(route, Rejection(reason, message), claims=False)


def _service_problems(route: Route) -> Iterable[str]:
    if route.service_kind not in ("", "Service"):
        yield f"spec.to.kind: {quote(route.service_kind)} is not supported, only Service"
    if not _SERVICE.fullmatch(route.service):
        yield f"spec.to.name: {quote(route.service)} is not the name of a Service"
    if route.weight == 0:
        yield "spec.to.weight: 0 is not yet supported"
    if route.alternate_services:
        yield "spec.alternateBackends: not yet supported"
    port = route.target_port
    if port.isascii() and port.isdigit():
        if not _PORT_NUMBER.fullmatch(port) or int(port) > 65535:
            yield f"spec.port.targetPort: {quote(port)} is not a port number"
    elif port and not _PORT_NAME.fullmatch(port):
        yield f"spec.port.targetPort: {quote(port)} is neither a number nor the name of a port"


def _path_problems(route: Route) -> Iterable[str]:
    path = route.path
    if not path:
        return
    if not path.startswith("/"):
        yield f"spec.path: {quote(path)} must begin with '/'"
    if not (path.isascii() and path.isprintable()):
        yield f"spec.path: {quote(path)} may hold printable ASCII characters only; percent-encode others"
    if "?" in path or "#" in path:
        yield f"spec.path: {quote(path)} holds '?' or '#', which no path of a request does"
    if len(path) > names.MAX_PATH:
        yield f"spec.path: {len(path)} characters, at most {names.MAX_PATH} are supported"
    if _terminates(route) == "passthrough":
        yield "spec.path: passthrough termination does not support paths"


def _tls_problems(route: Route) -> Iterable[str]:
    tls = route.tls
    if tls is None or not tls.termination:
        return
    if tls.termination not in _SECURE:
        yield (f"spec.tls.termination: {quote(tls.termination)} is unknown; "
               "edge, passthrough and reencrypt are supported")
        return
    if tls.insecure_policy not in _POLICIES[tls.termination]:
        yield (f"spec.tls.insecureEdgeTerminationPolicy: {quote(tls.insecure_policy)} is not allowed "
               f"with {tls.termination} termination")
    if tls.external_certificate:
        yield "spec.tls.externalCertificate: not yet supported"
    if tls.termination == "passthrough":
        for name, text in (("certificate", tls.certificate), ("key", tls.key),
                           ("caCertificate", tls.ca_certificate)):
            if text:
                yield f"spec.tls.{name}: passthrough termination does not support certificates"
    if tls.termination != "reencrypt" and tls.destination_ca_certificate:
        yield f"spec.tls.destinationCACertificate: {tls.termination} termination does not support it"


def _material(route: Route) -> pem.Material | None:
    tls = route.tls
    if tls is None or tls.termination not in ("edge", "reencrypt"):
        return None
    if not tls.certificate.strip():
        if tls.key.strip():
            raise pem.PEMError("spec.tls.certificate: there is a key without a certificate")
        return None
    return pem.material(tls.certificate, tls.key, tls.ca_certificate)


def _destination_ca(route: Route) -> str:
    tls = route.tls
    if tls is None or tls.termination != "reencrypt" or not tls.destination_ca_certificate.strip():
        return ""
    where = "spec.tls.destinationCACertificate"
    return pem.encode(pem.certificates(tls.destination_ca_certificate, where))
