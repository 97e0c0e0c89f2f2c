"""Namespaces of the laboratory: they always go away, and only where they are forbidden there are none."""

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.packets.namespaces import CommandFailed, MissingTool, Namespace, tool
from tests.waiting import DEADLINE_S, until

ROOT = Path(__file__).resolve().parents[3]
PR_CAPBSET_DROP, CAP_SYS_ADMIN = 24, 21
"""linux/prctl.h, linux/capability.h."""

HELD = """
import sys
from tests.e2e.packets.namespaces import Namespace
held = Namespace("held")  # its thread ends with the last reference
held.ip(f"link add inside type veth peer name outside netns {sys.argv[1]}")
print("made", flush=True)
sys.stdin.read()
"""


def devices(namespace: Namespace) -> set[str]:
    return {link["ifname"] for link in namespace.show("ip", "link", "show")}


def wait_until_gone(namespace: Namespace, device: str) -> None:
    """A cable is gone when the namespace at its other end is."""
    until(lambda: device not in devices(namespace), f"{device} is still there")


def test_closing_takes_everything_away(stack):
    here = stack.enter_context(Namespace("here"))
    with Namespace("there") as there:
        there.ip(f"link add inside type veth peer name outside netns {here.tid}")
        assert devices(here) == {"lo", "outside"}
    wait_until_gone(here, "outside")


def test_nothing_is_left_by_a_killed_process(stack):
    here = stack.enter_context(Namespace("here"))
    process = stack.enter_context(subprocess.Popen(
        [sys.executable, "-c", HELD, str(here.tid)], cwd=ROOT, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE))
    stack.callback(process.kill)
    assert process.stdout.readline() == "made\n"
    assert "outside" in devices(here)
    os.kill(process.pid, signal.SIGKILL)
    wait_until_gone(here, "outside")


def test_a_failure_while_a_namespace_is_made_leaves_no_thread(permitted, monkeypatch, tmp_path):
    before = set(os.listdir("/proc/self/task"))
    (tmp_path / "ip").symlink_to("/bin/false")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CommandFailed) as held:  # its traceback keeps what was made alive
        Namespace("broken")
    until(lambda: set(os.listdir("/proc/self/task")) <= before,
          lambda: f"the thread is still there after {held.value}")


def test_refusals_are_told_with_the_command(stack):
    here = stack.enter_context(Namespace("here"))
    with pytest.raises(CommandFailed, match=r"^here: ip link set none up: Cannot find device \"none\""):
        here.ip("link set none up")
    with pytest.raises(CommandFailed, match=r"^here: bridge -json fdb show dev none: Cannot find device"):
        here.show("bridge", "fdb", "show", "dev", "none")


def test_a_missing_command_is_no_reason_to_skip(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingTool, match="command ip is missing; it is in the Debian package iproute2"):
        tool("ip", besides="")
    assert '"ip: iproute2"' in (ROOT / "tests" / "system-packages").read_text()


def drop_capability() -> None:
    """Take a capability from a process that root starts: nobody after it may make namespaces."""
    ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0)


def run_one(**options) -> str:
    """Return what pytest prints of one test that needs a namespace."""
    test = "tests/e2e/packets/test_namespaces.py::test_closing_takes_everything_away"
    plain = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
    done = subprocess.run([sys.executable, "-m", "pytest", *plain, test], cwd=ROOT, capture_output=True,
                          text=True, timeout=DEADLINE_S, check=False, **options)
    return f"{done.stdout}\nstatus {done.returncode}"


def test_where_namespaces_are_forbidden_the_reason_is_printed(permitted):
    said = run_one(preexec_fn=drop_capability)
    assert "1 skipped" in said
    assert "network namespaces are not permitted here: unshare(CLONE_NEWNET): Operation not permitted" in said
    assert said.endswith("status 0")
