"""How long others wait while the certificates of one tenant are checked.

    python -m benchmarks.certificates [--bounds N]

A router with the fake BIG-IP gets expensive Routes of one tenant, and meanwhile endpoints of another
tenant's Service change again and again: the delay is from such an event to the end of its pass, its write
included. The first one waits for the router to take the expensive Routes. Seconds are of this machine.
"""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

import click
import tabulate

from benchmarks.__main__ import Bench
from benchmarks.cluster import routes, slices
from f5router.model.cluster import Delta, Key, Route, RouteTLS
from tests import bombs
from tests.builders import identity

HEADERS = ("Routes", "bytes", "CPU s", "checked after s", "events", "longest delay s", "median delay s")
PAUSE_S = 0.02
"""Between an event's end and the next event."""


@dataclass(frozen=True)
class Load:
    """Expensive Routes that come at once."""

    name: str
    count: int
    tls: Callable[[], dict[str, str]]

    def routes(self) -> dict[Key, Route]:
        """They share their texts, which are checked for each."""
        shared, routes = self.tls(), {}
        for number in range(self.count):
            key = Key("evil", f"r{number}")
            routes[key] = Route(key, uid=key.name, created="2026-01-01T00:00:00Z",
                                host=f"{key.name}.evil.test", service="web", tls=RouteTLS("edge", **shared))
        return routes


def at_the_bounds() -> dict[str, str]:
    """As many CAs and signature checks as there may be, with the slowest keys."""
    return bombs.steps_of_one_name(980)


LOADS = [
    Load("of 300 CAs", 1, lambda: bombs.steps_of_one_name(300)),
    Load("of 2,000 CAs", 6, lambda: bombs.steps_of_one_name(2000)),
    Load("with a DSA key of 20 kB", 1, lambda: {**bombs.one_name(1), "key": bombs.dsa_key(30_000)}),
    Load("usual ones, with another key", 10_000, lambda: {
        **identity().tls, "key": identity(serial=1).key, "ca_certificate": identity().issuer}),
]


def measure(bench: Bench, load: Load) -> tuple:
    """One line of the table."""
    routes, delays, engine = load.routes(), [], bench.reconciler.engine
    tls = next(iter(routes.values())).tls
    size = len(tls.certificate) + len(tls.key) + len(tls.ca_certificate)
    cpu, begin = time.process_time(), time.monotonic()
    bench.reconciler.apply(Delta(routes=routes))
    checked = at = begin
    while not delays or engine.undecided():
        bench.run(Delta(slices=slices(1, suffix=f".{len(delays) % 200 + 1}")))
        checked = time.monotonic()
        delays.append(checked - at)
        time.sleep(PAUSE_S)
        at = time.monotonic()
    cpu = time.process_time() - cpu
    assert all(engine.rejection(key) for key in routes)
    bench.run(Delta(routes=dict.fromkeys(routes)))
    delays.sort()
    return (f"{load.count:,} {load.name}", f"{size:,}",
            f"{cpu:.2f}", f"{checked - begin:.2f}", len(delays), f"{delays[-1]:.3f}",
            f"{delays[len(delays) // 2]:.3f}")


@click.command()
@click.option("--bounds", default=30, show_default=True, help="Routes at the bounds.")
def main(bounds: int) -> None:
    """Print what each load costs others."""
    logging.basicConfig(level=logging.ERROR)
    woken = threading.Event()
    with ExitStack() as stack:
        bench = Bench(stack, 4)
        with bench.reconciler.engine.checks.beside(woken.set):
            bench.run(Delta(routes=routes(200), slices=slices(200)))
            rows = []
            for load in [*LOADS, Load("at the bounds", bounds, at_the_bounds)]:
                click.echo(f"{load.count:,} {load.name} ...", err=True)
                rows.append(measure(bench, load))
    print(tabulate.tabulate(rows, headers=HEADERS, tablefmt="plain", colalign=("left",) + ("right",) * 6))


if __name__ == "__main__":
    main()
