"""Output on a terminal, with colours, or into a pipe, without them."""

import sys

from rich.console import Console

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

