"""Output on a terminal, with colours, or into a pipe, without them."""

import sys
from collections.abc import Collection, Sequence

from rich.console import Console
from rich.text import Text

from f5router.model.texts import NARROWEST, WIDE

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


LEAST = 10
"""Columns that are left of a cell that is cut."""
GAP = 2


class TextTable:
    """Rows below each other, now and later, in columns that are wide enough for the first ones."""

    def __init__(self, headers: Sequence[str], elastic: Sequence[Sequence[str]] = ()):
        """Args: elastic: groups of headers whose columns are cut with an ellipsis to fit a terminal.

        The first group is cut first, and the widest column of a group.
        """
        self._headers = [Text(header, "bold") for header in headers]
        self._elastic = [[headers.index(header) for header in group] for group in elastic]
        self._widths: list[int] = []

    def show(self, rows: Collection[Sequence[Text]]) -> None:
        """Print rows, below the headers if they are the first ones."""
        target, lines = console(), list(rows)
        if not self._widths:
            lines.insert(0, self._headers)
            self._widths = [max(row[number].cell_len for row in lines)
                            for number in range(len(self._headers))]
            if target.is_terminal and self._elastic:
                self._fit(target.width)
        for row in lines:
            target.print(self._line(row, is_cut=target.is_terminal), soft_wrap=True)

    def _fit(self, width: int) -> None:
        """Make columns narrower until a line fits, as far as their headers and LEAST allow."""
        excess = sum(self._widths) + GAP * (len(self._widths) - 1) - width
        for group in self._elastic:
            while excess > 0:
                widest = max(group, key=self._widths.__getitem__)
                if self._widths[widest] <= max(LEAST, self._headers[widest].cell_len):
                    break
                self._widths[widest] -= 1
                excess -= 1

    def _line(self, row: Sequence[Text], *, is_cut: bool) -> Text:
        line = Text()
        for number, (given, width) in enumerate(zip(row, self._widths, strict=True)):
            cell = given.copy()
            if is_cut and any(number in group for group in self._elastic):
                cell.truncate(width, overflow="ellipsis")
            if number < len(row) - 1:
                cell.pad_right(max(width - cell.cell_len, 0) + GAP)
            line.append_text(cell)
        line.rstrip()
        return line
