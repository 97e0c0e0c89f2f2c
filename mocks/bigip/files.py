"""Certificate and key files, and the commands that install them (bigip-behaviour.md A7)."""

from __future__ import annotations

import datetime
import functools
import hashlib
from collections.abc import Iterable
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from mocks.bigip import names, refusals
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.quirks import Quirk
from mocks.bigip.schema import IDENTITY
from mocks.bigip.store import Item, Key, Ref, Store

CERT, KEY, CRL = "sys/file/ssl-cert", "sys/file/ssl-key", "sys/file/ssl-crl"
ASYNC_READS = 3
"""Reads of a file's collection after which an install of Quirk.INSTALL_ASYNC shows."""

_OIDS = (
    (NameOID.EMAIL_ADDRESS, "emailAddress"),
    (NameOID.COMMON_NAME, "CN"),
    (NameOID.ORGANIZATIONAL_UNIT_NAME, "OU"),
    (NameOID.ORGANIZATION_NAME, "O"),
    (NameOID.LOCALITY_NAME, "L"),
    (NameOID.STATE_OR_PROVINCE_NAME, "ST"),
    (NameOID.COUNTRY_NAME, "C"),
)


_LONG = {
    "CN": "commonName",
    "O": "organization",
    "OU": "ou",
    "L": "city",
    "ST": "state",
    "C": "country",
    "emailAddress": "emailAddress",
}
"""Parts of a subject as sys/crypto/cert calls them."""


class SSLFile(Kind):
    """A file object: its content is copied from the disk when it is written."""

    counts_in_folder = True
    ignored = frozenset(
        (
            "checksum",
            "createTime",
            "createdBy",
            "expirationDate",
            "expirationString",
            "fingerprint",
            "isBundle",
            "issuer",
            "keyType",
            "lastUpdateTime",
            "mode",
            "revision",
            "serialNumber",
            "size",
            "subject",
            "systemPath",
            "updatedBy",
            "version",
            "certificateKeyCurveName",
            "certificateKeySize",
            "curveName",
            "keySize",
        )
    )
    _known = frozenset(("sourcePath", "passphrase", "securityType", "issuerCert", "certValidationOptions"))

    def __init__(self, url: str, word: str, group: str) -> None:
        self.url, self.word, self.group = url, word, group

    def initial(self, store: Store, key: Key) -> Body:
        return {}

    def accept(self, store: Store, body: Body, key: Key, old: Item | None = None) -> Body:
        fields = {}
        for name, value in body.items():
            if name in IDENTITY or name in self.ignored or name.endswith("Reference"):
                continue
            if name not in self._known:
                raise refusals.unknown_property(name)
            fields[name] = value
        return fields

    def create(self, store: Store, parent: Key, body: Body) -> Item:
        key = self.key_of(store, parent, body)
        self.check_folder(store, key)
        self.check_new(store, key, body)
        fields = self.accept(store, body, key)
        if "sourcePath" not in fields:
            raise refusals.missing("sourcePath")
        return self.store_content(store, key, read_source(store, str(fields["sourcePath"])), fields)

    def modify(self, store: Store, item: Item, body: Body) -> Item:
        fields = self.accept(store, body, item.key, item)
        if not fields:
            raise refusals.tmsh("one or more properties must be specified")
        if "sourcePath" not in fields:
            return store.put(self.url, item.key, {**item.fields, **fields})
        return self.store_content(store, item.key, read_source(store, str(fields["sourcePath"])), fields)

    def replace(self, store: Store, item: Item, body: Body) -> Item:
        return self.modify(store, item, body)

    def store_content(self, store: Store, key: Key, data: bytes, extra: Body) -> Item:
        """Keep a file's content and what it says. Raises: Refusal: not parseable, or a pair breaks."""
        passphrase = extra.get("passphrase")
        facts, public = (describe_cert(store, data) if self.url == CERT else
                         describe_crl(data) if self.url == CRL else describe_key(data, passphrase))
        old = store.get(self.url, *key)
        now = datetime.datetime.fromtimestamp(store.clock(), datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        fields: Body = {
            "checksum": f"SHA1:{len(data)}:{hashlib.sha1(data).hexdigest()}",
            "createTime": old.fields["createTime"] if old else now,
            "createdBy": "admin",
            "lastUpdateTime": now,
            "mode": 33184 if self.url == KEY else 33188,
            "revision": old.fields["revision"] + 1 if old else 1,
            "size": len(data),
            "updatedBy": "admin",
            **{name: value for name, value in extra.items() if name != "passphrase" and value is not None},
            **facts,
        }
        item = store.put(self.url, key, fields, {"data": data, "public": public})
        for kind, user in store.users(self.group, key[0]):
            if kind.startswith("ltm/profile/"):
                store.kinds[kind].check_pair_later(store, user[0])
        return item

    def check_unused(self, store: Store, item: Item) -> None:
        users = store.users(self.group, item.path)
        if store.has(Quirk.FILE_OF_UNUSED_PROFILE_FREE):
            users = [user for user in users if store.is_used("profile", user[1][0])]
        if users or "systemPath" in item.fields:
            raise refusals.mcpd("01071349", f"File object by name ({item.path}) is in use.")


def read_source(store: Store, source: str) -> bytes:
    """The file that a sourcePath names. Raises: Refusal: unreadable (recorded text)."""
    path = "/" + source.removeprefix("file:").lstrip("/")
    if path not in store.disk:
        raise refusals.tmsh("Failed! exit_code (37).\n")
    return store.disk[path].data


def describe_cert(store: Store, data: bytes) -> tuple[dict[str, Any], bytes]:
    """(properties read of the first certificate, its public key). Raises: Refusal: no PEM certificate.

    Nor is it one for OpenSSL if its names do not parse (crypto/x509/x_name.c, x509_name_ex_d2i), although
    OpenSSL takes any bytes for Latin-1 in a T61String.
    """
    try:
        certificates = x509.load_pem_x509_certificates(data)
        cert = certificates[0]
        issuer, subject = _name(cert.issuer), _name(cert.subject)
    except (ValueError, TypeError):
        raise refusals.tmsh("Certificate is in unsupported format: unable to load certificate") from None
    public = cert.public_key()
    expires = cert.not_valid_after_utc
    facts = {
        "certificateKeyCurveName": public.curve.name
        if isinstance(public, ec.EllipticCurvePublicKey)
        else "none",
        "certificateKeySize": public.key_size,
        "expirationDate": int(expires.timestamp()),
        "expirationString": f"{expires:%b} {expires.day:2d} {expires:%H:%M:%S %Y} GMT",
        "isBundle": "true" if len(certificates) > 1 else "false",
        "issuer": issuer,
        "keyType": f"{_algorithm(public)}-public",
        "serialNumber": str(cert.serial_number),
        "subject": subject,
        "version": 3,
    }
    if store.version >= (14, 1):
        facts["fingerprint"] = "SHA256/" + cert.fingerprint(hashes.SHA256()).hex(":").upper()
    return facts, _spki(public)


def describe_crl(data: bytes) -> tuple[dict[str, Any], bytes]:
    """(properties, nothing) of lists of revoked certificates; a reply has none of their content (recorded on
    13.0.0). Raises: Refusal: no PEM."""
    try:
        x509.load_pem_x509_crl(data)
    except ValueError:
        raise refusals.tmsh("CRL is in unsupported format: unable to load CRL") from None
    return {}, b""


def describe_key(data: bytes, passphrase: str | None) -> tuple[dict[str, Any], bytes]:
    """(properties read of a private key, its public key). Raises: Refusal: no PEM key, or locked."""
    password = passphrase.encode() if passphrase else None
    try:
        key = serialization.load_pem_private_key(data, password, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError):
        raise refusals.tmsh("Key is in unsupported format: unable to load key") from None
    public = key.public_key()
    return {
        "curveName": public.curve.name if isinstance(public, ec.EllipticCurvePublicKey) else "none",
        "keySize": public.key_size,
        "keyType": f"{_algorithm(public)}-private",
        "securityType": "password" if passphrase else "normal",
    }, _spki(public)


def _algorithm(public: Any) -> str:
    return "ec" if isinstance(public, ec.EllipticCurvePublicKey) else "rsa"


def _spki(public: Any) -> bytes:
    return public.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _name(name: x509.Name) -> str:
    names = []
    for oid, short in _OIDS:
        names += [f"{short}={attribute.value}" for attribute in name.get_attributes_for_oid(oid)]
    return ",".join(names)


def is_pair(cert: Item, key: Item) -> bool:
    return cert.hidden["public"] == key.hidden["public"]


def lookup(store: Store, name: str, path: str) -> Item | None:
    """The file that a profile's cert or key names."""
    return store.get(KEY if name == "key" else CERT, path)


class Crypto(Kind):
    """sys/crypto/cert and sys/crypto/key: another view of the files, and `install`."""

    partitioned = False
    counts_in_folder = False

    def __init__(self, url: str, file_kind: str, suffix: str, word: str) -> None:
        self.url, self.file_kind, self.suffix, self.word = url, file_kind, suffix, word

    def key_in_url(self, store: Store, parent: Key, name: str) -> Key:
        return (names.full_path(name, "/Common"),)

    def view(self, store: Store, file: Item) -> Item:
        """The file as this collection shows it."""
        fields = file.fields
        if self.file_kind == KEY:
            shown: Body = {
                "keySize": str(fields["keySize"]),
                "keyType": fields["keyType"],
                "securityType": fields["securityType"],
            }
        else:
            shown = {
                "apiRawValues": {
                    "certificateKeySize": str(fields["certificateKeySize"]),
                    "expiration": fields["expirationString"],
                    "issuer": fields["issuer"],
                    "publicKeyType": "RSA" if fields["keyType"].startswith("rsa") else "EC",
                }
            }
            words = dict(pair.split("=", 1) for pair in fields["subject"].split(",") if "=" in pair)
            if "fingerprint" in fields:
                shown["fingerprint"] = fields["fingerprint"]
            for short, long in _LONG.items():
                if short in words:
                    shown[long] = words[short]
        return Item(self.url, file.key, shown, file.generation)

    def references(self, item: Item) -> Iterable[Ref]:
        return ()

    def install(self, store: Store, body: Body) -> None:
        """The command install. The file is copied at once; with Quirk.INSTALL_ASYNC it shows later.

        Raises: Refusal: the file is missing, cannot be parsed, or breaks a pair.
        """
        source = str(body.get("from-local-file") or body.get("fromLocalFile") or "")
        if not source:
            raise refusals.missing("from-local-file")
        path = names.from_body(body)
        if not path.endswith(self.suffix):
            path += self.suffix
        if source not in store.disk:
            last = source.rsplit("/", 1)[-1]
            raise refusals.tmsh(
                f"Unable to copy ({source}) into tempfile (/var/system/tmp/tmsh/5WhAFq/{last}), "
                "No such file or directory"
            )
        data, kind = store.disk[source].data, store.kinds[self.file_kind]
        kind.check_folder(store, (path,))
        extra = {"sourcePath": f"file://{source}", "passphrase": body.get("passphrase")}
        if store.has(Quirk.INSTALL_ASYNC):
            store.pending.append([ASYNC_READS, lambda: kind.store_content(store, (path,), data, extra)])
            return
        kind.store_content(store, (path,), data, extra)


def count_read(store: Store) -> None:
    """A read of files or of sys/crypto: brings pending installs nearer."""
    for entry in list(store.pending):
        entry[0] -= 1
        if entry[0] <= 0:
            store.pending.remove(entry)
            with store.atomic():
                entry[1]()


@functools.cache
def factory_pair() -> tuple[bytes, bytes]:
    """(certificate, key) in PEM of a new device: default.crt and default.key."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    attributes = {
        NameOID.COMMON_NAME: "localhost.localdomain",
        NameOID.ORGANIZATIONAL_UNIT_NAME: "IT",
        NameOID.ORGANIZATION_NAME: "MyCompany",
        NameOID.LOCALITY_NAME: "Seattle",
        NameOID.STATE_OR_PROVINCE_NAME: "WA",
        NameOID.COUNTRY_NAME: "US",
    }
    name = x509.Name([x509.NameAttribute(oid, value) for oid, value in attributes.items()])
    now = datetime.datetime.now(datetime.UTC)
    cert = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=3650))
        .sign(key, hashes.SHA256())
    )
    return (
        cert.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ),
    )
