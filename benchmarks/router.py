"""A router as a user runs it: a process of its own, measured from outside."""

import resource
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from benchmarks.waits.remote import Remote
from benchmarks.waits.site import READY_POLL_S, free_address, is_ready
from mocks.demo.processes import clean_environment
from tests.builders import identity

LIMIT_S = 1800.0
POLL_S = 0.05
QUIET_S = 2.0
"""The work is done when router and BIG-IP have taken nearly no CPU for this long,"""
QUIET_SHARE = 0.02
"""less than this part of one core."""


class Router:
    """A process that runs `f5router run`."""

    def __init__(self, process: subprocess.Popen, address: str, device: Remote, log: Path):
        self._process, self._address, self._device, self._log = process, address, device, log
        self.started = time.monotonic()

    def cpu_s(self) -> float:
        """Return the CPU seconds since its start, user and system. Source: clock_getcpuclockid(3), whose
        result for a process is this number."""
        return time.clock_gettime(~self._process.pid << 3 | 2)

    def peak_mib(self) -> float:
        """Return the largest amount of memory that it has had, VmHWM of proc_pid_status(5)."""
        lines = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii").splitlines()
        peak = next(line for line in lines if line.startswith("VmHWM"))
        return int(peak.split()[1]) / 1024

    def wait_ready(self) -> float:
        """Return the seconds from the start until everything was loaded."""
        while not is_ready(self._address):
            self._check()
            time.sleep(READY_POLL_S)
        return time.monotonic() - self.started

    def wait_quiet(self, quiet_s: float = QUIET_S) -> None:
        """Wait until neither the router nor the BIG-IP has anything to do any more."""
        samples: list[float] = []
        window = round(quiet_s / POLL_S)
        while len(samples) <= window or samples[-1] - samples[-window] > QUIET_SHARE * quiet_s:
            self._check()
            time.sleep(POLL_S)
            samples.append(self.cpu_s() + self._device.cpu_s())

    def stop(self) -> float:
        """End it as a pod ends. Returns: CPU seconds of its whole life.

        Raises: ClickException: it did not end well.
        """
        before = _children_cpu_s()
        self._process.terminate()
        if self._process.wait(60):
            raise click.ClickException(f"the router ended with {self._process.returncode}: see {self._log}")
        return _children_cpu_s() - before

    def _check(self) -> None:
        """Raises: ClickException: it has ended, or takes too long."""
        if self._process.poll() is not None:
            raise click.ClickException(f"the router ended with {self._process.returncode}: see {self._log}")
        if time.monotonic() - self.started > LIMIT_S:
            raise click.ClickException("not in time")


def _children_cpu_s() -> float:
    """CPU seconds of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def running(command: Sequence[str], device: Remote, folder: Path, **flags: str) -> Iterator[Router]:
    """Start a router. Args: command: starts the program; folder: has the kubeconfig; flags: more of `run`."""
    where, username, password, ca_file = device.where()
    address, log, authority = free_address(), folder / "router.log", folder / "pods-ca.crt"
    authority.write_text(identity("pods.example.com").issuer)
    given = {
        "config": str(folder / "kubeconfig"), "listen_addr": address, "f5_host": where,
        "f5_username": username, "f5_ca_bundle": ca_file, "default_destination_ca_path": str(authority),
        **flags}
    arguments = [f"--{name.replace('_', '-')}={text}" for name, text in given.items()]
    environment = clean_environment() | {"ROUTER_EXTERNAL_HOST_PASSWORD": password}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package is compiled
    with log.open("a") as text:
        process = subprocess.Popen([*command, "run", *arguments], stdout=text, stderr=text, env=environment)
    try:
        yield Router(process, address, device, log)
    finally:
        process.kill()
        process.wait()
