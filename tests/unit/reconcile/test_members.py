"""Members of pools that are written beside a rollout.

Longer than other modules: each way that members and their pool may change has its test.
"""

import ipaddress
from dataclasses import replace
from types import SimpleNamespace

import pytest

from f5router.desired.engine import Engine
from f5router.model import names
from f5router.model.cluster import Key
from f5router.model.errors import Refused, Unconfirmed
from f5router.model.ltm import Pool, PoolMember
from f5router.model.ltm_nodes import Incomplete
from f5router.model.net import StaticRoute
from f5router.model.objects import Ref
from f5router.model.route_options import TCPMonitor
from f5router.plan.change import CREATE, DELETE, UPDATE, Change
from f5router.reconcile.members import NAMESPACE_MOST, Members
from f5router.reconcile.row import HoldReason, RowState
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers
from tests.builders import FACTS, Settings, endpoints, route, service
from tests.unit.desired.test_engine import delta
from tests.unit.reconcile.test_table import asleep

REFUSED, UNCONFIRMED = Refused(text="no", status=400), Unconfirmed(text="time-out")
ROOM = 10


def pool(name: str, *addresses: str, namespace: str = "shop") -> Pool:
    return Pool(f"/Common/openshift_{namespace}_{name}", "/Common/tcp",
                frozenset(PoolMember(address, 8080) for address in addresses))


class Bench:
    """Members of Services s0, s1... with one Route and one pool each, which are on the device."""

    def __init__(self, *names: str, namespace: str = "shop", extra: tuple = ()):
        objects = [obj for name in names for obj in (
            route(name, namespace=namespace, path=f"/{name}", service=name),
            service(name, namespace=namespace),
            endpoints("10.1.1.1", service=name, namespace=namespace))]
        self.engine = Engine(Settings())
        self.engine.set_facts(FACTS)
        self.engine.apply(delta(*((obj, True) for obj in objects)))
        self.refs = [pool(name, namespace=namespace).ref for name in names]
        there = (*(self.engine.objects[ref] for ref in self.refs), *extra)
        self.device = SimpleNamespace(observed={obj.ref: obj for obj in there})
        self.now, self.emptied = 100.0, set[Ref]()
        self.table = Table(lambda: (self.engine.objects, self.device.observed), Timers(), lambda: self.now)
        self.members = Members(self.engine, self.device, self.table,
                               SimpleNamespace(is_unconfirmed=self.emptied.__contains__))
        self.engine.take_changes()

    def doubt(self, ref: Ref) -> None:
        """Let the last write of a pool have had no usable reply."""
        self.table.refuse(ref, Unconfirmed(text="time-out"))
        self.table.doubt(ref, 1)
        self.table.retry(ref)

    def endpoints(self, *addresses: str, name: str = "s0", namespace: str = "shop") -> None:
        """Change endpoints, as an event does."""
        self.engine.apply_endpoints(delta((endpoints(*addresses, service=name, namespace=namespace), True)))
        self.members.note_endpoints([Key(namespace, name)])
        self.table.touch(self.engine.take_changes()[0])

    def drop(self, name: str = "s0") -> None:
        """Let nobody want a pool."""
        self.engine.apply(delta((route(name, path=f"/{name}", service=name), False)))
        self.table.touch(self.engine.take_changes()[0])

    def take(self, room: int = ROOM) -> list[Change]:
        """Send what is due."""
        changes = self.members.take_due(room)
        for change in changes:
            self.table.send(change.ref)
        return changes

    def written(self, change: Change) -> None:
        """Take the reply."""
        self.device.observed[change.ref] = change.new
        self.members.written(change)
        self.table.confirm(change.ref)


def addresses(change: Change) -> set[str]:
    return {member.address for member in change.new.members}


def test_changed_endpoints_are_written():
    bench = Bench("s0")
    (ref,) = bench.refs
    assert bench.take() == []
    bench.endpoints("10.1.1.2")
    (change,) = bench.take()
    assert (change.ref, change.verb, addresses(change)) == (ref, UPDATE, {"10.1.1.2"})
    assert (bench.table.is_sent(ref), bench.take()) == (True, [])
    bench.written(change)
    assert bench.table.rows == {}


def test_a_tenant_has_few_writes_under_way():
    """The others wait until one has ended; another tenant's are written meanwhile."""
    names = [f"s{number}" for number in range(NAMESPACE_MOST + 2)]
    bench = Bench(*names, extra=(pool("web", "10.2.2.2", namespace="bank"),))
    for name in names:
        bench.endpoints("10.1.1.2", name=name)
    first = bench.take()
    assert [change.ref for change in first] == bench.refs[:NAMESPACE_MOST]
    bench.table.touch_members([pool("web", namespace="bank").ref])
    assert [change.ref.path for change in bench.take()] == ["/Common/openshift_bank_web"]
    bench.written(first[0])
    assert [change.ref for change in bench.take()] == [bench.refs[NAMESPACE_MOST]]
    assert list(bench.table.members) == bench.refs[NAMESPACE_MOST + 1:]
    assert asleep(bench.table) == []


@pytest.mark.parametrize(("room", "sent"), [(-1, 0), (0, 0), (1, 1), (2, 2)])
def test_the_room_of_the_device_is_kept(room, sent):
    bench = Bench("s0", "s1")
    for name in ("s0", "s1"):
        bench.endpoints("10.1.1.2", name=name)
    assert len(bench.take(room)) == sent
    assert len(bench.table.members) == 2 - sent


@pytest.mark.parametrize(("prepare", "begins", "state"), [
    pytest.param(lambda b, ref: None, True, RowState.SENT, id="free"),
    pytest.param(lambda b, ref: b.table.refuse(ref, REFUSED), False, RowState.REFUSED, id="refused"),
    pytest.param(lambda b, ref: (b.table.refuse(ref, REFUSED), b.endpoints("10.1.1.3")), True, RowState.SENT,
                 id="changed since it was refused"),
    pytest.param(lambda b, ref: b.emptied.add(ref), False, None, id="held: to be confirmed"),
    pytest.param(lambda b, ref: b.table.send(ref), False, RowState.SENT, id="in flight"),
    pytest.param(lambda b, ref: b.device.observed.pop(ref), False, RowState.DUE, id="gone: to be created"),
    pytest.param(lambda b, ref: b.endpoints("10.1.1.1"), False, None, id="as it is there"),
    pytest.param(lambda b, ref: b.doubt(ref), True, RowState.SENT, id="as it may be there"),
])
def test_what_is_begun(prepare, begins, state):
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.endpoints("10.1.1.2")
    prepare(bench, ref)
    assert bool(bench.take()) == begins
    row = bench.table.rows.get(ref)
    assert (row.state if row else None) == state
    assert ref not in bench.table.members
    assert asleep(bench.table) == []


def test_endpoints_that_change_during_a_refused_write_are_tried_at_once():
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.endpoints("10.1.1.2")
    bench.take()
    bench.endpoints("10.1.1.3")
    assert bench.take() == []
    bench.table.refuse(ref, REFUSED)
    (change,) = bench.take()
    assert addresses(change) == {"10.1.1.3"}


def test_endpoints_that_change_during_a_write_are_written_after_it():
    bench = Bench("s0")
    bench.endpoints("10.1.1.2")
    (change,) = bench.take()
    bench.endpoints("10.1.1.3")
    bench.written(change)
    (change,) = bench.take()
    assert addresses(change) == {"10.1.1.3"}


def test_a_write_that_was_not_sent_is_due():
    """An error of the device is nobody's refusal."""
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.endpoints("10.1.1.2")
    bench.take()
    bench.table.not_sent(ref)
    assert [change.ref for change in bench.take()] == [ref]


def test_a_pool_that_nobody_wants_follows_its_pods():
    """As long as it is there, requests may still come to it; its delete stays due."""
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.drop()
    assert (bench.take(), ref in bench.table.queue) == ([], True)
    bench.endpoints("10.1.1.9")
    (change,) = bench.take()
    assert addresses(change) == {"10.1.1.9"}
    bench.written(change)
    assert ref in bench.table.queue
    del bench.device.observed[ref]
    bench.table.rest(ref)
    bench.members.written(Change(DELETE, change.new, None))
    bench.endpoints("10.1.1.8")
    assert not bench.table.members


def test_a_pool_that_would_be_emptied_waits_for_the_plan_that_deletes_it():
    """The Plan decides first whether so many may go."""
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.drop()
    bench.endpoints()
    assert (bench.take(), ref in bench.table.members) == ([], True)
    bench.table.leave_queue(ref)
    (change,) = bench.take()
    assert addresses(change) == set()


def test_a_pool_of_unknown_service_keeps_addresses_of_its_namespace():
    old = Pool("/Common/openshift_shop", "/Common/tcp",
               frozenset({PoolMember("10.1.1.1", 1), PoolMember("10.2.2.2", 1)}))
    bench = Bench("s0", extra=(old,))
    bench.members.start_over({old.ref})
    bench.table.touch_members({old.ref})
    (change,) = bench.take()
    assert addresses(change) == {"10.1.1.1"}


@pytest.mark.parametrize(("prepare", "members"), [
    pytest.param(lambda b, ref: b.table.refuse(ref, REFUSED), {"10.1.1.1"}, id="refused: the gone one goes"),
    pytest.param(lambda b, ref: (b.drop(), b.table.refuse(ref, REFUSED)), {"10.1.1.1", "10.1.1.3"},
                 id="nobody wants it: it follows its pods"),
    pytest.param(lambda b, ref: (b.drop(), b.table.leave_members(ref), b.table.hold(ref, HoldReason.NEEDED)),
                 {"10.1.1.1", "10.1.1.3"}, id="held"),
    pytest.param(lambda b, ref: b.table.refuse(ref, UNCONFIRMED), None, id="in doubt: it is read first"),
    pytest.param(lambda b, ref: (b.table.refuse(ref, REFUSED), b.emptied.add(ref)), None,
                 id="to be confirmed"),
    pytest.param(lambda b, ref: (b.table.refuse(ref, REFUSED), b.device.observed.pop(ref)), None,
                 id="not there"),
])
def test_a_pool_that_waits_loses_the_pods_that_left(prepare, members):
    """A wanted one gets no new members while its own write is refused. The row waits as before."""
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.device.observed[ref] = pool("s0", "10.1.1.1", "10.1.1.2")
    bench.engine.apply_endpoints(delta((endpoints("10.1.1.1", "10.1.1.3", service="s0"), True)))
    bench.engine.take_changes()
    prepare(bench, ref)
    before = replace(bench.table.rows[ref])
    bench.members.correct([ref])
    changes = bench.take()
    assert [addresses(change) for change in changes] == ([] if members is None else [members])
    for change in changes:
        bench.written(change)
        assert bench.table.rows[ref] == replace(before, sent_at=bench.now)
    bench.members.correct([ref])
    assert bench.take() == []
    assert asleep(bench.table) == []


def test_a_correction_that_is_refused_is_not_repeated_at_once():
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.device.observed[ref] = pool("s0", "10.1.1.1", "10.1.1.2")
    bench.table.refuse(ref, REFUSED)
    until = bench.table.rows[ref].until
    bench.members.correct([ref])
    assert len(bench.take()) == 1
    bench.table.refuse(ref, REFUSED)
    row = bench.table.rows[ref]
    assert (bench.take(), row.state, row.until, row.attempts) == ([], RowState.REFUSED, until, 1)


def test_endpoints_that_change_before_a_correction_is_sent_end_the_back_off():
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.device.observed[ref] = pool("s0", "10.1.1.1", "10.1.1.2")
    bench.table.refuse(ref, REFUSED)
    bench.members.correct([ref])
    bench.endpoints("10.1.1.1", "10.1.1.3")
    (change,) = bench.take()
    assert addresses(change) == {"10.1.1.1", "10.1.1.3"}


@pytest.mark.parametrize(("prepare", "begins", "waits"), [
    pytest.param(lambda b, ref: None, True, False, id="free"),
    pytest.param(lambda b, ref: b.table.send(ref), False, True, id="in flight"),
    pytest.param(lambda b, ref: b.table.refuse(ref, REFUSED), False, False, id="refused"),
    pytest.param(lambda b, ref: b.emptied.add(ref), False, False, id="held"),
    pytest.param(lambda b, ref: b.device.observed.pop(ref), False, False, id="gone"),
    pytest.param(lambda b, ref: b.endpoints("10.1.1.5"), False, False, id="has these members"),
    pytest.param(lambda b, ref: b.endpoints(), False, False, id="would be emptied"),
    pytest.param(lambda b, ref: b.drop(), False, False, id="nobody wants it"),
])
def test_pools_that_were_just_read(prepare, begins, waits):
    """Only members are written, whatever else is there."""
    bench = Bench("s0")
    (ref,) = bench.refs
    bench.device.observed[ref] = replace(pool("s0", "10.1.1.5"), monitor="/Common/other")
    prepare(bench, ref)
    changes, waiting = bench.members.take_read({ref}, ROOM)
    assert (len(changes), waiting) == (int(begins), {ref} if waits else set())
    for change in changes:
        assert (change.verb, change.new.monitor, addresses(change)) == (UPDATE, "/Common/other", {"10.1.1.1"})


def test_pools_that_were_just_read_have_limits():
    names = [f"s{number}" for number in range(NAMESPACE_MOST + 1)]
    bench = Bench(*names)
    for name, ref in zip(names, bench.refs, strict=True):
        bench.device.observed[ref] = pool(name, "10.1.1.5")
    for room, begin in [(0, 0), (1, 1), (ROOM, NAMESPACE_MOST)]:
        changes, waiting = bench.members.take_read(set(bench.refs), room)
        assert (len(changes), len(waiting)) == (begin, len(names) - begin)
        assert waiting.isdisjoint(change.ref for change in changes)


@pytest.mark.parametrize(("verb", "there", "held", "newest"), [
    pytest.param(UPDATE, ("10.1.1.5",), False, UPDATE, id="update"),
    pytest.param(UPDATE, ("10.1.1.1",), False, None, id="done by now"),
    pytest.param(UPDATE, ("10.1.1.5",), True, None, id="refused meanwhile"),
    pytest.param(CREATE, None, False, CREATE, id="create"),
    pytest.param(UPDATE, None, False, CREATE, id="gone by now"),
    pytest.param(CREATE, ("10.1.1.5",), False, UPDATE, id="there by now"),
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
    if held:
        bench.table.refuse(ref, REFUSED)
    planned = Change(verb, None if verb == CREATE else old, None if verb == DELETE else old)
    change = bench.members.newest(planned)
    assert (change.verb if change else None) == newest
    if change and verb != DELETE:
        assert change.new == bench.engine.objects[ref]


def test_newest_of_a_pool_whose_last_write_is_in_doubt():
    bench = Bench("s0")
    (ref,) = bench.refs
    there = bench.device.observed[ref]
    bench.doubt(ref)
    assert bench.members.newest(Change(UPDATE, there, there)) == Change(UPDATE, there, there)


MONITOR = TCPMonitor("/Common/openshift_monitor_tcp_5", 5, 16)
OTHER = TCPMonitor("/Common/openshift_monitor_tcp_9", 9, 28)


def with_monitor(obj: Pool, monitor: TCPMonitor) -> Pool:
    return replace(obj, monitor=monitor.path)


@pytest.mark.parametrize(("verb", "obj", "beside"), [
    pytest.param(UPDATE, pool("s0"), True, id="members"),
    pytest.param(CREATE, pool("s0"), False, id="create"),
    pytest.param(DELETE, pool("s0"), False, id="delete"),
    pytest.param(UPDATE, MONITOR, False, id="monitor"),
])
def test_what_a_plan_leaves_to_the_writes_beside_it(verb, obj, beside):
    change = Change(verb, None if verb == CREATE else obj, None if verb == DELETE else obj)
    assert Bench("s0").members.writes_beside(change) is beside


class Monitored(Bench):
    """A pool that has one monitor, and is to get another that is not there yet."""

    def __init__(self):
        super().__init__("s0")
        (self.ref,) = self.refs
        plain = self.device.observed[self.ref]
        self.device.observed |= {self.ref: with_monitor(plain, OTHER), OTHER.ref: OTHER}
        # The objects that Routes ask for are the matter of other tests.
        self.wanted = {self.ref: with_monitor(plain, MONITOR), MONITOR.ref: MONITOR}
        self.table = Table(lambda: (self.wanted, self.device.observed), Timers(), lambda: self.now)
        engine = SimpleNamespace(objects=self.wanted, members=self.engine.members)
        self.members = Members(engine, self.device, self.table,
                               SimpleNamespace(is_unconfirmed=self.emptied.__contains__))

    def monitor_comes(self) -> None:
        self.device.observed[MONITOR.ref] = MONITOR
        self.table.confirm(MONITOR.ref)

    def change_members(self, *addresses: str) -> None:
        self.wanted[self.ref] = with_monitor(pool("s0", *addresses), MONITOR)
        self.table.touch([self.ref])


def test_members_do_not_wait_for_a_monitor():
    """The pool keeps the monitor that it has, and is written again when the new one is there."""
    bench = Monitored()
    bench.change_members("10.1.1.2")
    (change,) = bench.take()
    assert (change.new.monitor, addresses(change)) == (OTHER.path, {"10.1.1.2"})
    bench.written(change)
    assert bench.take() == []
    row = bench.table.rows[bench.ref]
    assert (row.state, row.on, row.blocked) == (RowState.BLOCKED, MONITOR.ref, False)
    bench.monitor_comes()
    (change,) = bench.take()
    assert change.new.monitor == MONITOR.path


def test_the_monitor_of_a_pool_that_waits_for_another_stays():
    bench = Monitored()
    delete = Change(DELETE, OTHER, None)
    assert bench.members.user_of(delete, {}) is None
    bench.table.touch([bench.ref])
    assert bench.members.user_of(delete, {}) == bench.ref
    assert bench.take() == []
    assert bench.members.user_of(delete, {}) == bench.ref
    bench.table.wait_for(OTHER.ref, bench.ref)
    bench.monitor_comes()
    (change,) = bench.take()
    assert bench.members.user_of(delete, {}) == bench.ref
    bench.written(change)
    assert bench.members.user_of(delete, {}) is None
    assert OTHER.ref in bench.table.queue


def test_a_refused_monitor_is_not_tried_for_each_pool_that_waits_for_it():
    bench = Monitored()
    bench.table.refuse(MONITOR.ref, REFUSED)
    bench.table.touch([bench.ref])
    assert bench.take() == []
    assert bench.table.rows[MONITOR.ref].state is RowState.REFUSED
    assert bench.table.rows[bench.ref].state is RowState.BLOCKED


@pytest.mark.parametrize(("prepare", "waits"), [
    pytest.param(lambda b, ref: None, False, id="at rest"),
    pytest.param(lambda b, ref: b.endpoints("10.1.1.2"), True, id="due"),
    pytest.param(lambda b, ref: b.table.send(ref), True, id="sent"),
    pytest.param(lambda b, ref: b.table.refuse(ref, REFUSED), False, id="refused"),
    pytest.param(lambda b, ref: b.table.refuse(ref, Incomplete(REFUSED, pool("s0", "10.1.1.1"))), False,
                 id="usable"),
    pytest.param(lambda b, ref: (b.endpoints("10.1.1.2"), b.emptied.add(ref)), False, id="held"),
    pytest.param(lambda b, ref: (b.endpoints("10.1.1.2"), b.device.observed.pop(ref)), False, id="not there"),
])
def test_what_waits_for_members(prepare, waits):
    bench = Bench("s0")
    (ref,) = bench.refs
    rule = next(obj for obj in bench.engine.objects.values() if ref in obj.dependencies)
    prepare(bench, ref)
    assert bench.members.under_way(Change(CREATE, None, rule)) == ([ref] if waits else [])
    assert bench.members.under_way(Change(UPDATE, bench.engine.objects[ref], bench.engine.objects[ref])) == []


def test_the_way_to_members_that_a_pool_loses_stays():
    """A member that somebody has added by a DNS name has no address, and needs no static route."""
    bench = Monitored()
    before = pool("s0", "10.9.1.1", "10.9.2.1", "pod.example.com")
    bench.device.observed[bench.ref] = with_monitor(before, OTHER)
    bench.change_members("10.9.2.1")
    leaving = bench.members.leaving()
    assert leaving == {bench.ref: {ipaddress.ip_address("10.9.1.1")}}
    for network, user in (("10.9.1.0/24", bench.ref), ("10.9.2.0/24", None)):
        way = StaticRoute(names.pod_route("/Common", network), network, "10.3.0.1")
        assert bench.members.user_of(Change(DELETE, way, None), leaving) == user
