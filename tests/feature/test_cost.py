"""How many REST writes a change costs; the counts are in docs/performance.md."""

import sys
import threading
import time
from collections import Counter
from contextlib import ExitStack

import pytest

from benchmarks.cluster import routes, slices
from f5router.app import wiring
from f5router.desired.engine import Engine
from f5router.icontrol import failover
from f5router.kube.api import decode
from f5router.model.delta import Delta
from f5router.model.errors import Standby
from f5router.reconcile.reconciler import Reconciler
from tests import manifests, pump
from tests.builders import identity
from tests.waiting import DEADLINE_S, until

pytestmark = pytest.mark.bare

ONE = identity()
KINDS = {
    "plain": {},
    "edge": {"kind": "edge"},
    "edge with certificate": {
        "kind": "edge",
        "certificate": ONE.certificate,
        "key": ONE.key,
        "caCertificate": ONE.issuer,
    },
    "reencrypt": {"kind": "reencrypt"},
    "passthrough": {"kind": "passthrough"},
}
# createDraft, rule, publish; a certificate: uploads and installations of three files, a removal of them all,
# or of each if no two were in use at a time, the profile, its attachment.
ADDED = {
    "plain": (3,),
    "edge": (3,),
    "edge with certificate": (12, 13, 14),
    "reencrypt": (3,),
    "passthrough": (1,),
}


def others(count: int) -> list[dict]:
    return [
        manifests.route(f"r{n}", host=f"h{n}.example.com", **kind)
        for n in range(count)
        for kind in [list(KINDS.values())[n % 5]]
    ]


@pytest.mark.parametrize("count", [5, 40])
@pytest.mark.parametrize("kind", KINDS)
def test_a_route_added(lab, kind, count):
    """The same number of writes whatever there is already; none to another Route's objects."""
    lab.apply(*others(count))
    router = lab.router()
    lab.converge(router)
    lab.clear()
    lab.apply(manifests.route("new", host="new.example.com", **KINDS[kind]))
    _settle(lab, router)
    assert len(lab.writes()) in ADDED[kind], lab.writes()
    rules = [path for _, path in lab.writes() if "/rules" in path]
    assert len(rules) <= 1


@pytest.mark.parametrize("count", [5, 40])
def test_an_endpoint_change_is_one_write(lab, count):
    lab.apply(*others(count))
    router = lab.router()
    lab.converge(router)
    lab.clear()
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.1", "10.1.1.3")))
    _settle(lab, router)
    # The Service has one pool more for re-encrypt Routes: one write each.
    plain, encrypted = sorted(lab.writes())
    assert plain == ("PATCH", "/mgmt/tm/ltm/pool/~Common~openshift_shop_web")
    assert "openshift_shop_web__" in encrypted[1]


@pytest.mark.parametrize(("joined", "calls"), [
    pytest.param(False, ["PATCH"], id="alone"), pytest.param(True, ["GET", "PATCH"], id="one of a pair")])
def test_calls_of_an_endpoint_change_after_a_quiet_time(lab, joined, calls):
    """On a device that stands alone the write alone: no other unit can have taken over."""
    if joined:
        lab.bigip.join_group("pair")
    lab.apply(manifests.route("a"))
    router = lab.router()
    lab.converge(router)
    lab.later(failover.ALONE_S - 1)
    pump.check_failover(router)  # as the loop does every few seconds
    lab.later(failover.FRESH_S)
    lab.clear()
    lab.apply(manifests.endpoints("shop", "web", ("10.1.1.1", "10.1.1.3")))
    until(lambda: router.reconcile_once().counts.writes)
    assert [entry.method for entry in list(lab.bigip.log)] == calls


def test_a_device_that_joins_others_is_asked_from_the_next_reading_on(lab):
    lab.apply(manifests.route("a"))
    router = lab.router()
    lab.converge(router)
    lab.bigip.join_group("pair")
    router.upkeep.drift.begin()
    until(lambda: [message() for message in router.inbox.take(0.05)])  # it has ended
    lab.bigip.set_failover("STANDBY")
    lab.later(failover.FRESH_S)
    with pytest.raises(Standby):
        router.device.failover.require_active()


def test_initial_load(lab):
    """One write per pool or certificate step, plus a constant."""
    lab.apply(*others(40))
    lab.converge()
    writes = lab.writes()
    certificates, pools = 8, 2
    per_object = pools + certificates * (3 * 3 + 1)
    constant = len(writes) - per_object
    # Rules, records and attachments go in bulk.
    # Files in use at the same time are removed together.
    assert -certificates * 3 < constant <= 28, writes


def test_a_restart_writes_nothing(lab):
    lab.apply(*others(10))
    lab.converge()
    lab.clear()
    assert lab.converge() == []
    assert lab.writes() == []


def test_the_own_status_write_is_no_event(lab):
    """Admitted True comes back as a changed Route; it changes nothing that is served."""
    router = lab.router()
    lab.converge(router)
    lab.apply(manifests.route("a"))
    _settle(lab, router)
    assert lab.admitted("shop", "a")["status"] == "True"
    lab.clear()
    _settle(lab, router)
    assert lab.writes() == []


def test_work_of_an_endpoint_event(lab):
    """From the watch's line to the planned write, at 5,000 Routes: some look-ups for each, below 50 ms."""
    config = lab.config()
    engine = Engine(config)
    engine.apply(Delta(routes=routes(5000), slices=slices(5000)))
    with ExitStack() as stack:
        device = wiring.build_device(config, stack)
        reconciler = Reconciler(engine, device, folder=config.folder, clock=time.monotonic)
        pump.whole_plan(reconciler)
        device.observed = dict(engine.objects)
        for number in range(3):
            line = manifests.endpoints("ns0", "svc0", ("10.0.0.0", f"10.200.0.{number + 10}"))
            calls: Counter = Counter()
            sys.setprofile(lambda _, event, __, calls=calls: calls.update((event,)))
            try:
                slice_ = decode.endpoint_slice(line)
                reconciler.apply(Delta(slices={slice_.key: slice_}))
                plan = reconciler.members.take_due(1)
            finally:
                sys.setprofile(None)
            assert calls["call"] + calls["c_call"] < 100_000
            assert [(change.verb, change.ref.kind) for change in plan] == [("update", "ltm/pool")]


@pytest.mark.parametrize(("bound", "at_once"), [(1, 1), (4, 3)])
@pytest.mark.parametrize(("path", "pair"), [
    pytest.param("ltm/pool", {}, id="pools"),
    pytest.param("file-transfer/uploads", {"kind": "edge", "certificate": ONE.certificate, "key": ONE.key},
                 id="uploads over REST"),
])
def test_independent_writes_go_in_parallel_up_to_the_bound(lab, path, pair, bound, at_once):
    """Eight of them; room for one more request is left, as an urgent one may come."""
    count = 4 if pair else 8  # a certificate and a key are two files
    for number in range(count):
        lab.apply(*manifests.service("shop", f"s{number}", pods=(f"10.1.2.{number}",)))
    router = lab.router(f5_max_in_flight=str(bound))
    lab.converge(router)
    lab.bigip.inject("hold", times=8, method="POST", path=path)
    lab.apply(*(manifests.route(f"r{n}", host=f"h{n}.com", service=f"s{n}", **pair) for n in range(count)))
    lab.converge_events(router, seen=("shop", f"r{count - 1}"))
    one_pass = threading.Thread(target=router.reconcile_once)
    one_pass.start()
    for held in [*range(at_once, 8, at_once), 8]:
        until(lambda: lab.bigip.held == held, lambda: f"{lab.bigip.held} at once")  # noqa: B023
        lab.bigip.release()
    one_pass.join(DEADLINE_S)
    assert not one_pass.is_alive()


def _settle(lab, router) -> None:
    """Reconcile until a pass after the newest event writes nothing."""
    lab.settle(router)
