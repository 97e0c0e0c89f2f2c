"""Costs of a router by the number of its Routes, as a table and a plot.

    python -m benchmarks.scale [--routes N]... [--certificates N] [--latency MS]... [--router COMMAND]... ...

The router runs as a user runs it, `f5router run` in a process of its own, between a fake API server and a
fake BIG-IP in others, and is measured from outside: CPU by the clock of its process, memory by its peak. Each
step ends when the router has nothing more to do, statuses included, a restart with the end of the process.
The seconds of a start end when it is ready, those of an event with the last write. Calls are exact; CPU and
seconds are of this machine, so give the commands of two versions to compare them. For a quick run:
--routes 500 --nodes 20 --events 3.
"""

import json
import shlex
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import tabulate

from benchmarks import mixed
from benchmarks.cluster import SECURED
from benchmarks.mixed import OWN, Size
from benchmarks.router import Router, running
from benchmarks.waits.fakes import Cluster, Device
from benchmarks.waits.remote import Remote, remote

HEADERS = ("case", "router", "Routes", "ms per call", "writes", "reads", "statuses", "seconds", "CPU s",
           "CPU ms per write", "MiB at most")
NETWORK = {"f5_internal_address": mixed.BIGIP, "f5_vxlan_gateway_cidr": "10.131.0.5/14"}
LOAD, RESTART = "first load", "restart, nothing has changed"
MEMORY = "MiB of the router at most"
DIGITS: dict[int, tuple[int, ...]] = {0: (), 1: (OWN,), 3: SECURED}
"""Last digits of the Routes with a certificate, by how many of ten have one."""
EVENT_QUIET_S = 0.6
Figures = dict[str, Any]


@dataclass(frozen=True)
class Site:
    """Both fakes and how a router is started between them."""

    command: str
    size: Size
    latency_ms: float
    flags: dict[str, str]
    cluster: Remote
    device: Remote
    folder: Path

    @contextmanager
    def router(self) -> Iterator[Router]:
        """Start a router."""
        self._counts()
        with running(shlex.split(self.command), self.device, self.folder, **self.flags) as router:
            yield router

    def started(self, router: Router, case: str) -> Figures:
        """Measure a router from its start on."""
        ready_s = router.wait_ready()
        router.wait_quiet()
        return self._row(case, router, ready_s, router.cpu_s())

    def event(self, router: Router, case: str, happen: list[Callable[[], float]]) -> Figures:
        """Measure events of one sort, one after the other; the medians are returned."""
        rows = []
        for each in happen:
            self._counts()
            cpu_s, at = router.cpu_s(), each()
            router.wait_quiet(EVENT_QUIET_S)
            rows.append(self._row(case, router, self.device.last_write() - at, router.cpu_s() - cpu_s))
        measured = ("writes", "reads", "statuses", "seconds", "cpu_s")
        return rows[-1] | {name: statistics.median(row[name] for row in rows) for name in measured}

    def _counts(self) -> dict[str, int]:
        """Count the requests to the fakes since the last call."""
        verbs = self.device.calls()
        return {"reads": verbs.pop("GET", 0), "writes": sum(verbs.values()),
                "statuses": self.cluster.statuses()}

    def _row(self, case: str, router: Router, seconds: float, cpu_s: float) -> Figures:
        return {"case": case, "router": self.command, "routes": self.size.routes,
                "latency_ms": self.latency_ms, "seconds": seconds, "cpu_s": cpu_s, "mib": router.peak_mib(),
                **self._counts()}


def events(site: Site, router: Router, count: int) -> Iterator[Figures]:
    """Measure what happens once all is loaded. Each event leaves the cluster as it was."""
    cluster, size = site.cluster, site.size
    if not count:
        return
    yield site.event(router, "endpoints of a Service change", [
        lambda last=last: cluster.apply(mixed.service(0, size.nodes, last=last)[1])
        for last in range(1, count + 1)])
    for name, digit in (("plain Route", 0), ("Route with a certificate", OWN)):
        secured, numbers = digit == OWN, [size.routes + 10 * each + digit for each in range(count)]
        for number in numbers:
            cluster.apply(*mixed.service(number, size.nodes))
        router.wait_quiet()

        def put(number: int, secured: bool = secured, **how: bool) -> float:
            return cluster.apply(mixed.route(number, secured=secured, **how))

        yield site.event(router, f"{name} added", [lambda each=each: put(each) for each in numbers])
        if secured:
            yield site.event(router, f"{name} changed",
                             [lambda each=each: put(each, changed=True) for each in numbers])
        yield site.event(router, f"{name} deleted", [
            lambda each=each: cluster.delete("Route", mixed.namespace(each), f"route{each}")
            for each in numbers])


def measured(commands: tuple[str, ...], size: Size, latency_ms: float, flags: dict[str, str],
             count: int) -> Iterator[Figures]:
    """Yield a row for each case. Args: count: events of each sort."""
    for command in commands:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            cluster = stack.enter_context(remote(Cluster, folder / "kubeconfig"))
            cluster.fill(mixed.objects, size)
            device = stack.enter_context(remote(Device, latency_ms / 1000))
            site = Site(command, size, latency_ms, flags, cluster, device, folder)
            with site.router() as router:
                yield site.started(router, LOAD)
                yield from events(site, router, count)
                router.stop()
            with site.router() as router:
                yield site.started(router, RESTART) | {"cpu_s": router.stop()}


def table(rows: list[Figures]) -> list[tuple]:
    """Return the cells, with the sizes of a case one below the other."""
    cases = list(dict.fromkeys(row["case"] for row in rows))
    return [(row["case"], row["router"], row["routes"], f"{row['latency_ms']:g}", f"{row['writes']:g}",
             f"{row['reads']:g}", f"{row['statuses']:g}", f"{row['seconds']:.2f}", f"{row['cpu_s']:.3f}",
             f"{row['cpu_s'] * 1000 / row['writes']:.2f}" if row["case"] == LOAD else "",
             f"{row['mib']:.0f}")
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
            if points and (title != MEMORY or case in (LOAD, RESTART)):
                axes.plot(*zip(*points, strict=True), marker="o", label=case, color=colors[cases.index(case)])
        axes.set(title=title, xlabel="Routes", xscale="log", yscale="linear" if title == MEMORY else "log")
        axes.grid(alpha=0.3)
    figure.legend(*all_axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    figure.savefig(path)


@click.command()
@click.option("--routes", "counts", multiple=True, type=int, default=(100, 1000, 5000, 10000),
              show_default=True, help="Routes of the cluster.")
@click.option("--latency", "latencies", multiple=True, type=float, default=(0.0,), show_default=True,
              help="Milliseconds that a call takes besides the fake's own time.")
@click.option("--nodes", default=500, show_default=True, type=click.IntRange(1),
              help="Nodes of the cluster.")
@click.option("--certificates", type=click.Choice(list(map(str, DIGITS))), default="3", show_default=True,
              help="How many of ten Routes bring a certificate.")
@click.option("--events", "count", default=10, show_default=True, help="Events of each sort; 0 for none.")
@click.option("--statuses/--no-statuses", default=True, show_default=True,
              help="Let the router write statuses, a thousand in a second.")
@click.option("--router", "commands", multiple=True, default=(f"{sys.executable} -m f5router",),
              help="Command that starts the router; several, of different versions, are compared.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="File for the figures.")
@click.option("--plot", "plot_file", type=click.Path(path_type=Path),
              help="File for the plot: SVG or PNG; needs the extra `bench`.")
def main(counts: tuple[int, ...], latencies: tuple[float, ...], nodes: int, certificates: str, count: int,
         commands: tuple[str, ...], json_file: Path | None, plot_file: Path | None, *,
         statuses: bool) -> None:
    """Print what a load, events and a restart cost."""
    rows: list[Figures] = []
    written = {"status_rate": "1000"} if statuses else {"update_status": "false"}
    for latency_ms in latencies:
        for routes in counts:
            size = Size(routes, nodes, DIGITS[int(certificates)])
            rows += measured(commands, size, latency_ms, NETWORK | written, count)
            click.echo(f"{routes} Routes at {latency_ms:g} ms: done", err=True)
    print(tabulate.tabulate(table(rows), headers=HEADERS, tablefmt="github"))
    if json_file is not None:
        json_file.write_text(json.dumps(rows, indent=1) + "\n")
    if plot_file is not None:
        plot(rows, plot_file)


if __name__ == "__main__":
    main()
