"""Costs of a router by the number of its Routes, as a table and a plot.

    python -m benchmarks.scale [--routes N]... [--latency MS]... [--nodes M] [--all-certificates] ...

Three of ten Routes are plain, three plain with a path, two edge, one re-encrypt and one passthrough, with
three endpoints each; one in ten has a certificate of its own, or each edge and re-encrypt Route. The fake
BIG-IP, the router that loads it and the one that starts anew are processes of their own, so that CPU and
memory are each one's. Calls and bytes are exact; seconds are of this machine.
"""

import json
import multiprocessing
import resource
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import tabulate
from urllib3 import HTTPConnectionPool

from benchmarks.cluster import MIXED, PORTS, SECURED
from benchmarks.device import Fake, bigip_process
from f5router.app import wiring
from f5router.app.timing import DEFAULT
from f5router.cli import collector
from f5router.config import config
from f5router.desired.engine import Engine
from f5router.icontrol import generations
from f5router.model.cluster import (
    ClusterNetwork,
    Delta,
    EndpointSlice,
    HostSubnet,
    Key,
    Node,
    Route,
    RouteTLS,
)
from f5router.reconcile.drift import DriftCheck
from f5router.reconcile.reading_pace import ReadingPace
from f5router.reconcile.reconciler import Reconciler
from tests.builders import identity

OWN = 6
"""Digit of the Routes with a certificate of their own."""
REPEATED = 20
"""How often an event is measured; the table has the median."""
HEADERS = ("case", "Routes", "ms per call", "writes", "reads", "kB", "seconds", "router CPU s", "router MiB")
NETWORK = {"f5-internal-address": "10.3.89.213", "f5-vxlan-gateway-cidr": "10.131.0.5/14"}

MEMORY = "MiB of the router at most"
Figures = dict[str, Any]


def route(number: int, *, changed: bool = False, tls: dict[str, str] | None = None) -> Route:
    """Args: changed: it asks for another policy. tls: its certificate."""
    kind = MIXED[number % 10]
    key = Key(f"ns{number // 10}", f"route{number}")
    secured = RouteTLS(kind, "None" if changed else "Redirect", **(tls or {}))
    return Route(
        key, uid=f"uid{number}", created="2026-01-01T00:00:00Z", host=f"h{number}.example.com",
        path=("/other" if changed else "/shop") if kind == "path" else "",
        service=f"svc{number}", tls=None if kind in ("", "path") else secured)


def endpoints(number: int, *, last: int = 3) -> dict[Key, EndpointSlice]:
    """Three pods of the Service of a Route."""
    key = Key(f"ns{number // 10}", f"svc{number}-1")
    high, low = number >> 8 & 255, number & 255
    pods = frozenset({f"10.128.{high}.{low}", f"10.129.{high}.{low}", f"10.130.{low}.{last}"})
    return {key: EndpointSlice(key, f"svc{number}", pods, PORTS)}


@dataclass(frozen=True)
class Size:
    """How much a router has to program."""

    routes: int
    nodes: int
    digits: tuple[int, ...]
    """Last digits in the numbers of Routes with a certificate."""


def cluster(size: Size, own: dict[str, str]) -> Delta:
    """Everything that a router knows after its first lists. Args: own: the certificate of Routes."""
    count, nodes = size.routes, size.nodes
    routes = [route(number, tls=own if number % 10 in size.digits else None) for number in range(count)]
    slices = {key: each for number in range(count) for key, each in endpoints(number).items()}
    hosts = {f"node{number}": f"172.16.{number >> 8}.{number & 255}" for number in range(nodes)}
    subnets = [f"10.{128 + (number >> 8)}.{number & 255}.0/24" for number in range(nodes)]
    network = ClusterNetwork(Key("", "default"), ("10.128.0.0/14",))
    return Delta(
        routes={each.key: each for each in routes}, slices=slices,
        nodes={Key("", name): Node(Key("", name), uid=name, internal_ips=(address,))
               for name, address in hosts.items()},
        host_subnets={Key("", name): HostSubnet(Key("", name), address, subnet)
                      for (name, address), subnet in zip(hosts.items(), subnets, strict=True)},
        cluster_networks={network.key: network})


class Router:
    """A router without a Kubernetes API."""

    def __init__(self, stack: ExitStack, fake: Fake, in_flight: int):
        settings = config.load({
            "f5-host": fake.address, "f5-username": fake.username, "f5-password": fake.password,
            "f5-ca-bundle": fake.ca_file, "f5-max-in-flight": str(in_flight),
            "default-destination-ca-path": "none", **NETWORK}, {})
        device = wiring.build_device(settings, stack)
        self._client = device.client
        self._place = generations.Place(settings.folder, (settings.http_virtual, settings.https_virtual))
        self._reconciler = Reconciler(Engine(settings), device, folder=settings.folder, clock=time.monotonic,
                                      facts_first=True)
        self._bytes = 0
        stack.enter_context(self._counted())

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """Count the bytes of bodies, sent and received."""
        send = HTTPConnectionPool.urlopen

        def counting(pool, *arguments, body=None, **options):
            reply = send(pool, *arguments, body=body, **options)
            self._bytes += len(body or b"") + len(reply.data)
            return reply

        HTTPConnectionPool.urlopen = counting
        try:
            yield
        finally:
            HTTPConnectionPool.urlopen = send

    def measure(self, work: Callable[[], object]) -> Figures:
        """Do something, and return what it took."""
        calls, size = self._client.counts.copy(), self._bytes
        cpu, wall = time.process_time(), time.monotonic()
        work()
        spent = self._client.counts - calls
        return {
            "writes": sum(spent[verb] for verb in ("POST", "PATCH", "PUT", "DELETE")), "reads": spent["GET"],
            "bytes": self._bytes - size, "cpu_s": time.process_time() - cpu,
            "wall_s": time.monotonic() - wall}

    def take(self, delta: Delta, *, reading: bool = False) -> Figures:
        """Measure a Delta in portions, as the router does. Args: reading: read the whole device first."""
        return self.measure(lambda: self._program(delta, reading=reading))

    def _program(self, delta: Delta, *, reading: bool) -> None:
        reconciler = self._reconciler
        reconciler.device.stale |= reading
        reconciler.apply(delta)
        full = reconciler.needs_observation()
        if full:
            reconciler.observe()
        while True:
            report = reconciler.run(full=full, most=DEFAULT.load_portion)
            if report.outcome.failed:
                raise RuntimeError(f"writes failed: {report.outcome.failed}")
            due, full = reconciler.next_retry(), False
            if due is None or due > time.monotonic():
                break

    def look_for_drift(self) -> None:
        """Read everything beside the loop, compare it, and report, as is done periodically."""
        read = threading.Event()
        drift = DriftCheck(self._reconciler, wake=read.set, pace=ReadingPace("everything", 0.0))
        drift.begin()
        read.wait()
        while drift.is_active:
            drift.step()
        if drift.found_drift:
            raise RuntimeError("something was not as the router has left it")
        self._program(Delta(), reading=False)

    def look_at_generations(self) -> None:
        """Read names and generations, as is done still more often."""
        generations.read(self._client.for_reading(), self._place, generations.Extent())

    def median(self, deltas: list[Delta]) -> Figures:
        """Measure several events of one sort."""
        figures = [self.take(delta) for delta in deltas]
        return {name: statistics.median(each[name] for each in figures) for name in figures[0]}


def events(router: Router, count: int, own: dict[str, str]) -> Iterator[tuple[str, Figures]]:
    """Measure what happens once all is loaded. Each event leaves the cluster as it was."""
    yield "endpoints of a Service change", router.median(
        [Delta(slices=endpoints(0, last=4 - number % 2)) for number in range(REPEATED)])
    for name, digit, tls in (("plain Route", 0, None), ("Route with a certificate", OWN, own)):
        keys = [count + 10 * number + digit for number in range(1, REPEATED // 4)]
        for number in keys:
            router.take(Delta(slices=endpoints(number)))
        yield f"{name} added", router.median(
            [Delta(routes={each.key: each}) for number in keys for each in [route(number, tls=tls)]])
        if tls:
            yield f"{name} changed", router.median(
                [Delta(routes={each.key: each}) for number in keys
                 for each in [route(number, tls=tls, changed=True)]])
        yield f"{name} deleted", router.median(
            [Delta(routes={route(number).key: None}) for number in keys])
    yield "the device is read, nothing has changed", router.take(Delta(), reading=True)
    yield "drift is looked for, everything is read", router.measure(router.look_for_drift)
    yield "drift is looked for, names and generations", router.measure(router.look_at_generations)


def load(pipe, fake: Fake, size: Size, in_flight: int, own: dict[str, str]) -> None:
    """The process of the first router: the load, and all events."""
    with ExitStack() as stack:
        collector.relieve()  # as the command does
        everything = cluster(size, own)
        router = Router(stack, fake, in_flight)
        steps = {"first load": router.take(everything), **dict(events(router, size.routes, own))}
        pipe.send((steps, _most_mib()))


def restart(pipe, fake: Fake, size: Size, in_flight: int, own: dict[str, str]) -> None:
    """The process of a router that finds everything in place."""
    with ExitStack() as stack:
        collector.relieve()  # as the command does
        everything = cluster(size, own)
        router = Router(stack, fake, in_flight)
        pipe.send(({"restart, nothing has changed": router.take(everything)}, _most_mib()))


def _most_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_a_process(work: Callable[..., None], *arguments: Any) -> Any:
    """Return what a function sends, from a process of its own."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=work, args=(there, *arguments))
    process.start()
    there.close()
    try:
        return here.recv()
    finally:
        process.join()


def measured(size: Size, latency_ms: float, in_flight: int) -> Iterator[Figures]:
    """Yield a row for each case."""
    own = identity("own.example.com").tls
    with bigip_process(call_s=latency_ms / 1000) as fake:
        for work in (load, restart):
            steps, most_mib = in_a_process(work, fake, size, in_flight, own)
            for name, figures in steps.items():
                yield {"case": name, "routes": size.routes, "latency_ms": latency_ms, **figures,
                       "mib": most_mib}


def table(rows: list[Figures]) -> list[tuple]:
    """Return the cells, with the sizes of a case one below the other."""
    cases = list(dict.fromkeys(row["case"] for row in rows))
    return [(row["case"], row["routes"], f"{row['latency_ms']:g}", f"{row['writes']:g}", f"{row['reads']:g}",
             f"{row['bytes'] / 1000:.1f}", f"{row['wall_s']:.3f}", f"{row['cpu_s']:.3f}", f"{row['mib']:.0f}")
            for row in sorted(rows, key=lambda row: cases.index(row["case"]))]


def plot(rows: list[Figures], path: Path) -> None:
    """Draw calls, CPU and memory by the number of Routes."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    charts = (("writes and reads", lambda row: row["writes"] + row["reads"]),
              ("CPU seconds of the router", lambda row: row["cpu_s"]),
              (MEMORY, lambda row: row["mib"]))
    figure, all_axes = pyplot.subplots(1, len(charts), figsize=(15, 5), layout="constrained")
    cases = list(dict.fromkeys(row["case"] for row in rows))
    latency_ms, colors = rows[0]["latency_ms"], pyplot.get_cmap("tab20").colors
    for axes, (title, value) in zip(all_axes, charts, strict=True):
        for case in cases:
            points = [(row["routes"], value(row)) for row in rows
                      if row["case"] == case and row["latency_ms"] == latency_ms]
            if points and (title != MEMORY or case.startswith(("first", "restart"))):
                axes.plot(*zip(*points, strict=True), marker="o", label=case, color=colors[cases.index(case)])
        axes.set(title=title, xlabel="Routes", xscale="log", yscale="linear" if title == MEMORY else "log")
        axes.grid(alpha=0.3)
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(path)


@click.command()
@click.option("--routes", "counts", multiple=True, type=int, default=(100, 1000, 5000, 10000, 20000),
              show_default=True, help="Routes of the cluster.")
@click.option("--latency", "latencies", multiple=True, type=float, default=(0.0, 5.0), show_default=True,
              help="Milliseconds that a call takes besides the fake's own time.")
@click.option("--nodes", default=500, show_default=True, help="Nodes of the cluster.")
@click.option("--all-certificates", is_flag=True,
              help="Give each edge and re-encrypt Route a certificate, not one Route in ten.")
@click.option("--in-flight", default=4, show_default=True, help="--f5-max-in-flight of the router.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="File for the figures.")
@click.option("--plot", "plot_file", type=click.Path(path_type=Path),
              help="File for the plot: SVG or PNG; needs the extra `bench`.")
def main(counts: tuple[int, ...], latencies: tuple[float, ...], nodes: int, in_flight: int,
         json_file: Path | None, plot_file: Path | None, *, all_certificates: bool) -> None:
    """Print what a load, events and a restart cost."""
    rows = []
    for latency_ms in latencies:
        for count in counts:
            size = Size(count, nodes, SECURED if all_certificates else (OWN,))
            rows += measured(size, latency_ms, in_flight)
            click.echo(f"{count} Routes at {latency_ms:g} ms: done", err=True)
    print(tabulate.tabulate(table(rows), headers=HEADERS, tablefmt="github"))
    if json_file is not None:
        json_file.write_text(json.dumps(rows, indent=1) + "\n")
    if plot_file is not None:
        plot(rows, plot_file)


if __name__ == "__main__":
    main()
