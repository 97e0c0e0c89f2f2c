"""Costs of writing the statuses of N Routes, and of an event meanwhile.

    python -m benchmarks.statuses [--routes N] [--seconds S]

The fake API server and the fake BIG-IP are processes of their own. Seconds are of this machine, requests
are not.
"""

import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import tabulate

from benchmarks.__main__ import Bench
from benchmarks.cluster import routes, slices
from f5router.app.wiring import STATUS_WORKERS
from f5router.kube.api.connection import connect
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.settings import KubeSettings, StatusSettings, WatchSettings
from f5router.kube.status.status_writer import StatusWriter
from f5router.model.cluster import Delta, Key
from f5router.status import condition
from f5router.status.condition import Verdict

HEADERS = ("step", "seconds", "statuses written", "router CPU s")
USUAL, FAST = 100, 2000
"""Most writes per second: the default, and more than there can be."""
EVENTS = 20


@dataclass
class Row:
    """One line of the table."""

    step: str
    seconds: float
    written: int = 0
    cpu_s: float = 0.0

    def cells(self) -> tuple:
        return self.step, f"{self.seconds:.3f}", self.written, f"{self.cpu_s:.3f}"


def serve(pipe, count: int) -> None:
    """The body of the API server's process: its kubeconfig goes out, a word comes in at the end."""
    from mocks.kube import FakeKube
    from tests import manifests

    with FakeKube(history=3 * count) as kube, tempfile.TemporaryDirectory() as folder:
        for key, route in routes(count).items():
            kube.apply(manifests.route(key.name, namespace=key.namespace, host=route.host))
        path = Path(folder) / "kubeconfig"
        kube.write_kubeconfig(path)
        pipe.send(str(path))
        pipe.recv()


@contextmanager
def api_server(count: int) -> Iterator[str]:
    """Path of a kubeconfig for a fake with so many Routes."""
    here, there = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(there, count))
    process.start()
    try:
        yield here.recv()
    finally:
        here.send("stop")
        process.join(10)


class Statuses:
    """The writer of a router on the fake, with everything that it needs."""

    def __init__(self, stack: ExitStack, kubeconfig: str, rate_per_s: float, name: str = "public"):
        connection = connect(KubeSettings(kubeconfig=kubeconfig))
        self.cluster = ClusterWatcher(connection, WatchSettings(), on_change=lambda: None)
        self.writer = StatusWriter(
            connection, self.cluster, StatusSettings(router_name=name, rate_per_s=rate_per_s),
            workers=STATUS_WORKERS)
        self.cluster.watch_routes(self.writer.route_updated)
        stack.callback(self.cluster.stop)
        stack.callback(self.writer.stop)
        self.cluster.start()
        self.cluster.wait_synced(60)
        self.routes = self.cluster.drain().routes

    def ask(self, verdict: Verdict, *, only_new: bool = False) -> None:
        """Do what the thread that makes the passes does for all Routes."""
        submit = self.writer.submit_new if only_new else self.writer.submit
        for key, route in self.routes.items():
            submit(key, route.uid, verdict, route.host)

    @contextmanager
    def measured(self, rows: list[Row], step: str) -> Iterator[None]:
        """A row about what happens inside."""
        begin, cpu, written = time.monotonic(), time.process_time(), self.writer.counts["written"]
        yield
        rows.append(Row(step, time.monotonic() - begin, self.writer.counts["written"] - written,
                        time.process_time() - cpu))


def latency(bench: Bench, start: int) -> float:
    """Seconds from an endpoint event to the confirmed write, the mean of several."""
    begin = time.monotonic()
    for number in range(EVENTS):
        report = bench.run(Delta(slices=slices(1, suffix=f".{start + number}")))
        assert len(report.outcome.done) == 1
    return (time.monotonic() - begin) / EVENTS


def writing(rows: list[Row], stack: ExitStack, kubeconfig: str, seconds: float, bench: Bench) -> None:
    """A first load of statuses, at both rates; events meanwhile."""
    rows.append(Row("an endpoint event while no status is written", latency(bench, 10)))
    for rate, name in ((USUAL, "usual"), (FAST, "fast")):
        statuses = Statuses(stack, kubeconfig, rate, name)
        title = f"asking for {len(statuses.routes)} statuses, by the thread of the passes"
        with statuses.measured(rows, title):
            statuses.ask(Verdict(True))
        rows.append(Row(f"an endpoint event at {rate}/s", latency(bench, 40 if rate == USUAL else 80)))
        with statuses.measured(rows, f"writing at {rate}/s, for a while"):
            statuses.writer.flush(seconds if rate == USUAL else 600)
        if rate == USUAL:
            statuses.writer.stop()


def nothing_to_write(rows: list[Row], stack: ExitStack, kubeconfig: str) -> None:
    """A full pass, a restart, and passes that fail."""
    statuses = Statuses(stack, kubeconfig, USUAL, "fast")
    with statuses.measured(rows, "a restart: all statuses are right"):
        statuses.ask(Verdict(True))
        statuses.writer.flush(600)
    with statuses.measured(rows, "a pass that fails: which Routes are new?"):
        statuses.ask(condition.PENDING, only_new=True)
        statuses.writer.flush(600)


@click.command()
@click.option("--routes", "count", default=10000, show_default=True, help="Routes of the cluster.")
@click.option("--seconds", default=20.0, show_default=True, help="How long to watch the usual rate.")
def main(count: int, seconds: float) -> None:
    """Print what statuses cost."""
    rows: list[Row] = []
    with ExitStack() as stack:
        kubeconfig = stack.enter_context(api_server(count))
        bench = Bench(stack, 4)
        key = Key("ns0", "route0")
        bench.run(Delta(routes={key: routes(1)[key]}, slices=slices(1)))
        writing(rows, stack, kubeconfig, seconds, bench)
        nothing_to_write(rows, stack, kubeconfig)
    print(tabulate.tabulate([row.cells() for row in rows], headers=HEADERS, tablefmt="plain",
                            colalign=("left", "right", "right", "right")))
    print(f"\n{count} statuses at the usual {USUAL}/s: {count / USUAL:.0f} s")


if __name__ == "__main__":
    main()
