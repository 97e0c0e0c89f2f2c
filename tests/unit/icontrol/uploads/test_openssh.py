"""SSHUploader against a real OpenSSH server: what the fake might have got wrong."""

import dataclasses
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import closing
from pathlib import Path

import pytest

from f5router.app.file_watch import SharedFiles, ssh_key
from f5router.icontrol.uploads.ssh_upload import SSHUploader
from f5router.model.errors import HostKeyRefused, UploadAuthFailed, UploadError
from tests.unit.icontrol.uploads.conftest import KINDS_AND_FORMS

DATA = bytes(range(256)) * 16
CHILD = """
import encodings.idna, os, pwd, sys  # the first as long as the user may read it
from f5router.icontrol.uploads.ssh_upload import SSHUploader
from f5router.icontrol.settings import SSHSettings
host, port, username, key, known_hosts, path = sys.argv[1:]
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(54321)
    os.setuid(54321)
else:  # only root can become another user; others pretend
    def getpwuid(uid):
        raise KeyError(uid)
    pwd.getpwuid = getpwuid
try:
    pwd.getpwuid(os.getuid())
except KeyError:
    assert "HOME" not in os.environ
    uploader = SSHUploader(SSHSettings(host, int(port), username, key, known_hosts=known_hosts))
    uploader.put(path, b"data")
    uploader.close()
    print("done")
"""


@pytest.fixture
def uploader(real_settings):
    with closing(SSHUploader(real_settings)) as ours:
        yield ours


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_staged(uploader, folder):
    """Whole and private while the body runs, gone afterwards."""
    for name in ("a.cert", "a.key", "b.key"):
        with uploader.staged(f"{folder}/{name}", DATA):
            assert (folder / name).read_bytes() == DATA
            assert mode(folder / name) == 0o600
        assert list(folder.iterdir()) == []


def test_staged_removes_when_the_body_raises(uploader, folder):
    """As above, when the body raises."""
    there = []

    def body():
        with uploader.staged(f"{folder}/a", DATA):
            there.append((folder / "a").read_bytes())
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        body()
    assert there == [DATA]
    assert list(folder.iterdir()) == []


def test_file_is_never_readable_by_others(uploader, folder):
    """A watcher sees no other mode than 0600 from the first to the last byte."""
    path, seen, done = folder / "a", set(), threading.Event()

    def watch():
        while not done.is_set():
            try:
                seen.add(mode(path))
            except FileNotFoundError:
                continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for _ in range(3):
            uploader.put(str(path), b"x" * 1_000_000)
    finally:
        done.set()
        watcher.join()
    assert seen == {0o600}


@pytest.mark.parametrize("existing", ["readable file", "symbolic link"])
def test_put_replaces_what_is_there(uploader, folder, existing):
    """A readable file gets no key written into it, and a link is not followed."""
    path, elsewhere = folder / "a", folder / "elsewhere"
    elsewhere.write_bytes(b"untouched")
    if existing == "symbolic link":
        path.symlink_to(elsewhere)
    else:
        path.write_bytes(b"old")
        path.chmod(0o644)
    uploader.put(str(path), DATA)
    assert path.read_bytes() == DATA
    assert not path.is_symlink()
    assert mode(path) == 0o600
    assert elsewhere.read_bytes() == b"untouched"


@pytest.mark.parametrize(("kind", "form"), [pair for pair in KINDS_AND_FORMS if pair[0] != "ecdsa-384"])
def test_keys(real_settings, folder, keys, kind, form):
    """Every kind of key logs in; RSA by a SHA-2 signature, for this server refuses SHA-1."""
    key = Path(real_settings.private_key)
    key.write_text(keys.private(kind, form))
    key.chmod(0o444)
    with closing(SSHUploader(real_settings)) as ours:
        ours.put(f"{folder}/a", DATA)
    assert (folder / "a").read_bytes() == DATA


def test_wrong_key(real_settings, keys, folder):
    """A key that the server does not know."""
    text = keys.private("ecdsa-384")
    settings = dataclasses.replace(real_settings, private_key=None, private_key_text=text)
    with closing(SSHUploader(settings)) as ours, pytest.raises(UploadAuthFailed, match=r"tried: key$"):
        ours.put(f"{folder}/a", DATA)


def test_password_where_only_keys_are_accepted(real_settings, folder):
    """The method itself is refused."""
    settings = dataclasses.replace(real_settings, private_key=None, password="secret")
    with closing(SSHUploader(settings)) as ours, pytest.raises(UploadAuthFailed, match="tried: password"):
        ours.put(f"{folder}/a", DATA)


@pytest.mark.parametrize("kind", ["rsa", "ecdsa", "ed25519"])
def test_fingerprint_of_any_host_key(real_settings, openssh, folder, kind):
    """The operator may give the fingerprint of any key of the server, not just the one we would get."""
    settings = dataclasses.replace(real_settings, known_hosts=None,
                                   host_key_fingerprint=openssh.fingerprints[kind])
    with closing(SSHUploader(settings)) as ours:
        ours.put(f"{folder}/a", DATA)
    assert (folder / "a").read_bytes() == DATA


@pytest.mark.parametrize("kind", ["ssh-rsa", "ecdsa-sha2-nistp256", "ssh-ed25519"])
def test_known_hosts_with_one_key_of_several(real_settings, folder, kind):
    """The server is asked for the kind of key that is known."""
    known_hosts = Path(real_settings.known_hosts)
    lines = known_hosts.read_text().splitlines()
    known_hosts.write_text("".join(line for line in lines if f" {kind} " in line))
    with closing(SSHUploader(real_settings)) as ours:
        ours.put(f"{folder}/a", DATA)


def test_unknown_host_key(real_settings, openssh, folder, caplog):
    """With a fingerprint of no key the log shows all that the server has."""
    settings = dataclasses.replace(real_settings, known_hosts=None,
                                   host_key_fingerprint="SHA256:" + "A" * 43)
    with closing(SSHUploader(settings)) as ours, pytest.raises(HostKeyRefused) as caught:
        ours.put(f"{folder}/a", DATA)
    assert openssh.fingerprints["ed25519"] in str(caught.value)
    (refused,) = (record for record in caplog.records if record.message == "SSH host key refused")
    assert all(fingerprint in refused.keys for fingerprint in openssh.fingerprints.values())
    assert list(folder.iterdir()) == []


def test_hashed_known_hosts(real_settings, folder):
    """As ssh writes it with HashKnownHosts."""
    path = real_settings.known_hosts
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", path], check=True, capture_output=True)
    assert "127.0.0.1" not in Path(path).read_text()
    with closing(SSHUploader(real_settings)) as ours:
        ours.put(f"{folder}/a", DATA)


def test_connection_lost_between_files(uploader, openssh, folder):
    """The server's processes die; the next file goes over a new connection."""
    uploader.put(f"{folder}/a", DATA)
    openssh.drop_connections()
    uploader.put(f"{folder}/b", DATA)
    assert (folder / "b").read_bytes() == DATA


def test_refusals(uploader, folder):
    """The words of the real scp and rm."""
    with pytest.raises(UploadError, match=r"scp: .*/missing/a: No such file or directory"):
        uploader.put(f"{folder}/missing/a", DATA)
    with pytest.raises(UploadError, match=r"rm: cannot remove '.*': Is a directory"):
        uploader.put(str(folder), DATA)
    uploader.remove(f"{folder}/none")
    uploader.put(f"{folder}/a", DATA)


def test_no_home_no_passwd_entry_no_local_files(real_settings, keys):
    """A pod has a random user id: nothing may depend on who we are or where our home is."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name)
        base.chmod(0o755)
        temporary, remote = base / "tmp", base / "remote"
        temporary.mkdir()
        temporary.chmod(0o777)
        remote.mkdir()
        for path, text in ((base / "key", keys.private("rsa")),
                           (base / "known_hosts", Path(real_settings.known_hosts).read_text())):
            path.write_text(text)
            path.chmod(0o444)
        arguments = [real_settings.host, str(real_settings.port), real_settings.username, base / "key",
                     base / "known_hosts", remote / "a"]
        repository = Path(__file__).parents[4]
        ended = subprocess.run(
            [sys.executable, "-B", "-c", CHILD, *arguments], cwd=temporary, capture_output=True, text=True,
            env={"TMPDIR": str(temporary), "PYTHONPATH": str(repository)})
        assert (ended.stdout, ended.stderr) == ("done\n", "")
        assert (remote / "a").read_bytes() == b"data"
        assert list(temporary.iterdir()) == []


def test_renewed_key(real_settings, keys, folder, tmp_path, clock):
    """A key that was exchanged is used by the next connection; a half-written one leaves that before."""
    path = tmp_path / "renewed.pem"
    path.write_text(keys.private("ecdsa-384"))
    watch = SharedFiles("key", ssh_key(str(path)), "", period_s=10, clock=clock)

    def newest(settings):
        return dataclasses.replace(settings, private_key=None, private_key_text=watch.get(now=True))

    with closing(SSHUploader(real_settings, newest=newest)) as ours:
        with pytest.raises(UploadAuthFailed):
            ours.put(f"{folder}/a", DATA)
        path.write_text(keys.private("ed25519"))
        ours.put(f"{folder}/a", DATA)
        path.write_text(keys.private("ed25519")[:-60])
    with closing(SSHUploader(real_settings, newest=newest)) as ours:
        ours.put(f"{folder}/b", DATA)
