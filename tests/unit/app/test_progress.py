"""Lines about long work."""

import logging

from f5router.app.progress import Progress


def test_a_line_now_and_then(caplog):
    """No line for short work; then one for each period, with what is done."""
    caplog.set_level("INFO")
    now = 0.0
    progress = Progress(logging.getLogger("work"), "removing", period_s=5.0, clock=lambda: now)
    progress.begin(4050)
    for _ in range(4060):
        now += 1 / 256
        progress.step()
    assert [(record.message, record.changes) for record in caplog.records] == [
        ("removing", "1,280 of 4,050"), ("removing", "2,560 of 4,050"), ("removing", "3,840 of 4,050")]
    now += 5.0
    progress.step()
    assert caplog.records[-1].changes == "4,061 of 4,061"
    progress.begin(1)
    progress.step()
    assert len(caplog.records) == 4
