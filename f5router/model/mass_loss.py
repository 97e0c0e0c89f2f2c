"""A loss of so many objects at once that it may be a mistake, and needs a second look."""

LEAST = 20
"""Fewer deletes than this are never held back."""


def is_mass(deletes: int, total: int) -> bool:
    """True if so many deletes must be confirmed. Args: total: objects before the first of them."""
    return deletes >= LEAST and 2 * deletes > total
