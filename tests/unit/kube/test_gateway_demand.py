"""Looks for a GatewayClass of the router: what each answer of the API server means, before and after."""

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from f5router.kube.api.connection import Connection, connect
from f5router.kube.settings import KubeSettings, WatchTiming
from f5router.kube.watch.gateway_demand import GatewayDemand, settled
from f5router.model.errors import KubeForbidden
from f5router.model.gateway import GATEWAY
from f5router.model.limits import Backoff
from f5router.sources.settings import SourceSettings
from mocks.kube import FakeKube
from tests.gateways import gateway_class
from tests.rows import rows
from tests.waiting import until

API = "/apis/gateway.networking.k8s.io"
OPEN = SourceSettings(on_demand=True)
QUICK = WatchTiming(absent_s=0.02, absent_soon_s=0.02, backoff=Backoff(first_s=0.02, limit_s=0.02))
OWN, OTHER = gateway_class(), gateway_class("nginx", "example.com/other")


@contextmanager
def cluster(folder, release: str = "v1.6") -> Iterator[tuple[FakeKube, Connection]]:
    with FakeKube(gateway_api=release) as kube:
        kube.write_kubeconfig(folder / "config")
        yield kube, connect(KubeSettings(kubeconfig=str(folder / "config")))


class Watched:
    """A GatewayDemand that has begun, and what it says."""

    def __init__(self, connection: Connection, sources: SourceSettings = OPEN):
        self.said: list[str] = []
        self.demand = GatewayDemand(
            connection, sources, QUICK, on_settled=lambda: self.said.append("settled"))
        self.demand.on_found = self._found
        self.demand.start()

    def _found(self) -> bool:
        self.said.append("found")
        return True


@pytest.fixture
def kube(tmp_path):
    with cluster(tmp_path) as (kube, connection):
        kube.connection = connection
        yield kube


@rows(("objects", "fault", "times", "said"), [
    ((OWN,), "", 0, ["found"]),
    ((OTHER,), "", 0, ["settled"]),
    ((), "", 0, ["settled"]),
    ((OWN,), "404", 5, ["found"]),
    ((OWN,), "500", 4, ["found"]),
    ((OTHER,), "401", 30, ["settled"]),
    ((OWN,), "drop", 4, ["found"]),
    ((OTHER,), "500", 4, ["settled"])])
def test_what_is_said_first(tmp_path, objects, fault, times, said):
    """An API server that starts may have errors, or not know its custom resources yet."""
    with cluster(tmp_path) as (kube, connection):
        kube.apply([*objects])
        if fault:
            kube.inject(fault, path=API, times=times)
        watched = Watched(connection)
        until(lambda: watched.said)
        assert watched.said == said
        assert watched.demand.is_settled == (said == ["settled"])
        watched.demand.stop()


def test_a_class_that_comes(kube):
    watched = Watched(kube.connection)
    until(lambda: watched.said)
    kube.apply([OTHER])
    kube.apply([OWN])
    until(lambda: watched.said == ["settled", "found"])


def test_a_right_that_is_missing(kube):
    """At a start, what was served with it is not known; one that goes later changes nothing."""
    kube.apply([OTHER])
    later = Watched(kube.connection)
    until(lambda: later.said)
    kube.forbid("gatewayclasses")
    early = Watched(kube.connection)
    until(lambda: early.said == ["found"])
    looks = len(kube.log)
    until(lambda: len(kube.log) > looks + 12)
    assert later.said == ["settled"]
    later.demand.stop()


def test_a_right_that_comes_in_time(kube):
    kube.apply([OTHER])
    for fault in ("403", "500", "403", "404", "403", "403"):
        kube.inject(fault, path=f"{API}/v1/gatewayclasses")
    watched = Watched(kube.connection)
    until(lambda: watched.said)
    assert watched.said == ["settled"]
    watched.demand.stop()


@pytest.mark.parametrize("release", ["none", "v0.8", "v1.6"])
def test_releases(tmp_path, release):
    with cluster(tmp_path, release) as (kube, connection):
        watched = Watched(connection)
        until(lambda: watched.said == ["settled"])
        if release != "none":
            api = {"v0.8": "v1beta1"}.get(release, "v1")
            kube.apply([OWN | {"apiVersion": f"gateway.networking.k8s.io/{api}"}])
            until(lambda: watched.said == ["settled", "found"])
        watched.demand.stop()


def test_settings_that_leave_nothing_open(kube):
    kube.apply([OWN])
    watched = Watched(kube.connection, SourceSettings())
    assert watched.demand.is_settled
    assert watched.demand.missing() == ()
    watched.demand.stop()
    assert not [entry for entry in kube.log if API in entry.path]


@pytest.mark.parametrize("fault", ["500", "422", "401"])
def test_nothing_is_known_until_the_first_answer(kube, fault):
    kube.inject(fault, path=API, times=None)
    watched = Watched(kube.connection)
    until(lambda: sum(API in entry.path for entry in kube.log) > 3 and ": " in watched.demand.missing()[0])
    assert (watched.said, watched.demand.is_settled) == ([], False)
    (missing,) = watched.demand.missing()
    assert missing.startswith("gatewayclasses are not listed yet: GET /apis/gateway.networking.k8s.io/v1")
    assert f": {fault} " in missing
    watched.demand.stop()


class Faulty(Connection):
    """A connection on which requests of discovery fail, a few times."""

    def __init__(self, of: Connection, times: float, error: Exception):
        self.outages, self._of, self._times, self._error = of.outages, of, times, error

    def request(self, *args, **kwargs):
        self._times -= 1
        if self._times >= 0:
            raise self._error
        return self._of.request(*args, **kwargs)

    def page(self, *args, **kwargs):
        return self._of.page(*args, **kwargs)


def test_a_mistake_does_not_end_the_looks(kube):
    kube.apply([OWN])
    watched = Watched(Faulty(kube.connection, 3, AssertionError("a mistake")))
    until(lambda: watched.said == ["found"])


def test_discovery_that_is_forbidden(tmp_path):
    """The list alone shows what is served."""
    with cluster(tmp_path, "none") as (_, connection):
        connection = Faulty(connection, math.inf, KubeForbidden("GET /apis: 403"))
        watched = Watched(connection)
        until(lambda: watched.said)
        assert watched.said == ["settled"]
        assert settled(connection, OPEN) == SourceSettings()
        watched.demand.stop()


def test_a_router_that_cannot_start_anew_is_asked_again(kube):
    kube.apply([OWN])
    answers = [True, False, False]
    demand = GatewayDemand(kube.connection, OPEN, QUICK, on_settled=lambda: None)
    demand.on_found = answers.pop
    demand.start()
    until(lambda: not answers)
    demand.stop()


@rows(("objects", "fault", "kinds", "on_demand"), [
    ((OWN,), "", True, False),
    ((OTHER,), "", False, False),
    ((OWN,), "403", True, False),
    ((OWN,), "404", False, False),
    ((OWN,), "500", False, True)])
def test_settings_of_a_command(tmp_path, objects, fault, kinds, on_demand):
    with cluster(tmp_path) as (kube, connection):
        kube.apply([*objects])
        if fault:
            kube.inject(fault, path=API, times=None)
        sources = settled(connection, OPEN)
        assert (GATEWAY in sources.kinds, sources.on_demand) == (kinds, on_demand)
        assert [each.at for each in connection.outages.findings()] == ([fault] if fault == "500" else [])
        assert settled(connection, SourceSettings()) == SourceSettings()
