"""Progress of long work: a bar on a terminal, elsewhere a line every few seconds."""

import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import TextIO, cast

from rich.console import Console
from rich.file_proxy import FileProxy
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Column

from f5router.logs import log_output
from f5router.model.printable import printable

PERIOD_S = 5.0
"""Time between two lines."""
REDRAW_S = 0.25
"""Time between two looks at what the bar shows."""
BAR_WIDTH = 20

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Figures:
    """How much is done."""

    done: float = 0
    total: float = 0
    """0 if it is not known."""
    fields: Fields = field(default_factory=dict)
    """What a line shows, by name."""


def counted(done: int, total: int) -> str:
    """Return a part of a total as text; one that has become larger is the total."""
    return f"{done:,} of {max(total, done):,}"


class Progress:
    """Shows figures now and then. As a context manager it draws a bar where there is a terminal for it.

    Short work has no line. The bar is below all that is logged meanwhile, and vanishes at the end. The cursor
    stays visible, so that a killed process leaves the terminal as it was. Not thread-safe.
    """

    def __init__(self, what: str, show: Callable[[Fields], object], *, bar: bool = True,
                 period_s: float = PERIOD_S, clock: Callable[[], float] = time.monotonic):
        """Args: show: writes a line. bar: False for lines in any case."""
        self._what, self._show, self._wants_bar = what, show, bar
        self._period_s, self._clock = period_s, clock
        self._stack = ExitStack()
        self._drawing = threading.RLock()
        """Held by who draws or writes a line: rich computes and writes in two steps."""
        self._bar: Bar | None = None
        self._due_at: float | None = None

    @classmethod
    def logged(cls, log: logging.Logger, what: str, *, period_s: float = PERIOD_S,
               clock: Callable[[], float] = time.monotonic) -> "Progress":
        """Return one with lines in the log, or with a bar where these would be text on the terminal."""
        return cls(what, lambda fields: log.info(what, extra=dict(fields)),
                   bar=log_output.shows_text(log), period_s=period_s, clock=clock)

    def __enter__(self) -> "Progress":
        console = _terminal() if self._wants_bar else None
        self._due_at = self._clock() + (self._period_s if console is None else 0.0)
        if console is not None:
            bar = _bar(console)
            bar.add_task(printable(self._what), total=None, text="")
            # From before its beginning until after its end: no line is written beside it.
            above = cast(TextIO, _Above(console, sys.stderr, self._drawing))
            self._stack.enter_context(log_output.redirected(sys.stderr, above))
            self._stack.enter_context(contextlib.redirect_stderr(above))
            with contextlib.suppress(OSError):  # the terminal is gone
                self._begin(bar)
        return self

    def _begin(self, bar: Bar) -> None:
        """Draw the bar, again and again until the stack ends."""
        ended = threading.Event()

        def redraw() -> None:
            while not ended.wait(REDRAW_S):
                with self._drawing, contextlib.suppress(OSError):
                    if not ended.is_set():
                        bar.refresh()

        def end() -> None:
            ended.set()
            with self._drawing, contextlib.suppress(OSError):
                bar.stop()

        with self._drawing:
            bar.start()
        self._bar = bar
        self._stack.callback(end)
        threading.Thread(target=redraw, daemon=True, name="progress").start()

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._bar = None
        self._stack.close()

    def update(self, figures: Callable[[], Figures]) -> None:
        """Show how much is done, if it is time. Args: figures: called only then."""
        now = self._clock()
        if self._due_at is not None and now < self._due_at:
            return
        begins, self._due_at = self._due_at is None, now + (REDRAW_S if self._bar else self._period_s)
        if self._bar:
            _draw(self._bar, figures())
        elif not begins:
            self._show(figures().fields)


def _bar(console: Console) -> Bar:
    """Return a bar of one line, whatever the width of the terminal."""
    return Bar(
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        BarColumn(BAR_WIDTH), TimeElapsedColumn(),
        TextColumn("{task.fields[text]}", markup=False, table_column=Column(ratio=1, no_wrap=True)),
        console=console, transient=True, expand=True, redirect_stdout=False, redirect_stderr=False,
        auto_refresh=False)


def _draw(bar: Bar, figures: Figures) -> None:
    text = ", ".join(f"{name} {value}" for name, value in figures.fields.items())
    bar.update(bar.task_ids[0], completed=figures.done, total=figures.total or None, text=printable(text))


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


def _terminal() -> Console | None:
    """Return standard error as a terminal on which a line can be drawn again; None if it is none."""
    if sys.stderr is None or not sys.stderr.isatty() or not os.environ.get("TERM"):
        return None
    console = _Console(file=sys.stderr, soft_wrap=True, highlight=False, markup=False, emoji=False)
    return console if console.is_interactive else None
