"""Names that are perhaps meant: a text for people adds the nearest of those that there are."""

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

MOST_NAMES = 1000
"""Names that are compared: each takes about 20 µs."""


def did_you_mean(wanted: str, known: Iterable[str]) -> str:
    """Return "; did you mean NAME?" for the nearest of at most MOST_NAMES names; "" if none is near."""
    near = get_close_matches(wanted, islice(known, MOST_NAMES), n=1)
    return f"; did you mean {near[0]}?" if near else ""
