"""The server's own CA and certificate.

Two fakes never have the same at the same time; later ones have it again.
"""

from __future__ import annotations

import datetime
import ipaddress
import ssl
import tempfile
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFE = datetime.timedelta(days=30)


HOSTS = ("127.0.0.1", "127.0.0.2")
"""Addresses of fakes. Units of a pair whose SSH servers have the same port have one each."""

_unused: list[tuple[bytes, ssl.SSLContext]] = []
"""Left by fakes that have ended: making them is most of the cost of a fake that is used for a moment."""


class ServerCertificate:
    """A CA, and a certificate for HOSTS, ::1 and localhost; the CA's file lives until `remove`."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="fake-bigip-")
        folder = Path(self._folder.name)
        try:
            self._made: tuple[bytes, ssl.SSLContext] | None = _unused.pop()
        except IndexError:
            self._made = _make(folder)
        authority, self.context = self._made
        self.ca_file = str(folder / "ca.pem")
        Path(self.ca_file).write_bytes(authority)

    def remove(self) -> None:
        self._folder.cleanup()
        if self._made is not None:
            _unused.append(self._made)
            self._made = None


def _make(folder: Path) -> tuple[bytes, ssl.SSLContext]:
    """Return a CA, and TLS with a certificate of it."""
    ca_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    ca = _signed("Fake BIG-IP CA", ca_key, ca_key, None)
    both = folder / "server.pem"
    both.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        + _signed("localhost", key, ca_key, ca).public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(both)
    both.unlink()
    return ca.public_bytes(serialization.Encoding.PEM), context


def _signed(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    issuer: x509.Certificate | None,
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False
        )
    )
    if issuer is None:
        return builder.add_extension(_ca_usage(), critical=True).sign(signer, hashes.SHA256())
    hosts = [
        x509.DNSName("localhost"),
        *(x509.IPAddress(ipaddress.ip_address(host)) for host in (*HOSTS, "::1")),
    ]
    return (
        builder.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(signer, hashes.SHA256())
    )


def _ca_usage() -> x509.KeyUsage:
    wanted = {"digital_signature", "key_cert_sign", "crl_sign"}
    every = wanted | {
        "content_commitment",
        "key_encipherment",
        "data_encipherment",
        "key_agreement",
        "encipher_only",
        "decipher_only",
    }
    return x509.KeyUsage(**{name: name in wanted for name in every})
