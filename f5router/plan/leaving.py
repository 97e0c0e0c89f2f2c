"""Deletes of Rules that must not come after the writes of their policy.

A Rule that leaves a Host by an update would leave its requests to less specific Rules of that Host, if these
are deleted only later. So such deletes go with the writes, before them: the Rules of a policy are published
together, and where they are not, nobody gets the requests of another for a moment.
"""

from collections.abc import Iterable, Iterator

from f5router.model.ltm import Rule
from f5router.model.objects import Ref
from f5router.plan.change import DELETE, UPDATE, AnyChange, concerns, of_kind

Place = tuple[str, str]
"""A policy or data-group, and a Host or a domain after a dot."""


def leaves(change: AnyChange) -> bool:
    """True for an update after which a Rule is not for the same requests any more."""
    return (change.verb == UPDATE and concerns(change, Rule) and change.old is not None
            and change.new is not None and (change.old.conditions != change.new.conditions
                                            or change.old.suffix != change.new.suffix))


def early_deletes(writes: Iterable[AnyChange], deletes: Iterable[AnyChange]) -> set[Ref]:
    """Return the deletes of Rules that would get requests which a Rule leaves by one of the writes."""
    left: set[Place] = set()
    for change in writes:
        if leaves(change) and isinstance(change.old, Rule):
            left.update(places(change.old.policy, change.old.hosts))
    early: set[Ref] = set()
    if not left:
        return early
    for delete in sorted(of_kind(deletes, Rule), key=lambda change: change.obj.priority_band):
        if delete.verb == DELETE and not left.isdisjoint(covered(delete.obj)):
            early.add(delete.ref)
            left.update(places(delete.obj.policy, delete.obj.hosts))
    return early


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
