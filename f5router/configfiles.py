"""Settings whose values stand in files: user name and password, certificates, the key for SSH.

Each problem is told to the Reader and names the file.
"""

import posixpath
from collections.abc import Mapping

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    load_pem_private_key,
    load_ssh_private_key,
)

from f5router.settings import OPTIONS, Reader


def sourced(reader: Reader, what: str, plain: str, files: Mapping[str, str]):
    """Value of a setting that can stand in files too; "" after a problem.

    A flag goes before a variable; among equals, a file before the directory before the text itself.

    Args:
        files: by name of the option that says where: file in the directory, "" where the option
            names the file itself. Only a file in the directory may be missing.
    """
    given = [name for name in (*files, plain) if reader.text(name)]
    given.sort(key=lambda name: not reader.from_flag(name))
    for position, name in enumerate(given):
        inside = files.get(name, "")
        try:
            value = reader.value(plain) if name == plain else _filed(reader, name, inside, plain)
        except FileNotFoundError:
            continue
        for unused in given[position + 1:]:
            if not files.get(unused):
                reader.warn(f"not used: {OPTIONS[name].label} goes before it", unused)
        return value
    directory = [name for name in given if files.get(name)]
    reader.problem(f"{what} must be specified", plain, *directory)
    return ""


def _filed(reader: Reader, name: str, inside: str, plain: str):
    """What OPTIONS[plain] would be, from a file. Raises: FileNotFoundError: none in the directory."""
    path = posixpath.join(reader.text(name), inside) if inside else ""
    text = reader.read(name, path, missing_ok=bool(inside))
    if text is None:
        return ""
    text = text.strip("\r\n")
    where = f"file {inside}: " if inside else ""
    if not text:
        reader.problem(f"{where}it is empty", name)
        return ""
    try:
        return OPTIONS[plain].parse(text)
    except ValueError as exc:
        reader.problem(f"{where}{exc}", name)
        return ""


def private_key(reader: Reader) -> str | None:
    """Path of the key for SSH, or None. Source: `oc adm router` names a file even where there is none."""
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
    openssh = "BEGIN OPENSSH PRIVATE KEY" in text
    try:
        key = (load_ssh_private_key if openssh else load_pem_private_key)(text.encode(), password=None)
    except TypeError:
        reader.problem(f"the key in {path!r} has a passphrase; give one without", "f5-private-key")
    except (ValueError, UnsupportedAlgorithm):
        reader.problem(f"{path!r} is not a private key in PEM or OpenSSH form", "f5-private-key")
    else:
        if isinstance(key, RSAPrivateKey | EllipticCurvePrivateKey | Ed25519PrivateKey):
            return path
        reader.problem(f"the key in {path!r} is neither RSA, ECDSA nor Ed25519", "f5-private-key")
    return None


def certificates(reader: Reader, name: str) -> str:
    """The certificates of a PEM file, written anew; "" when none is configured or after a problem."""
    text = reader.read(name) if reader.text(name) else None
    if text is None:
        return ""
    try:
        certs = x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        reader.problem(f"there is no certificate in {reader.text(name)!r}, or one does not parse", name)
        return ""
    return "".join(cert.public_bytes(Encoding.PEM).decode() for cert in certs)
