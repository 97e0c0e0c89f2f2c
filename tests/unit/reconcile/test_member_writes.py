"""Members of pools that are written beside a pass."""

import math
from types import SimpleNamespace

import pytest

from f5router.desired.engine import Engine
from f5router.icontrol.sender import Sent
from f5router.model.cluster import Key
from f5router.model.errors import Incomplete, Refused, Unconfirmed
from f5router.model.ltm import Pool, PoolMember
from f5router.model.objects import Ref
from f5router.plan.change import CREATE, DELETE, UPDATE, Change
from f5router.reconcile.backlog import Backlog
from f5router.reconcile.hold import Hold, HoldReason
from f5router.reconcile.member_writes import NAMESPACE_MOST, PATIENCE_S, MemberWrites
from f5router.reconcile.retry import Failure, RetrySchedule
from tests.builders import FACTS, Settings, endpoints, route, service
from tests.unit.desired.test_engine import delta

REFUSED, UNCONFIRMED = Refused(text="no", status=400), Unconfirmed(text="time-out")


def pool(name: str, *addresses: str, namespace: str = "shop") -> Pool:
    return Pool(f"/Common/openshift_{namespace}_{name}", "/Common/tcp",
                frozenset(PoolMember(address, 8080) for address in addresses))


class FakeDevice:
    """Takes updates; the test ends them."""

    def __init__(self, *objects: Pool):
        self.observed = {obj.ref: obj for obj in objects}
        self.unconfirmed: set[Ref] = set()
        self.sender = self
        self.in_flight: dict[Ref, Change] = {}
        self.room = 10
        self.results: list = []
        self.calls = SimpleNamespace(
            urgent_room=lambda: self.room, wait_for_urgent=lambda longest_s: self.on_wait())
        self.on_wait = lambda: None

    def begin_updates(self, changes) -> None:
        self.in_flight.update((change.ref, change) for change in changes)

    def is_in_flight(self, ref: Ref) -> bool:
        return ref in self.in_flight

    def end(self, ref: Ref, error: Exception | None = None) -> None:
        self.results.append(Sent(self.in_flight.pop(ref), error, 0.0))

    def ended_updates(self) -> list:
        results, self.results = self.results, []
        return results

    def settle_updates(self, results, on_change, outcome) -> None:
        for change, error, _ in results:
            if error is None:
                self.observed[change.ref] = change.new
                outcome.done.append(change)
                on_change(change)
            else:
                outcome.failed[change.ref] = error


class Bench:
    """MemberWrites of Services s0, s1... with one Route and one pool each."""

    def __init__(self, *names: str, namespace: str = "shop", extra: tuple = (), **more):
        objects = [obj for name in names for obj in (
            route(name, namespace=namespace, path=f"/{name}", service=name),
            service(name, namespace=namespace),
            endpoints("10.1.1.1", service=name, namespace=namespace))]
        self.engine = Engine(Settings())
        self.engine.set_facts(FACTS)
        self.engine.apply(delta(*((obj, True) for obj in objects)))
        self.refs = [pool(name, namespace=namespace).ref for name in names]
        self.device = FakeDevice(*(self.engine.objects[ref] for ref in self.refs), *extra)
        self.now, self.held, self.backlog = 100.0, set(), Backlog()
        self.retry = RetrySchedule()
        self.writes = MemberWrites(
            self.engine, self.device, self.retry, SimpleNamespace(hold_write=self.hold_write), self.backlog,
            clock=lambda: self.now, **more)
        self.engine.take_changes()

    def hold_write(self, ref: Ref, now: float) -> Hold | None:
        held = Hold(HoldReason.UNCONFIRMED) if ref in self.held else None
        return held or self.retry.hold(ref, now, lambda: [ref])

    def endpoints(self, *addresses: str, name: str = "s0", namespace: str = "shop") -> None:
        """Change endpoints, as an event does."""
        change = delta((endpoints(*addresses, service=name, namespace=namespace), True))
        self.engine.apply_endpoints(change)
        self.writes.note_endpoints([Key(namespace, name)])
        self.writes.note_changed(self.engine.take_changes()[0])

    def program(self) -> bool:
        return self.writes.program(lambda change: None)

    def members(self, ref: Ref) -> set[str]:
        return {member.address for member in self.device.in_flight[ref].new.members}


def test_changed_endpoints_are_written():
    bench = Bench("s0")
    (ref,) = bench.refs
    assert not bench.program()
    bench.endpoints("10.1.1.2")
    assert bench.writes.has_room()
    assert bench.program()
    assert bench.members(ref) == {"10.1.1.2"}
    assert (bench.writes.is_writing(ref), bench.writes.pending) == (True, set())
    bench.device.end(ref)
    assert not bench.program()
    assert [change.ref for change in bench.writes.take_done()] == [ref]
    assert bench.writes.take_done() == []


def test_a_tenant_has_few_writes_under_way():
    """The others wait until one has ended, and are not tried meanwhile."""
    names = [f"s{number}" for number in range(NAMESPACE_MOST + 2)]
    bench = Bench(*names)
    for name in names:
        bench.endpoints("10.1.1.2", name=name)
    bench.program()
    assert len(bench.device.in_flight) == NAMESPACE_MOST
    assert not bench.writes.has_room()
    waiting = [ref for ref in bench.refs if ref not in bench.device.in_flight]
    assert all(map(bench.writes.is_held_up, waiting))
    bench.device.end(next(iter(bench.device.in_flight)))
    bench.program()
    assert len(bench.device.in_flight) == NAMESPACE_MOST


def test_the_room_of_the_device_is_kept():
    bench = Bench("s0", "s1")
    bench.device.room = 1
    for name in ("s0", "s1"):
        bench.endpoints("10.1.1.2", name=name)
    bench.program()
    assert len(bench.device.in_flight) == 1


@pytest.mark.parametrize(("prepare", "begins", "stays"), [
    pytest.param(lambda b, ref: None, True, False, id="free"),
    pytest.param(lambda b, ref: b.held.add(ref), False, False, id="held: a retry brings it back"),
    pytest.param(lambda b, ref: b.device.in_flight.update({ref: None}), False, True, id="in flight"),
    pytest.param(lambda b, ref: b.device.observed.pop(ref), False, False, id="gone"),
    pytest.param(lambda b, ref: (b.retry.record({ref: REFUSED}, (), 0), setattr(b.writes, "planned", {ref})),
                 False, True, id="refused before, and in the Plan"),
    pytest.param(lambda b, ref: setattr(b.writes, "planned", {ref}), True, False, id="in the Plan"),
    pytest.param(lambda b, ref: b.endpoints("10.1.1.1"), False, False, id="as it is there"),
    pytest.param(lambda b, ref: (b.endpoints("10.1.1.1"), b.device.unconfirmed.add(ref)), True, False,
                 id="as it may be there"),
])
def test_what_is_begun(prepare, begins, stays):
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.endpoints("10.1.1.2")
    prepare(bench, ref)
    before = set(bench.device.in_flight)
    bench.program()
    assert (bench.writes.is_writing(ref), ref in bench.writes.pending) == (begins, stays)
    assert (ref in bench.device.in_flight) == (begins or ref in before)


@pytest.mark.parametrize(("error", "failed", "recovered"), [
    pytest.param(None, False, True, id="written"),
    pytest.param(REFUSED, True, False, id="refused"),
    pytest.param(Incomplete(REFUSED, pool("s0", "10.1.1.1")), True, True, id="usable"),
])
def test_results_of_a_pool_that_was_refused_before(error, failed, recovered):
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.retry.record({ref: REFUSED}, (), bench.now)
    bench.now = bench.retry.failures[ref].due
    bench.endpoints("10.1.1.2")
    bench.program()
    assert bench.retry.failures[ref].due == math.inf
    bench.device.end(ref, error)
    bench.program()
    assert (ref in bench.retry.failures, bench.writes.take_recovered()) == (failed, recovered)
    assert not bench.writes.take_recovered()
    assert bench.writes.has_changed
    assert (bench.writes.take_changed(), bench.writes.has_changed) == ({ref}, False)
    assert (ref in bench.backlog) == (error is None)
    if failed:
        assert (bench.retry.failures[ref].attempts, bench.retry.failures[ref].due) == (2, bench.now + 10)


def test_endpoints_that_change_during_a_refused_write_are_tried_at_once():
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.endpoints("10.1.1.2")
    bench.program()
    bench.endpoints("10.1.1.3")
    bench.device.end(ref, REFUSED)
    bench.program()
    assert bench.members(ref) == {"10.1.1.3"}


def test_an_error_of_the_device_leaves_the_write_to_be_done():
    """It is neither written nor refused."""
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.endpoints("10.1.1.2")
    bench.program()

    def broken(results, on_change, outcome) -> None:
        raise RuntimeError("away")

    settle, bench.device.settle_updates = bench.device.settle_updates, broken
    bench.device.end(ref)
    with pytest.raises(RuntimeError):
        bench.program()
    assert ref in bench.writes.pending
    assert not bench.writes.is_writing(ref)
    bench.device.settle_updates = settle
    assert bench.program()


@pytest.mark.parametrize(("patience_s", "waits_s"), [(PATIENCE_S, PATIENCE_S), (5.0, 5.0)])
def test_a_pass_waits_for_writes_but_not_for_one_that_hangs(patience_s, waits_s):
    bench = Bench("s0", "s1", patience_s=patience_s)
    quick, hanging = bench.refs
    for name in ("s0", "s1"):
        bench.endpoints("10.1.1.2", name=name)
    bench.program()
    begin = bench.now

    def wait() -> None:
        bench.now += 0.25
        if bench.device.is_in_flight(quick):
            bench.device.end(quick)

    bench.device.on_wait = wait
    bench.writes.wait(lambda change: None)
    assert bench.now - begin == waits_s
    assert bench.device.observed[quick] == bench.engine.objects[quick]
    assert quick not in bench.retry.failures
    assert isinstance(bench.retry.failures[hanging].error, Unconfirmed)
    bench.device.end(hanging)
    bench.program()
    assert not bench.retry.failures


def test_a_pool_that_nobody_wants_follows_its_pods():
    """As long as it is there, requests may still come to it."""
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.engine.apply(delta((route("s0", path="/s0", service="s0"), False)))
    bench.writes.note_changed(bench.engine.take_changes()[0])
    bench.program()
    bench.endpoints("10.1.1.9")
    bench.program()
    assert bench.members(ref) == {"10.1.1.9"}
    bench.device.end(ref)
    bench.program()
    del bench.device.observed[ref]
    bench.writes.confirm(Change(DELETE, pool("s0", "10.1.1.9"), None), lambda change: None)
    bench.endpoints("10.1.1.8")
    assert bench.writes.pending == set()


def test_a_pool_of_unknown_service_keeps_addresses_of_its_namespace():
    old = Pool("/Common/openshift_shop", "/Common/tcp",
               frozenset({PoolMember("10.1.1.1", 1), PoolMember("10.2.2.2", 1)}))
    bench = Bench("s0", extra=(old,))
    bench.writes.start_over({old.ref})
    bench.program()
    assert bench.members(old.ref) == {"10.1.1.1"}


@pytest.mark.parametrize(("verb", "there", "held", "newest"), [
    pytest.param(UPDATE, ("10.1.1.5",), False, UPDATE, id="update"),
    pytest.param(UPDATE, ("10.1.1.1",), False, None, id="done by now"),
    pytest.param(UPDATE, ("10.1.1.5",), True, None, id="refused meanwhile"),
    pytest.param(CREATE, None, False, CREATE, id="create"),
    pytest.param(UPDATE, None, False, CREATE, id="gone by now"),
    pytest.param(DELETE, ("10.1.1.5",), True, DELETE, id="delete"),
])
def test_newest(verb, there, held, newest):
    bench = Bench("s0")
    (ref,) = bench.refs
    old = pool("s0", "10.1.1.7")
    if there is None:
        del bench.device.observed[ref]
    else:
        bench.device.observed[ref] = pool("s0", *there)
    bench.held |= {ref} if held else set()
    planned = Change(verb, None if verb == CREATE else old, None if verb == DELETE else old)
    change = bench.writes.newest(planned)
    assert (change.verb if change else None) == newest
    if change and verb != DELETE:
        assert change.new == bench.engine.objects[ref]


@pytest.mark.parametrize(("verb", "failure", "writing", "beside"), [
    pytest.param(UPDATE, None, False, False, id="free"),
    pytest.param(UPDATE, None, True, True, id="being written"),
    pytest.param(UPDATE, Failure(UNCONFIRMED, 1, 0), False, True, id="its last write hung"),
    pytest.param(UPDATE, Failure(REFUSED, 1, 0), False, False, id="refused"),
    pytest.param(CREATE, Failure(UNCONFIRMED, 1, 0), False, False, id="create"),
    pytest.param(DELETE, None, True, False, id="delete"),
])
def test_what_a_plan_leaves_to_the_writes_beside_it(verb, failure, writing, beside):
    bench = Bench("s0")
    (ref,) = bench.refs
    if writing:
        bench.endpoints("10.1.1.2")
        bench.program()
    if failure:
        bench.retry.failures[ref] = failure
    hold = bench.writes.hold(Change(verb, pool("s0"), pool("s0")))
    assert (hold.reason if hold else None) == (HoldReason.WRITTEN_BESIDE if beside else None)


def test_a_pool_whose_endpoints_changed_while_a_plan_wrote_it():
    bench = Bench("s0")
    (ref,) = bench.refs
    confirmed = []
    bench.writes.confirm(Change(UPDATE, pool("s0"), bench.engine.objects[ref]), confirmed.append)
    assert bench.writes.pending == set()
    bench.writes.confirm(Change(UPDATE, pool("s0"), pool("s0", "10.9.9.9")), confirmed.append)
    assert bench.writes.pending == {ref}
    assert len(confirmed) == 2
