"""Programs that run beside the demo and end with it."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

Result = TypeVar("Result")

START_LIMIT_S = 120.0
STOP_LIMIT_S = 60.0
POLL_S = 0.03
SLOW_POLL_S = 0.3
"""Pause after a condition that takes long to look at: the processes get most of the machine."""


class DemoError(Exception):
    """Something is not as it should be; the message says what."""


class Interrupted(BaseException):
    """The user, or whoever started the demo, wants it to end."""


class Program:
    """A command in a process group of its own, so that Ctrl-C reaches it through the demo only.

    Args: log: file for what it prints.
    """

    def __init__(self, name: str, command: Sequence[str], *, log: Path,
                 environment: Mapping[str, str] | None = None):
        self.name, self.log = name, log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env=environment, start_new_session=True,
            )

    def __enter__(self) -> "Program":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def check(self) -> None:
        """Raises: DemoError: it has ended by itself."""
        if self._process.poll() is not None:
            raise DemoError(f"{self.name} ended with exit status {self._process.returncode}:\n{self.tail()}")

    def wait_for_line(self, start: str) -> str:
        """The first line that begins so. Raises: DemoError: it ended, or did not print it in time."""
        def first_line() -> str:
            self.check()
            lines = self.log.read_text(errors="replace").splitlines(keepends=True)
            return next((line for line in lines if line.startswith(start) and line.endswith("\n")), "")
        return wait_until(first_line, START_LIMIT_S, f"{self.name} is not ready").strip()

    def wait_for_end(self) -> None:
        """Raises: DemoError: it failed, or did not end in time."""
        try:
            status = self._process.wait(START_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.stop()
            raise DemoError(f"{self.name} did not end after {START_LIMIT_S:g} s:\n{self.tail()}") from None
        if status:
            self.check()

    def stop(self) -> int:
        """SIGTERM, and SIGKILL if that does not help in time; the exit status, negative for a signal."""
        if self._process.poll() is None:
            self._process.terminate()
        try:
            return self._process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()

    def tail(self, lines: int = 25) -> str:
        """The end of its log, indented."""
        text = self.log.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join(f"  {line}" for line in text) or "  (it printed nothing)"


def wait_until(condition: Callable[[], Result], limit_s: float, problem: str) -> Result:
    """The first true result. Raises: DemoError: with the problem, after limit_s."""
    begin = time.monotonic()
    deadline = begin + limit_s
    while not (result := condition()):
        now = time.monotonic()
        if now > deadline:
            raise DemoError(f"{problem} after {limit_s:g} s")
        time.sleep(min(max(POLL_S, 4 * (now - begin)), SLOW_POLL_S))
        begin = time.monotonic()
    return result


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP raise Interrupted inside; once, so that cleaning up is not interrupted."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def handle(*_: object) -> NoReturn:
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise Interrupted

    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def clean_environment() -> dict[str, str]:
    """The environment without settings that a user may have for a router, a cluster or a proxy."""
    proxies = {"http_proxy", "https_proxy", "all_proxy"}
    return {
        name: value for name, value in os.environ.items()
        if not name.startswith(("ROUTER_", "KUBE", "ROUTE_", "STATS_")) and name.lower() not in proxies
        and name not in ("DEFAULT_DESTINATION_CA_PATH", "PROJECT_LABELS", "NAMESPACE_LABELS",
                         "EXTENDED_VALIDATION")
    }
