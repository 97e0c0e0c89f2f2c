"""When statistics are read, and what is made of them."""

from collections.abc import Callable

import pytest

from f5router.model.errors import NotFound, Refused, Stopped, Unreachable
from f5router.monitoring.collectors import Sources
from f5router.monitoring.growth import Rates
from f5router.monitoring.metrics import Metrics
from f5router.monitoring.statistics import LOAD, POOL, Statistics, StatisticsReader

INTERVAL_S = 60.0
SERVER = "/Common/vs"
SHOP, BLOG = "/Common/openshift_shop_web", "/Common/openshift_blog_web"


class Bench:
    """A reader with a clock, on a device with counters."""

    def __init__(self, interval_s: float = INTERVAL_S, most_members: int = 0):
        self.now, self.took_s, self.may_read, self.unit = 1000.0, 0.0, True, "big-1"
        self.own = {SHOP: 2, BLOG: 3}
        self.counters = {path: {"serverside.totConns": 0} for path in (*self.own, "/Common/theirs", SERVER)}
        self.unchecked: set[str] = set()
        self.members = {SHOP: ["10.1.0.1", "10.1.0.2"], BLOG: ["10.2.0.1", "10.2.0.2", "10.2.0.3"]}
        self.down: set[str] = set()
        self.requests: list[str] = []
        self.error: Exception | None = None
        self.waiting: list[Callable[[], None]] = []
        """Readings that have begun."""
        self.reader = StatisticsReader(
            lambda: (self.unit, self), lambda: self.own, lambda: [SERVER], interval_s=interval_s,
            most_members=most_members,
            may_read=lambda: self.may_read, clock=lambda: self.now, wall=lambda: 5.0,
            begin=self.waiting.append)

    def statistics(self, path: str) -> dict:
        """Answer as the device does."""
        self.requests.append(path)
        self.now += self.took_s
        if self.error is not None:
            raise self.error
        if path.endswith("/members/stats"):
            pool = path.split("/")[-3].replace("~", "/")
            if pool not in self.members:
                raise NotFound("GET", path, "it has gone", status=404)
            return {"entries": {address: {"nestedStats": {"entries": {
                "addr": {"description": address}, "port": {"value": 80}, "serverside.totConns": {"value": 7},
                "status.availabilityState": {
                    "description": "offline" if address in self.down else "available"}}}}
                for address in self.members[pool]}}
        if path.endswith("/profiles/stats"):
            return {"entries": {"a": {"nestedStats": {"entries": {
                "typeId": {"description": "ltm profile http"}, "resp_5xxCnt": {"value": 3}}}}}}
        chosen = [SERVER] if "virtual" in path else [name for name in self.counters if name != SERVER]
        return {"entries": {f"https://localhost/x/{name}/stats": {"nestedStats": {"entries": {
            "tmName": {"description": name},
            "status.availabilityState": {"description": "unknown" if name in self.unchecked else "offline"},
            **{key: {"value": value} for key, value in self.counters[name].items()}}}} for name in chosen}}

    def ask(self) -> Statistics | None:
        """Return what a page shows, and let a reading that it has begun come to its end."""
        newest = self.reader.newest()
        while self.waiting:
            self.waiting.pop()()
        return newest

    def read(self) -> Statistics | None:
        """Return the result of a reading that is due."""
        self.now += 1000 * INTERVAL_S
        before = len(self.requests)
        self.ask()
        assert len(self.requests) > before
        return self.ask()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_page_does_not_wait(bench):
    """It shows what is known; one reading goes on at a time."""
    assert [bench.reader.newest() for _ in range(3)] == [None] * 3
    assert len(bench.waiting) == 1
    bench.waiting.pop()()
    newest = bench.reader.newest()
    assert bench.waiting == []
    assert (newest.unit, newest.read_at, set(newest.pools)) == ("big-1", 5.0, {SHOP, BLOG})
    assert set(newest.virtual_servers) == {SERVER}
    assert bench.requests == ["/mgmt/tm/ltm/pool/stats", "/mgmt/tm/ltm/virtual/~Common~vs/stats",
                              "/mgmt/tm/ltm/virtual/~Common~vs/profiles/stats"]


@pytest.mark.parametrize(("took_s", "again_at"), [
    pytest.param(1.0, 1000.0 + INTERVAL_S, id="from begin to begin"),
    pytest.param(INTERVAL_S, 1000.0 + 3 * INTERVAL_S * (1 + LOAD), id="a slow device has a long pause")])
def test_the_interval(bench, took_s, again_at):
    bench.took_s = took_s  # each of three requests
    bench.ask()
    bench.now = again_at - 0.1
    bench.reader.newest()
    assert bench.waiting == []
    bench.now = again_at
    bench.reader.newest()
    assert len(bench.waiting) == 1


@pytest.mark.parametrize(("interval_s", "may_read"), [(0.0, True), (INTERVAL_S, False)])
def test_nothing_is_read(interval_s, may_read):
    """Switched off, or while the device must be left alone: nothing is shown either."""
    bench = Bench(interval_s)
    bench.may_read = may_read
    assert bench.reader.newest() is None
    assert bench.requests == []


@pytest.mark.parametrize("error", [Unreachable("GET", "/mgmt/tm/ltm/pool/stats", "down"), TypeError("a bug")])
def test_a_device_that_fails(bench, error):
    """Old numbers are not shown as if they were new; the next reading brings them back."""
    assert bench.read() is not None
    bench.error = error
    assert bench.read() is None
    bench.error = None
    assert bench.read() is not None


def test_the_end_of_the_router_is_no_fault(caplog):
    """A reading of many members may be under way then."""
    bench = Bench(most_members=5)
    bench.error = Stopped(text="the router is stopping")
    assert bench.read() is None
    assert caplog.records == []


def test_a_refusal_is_logged_once(bench, caplog):
    """As of a role without the right. An outage is not: the passes log it."""
    for error in (Refused("GET", "/x", "no right", status=403), Refused("GET", "/x", "no right", status=403),
                  Unreachable("GET", "/x", "down"), None):
        bench.error = error
        bench.read()
    logged = [(each.levelname, each.message) for each in caplog.records if each.levelname == "WARNING"]
    assert logged == [("WARNING", "statistics of the BIG-IP are refused")]


def test_the_sum_never_falls(bench):
    """Not when a pool goes, counts from 0 again, or is not ours for a moment; a new one is added."""
    def opened(shop: int | None, blog: int | None) -> int:
        for path, count in ((SHOP, shop), (BLOG, blog)):
            bench.counters.pop(path, None)
            if count is not None:
                bench.counters[path] = {"serverside.totConns": count}
        return bench.read().total.opened

    assert opened(10, 5) == 15
    assert opened(12, 5) == 17
    assert opened(12, None) == 17
    assert opened(13, 2) == 20
    assert opened(1, 2) == 21
    own, bench.own = bench.own, {}
    assert opened(4, 2) == 21
    bench.own = own
    assert opened(4, 2) == 24


def test_units_count_apart(bench):
    """After a failover the counters are those of the other unit."""
    bench.counters[SHOP]["serverside.totConns"] = 10
    assert bench.read().total.opened == 10
    bench.unit = "big-2"
    bench.counters[SHOP]["serverside.totConns"] = 3
    assert bench.read().total.opened == 3
    bench.unit = "big-1"
    bench.counters[SHOP]["serverside.totConns"] = 12
    assert bench.read().total.opened == 12


def test_readings_are_counted(bench):
    """By their result; none without statistics."""
    assert bench.reader.readings() == {"success": 0, "failure": 0}
    bench.read()
    bench.error = Unreachable("GET", "/x", "down")
    bench.read()
    bench.error = TypeError("a bug")
    bench.read()
    assert bench.reader.readings() == {"success": 1, "failure": 2}
    assert Bench(interval_s=0).reader.readings() == {}


def test_rates(bench):
    """Between two readings; the sum of all pools has one too."""
    def rates(shop: int) -> list[tuple[float, float]]:
        bench.counters[SHOP] = {"serverside.totConns": shop}
        read = bench.read().rates
        return [(rate.now, rate.most) for rate in (read.get((POOL, SHOP)), read.get((POOL, ""))) if rate]

    every_s = 1000 * INTERVAL_S
    assert rates(5000) == []
    assert rates(5000 + 60_000) == [(60_000 / every_s, 1.0)] * 2
    assert rates(5000 + 90_000) == [(30_000 / every_s, 1.0)] * 2
    assert rates(30) == [(30 / every_s, 1.0)] * 2  # the counter was reset


def test_two_readings_at_one_moment_have_no_rate():
    rates = Rates()
    assert [rates.update("big-1", 5.0, {("pool", "a"): count}) for count in (1, 2)] == [{}, {}]


@pytest.mark.parametrize(("most", "shown", "requests", "warnings"), [
    pytest.param(0, 0, 0, 0, id="not asked for"), pytest.param(1, 0, 0, 1, id="none fits"),
    pytest.param(4, 2, 1, 1, id="the smaller namespace"), pytest.param(5, 5, 2, 0, id="all")])
def test_members(most, shown, requests, warnings, caplog):
    """One request for each pool, no more members than the limit, and a warning if that leaves some out."""
    bench = Bench(most_members=most)
    for _ in range(2):
        assert len(bench.read().members) == shown
    assert sum(path.endswith("/members/stats") for path in bench.requests) == 2 * requests
    assert [each.message for each in caplog.records if each.levelname == "WARNING"] == [
        "pool members without statistics"] * warnings


def test_a_pool_that_has_gone_or_has_grown():
    """The other members are read all the same, and never more than the limit."""
    bench = Bench(most_members=5)
    del bench.members[SHOP]
    assert {pool for pool, _ in bench.read().members} == {BLOG}
    bench.members[SHOP] = [f"10.1.0.{number}" for number in range(1, 10)]
    assert {pool for pool, _ in bench.read().members} == {BLOG}


def test_health_of_members():
    """As the readings saw it, through an outage of the BIG-IP too."""
    bench = Bench(most_members=5)

    def seen() -> tuple[bool, int, float]:
        health = bench.read().members[SHOP, "10.1.0.1:80"][1]
        return health.is_up, health.check_failures, health.down_s

    every_s = 1000 * INTERVAL_S
    assert seen() == (True, 0, 0.0)
    bench.down = {"10.1.0.1"}
    assert seen() == (False, 1, 0.0)
    assert seen() == (False, 1, every_s)
    bench.error = Unreachable("GET", "/x", "down")
    assert bench.read() is None
    bench.error, bench.down = None, set()
    assert seen() == (True, 1, 3 * every_s)
    assert seen() == (True, 1, 3 * every_s)


def samples(bench: Bench, **limits: int) -> dict[tuple[str, ...], float]:
    """Samples of the unit by name and the values of the other labels."""
    sources = Sources(dict, {}, statistics=bench.reader.newest, readings=bench.reader.readings)
    metrics = Metrics(sources, **limits)
    bench.read()
    shown = {}
    for family in metrics.registry.collect():
        for sample in family.samples:
            labels = dict(sample.labels)
            if labels.pop("unit", "") == "big-1" or sample.name.startswith("f5router_statistics_"):
                shown[sample.name, *labels.values()] = sample.value
    return shown


def test_metrics_of_members():
    """Health, traffic and queue of each, and how many there are; without the setting there are none."""
    bench = Bench(most_members=4)
    bench.down = {"10.1.0.2"}
    shown = samples(bench, most_pools=1, most_members=4)
    labels = ("shop", SHOP, "10.1.0.1:80")
    names = ("f5router_member_up", "f5router_member_connections_total", "f5router_member_queued_connections",
             "f5router_member_check_failures_total", "f5router_member_downtime_seconds_total")
    assert [shown[name, *labels] for name in names] == [1, 7, 0, 0, 0]
    assert shown["f5router_member_up", "shop", SHOP, "10.1.0.2:80"] == 0
    assert {type: shown["f5router_statistics_members", type] for type in ("current", "shown", "limit")} == {
        "current": 5, "shown": 2, "limit": 4}
    assert sum(key[0] == "f5router_member_up" for key in shown) == 2
    assert not any("member_" in key[0] for key in samples(Bench(), most_pools=1))


def test_metrics_of_virtual_servers(bench):
    """With what their profiles count; readings have a metric before there is one."""
    bench.counters[SERVER] = {"clientside.maxConns": 5}
    shown = samples(bench, most_pools=1)
    assert shown["f5router_virtual_server_responses_total", SERVER, "5xx"] == 3
    assert shown["f5router_virtual_server_max_connections", SERVER] == 5
    assert ("f5router_virtual_server_connection_errors_total", SERVER) not in shown
    assert ("f5router_virtual_server_queued_connections", SERVER) not in shown
    assert shown["f5router_statistics_readings_total", "success"] == 1
    bench.error = Unreachable("GET", "/x", "down")
    shown = samples(bench, most_pools=1)
    assert shown["f5router_statistics_readings_total", "failure"] == 1
    assert ("f5router_virtual_server_max_connections", SERVER) not in shown


def test_the_pool_without_members_is_of_no_namespace(bench):
    nowhere = "/Common/openshift_nowhere"
    bench.own, bench.counters = {nowhere: 0}, {nowhere: {"serverside.totConns": 7}, SERVER: {}}
    metrics = Metrics(Sources(dict, {}, statistics=bench.reader.newest), most_pools=2)
    bench.read()
    assert [sample.labels["namespace"] for family in metrics.registry.collect() for sample in family.samples
            if sample.name == "f5router_pool_connections_total"] == [""]


@pytest.mark.parametrize(("most_pools", "expected"), [
    (2, {("f5router_pool_connections_total", "blog", BLOG): 5.0,
         ("f5router_pool_connections_total", "shop", SHOP): 10.0,
         ("f5router_pool_members", "blog", BLOG, "unchecked"): 3.0,
         ("f5router_pool_members", "shop", SHOP, "up"): 1.0,
         ("f5router_pool_members", "shop", SHOP, "down"): 1.0}),
    (1, {("f5router_pool_connections_total", "", ""): 15.0,
         ("f5router_pool_members", "", "", "up"): 1.0, ("f5router_pool_members", "", "", "down"): 1.0,
         ("f5router_pool_members", "", "", "unchecked"): 3.0}),
])
def test_metrics(bench, most_pools, expected):
    """Each pool, or above the threshold all together; before 13.1 the number of members is our own."""
    bench.counters[SHOP] = {"serverside.totConns": 10, "activeMemberCnt": 1}
    bench.counters[BLOG] = {"serverside.totConns": 5}
    bench.unchecked = {BLOG}
    metrics = Metrics(Sources(dict, {}, statistics=bench.reader.newest), most_pools=most_pools)
    bench.read()
    samples = {}
    for family in metrics.registry.collect():
        for sample in family.samples:
            labels = dict(sample.labels)
            if labels.pop("unit", "") == "big-1":
                samples[sample.name, *labels.values()] = sample.value
    shown = {key: value for key, value in samples.items()
             if key[0] in ("f5router_pool_connections_total", "f5router_pool_members") and value}
    assert shown == expected
    assert samples["f5router_pools_down",] == 0
    assert samples["f5router_virtual_server_current_connections", SERVER] == 0
