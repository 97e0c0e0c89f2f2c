"""When refused objects are tried again."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model.errors import Incomplete, NotFound, Refused, Unconfirmed
from f5router.model.ltm import Pool, PoolMember
from f5router.model.objects import Ref
from f5router.reconcile.hold import Hold, HoldReason
from f5router.reconcile.retry import OVERTAKEN_AFTER, RETRY_FIRST_S, RETRY_MOST_S, Failure, RetrySchedule

POOL, RULE, OTHER = Ref("ltm/pool", "/Common/p"), Ref("ltm/policy/rule", "/Common/r"), Ref("ltm/pool", "/o")
REFUSED, UNCONFIRMED = Refused(text="no", status=400), Unconfirmed(text="time-out")
GONE = NotFound(text="gone", status=404)
USABLE = Incomplete(REFUSED, Pool("/Common/p", members=frozenset({PoolMember("10.1.1.1", 8080)})))
UNUSABLE = Incomplete(REFUSED, Pool("/Common/p"))
NOW = 1000.0


def schedule(**failures: Failure) -> RetrySchedule:
    """A schedule with failures of the objects `pool`, `rule` and `other`."""
    retry = RetrySchedule()
    refs = {"pool": POOL, "rule": RULE, "other": OTHER}
    retry.failures.update((refs[name], failure) for name, failure in failures.items())
    return retry


def blocked(due: float = math.inf) -> Failure:
    return Failure(REFUSED, 1, due, blocked=True)


def test_the_delay_doubles_up_to_a_limit():
    retry, delays = RetrySchedule(), []
    for _ in range(8):
        retry.record({POOL: REFUSED}, (), NOW)
        delays.append(retry.failures[POOL].due - NOW)
    assert delays == [5, 10, 20, 40, 80, 160, 300, 300]
    retry.discard({POOL})
    retry.record({POOL: REFUSED}, (), NOW)
    assert retry.failures[POOL].due == NOW + RETRY_FIRST_S


def test_a_blocked_object_has_no_time_of_its_own():
    retry = RetrySchedule()
    retry.record({POOL: REFUSED, RULE: REFUSED}, {RULE}, NOW)
    assert (retry.failures[POOL].due, retry.failures[RULE].due) == (NOW + RETRY_FIRST_S, math.inf)
    assert (retry.failures[POOL].blocked, retry.failures[RULE].blocked) == (False, True)


@pytest.mark.parametrize(("failures", "hold"), [
    pytest.param({}, None, id="not refused"),
    pytest.param({"rule": Failure(REFUSED, 1, NOW + 5)}, Hold(HoldReason.BACKOFF, NOW + 5), id="back-off"),
    pytest.param({"rule": Failure(REFUSED, 1, NOW)}, None, id="back-off has ended"),
    pytest.param({"rule": blocked(), "pool": Failure(REFUSED, 1, NOW + 5)},
                 Hold(HoldReason.BLOCKED, NOW + 5), id="blocked"),
    pytest.param({"rule": blocked(), "pool": Failure(REFUSED, 1, NOW)}, None, id="the blocker is due"),
    pytest.param({"rule": blocked()}, None, id="the blocker is gone"),
    pytest.param({"rule": blocked(NOW + 5)}, None, id="only its own time"),
    pytest.param({"rule": blocked(), "pool": blocked(NOW + 5)}, None, id="blocked by what is blocked"),
    pytest.param({"rule": blocked(), "pool": Failure(USABLE, 1, NOW + 5)}, None, id="usable"),
    pytest.param({"rule": blocked(), "pool": Failure(UNUSABLE, 1, NOW + 5)},
                 Hold(HoldReason.BLOCKED, NOW + 5), id="not usable"),
    pytest.param({"rule": blocked(), "pool": Failure(REFUSED, 1, NOW + 5),
                  "other": Failure(UNCONFIRMED, 1, math.inf)},
                 Hold(HoldReason.BLOCKED, math.inf), id="the last of two blockers"),
])
def test_hold(failures, hold):
    assert schedule(**failures).hold(RULE, NOW, lambda: [RULE, POOL, OTHER]) == hold


def test_the_closure_is_computed_for_blocked_objects_only():
    def closure():
        raise AssertionError("computed")

    assert schedule(rule=Failure(REFUSED, 1, NOW + 5)).hold(RULE, NOW, closure)
    assert not schedule().hold(RULE, NOW, closure)


@pytest.mark.parametrize(("failures", "recovered", "dues"), [
    pytest.param({"rule": blocked(), "pool": Failure(REFUSED, 1, 7.0)}, True, {RULE: NOW, POOL: 7.0},
                 id="another recovered"),
    pytest.param({"rule": blocked(), "pool": Failure(REFUSED, 1, 7.0)}, False, {RULE: math.inf, POOL: 7.0},
                 id="waits for the other"),
    pytest.param({"rule": blocked(NOW), "pool": Failure(REFUSED, 1, 7.0)}, False, {RULE: math.inf, POOL: 7.0},
                 id="its own time ends when another is refused"),
    pytest.param({"rule": blocked(), "pool": blocked()}, False,
                 {RULE: NOW + RETRY_FIRST_S, POOL: NOW + RETRY_FIRST_S}, id="nothing to wait for"),
])
def test_unblock(failures, recovered, dues):
    retry = schedule(**failures)
    retry.unblock(NOW, recovered=recovered)
    assert {ref: failure.due for ref, failure in retry.failures.items()} == dues


@pytest.mark.parametrize(("failures", "failed", "settled", "changed", "recovered"), [
    pytest.param({}, {POOL: REFUSED}, (), {POOL}, False, id="begins"),
    pytest.param({"pool": Failure(REFUSED, 1, 0)}, {POOL: REFUSED}, (), set(), False, id="the same again"),
    pytest.param({"pool": Failure(REFUSED, 1, 0)}, {POOL: GONE}, (), {POOL}, False, id="another error"),
    pytest.param({"pool": Failure(REFUSED, 1, 0)}, {}, {POOL}, {POOL}, True, id="recovers"),
    pytest.param({"pool": Failure(REFUSED, 1, 0)}, {}, (), set(), False, id="not tried"),
    pytest.param({"rule": blocked()}, {}, {RULE}, {RULE}, False, id="a blocked object is no recovery"),
    pytest.param({"pool": Failure(REFUSED, 1, 0)}, {POOL: REFUSED}, {POOL}, set(), False,
                 id="refused now, whatever is settled"),
])
def test_record_pass(failures, failed, settled, changed, recovered):
    retry = schedule(**failures)
    assert retry.record_pass(failed, (), NOW, is_settled=lambda ref: ref in settled, recovered=False) == (
        changed, recovered)


def test_a_recovery_beside_the_pass_unblocks():
    retry = schedule(rule=blocked(), pool=Failure(REFUSED, 1, NOW + 5))
    assert retry.record_pass({}, (), NOW, is_settled=lambda ref: False, recovered=True) == (set(), True)
    assert retry.failures[RULE].due == NOW


REFS = st.sampled_from([POOL, RULE, OTHER])
OUTCOMES = st.lists(st.tuples(
    st.dictionaries(REFS, st.sampled_from([REFUSED, UNCONFIRMED, GONE, USABLE])),
    st.sets(REFS), st.sets(REFS), st.booleans()), max_size=8)


@given(OUTCOMES)
def test_something_is_always_due_some_day(outcomes):
    """Whatever passes report, no set of refused objects waits for ever."""
    retry, now = RetrySchedule(), NOW
    for failed, blocked_refs, settled, recovered in outcomes:
        retry.record_pass(failed, blocked_refs, now, is_settled=settled.__contains__, recovered=recovered)
        due = retry.next_due(lambda ref: False)
        assert (due is None) == (not retry.failures)
        assert due is None or due <= now + RETRY_MOST_S
        now = max(now, due or now)


def test_next_due_leaves_out_what_another_write_brings():
    retry = schedule(pool=Failure(REFUSED, 1, NOW), other=Failure(REFUSED, 1, NOW + 5), rule=blocked())
    assert retry.next_due(lambda ref: False) == NOW
    assert retry.next_due(lambda ref: ref == POOL) == NOW + 5
    assert retry.next_due(lambda ref: ref != RULE) is None
    assert list(retry.due(NOW)) == [POOL]


def test_uncertain_writes_are_due_at_once():
    retry = schedule(pool=Failure(UNCONFIRMED, 3, NOW + 99), other=Failure(GONE, 1, NOW + 99),
                     rule=Failure(REFUSED, 1, NOW + 99))
    retry.retry_uncertain(NOW)
    assert {ref: failure.due for ref, failure in retry.failures.items()} == {
        POOL: NOW, OTHER: NOW, RULE: NOW + 99}


def test_writes_that_hang():
    """They block what needs the pool; the attempts count on when they have ended."""
    retry = schedule(pool=Failure(REFUSED, 2, NOW))
    retry.suspend(POOL)
    retry.suspend(OTHER)
    assert retry.failures[POOL].due == math.inf
    assert OTHER not in retry.failures
    for ref in (POOL, OTHER):
        retry.record_hanging(ref)
    assert [(retry.failures[ref].attempts, retry.failures[ref].due) for ref in (POOL, OTHER)] == [
        (2, math.inf), (0, math.inf)]
    assert all(isinstance(failure.error, Unconfirmed) for failure in retry.failures.values())
    retry.record({POOL: UNCONFIRMED}, (), NOW)
    assert retry.failures[POOL].attempts == 3


def test_less_specific_rules_wait_for_a_few_attempts_only():
    retry = RetrySchedule()
    for attempts in range(1, OVERTAKEN_AFTER + 1):
        assert retry.is_recent(RULE)
        retry.record({RULE: UNCONFIRMED}, (), NOW)
        assert retry.failures[RULE].attempts == attempts
    assert not retry.is_recent(RULE)


def test_errors_of_objects_that_are_not_planned():
    retry = schedule(pool=Failure(REFUSED, 1, 0), rule=blocked())
    assert retry.errors({POOL}) == {RULE: REFUSED}
    retry.reset_backoff(RULE)
    assert retry.failures[RULE].due == 0
