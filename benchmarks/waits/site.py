"""Both fakes and routers as processes, and what was measured between them."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from benchmarks.waits.fakes import Cluster, Device
from benchmarks.waits.remote import remote
from mocks.demo.processes import clean_environment
from tests import manifests

GIVEN_UP_S = 30.0
START_LIMIT_S = 600.0
STOP_LIMIT_S = 60.0
TENANT = "shop"
"""Namespace of the tenant who waits."""
DIGITS = {"s": 3, "CPU s": 1, "CPU ms": 2}
"""Decimals of each unit."""
POLL_S = 0.02
READY_POLL_S = 0.25
"""Each look at /readyz costs the router CPU."""
OLD = "2025-01-01T00:00:00Z"


@dataclass(frozen=True)
class Settings:
    """Options of the command line."""

    source: str = ""
    """Folder of the checkout whose router is measured; empty for this one."""
    size: float = 1.0
    """Factor of all numbers of objects."""
    tries: int = 0
    """How often each change is tried; 0 as the case says."""
    limit_s: float = 0.0
    """Longest time that a case looks at something; 0 as the case says."""

    def count(self, number: int) -> int:
        """So many objects, by the size."""
        return max(2, round(number * self.size))

    def times(self, number: int) -> int:
        """So many tries."""
        return self.tries or number

    def within(self, seconds: float) -> float:
        """So long."""
        return min(self.limit_s or seconds, seconds)


@dataclass
class Row:
    """Values that were measured, in seconds unless `unit` has another word."""

    case: str
    what: str
    values: list[float] = field(default_factory=list)
    unit: str = "s"
    late: int = 0
    """How many were given up; each counts as long as it was waited for."""

    def add(self, begin: float, at: float | None) -> None:
        """Take the time of a change, None for one that was given up now."""
        self.late += at is None
        self.values.append((time.monotonic() if at is None else at) - begin)

    def cells(self) -> tuple:
        """As they are printed."""
        ranked = sorted(self.values) or [0.0]
        digits = DIGITS.get(self.unit, 0)
        shown = (ranked[len(ranked) // 2], ranked[min(len(ranked) * 95 // 100, len(ranked) - 1)], ranked[-1])
        worst = f"{'> ' if self.late else ''}{shown[-1]:.{digits}f}"
        return (self.case, self.what, len(self.values), *(f"{each:.{digits}f}" for each in shown[:-1]), worst,
                self.unit, self.late, f"{os.getloadavg()[0]:.0f}")


def free_address() -> str:
    """A port of this machine that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return f"127.0.0.1:{free.getsockname()[1]}"


def is_ready(address: str) -> bool:
    """True if a router has loaded everything or, as one that follows, knows cluster and BIG-IP."""
    try:
        with urllib.request.urlopen(f"http://{address}/readyz", timeout=5) as reply:
            return reply.status == 200
    except OSError:
        return False


class Site:
    """The fakes, and as many routers as are started. Args: latency_s: what each call to the BIG-IP takes."""

    def __init__(self, stack: ExitStack, settings: Settings, *, latency_s: float = 0.005,
                 dataplane: bool = False):
        self._stack, self._source = stack, settings.source
        self.folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.cluster = stack.enter_context(remote(Cluster, self.folder / "kubeconfig"))
        self.device = stack.enter_context(remote(Device, latency_s, dataplane=dataplane))
        self._started = 0
        self._changes = 0
        self.cluster.apply(*manifests.service(TENANT, "web", pods=(self.address(),)),
                           manifests.route("web", host="web.shop.test", created=OLD))

    def start(self, **flags: str) -> subprocess.Popen:
        """Start a router, and wait until it is ready. Raises: ClickException: it ended, or is not in time."""
        child, address = self.launch(**flags)
        self.wait(lambda: is_ready(address) or child.poll() is not None, START_LIMIT_S, READY_POLL_S)
        if child.poll() is not None:
            raise click.ClickException(f"the router ended with exit status {child.returncode}\n{self.tail()}")
        return child

    def launch(self, **flags: str) -> tuple[subprocess.Popen, str]:
        """Start a router; returns also where it serves its metrics. It ends with the stack."""
        where, username, password, ca_file = self.device.where()
        address, log = free_address(), self.folder / f"router{self._started}.log"
        self._started += 1
        given = {"f5-host": where, "f5-username": username, "f5-ca-bundle": ca_file, "listen-addr": address,
                 "config": str(self.folder / "kubeconfig"), "default-destination-ca-path": "none",
                 "log-level": "warning"} | {name.replace("_", "-"): value for name, value in flags.items()}
        command = [sys.executable, "-m", "f5router", "run",
                   *(f"--{name}={value}" for name, value in given.items())]
        environment = clean_environment() | {"ROUTER_EXTERNAL_HOST_PASSWORD": password}
        with log.open("wb") as text:
            child = subprocess.Popen(command, cwd=self._source or None, env=environment, stdout=text,
                                     stderr=text)
        self._stack.callback(stop, child)
        return child, address

    def wait(self, condition: Callable[[], object], limit_s: float, poll_s: float = POLL_S) -> None:
        """Raises: ClickException: something does not hold in time; with the end of the first router's log."""
        end = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > end:
                raise click.ClickException(f"not in time\n{self.tail()}")
            time.sleep(poll_s)

    def tail(self) -> str:
        """The end of the first router's log."""
        return (self.folder / "router0.log").read_text(errors="replace")[-2000:]

    # --- the tenant who waits ---------------------------------------------------------------

    def address(self) -> str:
        """That of the tenant's pod, another one after each change."""
        return f"10.77.{self._changes // 250}.{self._changes % 250 + 1}"

    def change(self, row: Row, limit_s: float = GIVEN_UP_S) -> None:
        """Give the tenant's Service another pod, and take the time until its pool has it."""
        self._changes += 1
        begin = self.cluster.apply(manifests.endpoints(TENANT, "web", (self.address(),)))
        row.add(begin, self.device.pool_written(self.address(), limit_s))

    def publish(self, row: Row, name: str, limit_s: float = GIVEN_UP_S) -> None:
        """Make a Route of the tenant, and take the time until its rule is published."""
        self.device.expect(rule(TENANT, name))
        begin = self.cluster.apply(manifests.route(name, host=f"{name}.shop.test"))
        row.add(begin, self.device.seen(rule(TENANT, name), limit_s))


def rule(namespace: str, name: str) -> str:
    """Name of the rule of a Route."""
    return f"openshift_route_{namespace}_{name}"


def mark_of(name: str, kind: str) -> str:
    """Return the name of a Route's rule; for passthrough its Host, as the data group has it."""
    return f"{name}.shop.test" if kind == "passthrough" else rule(TENANT, name)


def stop(child: subprocess.Popen) -> None:
    """End a router, also one that does not."""
    child.terminate()
    try:
        child.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


@contextmanager
def site(settings: Settings, *, latency_s: float = 0.005, dataplane: bool = False) -> Iterator[Site]:
    """The fakes for one case."""
    with ExitStack() as stack:
        yield Site(stack, settings, latency_s=latency_s, dataplane=dataplane)
