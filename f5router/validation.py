"""What a Route's fields may say, one Route by itself.

Rules of spec.tls: openshift/router, ExtendedValidateRoute (haproxy-parity.md 3.4), with its words where
they help. A certificate that expired, or is not valid yet, passes; so does one of another host.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from f5router import names, pem
from f5router.cluster import Route, RouteTLS, Secret
from f5router.hosts import quote

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
"""What messages name instead, where a Secret has the certificate."""

_PORT_NUMBER = re.compile(r"[1-9][0-9]{0,4}")
_PORT_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SERVICE = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Found:
    """What is wrong with a Route, and what its TLS needs."""

    problems: tuple[str, ...] = ()
    """Each begins with the field."""
    material: pem.Material | None = field(default=None, repr=False)
    destination_ca: str = ""
    """PEM, re-encoded; "" without one."""


def check(route: Route, *, extended: bool, secret: Secret | None = None) -> Found:
    """Judge the fields of a Route but its host; costs a parse of its certificates.

    Args:
        extended: with the rules of upstream's validator; without them only what cannot be put on the
            BIG-IP is a problem.
        secret: it has the certificate and key, not the Route; not looked for in one that is not read yet.
    """
    problems = [*_service_problems(route), *_path_problems(route)]
    if route.tls is None:
        return Found(tuple(problems))
    if secret is None:
        tls = _TLS(route.tls, extended)
        return Found((*problems, *tls.problems), tls.material, tls.destination_ca)
    tls = _TLS(replace(route.tls, certificate=secret.certificate, key=secret.private_key), extended)
    if not secret.certificate and not secret.unread:
        problems.append(f"{_IN_SECRET['spec.tls.certificate']}: no certificate specified")
    return Found((*problems, *map(_of_secret, tls.problems)), tls.material, tls.destination_ca)


def _of_secret(problem: str) -> str:
    name, colon, rest = problem.partition(": ")
    return f"{_IN_SECRET.get(name, name)}{colon}{rest}"


def terminates(route: Route) -> str:
    """"", edge, reencrypt or passthrough; what else a Route may say serves nothing."""
    return route.tls.termination if route.tls else ""


class _TLS:
    """Judges spec.tls; every part that is wrong is told."""

    def __init__(self, tls: RouteTLS, extended: bool):
        self._tls, self._extended = tls, extended
        self.problems: list[str] = []
        self.material: pem.Material | None = None
        self.destination_ca = ""
        if tls.termination not in TERMINATIONS and (extended or tls.termination):
            self.problems.append(f"spec.tls.termination: {quote(tls.termination)} is unknown; "
                                 "edge, passthrough and reencrypt are supported")
        if extended:
            self.problems += _combinations(tls)
        if tls.termination in ("edge", "reencrypt"):
            self._own()
        if tls.termination == "reencrypt" and (text := tls.destination_ca_certificate):
            self.destination_ca = pem.encode(self._certificates(text, "spec.tls.destinationCACertificate"))

    def _own(self) -> None:
        """certificate, key and caCertificate."""
        tls, where = self._tls, "spec.tls.caCertificate"
        authorities = self._certificates(tls.ca_certificate, where) if tls.ca_certificate else []
        if not tls.certificate:
            # Not used, but what is no key at all is told.
            if "-----BEGIN" in tls.key:
                self._told(pem.keys, tls.key, "spec.tls.key", only=True)
            return
        certs = self._certificates(tls.certificate, "spec.tls.certificate")
        if certs and authorities and self._extended:
            self._told(pem.check_issued, certs, authorities)
        keys = self._keys() if certs else []
        if certs and keys:
            self.material = self._told(pem.material, certs, keys[0], authorities)

    def _keys(self) -> list[pem.PrivateKey]:
        """Of certificate, then of key."""
        tls = self._tls
        found = self._told(pem.keys, tls.certificate, "spec.tls.certificate", only=False) or []
        if tls.key.strip():
            found += self._told(pem.keys, tls.key, "spec.tls.key", only=True) or []
        elif not found:
            self.problems.append("spec.tls.key: no key specified")
        return found

    def _certificates(self, text: str, where: str) -> list:
        """Those of a field; none after a problem."""
        found = self._told(pem.certificates, text, where) or []
        if self._extended:
            self._told(pem.check_signatures, found, where)
        return found

    def _told(self, part: Callable, *args, **options):
        """Result of a part, None after it raised a PEMError, which is told."""
        try:
            return part(*args, **options)
        except pem.PEMError as exc:
            self.problems.append(str(exc))
            return None


def _combinations(tls: RouteTLS) -> Iterator[str]:
    """Fields that the termination does not allow."""
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
    if len(path) > names.MAX_PATH:
        yield f"spec.path: {len(path)} characters, at most {names.MAX_PATH} are supported"
    if terminates(route) == "passthrough":
        yield "spec.path: passthrough termination does not support paths"
