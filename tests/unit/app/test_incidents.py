"""The log of incidents."""

import logging

from f5router.app.incidents import IncidentLog
from f5router.model.findings import CLOCK_DIFFERS, LICENCE_EXPIRED, Link, finding


def clock(whose: str, seconds: int):
    return finding(Link.DEVICE, CLOCK_DIFFERS, f"{whose} is {seconds} s ahead", at=whose)


def test_each_is_logged_once(caplog):
    """Whatever number is in its text; and once when it has ended."""
    caplog.set_level(logging.INFO)
    log = IncidentLog("clocks differ")
    for now in ([clock("a", 100)], [clock("a", 101)], [clock("a", 101), clock("b", 50)], [clock("b", 50)],
                  [clock("a", 99)]):
        log.update(now)
    assert [(record.message, record.problem) for record in caplog.records] == [
        ("clocks differ", "ClockDiffers: a is 100 s ahead"),
        ("clocks differ", "ClockDiffers: b is 50 s ahead"),
        ("problem resolved", "ClockDiffers: a is 101 s ahead"),
        ("clocks differ", "ClockDiffers: a is 99 s ahead"),
        ("problem resolved", "ClockDiffers: b is 50 s ahead")]


def test_lost_requests_are_an_error(caplog):
    log = IncidentLog("licence")
    log.update([finding(Link.DEVICE, LICENCE_EXPIRED, "it ended")])
    assert [record.levelname for record in caplog.records] == ["ERROR"]
