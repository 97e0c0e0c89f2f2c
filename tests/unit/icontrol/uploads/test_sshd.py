"""The fake BIG-IP's SSH server, asked by the programs of OpenSSH."""

import subprocess
import threading

import paramiko
import pytest

from mocks.bigip.sshd import SSHServer
from mocks.bigip.store import DiskFile
from tests.unit.icontrol.uploads.conftest import PASSWORD, USERNAME
from tests.unit.icontrol.uploads.openssh import require
from tests.waiting import DEADLINE_S


@pytest.fixture
def run(server, keys, tmp_path):
    """run("ssh" or "scp", *arguments): the program, logged in to the fake by key."""
    key, known_hosts = tmp_path / "key", tmp_path / "known_hosts"
    key.write_text(keys.private("rsa"))
    key.chmod(0o600)
    known_hosts.write_text(server.host_key_line)
    server.authorize(keys.public("rsa"))

    def call(program: str, *arguments) -> subprocess.CompletedProcess:
        legacy = ["-O"] if program == "scp" else []
        options = ("BatchMode=yes", f"UserKnownHostsFile={known_hosts}", "StrictHostKeyChecking=yes",
                   "GlobalKnownHostsFile=/dev/null", f"Port={server.port}", f"User={USERNAME}")
        return subprocess.run(
            [require(program), *legacy, "-F", "none", "-q", "-i", key,
             *(argument for option in options for argument in ("-o", option)), *arguments],
            capture_output=True, text=True, timeout=DEADLINE_S)

    return call


@pytest.mark.parametrize("data", [b"", b"x", bytes(range(256)) * 4096])
def test_scp(server, run, tmp_path, data):
    """A file arrives with the mode of its source; -p sets the mode also of one that is there."""
    source = tmp_path / "a"
    source.write_bytes(data)
    source.chmod(0o640)
    for options, mode, next_mode in (((), 0o640, 0o600), (("-p",), 0o600, 0o644), ((), 0o600, 0)):
        ended = run("scp", *options, source, "127.0.0.1:/var/tmp/b")
        assert (ended.returncode, ended.stderr) == (0, "")
        assert server.disk == {"/var/tmp/b": DiskFile(data, mode)}
        source.chmod(next_mode)
    assert server.log[0] == "scp -t /var/tmp/b"


def test_scp_into_directories(server, run, tmp_path):
    """A directory as the target takes the name of the source; -r brings a tree."""
    (tmp_path / "tree/below").mkdir(parents=True)
    for name in ("one", "two", "tree/three", "tree/below/four"):
        (tmp_path / name).write_text(name)
    assert run("scp", tmp_path / "one", tmp_path / "two", "127.0.0.1:/var/tmp").returncode == 0
    assert run("scp", "-r", tmp_path / "tree", "127.0.0.1:/shared/").returncode == 0
    assert {path: file.data.decode() for path, file in server.disk.items()} == {
        "/var/tmp/one": "one", "/var/tmp/two": "two",
        "/shared/tree/three": "tree/three", "/shared/tree/below/four": "tree/below/four",
    }


@pytest.mark.parametrize(("target", "words"), [
    ("/ro/a", "scp: /ro/a: Permission denied"),
    ("/missing/a", "scp: /missing/a: No such file or directory"),
])
def test_scp_refuses(server, run, tmp_path, target, words):
    """OpenSSH's scp shows the words and ends with an error."""
    (tmp_path / "a").write_text("a")
    ended = run("scp", tmp_path / "a", f"127.0.0.1:{target}")
    assert ended.returncode == 1
    assert words in ended.stderr
    assert server.disk == {}


@pytest.mark.parametrize(("command", "status", "words"), [
    ("rm -f /var/tmp/a", 0, ""),
    ("rm '/var/tmp/a'", 0, ""),
    ("rm -f /var/tmp/none /var/tmp/a", 0, ""),
    ("rm /var/tmp/none", 1, "rm: cannot remove '/var/tmp/none': No such file or directory\n"),
    ("rm -f /var/tmp", 1, "rm: cannot remove '/var/tmp': Is a directory\n"),
    ("tmsh list", 127, "bash: tmsh: command not found\n"),
    ("rm -f /var/tmp/none; reboot", 2, "bash: -c: syntax error near unexpected token `;'\n"),
    ("rm -f 'open", 2, "bash: -c: No closing quotation\n"),
])
def test_commands(server, run, command, status, words):
    """rm works as coreutils' does; there is nothing else."""
    server.disk["/var/tmp/a"] = DiskFile(b"a", 0o600)
    ended = run("ssh", "127.0.0.1", command)
    assert (ended.returncode, ended.stderr) == (status, words)
    assert ("/var/tmp/a" in server.disk) == (status != 0)
    assert server.log == [command]


@pytest.mark.parametrize(("records", "answer"), [
    (b"C0600 x a\n", b"\x02scp: size not delimited\n"),
    (b"C06 1 a\n", b"\x02scp: bad mode\n"),
    (b"C0600 1 ../a\n", b"\x02scp: error: unexpected filename: ../a\n"),
    (b"Zzz\n", b"\x02scp: protocol error: unexpected b'Z'\n"),
    (b"T1 0 1 0\nD0755 0 x\n", b"\0\x02scp: protocol error: unexpected b'D'\n"),
    (b"C0600 9 a\nhalf", b"\0\x02scp: lost connection\n"),
])
def test_protocol_errors(server, settings, records, answer):
    """A source that breaks the protocol gets code 2."""
    with paramiko.SSHClient() as client:
        client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
        client.connect("127.0.0.1", server.port, USERNAME, PASSWORD, look_for_keys=False, allow_agent=False)
        stdin, stdout, _ = client.exec_command("scp -t /var/tmp/a")
        stdin.write(records)
        stdin.channel.shutdown_write()
        assert stdout.read() == b"\0" + answer
        assert stdout.channel.recv_exit_status() == 1


def test_fault_that_does_not_exist(server):
    """A mistyped fault is an error, not a test that proves nothing."""
    with pytest.raises(ValueError, match="no fault 'hnag'"):
        server.inject("hnag")


def test_stop_leaves_no_thread():
    """Also when a command hangs and a connection waits for the banner."""
    before = set(threading.enumerate())
    server = SSHServer({}, password_of={USERNAME: PASSWORD}.get)
    server.inject("hang")
    with paramiko.SSHClient() as client:
        client.set_missing_host_key_policy(paramiko.AutoAddPolicy())
        client.connect("127.0.0.1", server.port, USERNAME, PASSWORD, look_for_keys=False, allow_agent=False)
        client.exec_command("rm -f /var/tmp/a")
        server.stop()
        transport = client.get_transport()
    if transport is not None:
        transport.join()
    assert {thread for thread in threading.enumerate() if thread.name == "fake-sshd"} <= before
