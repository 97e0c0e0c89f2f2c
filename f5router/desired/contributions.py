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
