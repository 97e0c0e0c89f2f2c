"""Servers, keys and settings for the upload tests."""

import dataclasses
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from f5router.icontrol.settings import SSHSettings
from f5router.icontrol.uploads.ssh_upload import SSHUploader
from mocks.bigip.sshd import SSHServer
from tests.unit.icontrol.uploads.openssh import OpenSSH

USERNAME, PASSWORD = "admin", "correct-horse-battery"
FORMS = {
    "pem": PrivateFormat.TraditionalOpenSSL,
    "pkcs8": PrivateFormat.PKCS8,
    "openssh": PrivateFormat.OpenSSH,
}
MAKERS = {
    "rsa": lambda: rsa.generate_private_key(65537, 2048),
    "ecdsa-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "ecdsa-384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "ecdsa-521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "ed25519": ed25519.Ed25519PrivateKey.generate,
}
# The old PEM form has no Ed25519.
KINDS_AND_FORMS = [(kind, form) for kind in MAKERS for form in FORMS if (kind, form) != ("ed25519", "pem")]


class Keys:
    """User key pairs, one per kind, made when first asked for."""

    def __init__(self):
        self._keys = {}

    def _key(self, kind: str):
        if kind not in self._keys:
            self._keys[kind] = MAKERS[kind]()
        return self._keys[kind]

    def private(self, kind: str, form: str = "openssh") -> str:
        return self._key(kind).private_bytes(Encoding.PEM, FORMS[form], NoEncryption()).decode()

    def public(self, kind: str) -> str:
        """A line of an authorized_keys file."""
        return self._key(kind).public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


@pytest.fixture(scope="session")
def keys() -> Keys:
    return Keys()


@pytest.fixture
def server():
    """A fake BIG-IP that accepts PASSWORD."""
    with SSHServer({}, password_of={USERNAME: PASSWORD}.get) as fake:
        yield fake


@pytest.fixture
def settings(server) -> SSHSettings:
    """Log in to the fake by password; its host key is known."""
    return SSHSettings("127.0.0.1", server.port, USERNAME, password=PASSWORD,
                       host_key_fingerprint=server.host_key_fingerprint)


@pytest.fixture
def uploader(settings):
    """make(**changes): an uploader with changed settings, closed after the test."""
    uploaders = []

    def make(clock=None, **changes) -> SSHUploader:
        arguments = {"clock": clock} if clock else {}
        uploaders.append(SSHUploader(dataclasses.replace(settings, **changes), **arguments))
        return uploaders[-1]

    yield make
    for each in uploaders:
        each.close()


@pytest.fixture(scope="session")
def openssh(tmp_path_factory, keys):
    """A real sshd that accepts every key of `keys` but "ecdsa-384"."""
    real = OpenSSH(tmp_path_factory.mktemp("sshd"))
    for kind in MAKERS.keys() - {"ecdsa-384"}:
        real.authorize(keys.public(kind))
    yield real
    real.stop()


@pytest.fixture
def real_settings(openssh, keys, tmp_path) -> SSHSettings:
    """Log in to the real sshd by key; its host keys are known."""
    known_hosts, key = tmp_path / "known_hosts", tmp_path / "router.pem"
    known_hosts.write_text(openssh.known_hosts)
    key.write_text(keys.private("rsa"))
    return SSHSettings("127.0.0.1", openssh.port, openssh.username, private_key=str(key),
                       known_hosts=str(known_hosts))


@pytest.fixture
def folder(tmp_path) -> Path:
    """A directory of the real server."""
    directory = tmp_path / "remote"
    directory.mkdir()
    return directory
