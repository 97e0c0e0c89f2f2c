"""Points in a few processes at a time, with a line for each as it ends."""

import itertools
import logging
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait

import click

from benchmarks.attacks import api, cluster, drill, faults, hostile, kills
from benchmarks.attacks.cluster import Material
from benchmarks.attacks.drill import Point, Reference, Result
from mocks.demo.processes import interruptible

References = Mapping[tuple[str, bool], Reference]
"""By phase, and whether certificates go over SSH."""
ATTACKS: dict[str, Callable[[drill.Drill], None]] = {
    "kills": kills.attack,
    "faults": faults.attack,
    "api": api.attack,
    "hostile": hostile.attack,
}
PER_PROCESS = 40
"""Points; then a new process, so that what a fake keeps does not add up."""


def run(
    make_points: Callable[[References, int], Iterator[Point]],
    *,
    phases: Sequence[str],
    count: int,
    seed: int,
    workers: int,
    limit_s: float,
) -> list[Result]:
    """Results in order of their end; fewer than count when the time is over.

    Args: phases: names of cluster.PHASES. Raises: AttackError: an undisturbed run is not as it should be.
    """
    begin, material, results = time.monotonic(), cluster.make_material(), []
    with (
        interruptible(),
        ProcessPoolExecutor(
            workers, multiprocessing.get_context("spawn"), _prepare, max_tasks_per_child=PER_PROCESS
        ) as pool,
    ):
        try:
            references = _references(pool, material, phases)
            click.echo(f"undisturbed runs: {len(references)}, {time.monotonic() - begin:.0f} s", err=True)
            served = {place: found for place, found in references.items() if place[0] in phases}
            points = itertools.islice(make_points(served, seed), count)
            waiting: set[Future] = set()
            while time.monotonic() - begin < limit_s or waiting:
                if time.monotonic() - begin < limit_s:
                    for point in itertools.islice(points, workers - len(waiting)):
                        base, wanted = references["load", point.ssh], references[point.phase, point.ssh]
                        waiting.add(pool.submit(_run, point, material, base, wanted))
                if not waiting:
                    break
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    results.append(future.result())
                    _tell(results[-1], len(results), count, time.monotonic() - begin)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in multiprocessing.active_children():
                worker.terminate()
            raise
    return results


def _prepare() -> None:
    """SIGTERM ends the point that is under way as an exception does: with its router."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # of the fake, when a router is killed


def _references(pool: ProcessPoolExecutor, material: Material, phases: Sequence[str]) -> References:
    """Of these phases, and of the first load, from which all of them start."""
    wanted = {
        (phase, ssh): pool.submit(drill.undisturbed, material, phase, ssh)
        for phase in cluster.PHASES
        if phase in phases or phase == "load"
        for ssh in (False, True)
    }
    return {place: future.result() for place, future in wanted.items()}


def _run(point: Point, material: Material, base: Reference, wanted: Reference) -> Result:
    return drill.run(point, material, base, wanted, ATTACKS[point.attack])


def _tell(result: Result, number: int, count: int, elapsed_s: float) -> None:
    held = "holds" if not result.problems else "DOES NOT HOLD"
    reached = "" if result.reached else ", not reached"
    click.echo(
        f"{elapsed_s:5.0f} s  {number}/{count}  {result.point}: {held}{reached}, "
        f"{result.took_s:.1f} s, {result.asked} requests",
        err=True,
    )
    for problem in result.problems:
        click.echo(f"         {problem}", err=True)
