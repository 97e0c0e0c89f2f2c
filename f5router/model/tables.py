"""Tables without lines, for terminals and as plain text."""

import io
import textwrap
from collections.abc import Collection, Iterable, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from f5router.model.printable import printable

NARROWEST = 40
"""Least width of a text beside its indentation, in characters."""

WIDE = 10_000
"""Columns of plain text: lines are as long as they are."""


def table(headers: Sequence[str], rows: Iterable[Iterable[RenderableType]],
          right: Collection[int] = ()) -> Table:
    """Return a table; cells that do not fit a terminal are continued below.

    Args: headers: one for each column, "" for none; right: numbers of columns that are aligned to the right.
    """
    result = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    result.show_header = any(headers)
    for number, header in enumerate(headers):
        result.add_column(header, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        result.add_row(*row)
    return result


def as_text(renderable: RenderableType) -> str:
    """Return something that rich renders as plain text, with whole lines and no blanks at their ends."""
    output = io.StringIO()
    Console(file=output, width=WIDE, highlight=False, markup=False, emoji=False,
            color_system=None).print(renderable)
    return "\n".join(line.rstrip() for line in output.getvalue().rstrip("\n").split("\n"))


def plain_table(headers: Sequence[str], rows: Iterable[Iterable[object]],
                right: Collection[int] = ()) -> str:
    """Return a table of values as plain text. Args: right: see `table`."""
    return as_text(table(headers, ([Text(printable(cell)) for cell in row] for row in rows), right))


def hanging(text: str, indent: int, width: int) -> str:
    """Break a text into lines of a width, all but the first indented by so many blanks."""
    lines = textwrap.wrap(printable(text), max(width - indent, NARROWEST), break_long_words=False,
                          break_on_hyphens=False)
    return f"\n{' ' * indent}".join(lines)
