"""Deletes of Rules that must not come after the writes of their policy.

A Rule that leaves a Host by an update would leave its requests to less specific Rules of that Host, if these
are deleted only later. So such deletes go with the writes, before them: the Rules of a policy are published
together, and where they are not, nobody gets the requests of another for a moment. A redirect to such a Rule
ends before it goes, if its Route is served without encryption from now on.
"""

import math
from collections.abc import Collection, Iterable, Iterator

from f5router.model import names
from f5router.model.ltm import CheckedRedirect, Forward, Redirect, Rule, rule_ref
from f5router.model.objects import Ref
from f5router.plan.change import UPDATE, AnyChange, concerns, of_kind

Place = tuple[str, str]
"""A policy or data-group, and a Host or a domain after a dot."""


def leaves(change: AnyChange) -> bool:
    """True for an update after which a Rule is not for the same requests any more."""
    return (change.verb == UPDATE and concerns(change, Rule) and change.old is not None
            and change.new is not None and (change.old.conditions != change.new.conditions
                                            or change.old.suffix != change.new.suffix))


def early_deletes(writes: Iterable[AnyChange], deletes: Iterable[AnyChange]) -> set[Ref]:
    """Return the deletes of Rules that would get requests which a Rule leaves by one of the writes."""
    left: dict[Place, int] = {}
    """The band of the most specific Rule that leaves a place."""
    for change in of_kind(writes, Rule):
        if leaves(change) and change.old is not None:
            for place in places(change.old.policy, change.old.hosts):
                left[place] = min(change.old.priority_band, left.get(place, change.old.priority_band))
    if not left:
        return set()
    return {delete.ref for delete in of_kind(deletes, Rule)
            if any(left.get(place, math.inf) < delete.obj.priority_band for place in covered(delete.obj))}


def ends_redirect(change: AnyChange, early: Collection[Ref]) -> bool:
    """True for an update after which a Rule no longer leads to one that is deleted early."""
    return (concerns(change, Rule) and change.verb == UPDATE and not leaves(change)
            and change.old is not None and change.new is not None
            and isinstance(change.old.action, Redirect | CheckedRedirect)
            and isinstance(change.new.action, Forward)
            and rule_ref(f"{change.old.policy.rpartition('/')[0]}/{names.SECURE_POLICY}",
                         change.old.name) in early)


def places(container: str, hosts: Iterable[str]) -> Iterator[Place]:
    """Yield where less specific objects may cover these Hosts: they, and their domains after a dot."""
    for host in hosts:
        yield container, host
        for at, character in enumerate(host):
            if character == "." and at:
                yield container, host[at:]


def covered(rule: Rule) -> Iterator[Place]:
    """Yield what a Rule covers: each of its Hosts, or all of a domain."""
    for host in rule.hosts:
        yield rule.policy, host
    if rule.suffix:
        yield rule.policy, rule.suffix
