"""The first reading of a router: facts come first, and the objects of Hosts are built by them."""

import cProfile
import pstats

import pytest

from f5router.model.cluster import Key
from tests import manifests
from tests.builders import identity
from tests.feature.test_loop import admitted, pool
from tests.waiting import until

pytestmark = pytest.mark.bare

ONE = identity()


def built(profile: cProfile.Profile) -> int:
    """How often the objects of a Host were built."""
    calls = pstats.Stats(profile).stats
    return sum(counts[1] for (_, _, name), counts in calls.items() if name == "add_certificate")


def test_each_host_is_built_once(lab):
    """Also where a virtual server has other ports and profiles than one would assume; nothing is written."""
    lab.change("PATCH", "ltm/virtual/~Common~ose-vserver", {"destination": "10.0.0.1:8080"})
    lab.apply(*(manifests.route(f"r{number}", host=f"{number}.com", kind="edge", certificate=ONE.certificate,
                                key=ONE.key) for number in range(9)),
              *manifests.service("shop", "web", pods=("10.1.1.1",)))
    assert lab.converge() == []
    lab.clear()
    router = lab.router()
    with cProfile.Profile() as profile:
        assert lab.converge(router) == []
    assert built(profile) == 9
    assert lab.writes() == []


@pytest.mark.parametrize("path", ["/ltm/virtual", "/ltm/policy"], ids=["facts", "objects"])
def test_changes_during_the_first_reading(lab, running, path):
    """They count, wherever the reading has come to."""
    lab.apply(manifests.route("a"), manifests.route("b", host="b.com"),
              *manifests.service("shop", "web", pods=("10.1.1.1",)))
    assert lab.converge() == []
    before = lab.bigip.held
    lab.bigip.inject("hold", method="GET", path=path)
    router = running()
    try:
        until(lambda: lab.bigip.held > before)
        lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)), manifests.route("c", host="c.com"))
        lab.kube.delete("Route", "shop", "b")
        until(lambda: router.router.cluster.route(Key("shop", "b")) is None)
        until(lambda: router.router.cluster.route(Key("shop", "c")) is not None)
    finally:
        lab.bigip.release()
    router.wait(lambda: admitted(lab, "c") == "True" and pool(lab) == {"10.1.1.9:8080"})
    router.wait(lambda: rules(lab) == {"openshift_route_shop_a", "openshift_route_shop_c"})


def rules(lab) -> set[str]:
    """Names of the Rules of Routes on port 80."""
    policy = lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes")
    names = {rule["name"] for rule in policy["rulesReference"]["items"]}
    return {name for name in names if name.startswith("openshift_route_")}


@pytest.mark.parametrize("path", ["/ltm/virtual", "/ltm/policy"], ids=["facts", "objects"])
def test_a_bigip_that_cannot_be_read(lab, running, path):
    """Routes that nobody can serve get their status all the same."""
    lab.apply(manifests.route("a"), manifests.route("b", created="2026-01-02T00:00:00Z"),
              *manifests.service("shop", "web", pods=("10.1.1.1",)))
    lab.bigip.inject("503-html", times=None, method="GET", path=path)
    router = running(retry_s=0.0)
    router.wait(lambda: lab.admitted("shop", "a").get("reason") == "DevicePending")
    router.wait(lambda: lab.admitted("shop", "b").get("reason") == "HostAlreadyClaimed")
    lab.bigip.clear_faults()
    router.wait(lambda: admitted(lab, "a") == "True")
