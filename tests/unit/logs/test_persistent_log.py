"""Lasting problems are told when they begin and when they end."""

import logging

from f5router.logs.log_output import PersistentLog


def test_once(caplog):
    caplog.set_level(logging.INFO)
    notices = PersistentLog("VxLAN")
    for problems, warnings in ((("a",), ("b",)), (("a",), ("b",)), (("a",), ()), ((), ("a",)), ((), ())):
        notices.update(problems, warnings)
    assert [(r.levelname, r.message, r.problem) for r in caplog.records] == [
        ("WARNING", "VxLAN", "b"), ("ERROR", "VxLAN", "a"), ("INFO", "problem resolved", "b"),
        ("WARNING", "VxLAN", "a"), ("INFO", "problem resolved", "a")]
