"""Successors of previous objects: Routes that take over their requests, and that may not be served yet."""

import functools
from collections.abc import Iterable, Mapping
from typing import TypeGuard

from f5router.desired.engine import Engine
from f5router.model import names, ownership, sni_records
from f5router.model.cluster import Key
from f5router.model.front_end_names import front_end_of
from f5router.model.ltm import BigIPState, Foreign, Object, Rule
from f5router.model.objects import Ref
from f5router.model.ownership import is_passthrough
from f5router.sources import contour_entries

Place = tuple[str, frozenset[str]]
"""A namespace and the paths of a Rule."""


class Successors:
    """Finds the Routes that will take over from previous objects, and are not yet served.

    It is made for one plan, during which neither the cluster nor the refusals change. Every question costs
    about the same, however many Routes a Host has: teams choose their number.
    """

    def __init__(self, engine: Engine, observed: BigIPState, failed: set[Ref]):
        """Args: failed: objects that were refused."""
        self._engine, self._observed, self._failed = engine, observed, failed
        self._waits = functools.cache(self._find_waiting)
        self._of_host = functools.cache(self._index)
        self._by_stem = functools.cache(lambda: _by_stem(engine))
        self._staying = functools.cache(self._find_staying)

    def are_awaited(self, obj: Object) -> bool:
        """True if an object's Route, or a Route that replaces it, has refused objects."""
        if not self._failed:
            return False
        if isinstance(obj, Rule):
            return any(map(self._waits, self._of_rule(obj)))
        if is_passthrough(obj):
            namespace = names.pool_namespace(obj.data)
            return any(key.namespace == namespace and (route := self._engine.route(key)) is not None
                       and route.tls is not None and self._waits(key)
                       for key in self._engine.host_routes(
                           sni_records.host_of(obj.name), front_end_of(obj.group)))
        return False

    def cover(self, obj: Object) -> bool:
        """True for a Rule of a root IngressRoute whose requests a staying Rule of the same root would get.

        A Host goes from one root to another with all its paths.
        """
        if not self._failed or not _is_of_root(obj):
            return False
        staying, paths = self._staying().get(_site(obj), {}), rule_paths(obj)
        shortest = min(paths, key=len, default="")
        above = (staying.get(shortest[:length], ()) for length in range(len(shortest) + 1))
        return any(rule.priority_band > obj.priority_band and _is_below(paths, rule)
                   for rules in above for rule in rules)

    def _of_rule(self, rule: Rule) -> Iterable[Key]:
        """Yield the Rule's Route and Routes of the same namespace that match the same requests."""
        stem, front_end = ownership.rule_stem(rule.name), front_end_of(rule.policy)
        own = names.route_key(stem, front_end)
        yield from (own,) if own else self._by_stem().get((stem, front_end), ())
        place = names.rule_namespace(rule.name), rule_paths(rule)
        for host in rule.hosts:
            undecided, by_place = self._of_host(host, front_end)
            yield from (key for key in undecided if key.namespace == place[0])
            yield from by_place.get(place, ())

    def _find_waiting(self, key: Key) -> bool:
        return not self._failed.isdisjoint(self._engine.closure(self._engine.uses(key)))

    def _index(self, host: str, front_end: str) -> tuple[list[Key], Mapping[Place, list[Key]]]:
        """Return the Routes of a Host whose certificates are not checked yet, and the others by place."""
        undecided: list[Key] = []
        by_place: dict[Place, list[Key]] = {}
        for key, uses in self._engine.host_routes(host, front_end).items():
            if self._engine.pending(key):
                undecided.append(key)
                continue
            rules = (self._engine.objects.get(ref) for ref in uses)
            for paths in {rule_paths(rule) for rule in rules
                          if isinstance(rule, Rule) and host in rule.hosts}:
                by_place.setdefault((key.namespace, paths), []).append(key)
        return undecided, by_place

    def _find_staying(self) -> Mapping[tuple[object, ...], Mapping[str, list[Rule]]]:
        """Return the Rules of roots that are unused but stay, by site and by each path."""
        staying: dict[tuple[object, ...], dict[str, list[Rule]]] = {}
        for obj in self._observed.values():
            if _is_of_root(obj) and obj.ref not in self._engine.objects and self.are_awaited(obj):
                by_path = staying.setdefault(_site(obj), {})
                for path in rule_paths(obj) or ("",):
                    by_path.setdefault(path, []).append(obj)
        return staying


def rule_paths(rule: Rule) -> frozenset[str]:
    """Return the paths that the conditions of a Rule name, however they compare them."""
    if isinstance(rule.conditions, Foreign):
        return frozenset()
    return frozenset(value.rstrip("/") for condition in rule.conditions if condition.selector == "path"
                     for value in condition.values)


def _by_stem(engine: Engine) -> Mapping[tuple[str, str], list[Key]]:
    by_stem: dict[tuple[str, str], list[Key]] = {}
    for key in engine.routes():
        by_stem.setdefault((names.route(key), key.front_end), []).append(key)
    return by_stem


def _is_of_root(obj: Object) -> TypeGuard[Rule]:
    """True for a Rule of an IngressRoute."""
    return isinstance(obj, Rule) and names.virtual_kind(obj.name) == contour_entries.KIND


def _site(rule: Rule) -> tuple[object, ...]:
    """Return the key that Rules of one root and one namespace share."""
    return rule.policy, rule.hosts, names.rule_namespace(rule.name)


def _is_below(paths: frozenset[str], other: Rule) -> bool:
    """True if each path begins with a path of a Rule."""
    above = tuple(rule_paths(other)) or ("",)
    return all(path.startswith(above) for path in paths)
