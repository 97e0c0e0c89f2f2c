"""The Changes that lead from Observed to Desired, in an order that never breaks a Route.

What is new is made and changed from what is referred to, to what refers to it; only then is what
is no longer wanted deleted, the other way round. A Route that moves from one policy or data-group
to another is so always in one of them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Generic, TypeGuard, TypeVar

from f5router.model import names
from f5router.model.ltm import (
    Attachment,
    BigIPState,
    CertFile,
    ClientSSL,
    DataGroup,
    IRule,
    KeyFile,
    Object,
    Policy,
    Pool,
    Record,
    Rule,
    ServerSSL,
)
from f5router.model.net import FDBRecord, SelfIP, SourceTranslation, StaticRoute, Tunnel, VxlanProfile
from f5router.model.objects import Ref

T = TypeVar("T", bound=Object)
T_co = TypeVar("T_co", bound=Object, covariant=True)

CREATE, UPDATE, DELETE = "create", "update", "delete"

_LEVELS = {
    # The way to the pods, before the pools.
    StaticRoute.KIND: -6,
    VxlanProfile.KIND: -5, Tunnel.KIND: -4, SelfIP.KIND: -3, FDBRecord.KIND: -2, SourceTranslation.KIND: -1,
    Pool.KIND: 0,
    DataGroup.KIND: 1, CertFile.KIND: 1, KeyFile.KIND: 1, Policy.KIND: 1,
    ServerSSL.KIND: 2, ClientSSL.KIND: 2, IRule.KIND: 2,
    Attachment.KIND: 4,
}
_TLS_RECORD, _PASSTHROUGH_IRULE, _EXCEPTION, _PASSTHROUGH_RECORD = 3, 5, 6, 7
_SECURE_RULE, _INSECURE_RULE, _POLICY_UPDATE, _LATE_RECORD = 8, 9, 10, 11
LATE = _LATE_RECORD
LEADS = _PASSTHROUGH_RECORD
"""From this level on objects lead requests to pools; below is what they use."""


@dataclass(frozen=True, slots=True)
class Change(Generic[T_co]):
    """One create, update or delete. `old` is None for a create, `new` for a delete."""

    verb: str
    old: T_co | None
    new: T_co | None
    late: bool = False
    """It comes last when it makes something, first when it deletes."""

    @property
    def obj(self) -> T_co:
        obj = self.new if self.new is not None else self.old
        assert obj is not None, self.verb
        return obj

    @property
    def ref(self) -> Ref:
        return self.obj.ref

    @property
    def level(self) -> int:
        """Changes of one level do not refer to each other."""
        if self.verb == UPDATE and isinstance(self.obj, Policy):
            # A strategy is changed when the Rules are in place under either.
            return _POLICY_UPDATE
        if self.verb == UPDATE and isinstance(self.obj, IRule) and self.ref.path.endswith(
                f"/{names.PASSTHROUGH_IRULE}"):
            # That of the original router turns TLS towards pods on and off until others do so.
            return _PASSTHROUGH_IRULE
        return _LATE_RECORD if self.late else level(self.obj)


AnyChange = Change[Object]


@dataclass(frozen=True, slots=True)
class Plan:
    """Changes in the order in which they are written."""

    changes: tuple[AnyChange, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __iter__(self) -> Iterator[AnyChange]:
        return iter(self.changes)

    def __len__(self) -> int:
        return len(self.changes)


def concerns(change: AnyChange, kind: type[T]) -> TypeGuard[Change[T]]:
    """Whether a Change makes, changes or deletes an object of a kind."""
    return isinstance(change.obj, kind)


def of_kind(changes: Iterable[AnyChange], kind: type[T]) -> list[Change[T]]:
    """Those of one kind."""
    return [change for change in changes if concerns(change, kind)]


def level(obj: Object) -> int:
    """Objects refer to objects of lower levels only, Attachments to what makes them act too.

    Secure before insecure: a redirect to https must not come before what it leads to.
    """
    if isinstance(obj, Record):
        if obj.group.endswith(names.REENCRYPT_GROUP):
            return _TLS_RECORD
        return _EXCEPTION if obj.data == names.TERMINATE else _PASSTHROUGH_RECORD
    if isinstance(obj, Rule):
        return _SECURE_RULE if obj.policy.endswith(names.SECURE_POLICY) else _INSECURE_RULE
    return _LEVELS[obj.KIND]


def _breadth(obj: Object) -> int:
    """What is for fewer requests has less, so comes earlier and goes later.

    So no request is led for a moment by the wildcard, or the shorter path, before its own Rule or
    record is there, or after that is gone.
    """
    if isinstance(obj, Rule):
        return obj.band
    return int(isinstance(obj, Record) and obj.name.startswith("."))


def diff(
    desired: BigIPState,
    observed: BigIPState,
    owns: Callable[[Object], bool],
    refs: Iterable[Ref] | None = None,
) -> Plan:
    """Compare Desired with Observed.

    Args:
        owns: only what it is true for is deleted.
        refs: where to look; None for everywhere.
    """
    make: list[AnyChange] = []
    remove: list[AnyChange] = []
    for ref in {*desired, *observed} if refs is None else refs:
        new, old = desired.get(ref), observed.get(ref)
        if new is None:
            if old is not None and owns(old):
                remove.append(Change(DELETE, old, None, late=_is_exception(old, desired)))
        elif old is None:
            make.append(Change(CREATE, None, new, late=_is_exception(new, observed)))
        elif old != new:
            # TLS of a Host that was passed through ends here from now on.
            late = isinstance(new, Record) and new.data == names.TERMINATE
            make.append(Change(UPDATE, old, new, late=late))
    make = _after_exceptions(make, desired, observed)
    make.sort(key=lambda change: (change.level, _breadth(change.obj), change.ref))
    remove.sort(key=lambda change: (-change.level, -_breadth(change.obj), change.ref))
    return Plan((*_with_ordinals(make, observed), *remove))


@dataclass(frozen=True, slots=True)
class Unknown:
    """What a Plan must leave alone: objects of which is not known yet how they are wanted, and whether."""

    kept: frozenset[Ref] = frozenset()
    """On the device."""
    lacking: frozenset[Ref] = frozenset()
    """Neither there, unless for somebody else, nor wanted so far: what needs them waits."""

    @classmethod
    def of(cls, refs: Collection[Ref], desired: BigIPState, observed: BigIPState,
           foreign: Collection[Ref] = ()) -> "Unknown":
        """Sort them by where they are. Args: foreign: those that are there for somebody else, and go."""
        kept = frozenset(observed.keys() & refs).difference(foreign)
        return cls(kept, frozenset(refs) - desired.keys() - kept)

    def split(self, plan: Plan, observed: BigIPState) -> tuple[Plan, frozenset[Ref]]:
        """The Changes that may be made, and the objects of the others: deletes of what they need, too."""
        if not self.kept and not self.lacking:
            return plan, frozenset()
        waits = set(self.lacking)
        for change in plan:
            if change.verb != DELETE and not waits.isdisjoint(change.obj.dependencies):
                waits.add(change.ref)
        stays = set(self.kept)
        stack = [ref for ref in self.kept | waits - self.lacking if ref in observed]
        while stack:
            for need in observed[stack.pop()].dependencies:
                if need in observed and need not in stays:
                    stays.add(need)
                    stack.append(need)
        untouched = {True: stays, False: waits | self.kept}
        left = frozenset(change.ref for change in plan if change.ref in untouched[change.verb == DELETE])
        return Plan(tuple(change for change in plan if change.ref not in left)), left


def _is_exception(obj: Object, state: BigIPState) -> bool:
    """Whether a record excepts a Host from a wildcard that passes TLS through, in one of the two states.

    If it did before the Plan, the wildcard serves the Host until its Rules are there; if it does
    afterwards, the wildcard serves it before they go. Otherwise the wildcard must not get a request.
    """
    return (isinstance(obj, Record) and obj.data == names.TERMINATE
            and names.covering_record(obj) in state)


def _after_exceptions(make: list[AnyChange], desired: BigIPState,
                      observed: BigIPState) -> list[AnyChange]:
    """Have a wildcard that is to pass TLS through need the records that except Hosts from it.

    Were one refused, the wildcard would take a Host that is served. One that waits itself is of no
    Host that is.
    """
    come = {change.ref for change in make if change.verb == CREATE and isinstance(change.new, Record)
            and change.new.name.startswith(".")}
    if not come:
        return make
    exceptions: dict[Ref, set[Ref]] = {}
    for obj in desired.values():
        if not isinstance(obj, Record) or obj.data != names.TERMINATE:
            continue
        if obj.extra_dependencies <= observed.keys():
            exceptions.setdefault(names.covering_record(obj), set()).add(obj.ref)
    return [replace(change, new=replace(
                change.new, extra_dependencies=change.new.extra_dependencies | exceptions[change.ref]))
            if isinstance(change.new, Record) and change.ref in come & exceptions.keys() else change
            for change in make]


def _with_ordinals(changes: list[AnyChange], observed: BigIPState) -> list[AnyChange]:
    """Give every new or moved Rule an unused ordinal of its band; others keep theirs.

    So adding a Route never rewrites another's Rule.
    """
    if not any(isinstance(change.new, Rule) for change in changes):
        return changes
    taken: dict[str, set[int]] = {}
    for obj in observed.values():
        if isinstance(obj, Rule):
            taken.setdefault(obj.policy, set()).add(obj.ordinal)
    return [_with_ordinal(change, taken) for change in changes]


def _with_ordinal(change: AnyChange, taken: dict[str, set[int]]) -> AnyChange:
    rule = change.new
    if not isinstance(rule, Rule):
        return change
    if isinstance(change.old, Rule) and change.old.band == rule.band:
        return replace(change, new=replace(rule, ordinal=change.old.ordinal))
    used = taken.setdefault(rule.policy, set())
    band = names.band_ordinals(rule.band)
    first = band.index(names.first_ordinal(rule.band, rule.name))
    free = (band[(first + n) % len(band)] for n in range(len(band)))
    ordinal = next((one for one in free if one not in used), band[first])
    used.add(ordinal)
    return replace(change, new=replace(rule, ordinal=ordinal))
