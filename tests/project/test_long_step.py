"""Bar or lines that make shows while an installation prints nothing."""

import io
import os
import sys

import pytest

from tools import long_step

TEXT = "installing"


class Output(io.StringIO):
    """Lets a command end once so many steps were shown."""

    def __init__(self, fifo: str, steps: int, *, terminal: bool):
        super().__init__()
        self._fifo, self._left, self._terminal = fifo, steps, terminal

    def isatty(self) -> bool:
        return self._terminal

    def write(self, text: str) -> int:
        if " s" in text:
            self._left -= 1
            if self._left == 0:
                with open(self._fifo, "w", encoding="utf-8"):
                    pass
        return super().write(text)


def shown(tmp_path, steps: int, *, terminal: bool) -> str:
    """Return what is shown beside a command that ends after some steps, with status 3."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    output = Output(str(fifo), steps, terminal=terminal)
    command = [sys.executable, "-c", f"import sys; open({str(fifo)!r}).read(); sys.exit(3)"]
    assert long_step.run(TEXT, command, output, period_s=0.01, redraw_s=0.01) == 3
    return output.getvalue()


@pytest.mark.parametrize("steps", [1, 3])
def test_lines(tmp_path, steps):
    """The first at once, then one for each period."""
    lines = shown(tmp_path, steps, terminal=False).splitlines()
    assert lines[0] == f"  {TEXT}"
    assert len(lines) > steps
    assert all(line.startswith(f"  {TEXT}, ") and line.endswith(" s") for line in lines[1:])


def test_a_bar(tmp_path, monkeypatch):
    """One row, which is never longer than the terminal; the text alone is left of it."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "30")
    rows = shown(tmp_path, 30, terminal=True).split(long_step.CLEAR)
    assert rows[0] == ""
    assert rows[-1] == f"  {TEXT}\n"
    assert len(rows) >= 32
    assert {len(row) for row in rows[1:-1]} == {29}
    assert len({row.index("=") for row in rows[1:-1]}) == long_step.WIDTH - long_step.PART + 1
    assert "\n" not in "".join(rows[:-1])


def test_a_dumb_terminal(tmp_path, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in shown(tmp_path, 1, terminal=True)


def test_a_signal(capfd):
    """Its number is in the exit status, as a shell has it."""
    command = [sys.executable, "-c", "import os; os.kill(os.getpid(), 15)"]
    assert long_step.run(TEXT, command, sys.stderr) == 143
    assert capfd.readouterr().err == f"  {TEXT}\n"
