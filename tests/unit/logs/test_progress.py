"""Progress of long work: a bar on a terminal, lines elsewhere."""

import logging
import re
import sys

import pytest

from f5router.logs import log_output
from f5router.logs.progress import Figures, Progress, counted, pace
from tests.rows import rows
from tests.terminal import own_log, pseudo_terminal

LOG = logging.getLogger("work")


def work(count: int = 40, **fields: str) -> None:
    """Do some work, with a line in the log, in a time of its own."""
    now, done = 0.0, 0

    def figures() -> Figures:
        return Figures(done, count, {"changes": counted(done, count), **fields})

    with Progress.logged(LOG, "removing", clock=lambda: now) as progress:
        while done < count:
            progress.update(figures)
            now, done = now + 0.25, done + 1
        LOG.info("in between", extra={"long": "x" * 120})


def fail(error: type[BaseException]) -> None:
    """Begin some work that fails."""
    with Progress.logged(LOG, "removing") as progress:
        progress.update(lambda: Figures(fields={"changes": "1"}))
        raise error


def test_a_line_now_and_then(caplog):
    """No line for short work; then one for each period, with what is done."""
    caplog.set_level("INFO")
    now, done = 0.0, 0
    progress = Progress.logged(LOG, "removing", period_s=5.0, clock=lambda: now)

    def figures() -> Figures:
        return Figures(done, 4050, {"changes": counted(done, 4050)})

    while done < 4060:
        done += 1
        progress.update(figures)
        now += 1 / 256
    assert [(record.message, record.changes) for record in caplog.records] == [
        ("removing", "1,281 of 4,050"), ("removing", "2,561 of 4,050"), ("removing", "3,841 of 4,050")]
    now += 5.0
    done += 1
    progress.update(figures)
    assert caplog.records[-1].changes == "4,061 of 4,061"


def test_a_bar_on_apseudo_terminal(monkeypatch):
    """Below the log, whose lines stay whole; nothing of it is left, and the cursor is never hidden."""
    with own_log(), pseudo_terminal(monkeypatch) as screens:
        log_output.setup("info", "text")
        work()
    (screen,) = screens
    assert re.search(r"removing .*━.* 0:00:\d\d changes 39 of 40", screen.text)
    assert re.fullmatch(rf"\S+ INFO work in between long={'x' * 120}", screen.rows[0])
    assert not any(screen.rows[1:])
    assert "\x1b[?25" not in screen.output


@pytest.mark.parametrize(("level", "form", "term", "lines"), [
    ("info", "text", "dumb", 2), ("info", "text", "", 2), ("info", "json", "xterm", 2),
    ("warning", "text", "xterm", 0)])
def test_no_bar(monkeypatch, level, form, term, lines):
    """Lines on a terminal that cannot draw, and where each line is JSON; nothing for whom wants less."""
    with own_log(), pseudo_terminal(monkeypatch, term=term) as screens:
        log_output.setup(level, form)
        work()
    (screen,) = screens
    assert "\x1b" not in screen.output
    assert screen.output.count("removing") == bool(lines)
    assert len(screen.output.splitlines()) == lines


def test_no_colours(monkeypatch):
    with own_log(), pseudo_terminal(monkeypatch) as screens:
        monkeypatch.setenv("NO_COLOR", "1")
        log_output.setup("info", "text")
        work()
    assert "39 of 40" in screens[0].text
    assert not re.search(r"\x1b\[[0-9;]*[34]\d", screens[0].output)


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_error_ends_the_bar(monkeypatch, error):
    """It goes on to whoever handles it, and what is printed after it is all that is left."""
    with own_log(), pseudo_terminal(monkeypatch) as screens:
        log_output.setup("info", "text")
        with pytest.raises(error):
            fail(error)
        print("not everything removed", file=sys.stderr)
        LOG.info("end")
    assert "removing" in screens[0].text
    assert screens[0].rows[0] == "not everything removed"
    assert screens[0].rows[1].endswith("INFO work end")


@pytest.mark.parametrize("columns", ["20", "90"])
def test_texts_of_others(monkeypatch, columns):
    """They are printable, no markup, and cut where the line of a narrow terminal ends."""
    with own_log(), pseudo_terminal(monkeypatch) as screens:
        monkeypatch.setenv("COLUMNS", columns)
        log_output.setup("info", "text")
        work(path=f"[red]\x1b[2J\nlist {'y' * 300}")
    (screen,) = screens
    assert "\x1b[2J" not in screen.output
    assert "y" * 90 not in screen.text
    assert not any(screen.rows[1:])
    assert r"[red]\x1b[2J\nlist" in screen.text or columns == "20"


@rows(("done", "total", "elapsed_s", "text"), [
    (500, 3200, 12.0, "500 of 3,200 writes, 0:00:12, about 1:05 left"),
    (3000, 3200, 12.0, "3,000 of 3,200 writes, 0:00:12, about 0:01 left"),
    (1, 40_000, 0.4, "1 of 40,000 writes, 0:00:00, about 4:26:40 left"),
    (3200, 3200, 75.0, "3,200 of 3,200 writes, 0:01:15"),
    (7, 5, 3661.0, "7 of 7 writes, 1:01:01")])
def test_the_pace_of_writes(done, total, elapsed_s, text):
    assert pace(done, total, elapsed_s) == text
