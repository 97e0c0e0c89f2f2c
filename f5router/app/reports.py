"""Records of what was reported about each object of the cluster: no Event and no line of the log is repeated.

One record for each object, by its kind and key. All reporters share the records: they are forgotten together,
when another replica leads.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from f5router.admission.admission import Rejection
from f5router.kube.status.events import EventWriter, Involved
from f5router.model.cluster import Key
from f5router.model.texts import WARNING, WARNINGS, Problem

log = logging.getLogger(__name__)

ADMISSION, NOTICES = "admission", "notices"
"""Topics of what is reported about a Route: why it is not served, and its warnings."""

MOST = 10
"""Problems of one object with an Event each; further ones are counted."""

NOT_SERVED, NOTICED = "not served as asked for", "served, with a warning"


@dataclass(slots=True)
class Reported:
    """Record of the reports about one object."""

    uid: str = ""
    problems: dict[str, tuple[Problem, ...]] = field(default_factory=dict)
    """By topic. Those of a virtual Route are reported with the object that it was made of."""
    is_admitted: bool | None = None
    """The last verdict on a virtual Route of an Ingress; None while there is none."""
    lost: Rejection | None = None
    """As a loser of its Host."""
    hosts: set[str] = field(default_factory=set)
    """Hosts that Events name which it holds, and others claim."""

    def is_empty(self) -> bool:
        """True if nothing was reported."""
        return not (self.problems or self.is_admitted is not None or self.lost or self.hosts)


class Reports:
    """Records by kind and key of the object. Not thread-safe."""

    def __init__(self) -> None:
        self._objects: dict[tuple[str, Key], Reported] = {}

    def find(self, kind: str, key: Key) -> Reported | None:
        """Return the record of an object, None without one; `settle` follows a change of it."""
        return self._objects.get((kind, key))

    def of(self, kind: str, key: Key) -> Reported:
        """Return the record of an object, new if there is none."""
        return self._objects.setdefault((kind, key), Reported())

    def settle(self, kind: str, key: Key) -> None:
        """Drop an object without reports."""
        if (known := self.find(kind, key)) is not None and known.is_empty():
            self.forget(kind, key)

    def put(self, kind: str, key: Key, topic: str, problems: tuple[Problem, ...]) -> None:
        """Record the problems of an object about one topic."""
        if problems:
            self.of(kind, key).problems[topic] = problems
        elif (known := self.find(kind, key)) is not None:
            known.problems.pop(topic, None)
            self.settle(kind, key)

    def problems(self, kind: str, key: Key, topic: str) -> tuple[Problem, ...]:
        """Return the problems of an object about one topic."""
        known = self.find(kind, key)
        return known.problems.get(topic, ()) if known is not None else ()

    def news(self, kind: str, key: Key, problems: tuple[Problem, ...], *, topic: str = "",
             uid: str = "") -> list[Problem]:
        """Record the problems of an object; returns the problems that are new since the last call.

        Args: uid: another one means another object of the same name.
        """
        if (known := self.find(kind, key)) is not None and uid != known.uid:
            known.problems.clear()
        before = self.problems(kind, key, topic)
        self.put(kind, key, topic, problems)
        if (known := self.find(kind, key)) is not None:
            known.uid = uid
        return [problem for problem in problems if problem not in before]

    def forget(self, kind: str, key: Key) -> None:
        """Drop an object that is gone."""
        self._objects.pop((kind, key), None)

    def clear(self) -> None:
        """Drop all objects."""
        self._objects.clear()


class ObjectEvents:
    """Writes Events about objects with unserved parts; if an object has many, only the first."""

    def __init__(self, events: EventWriter, reports: Reports, *, hint: str = ""):
        """Args: hint: where all problems of an object are shown."""
        self._events, self._reports, self._hint = events, reports, hint

    def report(self, about: Involved, problems: Iterable[Problem]) -> None:
        """Write Events for those problems of an object that it did not have at the last call."""
        shown = tuple(dict.fromkeys(problems))
        if (more := len(shown) - MOST) > 0:
            shown = (*shown[:MOST], Problem(WARNING, f"there are {more} more problems{self._hint}"))
        for problem in self._reports.news(about.kind, about.key, shown, uid=about.uid):
            log_problem({about.kind.lower(): str(about.key)}, problem)
            self._events.warn_about(about, problem.reason, problem.message)

    def forget(self, kind: str, key: Key) -> None:
        """Forget the problems of an object; who contests its Hosts, the Routes that leave tell."""
        self._reports.put(kind, key, "", ())


def log_problem(subject: Mapping[str, str], problem: Problem) -> None:
    """Log a problem of an object. Args: subject: field of the log line that names it."""
    log.warning(NOTICED if problem.reason in WARNINGS else NOT_SERVED,
                extra={**subject, "reason": problem.reason, "text": problem.message})
