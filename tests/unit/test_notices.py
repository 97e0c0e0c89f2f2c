"""Lasting problems are told when they begin and when they end."""

import logging

from f5router.notices import Notices


def test_once(caplog):
    caplog.set_level(logging.INFO)
    notices = Notices()
    for problems, warnings in ((("a",), ("b",)), (("a",), ("b",)), (("a",), ()), ((), ("a",)), ((), ())):
        notices.tell(problems, warnings)
    assert [(r.levelname, r.problem) for r in caplog.records] == [
        ("WARNING", "b"), ("ERROR", "a"), ("INFO", "b"), ("WARNING", "a"), ("INFO", "a")]
