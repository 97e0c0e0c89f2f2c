"""Progress of long work: a bar on a terminal, elsewhere a line every few seconds."""

import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING

from f5router.logs import log_output

if TYPE_CHECKING:
    from f5router.logs.progress_bar import ProgressBar

PERIOD_S = 5.0
"""Time between two lines."""
REDRAW_S = 0.25
"""Time between two looks at what the bar shows."""

Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Figures:
    """How much is done."""

    done: float = 0
    total: float = 0
    """0 if it is not known."""
    fields: Fields = field(default_factory=dict)
    """Fields of a line, by name."""


def counted(done: int, total: int) -> str:
    """Return a part of a total as text, at most the total."""
    return f"{done:,} of {max(total, done):,}"


def pace(done: int, total: int, elapsed_s: float) -> str:
    """Return how far writes are, how long they took, and how long the others will: minutes and seconds."""
    text = f"{counted(done, total)} writes, {_clock(elapsed_s, hours=True)}"
    if not 0 < done < total:
        return text
    return f"{text}, about {_clock(elapsed_s * (total - done) / done)} left"


def _clock(seconds: float, *, hours: bool = False) -> str:
    """Return a duration as 0:12, or as 0:00:12 with hours, which long ones have in any case."""
    minutes, second = divmod(round(seconds), 60)
    hour, minute = divmod(minutes, 60)
    return f"{hour}:{minute:02}:{second:02}" if hours or hour else f"{minute}:{second:02}"


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
        self._bar: ProgressBar | None = None
        self._due_at: float | None = None

    @classmethod
    def logged(cls, log: logging.Logger, what: str, *, period_s: float = PERIOD_S,
               clock: Callable[[], float] = time.monotonic) -> "Progress":
        """Return one with lines in the log, or with a bar where these would be text on the terminal."""
        return cls(what, lambda fields: log.info(what, extra=dict(fields)),
                   bar=log_output.shows_text(log), period_s=period_s, clock=clock)

    def __enter__(self) -> "Progress":
        if self._wants_bar and _has_terminal():
            from f5router.logs.progress_bar import ProgressBar  # loads rich, 2 MiB, which no pod needs
            self._bar = self._stack.enter_context(ProgressBar(self._what))
        self._due_at = self._clock() + (self._period_s if self._bar is None else 0.0)
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self._bar = None
        self._stack.close()

    def update(self, figures: Callable[[], Figures]) -> None:
        """Show how much is done, if it is time. Args: figures: called only then."""
        now = self._clock()
        if self._due_at is not None and now < self._due_at:
            return
        begins = self._due_at is None
        self._due_at = now + (self._period_s if self._bar is None else REDRAW_S)
        if self._bar is not None:
            shown = figures()
            self._bar.draw(shown.done, shown.total, shown.fields)
        elif not begins:
            self._show(figures().fields)


def _has_terminal() -> bool:
    """True if standard error is a terminal on which a line can be drawn again."""
    kind = os.environ.get("TERM", "").lower()
    return sys.stderr is not None and sys.stderr.isatty() and kind not in ("", "dumb", "unknown")
