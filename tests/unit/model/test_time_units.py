"""Times of annotations and variables, as HAProxy's router parses them."""

import pytest

from f5router.model import texts
from f5router.model.route_options import MAX_CHECK_S, MAX_TIMEOUT_S, interval_s
from tests.rows import rows

NO_TIMES = ["0", "0s", "-1s", "+1s", "1.5s", "1m30s", "1 s", " 1s", "1S", "1w", "s", "01s", "9" * 20, "٣s",
            "", "'", '"', "{", "}", "[exec reboot]", "$x", "5s;b", "5s\n", "\x1b[2J", "‮", "\ud800", "x" * 99]


@pytest.mark.parametrize(("text", "milliseconds"), [
    ("1", 1), ("5s", 5000), ("300ms", 300), ("2m", 120_000), ("1h", 3_600_000), ("1d", 86_400_000),
    ("1us", 1), ("1001us", 2), ("2147483647", 2**31 - 1), ("2147483648", 2**31 - 1), ("9999999d", 2**31 - 1),
    ("9" * 19, 2**31 - 1),
])
def test_times(text, milliseconds):
    assert texts.parse_milliseconds(text) == milliseconds


@rows("text", NO_TIMES)
def test_what_is_no_time(text):
    with pytest.raises(ValueError, match="whole number"):
        texts.parse_milliseconds(text)


@pytest.mark.parametrize(("time_ms", "seconds"), [(0, 0), (1, 1), (1000, 1), (1001, 2)])
def test_seconds_are_rounded_up(time_ms, seconds):
    assert texts.parse_seconds(time_ms) == seconds


def test_an_interval_leaves_room_for_the_time_out_of_a_monitor():
    assert interval_s(0) == 0
    assert interval_s(texts.MAX_MS) == MAX_CHECK_S
    assert 3 * MAX_CHECK_S + 1 <= MAX_TIMEOUT_S
