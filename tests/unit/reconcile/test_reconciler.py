"""A Reconciler that has something to do gets on with it, or waits: it never turns in circles.

Longer than other modules: all tests turn the same Reconciler by hand.
"""

import gc
import math
import threading
import weakref
from collections import Counter
from dataclasses import replace
from random import Random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.icontrol.dispatcher import Lane
from f5router.icontrol.observation import Observation
from f5router.icontrol.pair import Pair
from f5router.icontrol.rest.readiness import Blame
from f5router.icontrol.rest.slots import Slots
from f5router.icontrol.sender import Sender, Sent
from f5router.icontrol.unit import Unit
from f5router.model.delta import Changes
from f5router.model.errors import BigIPError, InUse, NotFound, Refused, Standby, Unconfirmed
from f5router.model.limits import finish
from f5router.model.ltm import CertFile, CRLFile, KeyFile, Pool, PoolMember, Rule
from f5router.model.objects import Ref
from f5router.model.route_options import HealthCheck, RouteOptions
from f5router.plan.change import DELETE, AnyChange
from f5router.plan.diff import diff
from f5router.reconcile.reconciler import Reconciler
from f5router.reconcile.report import ROUTES_OF_A_TURN
from f5router.reconcile.rollout import Obstacles, Rollout
from f5router.reconcile.row import HoldReason, RowState
from tests import pump
from tests.builders import FACTS, Settings, endpoints, route, service
from tests.unit.desired.test_engine import STEPS, delta
from tests.unit.reconcile.test_table import asleep
from tests.waiting import DEADLINE_S, until

PASSES_AT_ONCE = 30
"""More than any series of passes that follow from each other takes, each of which gets something done."""
TROUBLES = 3
"""Failures of the device itself after an event."""


class Clock:
    now, pace = 1000.0, 0.0
    """Pace: seconds that pass from look to look."""

    def __call__(self) -> float:
        self.now += self.pace
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class FaultySender(Sender):
    """Sends to no BIG-IP: writes succeed, are refused, or get no usable reply."""

    def __init__(self, sender: Sender, seed: int):
        super().__init__(Blame(lambda: None), lambda: None)
        self.writers, self.seed, self.well, self.there = sender.writers, seed, False, {}
        self.fates: dict[str, str] = {}
        """What becomes of each write of a kind; one that is unclear is carried out."""
        self.active, self.troubles, self.attempts = True, 0, Counter[Ref]()
        self.before_reply = lambda change: None
        """Called in the thread of a request that was carried out."""

    def write(self, changes: list[AnyChange]) -> list[Sent]:
        if not self.active:
            raise Standby(text="standby")
        results = []
        for number, change in enumerate(changes):
            # Not drawn in turn: threads write them.
            self.attempts[change.ref] += 1
            mishap = Random(f"{self.seed} {change.ref} {self.attempts[change.ref]}").random()
            if self.troubles and mishap < 0.1:
                self.troubles -= 1
                raise BigIPError(text="away")
            if number and not self.well and mishap > 0.9:
                break  # the others were not sent
            results.append(Sent(change, self.write_one(change), 0.0))
            self.before_reply(change)
        return results

    def write_one(self, change: AnyChange) -> Exception | None:
        fates = ("done", "done", "refused", "unclear", "in use", "gone")
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
        return errors.get(fate)


class FaultyReading:
    """A reading of what a FaultySender has there."""

    def __init__(self, sender: FaultySender):
        self._sender, self.facts, self.expected, self.folder = sender, FACTS, None, {}

    def read_objects(self) -> Observation:
        return Observation(dict(self._sender.there), FACTS)


class Units(Pair):
    """Units that no threads watch."""

    def __init__(self, units: list[Unit]):
        super().__init__(units[:1])
        self.units = tuple(units)

    @property
    def is_several(self) -> bool:
        return len(self.units) > 1


class Faulty(Device):
    """A Device without a BIG-IP behind it. Its units are in `senders`; the first one is active."""

    def __init__(self, seed: int, units: int = 1):
        files = SimpleNamespace(kinds=(CertFile.KIND, KeyFile.KIND, CRLFile.KIND), group=lambda obj: "",
                                close=lambda: None)
        self.slots, failover = Slots(64), SimpleNamespace(require_active=lambda: None)
        client = SimpleNamespace(slots=self.slots)
        built = [Unit(f"bigip-{number}", client, files, failover,
                     folder="/Common", number=number) for number in range(units)]
        self.senders = [FaultySender(unit.sender, seed + number) for number, unit in enumerate(built)]
        for unit, sender in zip(built, self.senders, strict=True):
            unit.sender, unit.observers = sender, ()
        super().__init__(Units(built), folder="/Common", http_virtual="/Common/ose-vserver",
                         https_virtual="/Common/https-ose-vserver")
        self._begun = lambda client, **place: FaultyReading(self.unit.sender)

    @property
    def sender(self) -> FaultySender:
        return self.unit.sender

    def active_unit(self) -> Unit:
        return next(unit for unit in self.pair.units if unit.sender.active)

    def look(self) -> None:
        if not self.sender.active:
            raise Standby(text="standby")

    def switch(self) -> None:
        """Let the next unit be active, as after a failover."""
        at = next(number for number, sender in enumerate(self.senders) if sender.active)
        for number, sender in enumerate(self.senders):
            sender.active = number == (at + 1) % len(self.senders)

    def read_facts(self, reading, *, create_folder: bool = True) -> None:
        """There are those of the tests."""

    def remove_files(self, installed: set[str]) -> None:
        """Nothing is left."""

    def close(self) -> None:
        for unit in self.pair.units:
            unit.close()


@pytest.fixture
def no_collections():
    gc.disable()
    yield
    gc.enable()


def passes(reconciler: Reconciler, clock: Clock) -> None:
    """Do all that is due, as the loop does until it may sleep."""
    begun = []

    def portion() -> None:
        begun.append(clock.now)
        assert len(begun) <= PASSES_AT_ONCE, "it does not sleep"

    told, reconciler.rollouts.portion = reconciler.rollouts.portion, portion
    try:
        for _ in range(2 * TROUBLES + 2):
            try:
                pump.settle(reconciler, clock, clock.advance)
                break
            except BigIPError:
                clock.advance(1.0)
    finally:
        reconciler.rollouts.portion = told
    assert reconciler.rollouts.trouble is None, "it does not recover"
    retry = pump.next_retry(reconciler)
    assert retry is None or retry > clock.now, "it does not sleep"
    assert_nothing_is_lost(reconciler)


def assert_nothing_is_lost(reconciler: Reconciler) -> None:
    """Whatever differs has a row, and each row has a wake."""
    retention, table = reconciler.retention, reconciler.table
    desired, observed = reconciler.engine.objects, reconciler.device.observed
    differing = {change.ref for change in diff(desired, observed, retention.owns,
                                               ordinals=reconciler.device.ordinals)}
    assert differing - table.rows.keys() == set()
    assert asleep(table) == []
    assert {ref for ref, row in table.rows.items() if row.state is RowState.DUE} == set()
    assert reconciler.rollouts.plan() == ()  # what is held for something to be read is still unread


@settings(max_examples=100, deadline=None)
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
                if (retry := pump.next_retry(reconciler)) is not None:
                    clock.now = max(clock.now, retry)
                passes(reconciler, clock)
        get_well(reconciler, clock)
    finally:
        device.close()


def get_well(reconciler: Reconciler, clock: Clock) -> None:
    """Let all writes succeed from now on: nothing may be left to do then."""
    for sender in reconciler.device.senders:
        sender.well, sender.troubles = True, 0
    for _ in range(100):
        if (retry := pump.next_retry(reconciler)) is None:
            break
        clock.now = max(clock.now, retry)
        passes(reconciler, clock)
    assert pump.next_retry(reconciler) is None
    assert {row.hold for row in reconciler.table.rows.values()} <= {HoldReason.SECRET}


EVENTS = st.one_of(STEPS, st.sampled_from(["later", "switch", "forget", "read"]))


@settings(max_examples=100, deadline=None)
@given(st.lists(EVENTS, min_size=1, max_size=8), STEPS, st.integers(0, 2**32))
def test_whatever_differs_is_tried_again(events, meanwhile, seed):
    """After any events, also amid writes; refusals, lost replies, failures of the device and failovers."""
    clock, device, rest = Clock(), Faulty(seed, units=2), list(meanwhile)
    drawn = Random(seed)

    def amid_writes(change: AnyChange) -> None:
        if rest and drawn.random() < 0.3:
            reconciler.apply(delta(rest.pop()))

    try:
        reconciler = Reconciler(Engine(Settings()), device, folder="/Common", clock=clock, slice_s=0.0)
        device.on_switch, reconciler.rollouts.on_change = reconciler.unit_changed, amid_writes
        reconciler.rollouts.others_wait = lambda: drawn.random() < 0.1
        for event in events:
            for sender in device.senders:
                sender.seed, sender.troubles = sender.seed + 1, drawn.randint(0, TROUBLES)
            if event == "later":
                clock.now = max(clock.now, pump.next_retry(reconciler) or 0.0)
            elif event == "switch":
                device.switch()
                reconciler.must_read("of the test")
            elif event == "forget":  # another router leads for a while
                reconciler.start_over(follows=False)
            elif event == "read":
                reconciler.must_read("of the test")
            else:
                reconciler.apply(delta(*event))
            passes(reconciler, clock)
        get_well(reconciler, clock)
    finally:
        device.close()


class Served:
    """A Reconciler whose device is in step with a cluster; everything is written well."""

    def __init__(self, *objects, seed: int = 0):
        self.clock, self.device = Clock(), Faulty(seed)
        self.sender = self.device.sender
        self.sender.well = True
        self.reconciler = Reconciler(Engine(Settings()), self.device, folder="/Common", clock=self.clock)
        self.hanging: list[Hanging] = []
        self.apply(*objects)

    def apply(self, *objects, gone=()) -> None:
        self.reconciler.apply(delta(*((obj, True) for obj in objects), *((obj, False) for obj in gone)))
        self.run()

    def run(self) -> None:
        passes(self.reconciler, self.clock)

    def later(self) -> None:
        """Wait for the next attempt."""
        self.clock.now = max(self.clock.now, pump.next_retry(self.reconciler) or 0.0)
        self.run()

    def fail(self, **fates: str) -> None:
        """Let writes of kinds fail."""
        self.sender.well, self.sender.fates = False, KINDS_WELL | {KIND[name]: fate for name, fate
                                                                  in fates.items()}

    def refs(self, kind: str) -> set[Ref]:
        return {ref for ref in self.sender.there if ref.kind == kind}


KIND = {"pool": Pool.KIND, "rule": Rule.KIND, "monitor": "ltm/monitor/http"}
KINDS_WELL = dict.fromkeys(["ltm/policy", *KIND.values()], "done")


@pytest.fixture
def serve():
    served_so_far: list[Served] = []

    def begin(*objects) -> Served:
        served_so_far.append(Served(*objects))
        return served_so_far[-1]

    yield begin
    for each in served_so_far:
        for hanging in each.hanging:
            hanging.release()
        each.device.close()


def test_a_pool_whose_monitor_is_refused_needs_no_attempt(serve):
    """Its own write got no reply, but the device has it without the monitor: only the monitor is due."""
    served, beats = serve(service("web")), HealthCheck("/", "http", 5, 16, "GET /")
    served.fail(pool="unclear", monitor="refused")
    served.apply(replace(route("web"), options=RouteOptions(health=(beats,))))
    for _ in range(2):
        served.later()
    assert Pool.KIND not in {ref.kind for ref in served.reconciler.failures}
    assert KIND["monitor"] in {ref.kind for ref in served.reconciler.failures}
    served.sender.well = True
    served.later()
    assert not served.reconciler.failures
    assert all(obj.monitor for ref, obj in served.sender.there.items()
               if ref.kind == Pool.KIND and ref in served.reconciler.engine.uses(route("web").key))


def test_what_was_refused_is_tried_again_when_its_back_off_ends(serve):
    """Dependents are not sent before, and go with it."""
    served = serve(service("web"), endpoints("10.1.1.1"))
    served.fail(pool="refused")
    served.apply(route("web"))
    table, before = served.reconciler.table, served.sender.attempts.copy()
    states = {ref.kind: row.state for ref, row in table.rows.items()}
    assert (states[Pool.KIND], states[Rule.KIND]) == (RowState.REFUSED, RowState.BLOCKED)
    served.run()
    assert served.sender.attempts == before
    served.sender.well = True
    served.later()
    assert (table.rows, table.failures) == ({}, {})
    assert served.refs(Rule.KIND)


@pytest.mark.parametrize(("fate", "is_read"), [("refused", False), ("gone", True)])
def test_the_end_of_a_back_off_costs_one_write_of_each(serve, fate, is_read):
    """The device is read before only where that can help. No Rule is more specific than another one."""
    names, begun, tried = [f"r{number:02}" for number in range(20)], [], []
    served = serve(service("web"), endpoints("10.1.1.1"))
    served.fail(rule=fate)
    served.apply(*(route(name, path=f"/{name}") for name in names))
    served.device.on_reading = lambda: begun.append(served.clock.now)
    served.sender.before_reply = tried.append
    for _ in range(3):
        begun.clear()
        tried.clear()
        served.clock.now = max(served.clock.now, pump.next_retry(served.reconciler))
        pump.settle(served.reconciler, served.clock)
        assert len(tried) == len({change.ref for change in tried}) == len(names)
        assert bool(begun) is is_read


def test_an_event_ends_a_back_off(serve):
    served = serve(service("web"), endpoints("10.1.1.1"))
    served.fail(pool="refused")
    served.apply(route("web"))
    served.sender.well = True
    served.apply(endpoints("10.1.1.2"))
    assert not served.reconciler.failures
    assert served.refs(Rule.KIND)


def test_a_pool_that_recovers_beside_a_rollout_blocks_nothing(serve):
    """It was refused when the rollout began; its members are written before what needs it has its turn."""
    served = serve(service("web"), endpoints("10.1.1.1"), route("web"))
    served.fail(pool="refused")
    served.apply(endpoints("10.1.1.2"))
    (pool,) = (ref for ref, row in served.reconciler.table.rows.items() if row.state is RowState.REFUSED)

    def recover(change: AnyChange) -> None:
        if change.ref.kind == Rule.KIND or served.sender.well:
            return
        served.sender.well = True
        served.reconciler.take_endpoints(delta((endpoints("10.1.1.3"), True)))

    served.reconciler.rollouts.on_change = recover
    other = service("api"), endpoints("10.1.2.1", service="api"), route("api", path="/api", service="api")
    served.sender.fates = KINDS_WELL
    served.apply(*other, route("more", path="/more"))
    assert pool not in served.reconciler.table.rows
    assert served.reconciler.table.rows == {}


class Ends:
    """The ends of rollouts, of a router whose write of one pool waits and whose write of the other fails."""

    def __init__(self, served: Served, *, fails: bool):
        self.served, self.errors, self._gate, self._waits = served, [], threading.Event(), threading.Event()
        self._fails = fails
        served.sender.before_reply, served.reconciler.on_end = self._reply, self.errors.append
        served.reconciler.apply(delta(*((obj, True) for name in ("web", "api") for obj in (
            service(name), endpoints("10.1.1.1", service=name), route(name, path=f"/{name}", service=name)))))

    def _reply(self, change: AnyChange) -> None:
        if change.ref.kind == Pool.KIND and "api" in change.ref.path:
            self._waits.set()
            assert self._gate.wait(DEADLINE_S)
        elif change.ref.kind == Pool.KIND and self._fails:
            assert self._waits.wait(DEADLINE_S)
            raise BigIPError(text="away")

    def until(self, condition) -> None:
        """Let the loop take messages until something holds."""
        reconciler = self.served.reconciler

        def step() -> bool:
            if not reconciler.rollouts.follows:  # as the controller does
                reconciler.dispatch()
            for message in reconciler.inbox.take(0.01):
                message()
            return bool(condition())

        until(step)

    def release(self) -> None:
        self._gate.set()
        self.until(lambda: self.served.device.dispatcher.is_quiet)


def test_trouble_beside_a_request_in_flight(serve):
    """The rollout ends when the other request has ended, and with the error: that is no success."""
    ends = Ends(serve(), fails=True)
    ends.until(lambda: ends.served.reconciler.rollouts.trouble)
    assert (ends.errors, ends.served.reconciler.is_passing) == ([], True)
    ends.release()
    assert [str(error) for error in ends.errors] == ["away"]
    assert not ends.served.reconciler.is_passing


def test_a_rollout_of_a_router_that_leads_no_longer_has_no_end(serve):
    """It would count as the reading after which a follower is ready to take over."""
    ends = Ends(serve(), fails=False)
    ends.until(lambda: ends.served.device.dispatcher.in_flight(Lane.ROLLOUT))
    ends.served.reconciler.start_over(follows=True)
    ends.release()
    assert ends.errors == []


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
        first = len(reconciler.table.members)
        assert pump.next_retry(reconciler) == -math.inf
        assert reconciler.can_go_on
        if by_pass:
            reconciler.rollouts.plan()
        while not by_pass and reconciler.engine.has_changed_pools:
            reconciler.rebuild_pools()
        assert {member.address for obj in reconciler.engine.objects.values() if isinstance(obj, Pool)
                for member in obj.members} == {"10.1.0.2"}
        assert len(reconciler.table.members) - first >= 200
    finally:
        device.close()


class Hanging:
    """Requests that hang: writes of a kind get no reply until `end`, and time passes."""

    def __init__(self, served: Served, kind: str):
        self._ended, self._served, self._kind = threading.Event(), served, kind
        self._next, self._began = threading.Event(), threading.Event()
        self.held: list[AnyChange] = []
        served.clock.pace = 0.1
        served.sender.before_reply = self._hold
        served.hanging.append(self)

    def _hold(self, change: AnyChange) -> None:
        if change.ref.kind == self._kind and not self._ended.is_set():
            self.held.append(change)
            assert self._next.wait(DEADLINE_S)
            with self._served.device.slots.use():
                self._began.set()
            assert self._ended.wait(DEADLINE_S)

    def go_on(self) -> None:
        """Let a request get its reply, and the next one of the write begin, at which time stands still."""
        self._served.clock.pace = 0.0
        self._next.set()
        assert self._began.wait(DEADLINE_S)

    def release(self) -> None:
        """Let the replies come."""
        self._next.set()
        self._ended.set()
        self._served.clock.pace = 0.0

    def end(self) -> None:
        """Let the replies come, and be taken."""
        self.release()
        dispatcher, inbox = self._served.device.dispatcher, self._served.reconciler.inbox

        def is_quiet() -> bool:
            for message in inbox.take(0.0):
                message()
            return dispatcher.is_quiet

        until(is_quiet)


def test_a_write_that_hangs_holds_up_what_needs_it_only(serve):
    served = serve(service("web"), endpoints("10.1.1.1"), route("web"), service("api"))
    hanging = Hanging(served, Pool.KIND)
    served.reconciler.take_endpoints(delta((endpoints("10.1.1.2"), True)))
    served.run()
    (pool,) = (change.ref for change in hanging.held)
    table = served.reconciler.table
    assert table.rows[pool].state is RowState.SENT
    served.apply(route("more", path="/more"), route("to", path="/to", kind="edge", insecure="Redirect"))
    waits = {ref for ref, row in table.rows.items() if row.on == pool}
    assert {ref.kind for ref in waits} == {Rule.KIND}
    assert all(isinstance(table.error(ref), Unconfirmed) for ref in waits)
    hanging.end()
    served.run()
    assert table.rows == {}


def test_what_a_write_that_hung_needed_goes_after_its_reply(serve):
    """Not at the end of a back-off: until then it might still act on requests."""
    served = serve(service("web"), endpoints("10.1.1.1"), route("web"), service("api"),
                   endpoints("10.1.2.1", service="api"))
    hanging = Hanging(served, Rule.KIND)
    served.apply(route("web", service="api"))
    (held,) = (row for ref, row in served.reconciler.table.rows.items() if ref.kind == Pool.KIND)
    assert held.hold is HoldReason.NEEDED
    hanging.end()
    served.run()
    assert served.reconciler.table.rows == {}


def test_a_delete_is_held_until_the_end_of_the_rollout(serve):
    """Its object is there still, and the rollout must not delete what that needs."""
    served = serve(service("web"), endpoints("10.1.1.1"), route("web"))
    (rule,), table = served.refs(Rule.KIND), served.reconciler.table
    table.hold(rule, HoldReason.NEEDED)
    served.reconciler.rollouts.current = Rollout(
        (), served.device, table, Obstacles(), now=served.clock.now)
    table.on_recovery()
    assert table.rows[rule].state is RowState.HELD
    served.run()
    assert table.rows == {}


def test_what_a_write_needs_that_hung_and_goes_on_is_there(serve):
    """The Rule leads to the pool until its last request has a reply."""
    served = serve(service("web"), endpoints("10.1.1.1"), route("web"), service("api"),
                   endpoints("10.1.2.1", service="api"))
    hanging = Hanging(served, Rule.KIND)
    (web,) = (ref for ref in served.refs(Pool.KIND) if "web" in ref.path)
    served.apply(route("web", service="api"))
    hanging.go_on()
    served.reconciler.rollouts.retry_deferred()
    served.run()
    assert web in served.refs(Pool.KIND)
    hanging.end()
    served.run()
    assert web not in served.refs(Pool.KIND)


def test_rules_of_a_policy_whose_write_hangs_and_is_refused(serve):
    """Another Rule of the policy waits for the reply, not until the refused one is accepted."""
    served = serve(service("web"), endpoints("10.1.1.1"))
    served.fail(rule="refused")
    hanging = Hanging(served, Rule.KIND)
    served.apply(route("bad"))
    table = served.reconciler.table
    (bad,) = table.sent
    served.apply(route("good", path="/good"))
    (good,) = (ref for ref, row in table.rows.items() if row.on == bad)
    served.sender.fates = KINDS_WELL
    hanging.end()
    served.run()
    assert table.rows[bad].state is RowState.REFUSED
    assert good in served.sender.there
    assert good not in table.rows


def test_pods_that_left_a_refused_pool_go_while_a_rollout_is_under_way(serve):
    """Their addresses may be another tenant's by then. A new one waits for the end of the refusal."""
    served = serve(service("web"), endpoints("10.1.1.1", "10.1.1.2"), route("web"))
    reconciler, pool = served.reconciler, served.reconciler.engine.pool_of(route("web").key)
    hanging = Hanging(served, Rule.KIND)
    served.clock.pace = 0.0  # it does not hang for long
    reconciler.apply(delta((route("more", path="/more"), True)))

    def step(condition) -> bool:
        reconciler.dispatch()
        for message in reconciler.inbox.take(0.01):
            message()
        return bool(condition())

    until(lambda: step(lambda: hanging.held))
    served.fail(pool="refused")
    reconciler.take_endpoints(delta((endpoints("10.1.1.1", "10.1.1.3"), True)))
    until(lambda: step(lambda: pool in reconciler.failures))
    served.sender.well = True
    until(lambda: step(lambda: not reconciler.table.members and not reconciler.table.is_sent(pool)))
    assert {member.address for member in served.sender.there[pool].members} == {"10.1.1.1"}
    assert reconciler.rollouts.current is not None
    assert (reconciler.table.rows[pool].state, reconciler.table.rows[pool].attempts) == (RowState.REFUSED, 1)
    hanging.end()
    served.run()
    served.later()
    assert {member.address for member in served.sender.there[pool].members} == {"10.1.1.1", "10.1.1.3"}
    assert reconciler.table.rows == {}


def test_endpoints_that_come_during_a_conversion_are_newer(serve):
    """All but Routes is applied before the conversion begins: its steps may take a while."""
    served = serve(service("web"), endpoints("10.1.1.1"), route("web"))
    reconciler, converted = served.reconciler, []

    def convert():
        converted.append("begun")
        yield
        return delta((route("api", host="api.example.com"), True))

    work = reconciler.apply_in_steps(Changes(delta((endpoints("10.1.1.2"), True)), convert()))
    while not converted:
        next(work)
    reconciler.take_endpoints(delta((endpoints("10.1.1.3"), True)))
    finish(work)
    served.run()
    pool = reconciler.engine.pool_of(route("web").key)
    assert {member.address for member in served.sender.there[pool].members} == {"10.1.1.3"}
    assert reconciler.engine.route(route("api").key)


@pytest.mark.parametrize("shown", ["by drift", "by a reading", "after a rollout"])
def test_what_somebody_adds_to_a_refused_pool_goes_at_once(serve, shown):
    """Whatever shows it; if that is refused too, it is tried again after the next rollout."""
    served = serve(service("web"), endpoints("10.1.1.1"), route("web"))
    reconciler, pool = served.reconciler, served.reconciler.engine.pool_of(route("web").key)
    served.fail(pool="refused")
    served.apply(endpoints("10.1.1.1", "10.1.1.2"))
    row = replace(reconciler.table.rows[pool])
    edited = replace(served.sender.there[pool], members=frozenset(
        {*served.sender.there[pool].members, PoolMember("10.9.9.9", 8080)}))
    served.sender.there[pool] = edited
    if shown == "by a reading":
        served.sender.well = True
        reconciler.must_read("of the test")
    else:
        reconciler.device.record_object(pool, edited)
        served.sender.well = shown == "by drift"
        reconciler.take_drift({pool})
    served.run()
    if shown == "after a rollout":
        assert served.sender.there[pool] == edited
        served.sender.well = True
        served.apply(service("api"), route("more", host="more.example.com", service="api"))
    assert {member.address for member in served.sender.there[pool].members} == {"10.1.1.1"}
    assert replace(reconciler.table.rows[pool], sent_at=0.0) == replace(row, sent_at=0.0)


def test_a_refused_rule_of_a_host_that_is_another_namespace_s_goes(serve):
    """It leads to pods of the namespace before. While that is refused, it waits as before for its update."""
    served = serve(service("web"), endpoints("10.1.1.1"), route("web"))
    (rule,) = served.refs(Rule.KIND) & served.reconciler.engine.uses(route("web").key)
    served.fail(rule="refused")
    served.apply(route("web", host="other.example.com"))
    table, attempts = served.reconciler.table, served.sender.attempts
    row, tried = replace(table.rows[rule]), attempts[rule]
    served.apply(service("web", namespace="bank"), route("web", namespace="bank"))
    assert attempts[rule] == tried + 1
    assert replace(table.rows[rule], sent_at=0.0) == replace(row, sent_at=0.0)
    served.sender.well = True
    served.apply(route("more", path="/more"))
    assert rule not in served.sender.there
    assert replace(table.rows[rule], sent_at=0.0) == replace(row, sent_at=0.0)
    served.later()
    assert served.sender.there[rule].hosts == {"other.example.com"}
    assert table.rows == {}


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
        device.close()


def test_reports_of_many_routes_leave_the_loop_time_for_others(serve):
    """No rollout begins before a report has ended: each Route's verdict follows its own rollout."""
    served = serve(service("web"), endpoints("10.1.1.1"))
    reports = []
    served.reconciler.on_report = lambda report: reports.append(list(report.verdicts))
    count = 2 * ROUTES_OF_A_TURN + 1
    served.apply(*(route(f"r{number}", path=f"/{number}") for number in range(count)))
    assert [len(keys) for keys in reports if keys] == [ROUTES_OF_A_TURN, ROUTES_OF_A_TURN, 1]
    assert len({key for keys in reports for key in keys}) == count
