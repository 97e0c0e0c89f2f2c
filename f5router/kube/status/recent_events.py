"""The last Events of each object, for whoever looks at the object.

Only the Events that this process has written are known: the router has no right to read Events, and needs
none.
"""

import threading
from dataclasses import dataclass
from typing import NamedTuple

from f5router.model.cluster import Subject

MOST_OBJECTS, MOST_OF_ONE = 500, 5
"""Objects with Events that are kept, and Events of one object."""


@dataclass(frozen=True, slots=True)
class RecentEvent:
    """An Event that was written."""

    at: float
    """When it was written last, in seconds since the epoch."""
    type: str
    reason: str
    message: str
    count: int
    """How often it was written, also by an earlier router of this name."""


class _Known(NamedTuple):
    uid: str
    events: tuple[RecentEvent, ...]


class RecentEvents:
    """Keeps the last Events of the last objects. Thread-safe.

    Where there are too many objects, the oldest one of the namespace with the most is forgotten, so that no
    tenant crowds out others.
    """

    def __init__(self, *, most_objects: int = MOST_OBJECTS, most_of_one: int = MOST_OF_ONE):
        self._most_objects, self._most_of_one = most_objects, most_of_one
        self._lock = threading.Lock()
        self._by_namespace: dict[str, dict[Subject, _Known]] = {}
        """By namespace and object, the object whose Event is oldest first."""
        self._objects = 0
        self.revision = 0
        """A number that grows with each Event."""

    def record(self, about: Subject, uid: str, event: RecentEvent) -> None:
        """Record an Event of an object; it replaces one of the same reason and text."""
        with self._lock:
            objects = self._by_namespace.setdefault(about.key.namespace, {})
            before = objects.pop(about, None)
            others = [each for each in (before.events if before and before.uid == uid else ())
                      if (each.reason, each.message) != (event.reason, event.message)]
            objects[about] = _Known(uid, (event, *others[:self._most_of_one - 1]))
            if before is None:
                self._objects += 1
            if self._objects > self._most_objects:
                self._forget_one()
            self.revision += 1

    def of(self, about: Subject, uid: str = "") -> tuple[RecentEvent, ...]:
        """Return the Events of an object, the newest first. Args: uid: "" if it is not known."""
        with self._lock:
            known = self._by_namespace.get(about.key.namespace, {}).get(about)
        return known.events if known is not None and uid in ("", known.uid) else ()

    def _forget_one(self) -> None:
        namespace = max(self._by_namespace, key=lambda name: len(self._by_namespace[name]))
        objects = self._by_namespace[namespace]
        del objects[next(iter(objects))]
        if not objects:
            del self._by_namespace[namespace]
        self._objects -= 1
