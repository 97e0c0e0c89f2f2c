"""Measure how long changes wait, each case with fakes and a router of its own, as processes.

    python -m benchmarks.waits [CASE]... [--router FOLDER] [--size F] [--tries N] [--limit S] [--json FILE]

Without a case all of them are measured, for about half an hour on two cores. Seconds are of this machine:
measure two checkouts in turn, with --router, to compare them. A change that was given up counts as long as
it was waited for.
"""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path

import click
import tabulate

from benchmarks.waits import edge, failures, leader, repair, tenants, whole
from benchmarks.waits.site import Row, Settings

HEADERS = ("case", "what", "tries", "median", "95 %", "worst", "unit", "given up", "load")
CASES: dict[str, Callable[[Settings], Iterator[Row]]] = {
    "edge": edge.leading,
    "endpoints": tenants.endpoints,
    "routes": tenants.new_routes,
    "refused": failures.refused,
    "certificates": failures.certificates,
    "hung": failures.hung,
    "repair": repair.repaired,
    "leader": leader.leader,
    "whole": whole.whole,
}


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(list(CASES)), metavar="[CASE]...")
@click.option("--router", "source", default="", help="Folder of another checkout, whose router is measured.")
@click.option("--size", default=1.0, show_default=True, help="Factor of all numbers of objects.")
@click.option("--tries", default=0, help="How often each change is tried; 0 as the case says.")
@click.option("--limit", "limit_s", default=0.0, help="Seconds that a case looks at something; 0 as it says.")
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="File for the figures.")
def main(names: tuple[str, ...], source: str, size: float, tries: int, limit_s: float,
         json_file: Path | None) -> None:
    """Print how long changes wait, in each CASE or in all."""
    settings = Settings(source, size, tries, limit_s)
    rows, cells = [], []
    for name in names or CASES:
        begin = time.monotonic()
        for row in CASES[name](settings):
            rows.append(row)
            cells.append(row.cells())
            click.echo("  ".join(map(str, cells[-1])), err=True)
        click.echo(f"{name}: {time.monotonic() - begin:.0f} s", err=True)
    print(tabulate.tabulate(cells, headers=HEADERS, tablefmt="github", disable_numparse=True))
    if json_file is not None:
        json_file.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
