"""Points in a few processes at a time, each in one of its own, with a line for each as it ends."""

import itertools
import logging
import multiprocessing
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import NoReturn

import click

from benchmarks.attacks import api, cluster, drill, faults, hostile, kills
from benchmarks.attacks.cluster import Material
from benchmarks.attacks.drill import Point, Reference, Result
from benchmarks.attacks.phases import PHASES
from benchmarks.attacks.site import STOP_S, AttackError
from mocks.demo.processes import interruptible

References = Mapping[tuple[str, bool], Reference]
"""By phase, and whether certificates go over SSH."""
ATTACKS: dict[str, Callable[[drill.Drill], None]] = {
    "kills": kills.attack,
    "faults": faults.attack,
    "api": api.attack,
    "hostile": hostile.attack,
}


class Workers:
    """Calls in processes, so many at a time; a context manager that leaves no process behind."""

    def __init__(self, most: int):
        self._most = most
        self._running: dict[Connection, BaseProcess] = {}

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exc_info: object) -> None:
        for process in self._running.values():
            process.terminate()
        for process in self._running.values():
            process.join(STOP_S)
            process.kill()
            process.join()

    @property
    def free(self) -> int:
        return self._most - len(self._running)

    def begin(self, call: Callable, *arguments: object) -> None:
        """Call it in a new process."""
        here, there = multiprocessing.Pipe(duplex=False)
        # All start from one process that has no thread and has loaded this module: a second less for each.
        server = multiprocessing.get_context("forkserver")
        server.set_forkserver_preload([__name__])
        process = server.Process(target=_work, args=(there, call, arguments))
        process.start()
        there.close()
        self._running[here] = process

    def results(self) -> Iterator[object]:
        """Yield the results of calls that have ended, at least of one.

        Raises: AttackError: a process ended without one.
        """
        for connection in wait(list(self._running)):
            try:
                result = connection.recv()
            except EOFError:
                raise AttackError("a worker ended without a result") from None
            self._running.pop(connection).join()
            connection.close()
            if isinstance(result, AttackError):
                raise result
            yield result


def _work(connection: Connection, call: Callable, arguments: Sequence) -> None:
    """SIGTERM ends a call as an exception does: with its router."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _end)
    logging.getLogger("paramiko").setLevel(logging.CRITICAL)  # of the fake, when a router is killed
    try:
        result = call(*arguments)
    except AttackError as error:
        result = error
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    connection.send(result)


def _end(*_: object) -> NoReturn:
    """Once: cleaning up is not interrupted."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(1)


def run(
    make_points: Callable[[References, int], Iterator[Point]],
    *,
    phases: Collection[str],
    count: int,
    seed: int,
    workers: int,
    limit_s: float,
    ways: Collection[bool] = (False, True),
) -> list[Result]:
    """Results in order of their end; fewer than count when the time is over.

    Args: phases: names of PHASES. ways: for which references are made: whether
    certificates go over SSH. Raises: AttackError: an undisturbed run is not as it should be.
    """
    begin, material, results = time.monotonic(), cluster.make_material(), []
    with interruptible(), Workers(workers) as pool:
        references = _references(pool, material, phases, ways)
        click.echo(f"undisturbed runs: {len(references)}, {time.monotonic() - begin:.0f} s", err=True)
        served = {place: reference for place, reference in references.items() if place[0] in phases}
        points = itertools.islice(make_points(served, seed), count)
        while True:
            if time.monotonic() - begin < limit_s:
                for point in itertools.islice(points, pool.free):
                    base, wanted = references["load", point.ssh], references[point.phase, point.ssh]
                    pool.begin(_point, point, material, base, wanted)
            if pool.free == workers:
                return results
            for result in pool.results():
                results.append(result)
                _tell(result, len(results), count, time.monotonic() - begin)


def _references(
    pool: Workers, material: Material, phases: Collection[str], ways: Collection[bool]
) -> References:
    """Make the references of these phases, and of the first load, from which all start."""
    chosen = [phase for phase in PHASES if phase in phases or phase == "load"]
    places = [(phase, ssh) for phase in chosen for ssh in ways]
    waiting, results = iter(places), {}
    while len(results) < len(places):
        for place in itertools.islice(waiting, pool.free):
            pool.begin(_reference, place, material)
        results.update(pool.results())
    return results


def _reference(place: tuple[str, bool], material: Material) -> tuple[tuple[str, bool], Reference]:
    return place, drill.undisturbed(material, *place)


def _point(point: Point, material: Material, base: Reference, wanted: Reference) -> Result:
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
