"""Endpoints of one tenant while something long goes on for another: nothing of it is waited for."""

import pytest

from tests import manifests
from tests.feature.test_loop import Running, admitted, pool


@pytest.fixture
def loop(lab):
    """A running router that serves Route a; what is held back is let go at the end."""
    made: list[Running] = []

    def start(**flags) -> Running:
        lab.apply(manifests.route("a"))
        made.append(Running(lab, **flags))
        made[0].wait(lambda: admitted(lab, "a") == "True")
        return made[0]

    yield start
    lab.bigip.clear_faults()
    lab.bigip.release()
    for one in made:
        one.stop()


HELD = {
    "a pool that is made": ("POST", "ltm/pool$"),
    "a draft": ("PATCH", "ltm/policy/~Common~openshift_insecure_routes$"),
    "a rule": ("POST", "/rules$"),
    "a publish": ("POST", "ltm/policy$"),
}


@pytest.mark.parametrize("held", HELD)
def test_members_are_programmed_while_a_request_hangs(lab, loop, held):
    """A request of another tenant's Route; what waited comes when it is let go."""
    router = loop()
    method, path = HELD[held]
    lab.bigip.inject("hold", method=method, path=path)
    lab.apply(*manifests.service("bank", "other", pods=("10.9.1.1",)),
              manifests.route("b", namespace="bank", host="b.com", service="other"))
    router.wait(lambda: lab.bigip.faults.waiting == 0)
    for number in (7, 8):
        lab.apply(manifests.endpoints("shop", "web", (f"10.1.1.{number}",)))
        router.wait(lambda number=number: pool(lab) == {f"10.1.1.{number}:8080"})
    assert not lab.admitted("bank", "b")
    lab.bigip.release()
    router.wait(lambda: lab.admitted("bank", "b").get("status") == "True")


def test_members_are_programmed_while_the_device_is_read(lab, loop):
    """What was read before they were written does not undo them, nor what is known of them."""
    router = loop(f5_resync_interval="1s")
    lab.bigip.inject("hold", method="GET", path="ltm/virtual/~Common~ose-vserver")
    router.wait(lambda: lab.bigip.faults.waiting == 0)
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    router.wait(lambda: pool(lab) == {"10.1.1.9:8080"})
    lab.clear()
    lab.bigip.release()
    lab.apply(manifests.route("b", host="b.com"))
    router.wait(lambda: admitted(lab, "b") == "True")
    assert not [path for _, path in lab.writes() if "ltm/pool/" in path]
    # Back to what the reading had seen: that is a change.
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.1", "10.1.1.2")))
    router.wait(lambda: pool(lab) == {"10.1.1.1:8080", "10.1.1.2:8080"})


def test_a_pool_that_nobody_wants_any_more_follows_its_pods(lab, loop):
    """Its Rule goes after what comes; until then requests may come to it."""
    router = loop()
    lab.bigip.inject("hold", method="POST", path="/rules$")
    lab.kube.delete("Route", "shop", "a")
    lab.apply(*manifests.service("bank", "other", pods=("10.9.1.1",)),
              manifests.route("b", namespace="bank", host="b.com", service="other"))
    router.wait(lambda: lab.bigip.faults.waiting == 0)
    if pool(lab):
        lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
        router.wait(lambda: pool(lab) in ({"10.1.1.9:8080"}, set()))
    lab.bigip.release()
    router.wait(lambda: lab.admitted("bank", "b").get("status") == "True" and not pool(lab))
