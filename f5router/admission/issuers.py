"""Issuers of a certificate: signatures that lead from it to an authority."""

from collections.abc import Iterable

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.dsa import DSAPublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID

from f5router.admission.pem import IS_PSS, RSASSA_PSS, PEMError, extension, name
from f5router.model.limits import Steps

MAX_CHECKS = 100
"""Signatures that are verified for one certificate. Source: Go's crypto/x509, with which upstream verifies:
maxChainSignatureChecks."""

MAX_RSA, MAX_EXPONENT, MAX_DSA = 8192, (1 << 31) - 1, 4096
"""Bits of the modulus and value of the exponent of RSA keys, bits of DSA keys that are verified with: that
takes a millisecond; with an RSA exponent of 3072 bits it took 13 ms, with DSA of 10,000 bits 50 ms. Sources:
Go's crypto/tls, maxRSAKeySize, and crypto/rsa, checkPub; upstream verifies with no DSA key."""

_WHERE = "spec.tls.certificate"
_SERVERS = {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}


def check(certs: list[x509.Certificate], authorities: list[x509.Certificate]) -> Steps[None]:
    """Find signatures that lead from the first certificate to an authority; dates are not looked at.

    Raises: PEMError: naming spec.tls.certificate; there are none, or they were not found in MAX_CHECKS.
    """
    search = IssuerSearch(authorities)
    yield from search.know([*authorities, *certs[1:]])
    if not (yield from search.leads(certs[0])):
        raise PEMError(f"{_WHERE}: {search.reason or 'it was not issued by spec.tls.caCertificate'}")


class IssuerSearch:
    """Reaches each certificate once, by the likeliest way first."""

    def __init__(self, authorities: Iterable[x509.Certificate]):
        self._trusted = set(authorities)
        self._by_subject: dict[x509.Name | None, dict[x509.Certificate, bytes | None]] = {}
        """Certificates by subject, with their key identifiers; None: that of all that do not parse."""
        self._reached: set[x509.Certificate] = set()
        self.checks = 0
        self.reason = ""
        """Why a certificate does not count that might lead to an authority; "" for none."""

    def know(self, certs: Iterable[x509.Certificate]) -> Steps[None]:
        """Add certificates that may have signed others, likelier ones first."""
        for cert in certs:
            self._by_subject.setdefault(name(cert, "subject"), {}).setdefault(cert, None)
            yield
        for several in self._by_subject.values():
            for cert in several if len(several) > 1 else ():
                several[cert] = _key_id(cert, x509.SubjectKeyIdentifier)
                yield

    def leads(self, cert: x509.Certificate) -> Steps[bool]:
        """True if signatures lead from a certificate to an authority."""
        self._reached.add(cert)
        usage = extension(cert, x509.ExtendedKeyUsage)
        if usage is not None and _SERVERS.isdisjoint(usage):
            self.reason = self.reason or "its chain has a key usage that is not for servers"
            return False
        if cert in self._trusted:
            return True
        for parent in self._parents(cert):
            if (parent not in self._reached and (yield from self._signed(cert, parent))
                    and (yield from self.leads(parent))):
                return True
        return False

    def _parents(self, cert: x509.Certificate) -> list[x509.Certificate]:
        """Certificates of the issuer's name, those with its key identifier first, with another one last.

        Source: Go's crypto/x509, findPotentialParents.
        """
        named = self._by_subject.get(name(cert, "issuer"), {})
        if len(named) < 2 or (wanted := _key_id(cert, x509.AuthorityKeyIdentifier)) is None:
            return list(named)
        return sorted(named, key=lambda parent: 1 if named[parent] is None else 2 * (named[parent] != wanted))

    def _signed(self, child: x509.Certificate, parent: x509.Certificate) -> Steps[bool]:
        if problem := _key_problem(parent):
            self.reason = self.reason or problem
            return False
        if self.checks == MAX_CHECKS:
            raise PEMError(f"{_WHERE}: no chain to spec.tls.caCertificate was found in {MAX_CHECKS} signature"
                           " checks, the most that are made: too many CA certificates have one subject")
        self.checks += 1
        signed = _verified(child, parent)
        yield
        return signed


def _key_id(cert: x509.Certificate, kind: type) -> bytes | None:
    """Return a key identifier, None without one."""
    try:
        identifier = extension(cert, kind)
    except PEMError:
        return None
    return identifier.key_identifier if identifier else None


def _verified(child: x509.Certificate, parent: x509.Certificate) -> bool:
    try:
        child.verify_directly_issued_by(parent)
    except Exception:  # not only ValueError: UnsupportedAlgorithm, InvalidVersion and others
        return False
    return True


def _key_problem(cert: x509.Certificate) -> str:
    """Return why signatures are not verified with a certificate's key; "" if they are."""
    try:
        key = cert.public_key()
    except Exception:
        return ""  # nor does it verify anything
    if cert.public_key_algorithm_oid == RSASSA_PSS:  # upstream: ErrUnsupportedAlgorithm of Go's crypto/x509
        return f"a key in its chain {IS_PSS}"
    kind, most = ("RSA", MAX_RSA) if isinstance(key, RSAPublicKey) else ("DSA", MAX_DSA)
    if isinstance(key, RSAPublicKey | DSAPublicKey) and key.key_size > most:
        return f"its chain has a key of {key.key_size} bits of {kind}, at most {most} are supported"
    if isinstance(key, RSAPublicKey) and key.public_numbers().e > MAX_EXPONENT:
        return "its chain has an RSA key with an exponent of more than 31 bits, which is not supported"
    return ""
