"""limits.py: waits that double up to a limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.model.limits import Backoff

BACKOFF = Backoff(first_s=0.5, limit_s=60.0)


@pytest.mark.parametrize(("failures", "seconds"), [
    pytest.param(1, 0.5, id="first"),
    pytest.param(2, 1.0, id="doubles"),
    pytest.param(7, 32.0, id="below the limit"),
    pytest.param(8, 60.0, id="limit"),
    pytest.param(100_000, 60.0, id="no overflow"),
])
def test_delay(failures, seconds):
    assert BACKOFF.delay_s(failures) == pytest.approx(seconds)


@given(failures=st.integers(1, 10_000), first_s=st.floats(0.001, 10), limit_s=st.floats(10, 1000))
def test_jitter_takes_half_at_most(failures, first_s, limit_s):
    backoff = Backoff(first_s, limit_s)
    whole_s = min(limit_s, first_s * 2 ** min(failures - 1, 60))
    assert backoff.delay_s(failures) == pytest.approx(whole_s)
    assert whole_s / 2 <= backoff.jittered_s(failures) * (1 + 1e-9)
    assert backoff.jittered_s(failures) <= whole_s * (1 + 1e-9)


def test_jitter_differs():
    assert len({BACKOFF.jittered_s(9) for _ in range(20)}) > 1


@pytest.mark.parametrize(("failures", "retry_after_s", "low", "high"), [
    pytest.param(1, 20, 20, 20, id="the server asks for more"),
    pytest.param(9, 1, 30, 60, id="the server asks for less"),
    pytest.param(1, None, 0.25, 0.5, id="the server does not say"),
])
def test_retry_after(failures, retry_after_s, low, high):
    assert low <= BACKOFF.jittered_s(failures, retry_after_s) <= high
