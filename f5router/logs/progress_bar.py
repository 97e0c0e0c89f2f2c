"""A bar on the terminal that shows how much of long work is done."""

import contextlib
import sys
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import TextIO, cast

from rich.console import Console
from rich.file_proxy import FileProxy
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Column

from f5router.logs import log_output
from f5router.model.texts import printable

REDRAW_S = 0.25
BAR_WIDTH = 20


class ProgressBar:
    """A bar on standard error; a context manager.

    It is below all that is logged meanwhile, and vanishes at the end. The cursor stays visible, so that a
    killed process leaves the terminal as it was.
    """

    def __init__(self, what: str):
        """Args: what: text before the bar."""
        self._console = _Console(file=sys.stderr, soft_wrap=True, highlight=False, markup=False, emoji=False)
        # One line, whatever the width of the terminal.
        self._bar = Bar(
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
            BarColumn(BAR_WIDTH), TimeElapsedColumn(),
            TextColumn("{task.fields[text]}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
            console=self._console, transient=True, expand=True, redirect_stdout=False, redirect_stderr=False,
            auto_refresh=False)
        self._task = self._bar.add_task(printable(what), total=None, text="")
        self._stack, self._ended = ExitStack(), threading.Event()
        self._drawing = threading.RLock()
        """Held by who draws or writes a line: rich computes and writes in two steps."""

    def __enter__(self) -> "ProgressBar":
        # From before its beginning until after its end: no line is written beside it.
        above = cast(TextIO, _Above(self._console, sys.stderr, self._drawing))
        self._stack.enter_context(log_output.redirected(sys.stderr, above))
        self._stack.enter_context(contextlib.redirect_stderr(above))
        with contextlib.suppress(OSError):  # the terminal is gone
            with self._drawing:
                self._bar.start()
            self._stack.callback(self._end)
            threading.Thread(target=self._redraw, daemon=True, name="progress").start()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._stack.close()

    def draw(self, done: float, total: float, fields: Mapping[str, object]) -> None:
        """Show how much is done. Args: total: 0 if it is not known; fields: stand behind the bar."""
        text = ", ".join(f"{name} {value}" for name, value in fields.items())
        self._bar.update(self._task, completed=done, total=total or None, text=printable(text))

    def _redraw(self) -> None:
        """Draw the bar again and again until it ends; the body of its thread."""
        while not self._ended.wait(REDRAW_S):
            with self._drawing, contextlib.suppress(OSError):
                if not self._ended.is_set():
                    self._bar.refresh()

    def _end(self) -> None:
        self._ended.set()
        with self._drawing, contextlib.suppress(OSError):
            self._bar.stop()


class _Above(FileProxy):
    """Writes whole lines above the bar."""

    def __init__(self, console: Console, file: TextIO, drawing: threading.RLock):
        super().__init__(console, file)
        self._drawing = drawing

    def write(self, text: str) -> int:
        with self._drawing:
            return super().write(text)

    def flush(self) -> None:
        with self._drawing:
            super().flush()


class _Console(Console):
    """Leaves the cursor alone."""

    def show_cursor(self, show: bool = True) -> bool:
        return False
