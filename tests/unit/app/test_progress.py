"""Lines about long work."""

import logging

from f5router.app.progress import Progress


def test_a_line_now_and_then(caplog):
    """No line for short work; then one for each period, with what is done."""
    caplog.set_level("INFO")
    now = 0.0
    progress = Progress(logging.getLogger("work"), "removing", period_s=5.0, clock=lambda: now)
    for _ in range(4060):
        progress.step(4050)
        now += 1 / 256
    assert [(record.message, record.changes) for record in caplog.records] == [
        ("removing", "1,281 of 4,050"), ("removing", "2,561 of 4,050"), ("removing", "3,841 of 4,050")]
    now += 5.0
    progress.step(4050)
    assert caplog.records[-1].changes == "4,061 of 4,061"
