"""work_queue.py: growth, refusals, and bounds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.kube.api.work_queue import CAREFUL_GROWTH, CAREFUL_S, GROWTH, SAME_REFUSAL_S, RequestRate


def test_full_use_reaches_the_limit():
    """10,000 requests at the default bounds take less than 120 s, if all are accepted."""
    rate, now = RequestRate(20, 100), 0.0
    for _ in range(10_000):
        now += 1 / rate.per_s
        rate.accepted(now)
    assert rate.per_s == 100
    assert now < 110


@pytest.mark.parametrize(("first", "limit", "expected"), [
    (20, 100, 20), (20, 5, 5), (20, 20, 20), (20, 0.1, 0.1),
])
def test_first_rate(first, limit, expected):
    assert RequestRate(first, limit).per_s == expected


def test_refusals_of_one_moment_count_once():
    rate = RequestRate(80, 100)
    for now in (0.0, 0.1, 0.5, 0.99 * SAME_REFUSAL_S):
        rate.refused(now)
    assert rate.per_s == 40
    rate.refused(0.99 * SAME_REFUSAL_S + SAME_REFUSAL_S)
    assert rate.per_s == 20


def test_growth_after_a_refusal():
    """Slow for a minute, as before from then on."""
    rate = RequestRate(80, 100)
    rate.refused(0.0)
    rate.accepted(CAREFUL_S - 1)
    assert rate.per_s == pytest.approx(40 + CAREFUL_GROWTH)
    rate.accepted(CAREFUL_S)
    assert rate.per_s == pytest.approx(40 + CAREFUL_GROWTH + GROWTH)


@given(st.floats(0.1, 1000), st.floats(0.1, 1000), st.lists(st.tuples(st.booleans(), st.floats(0, 100))))
def test_bounds(first, limit, replies):
    rate, now = RequestRate(first, limit), 0.0
    for accepted, after in replies:
        now += after
        (rate.accepted if accepted else rate.refused)(now)
        assert min(1.0, limit, first) <= rate.per_s <= limit


def test_a_server_that_takes_thirty_per_second():
    """A model: one that refuses what is above 30 per second. Few are refused, and most of the 30 are used."""
    rate, now, accepted, refused, tokens = RequestRate(20, 100), 0.0, 0, 0, 30.0
    while now < 300:
        pause = 1 / rate.per_s
        now, tokens = now + pause, min(30.0, tokens + 30 * pause)
        if tokens >= 1:
            tokens -= 1
            accepted += 1
            rate.accepted(now)
        else:
            refused += 1
            rate.refused(now)
    assert refused < accepted / 100
    assert accepted > 300 * 30 * 0.6
