"""Offsets of servers' clocks."""

from email.utils import formatdate

from f5router.model.clock_offset import PERIOD_S, ClockOffset, describe
from tests.rows import rows


@rows(("server_s", "took_s", "expected"), [
    (1000, 0.1, 0),
    (999, 0.1, 0),  # the time is in whole seconds
    (998, 5, 0),  # it was written at any moment of the request
    (990, 5, -4),
    (1003, 0.1, 3),
    (4600, 0.1, 3600),
])
def test_offset(server_s, took_s, expected):
    clock = ClockOffset(lambda: 1000.0)
    clock.record(formatdate(server_s, usegmt=True), took_s)
    assert clock.ahead_s is not None
    assert round(clock.ahead_s, 3) == expected


@rows("date", [None, "", "yesterday", "Tue, 31 Oct 99999 18:31:02 GMT"])
def test_replies_without_a_time(date):
    clock = ClockOffset(lambda: 1000.0)
    clock.record(date, 0.1)
    assert clock.ahead_s is None


def test_only_some_replies_are_decoded():
    now = [1000.0]
    clock = ClockOffset(lambda: now[0])
    clock.record(formatdate(1100), 0.0)
    clock.record(formatdate(1200), 0.0)
    assert clock.ahead_s == 100
    now[0] += PERIOD_S
    clock.record(formatdate(1200), 0.0)
    assert clock.ahead_s == 200 - PERIOD_S
    now[0] -= 500  # this machine's clock is set back
    clock.record(formatdate(1200), 0.0)
    assert clock.ahead_s == 700 - PERIOD_S


@rows(("ahead_s", "expected"), [
    (100, "is 100 s ahead of this"), (-100, "is 100 s behind this"),
    (-3590, "is 3590 s behind this, or it shows the time of another zone"),
])
def test_describe(ahead_s, expected):
    assert describe(ahead_s, "this") == expected
