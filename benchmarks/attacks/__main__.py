"""python -m benchmarks.attacks kills|faults|api|hostile|soak: exit status 1 when something does not hold."""

import sys
from collections.abc import Callable, Collection

import click

from benchmarks.attacks import api, cluster, faults, hostile, kills, report, soak, workers
from benchmarks.attacks.phases import PHASES
from mocks.demo.processes import Interrupted, interruptible


@click.group()
def main() -> None:
    """Attack a running router between the two fakes; nothing outside of loopback is needed."""


def attack(name: str, points: Callable, *, count: int, ways: Collection[bool] = (False, True)) -> None:
    """A command that meets the router at points. Args: ways: as in workers.run."""

    @main.command(name, help=points.__doc__)
    @click.option("--points", "wanted", default=count, show_default=True)
    @click.option(
        "--phase",
        "phases",
        multiple=True,
        type=click.Choice(tuple(PHASES)),
        help="What goes on meanwhile; may be repeated; all without it.",
    )
    @click.option("--seed", default=1, show_default=True)
    @click.option("--workers", "processes", default=2, show_default=True, help="Points at a time.")
    @click.option("--minutes", default=30.0, show_default=True, help="No point begins after this time.")
    @click.option("--output", type=click.Choice(("table", "json")), default="table", show_default=True)
    def run(
        wanted: int, phases: tuple[str, ...], seed: int, processes: int, minutes: float, output: str
    ) -> None:
        results = workers.run(
            points,
            phases=phases or tuple(PHASES),
            count=wanted,
            seed=seed,
            workers=processes,
            limit_s=60 * minutes,
            ways=ways,
        )
        click.echo(report.as_json(results) if output == "json" else report.table(results))
        sys.exit(any(result.problems for result in results) or len(results) < wanted)


attack("kills", kills.points, count=200)
attack("faults", faults.points, count=225)
attack("api", api.points, count=52, ways=(False,))
attack("hostile", hostile.points, count=20)


@main.command("soak")
@click.option("--minutes", default=30.0, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--ssh", is_flag=True, help="Certificates go over SSH.")
@click.option("--output", type=click.Choice(("table", "json")), default="table", show_default=True)
def run_soak(minutes: float, seed: int, ssh: bool, output: str) -> None:
    """Change Routes, Services, endpoints, Secrets, Nodes and statuses all the time, and go on asking."""
    with interruptible():
        outcome = soak.run(cluster.make_material(), seed=seed, minutes=minutes, ssh=ssh)
    click.echo(report.soak_as_json(outcome) if output == "json" else report.soak_table(outcome))
    sys.exit(bool(outcome.problems))


if __name__ == "__main__":
    try:
        main()
    except Interrupted:
        sys.exit("interrupted; nothing goes on running")
