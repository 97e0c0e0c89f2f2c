"""Order of Rules and records: their ordinals, and what has to wait when they come and go.

Adding a Route never rewrites the Rule of another, and none gets the requests of a more specific one.

A Rule that leaves a Host by an update would leave its requests to less specific Rules of that Host, if these
are deleted only later. So such deletes go with the writes, before them: the Rules of a policy are published
together, and where they are not, nobody gets the requests of another for a moment. A redirect to such a Rule
ends before it goes, if its Route is served without encryption from now on.

A Rule or a record that is new and not yet confirmed is not overtaken by one that would get its requests; nor
is one that is to leave and could not be deleted.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from f5router.model import hostnames, names, request_match, sni_records
from f5router.model.errors import UNCERTAIN_ERRORS, BigIPError
from f5router.model.front_end_names import beside
from f5router.model.ltm import CheckedRedirect, Forward, Object, Record, Redirect, Rule, rule_ref
from f5router.model.objects import Ref, changed
from f5router.plan.change import CREATE, UPDATE, AnyChange, concerns, of_kind

Place = tuple[str, str]
"""A policy or data-group, and a Host or a domain after a dot."""


def leaves(change: AnyChange) -> bool:
    """True for an update after which a Rule no longer matches its former requests."""
    return (change.verb == UPDATE and concerns(change, Rule) and change.old is not None
            and change.new is not None and (change.old.conditions != change.new.conditions
                                            or change.old.suffix != change.new.suffix))


def early_deletes(writes: Iterable[AnyChange], deletes: Iterable[AnyChange]) -> set[Ref]:
    """Return the deletes of Rules that would catch requests which a Rule gives up by one of the writes."""
    left: dict[Place, int] = {}
    """The rank of the most specific Rule that leaves a place."""
    for change in of_kind(writes, Rule):
        if leaves(change) and change.old is not None:
            for place in places(change.old.policy, change.old.hosts):
                left[place] = min(change.old.rank, left.get(place, change.old.rank))
    if not left:
        return set()
    return {delete.ref for delete in of_kind(deletes, Rule)
            if any(left.get(place, math.inf) < delete.obj.rank for place in covered(delete.obj))}


def ends_redirect(change: AnyChange, early: Collection[Ref]) -> bool:
    """True for an update after which a Rule no longer redirects to a Rule that is deleted early."""
    return (concerns(change, Rule) and change.verb == UPDATE and not leaves(change)
            and change.old is not None and change.new is not None
            and isinstance(change.old.action, Redirect | CheckedRedirect)
            and isinstance(change.new.action, Forward)
            and rule_ref(beside(change.old.policy, names.SECURE_POLICY),
                         change.old.name) in early)


def places(container: str, hosts: Iterable[str]) -> Iterator[Place]:
    """Yield where less specific objects may cover these Hosts: all, they, and their domains after a dot."""
    yield container, hostnames.ANY
    for host in hosts:
        yield container, host
        for at, character in enumerate(host):
            if character == "." and at:
                yield container, host[at:]


def covered(rule: Rule) -> Iterator[Place]:
    """Yield the Hosts that a Rule covers: each of its Hosts, or all of a domain."""
    for host in rule.hosts:
        yield rule.policy, host
        if host.startswith("*."):
            yield rule.policy, host[1:]


class UncertainWrites:
    """New Rules and records with a failed write, own or of a dependency, that may have been applied.

    The device may accept them at the next attempt, in this Plan or in a later one. Until then a less specific
    one that is new as well would get their requests, and another pod would answer them.
    """

    def __init__(self, soon: Callable[[Ref], bool] = lambda ref: True):
        """Args: soon: False for an object that was tried so often that nothing waits for it."""
        self._soon = soon
        self._first: dict[tuple[str, str], tuple[int, BigIPError]] = {}
        """The most specific object in a policy or data-group, by its Hosts and the domains they lie in."""
        self._staying: dict[tuple[str, str], BigIPError] = {}
        """Errors of early deletes, by what the Rule covers which is still there."""

    def note(self, change: AnyChange, error: Exception | None) -> None:
        """Record the outcome of a Change."""
        if change.early and isinstance(error, BigIPError) and self._soon(change.ref):
            self._staying.update(dict.fromkeys(_covered(change.obj), error))
        if not isinstance(error, UNCERTAIN_ERRORS) or change.verb != CREATE or not self._soon(change.ref):
            return
        rank = _rank(change.obj)
        for place in _places(change.obj):
            if place not in self._first or rank < self._first[place][0]:
                self._first[place] = rank, error

    def obstacle(self, change: AnyChange) -> BigIPError | None:
        """Return the error of a more specific object that a Change would overtake; None if there is none.

        Likewise that of a delete, if the Change would leave requests to the Rule that is still there.
        """
        if self._staying and change.old is not None and leaves(change):
            return next(filter(None, map(self._staying.get, _places(change.old))), None)
        if change.verb != CREATE or not self._first:
            return None
        rank = _rank(change.obj)
        uncertain = (self._first.get(place) for place in _covered(change.obj))
        return next((error for first, error in filter(None, uncertain) if first < rank), None)


def _rank(obj: Object) -> int:
    """Rank an object among the objects of its Host or data-group: the smaller, the more specific."""
    if isinstance(obj, Rule):
        return obj.rank
    # A wildcard of any depth comes behind that of one label.
    return obj.name.startswith("..") - 2 * len(sni_records.host_of(obj.name).removeprefix("*")) if (
        isinstance(obj, Record)) else 0


def _places(obj: Object) -> Iterator[tuple[str, str]]:
    """Yield where a less specific object may cover this one: its Hosts, and their domains after a dot."""
    if isinstance(obj, Rule):
        yield from places(obj.policy, obj.hosts)
    elif isinstance(obj, Record):
        yield from places(obj.group, {obj.name})


def _covered(obj: Object) -> Iterator[tuple[str, str]]:
    """Yield the Hosts that an object covers: each of its Hosts, or all of a domain."""
    if isinstance(obj, Rule):
        yield from covered(obj)
    elif isinstance(obj, Record) and obj.name.startswith("."):
        host = sni_records.host_of(obj.name)
        yield obj.group, host if host == hostnames.ANY else host[1:]


class Ordinals:
    """How many Rules have an ordinal, by policy. Kept beside a state, it spares a look at all its objects."""

    def __init__(self, objects: Iterable[Object] = ()):
        self.counts: dict[str, Counter[int]] = {}
        for obj in objects:
            self.replace(None, obj)

    def replace(self, old: Object | None, new: Object | None) -> None:
        """Apply a change of the state."""
        if isinstance(old, Rule):
            counts = self.counts[old.policy]
            counts[old.ordinal] -= 1
            if not counts[old.ordinal]:
                del counts[old.ordinal]
            if not counts:
                del self.counts[old.policy]
        if isinstance(new, Rule):
            self.counts.setdefault(new.policy, Counter())[new.ordinal] += 1

    def is_used(self, policy: str, ordinal: int) -> bool:
        """True if a Rule of a policy has an ordinal."""
        return ordinal in self.counts.get(policy, ())


def with_ordinals(changes: list[AnyChange], ordinals: Ordinals) -> list[AnyChange]:
    """Assign every new or moved Rule an unused ordinal of its band and slot; other Rules keep theirs."""
    chosen: set[tuple[str, int]] = set()
    return [_with_ordinal(change, ordinals, chosen) for change in changes]


def _with_ordinal(change: AnyChange, ordinals: Ordinals, chosen: set[tuple[str, int]]) -> AnyChange:
    rule = change.new
    if not isinstance(rule, Rule):
        return change
    if isinstance(change.old, Rule) and change.old.rank == rule.rank:
        return replace(change, new=changed(rule, ordinal=change.old.ordinal))
    free = request_match.slot_ordinals(names.band_ordinals(rule.priority_band), rule.slot)
    first = names.first_place(free, rule.name)
    candidates = (free[(first + n) % len(free)] for n in range(len(free)))
    ordinal = next((candidate for candidate in candidates
                    if (rule.policy, candidate) not in chosen
                    and not ordinals.is_used(rule.policy, candidate)), free[first])
    chosen.add((rule.policy, ordinal))
    return replace(change, new=changed(rule, ordinal=ordinal))
