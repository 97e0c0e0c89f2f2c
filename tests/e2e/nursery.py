"""Pods that begin as copies of a process which has imported the router: that is most of the cost of a start.

`Forked` is to its user what subprocess.Popen is. This file is also the program of that process, and runs
without the tests' packages. It ends with the process that started it, and its pods with it.
"""

import atexit
import contextlib
import functools
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO

SIZE = 1 << 16
"""Bytes of a message, at most."""


class Forked:
    """A process that runs a Python text, in the folder / and without input."""

    def __init__(self, text: str, arguments: Sequence[str], *, first: Mapping[str, str],
                 environment: Mapping[str, str], output: BinaryIO):
        """Arguments:
        first: environment of the process that has imported the router, one for all pods.
        environment: the whole of it, for this process.
        """
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        job = {"text": text, "arguments": [*arguments], "environment": {**environment}}
        socket.send_fds(_nursery(tuple(first.items())), [json.dumps(job).encode()],
                        [theirs.fileno(), output.fileno()])
        theirs.close()
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status; None while the process runs."""
        return self.wait(0)

    def wait(self, timeout: float | None = None) -> int | None:
        """Return the exit status; None when it runs longer."""
        if self.returncode is None:
            self._socket.settimeout(timeout)
            try:
                said = self._socket.recv(SIZE)
            except (BlockingIOError, TimeoutError):
                return None
            assert said, "the process that starts pods has ended"
            self.returncode = int(said)
            self._socket.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if the process runs."""
        if self.poll() is None:
            with contextlib.suppress(OSError):  # it has just ended
                self._socket.send(str(number).encode())

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


@functools.cache
def _nursery(environment: tuple[tuple[str, str], ...]) -> socket.socket:
    """Start the process, once; returns the socket that takes jobs."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__)), str(theirs.fileno())], pass_fds=[theirs.fileno()],
        env=dict(environment), cwd="/", stdin=subprocess.DEVNULL, start_new_session=True)
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


# --- the process --------------------------------------------------------------------------------------


class _Nursery:
    """Starts pods, sends them signals, and says how they ended."""

    def __init__(self, jobs: socket.socket):
        self._jobs = jobs
        self._selector = selectors.DefaultSelector()
        self._selector.register(jobs, selectors.EVENT_READ, self._take)
        self._pods: dict[int, tuple[int, socket.socket]] = {}
        """Descriptor of the process and socket of its user, by process ID."""
        self._job: dict | None = None

    def serve(self) -> dict:
        """Return a job, in the new process that is to do it; ends the old one when there are no more."""
        while self._job is None:
            for key, _ in self._selector.select():
                key.data()
                if self._job is not None:
                    break
        return self._job

    def _take(self) -> None:
        message, descriptors, _, _ = socket.recv_fds(self._jobs, SIZE, 2)
        if not message:
            for pid in self._pods:
                os.kill(pid, signal.SIGKILL)
            sys.exit()
        user, output = socket.socket(fileno=descriptors[0]), descriptors[1]
        pid = os.fork()
        if not pid:
            self._leave(user)
            os.dup2(output, 1)
            os.dup2(output, 2)
            os.close(output)
            self._job = json.loads(message)
            return
        os.close(output)
        process = os.pidfd_open(pid)
        self._pods[pid] = process, user
        self._selector.register(process, selectors.EVENT_READ, lambda: self._ended(pid))
        self._selector.register(user, selectors.EVENT_READ, lambda: self._asked(pid))

    def _leave(self, user: socket.socket) -> None:
        """In a new process: close what is the old one's."""
        self._selector.close()
        self._jobs.close()
        user.close()
        for process, other in self._pods.values():
            os.close(process)
            other.close()

    def _ended(self, pid: int) -> None:
        process, user = self._pods.pop(pid)
        self._selector.unregister(process)
        os.close(process)
        _, status = os.waitpid(pid, 0)
        if user in self._selector.get_map():
            self._selector.unregister(user)
            with contextlib.suppress(OSError):  # nobody waits for it
                user.send(str(os.waitstatus_to_exitcode(status)).encode())
        user.close()

    def _asked(self, pid: int) -> None:
        """Send a signal to a pod; kill one that has no user any more."""
        if pid in self._pods:
            user = self._pods[pid][1]
            said = user.recv(SIZE)
            if not said:
                self._selector.unregister(user)
            os.kill(pid, int(said or signal.SIGKILL))


def _import() -> None:
    """Import what a running router has imported."""
    import f5router.app.launch
    import f5router.cli.main  # noqa: F401


def _main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import()
    job = _Nursery(socket.socket(fileno=int(sys.argv[1]))).serve()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(job["environment"])
    sys.argv[:] = ["-c", *job["arguments"]]
    exec(compile(job["text"], "pod", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    _main()
