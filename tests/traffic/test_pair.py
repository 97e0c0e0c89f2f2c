"""Requests go on while a pair fails over and Routes change, and none reaches another Route's pod."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from mocks.bigip import FakeBigIP
from tests import manifests
from tests.builders import identity
from tests.conftest import UNDER_LOAD
from tests.feature.test_pair import PairLab
from tests.traffic.conftest import HTTP, HTTPS
from tests.traffic.load import Load, Target
from tests.waiting import DEADLINE_S, until

CLIENTS = 4
ENOUGH = 6
"""Requests to each target between two steps."""
OWN = identity("edge.example.com")


class Clients:
    """Requests to the floating addresses, which move with a failover."""

    def __init__(self, pair, load: Load):
        self.pair, self.load = pair, load
        self.lost = 0
        """Number of requests that ended with the unit that they were sent to."""

    def some(self) -> None:
        """Wait until each target has been asked; nothing may have failed since the failover before."""
        until(self.load.more(ENOUGH))
        assert (self.load.report.failed[self.lost:], self.load.report.wrong) == ([], [])

    def fail_over(self) -> None:
        """Let the other unit take over; requests under way are lost, and no answer is a wrong one."""
        before = self.lost
        self.pair.fail_over()
        for target in self.load.targets:
            target.address = self.pair.endpoint(HTTPS if target.tls else HTTP)
        until(self.load.more(2))
        lost = self.load.report.failed[before:]
        self.lost += len(lost)
        assert [each for each in lost if "status" in each] == []
        self.some()


@contextmanager
def stopped(router) -> Iterator[None]:
    """Stop a router at the end."""
    try:
        yield
    finally:
        router.stop()


@pytest.fixture
def pair(site, tmp_path):
    """Units that are synced as soon as something is written; the same pods are behind both."""
    site.timing = replace(site.timing, failover_s=0.1, failover_fresh_s=0.0, look_s=DEADLINE_S)
    with FakeBigIP(dataplane={"pods": site.pods}) as second:
        yield PairLab(site, second, tmp_path / "both.crt", auto_sync=True)
        assert second.errors == []


def test_failovers_while_routes_change(site, pair, record_property):
    """At another write each time, while a Route gets another Service, one another certificate, one comes."""
    site.serve("web", "10.1.1.1", "10.1.1.2")
    site.serve("api", "10.1.2.1")
    site.serve("web", "10.2.1.1", namespace="rival")
    moving = [manifests.route("moving", host="moving.example.com", service=service)
              for service in ("web", "api")]
    edges = [manifests.route("edge", host="edge.example.com", kind="edge", **how) for how in (
        {}, {"certificate": OWN.certificate, "key": OWN.key})]
    site.apply(moving[0], edges[0], manifests.route("plain", host="plain.example.com"),
               manifests.route("other", namespace="rival", host="other.example.com"))
    router = site.run(**pair.flags)
    names = (("shop", "moving"), ("shop", "edge"), ("shop", "plain"), ("rival", "other"))
    until(lambda: all(site.admitted(*name).get("status") == "True" for name in names))
    web, both = site.right("web"), site.right("web", "api")
    targets = (
        Target("plain", site.http, "plain.example.com", right=web),
        Target("edge", site.https, "edge.example.com", tls=True, right=web),
        Target("moving", site.http, "moving.example.com", right=both),
        Target("other", site.http, "other.example.com", right=site.right("web", namespace="rival")),
        Target("nobody", site.http, "nobody.example.com", status=503),
    )
    with stopped(router), Load(*targets, clients=CLIENTS) as load:
        clients = Clients(pair.pair, load)
        clients.some()
        for number in range(1, 6):
            written = len(site.bigip.writes()) + len(pair.pair.units[1].writes())
            site.apply(moving[number % 2], edges[number % 2],
                       manifests.route(f"new{number}", host=f"new{number}.example.com"),
                       manifests.endpoints("shop", "web", ("10.1.1.1", "10.1.1.2")[number % 2:]))
            until(lambda: sum(len(big.writes()) for big in pair.pair.units) >= written + number)  # noqa: B023
            clients.fail_over()
            until(lambda: site.admitted("shop", f"new{number}").get("status") == "True")  # noqa: B023
            service = ("web", "api")[number % 2]
            active = pair.pair.active
            until(lambda: f"openshift_shop_{service}" in str(active.get(  # noqa: B023
                "ltm/policy/~Common~openshift_insecure_routes/rules/openshift_route_shop_moving")))
            clients.some()
    record_property(UNDER_LOAD, str(load.report))
    assert load.report.wrong == []
    assert pair.pair.are_equal()
