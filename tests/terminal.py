"""Standard error as a pseudo-terminal, and what is on its screen in the end."""

import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from f5router.logs import log_output

ESCAPE = r"\x1b\[[0-9;?]*[A-Za-z]"
TERMINAL = ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES")


class Screen:
    """A terminal of 100 columns, which standard error is, and what is on it in the end."""

    def __init__(self, output: str):
        self.output, self.text = output, re.sub(ESCAPE, "", output)
        self.rows, row = [""], 0
        for sequence in re.findall(rf"{ESCAPE}|\r\n|\r|\n|[^\x1b\r\n]+", output):
            if sequence in ("\r\n", "\n"):
                row += 1
                self.rows += [""] * (row == len(self.rows))
            elif sequence == "\x1b[1A":
                row -= 1
            elif sequence == "\x1b[2K":
                self.rows[row] = ""
            elif sequence[0] not in "\x1b\r":
                self.rows[row] += sequence


@contextmanager
def pseudo_terminal(monkeypatch: pytest.MonkeyPatch, *, term: str = "xterm") -> Iterator[list[Screen]]:
    """Make standard error a pseudo-terminal; what was drawn is in the list afterwards."""
    for name in TERMINAL:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("COLUMNS", "100")
    master, slave = os.openpty()
    screens: list[Screen] = []
    with open(slave, "w", encoding="utf-8") as stderr, open(master, "rb", buffering=0) as drawn:
        monkeypatch.setattr(sys, "stderr", stderr)
        try:
            yield screens
        finally:
            assert sys.stderr is stderr
            stderr.flush()
            os.set_blocking(master, False)
            output = b""
            with suppress(BlockingIOError):
                while block := drawn.read(65536):
                    output += block
            screens.append(Screen(output.decode()))


@contextmanager
def own_log() -> Iterator[None]:
    """Let a test set the log up; afterwards there is none on its standard error."""
    try:
        yield
    finally:
        root = logging.getLogger()
        for handler in [each for each in root.handlers if type(each).__module__ == log_output.__name__]:
            root.removeHandler(handler)
        root.setLevel(logging.WARNING)
