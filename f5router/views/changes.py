"""Changes of the device as people see them: their cause, what was written, at what cost."""

from dataclasses import dataclass

from f5router.model.ltm import Rule
from f5router.plan.change import AnyChange
from f5router.plan.changes import cause

MOST_OBJECTS, MOST_CAUSES = 20, 5
"""Objects and causes of a change that are kept."""


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One pass over the BIG-IP that wrote something or failed, or a write of members beside passes."""

    at: float
    """When it ended, in seconds since the epoch."""
    causes: tuple[str, ...]
    """Routes, Services, hosts and Nodes that it was for, at most MOST_CAUSES: "Route shop/web"."""
    has_more_causes: bool
    """True if it was for others, too."""
    objects: tuple[str, ...]
    """Changes that were written, at most MOST_OBJECTS: "create ltm/pool /Common/..."."""
    writes: int
    """Objects that were written, in all."""
    refused: int = 0
    """Objects that the device refused."""
    calls: int | None = None
    """REST calls, readings included; None if they were not counted, for members beside a pass."""
    seconds: float | None = None
    """Duration; None likewise."""
    problem: str = ""
    """Why the pass ended early; "" if it did not."""


class WrittenObjects:
    """Collects the writes of a pass: the first few objects, and the total number."""

    def __init__(self) -> None:
        self._routes: dict[str, None] = {}
        self._others: dict[str, None] = {}
        self.objects: list[str] = []
        self.writes = 0
        self._has_more = False
        """True if a cause found no place."""

    def add(self, change: AnyChange) -> None:
        """Record a confirmed write."""
        self.writes += 1
        if len(self.objects) < MOST_OBJECTS:
            self.objects.append(f"{change.verb} {change.ref}")
        if self._has_more and len(self._routes) == MOST_CAUSES:
            return
        causes = self._routes if isinstance(change.obj, Rule) else self._others
        text = cause(change.obj)
        if text and len(causes) < MOST_CAUSES:
            causes[text] = None
        elif text and text not in causes:
            self._has_more = True

    @property
    def causes(self) -> tuple[str, ...]:
        """Routes first: what else is written is mostly for them."""
        return tuple([*self._routes, *self._others][:MOST_CAUSES])

    @property
    def has_more_causes(self) -> bool:
        """True if there were others."""
        return self._has_more or len(self._routes) + len(self._others) > MOST_CAUSES


def of_members(change: AnyChange, at: float) -> ChangeView:
    """Return the view of a write beside passes."""
    written = WrittenObjects()
    written.add(change)
    return ChangeView(at, written.causes, written.has_more_causes, tuple(written.objects), 1)
