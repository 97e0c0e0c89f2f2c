"""Compares Desired with Observed: the Changes between them, in an order that never breaks a Route.

The members of a pool follow its pods whatever becomes of the monitor: they must not wait for it.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain
from typing import TypeGuard

from f5router.model import names, sni_records
from f5router.model.front_end_names import base_name
from f5router.model.ltm import Attachment, BigIPState, Object, Pool, Record, Rule
from f5router.model.objects import Ref
from f5router.model.route_options import HTTPSMonitor
from f5router.plan.change import CREATE, DELETE, UPDATE, AnyChange, Change, Plan, Stage, ends_check
from f5router.plan.rule_order import Ordinals, early_deletes, ends_redirect, with_ordinals


def diff(
    desired: BigIPState,
    observed: BigIPState,
    owns: Callable[[Object], bool],
    refs: Iterable[Ref] | None = None,
    ordinals: Ordinals | None = None,
) -> Plan:
    """Compare Desired with Observed.

    Args:
        owns: True for an object that may be deleted.
        refs: objects to compare; None for all.
        ordinals: those of Observed; None to count them.
    """
    writes: list[AnyChange] = []
    deletes: list[AnyChange] = []
    for ref in {*desired, *observed} if refs is None else refs:
        new, old = desired.get(ref), observed.get(ref)
        if new is None:
            if old is not None and owns(old):
                deletes.append(_delete(old, desired, observed))
        elif old is None:
            writes.append(Change(CREATE, None, new, after_rules=_is_covered_exclusion(new, observed)))
        elif old != new:
            # TLS of a Host that was passed through ends here from now on.
            ends_tls = isinstance(new, Record) and new.data == names.EXCLUSION
            writes.append(Change(UPDATE, old, new, after_rules=ends_tls))
    writes, deletes = _before_monitors(writes), _before_monitors(deletes)
    writes = _with_server_names(_with_exclusions(writes, desired, observed), desired, observed)
    early = early_deletes(writes, deletes)
    if early:
        writes = [replace(change, ends_redirect=ends_redirect(change, early)) for change in writes]
    writes += [replace(change, early=True) for change in deletes if change.ref in early]
    writes.sort(key=_order_of_writes)
    deletes = [change for change in deletes if change.ref not in early]
    deletes.sort(key=lambda change: (-change.stage, -_generality(change.obj), change.ref))
    ordinals = Ordinals(observed.values()) if ordinals is None else ordinals
    return _with_checks(with_ordinals(writes, ordinals), deletes, desired)


def _before_monitors(changes: list[AnyChange]) -> list[AnyChange]:
    """Put the profiles of monitors, with their files, into the stages before these; few Plans have any."""
    profiles = {ref for change in changes if isinstance(change.obj, HTTPSMonitor)
                for ref in change.obj.dependencies}
    if not profiles:
        return changes
    moved = profiles.union(*(change.obj.dependencies for change in changes if change.ref in profiles))
    return [replace(change, for_check=True) if change.ref in moved else change for change in changes]


def _order_of_writes(change: AnyChange) -> tuple[int, bool, int, Ref]:
    """Return the key by which writes, and the early deletes among them, are sorted."""
    rank = _generality(change.obj)
    return change.stage, not change.early, -rank if change.early else rank, change.ref


def with_early_deletes(plan: Plan, deletes: Iterable[Change[Rule]]) -> Plan:
    """Return a Plan with more deletes of Rules that are made with the writes of their stage, before them."""
    changes = list(plan)
    for delete in deletes:
        late = [at for at, change in enumerate(changes) if change.is_late_delete
                and change.stage != Stage.CHECKED]
        place = next((at for at, change in enumerate(changes)
                      if not change.is_late_delete and change.stage >= delete.stage),
                     late[0] if late else len(changes))
        changes.insert(place, replace(delete, early=True))
    return tuple(changes)


def _with_checks(writes: Iterable[AnyChange], deletes: Iterable[AnyChange], desired: BigIPState) -> Plan:
    """Return writes and then deletes, but what checks client certificates goes before the profiles change.

    Profiles that do not ask for certificates any more would have it refuse every request. Where nothing is
    served afterwards, it goes when nobody gets in any more.
    """
    order: tuple[list[AnyChange], ...] = ([], [], [], [])
    for change in writes:
        order[0 if change.stage < Stage.PARENT_PROFILE else 2].append(change)
    for change in deletes:
        order[1 if ends_check(change.obj, desired) else 3].append(change)
    return tuple(chain.from_iterable(order))


def _generality(obj: Object) -> int:
    """Return a rank within a stage: the smaller, the fewer the requests that an object is for.

    The more specific object is created first and deleted last. Otherwise the wildcard, or the shorter path,
    would get its requests for a moment.
    """
    if isinstance(obj, Rule):
        return obj.rank
    return sni_records.breadth(obj.name) if isinstance(obj, Record) else 0


def _is_covered_exclusion(obj: Object, state: BigIPState) -> bool:
    """True for a record that excepts a Host from a wildcard which passes TLS through in a state.

    If the wildcard was there before the Plan, it serves the Host until its Rules are there; if it is there
    afterwards, it serves the Host before they go. Otherwise the wildcard must not get a request.
    """
    return (isinstance(obj, Record) and obj.data == names.EXCLUSION
            and sni_records.is_passed_around(obj, state))


def _delete(obj: Object, desired: BigIPState, observed: BigIPState) -> AnyChange:
    """Return the delete of an object.

    A record that excepts a Host from a wildcard which goes comes behind it, also if another one stays. Among
    the deletes of wildcards the less specific one comes first.
    """
    if not isinstance(obj, Record) or not _is_covered_exclusion(obj, desired):
        return Change(DELETE, obj, None)
    stays = sni_records.covering_ref(obj, desired) == sni_records.covering_ref(obj, observed)
    return Change(DELETE, obj, None, after_rules=stays, among_wildcards=None if stays else Stage.PASSTHROUGH)


def _with_server_names(writes: list[AnyChange], desired: BigIPState,
                       observed: BigIPState) -> list[AnyChange]:
    """Make the refusal of names without a certificate depend on the records of all names that are served.

    If one of them were refused, the name would not be served any more. A record whose certificate is not
    attached is left out: it must not hold up the others.
    """
    if not any(change.verb == CREATE and _is_strict(change.new) for change in writes):
        return writes
    served = {obj.ref for obj in desired.values() if isinstance(obj, Record)
              and base_name(obj.group) == names.SERVER_NAME_GROUP and obj.name != names.STRICT
              and all(ref in observed or _replaces(desired.get(ref)) for ref in obj.extra_dependencies)}
    return [replace(change, new=replace(
                change.new, extra_dependencies=change.new.extra_dependencies | served))
            if _is_strict(change.new) else change
            for change in writes]


def _is_strict(obj: Object | None) -> TypeGuard[Record]:
    return (isinstance(obj, Record) and base_name(obj.group) == names.SERVER_NAME_GROUP
            and obj.name == names.STRICT)


def _replaces(obj: Object | None) -> bool:
    """True for the attachment of a profile that takes the place of another maker's."""
    return isinstance(obj, Attachment) and obj.replaces != ""


def _with_exclusions(writes: list[AnyChange], desired: BigIPState, observed: BigIPState) -> list[AnyChange]:
    """Make a passthrough wildcard depend on the records that except Hosts from it.

    If one of them were refused, the wildcard would take a Host that is served. A record whose own
    dependencies are missing is left out: its Host is not served yet.
    """
    wildcards = {change.ref for change in writes if _passes_domain(change)}
    if not wildcards:
        return writes
    late = {change.ref for change in writes if change.after_rules}
    exclusions: dict[Ref, set[Ref]] = {}
    for obj in desired.values():
        if not isinstance(obj, Record) or obj.data != names.EXCLUSION:
            continue
        if obj.extra_dependencies <= observed.keys():
            for ref in wildcards.intersection(sni_records.covering_refs(obj)):
                exclusions.setdefault(ref, set()).add(obj.ref)
    return [replace(change, new=replace(
                change.new, extra_dependencies=change.new.extra_dependencies | exclusions[change.ref]),
                among_wildcards=None if late.isdisjoint(exclusions[change.ref]) else Stage.COMPLETE)
            if isinstance(change.new, Record) and change.ref in wildcards & exclusions.keys() else change
            for change in writes]


def _passes_domain(change: AnyChange) -> bool:
    """True for a write of a record that passes TLS of a wildcard through, to other pods than before.

    One of any depth may become another namespace's by an update.
    """
    return isinstance(change.new, Record) and change.new.data != names.EXCLUSION and (
        change.new.name.startswith("." if change.verb == CREATE else ".."))


def without_missing_monitors(pool: Pool, old: Pool | None, observed: BigIPState) -> Pool:
    """Return a pool as it can be written now: if its monitor is missing, it keeps its current one.

    Args: old: the pool as it is on the device; None if it is not there.
    """
    if all(need in observed for need in pool.dependencies):
        return pool
    return replace(pool, monitor=old.monitor if old is not None else "")
