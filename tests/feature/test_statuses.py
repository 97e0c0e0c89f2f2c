"""Messages to application teams: status.ingress and Events, whatever happens to the router or others."""

import re
import threading
from dataclasses import replace

import pytest

from f5router.app.wiring import STATUS_WORKERS
from f5router.kube.settings import StatusTiming
from f5router.model.errors import BigIPError
from tests import manifests, pump
from tests.builders import identity
from tests.waiting import DEADLINE_S, until

ONE = identity("b.com")
HAPROXY = {"routerName": "haproxy", "host": "www.example.com", "wildcardPolicy": "None", "conditions": [
    {"type": "Admitted", "status": "True", "lastTransitionTime": "2020-01-02T03:04:05Z"}]}
QUICK = {"retry_s": 0}


def ingress(lab, name: str) -> list[dict]:
    return (lab.kube.get("Route", "shop", name).get("status") or {}).get("ingress") or []


def entry(lab, name: str, router_name: str = "public") -> dict:
    entries = [item for item in ingress(lab, name) if item["routerName"] == router_name]
    assert len(entries) <= 1
    return entries[0] if entries else {}


def labelled(obj: dict, **labels: str) -> dict:
    obj["metadata"]["labels"] = labels
    return obj


def status_writes(lab) -> list[tuple[str, int]]:
    return [(log.path.split("/")[-2], log.status) for log in lab.kube.log
            if log.method in ("PATCH", "PUT") and log.path.endswith("/status")]


def events(lab, name: str) -> list[tuple[str, int]]:
    """Reason and count of the Events of a Route."""
    return sorted((event["reason"], event["count"]) for event in lab.kube.list("Event")
                  if event["involvedObject"]["name"] == name)


def failing_pass(lab, router, *, seen: tuple[str, str] | None = None) -> None:
    lab.converge_events(router, seen=seen)
    with pytest.raises(BigIPError):
        router.reconcile_once()
    assert router.reporter.statuses.flush(DEADLINE_S)
    assert router.reporter.events.flush(DEADLINE_S)


# --- an entry ----------------------------------------------------------------------------


def test_an_entry(lab):
    """All of its fields, beside that of another router; nothing is written a second time."""
    route = manifests.route("a") | {"status": {"ingress": [HAPROXY]}}
    lab.apply(route)
    router = lab.router(router_canonical_hostname="router.example.com", name="f5")
    assert lab.converge(router) == []
    (condition,) = entry(lab, "a", "f5").pop("conditions")
    assert ingress(lab, "a")[0] == HAPROXY
    assert {name: value for name, value in entry(lab, "a", "f5").items() if name != "conditions"} == {
        "routerName": "f5", "host": "www.example.com", "wildcardPolicy": "None",
        "routerCanonicalHostname": "router.example.com"}
    assert (condition["type"], condition["status"]) == ("Admitted", "True")
    assert condition.keys() == {"type", "status", "lastTransitionTime"}
    lab.kube.clear_log()
    lab.settle(router)
    assert [write for write in status_writes(lab) if write[0] == "a"] == []
    lab.converge(router_canonical_hostname="router.example.com", name="f5")
    assert [write for write in status_writes(lab) if write[0] == "a"] == []


def test_the_time_is_that_of_the_status(lab):
    """Other words for the same refusal keep it; being served changes it."""
    old = {"routerName": "public", "host": "www.example.com", "wildcardPolicy": "None", "conditions": [
        {"type": "Admitted", "status": "False", "reason": "InvalidHost", "message": "old",
         "lastTransitionTime": "2020-01-02T03:04:05Z"}]}
    lab.apply(manifests.route("a", path="no-slash") | {"status": {"ingress": [old]}})
    router = lab.router()
    lab.converge(router)
    condition = lab.admitted("shop", "a")
    assert (condition["reason"], condition["lastTransitionTime"]) == (
        "ExtendedValidationFailed", "2020-01-02T03:04:05Z")
    lab.apply(manifests.route("a"))
    lab.settle(router)
    assert lab.admitted("shop", "a")["status"] == "True"
    assert lab.admitted("shop", "a")["lastTransitionTime"] > "2020-01-02T03:04:05Z"


def test_a_refusal_by_the_device(lab):
    """Its words are in the status and in one Event, however often it refuses."""
    lab.bigip.inject("refuse", times=9, method="POST", path="file/ssl-cert", status=400,
                     message="01070712:3: the device does not like it")
    lab.apply(manifests.route("b", host="b.com", kind="edge", certificate=ONE.certificate, key=ONE.key))
    router = lab.router()
    for _ in range(3):
        lab.converge(router)
        lab.later()
    condition = lab.admitted("shop", "b")
    assert (condition["status"], condition["reason"]) == ("False", "DeviceRejected")
    assert "the device does not like it" in condition["message"]
    assert events(lab, "b") == [("DeviceRejected", 1)]
    assert status_writes(lab) == [("b", 200)]
    router.close()
    lab.converge()
    assert events(lab, "b") == [("DeviceRejected", 2)]


@pytest.mark.bare
def test_statuses_of_a_load(lab):
    """They are reported as Routes become served: what a portion has served, before the next one begins."""
    lab.timing = replace(lab.timing, portion=5, load_portion=5)
    lab.apply(*(manifests.route(f"r{number}", host=f"r{number}.example.com") for number in range(12)))
    router = lab.router()
    lab.converge_events(router, seen=("shop", "r11"))
    reports, told = [], router.reporter.passed

    def passed(report) -> None:
        told(report)
        reports.append(len(report.verdicts))

    router.reporter.passed = passed
    pump.attempt(router)
    assert router.reporter.flush(DEADLINE_S)
    assert len([count for count in reports if count]) > 3
    assert sum(reports) == 12
    assert len(status_writes(lab)) == 12


def test_the_log_of_a_load(lab, caplog):
    """From the first portion on, it has how many Routes are served."""
    caplog.set_level("INFO")
    lab.timing = replace(lab.timing, portion=5, load_portion=5)
    lab.apply(*(manifests.route(f"r{number}", host=f"r{number}.example.com") for number in range(12)))
    router = lab.router()
    lab.converge_events(router, seen=("shop", "r11"))
    lab.bigip.on_write = lambda entry: lab.later(10)
    while not router.reconciler.loaded:
        pump.attempt(router)
    lab.bigip.on_write = None
    shown = [getattr(record, "routes", "") for record in caplog.records if record.message == "first load"]
    assert shown[0] == ""
    assert re.fullmatch(r"\d+ of 12", shown[-1])


# --- the BIG-IP is away ------------------------------------------------------------------


def test_a_start_while_the_device_is_away(lab):
    """Old statuses stay as they are; new Routes wait, and are told if they can never be served."""
    lab.apply(manifests.route("old"), manifests.route("older", host="x.com", path="no-slash"))
    lab.converge()
    before = {name: ingress(lab, name) for name in ("old", "older")}
    lab.bigip.stop()
    lab.apply(manifests.route("old", path="/changed"), manifests.route("new", host="b.com"),
              manifests.route("late", host="www.example.com", namespace="shop", path="/changed",
                              created="2027-01-01T00:00:00Z"))
    lab.kube.clear_log()
    router = lab.router(**QUICK)
    for _ in range(2):
        failing_pass(lab, router, seen=("shop", "late"))
    assert {name: ingress(lab, name) for name in before} == before
    assert lab.pending("new")
    assert lab.admitted("shop", "late")["reason"] == "HostAlreadyClaimed"
    assert sorted(status_writes(lab)) == [("late", 200), ("new", 200)]
    assert events(lab, "new") == [("DevicePending", 1)]
    assert events(lab, "late") == [("HostAlreadyClaimed", 1)]
    assert events(lab, "old") == []
    lab.bigip.start()
    assert lab.converge(router) == []
    assert lab.admitted("shop", "new")["status"] == lab.admitted("shop", "old")["status"] == "True"
    assert "reason" not in lab.admitted("shop", "new")


def test_a_route_that_was_judged_is_not_new(lab):
    """Its status is not written yet when the device goes away: it is not told to wait."""
    lab.apply(manifests.route("a"), manifests.route("b", host="b.com"))
    lab.kube.inject("503", method="PATCH", path="/status", retry_after=1)
    router = lab.router(**QUICK)
    lab.converge_events(router)
    router.reconcile_once()
    until(router.reporter.statuses.pending)
    lab.bigip.stop()
    router.reconciler.must_read("of the test")
    failing_pass(lab, router)
    assert {lab.admitted("shop", name)["status"] for name in "ab"} == {"True"}


def test_a_device_that_dies_half_way(lab):
    """Known verdicts stay; a Route without one waits, though it may be on the device."""
    lab.apply(manifests.route("a"))
    router = lab.router(**QUICK)
    lab.converge(router)
    lab.bigip.inject("drop-reply", times=None, method="POST")
    lab.apply(manifests.route("b", host="b.com"))
    lab.converge_events(router, seen=("shop", "b"))
    router.reconcile_once()  # one write without a reply is no reason to blame the device
    assert router.reporter.statuses.flush(DEADLINE_S)
    assert lab.admitted("shop", "a")["status"] == "True"
    assert lab.pending("b")
    lab.bigip.clear_faults()
    until(lambda: lab.converge(router) == [])
    assert lab.admitted("shop", "b")["status"] == "True"


# --- writes that are refused -------------------------------------------------------------


@pytest.mark.parametrize(("fault", "options", "told"), [
    pytest.param("403", {}, "status not written", id="403"),
    pytest.param("404", {"text": '{"details": {"name": "bad"}}'}, None, id="404"),
    pytest.param("409", {}, None, id="409"),
    pytest.param("422", {}, "status refused", id="422"),
])
def test_a_status_that_is_refused(lab, caplog, fault, options, told):
    """It costs no other Route anything; it is logged once, with object and reason, and tried again later."""
    lab.apply(manifests.route("bad", host="bad.com"), *(
        manifests.route(f"r{number}", host=f"h{number}.com") for number in range(5)))
    lab.kube.inject(fault, times=None, path="/bad/status", **options)
    lab.timing = replace(lab.timing, statuses=StatusTiming(forbidden_s=0.1))
    router = lab.router()
    lab.converge_events(router)
    router.reconcile_once()
    until(lambda: all(lab.admitted("shop", f"r{number}") for number in range(5)))
    until(lambda: ("bad", int(fault)) in status_writes(lab))
    assert lab.bigip.get("ltm/policy/~Common~openshift_insecure_routes")
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    until(lambda: router.reconcile_once().counts.writes)
    said = [record for record in caplog.records if record.message == told]
    assert [record.route for record in said] == (["shop/bad"] if told else [])
    lab.kube.clear_faults()
    router.reconciler.must_read("of the test")  # as after --f5-resync-interval
    router.reconcile_once()
    assert router.reporter.statuses.flush(DEADLINE_S)
    assert lab.admitted("shop", "bad")["status"] == "True"


def test_one_pass_with_a_status_that_is_refused(lab):
    """run --once waits for the others, not for this one, which is its reason."""
    lab.apply(manifests.route("bad", host="bad.com"), *(
        manifests.route(f"r{number}", host=f"h{number}.com") for number in range(5)))
    lab.kube.inject("403", times=None, path="/bad/status")
    (reason,) = lab.converge()
    assert reason.startswith("not every Route status could be written: ")
    assert "routes/bad/status" in reason
    assert all(lab.admitted("shop", f"r{number}")["status"] == "True" for number in range(5))


def test_labels_that_change_all_the_time(lab):
    """A hundred times a second: the status is written in between, that of others without delay."""
    lab.apply(manifests.route("busy"), manifests.route("calm", host="calm.com"))
    router = lab.router()
    lab.converge_events(router)
    ended = threading.Event()

    def change() -> None:
        number = 0
        while not ended.wait(0.01):
            number += 1
            lab.apply(labelled(manifests.route("busy"), number=str(number)))

    thread = threading.Thread(target=change)
    thread.start()
    try:
        router.reconcile_once()
        until(lambda: lab.admitted("shop", "calm"))
        until(lambda: lab.admitted("shop", "busy"))
    finally:
        ended.set()
        thread.join()
    assert lab.admitted("shop", "busy")["status"] == "True"


def test_statuses_do_not_hold_up_programming(lab):
    """Twenty wait at one write a second: the BIG-IP has all of them, and the next event too."""
    lab.apply(*(manifests.route(f"r{number}", host=f"h{number}.com") for number in range(20)))
    router = lab.router(status_rate="1")
    lab.converge_events(router)
    router.reconcile_once()
    assert router.reconciler.verdicts.unserved() == {}
    assert router.reporter.statuses.pending() >= 20 - STATUS_WORKERS - 1
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.9",)))
    until(lambda: router.reconcile_once().counts.writes)
    members = lab.bigip.get("ltm/pool/~Common~openshift_shop_web")["membersReference"]["items"]
    assert [member["name"] for member in members] == ["10.1.1.9:8080"]
    assert router.reporter.statuses.pending() >= 10


# --- Routes that leave -------------------------------------------------------------------

BLUE, GREEN = {"shard": "blue"}, {"shard": "green"}
