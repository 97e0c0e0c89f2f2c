"""Several routers of one name, each with its own watch and its own writer, on one API server.

Hours pass by a clock that the test turns on; what a pass every five minutes would ask for is asked for.
"""

import logging
import time
from types import SimpleNamespace

import pytest

from f5router.admission.condition import Verdict
from f5router.app.wiring import STATUS_WORKERS
from f5router.kube.api.connection import connect
from f5router.kube.cluster_watch import ClusterWatcher
from f5router.kube.settings import KubeSettings, StatusSettings, StatusTiming, WatchSettings
from f5router.kube.status.entry_cleanup import PROBES, EntryCleanup
from f5router.kube.status.status_writer import StatusWriter
from f5router.kube.watch.sources import ROUTES
from f5router.model.cluster import Key
from mocks.kube import FakeKube
from tests import manifests
from tests.waiting import DEADLINE_S, until

YES, NO = Verdict(True), Verdict(False, "HostAlreadyClaimed", "route shop/b has this host")
PASS_S = 300.0
"""--f5-resync-interval, after which a router judges all Routes again."""


class Clock:
    """Real seconds, and those that were skipped."""

    def __init__(self):
        self.skipped_s = 0.0

    def __call__(self) -> float:
        return time.monotonic() + self.skipped_s


class Replica:
    """The part of a router that reads and writes statuses."""

    def __init__(self, kube: FakeKube, connection, clock: Clock, verdict: Verdict, canonical_hostname: str,
                 workers: int):
        self._kube, self._verdict = kube, verdict
        self.cluster = ClusterWatcher(connection, WatchSettings(), on_change=lambda: None)
        self.writer = StatusWriter(
            connection, self.cluster,
            StatusSettings(router_name="public", canonical_hostname=canonical_hostname, rate_per_s=1000),
            timing=StatusTiming(repair_s=0.01, first_per_s=1000), workers=workers, clock=clock, wall=clock)
        self.cluster.watch_routes(self.writer.route_updated)
        self.cluster.start()
        assert self.cluster.wait_synced(DEADLINE_S)

    def judge(self) -> None:
        """Do what a full pass does."""
        for obj in self._kube.list("Route"):
            key = Key("shop", obj["metadata"]["name"])
            self.writer.submit(key, obj["metadata"]["uid"], self._verdict, obj["spec"]["host"])

    def is_behind(self) -> bool:
        """True if the watch has not told of everything yet."""
        for obj in self._kube.list("Route"):
            known = self.cluster.route(Key("shop", obj["metadata"]["name"]))
            if known is None or known.resource_version != obj["metadata"]["resourceVersion"]:
                return True
        return False

    def stop(self) -> None:
        self.writer.stop()
        self.cluster.stop()


class Site:
    """Routes, and routers of one name that judge them."""

    def __init__(self, kube: FakeKube, folder):
        self.kube, self.clock, self.replicas = kube, Clock(), []
        path = str(folder / "kubeconfig")
        kube.write_kubeconfig(path)
        self.connection = connect(KubeSettings(kubeconfig=path))

    def routes(self, count: int) -> None:
        for number in range(count):
            self.kube.apply(manifests.route(f"r{number}"))

    def replica(self, verdict: Verdict = YES, canonical_hostname: str = "", workers: int = 1) -> Replica:
        self.replicas.append(
            Replica(self.kube, self.connection, self.clock, verdict, canonical_hostname, workers))
        return self.replicas[-1]

    def stranger(self) -> StatusWriter:
        """The writer of a router of the name that serves none of the Routes."""
        cluster = SimpleNamespace(
            route=lambda key: None, observe=lambda route: None, route_source=lambda: ROUTES)
        return StatusWriter(
            self.connection, cluster, StatusSettings(router_name="public", rate_per_s=1000),
            timing=StatusTiming(first_per_s=1000))

    def passes(self, count: int, between_s: float = PASS_S) -> None:
        """Time goes by, in which every router makes so many full passes."""
        for _ in range(count):
            self.clock.skipped_s += between_s
            for replica in self.replicas:
                replica.judge()
            self.settle()

    def settle(self) -> None:
        """Until nobody has anything to say to what is there now."""
        before = None

        def at_rest() -> bool:
            nonlocal before
            for replica in self.replicas:
                assert replica.writer.flush(DEADLINE_S)
            last, before = before, self._versions()
            return last == before and not any(replica.is_behind() for replica in self.replicas)

        until(at_rest, "they go on and on")

    def _versions(self) -> list[str]:
        return [obj["metadata"]["resourceVersion"] for obj in self.kube.list("Route")]

    def written(self) -> int:
        return sum(entry.method == "PATCH" and entry.status == 200 for entry in self.kube.log)

    def attempts(self) -> int:
        return sum(entry.method == "PATCH" for entry in self.kube.log)

    def untold(self) -> set[str]:
        """Routes without an entry."""
        return {obj["metadata"]["name"] for obj in self.kube.list("Route") if not obj["status"]["ingress"]}

    def entries(self) -> list[dict]:
        return [entry for obj in self.kube.list("Route") for entry in obj["status"]["ingress"]]


@pytest.fixture
def site(tmp_path):
    with FakeKube() as kube:
        new_site = Site(kube, tmp_path)
        yield new_site
        for replica in new_site.replicas:
            replica.stop()


def told(caplog) -> list[str]:
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


DIFFERENT = [
    pytest.param((NO, ""), (YES, ""), id="verdicts"),
    pytest.param((YES, "a.example.com"), (YES, "b.example.com"), id="canonical host names"),
]


@pytest.mark.parametrize(("older", "other"), DIFFERENT)
def test_they_do_not_fight(site, older, other, caplog):
    """Three Routes, two hours: each router writes a Route at most twice between passes, and tells it once."""
    site.routes(3)
    first, second = site.replica(*older), site.replica(*other)
    site.passes(1)
    assert site.written() <= 3 * 3  # created, written over, repaired once
    site.passes(24)
    assert site.written() <= 4 * 3 * 25
    assert len(site.entries()) == 3  # never a second entry
    assert 1 <= len(told(caplog)) <= 2
    assert all("another router of the same name" in text for text in told(caplog))
    assert first.writer.contended() + second.writer.contended() >= 1
    counts = first.writer.counts["contended"] + second.writer.counts["contended"]
    assert counts >= 1
    before = site.written()
    site.passes(20, between_s=1.0)  # passes for other reasons, one after the other
    assert site.written() - before <= 4 * 3


@pytest.mark.parametrize(("older", "other"), DIFFERENT)
def test_many_contended_routes_stop_the_rest(site, older, other):
    """Forty Routes: after a few of them all writing of existing entries stops for six minutes."""
    site.routes(40)
    site.replica(*older)
    site.replica(*other)
    site.passes(1)
    before = site.written()
    site.passes(10, between_s=StatusTiming().contention_s / 20)
    assert site.written() - before <= 40
    assert sum(replica.writer.counts["contended"] for replica in site.replicas) > 40
    # A new Route gets its status all the same.
    site.kube.apply(manifests.route("new"))
    site.settle()
    site.passes(1, between_s=1.0)
    assert site.kube.get("Route", "shop", "new")["status"]["ingress"]


def test_it_is_over_when_one_of_them_has_gone(site, caplog):
    """The one that stays has its way at the next pass, and says so."""
    caplog.set_level(logging.INFO)
    site.routes(2)
    stays, goes = site.replica(YES), site.replica(NO)
    site.passes(2)
    site.replicas.remove(goes)
    goes.stop()
    site.passes(8)
    assert {entry["conditions"][0]["status"] for entry in site.entries()} == {"True"}
    assert stays.writer.contended() == 0
    assert caplog.messages.count("no other router of the same name writes statuses") == 1
    before = site.written()
    site.passes(3)
    assert site.written() == before


def test_equal_replicas_share_the_work(site):
    """Sixty statuses are written sixty times: a conflict is not tried again, as the Route is read instead."""
    site.routes(60)
    for _ in range(3):
        site.replica(workers=STATUS_WORKERS)
    site.passes(1)
    assert site.written() == 60
    assert site.attempts() <= 3 * 60
    assert sum(replica.writer.counts["written"] for replica in site.replicas) == 60
    site.kube.clear_log()
    site.passes(3)
    assert site.attempts() == 0
    assert sum(replica.writer.contended() for replica in site.replicas) == 0


def test_one_that_starts_again_and_again(site):
    """It serves other Routes, and removes a few entries at every start, never more; they are put back.

    There are so many Routes that no sample consists of earlier ones only, which contend and stay without.
    """
    site.routes(200)
    site.replica()
    site.passes(1)
    for _ in range(4):
        stranger, before = site.stranger(), site.untold()

        def until_they_are_put_back(_, before=before) -> bool:
            removed = site.untold() - before
            site.kube.wait_for(lambda: removed - site.untold(), 10.0)
            site.kube.wait_for(lambda: not removed & site.untold(), 0.5)  # not what went before, too
            return False

        cleanup = EntryCleanup(site.connection, stranger, router_name="public", namespace=None,
                      wait=until_they_are_put_back)
        cleanup.run()
        assert stranger.counts["removed"] == PROBES
    site.passes(2)
    assert site.untold() == set()
