"""Intervals of readings by their cost."""

import logging

import pytest

from f5router.reconcile.reading_pace import NOTABLE, ReadingPace


@pytest.mark.parametrize(("cpu_s", "interval_s"), [(0.0, 300), (2.9, 300), (3.1, 310), (30, 3000)])
def test_readings_take_their_share_at_most(cpu_s, interval_s):
    pace = ReadingPace("everything", 300, 0.01)
    pace.record(cpu_s)
    assert pace.interval_s == pytest.approx(interval_s)


def test_an_interval_that_was_asked_for_stays():
    pace = ReadingPace("everything", 10)
    pace.record(1000)
    assert pace.interval_s == 10


def test_notable_intervals_are_logged(caplog):
    """Each of them once, however the cost of single readings varies; also that it is over."""
    caplog.set_level(logging.INFO)
    pace = ReadingPace("everything", 100, 0.01)
    for cpu_s in (0.5, NOTABLE, 1.3, 1.4, 4.0, 3.9, 0.5, 0.5):
        pace.record(cpu_s)
    assert [record.interval_s for record in caplog.records] == [130, 400, 100]
