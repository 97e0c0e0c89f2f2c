"""Check of the certificates and keys of spec.tls, which yields what goes to the BIG-IP.

A certificate that expired, or is not valid yet, passes; so does one of another host: the team is warned of
them (reconcile/certificate_warnings.py). Source of the rules:
openshift/router, ExtendedValidateRoute. Upstream bounds signature checks only
(issuers.MAX_CHECKS); the other bounds are in pem.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from cryptography import x509

from f5router.admission import issuers, pem
from f5router.model.client_tls import TLSKeyPair
from f5router.model.cluster import RouteTLS
from f5router.model.limits import Result, Steps, finish


@dataclass(frozen=True, slots=True)
class Texts:
    """Everything that the verdict on certificates depends on; empty where a field does not count."""

    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    ca_certificate: str = field(default="", repr=False)
    destination_ca_certificate: str = field(default="", repr=False)
    extended: bool = True
    """Apply the rules of upstream's validator."""

    @classmethod
    def of(cls, tls: RouteTLS, *, extended: bool) -> "Texts":
        """Select the fields of spec.tls that its termination uses."""
        if tls.termination not in ("edge", "reencrypt"):
            return cls(extended=extended)
        return cls(tls.certificate, tls.key, tls.ca_certificate,
                   tls.destination_ca_certificate if tls.termination == "reencrypt" else "", extended)

    def __bool__(self) -> bool:
        return bool(self.certificate or self.key or self.ca_certificate or self.destination_ca_certificate)


@dataclass(frozen=True, slots=True)
class Certificates:
    """Result of the check of certificates."""

    problems: tuple[str, ...] = ()
    """Each begins with the field."""
    key_pair: TLSKeyPair | None = field(default=None, repr=False)
    destination_ca: str = field(default="", repr=False)
    """PEM, re-encoded; "" without one."""


CertificateChecker = Callable[[Texts], Certificates | None]
"""Returns None while the verdict is not known."""


def check(texts: Texts) -> Certificates:
    """Check certificates at once."""
    return finish(check_in_steps(texts))


def check_in_steps(texts: Texts) -> Steps[Certificates]:
    """Check certificates in steps; every wrong field is reported, whatever its type."""
    try:
        return (yield from _CertificateCheck(texts).run())
    except Exception as exc:
        return Certificates((f"spec.tls: it cannot be checked ({type(exc).__name__})",))


def _sharing(pair: TLSKeyPair, texts: Texts) -> TLSKeyPair:
    """Return a pair with the texts of the Route where they are equal, so that one copy stays in memory."""
    return replace(pair, certificate=texts.certificate if texts.certificate == pair.certificate
                   else pair.certificate, key=texts.key if texts.key == pair.key else pair.key)


class _CertificateCheck:
    def __init__(self, texts: Texts):
        self._texts = texts
        self._problems: list[str] = []

    def run(self) -> Steps[Certificates]:
        key_pair, text, destination_ca = (yield from self._own()), self._texts.destination_ca_certificate, ""
        if text:
            authorities = yield from self._certificates(text, "spec.tls.destinationCACertificate")
            destination_ca = yield from pem.encode(authorities)
        return Certificates(tuple(self._problems), key_pair, destination_ca)

    def _own(self) -> Steps[TLSKeyPair | None]:
        """Check certificate, key and caCertificate."""
        texts, authorities = self._texts, []
        if texts.ca_certificate:
            authorities = yield from self._certificates(texts.ca_certificate, "spec.tls.caCertificate")
        if not texts.certificate:
            # Not used, but anything but a key is reported.
            if "-----BEGIN" in texts.key:
                yield from self._reported(pem.keys(texts.key, "spec.tls.key", only=True))
            return None
        certs = yield from self._certificates(texts.certificate, "spec.tls.certificate")
        keys = (yield from self._keys()) if certs else []
        known = len(self._problems)
        if keys:
            yield from self._reported(pem.check_order(certs, keys[0]))
        if len(self._problems) > known:  # everything else would be about the wrong certificate
            return None
        if certs and authorities and texts.extended:
            yield from self._reported(issuers.check(certs, authorities))
        if not keys:
            return None
        pair = yield from self._reported(pem.key_pair(certs, keys[0], authorities))
        return pair and _sharing(pair, texts)

    def _keys(self) -> Steps[list[pem.PrivateKey]]:
        """Read the private keys of the field certificate, then of the field key."""
        texts = self._texts
        beside = yield from self._reported(pem.keys(texts.certificate, "spec.tls.certificate", only=False))
        keys = beside or []
        if texts.key.strip():
            keys += (yield from self._reported(pem.keys(texts.key, "spec.tls.key", only=True))) or []
        elif beside == []:
            self._problems.append("spec.tls.key: no key specified")
        return keys

    def _certificates(self, text: str, where: str) -> Steps[list[x509.Certificate]]:
        """Read the certificates of a field; none after a problem."""
        certs = (yield from self._reported(pem.certificates(text, where))) or []
        if self._texts.extended:
            yield from self._reported(pem.check_signatures(certs, where))
        return certs

    def _reported(self, step: Steps[Result]) -> Steps[Result | None]:
        """Run a step; returns None after a PEMError, which becomes a problem."""
        try:
            return (yield from step)
        except pem.PEMError as exc:
            self._problems.append(str(exc))
            return None
