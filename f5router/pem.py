"""Certificates and keys: parsed, checked and written anew.

What goes to the BIG-IP is only what was parsed here, re-encoded; text around PEM blocks is dropped.
Source of the rules: haproxy-parity.md 3.4; openshift/router, routeapihelpers/validation.go.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.x509.oid import ExtendedKeyUsageOID

PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey

_MARKER = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]{1,64})-----")
_KEYS = {"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ECDSA PRIVATE KEY"}
_CERTS = {"CERTIFICATE"}
_DROPPED = {"EC PARAMETERS", "PUBLIC KEY", "RSA PUBLIC KEY", "DSA PUBLIC KEY", "ECDSA PUBLIC KEY"}
_MAX_CHAIN = 20
_OUTDATED = {
    "1.2.840.113549.1.1.2": ("MD2", RSAPublicKey),
    "1.2.840.113549.1.1.4": ("MD5", RSAPublicKey),
    "1.2.840.113549.1.1.5": ("SHA1", RSAPublicKey),
    "1.3.14.3.2.29": ("SHA1", RSAPublicKey),
    "1.2.840.10045.4.1": ("SHA1", EllipticCurvePublicKey),
    "1.2.840.10040.4.3": ("SHA1", ()),
}
"""Object identifiers of signatures to their names and the keys that make them; of DSA none is used."""


class PEMError(ValueError):
    """Text that is not what it should be; the message holds nothing of the text."""


@dataclass(frozen=True, slots=True)
class Material:
    """What a client SSL profile needs, in PEM."""

    certificate: str = field(repr=False)
    """The leaf alone."""
    chain: str = field(repr=False)
    """Intermediates and caCertificate; "" for none."""
    key: str = field(repr=False)
    public: str = field(repr=False)
    """Public key of the leaf, PEM: identifies the private key without telling it."""


def material(certs: list[x509.Certificate], key: PrivateKey, authorities: list[x509.Certificate]) -> Material:
    """What is to be installed. Raises: PEMError: the key is not that of the first certificate."""
    leaf = certs[0]
    public = _spki(leaf, "spec.tls.certificate")
    if _spki(key, "spec.tls.key") != public:
        raise PEMError("spec.tls.key: the key does not match the certificate")
    chain = [cert for cert in dict.fromkeys([*certs[1:], *authorities]) if cert != leaf]
    return Material(encode([leaf]), encode(chain), _encode_key(key), public)


def certificates(text: str, where: str) -> list[x509.Certificate]:
    """Every certificate of a text; keys beside them are left out.

    Raises: PEMError: naming `where`; also without any certificate.
    """
    found = []
    for label, block in _blocks(text, where):
        if label in _CERTS:
            found.append(_parsed(f"{where}: certificate {len(found) + 1} does not parse",
                                 x509.load_pem_x509_certificate, block.encode()))
    if not found:
        raise PEMError(f"{where}: there is no certificate in it")
    return found


def keys(text: str, where: str, *, only: bool) -> list[PrivateKey]:
    """Every private key of a text.

    Args: only: nothing else may be in it.
    Raises: PEMError: naming `where`.
    """
    blocks = _blocks(text, where)
    found = [block.replace(f" {label}-", f" {'EC PRIVATE KEY' if label[:2] == 'EC' else label}-")
             for label, block in blocks if label in _KEYS]
    if only and len(found) != len(blocks):
        raise PEMError(f"{where}: it may hold a private key only")
    return [_private_key(block, where) for block in found]


def encode(certs: Iterable[x509.Certificate]) -> str:
    """PEM of certificates, one after the other."""
    return "".join(cert.public_bytes(serialization.Encoding.PEM).decode() for cert in certs)


def check_signatures(certs: Iterable[x509.Certificate], where: str) -> None:
    """Refuse outdated signatures, but not those that nobody looks at: of self-signed certificates.

    Raises: PEMError: naming `where`.
    """
    for cert in certs:
        name, _ = _OUTDATED.get(cert.signature_algorithm_oid.dotted_string, ("", ()))
        if name and not _self_signed(cert):
            raise PEMError(f"{where}: CA-signed certificates with {name} signatures are not supported")


def check_issued(certs: list[x509.Certificate], authorities: list[x509.Certificate]) -> None:
    """Whether signatures lead from the leaf to an authority; dates and names are not looked at.

    Raises: PEMError: naming spec.tls.certificate.
    """
    where = "spec.tls.certificate"
    trusted = {cert.fingerprint(hashes.SHA256()) for cert in authorities}
    seen, current = 0, certs[0]
    while seen < _MAX_CHAIN:
        if not _for_servers(current):
            raise PEMError(f"{where}: its chain has a key usage that is not for servers")
        if current.fingerprint(hashes.SHA256()) in trusted:
            return
        others = (c for c in [*authorities, *certs[1:]] if c != current)
        parent = next((c for c in others if _signed(current, c)), None)
        if parent is None:
            break
        seen, current = seen + 1, parent
    raise PEMError(f"{where}: it was not issued by spec.tls.caCertificate")


def _blocks(text: str, where: str) -> list[tuple[str, str]]:
    """Label and text of each block: from a BEGIN to the first END of its label.

    One look at each marker: a text of nothing but BEGINs must not hold up every other Route.
    """
    found, begin = [], None
    for marker in _MARKER.finditer(text):
        if begin is None and marker[1] == "BEGIN":
            begin = marker
        elif begin is not None and marker[1] == "END" and marker[2] == begin[2]:
            found.append((begin[2], text[begin.start() : marker.end()]))
            begin = None
    if not found or begin is not None:
        raise PEMError(f"{where}: it is not PEM" if begin is None else f"{where}: a block has no end")
    for label, _ in found:
        if label not in _KEYS | _CERTS | _DROPPED:
            raise PEMError(f"{where}: a block of type {label} is not allowed")
    return [(label, block) for label, block in found if label not in _DROPPED]


def _private_key(block: str, where: str) -> PrivateKey:
    # The check of an RSA key's numbers takes 100 times as long as reading it, and is left to the
    # device; that the key belongs to the certificate is checked here.
    found = _parsed(f"{where}: the private key does not parse or is encrypted",
                    serialization.load_pem_private_key, block.encode(),
                    password=None, unsafe_skip_rsa_key_validation=True)
    if not isinstance(found, PrivateKey):
        raise PEMError(f"{where}: the private key is neither RSA nor ECDSA")
    return found


def _encode_key(key: PrivateKey) -> str:
    return _parsed(
        "spec.tls.key: the private key cannot be written", key.private_bytes,
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    ).decode()


def _spki(holder: x509.Certificate | PrivateKey, where: str) -> str:
    """Public key of a certificate or of a private key."""
    public = _parsed(f"{where}: its public key is of an unknown kind", holder.public_key)
    return public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()


def _self_signed(cert: x509.Certificate) -> bool:
    """As OpenSSL judges it: by names, key identifiers and kind of key; the signature is not verified."""
    _, kind = _OUTDATED[cert.signature_algorithm_oid.dotted_string]
    issuer = _extension(cert, x509.AuthorityKeyIdentifier)
    own = _extension(cert, x509.SubjectKeyIdentifier)
    same_key = issuer is None or issuer.key_identifier is None or (
        own is not None and issuer.key_identifier == own.digest)
    public = _parsed("spec.tls: a public key is of an unknown kind", cert.public_key)
    return cert.issuer == cert.subject and same_key and isinstance(public, kind)


def _for_servers(cert: x509.Certificate) -> bool:
    usage = _extension(cert, x509.ExtendedKeyUsage)
    good = {ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE}
    return usage is None or not good.isdisjoint(usage)


def _extension(cert: x509.Certificate, kind: type):
    """Value of an extension, None without it."""
    try:
        return cert.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
    except Exception:
        raise PEMError("spec.tls: an extension of a certificate does not parse") from None


def _signed(child: x509.Certificate, parent: x509.Certificate) -> bool:
    try:
        _parsed("", child.verify_directly_issued_by, parent)
    except PEMError:
        return False
    return True


def _parsed(message: str, call: Callable, *args, **options):
    """What the library makes of a text that anybody can write.

    Whatever it raises costs its Route only: beside ValueError these are UnsupportedAlgorithm,
    InvalidVersion and others that are no ValueError. Its words, which may quote a key, are dropped.
    """
    try:
        return call(*args, **options)
    except Exception:
        raise PEMError(message) from None
