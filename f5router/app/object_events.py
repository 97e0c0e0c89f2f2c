"""Events about objects of which parts are not served: of many for one object, only the first are written."""

import logging
from collections.abc import Iterable

from f5router.kube.status.events import EventWriter, Involved
from f5router.model.cluster import Key
from f5router.model.texts import WARNING, WARNINGS, Problem

log = logging.getLogger(__name__)

MOST = 10
"""Problems of one object with an Event each; further ones are counted."""

NOT_SERVED, NOTICED = "not served as asked for", "served, with a warning"


class ObjectEvents:
    """Remembers what was reported of each object of a kind, so that the same is not reported again."""

    def __init__(self, events: EventWriter, *, hint: str = ""):
        """Args: hint: where all problems of an object are shown."""
        self._events, self._hint = events, hint
        self._reported: dict[Key, tuple[str, frozenset[Problem]]] = {}
        """The uid of an object and its problems, where there are any."""

    def report(self, about: Involved, problems: Iterable[Problem]) -> None:
        """Write Events for those problems of an object that it did not have at the last call."""
        shown = tuple(dict.fromkeys(problems))
        if (more := len(shown) - MOST) > 0:
            shown = (*shown[:MOST], Problem(WARNING, f"there are {more} more problems{self._hint}"))
        uid, known = self._reported.pop(about.key, ("", frozenset()))
        if shown:
            self._reported[about.key] = about.uid, frozenset(shown)
        for problem in shown:
            if uid != about.uid or problem not in known:
                log.warning(NOTICED if problem.reason in WARNINGS else NOT_SERVED, extra={
                    about.kind.lower(): str(about.key), "reason": problem.reason, "text": problem.message})
                self._events.warn_about(about, problem.reason, problem.message)

    def clear(self) -> None:
        """Drop all objects."""
        self._reported.clear()

    def forget(self, key: Key) -> None:
        """Drop an object that is gone."""
        self._reported.pop(key, None)
