"""A Reconciler that has something to do gets on with it, or waits: it never turns in circles."""

import gc
import math
import weakref
from collections.abc import Iterable
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.desired.engine import Engine
from f5router.icontrol.calls import Calls
from f5router.icontrol.device import Device
from f5router.icontrol.pair import Pair
from f5router.icontrol.rest.blame import Blame
from f5router.icontrol.sender import Sender, Sent
from f5router.icontrol.unit import Unit
from f5router.model.errors import InUse, NotFound, Refused, Unconfirmed
from f5router.model.health_checks import HealthCheck
from f5router.model.ltm import Pool
from f5router.model.route_options import RouteOptions
from f5router.plan.change import DELETE, Change
from f5router.reconcile.reconciler import Reconciler
from tests.builders import FACTS, Settings, endpoints, route, service
from tests.examples import examples
from tests.unit.desired.test_engine import STEPS, delta

PASSES_AT_ONCE = 30
"""More than any series of passes that follow from each other takes, each of which gets something done."""


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class FaultySender(Sender):
    """Sends to no BIG-IP: writes succeed, are refused, or get no usable reply."""

    def __init__(self, calls: Calls, seed: int):
        super().__init__(calls, Blame(lambda: None), lambda: None)
        self.seed, self.well, self.there, self.interruptions = seed, False, {}, Random(seed)
        self.fates: dict[str, str] = {}
        """What becomes of each write of a kind; one that is unclear is carried out."""

    def send(self, changes: list[Change], newest, not_sent) -> Iterable:
        left = list(changes)
        try:
            while left:
                change = left.pop(0)
                change = newest(change) if change.ref.kind == "ltm/pool" else change
                if change is not None:
                    yield self.write_alone(change)
                if not self.well and self.interruptions.random() < 0.05:
                    self.calls.interrupted = True
                    return
        finally:
            not_sent += left

    def write_alone(self, change: Change) -> Sent:
        fates = ("done", "done", "refused", "unclear", "in use", "gone")
        # Not drawn in turn: threads write some of them.
        drawn = Random(f"{self.seed} {change.ref} {change.verb}")
        fate = "done" if self.well else self.fates.get(change.ref.kind) or drawn.choice(fates)
        unclear = fate == "unclear"
        if fate == "done" or (unclear and (change.ref.kind in self.fates or drawn.random() < 0.5)):
            if change.verb == DELETE:
                self.there.pop(change.ref, None)
            else:
                self.there[change.ref] = change.new
        errors = {"refused": Refused(text="no", status=400), "unclear": Unconfirmed(text="time-out"),
                  "in use": InUse(text="used", status=400), "gone": NotFound(text="gone", status=404)}
        return Sent(change, errors.get(fate), 0.0)


class Faulty(Device):
    """A Device without a BIG-IP behind it."""

    def __init__(self, seed: int):
        unit = Unit("bigip", None, SimpleNamespace(kinds=(), close=lambda: None),
                    SimpleNamespace(require_active=lambda: None), folder="/Common")
        unit.sender = FaultySender(unit.calls, seed)
        super().__init__(Pair([unit]), folder="/Common", http_virtual="/Common/ose-vserver",
                         https_virtual="/Common/https-ose-vserver")

    def observe(self, *, create_folder: bool = True) -> None:
        self.observed, self.unconfirmed = dict(self.sender.there), set()
        self.facts, self.stale = FACTS, False


@pytest.fixture
def no_collections():
    gc.disable()
    yield
    gc.enable()


def passes(reconciler: Reconciler, clock: Clock) -> None:
    """Make passes as the loop does until it may sleep."""
    for _ in range(PASSES_AT_ONCE):
        retry, full = reconciler.next_retry(), reconciler.needs_observation()
        if not full and (retry is None or retry > clock.now):
            return
        if full:
            reconciler.device.observe()
        reconciler.run(full=full)
    raise AssertionError("it does not sleep")


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(STEPS, min_size=1, max_size=5), st.integers(0, 2**32), st.integers(0, 3))
def test_it_sleeps_whatever_was_refused(parts, seed, later):
    """After every event, and after every retry; when the device is well again, nothing is left to do."""
    clock, device = Clock(), Faulty(seed)
    try:
        reconciler = Reconciler(Engine(Settings()), device, folder="/Common", clock=clock)
        for steps in parts:
            device.sender.seed += 1
            reconciler.apply(delta(*steps))
            passes(reconciler, clock)
            for _ in range(later):
                if (retry := reconciler.next_retry()) is not None:
                    clock.now = max(clock.now, retry)
                passes(reconciler, clock)
        device.sender.well = True
        for _ in range(100):
            if (retry := reconciler.next_retry()) is None:
                break
            clock.now = max(clock.now, retry)
            passes(reconciler, clock)
        assert reconciler.next_retry() is None
        assert not reconciler.members.has_room()
    finally:
        device.calls.close()


def test_a_pool_whose_monitor_is_refused_needs_no_attempt():
    """Its own write got no reply, but the device has it without the monitor: only the monitor is due."""
    clock, device, beats = Clock(), Faulty(seed=0), HealthCheck("/", "http", 5, 16, "GET /")
    pool, monitor = Pool.KIND, "ltm/monitor/http"
    try:
        reconciler = Reconciler(Engine(Settings()), device, folder="/Common", clock=clock)
        device.sender.well = True
        reconciler.apply(delta((service("web"), True)))
        passes(reconciler, clock)
        device.sender.well, device.sender.fates = False, {pool: "unclear", monitor: "refused"}
        reconciler.apply(delta((replace(route("web"), options=RouteOptions(health=(beats,))), True)))
        for _ in range(3):
            passes(reconciler, clock)
            clock.now = max(clock.now, reconciler.next_retry() or 0.0)
        assert pool not in {ref.kind for ref in reconciler.failures}
        assert monitor in {ref.kind for ref in reconciler.failures}
        device.sender.well = True
        passes(reconciler, clock)
        assert not reconciler.failures
        assert all(obj.monitor for ref, obj in device.sender.there.items()
                   if ref.kind == pool and ref in reconciler.engine.uses(route("web").key))
    finally:
        device.calls.close()


@pytest.mark.parametrize("by_pass", [False, True], ids=["between requests", "by a pass"])
def test_endpoints_of_a_service_with_many_pools(by_pass):
    """Some are built at once; the others are due, and are built beside requests or by the next pass."""
    clock, device = Clock(), Faulty(seed=0)
    device.sender.well = True
    routes = [replace(route(f"r{number}", host=f"h{number}.com"),
                      options=RouteOptions(pod_connections=number + 1)) for number in range(400)]
    try:
        reconciler = Reconciler(Engine(Settings()), device, folder="/Common", clock=clock)
        reconciler.apply(delta((service("web"), True), (endpoints("10.1.0.1"), True),
                               *((asking, True) for asking in routes)))
        passes(reconciler, clock)
        reconciler.take_endpoints(delta((endpoints("10.1.0.2"), True)))
        assert reconciler.engine.has_changed_pools
        reconciler.members.pending.clear()
        assert reconciler.next_retry() == -math.inf
        if by_pass:
            reconciler.plan(full=False)
        while not by_pass and reconciler.engine.has_changed_pools:
            reconciler.rebuild_pools()
        assert {member.address for obj in reconciler.engine.objects.values() if isinstance(obj, Pool)
                for member in obj.members} == {"10.1.0.2"}
        assert len(reconciler.members.pending) >= 200
    finally:
        device.calls.close()


def test_it_goes_with_its_last_reference(no_collections):
    """No cycle of references keeps its objects, of thousands of Routes, until a full garbage collection."""
    clock, device = Clock(), Faulty(seed=0)
    device.sender.well = True
    try:
        reconciler = Reconciler(Engine(Settings()), device, folder="/Common", clock=clock)
        reconciler.apply(delta((route("web"), True), (service("web"), True)))
        passes(reconciler, clock)
        ended = [weakref.ref(obj) for obj in (reconciler, reconciler.engine)]
        del reconciler
        assert [reference() for reference in ended] == [None, None]
    finally:
        device.calls.close()
