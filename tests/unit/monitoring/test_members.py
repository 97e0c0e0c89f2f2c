"""Which pool members have series, and what is recorded of their health."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.icontrol.statistics import MemberStatistics, Traffic
from f5router.monitoring.members import HealthRecords, namespace, pools_with_series
from tests.examples import examples
from tests.rows import rows

KEY = ("/Common/openshift_shop_web", "10.1.0.1:80")
UP, DOWN, UNCHECKED = (MemberStatistics(Traffic(), state) for state in (True, False, None))
DISABLED = MemberStatistics(Traffic(), is_available=True, is_enabled=False)
FORCED = MemberStatistics(Traffic(), is_available=False, is_enabled=False)


def pool(name: str) -> str:
    return f"/Common/openshift_{name}"


@rows("members, limit, expected", [
    ({}, 10, []),
    ({"a_x": 3, "b_x": 4}, 7, ["a_x", "b_x"]),
    ({"a_x": 0, "b_x": 1}, 10, ["b_x"]),
    ({"big_x": 6000, "big_y": 4000, "a_x": 2, "b_x": 3}, 500, ["a_x", "b_x"]),
    ({"big_x": 90, "big_y": 900, "big_z": 5, "a_x": 2}, 100, ["a_x", "big_x", "big_z"]),
    ({"a_x": 40, "b_x": 40, "c_x": 40}, 100, ["b_x", "c_x"]),
    ({"a_x": 3}, 0, []),
])
def test_pools_with_series(members, limit, expected):
    chosen = pools_with_series({pool(name): count for name, count in members.items()}, limit)
    assert sorted(chosen) == [pool(name) for name in expected]


@settings(max_examples=examples(200))
@given(st.dictionaries(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz")), st.integers(0, 50)),
       st.integers(0, 200))
def test_the_limit_holds_and_small_namespaces_have_theirs(counts, limit):
    members = {pool("_".join(key)): count for key, count in counts.items()}
    chosen = pools_with_series(members, limit)
    assert sum(members[path] for path in chosen) <= limit
    assert len(set(chosen)) == len(chosen)
    sums = Counter[str]()
    for path, count in members.items():
        sums[namespace(path)] += count
    share = limit // max(1, sum(map(bool, sums.values())))
    small = {path for path, count in members.items() if count and sums[namespace(path)] <= share}
    assert small <= set(chosen)


@rows("readings, is_up, check_failures, down_s", [
    ([UP], True, 0, 0), ([DOWN], False, 0, 0), ([UNCHECKED], True, 0, 0),
    ([UP, DOWN], False, 1, 0), ([UP, DOWN, UP], True, 1, 10), ([UP, DOWN, DOWN, UP, DOWN], False, 2, 20),
    ([UP, DISABLED, DISABLED], False, 0, 10), ([UP, FORCED, UP], True, 0, 10),
    ([UNCHECKED, DOWN, UNCHECKED], True, 0, 10), ([UP, DOWN, None, UP], True, 0, 0),
])
def test_health(readings, is_up, check_failures, down_s):
    """A reading every 10 s; None: the member is not there."""
    records = HealthRecords()
    for at, member in enumerate(readings):
        seen = records.update("big-1", 10.0 * at, {KEY: member} if member else {})
    assert (seen[KEY].is_up, seen[KEY].check_failures, seen[KEY].down_s) == (is_up, check_failures, down_s)


def test_units_are_apart():
    records = HealthRecords()
    records.update("big-1", 0.0, {KEY: UP})
    assert records.update("big-2", 5.0, {KEY: DOWN})[KEY].check_failures == 0
    assert records.update("big-1", 9.0, {KEY: DOWN})[KEY].check_failures == 1
