"""Certificates and keys of a Route: parsed, checked and written anew.

What goes to the BIG-IP is only what was parsed here, re-encoded; text around PEM blocks is dropped.
Source of the rules: haproxy-parity.md 3.4.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

_MARKER = re.compile(r"-----(BEGIN|END) ([A-Z0-9 ]{1,64})-----")
_KEYS = {"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"}
_CERTS = {"CERTIFICATE", "TRUSTED CERTIFICATE", "X509 CERTIFICATE"}
_DROPPED = {"EC PARAMETERS"}
_MAX_CHAIN = 20


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


def material(certificate: str, key: str, ca_certificate: str) -> Material:
    """Check and re-encode spec.tls.certificate, key and caCertificate.

    The key may stand in `certificate` when `key` is empty. Expired certificates pass.

    Raises:
        PEMError: the message begins with the field, as in spec.tls.key.
    """
    blocks = _blocks(certificate, "spec.tls.certificate")
    certs = _certificates(blocks, "spec.tls.certificate")
    if not certs:
        raise PEMError("spec.tls.certificate: there is no certificate in it")
    if key.strip():
        private = _private_key(_blocks(key, "spec.tls.key"), "spec.tls.key", only=True)
    else:
        private = _private_key(blocks, "spec.tls.key", only=False)
    leaf = certs[0]
    public = _spki(leaf, "spec.tls.certificate")
    if _spki(private, "spec.tls.key") != public:
        raise PEMError("spec.tls.key: the key does not match the certificate")
    authorities: list[x509.Certificate] = []
    if ca_certificate.strip():
        authorities = certificates(ca_certificate, "spec.tls.caCertificate")
        if not _issued(leaf, certs[1:], authorities):
            raise PEMError("spec.tls.caCertificate: the certificate was not issued by it")
    chain = _distinct([*certs[1:], *authorities], leaf)
    return Material(
        certificate=encode([leaf]), chain=encode(chain), key=_encode_key(private), public=public,
    )


def certificates(text: str, where: str) -> list[x509.Certificate]:
    """Every certificate of a text that holds nothing else.

    Raises:
        PEMError: naming `where`.
    """
    blocks = _blocks(text, where)
    if any(label in _KEYS for label, _ in blocks):
        raise PEMError(f"{where}: there is a private key in it")
    found = _certificates(blocks, where)
    if not found:
        raise PEMError(f"{where}: there is no certificate in it")
    return found


def encode(certs: Iterable[x509.Certificate]) -> str:
    """PEM of certificates, one after the other."""
    return "".join(cert.public_bytes(serialization.Encoding.PEM).decode() for cert in certs)


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


def _certificates(blocks: list[tuple[str, str]], where: str) -> list[x509.Certificate]:
    found = []
    for label, block in blocks:
        if label not in _CERTS:
            continue
        plain = block.replace(label, "CERTIFICATE").encode()
        found.append(_parsed(f"{where}: certificate {len(found) + 1} does not parse",
                             x509.load_pem_x509_certificate, plain))
    return found


def _private_key(blocks: list[tuple[str, str]], where: str, *, only: bool) -> PrivateKeyTypes:
    keys = [block for label, block in blocks if label in _KEYS]
    if only and len(keys) != len(blocks):
        raise PEMError(f"{where}: it may hold a private key only")
    if not keys:
        raise PEMError(f"{where}: there is no private key")
    # The check of an RSA key's numbers takes 100 times as long as reading it, and is left to the
    # device; that the key belongs to the certificate is checked here.
    return _parsed(f"{where}: the private key does not parse or is encrypted",
                   serialization.load_pem_private_key, keys[0].encode(),
                   password=None, unsafe_skip_rsa_key_validation=True)


def _encode_key(key: PrivateKeyTypes) -> str:
    traditional = hasattr(key, "curve") or hasattr(key, "key_size")
    form = serialization.PrivateFormat
    return _parsed(
        "spec.tls.key: the private key is of an unknown kind", key.private_bytes,
        serialization.Encoding.PEM, form.TraditionalOpenSSL if traditional else form.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def _spki(holder: x509.Certificate | PrivateKeyTypes, where: str) -> str:
    """Public key of a certificate or of a private key."""
    public = _parsed(f"{where}: its public key is of an unknown kind", holder.public_key)
    return public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()


def _issued(
    leaf: x509.Certificate, chain: list[x509.Certificate], authorities: list[x509.Certificate]
) -> bool:
    """Whether signatures lead from the leaf to an authority; dates and names are not looked at."""
    trusted = {cert.fingerprint(hashes.SHA256()) for cert in authorities}
    seen, current = 0, leaf
    while seen < _MAX_CHAIN:
        if current.fingerprint(hashes.SHA256()) in trusted:
            return True
        parent = next((c for c in [*authorities, *chain] if c != current and _signed(current, c)), None)
        if parent is None:
            return False
        seen, current = seen + 1, parent
    return False


def _signed(child: x509.Certificate, parent: x509.Certificate) -> bool:
    try:
        _parsed("", child.verify_directly_issued_by, parent)
    except PEMError:
        return False
    return True


def _distinct(certs: list[x509.Certificate], leaf: x509.Certificate) -> list[x509.Certificate]:
    return [cert for cert in dict.fromkeys(certs) if cert != leaf]


def _parsed(message: str, call: Callable, *args, **options):
    """What the library makes of a text that anybody can write.

    Whatever it raises costs its Route only: beside ValueError these are UnsupportedAlgorithm,
    InvalidVersion and others that are no ValueError. Its words, which may quote a key, are dropped.
    """
    try:
        return call(*args, **options)
    except Exception:
        raise PEMError(message) from None
