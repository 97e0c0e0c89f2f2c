"""Load N Routes onto the fake BIG-IP and print what each step costs.

    python -m benchmarks [--routes N] [--in-flight M]

Counts are exact and comparable between machines; seconds are of this machine, so only their ratios
say something. The fake's own CPU is printed beside the router's.
"""

import logging
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click
import tabulate

from benchmarks.cluster import events, routes, slices
from benchmarks.device import bigip_process
from f5router.app import wiring
from f5router.config import config
from f5router.desired.engine import Engine
from f5router.model.delta import Delta
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.report import Report, combined

HEADERS = ("step", "writes", "reads", "router CPU s", "wall s", "fake CPU s")


@dataclass
class Step:
    """One row of the table."""

    name: str
    writes: int = 0
    reads: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0
    fake_cpu_s: float = 0.0

    def row(self) -> tuple:
        """As it is printed."""
        return (self.name, self.writes, self.reads, f"{self.cpu_s:.3f}", f"{self.wall_s:.3f}",
                f"{self.fake_cpu_s:.3f}")


class Bench:
    """A router without a Kubernetes API, and a fake BIG-IP in a process of its own."""

    def __init__(self, stack: ExitStack, in_flight: int, *, dataplane: bool = False):
        self._stack = stack
        self.fake = stack.enter_context(bigip_process(dataplane=dataplane))
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self._in_flight = in_flight
        self.steps: list[Step] = []
        self.client = None
        self.reconciler = self.start()

    def start(self) -> Reconciler:
        """A router that knows nothing yet, as after a restart."""
        fake = self.fake
        settings = config.load({
            "f5-host": fake.address, "f5-username": fake.username, "f5-password": fake.password,
            "f5-ca-bundle": fake.ca_file, "f5-max-in-flight": str(self._in_flight),
            "default-destination-ca-path": "none",
        }, {})
        device = wiring.build_device(settings, self._stack)
        self.client = device.client
        return Reconciler(Engine(settings), device, folder=settings.folder, clock=time.monotonic)

    def run(self, delta: Delta) -> Report:
        """Write what an event calls for, as the running router does."""
        reports: list[Report] = []
        self.reconciler.on_report = reports.append
        self.reconciler.apply(delta)
        self.reconciler.run_until_idle()
        return combined(reports)

    @contextmanager
    def step(self, name: str) -> Iterator[Step]:
        """Measure what happens inside."""
        step = Step(name)
        counts, fake = Counter(self.client.counts), self.fake.cpu_s()
        cpu, wall = time.process_time(), time.monotonic()
        yield step
        step.cpu_s, step.wall_s = time.process_time() - cpu, time.monotonic() - wall
        step.fake_cpu_s = self.fake.cpu_s() - fake
        spent = Counter(self.client.counts) - counts
        step.reads = spent["GET"]
        step.writes = sum(count for verb, count in spent.items() if verb in ("POST", "PATCH", "DELETE"))
        self.steps.append(step)


def first_write(bench: Bench, delta: Delta) -> float:
    """CPU seconds from an event to the moment its plan is ready to be sent."""
    begin = time.process_time()
    bench.reconciler.apply(delta)
    bench.reconciler.rollouts.plan()
    return time.process_time() - begin


@click.command()
@click.option("--routes", "count", default=5000, show_default=True, help="Routes of the cluster.")
@click.option("--in-flight", default=4, show_default=True, help="--f5-max-in-flight of the router.")
def main(count: int, in_flight: int) -> None:
    """Print what a load, events and a restart cost."""
    logging.basicConfig(level=logging.WARNING)
    with ExitStack() as stack:
        bench = Bench(stack, in_flight)
        everything = Delta(routes=routes(count), slices=slices(count))
        with bench.step(f"initial load of {count} Routes"):
            bench.run(everything)
        objects = Counter(ref.kind for ref in bench.reconciler.device.observed)
        for name, delta in events(count):
            with bench.step(name):
                bench.run(delta)
        with bench.step("settling: LTM nodes removed, configuration saved"):
            while bench.reconciler.device.orphans:
                bench.reconciler.device.remove_orphans(100)
            bench.reconciler.device.save()
        plain = min(first_write(bench, delta) for delta in endpoint_events(count))
        bench.run(Delta(slices=slices(1)))  # as at the load again
        with bench.step("reading the device, nothing changed"):
            bench.reconciler.must_read("of the test")
            bench.run(Delta())
        bench.reconciler = bench.start()
        with bench.step("restart, nothing changed"):
            bench.run(everything)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(tabulate.tabulate([step.row() for step in bench.steps], headers=HEADERS, tablefmt="plain",
                            colalign=("left",) + ("right",) * 5))
    print()
    kinds = sorted(objects.items())
    print(tabulate.tabulate(kinds, headers=("objects on the BIG-IP", "count"), tablefmt="plain"))
    load = bench.steps[0]
    per_call = load.fake_cpu_s / (load.writes + load.reads)
    print(f"\nCPU from one endpoint event to its REST call: {plain * 1000:.2f} ms at {count} Routes")
    print(f"fake: {per_call * 1000:.2f} ms CPU per REST call; router: {memory:.0f} MiB at most")


def endpoint_events(count: int) -> Iterator[Delta]:
    """Twenty changes of one Service's endpoints."""
    for number in range(20):
        yield Delta(slices=slices(1, suffix=f".{number + 1}"))


if __name__ == "__main__":
    main()
