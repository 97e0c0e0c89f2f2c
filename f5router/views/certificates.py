"""The certificate that clients of a Host get: subject, names and validity."""

import datetime
from dataclasses import dataclass

from cryptography import x509

from f5router.admission import pem
from f5router.model.validity import timestamp

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


def view(text: str, host: str, now: datetime.datetime) -> CertificateView:
    """Read a certificate in PEM, and check it for a Host at a time; one that cannot be read is a problem."""
    try:
        certificate = x509.load_pem_x509_certificate(text.encode())
        subject, issuer = certificate.subject.rfc4514_string(), certificate.issuer.rfc4514_string()
    except (ValueError, TypeError) as exc:
        return CertificateView(problem=f"it cannot be read ({type(exc).__name__})")
    if (validity := pem.validity(certificate)) is None:
        return CertificateView(subject, issuer, problem="its dates or names cannot be read")
    first = next((text for _, text in validity.problems(host, now)), "")
    return CertificateView(
        subject, issuer, validity.names[:MOST_NAMES], timestamp(validity.begin), timestamp(validity.end),
        (validity.end - now).days, first)

