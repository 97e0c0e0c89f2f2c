"""The periodic reading of the BIG-IP: it finds drift, judges nothing that is newer, and delays no change."""

import pytest

from f5router.icontrol.dispatcher import Lane
from tests import manifests
from tests.waiting import until

PERIOD_S = 300
LAST = "ltm/virtual/~Common~ose-vserver"
"""Read when all collections have been read."""


@pytest.fixture
def router(lab, serving):
    """A router that has loaded Routes, and has read the BIG-IP again."""
    lab.apply(manifests.route("b", host="b.example.com"),
              manifests.route("c", host="c.example.com", kind="edge"))
    running = serving()
    running.wait(lambda: all(lab.admitted("shop", name).get("status") == "True" for name in "abc"))
    read_again(lab, running)
    return running


def read_again(lab, running) -> None:
    """Let the period pass, and wait for the end of the reading."""
    controller = running.router
    before = len(reads(lab))
    lab.later(PERIOD_S)
    controller.inbox.wake()
    until(lambda: len(reads(lab)) > before and not controller.upkeep.drift.is_active
          and not controller.reconciler.reader.reason and controller.next_turn_at() > lab.clock())


def reads(lab) -> list:
    """The readings of the BIG-IP, by one of their requests."""
    return [entry for entry in lab.bigip.log if (entry.method, entry.path) == ("GET", "/mgmt/tm/ltm/pool")]


def selected(lab) -> list:
    """The readings of names and generations."""
    return [entry for entry in reads(lab) if "$select" in entry.query]


def hold_reading(lab, running) -> None:
    """Begin a reading that hangs when it has all but its end."""
    held = lab.bigip.held
    lab.bigip.inject("hold", method="GET", path=LAST)
    lab.later(PERIOD_S)
    running.router.inbox.wake()
    until(lambda: lab.bigip.held > held)


def pool(lab) -> str:
    """Path of the pool of the Service."""
    (path,) = lab.pools()
    return path


def test_drift_is_fixed(lab, router):
    """Each object that somebody changed, added or deleted costs one write; nothing else is written."""
    path = f"ltm/pool/{pool(lab).replace('/', '~')}"
    lab.change("PATCH", path, {"members": [{"name": "192.0.2.1:8080", "address": "192.0.2.1"}]})
    lab.change("PATCH", "ltm/virtual/~Common~ose-vserver", {"rules": []})
    lab.change("POST", "ltm/pool", {"name": "theirs", "partition": "Common"})
    lab.clear()
    counts = router.router.reconciler.drift
    assert not counts.detected

    def fixes() -> list[tuple[str, str]]:
        return sorted(write for write in lab.writes() if "/ltm/node/" not in write[1])  # that of 192.0.2.1

    read_again(lab, router)
    expected = [("PATCH", f"/mgmt/tm/{path}"), ("PATCH", "/mgmt/tm/ltm/virtual/~Common~ose-vserver")]
    until(lambda: fixes() == expected)
    read_again(lab, router)
    assert fixes() == expected
    assert counts.detected == counts.fixed
    assert (counts.detected["ltm/pool"], set(counts.detected)) == (1, {"ltm/pool", "ltm/virtual/attachment"})
    assert "/Common/theirs" in lab.paths("ltm/pool")


DRAFT = "/mgmt/tm/ltm/policy/~Common~Drafts~openshift_insecure_routes"


def test_a_draft_that_is_being_filled_stays(lab, router):
    """A reading takes away what a failure has left, but not what a write needs that goes on."""
    hold_reading(lab, router)
    lab.apply(manifests.route("d", host="d.example.com"))
    router.wait(lambda: lab.admitted("shop", "d").get("status") == "True")
    lab.clear()
    lab.bigip.inject("hold", times=None, method="POST", path="/rules$")
    lab.apply(manifests.route("e", host="e.example.com"), manifests.route("f", host="f.example.com"))
    router.wait(lambda: lab.bigip.held == 2)
    lab.bigip.release()
    router.wait(lambda: lab.bigip.held == 3 and not router.router.upkeep.drift.is_active)
    router.wait(lambda: not router.router.device.dispatcher.in_flight(Lane.OTHER))
    assert ("DELETE", DRAFT) not in lab.writes()
    lab.bigip.clear_faults()
    lab.bigip.release()
    router.wait(lambda: all(lab.admitted("shop", name).get("status") == "True" for name in "ef"))


def test_no_draft_is_made_while_old_ones_go(lab, serving):
    """Its delete would take the new one instead, which has the same name."""
    lab.bigip.inject("hold", method="DELETE", path=DRAFT)
    lab.apply(manifests.route("a"))
    assert lab.converge(lab.router()) == []
    lab.change("PATCH", "ltm/policy/~Common~openshift_insecure_routes", {"createDraft": True})
    lab.clear()
    running = serving()
    running.wait(lambda: lab.bigip.held == 1)
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)),
              manifests.route("d", host="d.example.com"))
    reconciler = running.router.reconciler
    running.wait(lambda: running.router.cluster.pending() == 0 and not reconciler.work
                 and reconciler.rollouts.is_due and reconciler.rollouts.current is None
                 and any("~openshift_shop_web" in path for _, path in lab.writes()))
    assert not [path for _, path in lab.writes() if path.endswith("/rules")]
    lab.bigip.release()
    running.wait(lambda: lab.admitted("shop", "d").get("status") == "True")


def test_generations_are_a_hint(lab, serving):
    """A changed object is fixed long before the next reading is due; without a change nothing is read."""
    running = serving(f5_drift_interval="45s")
    controller, path = running.router, f"ltm/pool/{pool(lab).replace('/', '~')}"

    def look() -> int:
        """Let names and generations be read once; returns the readings of everything so far."""
        before = len(selected(lab))
        lab.later(45)
        controller.inbox.wake()
        until(lambda: len(selected(lab)) > before and not controller.upkeep.hint.is_looking
              and controller.next_turn_at() > lab.clock())
        until(lambda: not controller.upkeep.drift.is_active and controller.next_turn_at() > lab.clock())
        return len(reads(lab)) - len(selected(lab))

    first = look()
    lab.apply(manifests.route("z", host="z.example.com"))
    running.wait(lambda: lab.admitted("shop", "z").get("status") == "True")
    assert look() == first, "the router's own writes are no hint"
    lab.change("PATCH", path, {"members": []})
    lab.clear()
    look()
    until(lambda: len(reads(lab)) - len(selected(lab)) == 1)  # it begins after the hint was taken
    until(lambda: lab.writes() == [("PATCH", f"/mgmt/tm/{path}")])
    assert look() == 1


def test_readings_are_measured(lab, serving):
    """The next ones take place by their cost."""
    running = serving(f5_drift_interval="45s")
    controller = running.router
    lab.later(45)
    controller.inbox.wake()
    until(lambda: controller.upkeep.hint.pace.cpu_s > 0)
    read_again(lab, running)
    until(lambda: controller.upkeep.drift.pace.cpu_s > 0)
    assert (controller.upkeep.hint.pace.interval_s, controller.upkeep.drift.pace.interval_s) == (45, PERIOD_S)


def test_changes_do_not_wait_for_a_reading(lab, router):
    """Routes come and go while a reading hangs. What it has read of them is older, and is not judged."""
    hold_reading(lab, router)
    lab.clear()
    lab.apply(*manifests.service("shop", "new", pods=("10.1.1.9",)),
              manifests.route("d", host="d.example.com", service="new"))
    lab.kube.delete("Route", "shop", "b")
    router.wait(lambda: lab.admitted("shop", "d").get("status") == "True")
    router.wait(lambda: ("POST", "/mgmt/tm/ltm/pool") in lab.writes())
    assert router.router.upkeep.drift.is_active
    until(lambda: router.router.next_turn_at() > lab.clock())
    writes = lab.writes()
    lab.bigip.release()
    until(lambda: not router.router.upkeep.drift.is_active)
    read_again(lab, router)
    assert lab.writes() == writes


def test_reading_that_fails(lab, router):
    """The BIG-IP is read as a whole, and what differs is fixed."""
    path = f"ltm/pool/{pool(lab).replace('/', '~')}"
    hold_reading(lab, router)
    lab.change("PATCH", path, {"members": []})
    lab.bigip.inject("404-not-registered", method="GET", path="/mgmt/tm/sys/ready")
    lab.clear()
    lab.bigip.release()
    router.wait(lambda: lab.writes() == [("PATCH", f"/mgmt/tm/{path}")])


def test_a_stop_does_not_wait_for_a_reading(lab, router):
    """Nobody needs its result: neither of a periodic one, nor of one that is to end a doubt."""
    hold_reading(lab, router)
    lab.bigip.inject("hold", method="GET", path=LAST)
    router.router.inbox.put(lambda: router.router.reconciler.must_read("a test"))
    until(lambda: lab.bigip.held == 2)
    router.stop()
    router.router.close()
    assert lab.bigip.held == 2
