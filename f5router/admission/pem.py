"""Certificates and keys in PEM: parsed, checked and re-encoded.

Only content that was parsed here and re-encoded goes to the BIG-IP; text around PEM blocks is dropped.
The input is bounded: the longest step, a certificate of MAX_BLOCK, takes some 25 ms.
Source of the rules: openshift/router, routeapihelpers/validation.go.
"""

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeVar

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.x509.oid import NameOID

from f5router.model.client_tls import TLSKeyPair, Validity
from f5router.model.limits import Steps

PrivateKey = RSAPrivateKey | EllipticCurvePrivateKey

MAX_TEXT = 1 << 20
"""Characters of a field. A Secret holds no more (Kubernetes, core/types.go: MaxSecretSize)."""

MAX_BLOCKS = 1000
"""PEM blocks of a field: Mozilla's bundle has about 150, those of all root programmes about 400."""

MAX_BLOCK = 1 << 16
"""Characters of a block: a certificate with a thousand names takes half of it."""

MAX_KEYS = 10
"""Private keys of a field, of which the first counts. Reading one of brainpoolP512r1 takes 1 ms."""

_BEGIN = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,64})-----")
_KEYS = {"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "ECDSA PRIVATE KEY"}
_CERTS = {"CERTIFICATE"}
_DROPPED = {"EC PARAMETERS", "PUBLIC KEY", "RSA PUBLIC KEY", "DSA PUBLIC KEY", "ECDSA PUBLIC KEY"}
_LENGTH = rb"(?:[\x00-\x7f]|\x81.|\x82..|\x83...)"
_RSA_OR_EC = rb"(\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01[\x01\x0a]|\x07\x2a\x86\x48\xce\x3d\x02\x01|)"
_PSS_LAST = b"\x0a"
"""Last byte of the object identifier of RSASSA-PSS; those of RSA and ECDSA end with 1."""
_FORMS = {
    # PrivateKeyInfo (RFC 5958 2); its group is empty for a key that is neither RSA, RSASSA-PSS nor ECDSA.
    "PRIVATE KEY": re.compile(
        rb"\x30" + _LENGTH + rb"\x02\x01[\x00\x01]\x30" + _LENGTH + rb"\x06" + _RSA_OR_EC, re.DOTALL),
    # RSAPrivateKey (RFC 8017 A.1.2). The old form of a DSA key begins likewise; as RSA it does not parse.
    "RSA PRIVATE KEY": re.compile(rb"\x30" + _LENGTH + rb"\x02\x01\x00\x02", re.DOTALL),
    # ECPrivateKey (RFC 5915 3).
    "EC PRIVATE KEY": re.compile(rb"\x30" + _LENGTH + rb"\x02\x01\x01\x04", re.DOTALL),
}
"""By label, how a key of that form begins. Labels and forms go together in any way: OpenSSL, and upstream's
tls.X509KeyPair, look at the content."""
_CURVES = ("secp224r1", "secp256r1", "secp384r1", "secp521r1")
"""Those of clients, and of upstream's crypto/x509 (elliptic curves of FIPS 186)."""
_OUTDATED: Mapping[str, tuple[str, type | tuple[()]]] = {
    "1.2.840.113549.1.1.2": ("MD2", RSAPublicKey),
    "1.2.840.113549.1.1.4": ("MD5", RSAPublicKey),
    "1.2.840.113549.1.1.5": ("SHA1", RSAPublicKey),
    "1.3.14.3.2.29": ("SHA1", RSAPublicKey),
    "1.2.840.10045.4.1": ("SHA1", EllipticCurvePublicKey),
    "1.2.840.10040.4.3": ("SHA1", ()),
}
"""Object identifiers of signatures to their names and the keys that make them; of DSA none is used."""


RSASSA_PSS = x509.ObjectIdentifier("1.2.840.113549.1.1.10")
"""Algorithm of keys that are restricted to RSASSA-PSS signatures (RFC 4055 1.2). The BIG-IP supports RSA, DSA
and ECDSA keys (F5, SSL Certificate Management, "Supported certificate/key types"), and upstream does not read
this one: Go's crypto/x509, ParsePKCS8PrivateKey. Written anew as an RSA key it would no longer fit its
certificate. A certificate that a CA signed with RSASSA-PSS may have any key."""
IS_PSS = "is restricted to RSASSA-PSS, which is not supported; use a certificate with an RSA or ECDSA key"

_ESCAPED = re.compile(r"(?:\\r)?\\n")
_ENCODED = base64.b64encode(b"-----BEGIN ")[:14].decode()
"""How PEM begins that was encoded in base64 once more."""

Result = TypeVar("Result")
Extension = TypeVar("Extension", bound=x509.ExtensionType)


class PEMError(ValueError):
    """Text that is not what it should be; the message holds nothing of the text."""


def key_pair(certs: list[x509.Certificate], key: PrivateKey, authorities: list[x509.Certificate],
             ) -> Steps[TLSKeyPair]:
    """Build the key pair to install.

    Raises: PEMError: no client can use the first certificate, or the key is not its own.
    """
    leaf = certs[0]
    public = _spki(leaf, "spec.tls.certificate")
    if leaf.public_key_algorithm_oid == RSASSA_PSS:
        raise PEMError(f"spec.tls.certificate: its key {IS_PSS}")
    if isinstance(own := leaf.public_key(), EllipticCurvePublicKey) and own.curve.name not in _CURVES:
        raise PEMError(f"spec.tls.certificate: no client takes a key on the curve {own.curve.name}")
    if _spki(key, "spec.tls.key") != public:
        raise PEMError("spec.tls.key: the key does not match the certificate")
    chain = [cert for cert in dict.fromkeys([*certs[1:], *authorities]) if cert != leaf]
    first, others = (yield from encode([leaf])), (yield from encode(chain))
    return TLSKeyPair(first, others, _encode_key(key), public, validity(leaf))


def check_order(certs: list[x509.Certificate], key: PrivateKey) -> Steps[None]:
    """Find the certificate of a key in a chain, where it must be the first one (RFC 8446 4.4.2).

    Raises: PEMError: naming spec.tls.key, as upstream does; it belongs to another certificate.
    """
    public = _spki(key, "spec.tls.key")
    for number, cert in enumerate(certs, start=1):
        try:
            own = _spki(cert, "spec.tls.certificate") == public
        except PEMError:
            own = False
        if own and number == 1:
            return
        if own:
            raise PEMError(f"spec.tls.key: the chain is in the wrong order: the key belongs to certificate "
                           f"{number} of {len(certs)}, which must be the first one, followed by the "
                           "certificate of its issuer")
        yield


def validity(certificate: x509.Certificate) -> Validity | None:
    """Read names and dates of a certificate; None if that is not possible."""
    try:
        begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        return Validity(_names(certificate), begin, end)
    except Exception:
        return None


def name(certificate: x509.Certificate, field: Literal["subject", "issuer"]) -> x509.Name | None:
    """Return subject or issuer; None if it does not parse, though another router may accept it.

    A T61String in Latin-1, as certificates of the nineties have it, is one that does not.
    """
    try:
        parsed: x509.Name = getattr(certificate, field)
        return parsed
    except Exception:  # not only ValueError: TypeError too, for a text of a type that is none
        return None


def common_names(certificate: x509.Certificate, field: Literal["subject", "issuer"]) -> list[str]:
    """Return the common names in subject or issuer; none if it does not parse."""
    if (parsed := name(certificate, field)) is None:
        return []
    return [str(each.value) for each in parsed.get_attributes_for_oid(NameOID.COMMON_NAME)]


def _names(certificate: x509.Certificate) -> tuple[str, ...]:
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    names = extension.value
    return (*names.get_values_for_type(x509.DNSName),
            *map(str, names.get_values_for_type(x509.IPAddress)))


def certificates(text: str, where: str) -> Steps[list[x509.Certificate]]:
    """Read every certificate of a text; keys beside them are left out.

    Raises: PEMError: naming `where`; also without any certificate.
    """
    certs: list[x509.Certificate] = []
    for label, block in (yield from find_blocks(text, where)):
        if label in _CERTS:
            certs.append(_parsed(f"{where}: certificate {len(certs) + 1} does not parse",
                                 x509.load_pem_x509_certificate, block.encode()))
            yield
    if not certs:
        raise PEMError(f"{where}: there is no certificate in it")
    return certs


def keys(text: str, where: str, *, only: bool) -> Steps[list[PrivateKey]]:
    """Read every private key of a text.

    Args: only: nothing else may be in it.
    Raises: PEMError: naming `where`.
    """
    blocks = yield from find_blocks(text, where)
    texts = [block for label, block in blocks if label in _KEYS]
    if only and len(texts) != len(blocks):
        raise PEMError(f"{where}: it may hold a private key only")
    if len(texts) > MAX_KEYS:
        raise PEMError(f"{where}: {len(texts)} private keys, at most {MAX_KEYS} are supported")
    keys_read: list[PrivateKey] = []
    for block in texts:
        keys_read.append(_private_key(block, where))
        yield
    return keys_read


def encode(certs: Iterable[x509.Certificate]) -> Steps[str]:
    """Write certificates as PEM, one after the other."""
    texts = []
    for cert in certs:
        texts.append(cert.public_bytes(serialization.Encoding.PEM).decode())
        yield
    return "".join(texts)


def check_signatures(certs: Iterable[x509.Certificate], where: str) -> Steps[None]:
    """Refuse outdated signatures, but not those that nobody looks at: of self-signed certificates.

    Raises: PEMError: naming `where`.
    """
    for cert in certs:
        name, _ = _OUTDATED.get(cert.signature_algorithm_oid.dotted_string, ("", ()))
        if name and not _self_signed(cert):
            raise PEMError(f"{where}: CA-signed certificates with {name} signatures are not supported")
        yield


def extension(cert: x509.Certificate, kind: type[Extension]) -> Extension | None:
    """Return an extension's value, None without it. Raises: PEMError: an extension does not parse."""
    try:
        return cert.extensions.get_extension_for_class(kind).value
    except x509.ExtensionNotFound:
        return None
    except Exception:
        raise PEMError("spec.tls: an extension of a certificate does not parse") from None


def find_blocks(text: str, where: str) -> Steps[list[tuple[str, str]]]:
    """Find label and text of each block: from a BEGIN to the first END of its label."""
    if len(text) > MAX_TEXT:
        raise PEMError(f"{where}: {len(text)} characters, at most {MAX_TEXT} are supported")
    blocks: list[tuple[str, str]] = []
    at = 0
    while (at := text.find("-----BEGIN ", at)) >= 0:
        yield
        if (begin := _BEGIN.match(text, at)) is None:
            at += 1
            continue
        closing = f"-----END {begin[1]}-----"
        end = text.find(closing, begin.end())
        if end < 0:
            raise PEMError(f"{where}: a block has no end")
        start, at = at, end + len(closing)
        if at - start > MAX_BLOCK:
            raise PEMError(f"{where}: a PEM block of {at - start} characters, at most {MAX_BLOCK} are "
                           "supported")
        if len(blocks) == MAX_BLOCKS:
            raise PEMError(f"{where}: more than {MAX_BLOCKS} PEM blocks, which is the most that is supported")
        if _ESCAPED.match(text, begin.end()):
            raise PEMError(f"{where}: its lines end with the two characters \\n instead of a line break; in "
                           "YAML write it as a block (|) or in double quotes")
        blocks.append((begin[1], text[start:at]))
    if not blocks and text.lstrip().startswith(_ENCODED):
        raise PEMError(f"{where}: it is PEM in base64: it was encoded once more than it should be")
    if not blocks:
        raise PEMError(f"{where}: it is not PEM")
    for label, _ in blocks:
        if label not in _KEYS | _CERTS | _DROPPED:
            raise PEMError(f"{where}: a block of type {label} is not allowed")
    return [(label, block) for label, block in blocks if label not in _DROPPED]


def _private_key(block: str, where: str) -> PrivateKey:
    # The check of an RSA key's numbers takes 100 times as long as reading it, and is left to the
    # device; that the key belongs to the certificate is checked here.
    message = f"{where}: the private key does not parse or is encrypted"
    kind = f"{where}: the private key is neither RSA nor ECDSA"
    der = _parsed(message, _der, block)
    label = next((label for label, form in _FORMS.items() if form.match(der)), None)
    if label is None:
        raise PEMError(message)
    # To read a DSA key the library computes with it: with one of 20 kB for half a minute.
    form = _FORMS[label].match(der)
    if label == "PRIVATE KEY" and not (form and form[1]):
        raise PEMError(kind)
    if label == "PRIVATE KEY" and form and form[1].endswith(_PSS_LAST):
        raise PEMError(f"{where}: the private key {IS_PSS}")
    text = f"-----BEGIN {label}-----\n{base64.b64encode(der).decode()}\n-----END {label}-----\n"
    key = _parsed(message, serialization.load_pem_private_key, text.encode(), password=None,
                    unsafe_skip_rsa_key_validation=True)
    if not isinstance(key, PrivateKey):
        raise PEMError(kind)
    return key


def _der(block: str) -> bytes:
    """Decode a block; headers (RFC 1421 4.4) end with an empty line."""
    body = block.split("-----")[2]
    if ":" in body:
        body = re.split(r"\n\s*\n", body, maxsplit=1)[1]
    return base64.b64decode("".join(body.split()), validate=True)


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
    """True if OpenSSL takes it for self-signed: by names, key identifiers and kind of key."""
    _, kind = _OUTDATED[cert.signature_algorithm_oid.dotted_string]
    issuer = extension(cert, x509.AuthorityKeyIdentifier)
    own = extension(cert, x509.SubjectKeyIdentifier)
    same_key = issuer is None or issuer.key_identifier is None or (
        own is not None and issuer.key_identifier == own.digest)
    public = _parsed("spec.tls: a public key is of an unknown kind", cert.public_key)
    return cert.issuer == cert.subject and same_key and isinstance(public, kind)


def _parsed(message: str, call: Callable[..., Result], *args: Any, **options: Any) -> Result:
    """Call the library with a text that anybody can write.

    An exception costs that Route only: beside ValueError these are UnsupportedAlgorithm,
    InvalidVersion and others that are no ValueError. The library's text, which may quote a key, is dropped.
    """
    try:
        return call(*args, **options)
    except Exception:
        raise PEMError(message) from None
