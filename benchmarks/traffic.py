"""Requests through the fake BIG-IP's data plane, with N Routes on it: how many a second, at what cost.

    python -m benchmarks.traffic [--routes N] [--seconds S] [--clients C]

The router programs the Routes over REST; the fake and its pods are one process, the clients another.
Seconds are of this machine. The last row goes on while the endpoints of Services change over REST.
"""

import asyncio
import itertools
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import click
import requests
import tabulate

from benchmarks.__main__ import Bench
from benchmarks.cluster import routes, slices
from f5router.model.cluster import EndpointSlice, Key
from f5router.model.delta import Delta
from tests.builders import identity

HEADERS = ("traffic", "requests", "failed", "per s", "median ms", "99 % ms", "fake CPU ms each",
           "connections of clients", "to pods")
PODS = 5
"""Routes that have pods which answer; numbers 0 to 4 are one of each kind."""


@dataclass
class Load:
    """One row. other: a Host that is asked for in turn; fresh: a connection for each request."""

    name: str
    port: str
    host: str
    other: str = ""
    tls: bool = False
    fresh: bool = False
    took_s: list[float] = field(default_factory=list)
    failed: int = 0
    opened: int = 0

    async def run(self, where: tuple[str, int], clients: int, seconds: float) -> None:
        """Ask with several clients until the time is over."""
        end = time.monotonic() + seconds
        await asyncio.gather(*(self._client(where, end) for _ in range(clients)))

    async def _client(self, where: tuple[str, int], end: float) -> None:
        reader = writer = None
        hosts = itertools.cycle([self.host, self.other or self.host])
        while time.monotonic() < end:
            begin = time.monotonic()
            request = f"GET /a HTTP/1.1\r\nHost: {next(hosts)}\r\n\r\n".encode()
            try:
                if writer is None:
                    reader, writer = await self._connect(where)
                writer.write(request)
                head = await reader.readuntil(b"\r\n\r\n")
                if not head.startswith(b"HTTP/1.1 200"):
                    raise ConnectionError
                await reader.readexactly(int(head.lower().partition(b"content-length:")[2].split()[0]))
            except (OSError, asyncio.IncompleteReadError):
                self.failed += 1
                writer = None
                continue
            self.took_s.append(time.monotonic() - begin)
            if self.fresh:
                writer.close()
                writer = None
        if writer is not None:
            writer.close()

    async def _connect(self, where: tuple[str, int]):
        self.opened += 1
        if not self.tls:
            return await asyncio.open_connection(*where)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return await asyncio.open_connection(*where, ssl=context, server_hostname=self.host)

    def row(self, seconds: float, cpu_s: float, accepted: int) -> tuple:
        """As it is printed. Args: accepted: connections that pods took meanwhile."""
        done = len(self.took_s)
        ranked = sorted(self.took_s) or [0.0]
        middle, last = ranked[done // 2], ranked[min(int(done * 0.99), len(ranked) - 1)]
        return (self.name, done, self.failed, f"{done / seconds:.0f}", f"{middle * 1000:.1f}",
                f"{last * 1000:.1f}", f"{cpu_s * 1000 / max(done, 1):.2f}", self.opened, accepted)


LOADS = (
    Load("HTTP, keep-alive", "80", "h0.example.com"),
    Load("HTTP, connection each", "80", "h0.example.com", fresh=True),
    Load("TLS (edge), keep-alive", "443", "h1.example.com", tls=True),
    Load("TLS (edge), connection each", "443", "h1.example.com", tls=True, fresh=True),
    Load("TLS (edge), two Routes in turn", "443", "h1.example.com", other="h2.example.com", tls=True),
    Load("TLS on both sides, keep-alive", "443", "h3.example.com", tls=True),
    Load("passthrough, keep-alive", "443", "h4.example.com", tls=True),
    Load("passthrough, connection each", "443", "h4.example.com", tls=True, fresh=True),
)
CHANGING = Load("TLS (edge), keep-alive, under changes", "443", "h1.example.com", tls=True)


def own_slices() -> dict[Key, EndpointSlice]:
    """Endpoints of the first Routes that no other Route has."""
    changed = {}
    for number, (key, each) in enumerate(slices(PODS).items()):
        changed[key] = replace(each, addresses=frozenset({f"10.99.{number}.1", f"10.99.{number}.2"}))
    return changed


def moving_slices(number: int) -> dict[Key, EndpointSlice]:
    """Endpoints of other Routes, others each time."""
    changed = slices(PODS + 20, suffix=f".{100 + number % 100}")
    return dict(list(changed.items())[PODS:])


def start_pods(control: str) -> None:
    """The stand-ins of the first Routes."""
    pair = identity("pod.example.com")
    for number, each in enumerate(own_slices().values()):
        for address in each.addresses:
            body = {"certificate": pair.certificate, "key": pair.key} if number in (3, 4) else {}
            requests.put(f"{control}/pods/{address}/8080", json=body, timeout=10).raise_for_status()


def accepted(control: str) -> int:
    """Connections that the stand-ins took so far."""
    return sum(pod["accepted"] for pod in requests.get(f"{control}/pods", timeout=10).json())


def endpoints(control: str) -> dict[str, tuple[str, int]]:
    """Local address of the virtual server, by its port."""
    listeners = requests.get(f"{control}/listeners", timeout=10).json()
    split = {name.rpartition(":")[2]: where.rpartition(":") for name, where in listeners.items()}
    return {port: (host, int(number)) for port, (host, _, number) in split.items()}


def during(work: Callable[[int], object]) -> Callable[[], int]:
    """Do something over and over in a thread; call what is returned to stop, for the number of times."""
    stop, count = threading.Event(), 0

    def run() -> None:
        nonlocal count
        while not stop.is_set():
            work(count)
            count += 1

    thread = threading.Thread(target=run)
    thread.start()

    def end() -> int:
        stop.set()
        thread.join()
        return count

    return end


@click.command()
@click.option("--routes", "count", default=5000, show_default=True, help="Routes of the cluster.")
@click.option("--seconds", default=3.0, show_default=True, help="Length of each row.")
@click.option("--clients", default=8, show_default=True, help="Connections at once.")
def main(count: int, seconds: float, clients: int) -> None:
    """Print what the data plane serves."""
    rows = []
    with ExitStack() as stack:
        bench = Bench(stack, 4, dataplane=True)
        start_pods(bench.fake.control)
        with bench.step("load") as step:
            bench.run(Delta(routes=routes(count), slices=slices(count) | own_slices()))
        where = endpoints(bench.fake.control)

        def measure(load: Load) -> None:
            known = accepted(bench.fake.control)
            before, begin = bench.fake.cpu_s(), time.monotonic()
            asyncio.run(load.run(where[load.port], clients, seconds))
            took_s, cpu_s = time.monotonic() - begin, bench.fake.cpu_s() - before
            rows.append(load.row(took_s, cpu_s, accepted(bench.fake.control) - known))

        for load in LOADS:
            measure(load)
        stop = during(lambda number: bench.run(Delta(slices=moving_slices(number))))
        measure(CHANGING)
        changes = stop()
        errors = requests.get(f"{bench.fake.control}/errors", timeout=10).json()
    print(tabulate.tabulate(rows, headers=HEADERS, tablefmt="plain", colalign=("left",) + ("right",) * 8))
    per_call = step.fake_cpu_s / (step.writes + step.reads)
    print(f"\nload of {count} Routes with the data plane on: {step.wall_s:.1f} s, "
          f"{per_call * 1000:.2f} ms fake CPU per REST call")
    print(f"changes of 20 Services' endpoints during the last row: {changes}")
    print(f"errors of the data plane: {errors or 'none'}")


if __name__ == "__main__":
    main()
