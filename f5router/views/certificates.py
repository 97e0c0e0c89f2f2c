"""The certificate that clients of a Host get, and the options of a Route, as words and values."""

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from cryptography import x509

from f5router.admission import pem
from f5router.model import http_edge
from f5router.model.client_tls import LONGEST, timestamp
from f5router.model.cluster import Route
from f5router.model.findings import INVALID
from f5router.model.route_options import DEFAULTS
from f5router.model.texts import bounded

MOST_NAMES = 100
"""Names of a certificate that are shown."""

UNREADABLE = "(does not parse)"
"""Text for a subject or issuer that does not parse."""


@dataclass(frozen=True, slots=True)
class CertificateView:
    """A certificate without its key; whoever had it made chose its texts, which are printable and bounded."""

    subject: str = ""
    """As RFC 4514 has it, likewise issuer; UNREADABLE for one that does not parse."""
    issuer: str = ""
    names: tuple[str, ...] = ()
    """Its subject alternative names, at most MOST_NAMES."""
    not_before: str = ""
    """RFC 3339, in UTC; likewise not_after."""
    not_after: str = ""
    days_left: int = 0
    """Whole days until it expires; below 0 once it has."""
    problem: str = ""
    """Why clients may refuse it; "" if nothing is wrong with it."""
    code: str = ""
    """Code of the problem."""


def view(text: str, host: str, now: datetime.datetime) -> CertificateView:
    """Read a certificate in PEM, and check it for a Host at a time; an unreadable one is a problem."""
    try:
        certificate = x509.load_pem_x509_certificate(text.encode())
    except Exception as exc:  # not only ValueError: InvalidVersion and others
        return CertificateView(problem=f"it cannot be read ({type(exc).__name__})", code=INVALID)
    subject, issuer = _shown(pem.name(certificate, "subject")), _shown(pem.name(certificate, "issuer"))
    if (validity := pem.validity(certificate)) is None:
        return CertificateView(subject, issuer, problem="its dates or names cannot be read", code=INVALID)
    code, first = next(iter(validity.problems(host, now)), ("", ""))
    names = tuple(bounded(name, LONGEST) for name in validity.names[:MOST_NAMES])
    return CertificateView(subject, issuer, names, timestamp(validity.begin), timestamp(validity.end),
                           (validity.end - now).days, first, code)


def _shown(name: x509.Name | None) -> str:
    return UNREADABLE if name is None else bounded(name.rfc4514_string(), LONGEST)


class OptionView(NamedTuple):
    """An option that differs from what the router is configured for."""

    name: str
    value: str


def options_in_force(route: Route) -> tuple[OptionView, ...]:
    """Return the options of a Route; values of headers, which may be secrets, are left out."""
    options, named = route.options, []
    passes = route.tls is not None and route.tls.termination == "passthrough"
    for name, field in OPTION_FIELDS.items():
        value = getattr(options, field)
        if field == "reply" and passes and (reply := http_edge.reply_of(value)):
            named.append(OptionView("connections that are reset", f"{reply.share:.0%}"))
        elif value != getattr(DEFAULTS, field):
            named.append(OptionView(name, _text(field, value)))
    return tuple(named)


OPTION_FIELDS = {
    "balance": "balance", "connections per pod": "pod_connections",
    "connections per client": "most_connections", "connection rate per client": "connection_rate",
    "request rate per client": "request_rate", "allowed clients": "sources", "timeout": "timeout_ms",
    "tunnel timeout": "tunnel_timeout_ms", "session cookies off": "disable_cookies",
    "session cookies on": "session_cookie",
    "session cookie": "cookie_name", "SameSite": "same_site", "HSTS": "hsts", "rewrite": "rewrite",
    "redirect to": "redirect_to", "redirect status": "redirect_code",
    "application root": "app_root", "server SSL profile": "server_profile", "verify pods": "verify_pods",
    "health checks": "health", "forwarded headers": "forwarded", "request headers": "request_actions",
    "response headers": "response_actions", "check interval": "check_interval_ms",
    "answer of the BIG-IP": "reply",
}
"""Field of RouteOptions by the name that people see."""


def _text(field: str, value: object) -> str:
    """Return the value of an option in words."""
    if value is True or value is False:
        return "yes" if value else "no"
    if field.endswith("_ms") and isinstance(value, int):
        return f"{value // 1000} s" if value % 1000 == 0 else f"{value} ms"
    if field.endswith("_actions") and isinstance(value, tuple):
        return ", ".join(map(_header_action, value))
    if field == "reply":
        reply = http_edge.reply_of(str(value))
        return reply.text if reply else ""
    if field == "rewrite":
        return str(getattr(value, "target", ""))
    if field == "health" and isinstance(value, tuple):
        return ", ".join(f"{check.type} {check.path} every {check.interval_s} s" for check in value)
    return _joined(value) if isinstance(value, tuple) else str(value)


def _joined(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))


def _header_action(encoded: str) -> str:
    """Return an action of header_actions without its value: "set X-Frame-Options"."""
    verb, name = encoded.split(".")[:2]
    return f"{verb} {bytes.fromhex(name).decode(errors='replace')}"
