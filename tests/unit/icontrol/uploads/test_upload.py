"""SSHUploader against the fake BIG-IP.

Longer than other modules: each step of SSH, and each way in which it fails, on the same device.
"""

import dataclasses
import logging
import socket
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor

import paramiko
import pytest

from f5router.icontrol.uploads.ssh import load_private_key
from f5router.icontrol.uploads.ssh_upload import IDLE_LIMIT_S, SSHUploader
from f5router.model.errors import HostKeyRefused, NotLeader, UploadAuthFailed, UploadError
from f5router.model.limits import WritePermit
from mocks.bigip.store import DiskFile
from tests.unit.icontrol.uploads.conftest import PASSWORD
from tests.waiting import DEADLINE_S

PATH = "/var/tmp/openshift_a.key"
DATA = b"the private key of a Route\n" * 4000
PEM = "-----BEGIN {0}-----\nAAAA\n-----END {0}-----\n"
LIMIT_S = 1.0
"""Time-out of the tests in which a server hangs."""


def transports() -> list[paramiko.Transport]:
    """Connections of this process, with those of the fake's end."""
    return [thread for thread in threading.enumerate() if isinstance(thread, paramiko.Transport)]


@pytest.mark.parametrize("data", [
    pytest.param(b"", id="empty"),
    pytest.param(b"x", id="one byte"),
    pytest.param(bytes(range(256)) * 8192, id="2 MiB, every byte value"),
])
def test_put(server, uploader, data):
    """The file is there, whole, and only its owner may read it."""
    uploader().put(PATH, data)
    assert server.disk == {PATH: DiskFile(data, 0o600)}


def test_put_hides_a_file_that_was_readable(server, uploader):
    """scp would keep the mode of an existing file; ours is new before the first byte is written."""
    server.disk[PATH] = DiskFile(b"old", 0o644)
    uploader().put(PATH, DATA)
    assert server.disk == {PATH: DiskFile(DATA, 0o600)}
    assert server.log == [f"rm -f {PATH}", f"scp -t {PATH}"]


def test_remove(server, uploader):
    """A file that is there goes; one that is not there is no error."""
    server.disk[PATH] = DiskFile(b"old", 0o600)
    uploader().remove(PATH)
    uploader().remove(PATH)
    assert server.disk == {}


def test_one_connection_for_many_files(server, uploader):
    """Key exchange and login are paid for once."""
    ours = uploader()
    for number in range(10):
        with ours.staged(f"/var/tmp/{number}.cert", DATA):
            assert server.disk == {f"/var/tmp/{number}.cert": DiskFile(DATA, 0o600)}
    assert server.connections == 1
    assert server.disk == {}


def test_threads_share_the_connection(server, uploader):
    """Commands of several threads do not disturb each other."""
    ours = uploader()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: ours.put(f"/var/tmp/{n}", b"%d" % n), range(40)))
    assert server.disk == {f"/var/tmp/{n}": DiskFile(b"%d" % n, 0o600) for n in range(40)}
    assert server.connections == 1


@pytest.mark.parametrize("path", [
    "", "var/tmp/a", "/", "/var/tmp/", "/var/tmp/a b", "/var/tmp/a;reboot", "/var/tmp/$(id)", "/var/tmp/a\n",
    "/var/tmp/é", "/var/tmp/../../etc/passwd", "-rf /", "/var/tmp/~", "/var/tmp/*",
])
def test_paths_that_are_refused(server, uploader, path):
    """Nothing but plain absolute paths gets into a command line."""
    ours = uploader()
    with pytest.raises(ValueError, match="not a path"):
        ours.put(path, DATA)
    with pytest.raises(ValueError, match="not a path"):
        ours.remove(path)
    with pytest.raises(ValueError, match="not a path"), ours.staged(path, DATA):
        pass
    assert server.connections == 0


# -- staged ---------------------------------------------------------------------------------------


def test_staged_removes_when_the_body_raises(server, uploader):
    """The exception of the body arrives, and the file is gone."""
    there = []

    def body():
        with uploader().staged(PATH, DATA):
            there.append(dict(server.disk))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        body()
    assert there == [{PATH: DiskFile(DATA, 0o600)}]
    assert server.disk == {}


def test_staged_removes_what_a_cut_put_left(server, uploader):
    """Half a private key does not stay on the device."""
    ours = uploader()
    server.inject("drop-mid-transfer", times=2)
    with pytest.raises(UploadError, match="broke"), ours.staged(PATH, DATA):
        pytest.fail("the body must not run")
    assert server.disk == {}
    assert ours.leftovers == ()
    assert server.log[-1] == f"rm -f {PATH}"


def test_staged_does_not_connect_again_when_nothing_was_sent(server, uploader):
    """A device that cannot be reached costs one time-out, not two."""
    server.inject("refuse-auth", times=9)
    ours = uploader()
    with pytest.raises(UploadAuthFailed), ours.staged(PATH, DATA):
        pytest.fail("the body must not run")
    assert server.connections == 1
    assert ours.leftovers == ()


def test_leftover_is_removed_with_the_next_file(server, uploader, caplog):
    """A removal that fails is logged, not raised, and repeated when another file is removed."""
    ours = uploader()
    server.inject("rm-fails")
    with ours.staged(PATH, DATA):
        pass
    assert ours.leftovers == (PATH,)
    (warning,) = (record for record in caplog.records if record.message == "temporary file not removed")
    assert "Operation not permitted" in warning.error
    with ours.staged("/var/tmp/b", DATA):
        assert PATH in server.disk
    assert server.disk == {}
    assert ours.leftovers == ()


def test_leftover_is_removed_by_close(server, uploader):
    """The end is the last opportunity."""
    ours = uploader()
    server.inject("rm-fails")
    with ours.staged(PATH, DATA):
        pass
    ours.close()
    assert server.disk == {}
    assert ours.leftovers == ()


def test_close_gives_up_on_a_device_that_is_gone(server, uploader, caplog):
    """With several leftovers and no device there is one attempt, and no exception."""
    ours = uploader()
    server.inject("rm-fails", times=3)  # a; then b, and a again
    with ours.staged("/var/tmp/a", DATA):
        pass
    with ours.staged("/var/tmp/b", DATA):
        pass
    server.stop()
    caplog.clear()
    ours.close()
    assert ours.leftovers == ("/var/tmp/a", "/var/tmp/b")
    assert caplog.text.count("temporary file not removed") == 1


# -- host keys ------------------------------------------------------------------------------------


# -- logging in -----------------------------------------------------------------------------------


# -- faults ---------------------------------------------------------------------------------------


def test_put_is_repeated_when_the_connection_breaks(server, uploader):
    """One broken connection is nobody's business but ours."""
    server.inject("drop-mid-transfer")
    uploader().put(PATH, DATA)
    assert server.disk == {PATH: DiskFile(DATA, 0o600)}
    assert server.connections == 2


def test_put_is_repeated_once_only(server, uploader):
    """The second break is an error; the next pass of the controller tries again."""
    server.inject("drop-mid-transfer", times=2)
    with pytest.raises(UploadError, match=rf"\[127\.0\.0\.1\]:{server.port} broke"):
        uploader().put(PATH, DATA)
    assert server.connections == 2
    assert server.disk == {PATH: DiskFile(DATA[:len(DATA) // 2], 0o600)}


def test_connection_lost_between_files(server, uploader):
    """A restart of the device's sshd is not noticed."""
    ours = uploader()
    ours.put(PATH, DATA)
    server.drop_connections()
    ours.put("/var/tmp/b", DATA)
    assert set(server.disk) == {PATH, "/var/tmp/b"}
    assert server.connections == 2


def test_connection_known_to_be_lost(server, uploader):
    """It costs no attempt: the one repetition is left for the next break."""
    ours = uploader()
    ours.put(PATH, DATA)
    server.drop_connections()
    for transport in transports():
        transport.join()  # until paramiko has noticed
    server.inject("drop-mid-transfer")
    ours.put(PATH, DATA)
    assert server.disk == {PATH: DiskFile(DATA, 0o600)}
    assert server.connections == 3


@pytest.mark.parametrize(("fault", "command"), [("reset", None), ("drop-after", "scp"), ("drop-after", "rm")])
def test_a_connection_that_is_cut_before_or_after_a_command(server, uploader, fault, command):
    """All is as after one upload, over two connections at most."""
    server.inject(fault, command=command)
    ours = uploader()
    try:
        ours.put(PATH, DATA)
    except UploadError:
        ours.put(PATH, DATA)
    assert server.disk == {PATH: DiskFile(DATA, 0o600)}
    assert not server.take(fault, command)
    assert server.connections <= 2


def test_faults_that_nobody_asked_for(server, uploader):
    """They are drawn, step by step."""
    asked = []

    def draw(fault: str, command: str | None) -> bool:
        asked.append((fault, command))
        return (fault, command) == ("killed", "scp") and asked.count((fault, command)) == 1

    server.draw = draw
    uploader().put(PATH, DATA)
    assert server.disk == {PATH: DiskFile(DATA, 0o600)}
    connecting = ("reset", "banner-delay", "other-host-key", "refuse-auth")
    assert asked[:4] == [(fault, None) for fault in connecting]


@pytest.mark.parametrize("command", ["rm", "scp"])
def test_command_that_was_killed(server, uploader, command):
    """Without an exit status nothing is known: it is repeated, over a new connection."""
    server.inject("killed", command=command)
    uploader().put(PATH, DATA)
    assert server.disk == {PATH: DiskFile(DATA, 0o600)}
    assert server.connections == 2


@pytest.mark.parametrize(("idle_s", "connections"), [(IDLE_LIMIT_S - 1, 1), (IDLE_LIMIT_S + 1, 2)])
def test_idle_connection(server, uploader, idle_s, connections):
    """One that a firewall may have dropped is not trusted."""
    now = [1000.0]
    ours = uploader(clock=lambda: now[0])
    for _ in range(2):
        ours.put(PATH, DATA)
        now[0] += idle_s
    assert server.connections == connections


@pytest.mark.parametrize(("fault", "command"), [
    ("hang-request", "rm"), ("hang-request", "scp"), ("hang", "rm"), ("hang", "scp"),
    ("hang-exit", "rm"), ("hang-exit", "scp"), ("banner-delay", None),
])
def test_hung_server(server, uploader, fault, command):
    """Wherever the device stops talking, the call ends within its limit, and is not repeated."""
    server.inject(fault, command=command)
    connect_timeout_s = LIMIT_S if fault == "banner-delay" else DEADLINE_S
    ours = uploader(io_timeout_s=LIMIT_S, connect_timeout_s=connect_timeout_s)
    began = time.monotonic()
    with pytest.raises(UploadError, match=r"no answer within 1 s"):
        ours.put(PATH, DATA)
    assert time.monotonic() - began >= LIMIT_S
    assert server.connections == 1
    ours.put(PATH, DATA)
    assert server.disk == {PATH: DiskFile(DATA, 0o600)}


@pytest.mark.parametrize(("fault", "changes"), [
    pytest.param("refuse-auth", {}, id="login refused"),
    pytest.param("rm-fails", {"host_key_fingerprint": None}, id="host key refused"),
    pytest.param("banner-delay", {"connect_timeout_s": LIMIT_S}, id="no banner"),
    pytest.param("hang", {"io_timeout_s": LIMIT_S}, id="hung command"),
    pytest.param("disk-full", {}, id="file refused, then closed"),
])
def test_failure_leaves_no_connection(server, uploader, fault, changes):
    """Every pass of the controller may fail; sockets and threads must not add up."""
    server.inject(fault)
    ours = uploader(**changes)
    with pytest.raises(UploadError):
        ours.put(PATH, DATA)
    ours.close()
    for transport in transports():
        transport.join(timeout=DEADLINE_S)
        assert not transport.is_alive()


def test_small_packets_are_sent_at_once(uploader):
    """With Nagle's algorithm a file takes 190 ms instead of 3 ms on a loopback."""
    ours = uploader()
    ours.put(PATH, DATA)
    (client,) = [transport for transport in transports() if not transport.server_mode]
    assert client.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_device_that_is_down(uploader):
    """No connection: an UploadError with the system's words."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with pytest.raises(UploadError, match=rf"\[127\.0\.0\.1\]:{port}: Connection refused"):
        uploader(port=port).put(PATH, DATA)


def test_server_that_is_no_ssh_server(uploader):
    """It hangs up, or says something else: an UploadError."""
    with socket.create_server(("127.0.0.1", 0)) as http, ThreadPoolExecutor(1) as pool:
        def answer():
            connection, _ = http.accept()
            with connection:
                connection.recv(100)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        answered = pool.submit(answer)
        with pytest.raises(UploadError, match="broke"):
            uploader(port=http.getsockname()[1], connect_timeout_s=DEADLINE_S).put(PATH, DATA)
        answered.result()


@pytest.mark.parametrize(("fault", "words"), [
    ("disk-full", "No space left on device"),
    ("scp-fatal", "Input/output error"),
])
def test_device_refuses_the_file(server, uploader, fault, words):
    """Its own words are in the error; it is not repeated, and the connection is kept."""
    ours = uploader()
    server.inject(fault)
    with pytest.raises(UploadError, match=words), ours.staged(PATH, DATA):
        pytest.fail("the body must not run")
    assert server.disk == {}
    with ours.staged(PATH, DATA):
        pass
    assert server.connections == 1


@pytest.mark.parametrize(("path", "words"), [
    ("/ro/x", "/ro/x: Permission denied"),
    ("/missing/x", "/missing/x: No such file or directory"),
    ("/var/tmp", "rm -f /var/tmp: exit status 1: rm: cannot remove '/var/tmp': Is a directory"),
])
def test_device_refuses_the_path(uploader, path, words):
    """The words of scp or rm are in the error."""
    with pytest.raises(UploadError, match=words):
        uploader().put(path, DATA)


def test_remove_fails(server, uploader):
    """remove() raises; only staged() does not."""
    ours = uploader()
    ours.put(PATH, DATA)
    server.inject("rm-fails")
    with pytest.raises(UploadError, match="Operation not permitted"):
        ours.remove(PATH)


def test_file_that_is_cut_off_in_silence(server, uploader):
    """Nobody can know before it is installed: the device refuses half of a certificate."""
    server.inject("truncated")
    uploader().put(PATH, DATA)
    assert server.disk[PATH].data == DATA[:len(DATA) // 2]


def test_another_host_key_for_a_while(server, uploader):
    """Nothing is sent to it; the next connection counts."""
    ours = uploader(host_key_fingerprint=server.host_key_fingerprint)
    server.inject("other-host-key")
    with pytest.raises(HostKeyRefused):
        ours.put(PATH, DATA)
    assert server.log == []
    ours.put(PATH, DATA)
    assert server.disk[PATH].data == DATA


def test_nothing_secret_is_told(server, settings, uploader, keys, caplog, tmp_path):
    """Neither exceptions nor logs, those of paramiko included, hold a password, a key or file data."""
    caplog.set_level(logging.DEBUG)
    told = []
    key = keys.private("rsa")
    data = b"-----BEGIN PRIVATE KEY-----\nRm9vdHByaW50\n" * 2000
    faults = ("refuse-auth", "drop-mid-transfer", "disk-full", "scp-fatal", "hang", "rm-fails", "hang-exit")
    for fault in faults:
        changes = {"private_key_text": key, "io_timeout_s": LIMIT_S}
        told.append(repr(dataclasses.replace(settings, **changes)))
        ours = uploader(**changes)
        server.inject(fault, times=2)
        try:
            with ours.staged(PATH, data):
                raise UploadError("for the traceback")
        except UploadError:
            told.append(traceback.format_exc())
        while server.take(fault):
            pass
    broken = tmp_path / "router.pem"
    broken.write_text(key.replace("b3BlbnNza", "xxxxxxxxx"))
    with pytest.raises(ValueError, match="not a private key") as caught:
        load_private_key(str(broken))
    told += traceback.format_exception(caught.value)
    text = "\n".join([*told, caplog.text, *(repr(vars(record)) for record in caplog.records)])
    assert "Traceback" in text  # paramiko's log is in it, too
    assert "paramiko.transport" in text
    for secret in (PASSWORD, "Rm9vdHByaW50", *key.splitlines()[1:-1]):
        assert secret not in text


def test_commands_need_permission(server, settings):
    """It is asked for before each command, a repetition included; a file that stays is removed later."""
    left = [1.0]
    uploader = SSHUploader(settings, permit=WritePermit(lambda: left.pop() if left else 0.0))
    with uploader.staged(PATH, DATA):
        seen = len(server.log)
        with pytest.raises(NotLeader):
            uploader.put(PATH.replace("a.key", "b.key"), DATA)
    assert len(server.log) == seen
    assert uploader.leftovers == (PATH,)
    left.append(1.0)
    uploader.retry()
    assert server.disk == {}
    left.append(1.0)
    server.inject("drop-mid-transfer")
    with pytest.raises(NotLeader):
        uploader.put(PATH, DATA)
    assert [line.split()[0] for line in server.log[seen:]] == ["rm", "rm", "scp"]
    uploader.close()
