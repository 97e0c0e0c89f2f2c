"""Deletes that are held back, in tables; features are in tests/feature/test_mass_delete.py."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model import names, ownership
from f5router.model.ltm import Attachment, DataGroup, Forward, IRule, Pool, Record, Rule
from f5router.model.objects import Ref
from f5router.plan.change import CREATE, DELETE, Change
from f5router.reconcile import delete_guard
from f5router.reconcile.delete_guard import BURST_S, LEAST, DeleteGuard, is_mass
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers
from tests.rows import rows

POOL = Pool("/Common/openshift_shop_web")
PASSTHROUGH = "/Common/ssl_passthrough_servername_dg"


def refs(count: int, begin: int = 0) -> set[Ref]:
    return {Ref(Rule.KIND, f"r{n}") for n in range(begin, begin + count)}


def done(fewer: int) -> list[Change]:
    """Deletes, or creates if there are fewer than none."""
    delete, create = Change(DELETE, POOL, None), Change(CREATE, None, POOL)
    return [delete] * fewer if fewer > 0 else [create] * -fewer


def a_guard(*, allow: bool = False) -> DeleteGuard:
    """Return a guard whose table has all objects on the device, of which none is wanted."""
    there = dict.fromkeys(refs(1000), POOL)
    return DeleteGuard(Table(lambda: ({}, there), Timers(), lambda: 0.0), allow=allow)


def judge(guard: DeleteGuard, waiting: set[Ref], total: int, now: float = 0.0) -> int:
    guard.review(waiting, waiting, total=lambda: total, now=now)
    return len(guard.held)


def confirm(guard: DeleteGuard) -> None:
    guard.ask()
    guard.confirm()


def write(guard: DeleteGuard, fewer: int, now: float) -> None:
    for change in done(fewer):
        guard.note(change)
    guard.record_pass(now)


@pytest.mark.parametrize(("deletes", "total", "mass"), [
    (19, 19, False), (20, 20, True), (20, 39, True), (20, 40, False), (21, 41, True), (0, 0, False),
    (500, 1000, False), (501, 1000, True),
])
def test_is_mass(deletes, total, mass):
    assert is_mass(deletes, total) is mass


def test_once_held_all_wait_until_confirmed():
    guard = a_guard()
    assert judge(guard, refs(30), 40, now=1.0) == 30
    assert (guard.since, guard.figures) == (1.0, (30, 40))
    assert judge(guard, refs(31), 400, now=2.0) == 31
    assert (guard.since, guard.held_ever) == (1.0, 31)
    confirm(guard)
    assert (judge(guard, refs(31), 40, now=3.0), guard.since) == (0, None)


def test_what_comes_after_the_confirmation_is_judged_anew():
    """Neither too many nor too few of the others are held back."""
    guard = a_guard()
    judge(guard, refs(30), 100 - 45)
    confirm(guard)
    assert judge(guard, refs(49), 70) == 0
    assert judge(guard, refs(51), 70) == 21


def test_what_is_wanted_again_is_let_go():
    guard = a_guard()
    judge(guard, refs(30), 40)
    assert (judge(guard, set(), 40), guard.since) == (0, None)


@pytest.mark.parametrize(("passes", "held"), [
    pytest.param([(0, 10), (1, 10)], 10, id="in a row"),
    pytest.param([(0, 10), (1, -10), (2, 10), (3, -10)], 0, id="a Route that comes and goes"),
    pytest.param([(0, -100), (1, 10), (2, 10)], 10, id="created before"),
    pytest.param([(0, 10), (BURST_S + 5.0, 0)], 0, id="long ago"),
])
def test_burst(passes, held):
    """Each pass made the objects fewer; ten more are to go, of which ten would be left."""
    guard = a_guard()
    for now, fewer in passes:
        write(guard, fewer, now)
    assert judge(guard, refs(10), 19, now=passes[-1][0] + 1.0) == held


def test_allowed():
    guard = a_guard(allow=True)
    assert judge(guard, refs(30), 30) == 0
    guard.review_emptied(refs(30), 30, 0.0, of_nodes=False)
    assert (guard.emptied, guard.since, guard.figures) == (set(), None, (30, 30))


def test_emptied_pools_have_a_guard_of_their_own():
    guard = a_guard()
    guard.review_emptied(refs(19), 19, 1.0, of_nodes=False)
    assert guard.since is None
    guard.review_emptied(refs(20), 20, 2.0, of_nodes=False)
    assert (len(guard.emptied), guard.since) == (20, 2.0)
    assert (judge(guard, set(), 5, now=3.0), guard.since) == (0, 2.0)
    confirm(guard)
    assert (guard.emptied, guard.since) == (set(), None)


@given(st.lists(st.integers(1, 60), max_size=30), st.integers(1, 500))
def test_no_series_of_small_passes_takes_most(sizes, total):
    """However deletes are spread over passes: half is left until a confirmation, or all but a few."""
    guard, left = a_guard(), total
    for size in sizes:
        waiting = refs(min(size, left), begin=left)
        if judge(guard, waiting, left):
            break
        write(guard, len(waiting), 0.0)
        left -= len(waiting)
    assert 2 * left >= total or total - left < LEAST


def rule(name: str, host: str) -> Rule:
    return Rule("/Common/openshift_insecure_routes", name, 1, frozenset(), Forward(POOL.path),
                hosts=frozenset({host}))


def test_holdable():
    """Previous objects of a Host that is served go; dependencies of what is held stay."""
    gone, taken = rule("gone", "a.com"), rule("taken", "b.com")
    exception = Record(PASSTHROUGH, "b.com", "terminate")
    group = "/Common/ssl_reencrypt_serverssl_dg"
    towards = [Record(group, path, "p") for path in (POOL.path, "/Common/kept")]
    observed = {obj.ref: obj for obj in (gone, taken, exception, POOL, *towards)}
    desired = {Ref(Pool.KIND, "/Common/kept"): Pool("/Common/kept")}
    held = delete_guard.holdable(observed, desired, observed, lambda host, front_end: host == "b.com")
    assert held == {gone.ref, exception.ref, POOL.ref, towards[0].ref}
    assert delete_guard.counted(held, observed) == {gone.ref, exception.ref, POOL.ref}
    assert delete_guard.total(observed, lambda obj: True) == 4


@pytest.mark.parametrize("group", ownership.OPTIONS_BY_POOL)
def test_what_is_held_keeps_its_options(group):
    """The record of the pool is held, and the iRule that acts on it with all that this needs."""
    gone, option = rule("gone", "a.com"), Record(f"/Common/{group}", POOL.path, "x")
    needed = [gone, POOL, option]
    if name := ownership.OPTIONS_BY_POOL[group]:
        irule = IRule(f"/Common/{name}", extra_dependencies=frozenset({Ref(DataGroup.KIND, option.group)}))
        needed += [irule, DataGroup(option.group), Attachment("/Common/v", "rules", irule.path, IRule.KIND)]
    other = [Record(option.group, "/Common/kept", "x"), Pool("/Common/kept"),
             Attachment("/Common/v", "rules", f"/Common/{names.UNAVAILABLE_IRULE}", IRule.KIND)]
    observed = {obj.ref: obj for obj in (*needed, *other)}
    desired = {Ref(Pool.KIND, "/Common/kept"): Pool("/Common/kept")}
    held = delete_guard.holdable(observed, desired, observed, lambda host, front_end: False)
    assert held == {obj.ref for obj in needed}


def test_what_is_held_keeps_the_record_that_it_names():
    """A record that Rules of served Hosts name as well is wanted anyway."""
    group = DataGroup(f"/Common/{names.HTTP_GROUP}")
    option = Record(group.path, "0123", "hsts.00")
    gone = replace(rule("gone", "a.com"), action=Forward(POOL.path, http=option.name))
    irule = IRule(f"/Common/{names.HEADERS_IRULE}", extra_dependencies=frozenset({group.ref}))
    attached = Attachment("/Common/v", "rules", irule.path, IRule.KIND)
    observed = {obj.ref: obj for obj in (gone, POOL, option, group, irule, attached)}
    assert delete_guard.holdable(observed, {}, observed, lambda host, front_end: False) == observed.keys()
    assert delete_guard.counted(observed.keys(), observed) == {gone.ref, POOL.ref}


@rows(("going", "total", "held"), [
    (0, 0, 0), (0, 5, 0), (1, 1, 1), (2, 2, 2), (4, 5, 0), (19, 20, 0), (20, 30, 20), (20, 40, 0),
    (21, 40, 21)])
def test_ways_to_pods(going, total, held):
    """All of them, or most of many, wait for a second list."""
    guard = a_guard()
    guard.review_ways(refs(going), total, 1.0)
    assert (len(guard.ways), guard.since) == (held, 1.0 if held else None)
    confirm(guard)
    assert (guard.ways, guard.since) == (set(), None)
    allowed = a_guard(allow=True)
    allowed.review_ways(refs(going), total, 1.0)
    assert allowed.ways == set()


def test_pools_without_any_node():
    """Few pools wait too: no Node is listed, so each loses its members."""
    guard = a_guard()
    guard.review_emptied(refs(1), 40, 1.0, of_nodes=True)
    assert (len(guard.emptied), guard.since) == (1, 1.0)
    confirm(guard)
    guard.review_emptied(refs(0), 40, 1.0, of_nodes=True)
    assert guard.since is None


@given(st.integers(0, 200), st.integers(0, 300), st.integers(0, 300), st.integers(-50, 50),
       st.sampled_from([1.0, BURST_S + 1]))
def test_what_a_review_would_hold_is_reviewed(deletes, total, lost, fewer, later):
    """Counted at first, and again when that is old; in between the device loses objects of any kind."""
    guard, size = a_guard(), 400
    guard.may_hold(LEAST, size, total=lambda: total, now=0.0)
    write(guard, fewer, 0.5)
    left = max(0, total - lost)
    may = guard.may_hold(deletes, size - lost, total=lambda: left, now=later)
    assert may or not judge(guard, refs(deletes), left, now=later)


def test_few_deletes_of_many_are_not_reviewed():
    """The objects of the device are counted once in a while, or where there are less."""
    guard, counts = a_guard(), []
    for deletes, size, now, expected in ((LEAST - 1, 2000, 0.0, False), (200, 2000, 1.0, False),
                                         (200, 2000, 2.0, False), (300, 2000, 3.0, True),
                                         (200, 1500, 4.0, True), (200, 2000, BURST_S + 2, False)):
        assert guard.may_hold(deletes, size, total=lambda: counts.append(1) or 1000, now=now) is expected
    assert len(counts) == 2
