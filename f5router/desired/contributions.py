"""Desired as the union of what independent parts contribute.

Equal refs in different parts are equal objects, except while parts are built one after another: a profile
may be named by a Secret whose newest content only some Hosts have. The newest contribution then counts.
"""

from collections.abc import Mapping

from f5router.model.ltm import Object
from f5router.model.objects import Ref


class Contributions:
    """Objects, each with the number of parts that contribute it."""

    def __init__(self, objects: dict[Ref, Object]):
        """Args: objects: are kept equal to the union."""
        self._objects = objects
        self._count: dict[Ref, int] = {}
        self._versions: dict[Ref, list[tuple[Object, int]]] = {}
        """Versions of the objects of which there are several, the newest last, with how many have each."""

    def swap(self, old: Mapping[Ref, Object], new: Mapping[Ref, Object]) -> set[Ref]:
        """Replace what a part contributes; returns the refs of objects that now differ."""
        changed = {ref for ref, obj in new.items() if self._put(ref, old.get(ref), obj)}
        return changed | {ref for ref in old.keys() - new.keys() if self._remove(ref, old[ref])}

    def _put(self, ref: Ref, before: Object | None, obj: Object) -> bool:
        """True if the object now differs. A part that brings nothing new does not prevail over others."""
        if before is not None and _same(before, obj):
            if self._objects[ref] is before:
                self._objects[ref] = obj  # one copy in memory
            return False
        current, others = self._objects.get(ref), self._count.get(ref, 0) - (before is not None)
        self._count[ref] = others + 1
        self._objects[ref] = obj
        if current is None:
            return True
        if ref in self._versions or (others and not _same(current, obj)):
            versions = self._versions.pop(ref, [(current, self._count[ref] - (before is None))])
            if before is not None:
                versions = _less(versions, before)
            same = sum(count for version, count in versions if _same(version, obj))
            self._keep(ref, [*(each for each in versions if not _same(each[0], obj)), (obj, same + 1)])
        return not _same(current, obj)

    def _remove(self, ref: Ref, obj: Object) -> bool:
        """True if the object now differs, or is gone."""
        self._count[ref] -= 1
        if not self._count[ref]:
            self._versions.pop(ref, None)
            del self._count[ref], self._objects[ref]
            return True
        if ref not in self._versions:
            return False
        versions, current = _less(self._versions.pop(ref), obj), self._objects[ref]
        self._objects[ref] = versions[-1][0]
        self._keep(ref, versions)
        return not _same(current, self._objects[ref])

    def _keep(self, ref: Ref, versions: list[tuple[Object, int]]) -> None:
        if len(versions) > 1:
            self._versions[ref] = versions


def _less(versions: list[tuple[Object, int]], obj: Object) -> list[tuple[Object, int]]:
    """Return versions after one part has withdrawn its own."""
    counted = [(version, count - _same(version, obj)) for version, count in versions]
    return [each for each in counted if each[1]]


def _same(obj: Object, other: Object) -> bool:
    return obj is other or (obj == other and obj.dependencies == other.dependencies)
