"""Each cause for which something is not in place on the BIG-IP, with the Routes that it costs."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from f5router.model.cluster import Key
from f5router.model.objects import Ref

NAMED_MOST = 3
"""Routes of a Problem that its sentence names; of the others it gives the number."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One cause, whatever the number of objects and Routes that it concerns."""

    text: str
    """The device's words, or the router's own where it knows beforehand."""
    objects: tuple[Ref, ...] = ()
    """Objects that are refused; empty if the cause is none of an object."""
    routes: tuple[Key, ...] = ()
    """Routes that are not served for this reason, or not in their new form."""

    def __str__(self) -> str:
        return _named(self.routes) + _first(self.objects) + self.text


def grouped(refused: Mapping[Ref, str], unserved: Mapping[Key, str],
            blocked: Collection[Ref] = ()) -> list[Problem]:
    """Make one Problem of all objects and Routes that have the same cause.

    Those that cost Routes come first.

    Args:
        refused: objects, with the cause; of several with the same cause the first is named.
        unserved: Routes, with the cause.
        blocked: those of the objects that only wait for another; they are named where no other has the cause.
    """
    objects: dict[str, list[Ref]] = {}
    for ref, text in refused.items():
        objects.setdefault(text, []).append(ref)
    routes: dict[str, list[Key]] = {}
    for key in sorted(unserved):
        routes.setdefault(unserved[key], []).append(key)
    found = [Problem(text, tuple(_roots(objects.get(text, []), blocked)), tuple(routes.get(text, ())))
             for text in {*objects, *routes}]
    return sorted(found, key=lambda problem: (not problem.routes, problem.routes, problem.text))


def _roots(refs: list[Ref], blocked: Collection[Ref]) -> list[Ref]:
    return [ref for ref in refs if ref not in blocked] or refs


def _named(routes: Iterable[Key]) -> str:
    """The Routes, in front of what happened to them."""
    keys = [str(key) for key in routes]
    if len(keys) < 2:
        return f"Route {keys[0]}: " if keys else ""
    more = f" and {len(keys) - NAMED_MOST} more" if len(keys) > NAMED_MOST else ""
    return f"{len(keys)} Routes ({', '.join(keys[:NAMED_MOST])}{more}): "


def _first(objects: tuple[Ref, ...]) -> str:
    """The first object, and the number of the others."""
    if not objects:
        return ""
    others = len(objects) - 1
    return f"{objects[0]}{f' and {others} other object' if others else ''}{'s' if others > 1 else ''}: "
