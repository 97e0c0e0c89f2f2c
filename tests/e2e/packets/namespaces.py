"""Network namespaces without names, and the commands of iproute2 in them.

A namespace belongs to a thread, which made it by unshare(2) and in which everything of it is called:
programs that the thread starts and sockets that it opens are in the namespace. Nothing of it is in the
file system, so the kernel takes it away, with all devices, when the thread has ended: also when the
process was killed (network_namespaces(7)). `ip netns add` would leave a mounted name behind.
"""

import contextlib
import ctypes
import errno
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from tests.waiting import DEADLINE_S

Result = TypeVar("Result")

CLONE_NEWNET = 0x40000000
"""linux/sched.h."""

REFUSED = {errno.EPERM, errno.EACCES, errno.ENOSPC, errno.ENOSYS, errno.EINVAL}
"""What unshare(2) says where namespaces are not permitted: no capability, a limit of none, no such kernel."""

PACKAGE = "iproute2"
DIRECTORIES = os.pathsep.join(("/usr/sbin", "/usr/bin", "/sbin", "/bin"))
"""Besides PATH, which often has no sbin."""


class NotPermitted(Exception):
    """This system does not let us make network namespaces; the message says why."""


class MissingTool(Exception):
    """A command that must be there is not; the message names its package."""


class CommandFailed(Exception):
    """A command of iproute2 refused what it was told."""


def tool(name: str, besides: str = DIRECTORIES) -> str:
    """Return the path of a command of iproute2.

    Args: besides: directories to look in after those of PATH.

    Raises: MissingTool.
    """
    path = os.environ.get("PATH", "")
    command = shutil.which(name, path=f"{path}{os.pathsep}{besides}")
    if command is None:
        raise MissingTool(f"the command {name} is missing; it is in the Debian package {PACKAGE} "
                          f"(tests/system-packages installs it)")
    return command


class Namespace:
    """A network namespace with a loopback device that is up; use as a context manager or call close.

    Attributes: name: for messages only. tid: thread that has it, which `ip link ... netns` takes as PID.

    Raises: NotPermitted.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"netns-{name}")
        try:
            self.tid = self.call(_unshare)
            self.call(_silence)
            self.ip("link set lo up")
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Namespace":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End its thread. The namespace is gone as soon as no socket of it is open."""
        self._thread.shutdown()

    def call(self, function: Callable[..., Result], *args: Any, **options: Any) -> Result:
        """The function's result, called in the namespace; one at a time."""
        return self._thread.submit(function, *args, **options).result()

    def ip(self, *commands: str) -> None:
        """Run commands of ip(8), written without `ip`, in one process. Raises: CommandFailed: the first."""
        self._run("ip", "-batch", "-", lines=commands)

    def bridge(self, *commands: str) -> None:
        """The same with bridge(8)."""
        self._run("bridge", "-batch", "-", lines=commands)

    def show(self, program: str, *args: str) -> list[dict[str, Any]]:
        """Return what `ip` or `bridge` prints with -json. Raises: CommandFailed."""
        return json.loads(self._run(program, "-json", *args) or "[]")

    def _run(self, program: str, *args: str, lines: tuple[str, ...] = ()) -> str:
        done = self.call(
            subprocess.run, [tool(program), *args], input="".join(f"{line}\n" for line in lines),
            capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        if done.returncode:
            given = "; ".join(lines) or " ".join(args)
            raise CommandFailed(f"{self.name}: {program} {given}: {done.stderr.strip()}")
        return done.stdout


def _unshare() -> int:
    """Move the calling thread to a new network namespace; its thread ID. Raises: NotPermitted."""
    libc = ctypes.CDLL(None, use_errno=True)  # os.unshare is of Python 3.12
    if libc.unshare(CLONE_NEWNET):
        number = ctypes.get_errno()
        text = f"unshare(CLONE_NEWNET): {os.strerror(number)}"
        raise NotPermitted(text) if number in REFUSED else OSError(number, text)
    return threading.get_native_id()


def _silence() -> None:
    """No IPv6, whose neighbour discovery would be on every link, where /proc/sys may be written."""
    for which in ("all", "default"):
        with contextlib.suppress(OSError):
            Path(f"/proc/sys/net/ipv6/conf/{which}/disable_ipv6").write_text("1")
