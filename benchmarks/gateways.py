"""Calls to the BIG-IP for routes of the Gateway API on Gateways with addresses of their own, beside Routes'.

    python -m benchmarks.gateways [--routes N] [--gateways N]

The router runs in this process, between both fakes. Each HTTPRoute has one rule, a host and a Service of its
own, and so has each Route.
"""

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click
import tabulate

from f5router.app import once
from f5router.app.controller import Controller
from tests import gateways, manifests
from tests.builders import identity
from tests.feature.conftest import Lab
from tests.traffic.test_https_listeners import secret
from tests.waiting import DEADLINE_S

HEADERS = ("case", "writes", "reads", "for each")
NAMESPACE = "infra"


def services(count: int) -> Iterator[dict]:
    """Yield a Service for each route, with its EndpointSlice."""
    for number in range(count):
        yield from manifests.service(NAMESPACE, f"s{number}", pods=(address(number),))


def address(number: int, *, changed: bool = False) -> str:
    """Return the address of a pod."""
    return f"10.{2 if changed else 1}.{number >> 8}.{number & 255}"


def http_route(number: int, of: int) -> dict:
    """An HTTPRoute. Args: of: number of Gateways."""
    return gateways.http_route(
        f"r{number}", gateways.rule(gateways.backend(f"s{number}")), namespace=NAMESPACE,
        parents=(gateways.parent(f"g{number % of}"),), hostnames=(f"h{number}.example.com",))


def route(number: int) -> dict:
    """A Route with the same host, and the same pods."""
    return manifests.route(f"r{number}", namespace=NAMESPACE, host=f"h{number}.example.com",
                           service=f"s{number}")


class Bench:
    """A router between both fakes, whose calls are counted."""

    def __init__(self, lab: Lab, **flags: str):
        self._lab, self._flags = lab, flags
        self.rows: list[tuple[str, int, int, str]] = []

    def start(self, case: str, size: int) -> Controller:
        """Start a router, and count its calls until all is in place."""
        self._lab.bigip.clear_log()
        router = self._lab.router(**self._flags)
        reasons = once.converge(router, threading.Event(), sync_timeout_s=DEADLINE_S, timing=self._lab.timing)
        assert not reasons, reasons[:3]
        self._count(case, size)
        return router

    def event(self, router: Controller, case: str, happen: Callable[[], None]) -> None:
        """Count the calls of a router that runs."""
        self._lab.settle(router)
        self._lab.bigip.clear_log()
        happen()
        self._lab.settle(router)
        self._count(case, 1)

    def _count(self, case: str, size: int) -> None:
        writes = len(self._lab.bigip.writes())
        reads = sum(entry.method == "GET" for entry in list(self._lab.bigip.log))
        self.rows.append((case, writes, reads, f"{writes / size:.2f}"))


def measure(stack: ExitStack, routes: int, of: int) -> list[tuple[str, int, int, str]]:
    """Return the rows of a table. Args: routes: number of HTTPRoutes; of: number of Gateways."""
    lab = Lab(stack, Path(stack.enter_context(tempfile.TemporaryDirectory())), gateway_api="v1.6")
    bench = Bench(lab, f5_vserver_address="203.0.113.10", sources="routes,gateway",
                  gateway_addresses="10.9.0.0/24")
    lab.apply(*services(routes + 2), gateways.gateway_class())
    first = bench.start("no Gateway yet", 1)
    bench.event(first, f"{of} Gateways come", lambda: lab.apply(
        *(gateways.gateway(f"g{number}") for number in range(of))))
    first.close()
    lab.apply(*(http_route(number, of) for number in range(routes)))
    router = bench.start(f"{routes} HTTPRoutes on {of} Gateways", routes)
    bench.event(router, "an HTTPRoute is added", lambda: lab.apply(http_route(routes, of)))
    bench.event(router, "endpoints of a Service change", lambda: lab.apply(
        manifests.service(NAMESPACE, "s0", pods=(address(0, changed=True),))[1]))
    bench.event(router, "a Gateway comes", lambda: lab.apply(gateways.gateway("new")))
    bench.event(router, "a Gateway goes", lambda: lab.kube.delete("Gateway", NAMESPACE, "new"))
    bench.event(router, "a Gateway comes, for TCP", lambda: lab.apply(
        gateways.gateway("db", gateways.listener("db", 5432, "TCP"))))
    bench.event(router, "a TCPRoute is added", lambda: lab.apply(gateways.tcp_route(
        "db", gateways.backend(f"s{routes + 1}"), namespace=NAMESPACE, parents=(gateways.parent("db"),))))
    bench.event(router, "endpoints of its Service change", lambda: lab.apply(
        manifests.service(NAMESPACE, f"s{routes + 1}", pods=(address(0, changed=True),))[1]))
    _tls(lab, bench, router, f"s{routes + 1}")
    router.close()
    bench.start("restart, nothing has changed", 1).close()
    return bench.rows


def _tls(lab: Lab, bench: Bench, router: Controller, service: str) -> None:
    """Count the calls for TLSRoutes of both modes, each on its Gateway. Args: service: name of a Service."""
    ends = {"mode": "Terminate", "certificateRefs": [{"name": "ends"}]}
    lab.apply(secret("ends", identity("ends.example.com"), NAMESPACE))
    for name, tls in (("passes", gateways.PASSTHROUGH["tls"]), ("ends", ends)):
        of_mode = gateways.gateway(name, gateways.listener("tls", 443, "TLS", tls=tls))
        added = gateways.tls_route(name, gateways.backend(service), namespace=NAMESPACE,
                                   hostnames=(f"{name}.example.com",), parents=(gateways.parent(name),))
        bench.event(router, f"a Gateway comes, for TLS of mode {tls['mode']}", partial(lab.apply, of_mode))
        bench.event(router, "a TLSRoute is added", partial(lab.apply, added))


def beside(stack: ExitStack, routes: int) -> list[tuple[str, int, int, str]]:
    """Return the rows of as many Routes without paths and TLS."""
    lab = Lab(stack, Path(stack.enter_context(tempfile.TemporaryDirectory())))
    bench = Bench(lab, f5_vserver_address="203.0.113.10", sources="routes")
    lab.apply(*services(routes + 1))
    bench.start("no Route yet", 1).close()
    lab.apply(*(route(number) for number in range(routes)))
    router = bench.start(f"{routes} Routes", routes)
    bench.event(router, "a Route is added", lambda: lab.apply(route(routes)))
    return bench.rows


@click.command()
@click.option("--routes", default=1000, show_default=True, help="Number of HTTPRoutes, and of Routes.")
@click.option("--gateways", "of", default=10, show_default=True, help="Number of Gateways.")
def main(routes: int, of: int) -> None:
    """Print a table of calls."""
    with ExitStack() as stack:
        rows = [*measure(stack, routes, of), *beside(stack, routes)]
    print(tabulate.tabulate(rows, HEADERS))


if __name__ == "__main__":
    main()
