"""Report of an attack, for people and for programs."""

import dataclasses
import json
from collections.abc import Sequence

import tabulate

from benchmarks.attacks.drill import Result
from benchmarks.attacks.soak import Report

HEADERS = (
    "attack",
    "points",
    "held",
    "not held",
    "not reached",
    "requests",
    "wrong",
    "failed",
    "LTM nodes left",
    "longest s",
    "recovery s, median",
    "most",
)


def table(results: Sequence[Result]) -> str:
    """A row for each kind and phase, and their sum."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.point.kind, result.point.phase), []).append(result)
    rows = [_row(" ".join(name), group) for name, group in sorted(groups.items())]
    return tabulate.tabulate(
        [*rows, _row("all", results)],
        headers=HEADERS,
        tablefmt="plain",
        colalign=("left",) + ("right",) * (len(HEADERS) - 1),
    )


def _row(name: str, results: Sequence[Result]) -> tuple:
    recovered = sorted(result.recovered_s for result in results) or [0.0]
    bad = sum(bool(result.problems) for result in results)
    return (
        name,
        len(results),
        len(results) - bad,
        bad,
        sum(not result.reached for result in results),
        sum(result.asked for result in results),
        sum(result.wrong for result in results),
        sum(result.failed for result in results),
        sum(result.nodes_left for result in results),
        f"{max((result.took_s for result in results), default=0):.1f}",
        f"{recovered[len(recovered) // 2]:.1f}",
        f"{recovered[-1]:.1f}",
    )


def as_json(results: Sequence[Result]) -> str:
    return json.dumps([dataclasses.asdict(result) for result in results], indent=1)


def soak_table(report: Report) -> str:
    """Its figures, and what does not hold."""
    rows = tabulate.tabulate(
        report.rows(), tablefmt="plain", colalign=("left", "right"), disable_numparse=True
    )
    return "\n".join([rows, *report.problems])


def soak_as_json(report: Report) -> str:
    return json.dumps(dataclasses.asdict(report), indent=1)
