"""Clients with certificates, and lists of revoked ones."""

import datetime
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.builders import EPOCH, authority
from tests.traffic.clients import Seen, answer, request_bytes
from tests.waiting import DEADLINE_S

DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Client:
    """A client's certificate with its key, in a file."""

    certificate: x509.Certificate
    path: str


def make(folder: Path, name, *, ca: str = "Client CA", serial: int = 0x1E5) -> Client:
    """Return a new Client of a CA. Args: name: pairs of OID and value."""
    issuer, issuer_key = authority(ca)
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(oid, value) for oid, value in name]))
        .issuer_name(issuer.subject).public_key(key.public_key()).serial_number(serial)
        .not_valid_before(EPOCH - DAY).not_valid_after(EPOCH + 9000 * DAY)
        .sign(issuer_key, hashes.SHA256()))
    path = folder / f"{len(list(folder.iterdir()))}.pem"
    path.write_bytes(
        certificate.public_bytes(serialization.Encoding.PEM) + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return Client(certificate, str(path))


def ask(address, host: str, client: Client | None = None, *, sni: str | None = "",
        headers: tuple[str, ...] = (), path: str = "/") -> Seen:
    """A request of a client; status 0 if it gets no answer, in the handshake or after it."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if client:
        context.load_cert_chain(client.path)
    name = host if sni == "" else sni
    try:
        with socket.create_connection(address, DEADLINE_S) as sock, \
                context.wrap_socket(sock, server_hostname=name) as tls:
            tls.sendall(request_bytes(host, path, headers=headers))
            return answer(b"".join(iter(lambda: tls.recv(65536), b"")))
    except OSError as exc:
        return Seen(error=repr(exc))


def crl(*revoked: Client, ca: str = "Client CA") -> str:
    issuer, key = authority(ca)
    builder = (x509.CertificateRevocationListBuilder().issuer_name(issuer.subject)
               .last_update(EPOCH - DAY).next_update(EPOCH + 9000 * DAY))
    for client in revoked:
        entry = x509.RevokedCertificateBuilder().serial_number(client.certificate.serial_number)
        builder = builder.add_revoked_certificate(entry.revocation_date(EPOCH).build())
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
