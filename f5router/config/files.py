"""Settings whose values stand in files: user name and password, certificates, the key for SSH.

The Reader collects the problems, which name the file.
"""

import contextlib
import posixpath
from collections.abc import Mapping
from typing import Any, NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    load_pem_private_key,
    load_ssh_private_key,
)

from f5router.admission.pem import PEMError
from f5router.config.options import OPTIONS
from f5router.config.reader import Reader

SERVICE_CA = "/var/run/secrets/kubernetes.io/serviceaccount/service-ca.crt"
"""The authority of OpenShift's Service certificates, in every pod. Source: docs.openshift.com, Service
serving certificate secrets."""

_BEGIN = "-----BEGIN CERTIFICATE-----"

NO_CA = "none"
"""Word in the place of a file: pods are not verified."""


class FileProblem(ValueError):
    """A file cannot be used; the message has nothing of its content."""


class DestinationCA(NamedTuple):
    """Authorities for pods of re-encrypt Routes without a CA of their own."""

    certificates: str = ""
    """In PEM; "" for none."""
    path: str = ""
    """File with the certificates, which may come later; "" for none."""
    unverified: bool = False
    """True if the administrator wants no verification."""


def check_directory(reader: Reader, name: str) -> None:
    """Record a problem if a setting names a directory that does not exist, or a file."""
    path = reader.text(name)
    if not path:
        return
    try:
        reader.read(name, missing_ok=True, directory=True)
    except FileNotFoundError:
        reader.problem(f"the directory {path!r} does not exist", name)


def sourced(reader: Reader, what: str, plain: str, files: Mapping[str, str]) -> tuple[Any, str]:
    """Return the value of a setting that may be in a file, and that file; "" for neither.

    The value is "" after a problem.

    The flag with the text itself takes precedence over every file, the flag of a file over a variable.
    Sources of one rank that differ are a problem: neither is more explicit than the other.

    Args:
        files: by name of the option that says where: file in the directory, "" where the option
            names the file itself. Only a file in the directory may be missing.
    """
    given = [name for name in (*files, plain) if reader.text(name)]
    by_rank: dict[int, list[str]] = {}
    for name in given:
        rank = 2 if not reader.from_flag(name) else int(name != plain)
        by_rank.setdefault(rank, []).append(name)
    for rank in sorted(by_rank):
        values = _values(reader, by_rank[rank], plain, files)
        if not values:
            continue
        if "" in values.values():
            return "", ""  # the problem with it is noted
        if len(set(values.values())) > 1:
            reader.problem("their values differ; set only one of them", *values)
            return "", ""
        for unused in (name for later in by_rank if later > rank for name in by_rank[later]):
            if not files.get(unused):
                reader.warn(f"not used: {OPTIONS[next(iter(values))].label} takes precedence", unused)
        name, value = next(iter(values.items()))
        return value, "" if name == plain else _path(reader, name, files[name])
    directory = [name for name in given if files.get(name)]
    hint = next((f"; it may also come from --{name}" for name, inside in files.items() if inside), "")
    reader.problem(f"{what} is missing{hint}", plain, *directory)
    return "", ""


def _path(reader: Reader, name: str, inside: str) -> str:
    """Return the path of a setting, or of a file in the directory that it names."""
    return posixpath.join(reader.text(name), inside) if inside else reader.text(name)


def _values(reader: Reader, names: list[str], plain: str, files: Mapping[str, str]) -> dict[str, object]:
    """Return values by name of the option, without directories that lack the file."""
    values = {}
    for name in names:
        with contextlib.suppress(FileNotFoundError):
            values[name] = (reader.value(plain) if name == plain
                            else _filed(reader, name, files.get(name, ""), plain))
    return values


def _filed(reader: Reader, name: str, inside: str, plain: str) -> Any:
    """Read the value of OPTIONS[plain] from a file. Raises: FileNotFoundError: none in the directory."""
    text = reader.read(name, _path(reader, name, inside), missing_ok=bool(inside))
    if text is None:
        return ""
    try:
        return parsed(plain, text)
    except FileProblem as exc:
        reader.problem(f"file {inside}: {exc}" if inside else str(exc), name)
        return ""


def parsed(plain: str, text: str) -> Any:
    """Return the value of OPTIONS[plain] that a file has. Raises: FileProblem."""
    text = text.strip("\r\n")
    if not text:
        raise FileProblem("it is empty")
    try:
        return OPTIONS[plain].parse(text)
    except ValueError as exc:
        raise FileProblem(str(exc)) from None


def private_key(reader: Reader) -> str | None:
    """Return the path of the key for SSH, or None.

    Source: `oc adm router` names a file even where there is none."""
    path = reader.text("f5-private-key")
    if not path:
        return None
    try:
        text = reader.read("f5-private-key", missing_ok=True)
    except FileNotFoundError:
        reader.warn(f"{path!r} does not exist; SSH is not used", "f5-private-key")
        return None
    if text is None:
        return None
    try:
        check_ssh_key(path, text)
    except FileProblem as exc:
        reader.problem(str(exc), "f5-private-key")
        return None
    return path


def check_ssh_key(path: str, text: str) -> None:
    """Raises: FileProblem: the text of this file is no private key for SSH."""
    key = _key(path, text, openssh=True)
    if not isinstance(key, RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey):
        raise FileProblem(f"the key in {path!r} is neither RSA, ECDSA nor Ed25519")


def parsed_key(reader: Reader, name: str, text: str) -> PrivateKeyTypes | None:
    """Return the private key of a file, in PEM; None after a problem."""
    try:
        return _key(reader.text(name), text, openssh=False)
    except FileProblem as exc:
        reader.problem(str(exc), name)
        return None


def _key(path: str, text: str, *, openssh: bool) -> PrivateKeyTypes:
    """Return a private key. Args: openssh: it may have OpenSSH's form. Raises: FileProblem."""
    load = load_ssh_private_key if openssh and "BEGIN OPENSSH PRIVATE KEY" in text else load_pem_private_key
    try:
        # Nothing looks for primes in a file of the administrator's: for 4096 bits that takes 50 ms.
        return load(text.encode(), password=None, unsafe_skip_rsa_key_validation=True)
    except TypeError:
        raise FileProblem(f"the key in {path!r} has a passphrase; give one without") from None
    except (ValueError, UnsupportedAlgorithm):
        form = "PEM or OpenSSH" if openssh else "PEM"
        raise FileProblem(f"{path!r} is not a private key in {form} form") from None


def certificates(reader: Reader, name: str) -> str:
    """Return the certificates of a PEM file, re-encoded; "" when none is configured or after a problem."""
    text = reader.read(name) if reader.text(name) else None
    return "" if text is None else _encoded(reader, name, reader.text(name), text)


def _encoded(reader: Reader, name: str, path: str, text: str) -> str:
    try:
        return encode_certificates(text)
    except ValueError as exc:
        reader.problem(f"{exc}, in {path!r}", name)
        return ""


def whole_certificates(path: str, text: str) -> str:
    """Return the certificates as encode_certificates. Raises: FileProblem: also if the last is cut off."""
    try:
        certificates = encode_certificates(text)
    except PEMError as exc:
        raise FileProblem(f"{path!r}: {exc}") from None
    if text.count(_BEGIN) != certificates.count(_BEGIN):
        raise FileProblem(f"{path!r}: a certificate in it is cut off")
    return certificates


def encode_certificates(text: str) -> str:
    """Return the certificates of a PEM text without what is around them. Raises: PEMError."""
    try:
        certs = x509.load_pem_x509_certificates(text.encode())
    except ValueError as exc:
        raise PEMError("there is no certificate, or one that does not parse") from exc
    return "".join(cert.public_bytes(Encoding.PEM).decode() for cert in certs)


def destination_ca(reader: Reader) -> DestinationCA:
    """Return the authorities for pods of Routes that bring none.

    Source: openshift/origin v3.11.0, pkg/cmd/infra/router/template.go: the service CA of the pod's account
    is the default. Without that file the router of 3.11 verified nothing; here, somebody has to want that.
    """
    name = "default-destination-ca-path"
    path = reader.text(name)
    if path == NO_CA:
        reader.warn("pods of re-encrypt Routes without destinationCACertificate are not verified", name)
        return DestinationCA(unverified=True)
    if path:
        return DestinationCA(certificates(reader, name), path)
    try:
        text = reader.read(name, SERVICE_CA, missing_ok=True)
    except FileNotFoundError:
        reader.warn(f"not set, and {SERVICE_CA} does not exist: re-encrypt Routes without "
                    "destinationCACertificate are not served; none serves them without verification", name)
        return DestinationCA(path=SERVICE_CA)
    return DestinationCA(_encoded(reader, name, SERVICE_CA, text) if text is not None else "", SERVICE_CA)
