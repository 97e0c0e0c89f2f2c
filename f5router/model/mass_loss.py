"""Test whether so many objects are lost at once that it may be a mistake."""

LEAST = 20
"""Smallest number of deletes that is held back."""


def is_mass(deletes: int, total: int) -> bool:
    """True if so many deletes must be confirmed. Args: total: objects before the first of them."""
    return deletes >= LEAST and 2 * deletes > total
