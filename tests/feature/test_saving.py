"""Saving the configuration, and removing LTM nodes: beside what has to be programmed, never before it."""

from dataclasses import replace

import pytest

from tests import manifests
from tests.feature.running import Running
from tests.feature.test_loop import admitted, pool

pytestmark = pytest.mark.bare

SAVE = "sys/config"


@pytest.fixture
def loop(lab, running):
    """Start the running router, which saves soon; stopped at the end."""
    lab.timing = replace(lab.timing, settle_s=0.2, busy_s=0.05)
    yield running
    lab.bigip.clear_faults()
    lab.bigip.release()


def saves(lab) -> int:
    return sum(entry.path.endswith(SAVE) for entry in list(lab.bigip.log))


def saving(lab, loop, **flags) -> Running:
    """A router whose save hangs."""
    lab.bigip.inject("hold", path=SAVE)
    lab.apply(manifests.route("a"))
    router = loop(**flags)
    router.wait(lambda: admitted(lab, "a") == "True")
    router.wait(lambda: lab.bigip.faults.waiting == 0)
    return router


@pytest.mark.parametrize("in_flight", ["1", "4"])
def test_members_are_programmed_during_a_save(lab, loop, in_flight):
    """Also when one request at a time is allowed. Writes meanwhile are saved once, afterwards."""
    router = saving(lab, loop, f5_max_in_flight=in_flight)
    for number in (7, 8, 9):
        lab.apply(manifests.endpoints("shop", "web", (f"10.1.1.{number}",)))
        router.wait(lambda number=number: pool(lab) == {f"10.1.1.{number}:8080"})
    assert saves(lab) == 0, "the save was not to end"
    lab.bigip.release()
    router.wait(lambda: saves(lab) == 2)


def test_a_device_that_is_busy_while_it_saves(lab, loop, caplog):
    """A refused save is sent again a moment later: nothing is read anew, and no failure is reported."""
    router = saving(lab, loop)
    lab.clear()
    lab.bigip.inject("503-async", times=2, path="ltm/pool")
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)), manifests.route("b", host="b.com"))
    router.wait(lambda: pool(lab) == {"10.1.1.9:8080"} and admitted(lab, "b") == "True")
    assert [entry.path for entry in lab.bigip.log if entry.method == "GET" and "/cm/" not in entry.path] == []
    assert not [record for record in caplog.records if "not programmed" in record.getMessage()]
    (reached,) = (check for check in router.router.monitor.health.ready() if check.name == "bigip-reached")
    assert not reached.problem


def test_a_save_that_fails_is_tried_again(lab, loop, caplog):
    lab.bigip.inject("refuse", times=2, path=SAVE, message="no space left on device", code="01071770")
    lab.apply(manifests.route("a"))
    router = loop()
    router.wait(lambda: saves(lab) == 3)
    router.stop()
    assert saves(lab) == 3
    told = [record.error for record in caplog.records if "not saved" in record.getMessage()]
    assert len(told) == 2
    assert "no space left" in told[0]


def test_the_end_waits_for_a_save_and_saves_what_came_since(lab, loop):
    router = saving(lab, loop)
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    router.wait(lambda: pool(lab) == {"10.1.1.9:8080"})
    router.begin_stop()
    assert saves(lab) == 0
    lab.bigip.release()
    router.stop()
    assert saves(lab) == 2


def test_members_are_programmed_while_nodes_are_removed(lab, loop):
    """A few nodes at a time; events go first."""
    lab.timing = replace(lab.timing, tidy_most=5)
    many = tuple(f"10.1.7.{number}" for number in range(1, 101))
    lab.apply(*manifests.service("shop", "many", pods=many), manifests.route("many", service="many"),
              manifests.route("a", host="a.com"))
    router = loop()
    router.wait(lambda: admitted(lab, "a") == admitted(lab, "many") == "True")
    writes: list[str] = []

    def gone(request) -> None:
        if "ltm/node" in request.path:
            writes.append("node")
            if len(writes) == 10:
                # As the watch hears of it: the event is there before the answer to this request.
                lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
        elif "openshift_shop_web" in request.path and writes:
            writes.append("pool")
        router.wake(request)

    lab.bigip.on_write = gone
    lab.apply(manifests.endpoints("shop", "many", ()))
    router.wait(lambda: lab.paths("ltm/node") == {"/Common/10.1.1.9"})
    assert len(writes) == 103
    assert 10 <= writes.index("pool") < 60


def test_the_end_removes_nodes_although_a_reply_is_lost(lab, loop):
    """One spoiled reply then is no reason to leave them to nobody."""
    lab.timing = replace(lab.timing, settle_s=60.0)
    lab.apply(manifests.route("a"))
    router = loop()
    router.wait(lambda: admitted(lab, "a") == "True")
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.7",)))
    router.wait(lambda: pool(lab) == {"10.1.1.7:8080"})
    lab.bigip.inject("html-200", method="GET", path="/mgmt/tm/ltm/node")
    router.stop()
    assert lab.bigip.faults.waiting == 0
    assert lab.paths("ltm/node") == {"/Common/10.1.1.7"}
