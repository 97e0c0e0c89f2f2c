"""The statuses of Gateways and routes in short: what is wrong with one, and one word for all of it.

Events and metrics are made of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum

from f5router.model.cluster import Subject
from f5router.model.texts import Problem
from f5router.sources.gateway import conditions
from f5router.sources.gateway.conditions import StatusCondition
from f5router.sources.gateway.statuses import GatewayStatus, ListenerStatus, RouteParents

_PASSING = frozenset({conditions.PENDING})
"""Reasons that say nothing is wrong yet."""


class ObjectState(StrEnum):
    """State of a Gateway or a route."""

    OK = "ok"
    DEGRADED = "degraded"
    """It is accepted, and something of it is not served as it asks."""
    PENDING = "pending"
    """It is accepted, and waits for the BIG-IP, or for an object that was not read yet."""
    REFUSED = "refused"


def problems(status: GatewayStatus | RouteParents) -> tuple[Problem, ...]:
    """Return what is wrong, each once, without what may be right in a moment."""
    return tuple(dict.fromkeys(
        problem for each, where in _conditions(status) for problem in (
            Problem(told.reason, f"{where}{told.message}") for told in conditions.problems(each))
        if problem.reason not in _PASSING))


def state(status: GatewayStatus | RouteParents) -> ObjectState | None:
    """Return the state of an object; None for a route that is on no Gateway of this router."""
    own = tuple(_own(status))
    if not own:
        return None
    if any(each.type == conditions.ACCEPTED and each.status is False for each in own):
        return ObjectState.REFUSED
    of_listeners = (each for listener in _listeners(status) for each in listener.conditions.by_type.values())
    wrong = [problem.reason for problem in conditions.problems(*own, *of_listeners)]
    if all(reason in _PASSING for reason in wrong):
        return ObjectState.PENDING if wrong else ObjectState.OK
    return ObjectState.DEGRADED


def _own(status: GatewayStatus | RouteParents) -> Iterator[StatusCondition]:
    """Yield the conditions of the object as a whole."""
    if isinstance(status, GatewayStatus):
        yield from status.conditions.by_type.values()
    else:
        for _, entry in status.parents:
            yield from entry.by_type.values()


def _conditions(status: GatewayStatus | RouteParents) -> Iterator[tuple[StatusCondition, str]]:
    """Yield the conditions of which people are told, each with what its message begins with.

    Programmed repeats, as Invalid, the reason that another condition has.
    """
    for each in _own(status):
        if not (each.type == conditions.PROGRAMMED and each.reason == conditions.INVALID):
            yield each, ""
    for listener in _listeners(status):
        for each in listener.conditions.by_type.values():
            if each.type in (conditions.ACCEPTED, conditions.RESOLVED):
                yield each, f"listener {listener.name}: "


def _listeners(status: GatewayStatus | RouteParents) -> tuple[ListenerStatus, ...]:
    return status.listeners if isinstance(status, GatewayStatus) else ()


class ObjectCounts:
    """Counts of objects by kind and state, which one thread changes and any other may read."""

    def __init__(self, kinds: Iterable[str]):
        self._kinds = tuple(kinds)
        self._states: dict[Subject, ObjectState] = {}
        self._counts: Counter[tuple[str, ObjectState]] = Counter()

    def put(self, subject: Subject, state: ObjectState | None) -> None:
        """Set the state of an object; None for one that is gone, or is not this router's."""
        if (before := self._states.pop(subject, None)) is not None:
            self._counts[subject.kind, before] -= 1
        if state is not None:
            self._states[subject] = state
            self._counts[subject.kind, state] += 1

    def clear(self) -> None:
        """Forget all objects: another replica reports on them."""
        self._states.clear()
        self._counts.clear()

    def counts(self) -> Mapping[tuple[str, str], int]:
        """Return the number of objects by kind and state."""
        return {(kind, each.value): self._counts[kind, each] for kind in self._kinds for each in ObjectState}
