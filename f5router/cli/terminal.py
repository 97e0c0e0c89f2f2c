"""Output on a terminal, with colours, or into a pipe, without them."""

import io
import sys
from collections.abc import Collection, Iterable, Sequence

from rich.console import Console, RenderableType
from rich.table import Table

from f5router.config.config import Config
from f5router.logs import log_output
from f5router.model.printable import printable

WIDE = 10_000
"""Columns where the output goes into a pipe or a file: lines are as long as they are."""


def console() -> Console:
    """Return a console for standard output.

    Colours depend on the terminal and on NO_COLOR (https://no-color.org), as rich documents it; nothing in a
    text counts as markup.
    """
    terminal = sys.stdout.isatty()
    return Console(file=sys.stdout, width=None if terminal else WIDE, highlight=False, markup=False,
                   emoji=False, force_terminal=terminal)



def table(headers: Sequence[str], rows: Iterable[Iterable[RenderableType]],
          right: Collection[int] = ()) -> Table:
    """Return a table without lines; cells that do not fit the terminal are continued below.

    Args: right: numbers of the columns that are aligned to the right.
    """
    result = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for number, header in enumerate(headers):
        result.add_column(header, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        result.add_row(*row)
    return result


def show_table(headers: Sequence[str], rows: Iterable[Iterable[RenderableType]]) -> None:
    """Print a table: fitted to a terminal, with whole lines into a pipe."""
    target = console()
    if target.is_terminal:
        target.print(table(headers, rows))
    else:
        print(as_text(table(headers, rows)))


def as_text(renderable: RenderableType) -> str:
    """Return something that rich renders as plain text, with whole lines and no blanks at their ends."""
    output = io.StringIO()
    Console(file=output, width=WIDE, highlight=False, markup=False, emoji=False,
            color_system=None).print(renderable)
    return "\n".join(line.rstrip() for line in output.getvalue().rstrip("\n").split("\n"))


def plain_table(headers: Sequence[str], rows: Iterable[Iterable[object]], right: Collection[int] = ()) -> str:
    """Return a table of values as plain text. Args: right: see `table`."""
    return as_text(table(headers, ([printable(cell) for cell in row] for row in rows), right))


def quieten(config: Config) -> None:
    """Log nothing but at level debug, where the output itself has all that matters."""
    log_output.setup(config.log_level if config.log_level == "debug" else "critical", config.log_format,
                     config.secrets)
