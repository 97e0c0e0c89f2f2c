"""Output on a terminal, with colours, or into a pipe, without them."""

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console, RenderableType
from rich.text import Text

from f5router.config.config import Config
from f5router.logs import log_output
from f5router.model.texts import NARROWEST, WIDE, as_text, table

CONTINUED = 4
"""Blanks by which the rest of a broken line is indented more than its beginning."""


def console() -> Console:
    """Return a console for standard output.

    Colours depend on the terminal and on NO_COLOR (https://no-color.org), as rich documents it; nothing in a
    text counts as markup.
    """
    terminal = sys.stdout.isatty()
    return Console(file=sys.stdout, width=None if terminal else WIDE, highlight=False, markup=False,
                   emoji=False, force_terminal=terminal)


def show(text: Text) -> None:
    """Print a text: lines are broken on a terminal, and whole in a pipe."""
    target = console()
    for line in text.split("\n", allow_blank=True):
        target.print(_broken(line, target) if target.is_terminal else line, soft_wrap=True)


def _broken(line: Text, target: Console) -> Text:
    """Break a line that does not fit a terminal; what follows stands below its text."""
    if line.cell_len <= target.width:
        return line
    indent = len(line.plain) - len(line.plain.lstrip()) + CONTINUED
    pieces = line.wrap(target, max(target.width - indent, NARROWEST))
    for piece in pieces:
        piece.rstrip()
    return Text(f"\n{' ' * indent}").join(pieces)


def show_table(headers: Sequence[str], rows: Iterable[Iterable[RenderableType]]) -> None:
    """Print a table: in colours where it fits a terminal, else as plain text with whole lines."""
    target, result = console(), table(headers, rows)
    plain = as_text(result)
    if target.is_terminal and max(map(len, plain.splitlines()), default=0) <= target.width:
        target.print(result)
    else:
        print(plain)


def quieten(config: Config) -> None:
    """Disable the log except at level debug, because the output is complete."""
    log_output.setup(config.log_level if config.log_level == "debug" else "critical", config.log_format,
                     config.secrets)
