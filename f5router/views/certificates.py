"""The certificate that clients of a Host get: subject, names and validity."""

import datetime
from dataclasses import dataclass

from cryptography import x509

from f5router.admission import pem
from f5router.model.client_tls import LONGEST, timestamp
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


def view(text: str, host: str, now: datetime.datetime) -> CertificateView:
    """Read a certificate in PEM, and check it for a Host at a time; an unreadable one is a problem."""
    try:
        certificate = x509.load_pem_x509_certificate(text.encode())
    except Exception as exc:  # not only ValueError: InvalidVersion and others
        return CertificateView(problem=f"it cannot be read ({type(exc).__name__})")
    subject, issuer = _shown(pem.name(certificate, "subject")), _shown(pem.name(certificate, "issuer"))
    if (validity := pem.validity(certificate)) is None:
        return CertificateView(subject, issuer, problem="its dates or names cannot be read")
    first = next((text for _, text in validity.problems(host, now)), "")
    names = tuple(bounded(name, LONGEST) for name in validity.names[:MOST_NAMES])
    return CertificateView(subject, issuer, names, timestamp(validity.begin), timestamp(validity.end),
                           (validity.end - now).days, first)


def _shown(name: x509.Name | None) -> str:
    return UNREADABLE if name is None else bounded(name.rfc4514_string(), LONGEST)

