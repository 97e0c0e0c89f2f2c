"""The limit on lists of clients in a namespace: which Routes exceed it.

Each list is a data-group of the BIG-IP, which the router reads and keeps with all its records. The lists of
the oldest Routes come first; equal lists share a data-group and count once. A Route beyond the limit is
refused: without its list everybody would get in.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from f5router.model import names
from f5router.model.cluster import Key, Route


class ListedRoute(NamedTuple):
    """A Route with a list of clients; smaller is older."""

    age: tuple[str, str]
    key: Key
    digest: str
    """Digest of the list."""
    entries: int

    @classmethod
    def of(cls, route: Route) -> "ListedRoute | None":
        """Return what counts of a Route; None without a list."""
        if not (sources := route.options.sources):
            return None
        return cls(route.age, route.key, names.digest(" ".join(sources), 32), len(sources))


def excess(routes: Iterable[ListedRoute], most: int) -> frozenset[Key]:
    """Return the Routes of one namespace whose lists exceed the limit; a shorter one behind them may fit."""
    refused, counted, total = set(), set(), 0
    for route in sorted(routes):
        if route.digest in counted:
            continue
        if total + route.entries > most:
            refused.add(route.key)
        else:
            counted.add(route.digest)
            total += route.entries
    return frozenset(refused)


def refusal(namespace: str, most: int) -> str:
    """Return the sentence about a Route beyond the limit."""
    return (f"metadata.annotations: the Routes of namespace {namespace} list more than {most} clients and "
            "networks; the lists of the oldest Routes apply. List fewer, or use equal lists, which count "
            "once")


class ListLimit:
    """Applies the limit, kept up to date by changes of Routes. Not thread-safe."""

    def __init__(self, most: int):
        """Args: most: entries of all lists of a namespace."""
        self._most = most
        self._listed: dict[str, dict[Key, ListedRoute]] = {}
        """By namespace, then by Route."""
        self._written: dict[Key, Route] = {}
        """The Routes with a list, as they were written."""
        self._refused: dict[str, frozenset[Key]] = {}
        """By namespace, where there are any."""

    def update(self, routes: Mapping[Key, Route | None]) -> dict[Key, Route]:
        """Take changes of Routes; returns the Routes with a list whose refusal begins or ends."""
        namespaces = {key.namespace for key, route in routes.items() if self._put(key, route)}
        changed: set[Key] = set()
        for namespace in namespaces:
            before = self._refused.pop(namespace, frozenset())
            after = excess(self._listed.get(namespace, {}).values(), self._most)
            if after:
                self._refused[namespace] = after
            changed |= before ^ after
        return {key: self._written[key] for key in changed & self._written.keys()}

    def _put(self, key: Key, route: Route | None) -> bool:
        """Take a Route, None when it is gone; returns True if the limit may decide otherwise."""
        listed = self._listed.get(key.namespace, {})
        old, new = listed.pop(key, None), ListedRoute.of(route) if route else None
        self._written.pop(key, None)
        if route is not None and new is not None:
            self._written[key] = route
            self._listed.setdefault(key.namespace, listed)[key] = new
        elif not listed:
            self._listed.pop(key.namespace, None)
        return old != new

    def refusal(self, key: Key) -> str:
        """Return why the limit refuses a Route; "" if it does not."""
        refused = key in self._refused.get(key.namespace, ())
        return refusal(key.namespace, self._most) if refused else ""
