"""How many examples a property gets."""

from hypothesis import settings

ALL = 100
"""Hypothesis's default, which the profile `explore` has."""


def examples(number: int) -> int:
    """Return how many of this number run: a quarter in `make test`, all in `make explore`."""
    return max(1, number * settings.default.max_examples // ALL)
