"""Metrics of the BIG-IP's statistics, after requests of clients: counters, health of members, the limit."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import HTTP, Site
from tests.waiting import until

HOST = "www.example.com"
CHECK = "router.openshift.io/haproxy.health.check.interval"
SPEED = 20
"""A second of the device is a twentieth."""


class Scraped:
    """A router whose metrics are asked for; a reading is due whenever they are, but for its pause."""

    def __init__(self, site: Site, **flags: str):
        self.router = site.router(f5_statistics_interval="1ms", **flags)
        assert site.converge(self.router) == []

    def samples(self) -> dict[tuple[str, ...], float]:
        """Samples of a reading that begins now, by name and the values of labels but `unit`."""
        key = ("f5router_statistics_readings_total", "success")
        before = self._samples().get(key, 0)  # one may be under way
        until(lambda: self._samples()[key] > before + 1)
        return self._samples()

    def _samples(self) -> dict[tuple[str, ...], float]:
        shown = {}
        for family in text_string_to_metric_families(self.router.monitor.metrics.page("")[0].decode()):
            for sample in family.samples:
                values = (sample.labels[key] for key in sorted(sample.labels.keys() - {"unit"}))
                shown[sample.name, *values] = sample.value
        return shown


def by_member(shown: dict[tuple[str, ...], float], name: str) -> dict[str, float]:
    """Values of a metric of members by their address."""
    return {key[1].partition(":")[0]: value for key, value in shown.items() if key[0] == f"f5router_{name}"}


def test_counters_of_requests(site):
    """The virtual server has classes of responses too; the pool and each member have requests."""
    site.serve("web", "10.1.1.1", "10.1.1.2")
    site.apply(manifests.route("a"))
    scraped = Scraped(site, f5_statistics_members="10")
    for _ in range(4):
        assert clients.plain(site.http, HOST).status == 200
    shown = scraped.samples()
    assert shown["f5router_virtual_server_responses_total", "2xx", HTTP] == 4
    assert shown["f5router_virtual_server_responses_total", "5xx", HTTP] == 0
    assert shown["f5router_virtual_server_connection_errors_total", HTTP] == 0
    assert shown["f5router_virtual_server_max_connections", HTTP] >= 1
    (pool,) = site.pools()
    assert shown["f5router_pool_requests_total", "shop", pool] == 4
    assert shown["f5router_pool_queued_connections", "shop", pool] == 0
    assert by_member(shown, "member_requests_total") == {"10.1.1.1": 2, "10.1.1.2": 2}
    assert by_member(shown, "member_up") == {"10.1.1.1": 1, "10.1.1.2": 1}
    later = scraped.samples()
    assert later["f5router_virtual_server_connections_per_second", HTTP] == 0
    assert later["f5router_pool_max_connections_per_second", "shop", pool] >= 0


def test_a_member_that_refuses(site):
    """The BIG-IP counts the failed connection, and finds the member down: a failed check and downtime."""
    site.serve("web", "10.1.1.1", "10.1.1.2")
    route = manifests.route("a")
    route["metadata"]["annotations"] = {CHECK: "500ms"}
    site.apply(route)
    scraped = Scraped(site, f5_statistics_members="10")
    site.bigip.dataplane.clock.speed = SPEED
    until(lambda: by_member(scraped.samples(), "member_up") == {"10.1.1.1": 1, "10.1.1.2": 1})
    assert set(by_member(scraped.samples(), "member_check_failures_total").values()) == {0}
    site.pods.stop("10.1.1.1", 8080)
    until(lambda: by_member(scraped.samples(), "member_up") == {"10.1.1.1": 0, "10.1.1.2": 1})
    shown = scraped.samples()
    assert by_member(shown, "member_check_failures_total") == {"10.1.1.1": 1, "10.1.1.2": 0}
    down_s = by_member(shown, "member_downtime_seconds_total")
    assert down_s["10.1.1.1"] > down_s["10.1.1.2"] == 0
    site.pod("10.1.1.1", "web")
    until(lambda: by_member(scraped.samples(), "member_up")["10.1.1.1"] == 1)
    after = by_member(scraped.samples(), "member_downtime_seconds_total")
    assert after["10.1.1.1"] >= down_s["10.1.1.1"]


@pytest.mark.parametrize(("limit", "shown"), [("0", set()), ("3", {"shop"}), ("5", {"shop", "large"})])
def test_the_limit_of_members(site, limit, shown):
    """A namespace with more members than its share has no series; the others have theirs."""
    site.apply(manifests.route("a"), *manifests.service("shop", "web", pods=("10.1.1.1",)),
               manifests.route("b", namespace="large", host="b.example.com"),
               *manifests.service("large", "web", pods=tuple(f"10.1.2.{number}" for number in range(1, 5))))
    scraped = Scraped(site, f5_statistics_members=limit)
    samples = scraped.samples()
    assert {key[2] for key in samples if key[0] == "f5router_member_up"} == shown
    if limit != "0":
        counts = [samples["f5router_statistics_members", each] for each in ("current", "shown", "limit")]
        assert counts == [5, {"3": 1, "5": 5}[limit], int(limit)]


def test_counters_after_a_reset(site):
    """The BIG-IP counts from 0 again, as after `tmsh reset-stats`, and so does the metric, for Prometheus."""
    site.serve("web", "10.1.1.1")
    site.apply(manifests.route("a"))
    scraped = Scraped(site, f5_statistics_pools="0")
    for _ in range(3):
        clients.plain(site.http, HOST)
    key = ("f5router_pool_requests_total", "", "")
    assert scraped.samples()[key] == 3
    site.bigip.store.tallies.clear()
    clients.plain(site.http, HOST)
    shown = scraped.samples()
    assert shown[key] == 4  # the sum of all pools never falls
    assert shown["f5router_virtual_server_requests_total", HTTP] == 1
