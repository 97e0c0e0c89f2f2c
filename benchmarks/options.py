"""Load N Routes without and with options of annotations, and print what the options cost.

    python -m benchmarks.options [--routes N]

With options, every second Route has one of them, with one of ten values. Then one Route gets each option,
another value of it, and loses it. Counts are comparable between machines, seconds only within a run.
"""

import logging
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace

import click
import tabulate

from benchmarks import cluster
from benchmarks.__main__ import HEADERS, Bench, Step
from f5router.model import header_actions, path_rewrite
from f5router.model.cluster import Delta, Key, Route
from f5router.model.route_options import RouteOptions

VALUES = 10
"""Different values of each option in the cluster."""
OPTIONS: Mapping[str, tuple[RouteOptions, ...]] = {
    "balance": tuple(RouteOptions(balance=word) for word in ("leastconn", "source")),
    "connections": tuple(RouteOptions(pod_connections=100 + number) for number in range(VALUES)),
    "clients": tuple(
        RouteOptions(sources=(f"10.{number}.0.0/16", f"2001:db8:{number}::/48")) for number in range(VALUES)),
    "rates": tuple(RouteOptions(request_rate=100 + number) for number in range(VALUES)),
    "cookie": tuple(RouteOptions(cookie_name=f"session{number}") for number in range(VALUES)),
    "forwarded headers": tuple(RouteOptions(forwarded=word) for word in ("replace", "never")),
    "header actions": tuple(
        RouteOptions(response_actions=(header_actions.encode_set("X-A", f"{number}", side="res"),))
        for number in range(VALUES)),
    "hsts": tuple(RouteOptions(hsts=f"max-age={number}") for number in range(VALUES)),
    "rewriting": tuple(RouteOptions(rewrite=path_rewrite.parse(f"/{number}")) for number in range(VALUES)),
    "time-out": tuple(RouteOptions(timeout_ms=1000 + 1000 * number) for number in range(VALUES)),
    "tunnel time-out": tuple(
        RouteOptions(tunnel_timeout_ms=60_000 + 1000 * number) for number in range(VALUES)),
    "check interval": tuple(
        RouteOptions(check_interval_ms=2000 + 1000 * number) for number in range(VALUES)),
}


def optional(routes: Mapping[Key, Route]) -> dict[Key, Route]:
    """Give every second Route an option; neighbours of a kind get different ones."""
    choices = [values[index % len(values)] for index in range(VALUES) for values in OPTIONS.values()]
    return {
        key: replace(route, options=choices[number // 2 % len(choices)]) if number % 2 else route
        for number, (key, route) in enumerate(routes.items())
    }


def load(stack: ExitStack, name: str, routes: Mapping[Key, Route]) -> tuple[Bench, Counter[str]]:
    """Load Routes onto a new BIG-IP. Returns: the router, and the number of objects by kind."""
    bench = Bench(stack, in_flight=4)
    with bench.step(name):
        bench.run(Delta(routes=dict(routes), slices=cluster.slices(len(routes))))
    return bench, Counter(ref.kind for ref in bench.reconciler.device.observed)


def changes(bench: Bench, key: Key, route: Route) -> list[Step]:
    """Set, change and remove each option of a Route that has none."""
    for name, values in OPTIONS.items():
        for change, options in (("set", values[0]), ("changed", values[1]), ("removed", route.options)):
            with bench.step(f"{name} {change}"):
                bench.run(Delta(routes={key: replace(route, options=options)}))
    return bench.steps[-3 * len(OPTIONS):]


@click.command()
@click.option("--routes", "count", default=5000, show_default=True, help="Routes of the cluster.")
def main(count: int) -> None:
    """Print what options of Routes cost."""
    logging.basicConfig(level=logging.WARNING)
    plain = cluster.routes(count)
    with ExitStack() as stack:
        without, before = load(stack, f"{count} Routes, no options", plain)
    with ExitStack() as stack:
        bench, after = load(stack, f"{count} Routes, half with options", optional(plain))
        # An edge Route has every option.
        steps = changes(bench, *next((key, route) for number, (key, route) in enumerate(plain.items())
                                     if not number % 2 and route.tls and route.tls.termination == "edge"))
    rows = [step.row() for step in (*without.steps, bench.steps[0], *steps)]
    print(tabulate.tabulate(rows, headers=HEADERS, tablefmt="plain", colalign=("left",) + ("right",) * 5))
    print()
    kinds = [(kind, before[kind], after[kind], after[kind] - before[kind]) for kind in sorted(before | after)]
    print(tabulate.tabulate(kinds, headers=("objects on the BIG-IP", "no options", "with", "more"),
                            tablefmt="plain"))


if __name__ == "__main__":
    main()
