"""Private keys on the BIG-IP's disk: none stays after faults, after kill -9, or from an earlier run."""

import signal
import subprocess
import threading

import pytest

from f5router.icontrol.uploads.leftovers import FOLDERS, UploadOrigin
from mocks.bigip.store import DiskFile
from tests import manifests
from tests.builders import identity
from tests.waiting import DEADLINE_S, until

ONE = identity()
UPLOAD, REMOVE = "file-transfer/uploads", "util/unix-rm"
INSTALL = "sys/file/ssl-|sys/crypto/"
FAULTS = ("drop-reply", "drop-request", "503-html", "500-mcpd", "html-200", "truncated-json", "refuse")
REST, SSH = "rest", "ssh"


def edge(name: str = "b", **fields) -> dict:
    return manifests.route(name, host=f"{name}.com", kind="edge", certificate=ONE.certificate, key=ONE.key,
                           **fields)


@pytest.fixture
def device(make_lab, baseline):
    """A lab with SSH; flags() of it gives those for a way of uploading."""
    lab = make_lab(ssh=True)
    lab.bigip.put_back(baseline)
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)))
    return lab


def flags(lab, way: str) -> dict[str, str]:
    return lab.ssh_flags() if way == SSH else {"cert_upload": REST}


# --- faults ------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [UPLOAD, INSTALL, REMOVE])
@pytest.mark.parametrize("kind", [*FAULTS, "late"])
def test_no_fault_leaves_a_file(device, kind, path):
    """Both files of a Route, each request lost, refused or late; the router runs on, or ends."""
    for number in (1, 2, 3):
        device.bigip.inject(kind, times=number, method="POST", path=path)
        device.apply(edge(f"r{number}"))
        device.converge(cert_upload=REST)
    device.bigip.deliver_late()
    assert device.converge(cert_upload=REST) == []
    assert list(device.bigip.store.disk) == []


def test_a_removal_that_is_refused_for_long_is_made_up_after_a_reading(lab, running):
    """The router does not wait for another certificate."""
    lab.bigip.inject("command-fails", times=None, path=REMOVE)
    lab.apply(edge())
    router = running(cert_upload=REST, f5_resync_interval="1s")
    router.wait(lambda: lab.admitted("shop", "b").get("status") == "True")
    assert len(lab.bigip.store.disk) == 2
    lab.bigip.clear_faults()
    router.wait(lambda: not lab.bigip.store.disk)


# --- an earlier run ----------------------------------------------------------------------


@pytest.mark.parametrize("way", [REST, SSH])
def test_the_first_pass_removes_what_an_earlier_run_left(device, way):
    """Ours alone, in each folder, also those of the other way; without any certificate of a Route."""
    ours, others = UploadOrigin("/Common", process=2**22 + 1), UploadOrigin("/Other")
    stay = {f"{folder}/{others.new_name('key')}" for folder in FOLDERS} | {"/var/tmp/admins.key"}
    left = {f"{folder}/{ours.new_name('key')}" for folder in FOLDERS}
    device.bigip.store.disk.update({path: DiskFile(b"x") for path in stay | left})
    assert device.converge(**flags(device, way)) == []
    assert set(device.bigip.store.disk) == stay


def test_plan_removes_nothing(device):
    """It changes nothing at all."""
    path = f"{FOLDERS[0]}/{UploadOrigin('/Common', process=2**22 + 1).new_name('key')}"
    device.bigip.store.disk[path] = DiskFile(b"x")
    command = device.command(cert_upload=REST)
    command[command.index("run")] = "plan"
    subprocess.run(command, check=True, timeout=DEADLINE_S, capture_output=True)
    assert list(device.bigip.store.disk) == [path]


def test_a_user_who_may_not_list_files_serves_routes(device, caplog):
    """A Manager cannot upload either; Routes without certificates need neither."""
    device.bigip.add_user("router", "secret", role="manager")
    device.apply(manifests.route("a"))
    assert device.converge(cert_upload=REST, f5_username="router", f5_password="secret") == []
    told = [record for record in caplog.records if "cannot be listed" in getattr(record, "problem", "")]
    assert len(told) == 1


# --- kill -9 -----------------------------------------------------------------------------


def killed(lab, at: int, way: str) -> bool:
    """Run a router process and kill it with SIGKILL at a write on the way of a file; False: it ended before.

    Args: at: number of the write, from 1: an upload, an installation, a removal.
    """
    count, begun, ended = 0, threading.Event(), threading.Event()

    def kill(entry) -> None:
        nonlocal count
        if any(word in entry.path for word in (UPLOAD, REMOVE, "/sys/file/ssl-", "/sys/crypto/")):
            count += 1
            if count == at:
                begun.wait(DEADLINE_S)
                process.kill()
                ended.wait(DEADLINE_S)

    lab.bigip.on_write = kill
    process = lab.process("--once", **flags(lab, way))
    begun.set()
    until(lambda: process.poll() is not None)
    ended.set()
    lab.bigip.on_write = None
    return process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(("way", "at"), [*((REST, at) for at in range(1, 6)), (SSH, 1), (SSH, 2)])
def test_kill_9_leaves_nothing_after_a_restart(device, way, at):
    """Upload, installation, removal of certificate and key: the device has done each, nobody heard of it."""
    device.apply(edge())
    assert killed(device, at, way)
    assert device.converge(**flags(device, way)) == []
    assert list(device.bigip.store.disk) == []


def test_kill_9_while_a_file_is_copied_over_ssh(device):
    """The file is there, and its copying has not ended."""
    device.apply(edge())
    disk, server, waiting = device.bigip.store.disk, device.bigip.ssh_server, threading.Event()
    server.inject("hang-exit", times=99, command="scp")
    process = device.process("--once", **device.ssh_flags())
    while not disk:
        assert process.poll() is None
        waiting.wait(0.02)
    process.kill()
    process.wait(DEADLINE_S)
    assert disk
    while server.take("hang-exit", "scp"):
        pass
    assert device.converge(**device.ssh_flags()) == []
    assert list(disk) == []
