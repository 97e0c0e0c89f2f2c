"""Fates of objects that are not at rest, and the events that wake them.

Longer than other modules: each state of a row meets each event.
"""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.model.errors import Conflict, Forbidden, InUse, NotFound, Refused, Unconfirmed
from f5router.model.ltm import Pool, PoolMember, Redirect, Rule
from f5router.model.ltm_nodes import Incomplete
from f5router.model.objects import Ref
from f5router.reconcile.row import (
    FOR_SERVING,
    OVERTAKEN_AFTER,
    RETRY_FIRST_S,
    Counts,
    HoldReason,
    RowState,
    errors,
)
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers
from tests import pump

DUE, SENT, REFUSED_STATE, BLOCKED, HELD = RowState
REFUSED, UNCONFIRMED = Refused(text="no", status=400), Unconfirmed(text="time-out")
IN_USE = InUse(text="used", status=400)
GONE = NotFound(text="gone", status=404)


def pool(name: str, *addresses: str) -> Pool:
    return Pool(f"/Common/openshift_shop_{name}", "/Common/tcp",
                frozenset(PoolMember(address, 8080) for address in addresses))


def rule(name: str, target: str = "https://x") -> Rule:
    return Rule("/Common/openshift_secure_routes", f"openshift_route_shop_{name}", 1, frozenset(),
                Redirect(target), hosts=frozenset({f"{name}.com"}))


P, Q, R, S = pool("p").ref, pool("q").ref, rule("r").ref, rule("s").ref
SECRET, SUCCESSOR = HoldReason.SECRET, HoldReason.SUCCESSOR
USABLE = Incomplete(REFUSED, pool("p", "10.1.1.1"))
UNUSABLE = Incomplete(REFUSED, pool("p"))


def asleep(table: Table) -> list[Ref]:
    """Return the rows that nothing wakes, and what indexes have without a row."""
    waiting = {ref: on for on, refs in table.waiting.items() for ref in refs}
    wakes = {
        DUE: lambda ref, row: ref in table.queue or ref in table.members,
        SENT: lambda ref, row: ref in table.sent,
        REFUSED_STATE: lambda ref, row: table.timers.when(ref) == row.until,
        BLOCKED: lambda ref, row: row.on in table.rows and waiting.get(ref) == row.on,
        HELD: lambda ref, row: ref in table.held.get(row.hold, ()) and (
            table.timers.when(ref) == row.until if row.hold in FOR_SERVING else row.until == math.inf),
    }
    lost = [ref for ref, row in table.rows.items() if not wakes[row.state](ref, row)]
    in_state = [(table.queue, {DUE}), (table.members, {DUE}), (table.sent, {SENT}), (waiting, {BLOCKED}),
                (table.failures, set(RowState)), (table.first, set(RowState))]
    lost += [ref for index, states in in_state for ref in index
             if ref not in table.rows or table.rows[ref].state not in states]
    failed = {ref for ref, row in table.rows.items() if row.error is not None}
    held = {(ref, row.hold) for ref, row in table.rows.items() if row.hold is not None}
    held ^= {(ref, reason) for reason, refs in table.held.items() for ref in refs}
    return lost + sorted(failed ^ table.failures.keys()) + sorted(ref for ref, _ in held)


class Bench:
    """A Table of two pools and two Rules that are wanted and not there."""

    def __init__(self):
        self.now, self.timers, self.told = 1000.0, Timers(), []
        self.desired = {obj.ref: obj for obj in (pool("p", "10.1.1.1"), pool("q", "10.1.1.1"), rule("r"),
                                                 rule("s"))}
        self.observed: dict = {}
        self.table = Table(lambda: (self.desired, self.observed), self.timers, lambda: self.now)
        self.table.on_retry = self._read
        self.table.on_recovery = self._recover

    def _read(self, reason: str) -> None:
        """The device is read, and what is due is tried."""
        self.told.append("retry")
        self.table.retry_due()

    def _recover(self) -> None:
        self.told.append("recovery")
        self.table.release(*FOR_SERVING)

    def take(self, *refs: Ref) -> None:
        """Let the device have objects as they are wanted."""
        self.observed |= {ref: self.desired[ref] for ref in refs}

    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.timers.fire(self.now)

    def state(self, ref: Ref) -> RowState | None:
        row = self.table.rows.get(ref)
        return row.state if row else None


@pytest.fixture
def bench() -> Bench:
    return Bench()


def in_state(state: RowState | None, bench: Bench, ref: Ref) -> None:
    """Bring an object that differs into a state."""
    table = bench.table
    if state is not None:
        table.touch([ref])
    if state is SENT:
        table.send(ref)
    elif state is REFUSED_STATE:
        table.send(ref)
        table.refuse(ref, REFUSED)
    elif state is BLOCKED:
        table.touch([Q])
        table.block(ref, REFUSED, Q)
    elif state is HELD:
        table.hold(ref, SECRET)
    assert bench.state(ref) is state


ACTIONS = {
    "touch": lambda b: b.table.touch([R]),
    "found": lambda b: b.table.touch_differing([R]),
    "queue up": lambda b: b.table.queue_up([R]),
    "retry": lambda b: b.table.retry(R),
    "send": lambda b: b.table.send(R),
    "refuse": lambda b: b.table.refuse(R, REFUSED),
    "block": lambda b: (b.table.touch([Q]), b.table.block(R, REFUSED, Q)),
    "hold": lambda b: b.table.hold(R, SUCCESSOR),
    "release": lambda b: b.table.release(SECRET),
    "release others": lambda b: b.table.release(SUCCESSOR),
    "plan": lambda b: b.table.plan(R),
    "not sent": lambda b: b.table.not_sent(R),
    "confirm": lambda b: (b.take(R), b.table.confirm(R)),
    "confirm an older one": lambda b: b.table.confirm(R),
    "rest": lambda b: b.table.rest(R),
    "leave the queue": lambda b: b.table.leave_queue(R),
    "keep it": lambda b: b.table.keep({R}),
    "keep others": lambda b: b.table.keep({P}),
    "clear": lambda b: b.table.clear(),
    "start over": lambda b: b.table.start_over(),
}
# After each action, by the state before: at rest, due, sent, refused, blocked, held.
AFTER = {
    "touch": (DUE, DUE, SENT, DUE, DUE, DUE),
    "found": (DUE, DUE, SENT, REFUSED_STATE, BLOCKED, DUE),
    "queue up": (DUE, DUE, SENT, DUE, DUE, DUE),
    "retry": (None, DUE, SENT, DUE, DUE, DUE),
    "send": (SENT,) * 6,
    "refuse": (REFUSED_STATE,) * 6,
    "block": (BLOCKED,) * 6,
    "hold": (HELD, HELD, SENT, HELD, HELD, HELD),
    "release": (None, DUE, SENT, REFUSED_STATE, BLOCKED, DUE),
    "release others": (None, DUE, SENT, REFUSED_STATE, BLOCKED, HELD),
    "plan": (None, DUE, SENT, REFUSED_STATE, BLOCKED, DUE),
    "not sent": (None, DUE, DUE, REFUSED_STATE, BLOCKED, HELD),
    "confirm": (None,) * 6,
    "confirm an older one": (*(DUE,) * 5, HELD),
    "rest": (None,) * 6,
    "leave the queue": (None, None, SENT, REFUSED_STATE, BLOCKED, None),
    "keep it": (None, DUE, SENT, REFUSED_STATE, DUE, HELD),  # what it waits for is dropped
    "keep others": (None, None, SENT, None, None, None),
    "clear": (None, None, SENT, REFUSED_STATE, DUE, None),  # likewise
    "start over": (None,) * 6,
}


@pytest.mark.parametrize("action", ACTIONS)
def test_transitions(action):
    for before, after in zip((None, *RowState), AFTER[action], strict=True):
        bench = Bench()
        in_state(before, bench, R)
        ACTIONS[action](bench)
        assert (before, bench.state(R)) == (before, after)
        assert asleep(bench.table) == [], before


def test_what_is_as_it_is_wanted_has_no_row(bench):
    bench.take(P, R)
    bench.table.touch([P, R, Ref("ltm/pool", "/Common/nowhere")])
    assert bench.table.rows == {}


def test_the_back_off_grows(bench):
    table, delays = bench.table, []
    for _ in range(8):
        table.send(R)
        table.refuse(R, REFUSED)
        delays.append(table.rows[R].until - bench.now)
        assert pump.next_due(table) == bench.now + delays[-1]
        bench.pass_time(delays[-1] - 1)
        assert (bench.state(R), bench.told) == (REFUSED_STATE, [])
        bench.pass_time(1)
        assert (bench.state(R), R in table.queue, bench.told) == (DUE, True, [])
        assert pump.next_due(table) is None
    assert delays == [5, 10, 20, 40, 80, 160, 300, 300]
    bench.take(R)
    table.send(R)
    table.confirm(R)
    bench.observed.clear()
    table.refuse(R, REFUSED)
    assert table.rows[R].until == bench.now + RETRY_FIRST_S


@pytest.mark.parametrize(("error", "is_read"), [
    pytest.param(REFUSED, False, id="refused"),
    pytest.param(UNUSABLE, False, id="refused in part"),
    pytest.param(Forbidden("POST", "x", "no", alone=True), False, id="forbidden"),
    pytest.param(UNCONFIRMED, True, id="no usable reply"),
    pytest.param(GONE, True, id="not found"),
    pytest.param(Conflict(text="exists", status=409), True, id="exists already"),
    pytest.param(Refused(text="the virtual server is not there"), True, id="not sent"),
])
def test_a_reading_comes_first_only_where_it_can_help(bench, error, is_read):
    bench.table.refuse(R, error)
    bench.pass_time(RETRY_FIRST_S)
    assert (bench.told[-1:], bench.state(R)) == (["retry"] if is_read else [], DUE)


@pytest.mark.parametrize("state", [REFUSED_STATE, BLOCKED])
def test_an_event_ends_a_wait_at_once(bench, state):
    """Its error stays known until it was tried again; the time does not come a second time."""
    in_state(state, bench, R)
    bench.table.touch([R])
    assert R in bench.table.queue
    assert bench.table.error(R) is REFUSED
    bench.pass_time(RETRY_FIRST_S)
    assert bench.told == []
    assert asleep(bench.table) == []


@pytest.mark.parametrize("event", [
    pytest.param(lambda table: table.touch([P]), id="object"),
    pytest.param(lambda table: table.touch_members([P]), id="members"),
    pytest.param(lambda table: table.queue_up([P]), id="what it needs"),
])
def test_an_event_during_a_refused_write_counts(bench, event):
    bench.observed[P] = pool("p", "10.9.9.9")
    bench.table.touch([P])
    bench.table.send(P)
    event(bench.table)
    assert (bench.state(P), P in bench.table.members) == (SENT, False)
    bench.table.refuse(P, REFUSED)
    assert (bench.state(P), P in bench.table.members) == (DUE, True)
    bench.table.send(P)
    bench.table.refuse(P, REFUSED)
    assert (bench.state(P), bench.table.rows[P].attempts) == (REFUSED_STATE, 2)


def test_an_event_during_a_correction_counts(bench):
    bench.observed[P] = pool("p", "10.9.9.9")
    in_state(REFUSED_STATE, bench, P)
    bench.table.send(P, corrects=True)
    bench.table.touch([P])
    bench.table.confirm(P)
    assert (bench.state(P), bench.table.rows[P].corrects) == (DUE, False)


def going_pool(bench: Bench) -> None:
    """Let a pool of the device be wanted no more."""
    bench.observed[P] = pool("p", "10.9.9.9")
    del bench.desired[P]


def test_deletes_in_use_back_off_each_by_itself(bench):
    going_pool(bench)
    for ref, seconds in ((P, 5), (P, 10), (Q, 5), (P, 20)):
        bench.table.send(ref)
        bench.table.refuse(ref, IN_USE)
        assert bench.table.rows[ref].until == bench.now + seconds


def write_members(bench: Bench) -> None:
    """Follow the pods of a pool, beside any rollout."""
    bench.table.touch_members([P])
    assert (list(bench.table.members), P in bench.table.queue) == ([P], False)
    bench.pass_time(2)
    bench.table.send(P)
    bench.observed[P] = pool("p", "10.1.1.2")
    bench.table.confirm(P)


def test_members_of_a_pool_in_use_follow_its_pods(bench):
    """That brings no new attempt to delete it."""
    going_pool(bench)
    bench.table.refuse(P, IN_USE)
    until = bench.table.rows[P].until
    write_members(bench)
    row = bench.table.rows[P]
    assert (row.state, row.until, row.attempts, row.error) == (REFUSED_STATE, until, 1, IN_USE)
    bench.table.touch_members([P])
    bench.table.leave_members(P)
    assert (bench.state(P), row.until) == (REFUSED_STATE, until)
    assert asleep(bench.table) == []


@pytest.mark.parametrize("reason", HoldReason)
def test_members_of_a_held_pool_follow_its_pods(bench, reason):
    going_pool(bench)
    bench.table.hold(P, reason)
    until = bench.table.rows[P].until
    write_members(bench)
    assert (bench.state(P), bench.table.rows[P].until) == (HELD, until)
    bench.table.touch_members([P])
    bench.table.hold(P, reason)
    assert (bench.state(P), list(bench.table.members)) == (DUE, [P])
    bench.table.leave_members(P)
    assert bench.state(P) is HELD
    assert asleep(bench.table) == []


def test_what_is_in_use_and_wanted_again_is_not_refused(bench):
    going_pool(bench)
    bench.table.refuse(P, IN_USE)
    bench.desired[P] = pool("p", "10.1.1.1")
    bench.table.touch([P])
    assert (bench.table.failures, bench.state(P)) == ({}, DUE)


def test_what_serves_for_a_refused_object_is_looked_at_again(bench):
    """When a refusal ends; and after a while, ever more rarely."""
    bench.table.touch([Q, R, S])
    for seconds in (5, 10, 20):
        bench.table.hold(R, SUCCESSOR)
        assert bench.table.rows[R].until == bench.now + seconds
        bench.pass_time(seconds)
        assert bench.state(R) is DUE
    bench.table.hold(R, SUCCESSOR)
    bench.table.hold(S, HoldReason.DRAINING, bench.now + 1)
    assert bench.table.rows[S].until == bench.now + 1
    bench.table.refuse(Q, REFUSED)
    bench.take(Q)
    bench.table.confirm(Q)
    assert [bench.state(ref) for ref in (R, S)] == [DUE, DUE]
    assert bench.table.held_for(*HoldReason) == set()


def test_a_placeholder_waits_on_when_it_is_written(bench):
    """Its Rule waits for a Secret; what is on the device is not what is wanted."""
    bench.table.touch([R])
    bench.table.plan(R, SECRET)
    bench.table.send(R)
    bench.observed[R] = rule("r", "https://nowhere")
    bench.table.confirm(R)
    assert (bench.state(R), bench.table.held_for(SECRET)) == (HELD, {R})
    bench.table.plan(R)
    assert (bench.state(R), bench.table.held_for(SECRET)) == (DUE, set())


@pytest.mark.parametrize("ends", [
    pytest.param(lambda table: table.confirm(R), id="done"),
    pytest.param(lambda table: table.refuse(R, IN_USE), id="refused"),
    pytest.param(lambda table: table.not_sent(R), id="not sent"),
])
def test_a_correction_leaves_a_refusal_as_it_is(bench, ends):
    in_state(REFUSED_STATE, bench, R)
    until = bench.table.rows[R].until
    bench.pass_time(2)
    bench.table.send(R, corrects=True)
    assert not bench.table.is_waiting(R)
    ends(bench.table)
    row = bench.table.rows[R]
    assert (row.state, row.until, row.attempts, row.error) == (REFUSED_STATE, until, 1, REFUSED)
    assert asleep(bench.table) == []


@pytest.mark.parametrize("error", [UNCONFIRMED, GONE])
def test_a_correction_in_doubt_is_a_refusal(bench, error):
    """The device is read; until then nothing more is tried."""
    in_state(REFUSED_STATE, bench, R)
    bench.table.send(R, corrects=True)
    bench.table.refuse(R, error)
    row = bench.table.rows[R]
    assert (row.state, row.attempts, row.error, row.corrects) == (REFUSED_STATE, 2, error, False)


def test_an_object_that_was_corrected_and_is_as_it_is_wanted_rests(bench):
    """A record that was added for another's sake, or a delete that was refused before."""
    for ref, error in ((S, None), (R, REFUSED)):
        if error is not None:
            bench.table.refuse(ref, error)
        bench.table.send(ref, corrects=True)
        bench.take(ref)
        bench.table.confirm(ref)
        assert (bench.state(ref), ref in bench.table.failures) == (None, False)


@pytest.mark.parametrize(("state", "is_due"), [
    pytest.param(REFUSED_STATE, True, id="refused"), pytest.param(BLOCKED, True, id="blocked"),
    pytest.param(SENT, False, id="sent"), pytest.param(None, False, id="at rest"),
    pytest.param(HELD, True, id="held"),
])
def test_members_that_cannot_wait(bench, state, is_due):
    bench.observed[P] = pool("p", "10.9.9.9")
    if state is HELD:
        going_pool(bench)
        bench.table.hold(P, SECRET)
    elif state is not None:
        in_state(state, bench, P)
    bench.table.correct_members(P)
    assert (P in bench.table.members) == is_due
    assert asleep(bench.table) == []
    if is_due:
        assert (bench.state(P), bench.table.rows[P].corrects) == (DUE, True)
        bench.table.leave_members(P)
        assert bench.state(P) is not DUE
        assert (bench.table.rows[P].corrects, asleep(bench.table)) == (False, [])


@pytest.mark.parametrize("prepare", [
    pytest.param(lambda b: b.table.touch([P]), id="due"),
    pytest.param(lambda b: b.table.refuse(P, UNCONFIRMED), id="in doubt"),
    pytest.param(lambda b: b.table.wait_for(P, Q), id="waits for what is to be written"),
])
def test_members_that_are_not_corrected(bench, prepare):
    bench.observed[P] = pool("p", "10.9.9.9")
    prepare(bench)
    before = bench.state(P)
    bench.table.correct_members(P)
    assert (bench.state(P), bench.table.rows[P].corrects) == (before, False)


def test_a_correction_of_a_blocked_object_is_no_reason_to_try_it(bench):
    """It waits for what blocks it, or for a back-off: never for a time that is over already."""
    in_state(BLOCKED, bench, R)
    bench.table.send(R, corrects=True)
    bench.table.confirm(R)
    assert bench.table.is_held(R)
    bench.timers.fire(bench.now)
    assert bench.table.is_held(R)
    assert asleep(bench.table) == []


@pytest.mark.parametrize(("ends", "wakes"), [
    pytest.param(lambda b: (b.take(Q), b.table.send(Q), b.table.confirm(Q)), True, id="written"),
    pytest.param(lambda b: b.table.rest(Q), True, id="not wanted"),
    pytest.param(lambda b: b.table.refuse(Q, USABLE), True, id="usable"),
    pytest.param(lambda b: b.table.refuse(Q, UNUSABLE), False, id="not usable"),
    pytest.param(lambda b: b.table.refuse(Q, REFUSED), False, id="refused"),
    pytest.param(lambda b: b.table.touch([Q]), False, id="due"),
    pytest.param(lambda b: b.table.not_sent(Q), False, id="not sent"),
])
def test_what_waits_for_another_object(bench, ends, wakes):
    for ref in (R, S):
        bench.table.touch([Q])
        bench.table.block(ref, REFUSED, Q)
    assert (bench.table.rows[R].blocked, pump.next_due(bench.table)) == (True, None)
    ends(bench)
    assert [bench.state(ref) for ref in (R, S)] == [DUE if wakes else BLOCKED] * 2
    assert asleep(bench.table) == []


@pytest.mark.parametrize(("reason", "wakes"), [(UNCONFIRMED, True), (GONE, True), (REFUSED, False)])
def test_a_refusal_wakes_what_waits_for_a_reply(bench, reason, wakes):
    """Another object may be right without it, or the reason why it waits has changed."""
    bench.table.touch([Q])
    bench.table.send(Q)
    bench.table.block(R, reason, Q)
    bench.table.refuse(Q, UNCONFIRMED)
    assert bench.state(R) is BLOCKED
    bench.table.refuse(Q, REFUSED)
    assert bench.state(R) is (DUE if wakes else BLOCKED)
    assert asleep(bench.table) == []


def test_an_object_waits_for_the_last_that_blocks_it(bench):
    bench.table.touch([P, Q])
    bench.table.block(R, REFUSED, P)
    bench.table.block(R, REFUSED, Q)
    bench.table.rest(P)
    assert bench.state(R) is BLOCKED
    bench.table.rest(Q)
    assert bench.state(R) is DUE


def test_a_wait_for_what_has_no_row_is_none(bench):
    """It has settled since the Plan was made."""
    bench.table.touch([R])
    bench.table.block(R, REFUSED, P)
    assert asleep(bench.table) == []


def test_pools_of_the_device(bench):
    """Their members are due by themselves; those that are to be created, or deleted, wait for a rollout."""
    bench.observed |= {P: pool("p", "10.9.9.9"), S: rule("s", "https://y")}
    bench.table.touch([P, Q, R, S])
    assert (list(bench.table.members), set(bench.table.queue)) == ([P], {Q, R, S})
    del bench.desired[P]
    bench.table.touch([P])
    assert (list(bench.table.members), P in bench.table.queue) == ([P], True)
    bench.table.leave_queue(P)
    assert (list(bench.table.members), bench.state(P)) == ([P], DUE)
    bench.table.touch_members([Q, R])
    assert list(bench.table.members) == [P]
    bench.take(Q)
    bench.table.touch_members([Q])
    assert list(bench.table.members) == [P, Q]
    assert asleep(bench.table) == []


@pytest.mark.parametrize(("ends", "left"), [
    pytest.param(lambda b: None, {R}, id="due"),
    pytest.param(lambda b: b.table.send(R), {R}, id="sent"),
    pytest.param(lambda b: (b.take(R), b.table.confirm(R)), set(), id="written"),
    pytest.param(lambda b: b.table.refuse(R, REFUSED), set(), id="refused"),
    pytest.param(lambda b: (b.table.touch([Q]), b.table.block(R, REFUSED, Q)), set(), id="blocked"),
    pytest.param(lambda b: (b.table.send(R), b.table.not_sent(R)), {R}, id="not sent"),
    pytest.param(lambda b: b.table.hold(R, SECRET), set(), id="held"),
    pytest.param(lambda b: b.table.start_over(), set(), id="another unit"),
])
def test_the_first_load_ends_with_an_attempt_of_each(bench, ends, left):
    bench.table.touch_differing([R], first=True)
    bench.table.touch_differing([S])
    ends(bench)
    assert set(bench.table.first) == left


def test_changes_of_refusals_are_told_once(bench):
    table = bench.table
    for error, changed in [(REFUSED, {R}), (Refused(text="no", status=400), set()), (GONE, {R})]:
        table.refuse(R, error)
        assert table.take_changed() == changed
    table.rest(R)
    assert (table.take_changed(), table.take_changed()) == ({R}, set())
    table.touch([S])
    table.rest(S)
    assert table.take_changed() == set()


@pytest.mark.parametrize(("happens", "counts", "settled"), [
    pytest.param(lambda b: b.take(R), Counts(), set(), id="sent"),
    pytest.param(lambda b: (b.take(R), b.table.confirm(R)), Counts(writes=1), {R}, id="written"),
    pytest.param(lambda b: b.table.refuse(R, REFUSED), Counts(refused=1), {R}, id="refused"),
    pytest.param(lambda b: b.table.refuse(R, IN_USE), Counts(withheld=1), {R}, id="in use"),
    pytest.param(lambda b: (b.table.touch([Q]), b.table.block(R, REFUSED, Q)), Counts(refused=1), {R},
                 id="blocked"),
    pytest.param(lambda b: b.table.hold(R, SUCCESSOR), Counts(withheld=1), {R}, id="held"),
    pytest.param(lambda b: b.table.hold(R, SECRET), Counts(), set(), id="each Plan holds it anew"),
    pytest.param(lambda b: (b.table.touch([R]), b.table.rest(R)), Counts(), set(), id="nothing to write"),
])
def test_what_is_reported_of_changes(bench, happens, counts, settled):
    """Numbers since the start, and the objects since the last call."""
    before = bench.table.counts
    happens(bench)
    assert bench.table.counts.since(before) == counts
    assert bench.table.counts == before.plus(counts)
    assert (bench.table.take_settled(), bench.table.take_settled()) == (settled, set())


@pytest.mark.parametrize(("ends", "told"), [
    pytest.param(lambda b: b.table.rest(R), ["recovery"], id="at rest"),
    pytest.param(lambda b: b.table.refuse(R, USABLE), ["recovery"], id="usable"),
    pytest.param(lambda b: b.table.refuse(R, GONE), [], id="another error"),
    pytest.param(lambda b: b.table.rest(S), [], id="an object that was not refused"),
])
def test_recoveries(bench, ends, told):
    in_state(REFUSED_STATE, bench, R)
    bench.table.touch([S])
    ends(bench)
    assert bench.told == told


def test_a_write_is_in_doubt_until_a_reading_that_began_later_has_ended(bench):
    for ref, readings in ((P, 3), (Q, 4)):
        bench.table.refuse(ref, UNCONFIRMED)
        bench.table.doubt(ref, readings)
    bench.table.refuse(R, REFUSED)
    assert [bench.table.is_in_doubt([ref]) for ref in (P, Q, R, S)] == [True, True, False, False]
    assert bench.table.end_doubts(4)
    assert [bench.table.is_in_doubt([ref]) for ref in (P, Q)] == [False, True]
    bench.take(Q)
    bench.table.confirm(Q)
    assert not bench.table.is_in_doubt([P, Q])
    assert not bench.table.end_doubts(5)


def test_uncertain_writes_are_tried_at_once(bench):
    for ref, error in ((P, UNCONFIRMED), (Q, GONE), (R, REFUSED)):
        bench.table.refuse(ref, error)
    bench.table.retry_uncertain()
    assert [bench.state(ref) for ref in (P, Q, R)] == [DUE, DUE, REFUSED_STATE]


def test_less_specific_rules_wait_for_a_few_attempts_only(bench):
    for attempts in range(1, OVERTAKEN_AFTER + 1):
        assert bench.table.is_recent(R)
        bench.table.refuse(R, UNCONFIRMED)
        assert bench.table.rows[R].attempts == attempts
    assert not bench.table.is_recent(R)


def test_writes_that_hang(bench):
    bench.table.send(P)
    bench.now += 0.5
    bench.table.send(Q)
    bench.now += 0.5
    assert (bench.table.hanging(1.0), bench.table.hanging(1.5), bench.table.hanging(0.1)) == ([P], [], [P, Q])


def test_errors_of_objects_that_are_not_planned(bench):
    bench.table.refuse(Q, REFUSED)
    bench.table.block(R, REFUSED, Q)
    assert errors(bench.table.failures, {Q}) == {R: REFUSED}


def test_questions(bench):
    table = bench.table
    states = {P: SENT, Q: DUE, R: REFUSED_STATE, S: BLOCKED}
    for ref, state in states.items():
        in_state(state, bench, ref)
    assert [ref for ref in states if table.is_sent(ref)] == [P]
    assert [ref for ref in states if table.is_waiting(ref)] == [P, Q]
    assert [ref for ref in states if table.is_held(ref)] == [R, S]
    assert (table.is_settled([R, S]), table.is_settled([Q, R])) == (True, False)


REFS = st.sampled_from([P, Q, R, S])
ERRORS = st.sampled_from([REFUSED, UNCONFIRMED, GONE, USABLE, UNUSABLE, IN_USE])
REASONS = st.sampled_from(HoldReason)


def wait_for(bench: Bench, ref: Ref, on: Ref) -> None:
    """As a pool does for its monitor."""
    if ref != on and on in bench.table.rows and bench.table.rows[on].on is None:
        bench.table.wait_for(ref, on)


def plan(ref: Ref, waits: HoldReason | None):
    """As a Plan does: of what is due, or waits for something to be read."""
    def act(bench: Bench) -> None:
        if bench.state(ref) in (DUE, HELD):
            bench.table.plan(ref, waits)

    return act


def block(bench: Bench, ref: Ref, on: Ref, error) -> None:
    """As a rollout does: an object waits for another that is not at rest."""
    if ref != on and on in bench.table.rows and bench.table.rows[on].on is None:
        bench.table.block(ref, error, on)


def confirm(bench: Bench, ref: Ref) -> None:
    """Take the reply to a request."""
    if bench.table.is_sent(ref):
        bench.take(*({ref} & bench.desired.keys()))
        bench.table.confirm(ref)


def correct(bench: Bench, ref: Ref) -> None:
    if bench.table.is_present_pool(ref):
        bench.table.correct_members(ref)


def change(bench: Bench, ref: Ref, wanted: bool, present: bool) -> None:
    """Change what is wanted, and there; an event tells."""
    obj = Bench().desired[ref]
    for state, there in ((bench.desired, wanted), (bench.observed, present)):
        if there:
            state[ref] = obj
        else:
            state.pop(ref, None)
    bench.table.touch([ref])


TRANSITIONS = st.one_of(
    st.builds(lambda ref, first: lambda b: b.table.touch_differing([ref], first=first), REFS, st.booleans()),
    st.builds(lambda refs: lambda b: b.table.touch_members(refs), st.sets(REFS)),
    st.builds(lambda ref: lambda b: b.table.queue_up([ref]), REFS),
    st.builds(lambda ref, corrects: lambda b: b.table.send(ref, corrects=corrects), REFS, st.booleans()),
    st.builds(lambda ref: lambda b: correct(b, ref), REFS),
    st.builds(lambda ref, error: lambda b: b.table.refuse(ref, error), REFS, ERRORS),
    st.builds(lambda ref, on, error: lambda b: block(b, ref, on, error), REFS, REFS, ERRORS),
    st.builds(lambda ref: lambda b: confirm(b, ref), REFS),
    st.builds(lambda ref: lambda b: b.table.not_sent(ref), REFS),
    st.builds(lambda ref: lambda b: b.table.rest(ref), REFS),
    st.builds(lambda ref: lambda b: b.table.leave_queue(ref), REFS),
    st.builds(lambda refs: lambda b: b.table.keep(refs), st.sets(REFS)),
    st.builds(lambda ref: lambda b: b.table.retry(ref), REFS),
    st.builds(lambda ref, reason: lambda b: b.table.hold(ref, reason), REFS, REASONS),
    st.builds(lambda reasons: lambda b: b.table.release(*reasons), st.sets(REASONS)),
    st.builds(lambda ref: lambda b: b.table.leave_members(ref), REFS),
    st.builds(lambda ref, on: lambda b: wait_for(b, ref, on), REFS, REFS),
    st.builds(plan, REFS, st.none() | st.just(SECRET)),
    st.builds(lambda ref, *there: lambda b: change(b, ref, *there), REFS, st.booleans(), st.booleans()),
    st.builds(lambda seconds: lambda b: b.pass_time(seconds), st.sampled_from([0, 5, 300])),
    st.sampled_from([lambda b: b.table.retry_uncertain(), lambda b: b.table.clear(),
                     lambda b: b.table.start_over()]))


@settings(max_examples=100, deadline=None)
@given(st.lists(TRANSITIONS, max_size=25))
def test_each_row_has_a_wake(transitions):
    bench = Bench()
    for transition in transitions:
        transition(bench)
        assert asleep(bench.table) == []
    bench.pass_time(300)
    assert not any(row.state is REFUSED_STATE for row in bench.table.rows.values())
