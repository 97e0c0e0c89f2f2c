"""SSL contexts made of the SSL profiles and the certificate files of the store (bigip-behaviour.md B8).

OpenSSL stands in for TMM's own TLS: cipher strings are taken where OpenSSL knows them, its security level
is 0 so that old clients are judged by the profile's options alone.
"""

from __future__ import annotations

import ssl
import tempfile
import warnings
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import NameOID

from mocks.bigip import cipher_names, files, selection
from mocks.bigip.matching import Unsupported
from mocks.bigip.store import Store

LARGEST_CACHE = 20_000
_OFF = {
    "no-sslv3": ssl.OP_NO_SSLv3,
    "no-tlsv1": ssl.OP_NO_TLSv1,
    "no-tlsv1.1": ssl.OP_NO_TLSv1_1,
    "no-tlsv1.2": ssl.OP_NO_TLSv1_2,
    "no-tlsv1.3": ssl.OP_NO_TLSv1_3,
}
_MODES = {"ignore": ssl.CERT_NONE, "request": ssl.CERT_OPTIONAL, "require": ssl.CERT_REQUIRED}


class Contexts:
    """Contexts by what they are made of; equal profiles share one. Hold the store's lock."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._made: dict[tuple, ssl.SSLContext] = {}

    def client_side(self, profile: str) -> ssl.SSLContext:
        """Make the context of a client-ssl profile: certificate, key and chain. Raises: Unsupported."""
        fields = selection.profile_fields(self._store, profile)
        pair = self._pair(fields)
        if pair is None:
            raise Unsupported(f"client-ssl profile without a pair: {profile}")
        mode = _MODES.get(str(fields.get("peerCertMode", "ignore")))
        if mode is None:
            raise Unsupported(f"peerCertMode of {profile}: {fields['peerCertMode']}")
        revoked = self._file(fields, "crlFile", files.CRL)
        known = self._authorities() if mode == ssl.CERT_OPTIONAL else [self._file(fields, "caFile")]
        return self._context(True, pair, b"\n".join(known), mode, self._options(fields), revoked)

    def _authorities(self) -> list[bytes]:
        """Return those that any profile has for clients: `request` lets a certificate of another one pass.

        Python's ssl ends the handshake with a certificate of an authority that it does not know.
        """
        profiles = self._store.all("ltm/profile/client-ssl")
        every = (self._file(selection.profile_fields(self._store, each.path), "caFile") for each in profiles)
        return sorted({each for each in every if each})

    def is_trusted(self, profile: str, certificate: bytes) -> bool:
        """True if an authority for clients of a client-ssl profile has issued a certificate, in DER."""
        bundle = self._file(selection.profile_fields(self._store, profile), "caFile")
        if not bundle:
            return False
        client = x509.load_der_x509_certificate(certificate)
        return any(_has_issued(each, client) for each in x509.load_pem_x509_certificates(bundle))

    def server_side(self, profile: str) -> ssl.SSLContext:
        """Make the context of a server-ssl profile: what it trusts, and its own certificate if it has one."""
        fields = selection.profile_fields(self._store, profile)
        lax = fields.get("untrustedCertResponseControl") == "ignore"
        mode = ssl.CERT_REQUIRED if fields.get("peerCertMode") == "require" and not lax else ssl.CERT_NONE
        return self._context(
            False, self._pair(fields), self._file(fields, "caFile"), mode, self._options(fields)
        )

    def _pair(self, fields: dict[str, Any]) -> tuple[bytes, bytes, str] | None:
        cert, key = self._file(fields, "cert"), self._file(fields, "key", files.KEY)
        if not cert or not key:
            return None
        chain = self._file(fields, "chain")
        return cert.rstrip() + b"\n" + chain, key, str(fields.get("passphrase") or "")

    def _file(self, fields: dict[str, Any], name: str, kind: str = files.CERT) -> bytes:
        item = self._store.get(kind, str(fields.get(name) or "none"))
        return item.hidden["data"] if item else b""

    def _options(self, fields: dict[str, Any]) -> tuple[frozenset[str], str]:
        options = fields.get("tmOptions") or []
        words = options if isinstance(options, list) else options.replace("{", " ").replace("}", " ").split()
        off = {word for word in words if word in _OFF}
        if self._store.version < (14,):
            off.add("no-tlsv1.3")
        return frozenset(off), str(fields.get("ciphers") or "DEFAULT")

    def _context(
        self,
        server: bool,
        pair: tuple[bytes, bytes, str] | None,
        trusted: bytes,
        mode: ssl.VerifyMode,
        options: tuple[frozenset[str], str],
        revoked: bytes = b"",
    ) -> ssl.SSLContext:
        key = (server, pair, trusted, mode, options, revoked)
        context = self._made.get(key)
        if context is None:
            if len(self._made) >= LARGEST_CACHE:
                self._made.clear()
            context = self._made[key] = _make(*key)
        return context


def _has_issued(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _make(
    server: bool,
    pair: tuple[bytes, bytes, str] | None,
    trusted: bytes,
    mode: ssl.VerifyMode,
    options: tuple[frozenset[str], str],
    revoked: bytes,
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if server else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = mode
    off, ciphers = options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        for word in off:
            context.options |= _OFF[word]
    _set_ciphers(context, ciphers)
    if trusted:
        context.load_verify_locations(cadata=trusted.decode("ascii"))
    if revoked:
        context.verify_flags |= ssl.VERIFY_CRL_CHECK_CHAIN
        with tempfile.NamedTemporaryFile() as file:
            file.write(revoked)
            file.flush()
            context.load_verify_locations(cafile=file.name)
    if pair is not None:
        _load(context, *pair)
    return context


def _set_ciphers(context: ssl.SSLContext, ciphers: str) -> None:
    words = [word for word in ciphers.split(":") if not word.startswith("@")]
    single = [cipher_names.OPENSSL[word] for word in words if word in cipher_names.OPENSSL]
    if len(single) == len(words):
        # OpenSSL switches suites of TLS 1.3 apart from others; Python cannot choose among them.
        if not any(name.startswith("TLS_") for name in single):
            context.options |= ssl.OP_NO_TLSv1_3
        words = [name for name in single if not name.startswith("TLS_")]
        if not words:
            context.options |= ssl.OP_NO_TLSv1_2
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    try:
        context.set_ciphers(":".join([*words, "@SECLEVEL=0"]))
    except ssl.SSLError:
        context.set_ciphers("DEFAULT:@SECLEVEL=0")


def _load(context: ssl.SSLContext, cert: bytes, key: bytes, passphrase: str) -> None:
    """The ssl module reads certificates from files only."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pair.pem"
        path.touch(mode=0o600)
        path.write_bytes(key.rstrip() + b"\n" + cert)
        context.load_cert_chain(path, password=passphrase or (lambda: ""))


def is_named(certificate: bytes | None, name: str) -> bool:
    """Return True if a certificate (DER) is for a name: by its alternative names, else its common name."""
    if certificate is None:
        return False
    cert = x509.load_der_x509_certificate(certificate)
    try:
        extension = cert.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        names = extension.value.get_values_for_type(x509.DNSName)
    except x509.ExtensionNotFound:
        names = [str(name_.value) for name_ in cert.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    name = name.lower().removesuffix(".")
    return any(pattern.lower() in (name, f"*.{name.partition('.')[2]}") for pattern in names)
