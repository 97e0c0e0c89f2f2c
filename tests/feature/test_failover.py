"""A unit of a pair: nothing is written to a standby, which would take it."""

import json
import logging
import threading
from dataclasses import replace

import pytest

from f5router.app.timing import SyncTiming
from f5router.model.cluster import Key
from mocks.bigip import FakeBigIP, unit
from tests import manifests, pump
from tests.feature.test_monitor import Served
from tests.waiting import DEADLINE_S, until

SUBJECT = "failover state of the BIG-IP"


@pytest.fixture
def each_write_asks(lab) -> None:
    """No answer is fresh enough for a second write, so that tests do not depend on speed."""
    lab.timing = replace(lab.timing, failover_fresh_s=0.0, failover_alone_s=0.0)


def told(caplog) -> list[str]:
    """Problems that the log tells of the failover state."""
    return [record.problem for record in caplog.records
            if record.getMessage() == SUBJECT and record.levelno >= logging.WARNING]


def asked(lab) -> int:
    return sum(entry.path.endswith("/cm/failover-status") for entry in list(lab.bigip.log))


@pytest.mark.parametrize("status", [status for status in unit.STATUSES if status != unit.ACTIVE])
def test_a_standby_is_not_written_to_before_it_is_active(lab, running, caplog, status):
    """No write, no Admitted True; once it is active everything is written, without a restart."""
    lab.timing = replace(lab.timing, failover_s=0.05)
    caplog.set_level(logging.INFO)
    lab.bigip.join_group("pair")
    lab.bigip.set_failover(status)
    lab.apply(manifests.route("a"), manifests.route("b", host="b.com"))
    router = running()
    router.wait(lambda: lab.pending("a", "b"))
    lab.apply(manifests.route("c", host="c.com"))
    router.wait(lambda: lab.pending("c"))
    assert lab.bigip.writes() == []
    assert not any(entry.path.endswith("sys/config") for entry in list(lab.bigip.log))
    assert told(caplog) == [f"the unit is {status}: the router writes nothing to it until it is active"]
    lab.bigip.set_failover(unit.ACTIVE)
    router.wait(lambda: {lab.admitted("shop", name).get("status") for name in "abc"} == {"True"})
    assert lab.pools() == {"/Common/openshift_shop_web"}
    assert len(told(caplog)) == 1
    assert [r.problem for r in caplog.records if r.getMessage() == "problem resolved"] == told(caplog)


def test_a_standby_is_no_failure(lab):
    """Readiness and metrics say what it is; passes do not count as failed."""
    lab.bigip.join_group("pair")
    lab.bigip.set_failover("STANDBY")
    lab.apply(manifests.route("a"))
    served = Served(lab, lab.stack)
    assert served.router.cluster.wait_synced(DEADLINE_S)
    pump.attempt(served.router)
    assert served.missing() == {"bigip-active", "has-synced"}
    assert "[-]bigip-active failed: the unit is STANDBY" in served.get("/readyz").text
    assert served.metric("f5router_bigip_active") == 0
    assert served.metric("f5router_reconcile_failures_total") == 0
    assert served.metric("f5router_routes", verdict="pending") == 1
    lab.bigip.set_failover(unit.ACTIVE)
    pump.check_failover(served.router)
    pump.attempt(served.router)
    assert (served.missing(), served.metric("f5router_bigip_active")) == (set(), 1)


@pytest.mark.bare
def test_a_unit_that_fails_over_while_it_is_written_to(lab, each_write_asks):
    """The pass ends: at most the writes that were under way are still made."""
    lab.bigip.join_group("pair")
    lab.apply(*(manifests.route(f"r{n}", host=f"h{n}.com") for n in range(30)))
    router = lab.router(f5_max_in_flight="4")
    assert router.cluster.wait_synced(DEADLINE_S)
    count = [0]

    def fail_over(_request) -> None:
        count[0] += 1
        if count[0] == 10:
            lab.bigip.set_failover("STANDBY")

    lab.bigip.on_write = fail_over
    pump.attempt(router)
    assert 10 <= len(lab.bigip.writes()) <= 10 + 4 + 2  # what was sent, and a policy's draft is one step
    assert not any(lab.admitted("shop", f"r{n}").get("status") == "True" for n in range(30))
    lab.clear()
    for _ in range(3):
        pump.attempt(router)
    assert lab.bigip.writes() == []
    lab.bigip.on_write = None
    lab.bigip.set_failover(unit.ACTIVE)
    assert lab.converge(router) == []
    lab.clear()
    assert (lab.converge(router), lab.bigip.writes()) == ([], [])


def test_nothing_is_saved_or_tidied_up_on_a_standby(lab, each_write_asks):
    """Writes of the time when it was active are saved when it is active again, or by the peer's sync."""
    lab.apply(manifests.route("a"))
    router = lab.router()
    assert router.cluster.wait_synced(DEADLINE_S)
    pump.attempt(router)
    lab.bigip.set_failover("STANDBY")
    lab.clear()
    router.settling.finish()
    assert [entry for entry in lab.bigip.log if entry.method != "GET"] == []
    lab.bigip.set_failover(unit.ACTIVE)
    router.settling.finish()
    assert [entry.path for entry in lab.bigip.log if entry.method == "POST"] == ["/mgmt/tm/sys/config"]


def test_statuses_of_the_active_units_router_hold(lab, each_write_asks):
    """Two routers of one name, one for each unit: that of the standby puts nothing back."""
    lab.apply(manifests.route("a"))
    router = lab.router()
    lab.converge(router)
    assert lab.admitted("shop", "a")["status"] == "True"
    key_and_uid = Key("shop", "a"), lab.kube.get("Route", "shop", "a")["metadata"]["uid"]
    lab.bigip.set_failover("STANDBY")
    router.reconciler.must_read("of the test")
    pump.attempt(router)
    assert not router.reporter.statuses.of("").is_requested(*key_and_uid)
    lab.bigip.set_failover(unit.ACTIVE)
    lab.converge(router)
    assert router.reporter.statuses.of("").is_requested(*key_and_uid)


def test_it_is_noticed_while_nothing_happens(lab, running):
    lab.timing = replace(lab.timing, failover_s=0.05)
    lab.apply(manifests.route("a"))
    router = running()
    router.wait(lambda: lab.admitted("shop", "a").get("status") == "True")
    health = router.router.monitor.health
    lab.bigip.set_failover("STANDBY")
    router.wait(lambda: any(check.problem for check in health.ready() if check.name == "bigip-active"))
    assert lab.admitted("shop", "a")["status"] == "True"  # it was told while it was right
    lab.bigip.set_failover(unit.ACTIVE)
    router.wait(lambda: not any(check.problem for check in health.ready()))


def test_the_traffic_group_of_the_folder_decides(lab):
    """Each of two active units is active for traffic groups of its own."""
    lab.apply(manifests.route("a"))
    lab.bigip.join_group("pair")
    lab.bigip.set_failover(unit.ACTIVE, active_for=["/Common/traffic-group-2"])
    reasons = lab.converge()
    assert "the unit is not active for /Common/traffic-group-1" in reasons[0]
    assert lab.bigip.writes() == []
    lab.bigip.set_failover(unit.ACTIVE, active_for=["/Common/traffic-group-1", "/Common/traffic-group-2"])
    assert lab.converge() == []


def test_once_on_a_standby_tells_and_ends(lab):
    lab.apply(manifests.route("a"))
    lab.bigip.set_failover("STANDBY")
    (reason,) = lab.converge()
    assert "the unit is STANDBY" in reason
    assert lab.bigip.writes() == []
    assert lab.pending("a")


@pytest.mark.parametrize("fault", [
    {"kind": "refuse", "status": 403, "message": "Forbidden"},
    {"kind": "refuse", "status": 404, "message": "Object not found"},
    {"kind": "refuse", "status": 401,
     "message": "Authorization failed: user=https://localhost/mgmt/shared/authz/users/r"},
    {"kind": "refuse", "status": 400, "message": "Found unexpected URI tmapi_mapper/cm/failover-status."},
    {"kind": "404-not-registered"},
], ids=["403", "404", "role", "uri", "not registered"])
def test_a_state_that_cannot_be_read_changes_nothing(lab, caplog, fault):
    """The router goes on as before, and logs it once."""
    lab.bigip.inject(fault.pop("kind"), times=None, path="/cm/failover-status$", **fault)
    lab.apply(manifests.route("a"))
    begin = lab.clock()
    router = lab.router(clock=lambda: begin)
    assert lab.converge(router) == []
    lab.apply(manifests.route("b", host="b.com"))
    lab.settle(router)
    assert lab.admitted("shop", "b")["status"] == "True"
    assert len(told(caplog)) == 1
    assert "cannot be read" in told(caplog)[0]
    assert asked(lab) == 1


@pytest.mark.parametrize("version", ["11.5.4", "11.6.0", "12.1.2", "17.1.0"])
def test_stand_alone_devices_of_any_version(make_lab, version):
    """Ten events are ten questions at most; a device alone is active."""
    lab = make_lab(tmos_version=version)
    lab.virtuals()
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a"))
    assert lab.converge() == []
    assert lab.admitted("shop", "a")["status"] == "True"


def test_a_device_that_does_not_answer_is_no_standby(lab):
    """The state before stays, and the pass fails as any other."""
    lab.apply(manifests.route("a"))
    router = lab.router(retry_s=0)
    assert router.cluster.wait_synced(DEADLINE_S)
    pump.attempt(router)
    lab.bigip.inject("503-html", times=None)
    pump.check_failover(router)
    pump.attempt(router)
    health = {check.name: check.problem for check in router.monitor.health.ready()}
    assert (health["bigip-active"], "503" in health["bigip-reached"]) == ("", True)


def test_a_refused_login_is_not_tried_again_by_asking_for_the_state(lab, running, caplog):
    """The account would be locked: the pass that follows backs off, as after any refusal."""
    lab.timing = replace(lab.timing, failover_s=0.05, login_pause_s=0.0)
    lab.apply(manifests.route("a"))
    router = running()
    router.wait(lambda: lab.admitted("shop", "a").get("status") == "True")
    lab.bigip.add_user(lab.bigip.username, "another password")
    lab.bigip.expire_tokens()
    router.wait(lambda: "BIG-IP not programmed" in caplog.text)
    count = sum(entry.path.endswith("/authn/login") for entry in list(lab.bigip.log))
    threading.Event().wait(0.5)  # ten times FAILOVER_S
    assert sum(entry.path.endswith("/authn/login") for entry in list(lab.bigip.log)) <= count + 1


def test_a_stop_on_a_standby_is_prompt(lab, running):
    lab.bigip.set_failover("STANDBY")
    lab.apply(manifests.route("a"))
    router = running()
    router.wait(lambda: lab.pending("a"))
    router.stop()
    assert lab.bigip.writes() == []


@pytest.fixture
def pair(lab, each_write_asks):
    """Flags for the second unit of a pair, which is the standby; and that unit."""
    with FakeBigIP() as second:
        second.put_object("ltm/profile/client-ssl", {
            "name": "clientssl-default", "partition": "Common", "sniDefault": "true"})
        second.add_virtual("/Common/ose-vserver", "10.0.0.1:80")
        second.add_virtual("/Common/https-ose-vserver", "10.0.0.1:443", profiles=(
            "/Common/tcp", "/Common/http", "/Common/clientssl-default"))
        for big in (lab.bigip, second):
            big.join_group("pair")
        second.set_failover("STANDBY")
        yield second, {"f5_host": second.address, "f5_ca_bundle": str(second.ca_file)}


def test_a_router_for_each_unit(lab, pair):
    """Fail-over and back: only the active unit is written to, and Routes stay admitted throughout."""
    second, flags = pair
    lab.apply(manifests.route("a"))
    first, two = lab.router(), lab.router(**flags)
    for router in (first, two):
        assert router.cluster.wait_synced(DEADLINE_S)

    def passes() -> None:
        for router in (first, two):
            pump.attempt(router)
            assert router.reporter.statuses.flush(DEADLINE_S)

    def admitted(*names: str) -> set[str]:
        return {lab.admitted("shop", name).get("status") for name in names}

    passes()
    until(lambda: admitted("a") == {"True"})
    assert second.writes() == []
    units = [(lab.bigip, second), (second, lab.bigip)]
    for number, (old, new) in enumerate(units):
        old.set_failover("STANDBY")
        new.set_failover(unit.ACTIVE)
        old.clear_log()
        lab.apply(manifests.route(f"b{number}", host=f"b{number}.com"))
        for router in (first, two):
            lab.converge_events(router, seen=("shop", f"b{number}"))
        passes()
        until(lambda number=number: admitted("a", f"b{number}") == {"True"})
        assert old.writes() == []
        assert "openshift_route_shop_a" in json.dumps(new.get("ltm/policy/~Common~openshift_insecure_routes"))
    passes()
    assert admitted("a", "b0", "b1") == {"True"}
    assert first.reporter.statuses.contended() == two.reporter.statuses.contended() == 0


# --- config sync -----------------------------------------------------------------------------


def problems(caplog) -> list[str]:
    return [record.problem for record in caplog.records
            if record.getMessage() == "config sync of the BIG-IP" and record.levelno >= logging.WARNING]


@pytest.mark.parametrize("version", ["11.6.0", "14.1.2.1", "17.1.0"])
def test_changes_are_synced_to_the_group(make_lab, version):
    """After they are saved; once, and nothing more when nothing has changed."""
    lab = make_lab(tmos_version=version)
    lab.bigip.join_group("pair")
    lab.virtuals()
    lab.bigip.set_sync(unit.IN_SYNC)
    lab.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), manifests.route("a"))
    assert lab.converge(f5_config_sync="push") == []
    assert lab.bigip.unit.syncs == ["config-sync to-group pair"]
    posts = [entry.path for entry in lab.bigip.log if entry.method == "POST"]
    assert posts.index("/mgmt/tm/sys/config") < posts.index("/mgmt/tm/cm")
    assert lab.converge(f5_config_sync="push") == []
    assert len(lab.bigip.unit.syncs) == 1


def test_by_default_the_administrator_is_told(lab, caplog):
    lab.bigip.join_group("pair")
    lab.apply(manifests.route("a"))
    assert lab.converge() == []
    assert lab.bigip.unit.syncs == []
    assert "tmsh run cm config-sync to-group pair" in problems(caplog)[0]


@pytest.mark.parametrize(
    "state", [unit.CONFLICT, unit.PEER_NEWER, unit.INITIAL, unit.DISCONNECTED, unit.FAILED])
def test_changes_of_the_peer_are_not_overwritten(lab, caplog, state):
    lab.bigip.join_group("pair")
    lab.bigip.set_sync(state)
    lab.apply(manifests.route("a"))
    router = lab.router(f5_config_sync="push")
    assert lab.converge(router) == []
    assert (lab.bigip.unit.syncs, lab.bigip.unit.overwritten) == ([], 0)
    assert_told_everywhere(router, caplog)


@pytest.mark.parametrize("way", ["to be done by hand", "refused", "without effect"])
def test_a_sync_that_is_not_made_is_told(lab, caplog, way):
    """Changes that the other unit lacks, and a sync that fails."""
    lab.timing = replace(lab.timing, sync=SyncTiming(settle_s=0.0, wait_s=0.01, patience_s=0.05))
    lab.bigip.join_group("pair")
    lab.apply(manifests.route("a"))
    router = lab.router(f5_config_sync="check" if way == "to be done by hand" else "push")
    if way == "refused":
        lab.bigip.inject("refuse", times=None, method="POST", path=r"/mgmt/tm/cm$", message="no")
    if way == "without effect":
        lab.bigip.unit.sync_to_peer = lambda: False
    assert lab.converge(router) == []
    until(lambda: problems(caplog) or router.settling.syncer.step())
    assert_told_everywhere(router, caplog)


def assert_told_everywhere(router, caplog) -> None:
    """Assert that the log, /readyz and the metric have a problem of config sync."""
    (problem,) = problems(caplog)
    notes = {check.name: check.note for check in router.monitor.health.ready()}
    assert notes["config-sync"] == problem
    assert "f5router_bigip_config_in_sync 0.0" in router.monitor.metrics.page("")[0].decode()


@pytest.mark.parametrize("case", ["alone", "auto-sync", "partition opted out", "off"])
def test_nothing_is_to_be_synced(lab, caplog, case):
    if case != "alone":
        lab.bigip.join_group("pair", auto_sync=case == "auto-sync")
    if case == "partition opted out":
        lab.change("PATCH", "sys/folder/~Common", {"deviceGroup": "none", "inheritedDevicegroup": "false"})
    lab.apply(manifests.route("a"))
    assert lab.converge(f5_config_sync="off" if case == "off" else "push") == []
    assert (lab.bigip.unit.syncs, problems(caplog)) == ([], [])
    ends = ("/cm/device-group", "/cm/sync-status")
    asked = [entry.path for entry in lab.bigip.log if entry.path.endswith(ends)]
    assert len(asked) == {"alone": 1, "auto-sync": 2, "partition opted out": 1, "off": 0}[case]


def test_the_running_router_syncs(lab, running):
    """Its metric follows."""
    lab.timing = replace(lab.timing, sync=SyncTiming(settle_s=0.05, wait_s=0.05))
    lab.bigip.join_group("pair")
    lab.apply(manifests.route("a"))
    router = running(f5_config_sync="push")
    router.wait(lambda: router.router.settling.syncer.in_sync and lab.bigip.unit.syncs)
    assert lab.bigip.unit.sync == unit.IN_SYNC
    page = router.router.monitor.metrics.page("")[0].decode()
    assert "f5router_bigip_config_in_sync 1.0" in page
    before = len(lab.bigip.unit.syncs)
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    router.wait(lambda: len(lab.bigip.unit.syncs) > before and router.router.settling.syncer.in_sync)
