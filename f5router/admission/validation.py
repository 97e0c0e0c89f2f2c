"""Validation of the fields of a single Route, and their names in messages.

Rules of spec.tls: openshift/router, ExtendedValidateRoute, with its words where
they help; those of its certificates are in certificates.py.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from f5router.admission import certificates
from f5router.admission.certificates import CertificateChecker, Certificates, Texts
from f5router.model import names
from f5router.model.cluster import PathMatch, Route, RouteTLS, Secret
from f5router.model.hostnames import quote

TERMINATIONS = ("edge", "reencrypt", "passthrough")
INSECURE = {
    "edge": ("None", "Allow", "Redirect"),
    "reencrypt": ("None", "Allow", "Redirect"),
    "passthrough": ("None", "Redirect"),
}
"""insecureEdgeTerminationPolicy by termination; empty is None."""

_IN_SECRET = {
    "spec.tls.certificate": "spec.tls.externalCertificate: tls.crt",
    "spec.tls.key": "spec.tls.externalCertificate: tls.key",
}
"""Names of fields in messages, where a Secret has the certificate."""

MOST_ALTERNATES = 3
"""Services beside spec.to. Source: openshift/library-go, validateRoute."""

MOST_SERVICES = 20
"""Services of one path of another object than a Route."""

_PORT_NUMBER = re.compile(r"[1-9][0-9]{0,4}")
_PORT_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SERVICE = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class ValidationResult:
    """Problems of a Route, and its certificates."""

    problems: tuple[str, ...] = ()
    """Each begins with the field."""
    certificates: Certificates = field(default_factory=Certificates, repr=False)
    pending: bool = False
    """True while its certificates are not checked; other problems are then not listed either."""


def check(route: Route, *, extended: bool, secret: Secret | None = None, pods: Secret | None = None,
          checker: CertificateChecker = certificates.check) -> ValidationResult:
    """Check the fields of a Route but its host, including its certificates.

    Args:
        extended: with the rules of upstream's validator; without them only what cannot be put on the
            BIG-IP is a problem.
        secret: it has the certificate and key, not the Route; not looked for in one that is not read yet.
        pods: that of `pod_authority`, which has authorities.
        checker: checks the certificates, or returns None while the result is not known.
    """
    problems, tls = [*_service_problems(route), *_path_problems(route)], route.tls
    if tls is None and pods is None:
        return ValidationResult(tuple(problems))
    if tls is None:
        tls = RouteTLS("reencrypt")  # towards the pods alone, whose authorities are to be checked
    problems += _termination_problems(tls, extended)
    if secret is not None:
        ended = "edge" if tls.termination == "passthrough" else tls.termination
        tls = replace(tls, certificate=secret.certificate, key=secret.private_key, termination=ended)
        if not secret.certificate and not secret.not_loaded:
            problems.append(f"{_IN_SECRET['spec.tls.certificate']}: no certificate specified")
    fields = _IN_SECRET if secret is not None else {}
    if pods is not None and (authority := route.pod_authority) is not None:
        tls = replace(tls, destination_ca_certificate=pods.text(authority.entry))
        fields = {**fields, "spec.tls.destinationCACertificate": f"{authority.field}: {authority.entry}"}
    result = checker(Texts.of(tls, extended=extended))
    if result is None:
        return ValidationResult(pending=True)
    return ValidationResult((*problems, *(_renamed(problem, fields) for problem in result.problems)), result)


def _renamed(problem: str, fields: Mapping[str, str]) -> str:
    """Return a problem that begins with what has the text instead of a field."""
    name, colon, rest = problem.partition(": ")
    return f"{fields.get(name, name)}{colon}{rest}"


def terminates(route: Route) -> str:
    """Return the termination: "", edge, reencrypt or passthrough; any other value serves nothing."""
    return route.tls.termination if route.tls else ""


def _termination_problems(tls: RouteTLS, extended: bool) -> Iterator[str]:
    if tls.termination not in TERMINATIONS and (extended or tls.termination):
        yield (f"spec.tls.termination: {quote(tls.termination)} is unknown; "
               "edge, passthrough and reencrypt are supported")
    if extended:
        yield from _combinations(tls)


def _combinations(tls: RouteTLS) -> Iterator[str]:
    """Yield problems of fields that the termination does not allow."""
    allowed = INSECURE.get(tls.termination, ())
    if allowed and tls.insecure_policy not in ("", *allowed):
        yield (f"spec.tls.insecureEdgeTerminationPolicy: {quote(tls.insecure_policy)} is not allowed with "
               f"{tls.termination} termination; acceptable are {', '.join(allowed)}, or empty")
    if tls.termination == "passthrough":
        for name, text in (("certificate", tls.certificate), ("key", tls.key),
                           ("caCertificate", tls.ca_certificate),
                           ("destinationCACertificate", tls.destination_ca_certificate),
                           ("externalCertificate", tls.external_certificate)):
            if text:
                yield f"spec.tls.{name}: passthrough termination does not support certificates"
    if tls.termination == "edge" and tls.destination_ca_certificate:
        yield "spec.tls.destinationCACertificate: edge termination does not support destination certificates"


def _service_problems(route: Route) -> Iterator[str]:
    if route.service_kind not in ("", "Service"):
        yield f"spec.to.kind: {quote(route.service_kind)} is not supported, only Service"
    if not _SERVICE.fullmatch(route.service) and (route.service or not route.options.reply):
        yield f"spec.to.name: {quote(route.service)} is not the name of a Service"
    yield from _alternate_problems(route)
    yield from _port_problems("spec.port.targetPort", route.target_port)


def _port_problems(name: str, port: str) -> Iterator[str]:
    if port.isascii() and port.isdigit():
        if not _PORT_NUMBER.fullmatch(port) or int(port) > 65535:
            yield f"{name}: {quote(port)} is not a port number"
    elif port and not _PORT_NAME.fullmatch(port):
        yield f"{name}: {quote(port)} is neither a number nor the name of a port"


def _alternate_problems(route: Route) -> Iterator[str]:
    most = MOST_ALTERNATES if route.origin is None else MOST_SERVICES - 1
    if len(route.alternates) > most:
        yield f"spec.alternateBackends: there are more than {most}"
    for number, backend in enumerate(route.alternates):
        name = f"spec.alternateBackends[{number}]"
        if backend.kind != "Service":
            yield f"{name}.kind: {quote(backend.kind)} is not supported, only Service"
        if not _SERVICE.fullmatch(backend.service):
            yield f"{name}.name: {quote(backend.service)} is not the name of a Service"
        yield from _port_problems(f"{name}.port", backend.port or "")


def _path_problems(route: Route) -> Iterator[str]:
    path = route.path
    if not path:
        return
    if not path.startswith("/"):
        yield f"spec.path: {quote(path)} must begin with '/'"
    if not (path.isascii() and path.isprintable()):
        yield f"spec.path: {quote(path)} may hold printable ASCII characters only; percent-encode others"
    if "?" in path or "#" in path:
        yield f"spec.path: {quote(path)} holds '?' or '#', which no path of a request does"
    most = names.MAX_PATH - (route.path_match is PathMatch.EXACT)
    if len(path) > most:
        yield f"spec.path: {len(path)} characters, at most {most} are supported"
    if terminates(route) == "passthrough":
        yield "spec.path: passthrough termination does not support paths"


_SECRET = "spec.tls.externalCertificate"
_OF_HOST = ("spec.host", "spec.subdomain", "spec.wildcardPolicy")


def field_of_origin(route: Route, text: str) -> str:
    """Return a message that begins with a field of a Route, with the field that its author has written.

    Annotations are those of the object itself.
    """
    field, colon, rest = text.partition(": ")
    if route.origin is None or not colon or not field.startswith("spec"):
        return text
    origin = route.origin
    names = {**dict.fromkeys(_OF_HOST, origin.host_field), _SECRET: origin.tls_field}
    name = names.get(field) or origin.field
    return f"{name}: {rest}" if name else rest
