"""python -m tests.chaos --seeds N: exit status 1 when something does not hold."""

import logging
import multiprocessing
import sys
import time
from collections.abc import Iterator

import click

from f5router.logs.progress import Fields, Figures, Progress, counted
from tests.chaos.run import Result, quiet, run

PERIOD_S = 30.0
"""Time between two lines where there is no terminal for a bar."""


@click.command()
@click.option("--seeds", default=100, show_default=True, help="How many.")
@click.option("--seed", "first", default=1, show_default=True, help="The first one.")
@click.option("--jobs", default=1, show_default=True, help="Processes.")
@click.option("--log", is_flag=True, help="Show the router's log.")
def main(seeds: int, first: int, jobs: int, log: bool) -> None:
    """Meet the router with random faults, and compare the device with what it should be."""
    logging.basicConfig(level=logging.INFO if log else logging.CRITICAL, stream=sys.stdout)
    begin, results = time.monotonic(), list[Result]()
    with Progress("seeds", _show, period_s=PERIOD_S) as progress:
        for result in _results(range(first, first + seeds), jobs):
            results.append(result)
            if result.problems:
                click.echo(str(result))
            progress.update(lambda: Figures(len(results), seeds, {
                "seeds": counted(len(results), seeds), "failed": sum(bool(r.problems) for r in results)}))
    click.echo(_summary(results, time.monotonic() - begin))
    sys.exit(any(result.problems for result in results))


def _show(fields: Fields) -> None:
    click.echo("  " + ", ".join(f"{value} {name}" for name, value in fields.items()))


def _results(seeds: range, jobs: int) -> Iterator[Result]:
    if jobs == 1:
        yield from map(run, seeds)
        return
    with multiprocessing.get_context("spawn").Pool(jobs, initializer=quiet) as pool:
        yield from pool.imap_unordered(run, seeds)


def _summary(results: list[Result], seconds: float) -> str:
    failed = sorted(result.seed for result in results if result.problems)
    return (f"{len(results)} seeds, {len(failed)} failed {failed or ''}; {seconds:.0f} s, "
            f"CPU {sum(result.cpu_s for result in results):.0f} s; calls {sum(r.calls for r in results)}, "
            f"writes {sum(r.writes for r in results)}, faults {sum(r.faults for r in results)}")


if __name__ == "__main__":
    main()
