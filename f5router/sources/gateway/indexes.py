"""Indexes of what Gateways refer to."""

from typing import TypeVar

_T = TypeVar("_T")
_U = TypeVar("_U")


def put(index: dict[_T, set[_U]], value: _T, key: _U, *, is_new: bool) -> None:
    """Add a key to the set of a value, or discard it; an empty set goes."""
    if is_new:
        index[value].add(key)
    elif value in index:
        index[value].discard(key)
        if not index[value]:
            del index[value]
