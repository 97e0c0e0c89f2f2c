"""Records of the options of Routes, and what stays on the device as long as their users."""

from collections.abc import Iterable, Iterator

from f5router.model import names, original_names
from f5router.model.ltm import Attachment, BigIPState, Forward, IRule, Object, Record, Rule, record_ref
from f5router.model.objects import Ref

BY_POOL = {
    names.LIMITS_GROUP: names.LIMITS_IRULE,
    names.TIMEOUT_GROUP: names.TIMEOUT_IRULE,
    names.PERSISTENCE_GROUP: "",
}
"""Data-groups whose records are named by a pool, or by a Host whose TLS is passed through; each with the
iRule that is attached only while there are records, "" for iRules that are always attached."""

IRULES = {**BY_POOL, names.HTTP_GROUP: names.HEADERS_IRULE}
"""All data-groups with options. Rules name the records of names.HTTP_GROUP."""


def stays_with(refs: Iterable[Ref], observed: BigIPState) -> set[Ref]:
    """Return what must stay as long as objects of the device do.

    These are their dependencies, the records with their options and those of the pools that they lead to,
    and the attachments of the iRules that act on these. A Rule does not wait for a record with time-outs, but
    without it connections of a Rule that stays would end too early.
    """
    objects = [observed[ref] for ref in refs if ref in observed]
    needs = {need for obj in objects for need in obj.dependencies}
    records = {ref for obj in objects for ref in of(obj) if ref in observed}
    irules = {irule for group, irule in IRULES.items()
              if irule and any(f"/{group}/" in ref.path for ref in records)}
    if not irules:  # mostly: a look at every object of the device takes 15 ms with 5,000 Routes
        return needs | records
    return needs | records | {ref for ref, obj in observed.items() if isinstance(obj, Attachment)
                              and obj.target_kind == IRule.KIND and obj.target.rsplit("/", 1)[1] in irules}


def of(obj: Object) -> Iterator[Ref]:
    """Yield the records that may have options of an object that leads requests to a pool."""
    if isinstance(obj, Rule) and isinstance(obj.action, Forward):
        if obj.action.http:
            folder = obj.policy.rpartition("/")[0]
            yield record_ref(names.full_path(folder, names.HTTP_GROUP), obj.action.http)
        yield from _named(obj.policy, obj.action.pool)
    elif isinstance(obj, Record) and obj.data != names.EXCLUSION and obj.group.endswith(
            names.PASSTHROUGH_GROUP):
        pool = original_names.pool(obj.group.rpartition("/")[0], obj.data)
        yield from (*_named(obj.group, pool), *_named(obj.group, obj.name))


def _named(beside: str, name: str) -> Iterator[Ref]:
    """Yield the records named by a pool or Host. Args: beside: full path of an object in our folder."""
    folder = beside.rpartition("/")[0]
    yield from (record_ref(names.full_path(folder, group), name) for group in BY_POOL)
