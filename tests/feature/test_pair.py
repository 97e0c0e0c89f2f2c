"""One router for both units of a pair: only the active one is written to, whatever happens meanwhile."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from f5router.app import once
from mocks.bigip import FakeBigIP, refusals, replies, unit
from mocks.bigip.listener import Outcome
from mocks.bigip.pair import Pair
from tests import manifests, pump
from tests.builders import identity
from tests.feature.test_monitor import Served
from tests.waiting import DEADLINE_S, until

IDENTITIES = identity(), identity(serial=2)
RULES = "ltm/policy/~Common~openshift_insecure_routes"


class PairLab:
    """Both units, and the flags of a router for them."""

    def __init__(self, lab, second: FakeBigIP, bundle, **pair):
        self.lab, self.pair = lab, Pair(lab.bigip, second, **pair)
        bundle.write_text("".join(Path(big.ca_file).read_text() for big in self.pair.units))
        self.flags = {"f5_host": ",".join(big.address for big in self.pair.units),
                      "f5_ca_bundle": str(bundle)}

    def hosts(self, big: FakeBigIP) -> str:
        """Text of the Rules of a unit."""
        return str(big.get(RULES))

    def written(self, big: FakeBigIP) -> list[str]:
        """Paths of the writes that a unit got; the removal of a private key from its disk is none."""
        return [entry.path for entry in big.writes() if not entry.path.endswith("/util/unix-rm")]

    def clear(self) -> None:
        for big in self.pair.units:
            big.clear_log()

    def on_write(self, number: int, action) -> None:
        """Let something happen right after the write of this number, from 1; once."""
        lock, seen = threading.Lock(), []

        def note(_entry) -> None:
            with lock:
                seen.append(1)
                due = len(seen) == number
            if due:
                action()

        for big in self.pair.units:
            big.on_write = note


@pytest.fixture
def joined(lab, tmp_path):
    """A pair whose second unit has a copy of the configuration."""
    lab.timing = replace(lab.timing, failover_s=0.1, failover_fresh_s=0.0, look_s=DEADLINE_S)
    with FakeBigIP() as second:
        yield PairLab(lab, second, tmp_path / "both.crt")
        assert [*lab.bigip.errors, *second.errors] == []


def test_only_the_active_unit_is_written_to(lab, joined):
    """Whichever that is at the start; after a failover the other one gets what it lacks, and is saved."""
    pair = joined.pair
    lab.apply(manifests.route("a"))
    pair.fail_over()
    router = lab.router(**joined.flags)
    assert lab.converge(router) == []
    assert joined.written(lab.bigip) == []
    assert "openshift_route_shop_a" in joined.hosts(pair.units[1])
    joined.clear()
    pair.fail_over()
    assert lab.converge(router) == []
    assert joined.written(pair.units[1]) == []
    assert not any(entry.method == "POST" for entry in list(pair.units[1].log))
    assert "openshift_route_shop_a" in joined.hosts(lab.bigip)
    assert any(entry.path.endswith("sys/config") for entry in list(lab.bigip.log))
    joined.clear()
    assert lab.converge(router) == []
    assert [joined.written(big) for big in pair.units] == [[], []]


@pytest.mark.parametrize(("way", "step"), [("fails over", 1), ("dies", 3)])
def test_a_failover_at_each_write_of_a_load(lab, joined, way, step):
    """The pass ends there; then the new active unit is read, and gets the difference and no more."""
    pair = joined.pair
    router = lab.router(f5_max_in_flight="1", retry_s=0.0, **joined.flags)
    assert lab.converge(router) == []
    for number in range(1, 40, step):
        old, hosts = pair.active, [f"{name}{number}.com" for name in "ac"]

        def lose(old=old) -> None:
            for big in pair.units:
                big.on_write = None
            if way == "dies":
                old.inject("drop-request", times=None)
            pair.fail_over()
            old.clear_log()

        joined.on_write(number, lose)
        who = IDENTITIES[number % 2]
        lab.apply(*manifests.service("shop", f"web{number}", pods=(f"10.1.2.{number}",)),
                  manifests.route("a", host=hosts[0], service=f"web{number}"),
                  manifests.route("b", host="b.com", kind="edge", certificate=who.certificate, key=who.key),
                  manifests.route("c", host=hosts[1], insecure="Redirect", kind="edge"))
        until(lambda hosts=hosts: lab.converge(router) == [] and all(
            host in joined.hosts(pair.active) for host in hosts))
        if old is pair.active:
            break  # the load has fewer writes
        assert joined.written(old) == []
        assert once.unconverged_reason(router) == ""
        old.clear_faults()
    assert number > 10


@pytest.mark.parametrize("way", ["a token that has ended", "a sporadic 403"])
def test_a_failover_before_the_second_attempt_of_a_write(lab, joined, way):
    """The second attempt asks again, and is not sent to what is a standby by then."""
    lab.timing = replace(lab.timing, failover_s=DEADLINE_S)  # nothing but the write itself asks in time
    router = lab.router(f5_max_in_flight="1", **joined.flags)
    assert lab.converge(router) == []
    first, second = joined.pair.units
    joined.clear()
    arrived = []

    def intercept(request, perform):
        if request.method == "GET" or "/ltm/" not in request.path:
            return perform()
        arrived.append(request.path)
        if len(arrived) == 1:
            joined.pair.fail_over()
            if way == "a token that has ended":
                first.tokens.clear()
            else:
                return Outcome(replies.refused(
                    refusals.java(403, "Forbidden"), version=first.store.version, sender="127.0.0.1"))
        return perform()

    first.intercept = intercept
    lab.apply(manifests.route("a"), *manifests.service("shop", "web", pods=("10.1.1.1",)))
    lab.converge_events(router, seen=("shop", "a"))
    until(lambda: lab.converge(router) == [])
    assert len(arrived) == 1
    assert first.get("ltm/pool/~Common~openshift_shop_web") is None
    assert "openshift_route_shop_a" in joined.hosts(second)


@pytest.mark.parametrize(("states", "reason"), [
    pytest.param(("STANDBY", "STANDBY"), "the unit is STANDBY; ", id="both standby"),
    pytest.param((unit.ACTIVE, unit.ACTIVE), "are both active", id="both active"),
    pytest.param(("STANDBY", "FORCED OFFLINE"), "the unit is FORCED OFFLINE", id="none"),
])
def test_no_unit_is_written_to_while_it_is_not_clear_which_is_active(lab, joined, states, reason):
    """Readiness has the reason and the metrics the states; no pass counts as failed; then all is written."""
    joined.pair.set(*states)
    joined.clear()
    lab.apply(manifests.route("a"))
    served = Served(lab, lab.stack, **joined.flags)
    assert served.router.cluster.wait_synced(DEADLINE_S)
    pump.attempt(served.router)
    text = served.get("/readyz").text
    assert served.missing() == {"bigip-active", "has-synced"}
    assert all(words in text for words in (reason, *(big.address for big in joined.pair.units)))
    assert served.metric("f5router_bigip_active") == 0
    assert served.metric("f5router_reconcile_failures_total") == 0
    assert [served.metric("f5router_bigip_unit_active", unit=big.address) for big in joined.pair.units] == [
        state == unit.ACTIVE for state in states]
    assert [joined.written(big) for big in joined.pair.units] == [[], []]
    joined.pair.set("STANDBY", unit.ACTIVE)
    pump.attempt(served.router)
    assert (served.missing(), served.metric("f5router_bigip_active")) == (set(), 1)
    assert joined.written(lab.bigip) == []


def test_no_unit_answers(lab, joined):
    """The pass fails, with a reason for each unit."""
    for big in joined.pair.units:
        big.inject("drop-request", times=None)
    lab.apply(manifests.route("a"))
    served = Served(lab, lab.stack, **joined.flags)
    assert served.router.cluster.wait_synced(DEADLINE_S)
    pump.attempt(served.router)
    assert {"bigip-reached", "has-synced"} <= served.missing()
    text = served.get("/readyz").text
    assert all(f"{big.address}: the connection was closed" in text for big in joined.pair.units)
    for big in joined.pair.units:
        big.clear_faults()
    pump.attempt(served.router)
    assert served.missing() == set()


@pytest.mark.bare
def test_a_load_stops_when_both_become_active(lab, joined):
    """Units that do not hear each other: what was under way is all that is still written."""
    lab.apply(*(manifests.route(f"r{number}", host=f"h{number}.com") for number in range(20)))
    router = lab.router(**joined.flags)

    def split() -> None:
        for big in joined.pair.units:
            big.on_write = None
        joined.pair.set(unit.ACTIVE, unit.ACTIVE)
        router.device.pair.units[1].failover.check()  # as its thread does every 5 s
        joined.clear()

    joined.on_write(5, split)
    (reason,) = lab.converge(router)
    assert "active" in reason
    assert len(joined.written(lab.bigip)) <= 4
    assert joined.written(joined.pair.units[1]) == []


@pytest.mark.parametrize("groups", [True, False], ids=["shown", "not shown"])
def test_each_unit_is_active_for_a_traffic_group_of_its_own(lab, joined, groups):
    """The one that is active for the group of our folder is written to, if the units tell."""
    first, second = joined.pair.units
    first.set_failover(unit.ACTIVE, active_for=["/Common/traffic-group-2"] if groups else [])
    second.set_failover(unit.ACTIVE, active_for=["/Common/traffic-group-1"] if groups else [])
    joined.clear()
    lab.apply(manifests.route("a"))
    reasons = lab.converge(**joined.flags)
    assert joined.written(first) == []
    assert bool(joined.written(second)) == (not reasons) == groups


def test_the_loop_follows_a_failover(lab, joined, running):
    """Also while a write hangs on the unit that was active: it is given up at once."""
    lab.apply(manifests.route("a"))
    router = running(**joined.flags)
    router.wait(lambda: lab.admitted("shop", "a").get("status") == "True")
    first, second = joined.pair.units
    first.inject("hold", times=None, path="/ltm/")
    lab.apply(manifests.route("b", host="b.com"))
    router.wait(lambda: first.held > 0)
    first.clear_log()
    joined.pair.fail_over()
    router.wait(lambda: lab.admitted("shop", "b").get("status") == "True")
    assert "openshift_route_shop_b" in joined.hosts(second)
    first.clear_faults()
    first.release()
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    router.wait(lambda: "10.1.1.9" in str(second.get("ltm/pool/~Common~openshift_shop_web")))
    joined.pair.fail_over()
    router.wait(lambda: "10.1.1.9" in str(first.get("ltm/pool/~Common~openshift_shop_web")))


def test_a_unit_that_reboots(lab, joined):
    """It comes back with what it had saved; when it is active again it is read and brought up to date."""
    first, second = joined.pair.units
    router = lab.router(f5_config_sync="push", **joined.flags)
    lab.apply(manifests.route("a"))
    assert lab.converge(router) == []
    assert joined.pair.are_equal()
    joined.pair.crash(first)
    lab.apply(manifests.route("b", host="b.com"))
    lab.converge_events(router, seen=("shop", "b"))
    assert lab.converge(router) == []
    joined.pair.boot(first, conflict=True)
    joined.clear()
    lab.apply(manifests.route("c", host="c.com"))
    lab.converge_events(router, seen=("shop", "c"))
    assert lab.converge(router) == []
    assert joined.written(first) == []
    assert (first.unit.overwritten, second.unit.overwritten) == (0, 0)
    notes = {check.name: check.note for check in router.monitor.health.ready()}
    assert "changes on several units" in notes["config-sync"]
    joined.pair.fail_over()
    joined.clear()
    assert lab.converge(router) == []
    assert joined.written(second) == []
    assert all(f"openshift_route_shop_{name}" in joined.hosts(first) for name in "abc")
