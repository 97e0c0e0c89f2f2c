"""Names that are perhaps meant: a text for people adds the nearest of those that there are."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

CUTOFF = 0.65
"""Least similarity of a name that is perhaps meant, as difflib measures it."""

MOST_NAMES = 1000
"""Names that are compared: each takes about 20 µs."""


def did_you_mean(wanted: str, known: Iterable[str], *, most: int = MOST_NAMES) -> str:
    """Return "; did you mean NAME?" for the nearest name; "" if none is near. Args: most: names compared."""
    near = get_close_matches(wanted, islice(known, most), n=1, cutoff=CUTOFF)
    return f"; did you mean {near[0]}?" if near else ""
