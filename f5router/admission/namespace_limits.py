"""Limits on what the Routes of a namespace may have together on the BIG-IP: which Routes exceed them.

Each list of clients is a data-group, and the options for requests and responses are records of one, which
is written for Routes of other namespaces too; the router reads and keeps them all. The oldest Routes come
first; equal values are shared on the BIG-IP and count once. A Route beyond a limit is refused: without its
list everybody would get in, and without a header its pods or clients might be wrong about something.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from f5router.admission.admission import AdmissionPolicy
from f5router.model import http_edge, objects
from f5router.model.cluster import Key, Route

Measure = Callable[[Route], tuple[str, int]]
"""Returns what Routes share if it is equal, and its size; size 0 for a Route without any."""


class CountedRoute(NamedTuple):
    """A Route that counts for a limit; smaller is older."""

    age: tuple[str, str]
    key: Key
    digest: str
    """Digest of what it has."""
    size: int


def clients(route: Route) -> tuple[str, int]:
    """Measure the list of clients of a Route, in entries."""
    return " ".join(route.options.sources), len(route.options.sources)


def http(route: Route) -> tuple[str, int]:
    """Measure the options of a Route for requests and responses, in characters of their record."""
    data = http_edge.encode_options(route.options, secure=True, forwarded="", path=route.path)
    return data, len(data)


def excess(routes: Iterable[CountedRoute], most: int) -> frozenset[Key]:
    """Return the Routes of one namespace that exceed a limit; a smaller one behind them may fit."""
    refused, counted, total = set(), set(), 0
    for route in sorted(routes):
        if route.digest in counted:
            continue
        if total + route.size > most:
            refused.add(route.key)
        else:
            counted.add(route.digest)
            total += route.size
    return frozenset(refused)


def too_many_clients(namespace: str, most: int) -> str:
    """Return the sentence about a Route beyond the limit on lists of clients."""
    return (f"metadata.annotations: the Routes of namespace {namespace} list more than {most} clients and "
            "networks; the lists of the oldest Routes apply. List fewer, or use equal lists, which count "
            "once")


def too_much_http(namespace: str, most: int) -> str:
    """Return the sentence about a Route beyond the limit on options for requests and responses."""
    return (f"spec.httpHeaders and annotations for requests and responses: those of the Routes of "
            f"namespace {namespace} take more than {most} characters; the oldest Routes come first. Use "
            "fewer or shorter ones, or equal ones, which count once")


class NamespaceLimits:
    """All limits. Not thread-safe."""

    def __init__(self, policy: AdmissionPolicy):
        self._limits = (NamespaceLimit(policy.listed_clients, clients, too_many_clients),
                        NamespaceLimit(policy.http_options, http, too_much_http))

    def update(self, routes: Mapping[Key, Route | None]) -> dict[Key, Route]:
        """Apply changes of Routes; returns the Routes whose refusal begins or ends."""
        changed: dict[Key, Route] = {}
        for limit in self._limits:
            changed |= limit.update(routes)
        return changed

    def refusal(self, key: Key) -> str:
        """Return why a limit refuses a Route; "" if none does."""
        return next(filter(None, (limit.refusal(key) for limit in self._limits)), "")


class NamespaceLimit:
    """Applies a limit, kept up to date by changes of Routes."""

    def __init__(self, most: int, measure: Measure, sentence: Callable[[str, int], str]):
        """Args: most: size of all together in a namespace; sentence: about a Route beyond it."""
        self._most, self._measure, self._sentence = most, measure, sentence
        self._counted: dict[str, dict[Key, CountedRoute]] = {}
        """By namespace, then by Route."""
        self._written: dict[Key, Route] = {}
        """The Routes that count, as they were written."""
        self._refused: dict[str, frozenset[Key]] = {}
        """By namespace, where there are any."""

    def update(self, routes: Mapping[Key, Route | None]) -> dict[Key, Route]:
        """Apply changes of Routes; returns the Routes whose refusal begins or ends."""
        namespaces = {key.namespace for key, route in routes.items() if self._put(key, route)}
        changed: set[Key] = set()
        for namespace in namespaces:
            before = self._refused.pop(namespace, frozenset())
            after = excess(self._counted.get(namespace, {}).values(), self._most)
            if after:
                self._refused[namespace] = after
            changed |= before ^ after
        return {key: self._written[key] for key in changed & self._written.keys()}

    def _put(self, key: Key, route: Route | None) -> bool:
        """Apply a Route, None if it is deleted; returns True if the limit may decide differently."""
        counted = self._counted.get(key.namespace, {})
        old, new = counted.pop(key, None), self._count(route) if route else None
        self._written.pop(key, None)
        if route is not None and new is not None:
            self._written[key] = route
            self._counted.setdefault(key.namespace, counted)[key] = new
        elif not counted:
            self._counted.pop(key.namespace, None)
        return old != new

    def refusal(self, key: Key) -> str:
        """Return why the limit refuses a Route; "" if it does not."""
        refused = key in self._refused.get(key.namespace, ())
        return self._sentence(key.namespace, self._most) if refused else ""

    def _count(self, route: Route) -> CountedRoute | None:
        """Return the part of a Route that counts; None if nothing counts."""
        text, size = self._measure(route)
        return CountedRoute(route.age, route.key, objects.digest(text, 32), size) if size else None
