"""SSHUploader: host keys, and logging in."""

import dataclasses
import hashlib

import pytest

from f5router.icontrol.uploads.hostkeys import OPTIONS
from f5router.icontrol.uploads.ssh import load_private_key
from f5router.icontrol.uploads.ssh_upload import SSHUploader
from f5router.model.errors import HostKeyRefused, UploadAuthFailed
from mocks.bigip.sshd import SSHServer
from mocks.bigip.store import DiskFile
from tests.unit.icontrol.uploads.conftest import FORMS, KINDS_AND_FORMS, MAKERS, PASSWORD
from tests.unit.icontrol.uploads.test_upload import DATA, PATH, PEM


def test_unknown_host_key(server, uploader):
    """Refused, with the fingerprint and the options that would accept it; no password was sent."""
    server.inject("refuse-auth")
    with pytest.raises(HostKeyRefused) as caught:
        uploader(host_key_fingerprint=None).put(PATH, DATA)
    text = str(caught.value)
    assert text.startswith(f"unknown SSH host key ssh-ed25519 {server.host_key_fingerprint}")
    assert OPTIONS in text
    assert server.take("refuse-auth"), "a login was tried"


def test_changed_host_key(server, uploader, tmp_path):
    """Another server at the address of a known one is refused, by known_hosts and by fingerprint."""
    with SSHServer({}, password_of={"admin": PASSWORD}.get) as other:
        known_hosts = tmp_path / "known_hosts"
        known_hosts.write_text(other.host_key_line.replace(f":{other.port} ", f":{server.port} "))
        for changes in ({"host_key_fingerprint": None, "known_hosts": str(known_hosts)},
                        {"host_key_fingerprint": other.host_key_fingerprint}):
            with pytest.raises(HostKeyRefused, match="changed SSH host key") as caught:
                uploader(**changes).put(PATH, DATA)
            assert server.host_key_fingerprint in str(caught.value)
    assert server.disk == {}


@pytest.mark.parametrize("how", ["known_hosts", "md5", "list", "insecure"])
def test_known_host_key(server, uploader, tmp_path, how):
    """Each way to name a host key, other than the SHA256 of the other tests."""
    known_hosts = tmp_path / "known_hosts"
    known_hosts.write_text(server.host_key_line)
    md5 = hashlib.md5(server.host_key.asbytes()).digest().hex(":")
    changes = {
        "known_hosts": {"host_key_fingerprint": None, "known_hosts": str(known_hosts)},
        "md5": {"host_key_fingerprint": f"MD5:{md5}"},
        "list": {"host_key_fingerprint": f"SHA256:{'x' * 43}, {server.host_key_fingerprint}"},
        "insecure": {"host_key_fingerprint": None, "insecure_host_key": True},
    }
    uploader(**changes[how]).put(PATH, DATA)
    assert server.disk == {PATH: DiskFile(DATA, 0o600)}


def test_known_hosts_file_is_missing(uploader, tmp_path):
    """Named in the error; not a reason to accept the key."""
    path = str(tmp_path / "nowhere")
    with pytest.raises(HostKeyRefused, match=r"nowhere: No such file"):
        uploader(host_key_fingerprint=None, known_hosts=path).put(PATH, DATA)


def test_fingerprint_without_form_is_found_at_start(settings):
    """A mistyped fingerprint does not wait for the first certificate."""
    with pytest.raises(ValueError, match="not a host key fingerprint"):
        SSHUploader(dataclasses.replace(settings, host_key_fingerprint="SHA256:short"))


# -- logging in -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "form"), KINDS_AND_FORMS)
def test_key_files(keys, tmp_path, kind, form):
    """Every kind and form is read, from a file that everybody may read, as a Secret volume has it."""
    path = tmp_path / "router.pem"
    path.write_text(keys.private(kind, form).rstrip("\n"))
    path.chmod(0o444)
    loaded = load_private_key(str(path))
    assert f"{loaded.get_name()} {loaded.get_base64()}" == keys.public(kind)
    assert loaded.can_sign()


@pytest.mark.parametrize("text", [
    pytest.param("", id="empty"),
    pytest.param("not a key", id="text"),
    pytest.param(PEM.format("OPENSSH PRIVATE KEY"), id="broken OpenSSH form"),
    pytest.param(PEM.format("RSA PRIVATE KEY"), id="broken PEM"),
    pytest.param(PEM.format("CERTIFICATE"), id="certificate"),
    pytest.param("\N{SNOWMAN}", id="not ASCII"),
])
def test_key_file_that_is_none(tmp_path, text):
    """The error names the file and shows nothing of it."""
    path = tmp_path / "router.pem"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"router\.pem: not a private key") as caught:
        load_private_key(str(path))
    assert caught.value.__suppress_context__


def test_key_file_with_passphrase(tmp_path):
    """Nobody could type it."""
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding

    for form in FORMS.values():
        path = tmp_path / "router.pem"
        key = MAKERS["rsa"]()
        path.write_bytes(key.private_bytes(Encoding.PEM, form, BestAvailableEncryption(b"secret")))
        with pytest.raises(ValueError, match=r"router\.pem: the private key has a passphrase"):
            load_private_key(str(path))


def test_key_file_is_missing(uploader, tmp_path, server):
    """FileNotFoundError at the check, UploadAuthFailed at the upload; both name it."""
    path = str(tmp_path / "router.pem")
    with pytest.raises(FileNotFoundError, match=r"router\.pem"):
        load_private_key(path)
    with pytest.raises(UploadAuthFailed, match=r"router\.pem: No such file"):
        uploader(private_key=path).put(PATH, DATA)
    assert server.connections == 0


def test_key_text(server, uploader, keys):
    """A key that is in memory is used like one in a file."""
    server.authorize(keys.public("ed25519"))
    uploader(password=None, private_key_text=keys.private("ed25519")).put(PATH, DATA)
    assert PATH in server.disk


@pytest.mark.parametrize(("changes", "tried"), [
    pytest.param({"password": "wrong"}, "tried: password", id="wrong password"),
    pytest.param({"username": "root"}, "'root' is refused", id="wrong user"),
    pytest.param({"password": None}, "neither key nor password", id="nothing to try"),
    pytest.param({"password": None, "private_key_text": "rsa"}, "tried: key$", id="wrong key"),
    pytest.param({"password": "wrong", "private_key_text": "rsa"}, "tried: key, password", id="both wrong"),
])
def test_login_is_refused(server, uploader, keys, changes, tried):
    """The error says who was refused and what was tried."""
    if changes.get("private_key_text"):
        changes = changes | {"private_key_text": keys.private(changes["private_key_text"])}
    with pytest.raises(UploadAuthFailed, match=tried):
        uploader(**changes).put(PATH, DATA)
    assert server.log == []
    assert server.connections == 1


def test_password_after_key(server, uploader, keys):
    """A key that the device does not know does not keep the password from being tried."""
    uploader(private_key_text=keys.private("ecdsa-256")).put(PATH, DATA)
    assert PATH in server.disk


def test_login_works_again_later(server, uploader):
    """A refusal, for instance while the device starts, is not remembered."""
    server.inject("refuse-auth")
    ours = uploader()
    with pytest.raises(UploadAuthFailed):
        ours.put(PATH, DATA)
    ours.put(PATH, DATA)
    assert PATH in server.disk
