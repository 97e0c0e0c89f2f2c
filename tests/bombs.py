"""Certificates and keys that are expensive to check, made by hand where no library would make them."""

import base64
import datetime
import functools
import random

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

BEGIN = datetime.datetime(2026, 1, 1)
CURVES = {"p256": ec.SECP256R1, "brainpool": ec.BrainpoolP512R1}


@functools.cache
def key(name: str, kind: str = "p256"):
    """A private key; made once per name."""
    if kind == "ed25519":
        return ed25519.Ed25519PrivateKey.generate()
    return ec.generate_private_key(CURVES[kind]())


def certificate(subject: str, own, issuer: str, signer, *, extensions=(), serial: int = 1,
                ) -> x509.Certificate:
    """A certificate of a key, signed with another. Args: subject, issuer: common names."""
    builder = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
        .public_key(own.public_key()).serial_number(serial)
        .not_valid_before(BEGIN).not_valid_after(BEGIN + datetime.timedelta(days=3650))
    )
    for extension in extensions:
        builder = builder.add_extension(extension, critical=False)
    return builder.sign(signer, None if isinstance(signer, ed25519.Ed25519PrivateKey) else hashes.SHA256())


def text(*certs: x509.Certificate) -> str:
    """PEM of certificates."""
    return "".join(cert.public_bytes(serialization.Encoding.PEM).decode() for cert in certs)


def key_text(own) -> str:
    """PEM of a private key."""
    return own.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                             serialization.NoEncryption()).decode()


@functools.cache
def rsa_key(name: str):
    """An RSA key; made once per name."""
    return rsa.generate_private_key(65537, 1024)


_RSA, _PSS = (bytes.fromhex(f"300d06092a864886f70d0101{rest}") for rest in ("010500", "0a3000"))
"""AlgorithmIdentifiers of RSA, and of RSASSA-PSS with the default parameters (RFC 8017 A.1, A.2.3)."""


def pss(pem: str) -> str:
    """Return a certificate or private key (PKCS#8) of an RSA key as one that is restricted to RSASSA-PSS."""
    label, text = pem.split("-----")[1].removeprefix("BEGIN "), pem.split("-----")[2]
    der = base64.b64decode(text)
    assert der.count(_RSA) == 1, "the key"
    return block(label, der.replace(_RSA, _PSS))


def one_name(count: int, kind: str = "brainpool", *, ids: bool = False) -> dict[str, str]:
    """A leaf and `count` CAs of one name, of which the last has signed it; fields of spec.tls.

    Args: ids: with key identifiers, as most CAs have them.
    """
    def authority(number: int) -> x509.Certificate:
        own = key(f"authority {number % 7}" if number < count - 1 else "issuer", kind)
        extensions = [x509.SubjectKeyIdentifier.from_public_key(own.public_key())] if ids else []
        return certificate("One CA", own, "One CA", own, extensions=extensions, serial=number + 1)

    signer = key("issuer", kind)
    extensions = [x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())] if ids else []
    leaf = certificate("www.example.com", key("leaf"), "One CA", signer, extensions=extensions)
    return {"certificate": text(leaf), "key": key_text(key("leaf")),
            "ca_certificate": text(*map(authority, range(count)))}


def steps_of_one_name(count: int, kind: str = "brainpool") -> dict[str, str]:
    """A leaf and `count` CAs of one name beside it, the last 20 of which signed each other, and another CA.

    Who tries each certificate in order, for each of 20 steps, verifies almost 20 * count signatures.
    """
    def authority(number: int) -> x509.Certificate:
        last = count - 1 - number
        own = key(f"step {last}" if last < 20 else f"authority {number % 7}", kind)
        return certificate("One CA", own, "One CA", key(f"step {last + 1}", kind), serial=number + 1)

    leaf = certificate("www.example.com", key("leaf"), "One CA", key("step 0", kind))
    other = certificate("Another CA", key("other"), "Another CA", key("other"))
    return {"certificate": text(leaf, *map(authority, range(count))), "key": key_text(key("leaf")),
            "ca_certificate": text(other)}


def chain(length: int) -> dict[str, str]:
    """A leaf below that many CAs, the topmost in caCertificate, the others in certificate."""
    names = ["leaf", *(f"CA {number}" for number in range(1, length + 1))]
    certs = [certificate(name, key(name), above, key(above))
             for name, above in zip(names, [*names[1:], names[-1]], strict=True)]
    return {"certificate": text(*certs[:-1]), "key": key_text(key("leaf")), "ca_certificate": text(certs[-1])}


def _tlv(tag: int, *parts: bytes) -> bytes:
    body = b"".join(parts)
    size = len(body).to_bytes(3, "big").lstrip(b"\0") or b"\0"
    return bytes([tag, *(size if len(body) < 128 else bytes([0x80 | len(size)]) + size)]) + body


def _integer(number: int) -> bytes:
    return _tlv(2, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _odd(bits: int) -> int:
    return random.Random(bits).getrandbits(bits) | 1 << bits - 1 | 1


def block(label: str, der: bytes) -> str:
    """A PEM block."""
    lines = base64.encodebytes(der).decode()
    return f"-----BEGIN {label}-----\n{lines}-----END {label}-----\n"


def dsa_key(bits: int) -> str:
    """A private key with which the library computes as it reads it: for 30,000 bits half a minute."""
    oid = bytes.fromhex("06072a8648ce380401")
    numbers = _tlv(0x30, _integer(_odd(bits)), _integer(_odd(bits - 10)), _integer(_odd(bits - 1)))
    return block("PRIVATE KEY", _tlv(0x30, _integer(0), _tlv(0x30, oid, numbers),
                                     _tlv(4, _integer(_odd(bits - 12)))))


def _with_public_key(public: bytes, algorithm: bytes, subject: str) -> x509.Certificate:
    """A CA of a public key of which nobody has the private one; its signature is none."""
    own = key("stand-in")
    plain = certificate(subject, own, subject, own)
    old = own.public_key().public_bytes(serialization.Encoding.DER,
                                        serialization.PublicFormat.SubjectPublicKeyInfo)
    tbs = plain.tbs_certificate_bytes
    body = tbs[2 + (tbs[1] & 127 if tbs[1] > 127 else 0):]
    ecdsa = _tlv(0x30, bytes.fromhex("06082a8648ce3d040302"))
    body = body.replace(old, public).replace(ecdsa, algorithm)
    return x509.load_der_x509_certificate(_tlv(0x30, _tlv(0x30, body), algorithm, _tlv(3, bytes(300))))


def rsa_authority(bits: int, exponent: int = 65537, *, subject: str = "One CA") -> x509.Certificate:
    """A CA with an RSA key of any size."""
    oid = _tlv(0x30, bytes.fromhex("06092a864886f70d010101"), b"\5\0")
    numbers = _tlv(0x30, _integer(_odd(bits)), _integer(exponent))
    return _with_public_key(_tlv(0x30, oid, _tlv(3, b"\0", numbers)),
                            _tlv(0x30, bytes.fromhex("06092a864886f70d01010b"), b"\5\0"), subject)


def dsa_authority(bits: int, *, subject: str = "One CA") -> x509.Certificate:
    """A CA with a DSA key of any size."""
    numbers = _tlv(0x30, _integer(_odd(bits)), _integer(_odd(256)), _integer(_odd(bits - 1)))
    oid = _tlv(0x30, bytes.fromhex("06072a8648ce380401"), numbers)
    return _with_public_key(_tlv(0x30, oid, _tlv(3, b"\0", _integer(_odd(bits - 1)))),
                            _tlv(0x30, bytes.fromhex("0609608648016503040302")), subject)
