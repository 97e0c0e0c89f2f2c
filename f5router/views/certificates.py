"""The certificate that clients of a Host get: subject, names and validity."""

import datetime
from dataclasses import dataclass

from cryptography import x509

MOST_NAMES = 100
"""Names of a certificate that are shown."""


@dataclass(frozen=True, slots=True)
class CertificateView:
    """A certificate without its key."""

    subject: str = ""
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


def view(pem: str, host: str, now: datetime.datetime) -> CertificateView:
    """Read a certificate, and check it for a Host at a time; one that cannot be read is a problem."""
    try:
        certificate = x509.load_pem_x509_certificate(pem.encode())
        names = _names(certificate)
        begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        subject, issuer = certificate.subject.rfc4514_string(), certificate.issuer.rfc4514_string()
    except (ValueError, TypeError, x509.DuplicateExtension) as exc:
        return CertificateView(problem=f"it cannot be read ({type(exc).__name__})")
    return CertificateView(
        subject, issuer, names[:MOST_NAMES], _text(begin), _text(end),
        (end - now).days, _problem(host, names, begin, end, now))


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    names = extension.value
    return (*names.get_values_for_type(x509.DNSName),
            *map(str, names.get_values_for_type(x509.IPAddress)))


def _problem(host: str, names: tuple[str, ...], begin: datetime.datetime, end: datetime.datetime,
             now: datetime.datetime) -> str:
    if now > end:
        return f"it expired on {_text(end)}"
    if now < begin:
        return f"it is not valid before {_text(begin)}"
    if not any(_matches(name, host) for name in names):
        return f"it is not for {host}"
    return ""


def _matches(name: str, host: str) -> bool:
    """True if a name of a certificate stands for a Host. Source: RFC 6125, 6.4.3: "*" is one whole label."""
    name, host = name.lower(), host.lower()
    if name.startswith("*."):
        return host == name or ("." in host and host.partition(".")[2] == name[2:])
    return name == host


def _text(time: datetime.datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")
