"""Problems: each cause for which something is missing on the BIG-IP, with the Routes that it affects."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from f5router.model import names
from f5router.model.cluster import Key
from f5router.model.objects import Ref

NAMED_MOST = 3
"""Most Routes that the sentence of a GroupedProblem names; the others are counted."""


@dataclass(frozen=True, slots=True)
class GroupedProblem:
    """One cause, whatever the number of objects and Routes that it concerns."""

    text: str
    """The message of the device, or of the router where it knows beforehand."""
    objects: tuple[Ref, ...] = ()
    """Objects that are refused; empty if the cause does not lie in an object."""
    routes: tuple[Key, ...] = ()
    """Routes that are not served for this reason, or not as they are now."""

    def __str__(self) -> str:
        return _named(self.routes) + _first(self.objects) + self.text


def grouped(refused: Mapping[Ref, str], unserved: Mapping[Key, str],
            blocked: Collection[Ref] = ()) -> list[GroupedProblem]:
    """Group objects and Routes by cause; Problems that affect Routes come first.

    Args:
        refused: objects, with the cause; the first of those with the same cause is named.
        unserved: Routes, with the cause.
        blocked: those of the objects that only wait for another; they are named where no other has the cause.
    """
    objects: dict[str, list[Ref]] = {}
    for ref, text in refused.items():
        objects.setdefault(text, []).append(ref)
    routes: dict[str, list[Key]] = {}
    for key in sorted(unserved):
        routes.setdefault(unserved[key], []).append(key)
    problems = [
        GroupedProblem(text, tuple(_roots(objects.get(text, []), blocked)), tuple(routes.get(text, ())))
        for text in {*objects, *routes}]
    return sorted(problems, key=lambda problem: (not problem.routes, problem.routes, problem.text))


def _roots(refs: list[Ref], blocked: Collection[Ref]) -> list[Ref]:
    return [ref for ref in refs if ref not in blocked] or refs


def _named(routes: Iterable[Key]) -> str:
    """Name the Routes, in front of what happened to them."""
    keys = [names.label(key, "Route") for key in routes]
    if len(keys) < 2:
        return f"{keys[0]}: " if keys else ""
    keys = [key.removeprefix("Route ") for key in keys]
    more = f" and {len(keys) - NAMED_MOST} more" if len(keys) > NAMED_MOST else ""
    return f"{len(keys)} Routes ({', '.join(keys[:NAMED_MOST])}{more}): "


def _first(objects: tuple[Ref, ...]) -> str:
    """Name the first object, and the number of the others."""
    if not objects:
        return ""
    others = len(objects) - 1
    return f"{objects[0]}{f' and {others} other object' if others else ''}{'s' if others > 1 else ''}: "
