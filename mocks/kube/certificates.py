"""A certificate authority of its own and a server certificate for the loopback names.

Two fakes never have the same at the same time; later ones have it again.
"""

import ipaddress
import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

ADDRESSES = ("127.0.0.1", "::1")
NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
LIFETIME = timedelta(days=365)


_unused: list[tuple[bytes, ssl.SSLContext]] = []
"""Left by fakes that have ended: making them is half the cost of a fake that is used for a moment."""


class Certificates:
    """An authority, and TLS with a certificate of it; the authority's file lives until `remove`."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fake-kube-")
        folder = Path(self._folder.name)
        try:
            self._made: tuple[bytes, ssl.SSLContext] | None = _unused.pop()
        except IndexError:
            self._made = _make(folder)
        authority, self.tls = self._made
        self.ca = folder / "ca.crt"
        self.ca.write_bytes(authority)

    def remove(self) -> None:
        self._folder.cleanup()
        if self._made is not None:
            _unused.append(self._made)
            self._made = None


def _make(folder: Path) -> tuple[bytes, ssl.SSLContext]:
    """Make an authority and TLS for a server; the authority's key is thrown away."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "fake-kube-ca")])
    ca = _authority(ca_name, ca_key)
    server = _server(ca_name, ca_key, key)
    both = folder / "server.pem"
    both.touch(mode=0o600)
    both.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + server.public_bytes(serialization.Encoding.PEM)
    )
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(both)
    both.unlink()
    return ca.public_bytes(serialization.Encoding.PEM), tls


def _authority(name: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    usage = x509.KeyUsage(
        digital_signature=True, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    return (
        _certificate(name, name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )


def _server(
    ca_name: x509.Name, ca_key: ec.EllipticCurvePrivateKey, key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
    alternatives = [x509.IPAddress(ipaddress.ip_address(address)) for address in ADDRESSES]
    alternatives += [x509.DNSName(dns_name) for dns_name in NAMES]
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    return (
        _certificate(name, ca_name, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(issuer, critical=False)
        .sign(ca_key, hashes.SHA256())
    )


def _certificate(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + LIFETIME)
    )
