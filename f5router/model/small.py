"""Mappings and sets of mostly one item, in little memory: most Hosts have one Route, most Services one pool.

A dict or set with one item takes 220 bytes, and there are ten for each Route.
"""

from collections.abc import Collection, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Generic, TypeVar

G = TypeVar("G")
K = TypeVar("K")
V = TypeVar("V")


class Single(Mapping[K, V]):
    """A mapping with one item."""

    __slots__ = ("_key", "_value")

    def __init__(self, key: K, value: V):
        self._key, self._value = key, value

    def __getitem__(self, key: object) -> V:
        if key == self._key:
            return self._value
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return key == self._key

    def __iter__(self) -> Iterator[K]:
        yield self._key

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return f"Single({self._key!r}, {self._value!r})"

    def keys(self) -> KeysView[K]:
        return {self._key: self._value}.keys()

    def values(self) -> ValuesView[V]:
        return {self._key: self._value}.values()

    def items(self) -> ItemsView[K, V]:
        return {self._key: self._value}.items()


_NONE: Mapping[Any, Any] = {}


def compact(mapping: Mapping[K, V]) -> Mapping[K, V]:
    """Return a mapping with the same items, in less memory if there are few; neither may be changed."""
    if len(mapping) > 1:
        return mapping
    for key, value in mapping.items():
        return Single(key, value)
    return _NONE


def put(groups: dict[G, Mapping[K, V]], group: G, key: K, value: V) -> None:
    """Put an item into one of several mappings; only mappings with several items are dicts."""
    items = groups.get(group)
    if isinstance(items, dict):
        items[key] = value
    else:
        groups[group] = compact({**items, key: value} if items else {key: value})


def remove(groups: dict[G, Mapping[K, V]], group: G, key: K) -> None:
    """Remove an item that `put` has put there, and a mapping that is empty then."""
    items = groups[group]
    if isinstance(items, dict):
        del items[key]
        if len(items) == 1:
            groups[group] = compact(items)
    elif key in items:
        del groups[group]
    else:
        raise KeyError(key)


class _Several(set[Any]):
    """Values of a key that has more than one."""


class Groups(Collection[K], Generic[K, V]):
    """Sets of values by key; a set with one value takes no more than the value."""

    def __init__(self) -> None:
        self._values: dict[K, Any] = {}

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __iter__(self) -> Iterator[K]:
        """Yield the keys, each with a value at least."""
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: K) -> Collection[V]:
        """Return the values of a key; none if it is not there."""
        if key not in self._values:
            return ()
        values = self._values[key]
        return values if isinstance(values, _Several) else (values,)

    def add(self, key: K, value: V) -> None:
        """Add a value, if the key does not have it."""
        values = self._values.setdefault(key, value)
        if isinstance(values, _Several):
            values.add(value)
        elif values != value:
            self._values[key] = _Several((values, value))

    def discard(self, key: K, value: V) -> None:
        """Remove a value; a key without values is removed."""
        values = self._values.get(key)
        if isinstance(values, _Several):
            values.discard(value)
            if len(values) == 1:
                self._values[key] = values.pop()
        elif values == value:
            self._values.pop(key, None)
