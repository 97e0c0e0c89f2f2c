"""Certificates, keys and authorities of the example cluster, made new at every start."""

import base64
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.x509.oid import NameOID

GENERATED = "generated"
"""In a field of spec.tls: to be replaced by what belongs there."""

MISMATCHED = "generated for another certificate"
"""In spec.tls.key: a key that does not match."""

LIFETIME = timedelta(days=30)


class Authority:
    """A certificate authority; its own certificate is `pem`."""

    def __init__(self, name: str):
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(self._name, self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.pem = _pem(builder.sign(self._key, hashes.SHA256()))

    def issue(self, *hosts: str) -> tuple[str, str]:
        """A certificate for hosts and its key, both PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
        builder = _builder(subject, self._name, key.public_key())
        names = x509.SubjectAlternativeName([x509.DNSName(host) for host in hosts])
        builder = builder.add_extension(names, critical=False)
        return _pem(builder.sign(self._key, hashes.SHA256())), _key_pem(key)


FOR_HOST = "generated for "
"""In tls.key of a Secret, before the host of its certificate."""


def fill(objects: Iterable[dict], public: Authority, pods: Authority) -> None:
    """Replace what is to be generated in Routes and Secrets, in place.

    Args: public, pods: who issues for whom.
    """
    objects = list(objects)
    for secret in (obj for obj in objects if obj["kind"] == "Secret"):
        texts = public.issue(secret["data"]["tls.key"].removeprefix(FOR_HOST))
        secret["data"] = dict(zip(("tls.crt", "tls.key"), map(_base64, texts), strict=True))
    for route in (obj for obj in objects if obj["kind"] == "Route"):
        tls = route["spec"].get("tls", {})
        if "certificate" not in tls and "destinationCACertificate" not in tls:
            continue
        certificate, key = public.issue(route["spec"]["host"])
        generated = {
            "certificate": certificate, "key": key, "caCertificate": public.pem,
            "destinationCACertificate": pods.pem,
        }
        tls.update({field: generated[field] for field, value in tls.items() if value == GENERATED})
        if tls.get("key") == MISMATCHED:
            tls["key"] = public.issue("another.example.com")[1]


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def ssh_key_pair() -> tuple[str, str]:
    """Private key in OpenSSH form, and its line for authorized_keys."""
    key = ed25519.Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return private.decode(), public.decode()


def _builder(subject: x509.Name, issuer: x509.Name, public_key) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1)).not_valid_after(now + LIFETIME)
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
