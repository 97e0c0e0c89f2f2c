"""Desired as the union of what independent parts contribute, such as the objects of one Host.

Equal refs in different parts are equal objects, except while parts are built one after another: a profile
may be named by a Secret whose newest content only some Hosts have. The newest contribution then counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from f5router.admission.admission import Rejection
from f5router.desired.default_certificate import NO_DEFAULT, DefaultCertificate
from f5router.desired.pools import PoolKey, PoolSettings
from f5router.model.cluster import Key
from f5router.model.ltm import Attachment, CertFile, ClientSSL, KeyFile, Object, Record, Rule, ServerSSL
from f5router.model.objects import Ref
from f5router.model.small import compact
from f5router.model.texts import Problem


class Contributions:
    """Objects, each with the number of parts that contribute it."""

    def __init__(self, objects: dict[Ref, Object]):
        """Args: objects: are kept equal to the union."""
        self._objects = objects
        self._count: dict[Ref, int] = {}
        """How many parts contribute an object, where several do."""
        self._versions: dict[Ref, list[tuple[Object, int]]] = {}
        """Versions of objects that differ between parts, the newest last, each with the number of parts."""

    def swap(self, old: Mapping[Ref, Object], new: Mapping[Ref, Object]) -> set[Ref]:
        """Replace the objects of a part; returns the refs of objects that have changed."""
        objects, changed = self._objects, set[Ref]()
        for ref, obj in new.items():
            current = objects.get(ref)
            if current is None:
                changed.add(ref)
            elif ref in self._versions or not is_same(current, obj):
                if self._put(ref, old.get(ref), obj):
                    changed.add(ref)
                continue
            elif ref not in old:
                self._count[ref] = self._count.get(ref, 1) + 1
            objects[ref] = obj  # also an equal one, so that there is one copy in memory
        return changed | {ref for ref in old.keys() - new.keys() if self._remove(ref, old[ref])}

    def _put(self, ref: Ref, before: Object | None, obj: Object) -> bool:
        """Put another version in place; true if the object now differs.

        A part that brings nothing new does not prevail over others.
        """
        if before is not None and is_same(before, obj):
            return False
        current, count = self._objects[ref], self._count.get(ref, 1)
        versions = self._versions.pop(ref, [(current, count)])
        if before is None:
            self._count[ref] = count + 1
        else:
            versions = _less(versions, before)
        same = sum(count for version, count in versions if is_same(version, obj))
        self._keep(ref, [*(each for each in versions if not is_same(each[0], obj)), (obj, same + 1)])
        self._objects[ref] = obj
        return not is_same(current, obj)

    def _remove(self, ref: Ref, obj: Object) -> bool:
        """True if the object now differs, or is gone."""
        count = self._count.pop(ref, 1) - 1
        if not count:
            self._versions.pop(ref, None)
            del self._objects[ref]
            return True
        if count > 1:
            self._count[ref] = count
        if ref not in self._versions:
            return False
        versions, current = _less(self._versions.pop(ref), obj), self._objects[ref]
        self._objects[ref] = versions[-1][0]
        self._keep(ref, versions)
        return not is_same(current, self._objects[ref])

    def _keep(self, ref: Ref, versions: list[tuple[Object, int]]) -> None:
        if len(versions) > 1:
            self._versions[ref] = versions


def _less(versions: list[tuple[Object, int]], obj: Object) -> list[tuple[Object, int]]:
    """Return versions after one part has withdrawn its own."""
    counted = [(version, count - is_same(version, obj)) for version, count in versions]
    return [each for each in counted if each[1]]


def is_same(obj: Object, other: Object) -> bool:
    """True if two objects are equal, dependencies included."""
    return obj is other or (obj == other and obj.dependencies == other.dependencies)


_ALIKE = (Rule, Record, ClientSSL, ServerSSL, CertFile, KeyFile, Attachment)
"""Types of which an object of a Host may stand for an equal one that was built before."""


@dataclass(frozen=True, slots=True)
class HostObjects:
    """Everything that the Routes of one Host ask for."""

    objects: Mapping[Ref, Object] = field(default_factory=dict)
    pools: Mapping[PoolKey, PoolSettings] = field(default_factory=dict)
    uses: Mapping[Key, frozenset[Ref]] = field(default_factory=dict)
    """By admitted Route: the objects through which requests come to it."""
    rejections: Mapping[Key, Rejection] = field(default_factory=dict)
    faults: Mapping[Key, Rejection] = field(default_factory=dict)
    """By admitted Route: why this router cannot serve it, or not all of it."""
    warnings: Mapping[Key, tuple[Problem, ...]] = field(default_factory=dict)
    pool_of: Mapping[Key, PoolKey] = field(default_factory=dict)
    """By Route that is served."""
    undetermined: frozenset[Ref] = frozenset()
    """Objects whose desired state depends on a Secret that is not read, or on certificates that are not
    checked yet."""
    closing: Mapping[Key, frozenset[Ref]] = field(default_factory=dict)
    """By rejected Route: the objects that keep its requests from others."""
    default: DefaultCertificate = NO_DEFAULT
    """The certificate that Routes of hostnames.ANY bring, on a front end of a Gateway."""

    def sharing(self, before: "HostObjects") -> "HostObjects":
        """Return equal objects, reusing unchanged ones from before, so that one copy stays in memory."""
        if not before.objects:
            return self
        return HostObjects(
            compact(dict(_kept(before.objects.get(ref), obj) for ref, obj in self.objects.items())),
            before.pools if before.pools == self.pools else self.pools,
            before.uses if before.uses == self.uses else self.uses,
            self.rejections, self.faults, self.warnings,
            before.pool_of if before.pool_of == self.pool_of else self.pool_of,
            self.undetermined, self.closing, self.default)


def _kept(old: Object | None, new: Object) -> tuple[Ref, Object]:
    """Return the older of two equal objects, else the new one, with its Ref."""
    if isinstance(old, _ALIKE) and is_same(old, new) and (
            getattr(old, "replaces", "") == getattr(new, "replaces", "")):
        return old.ref, old
    return new.ref, new
