"""Guard against Rules and records that would get the requests of a more specific one.

That one is new and not yet confirmed, or it would leave while they could not be deleted.
"""

from collections.abc import Callable, Iterator

from f5router.model.errors import UNCERTAIN_ERRORS, BigIPError
from f5router.model.ltm import Object, Record, Rule
from f5router.model.objects import Ref
from f5router.plan import leaving
from f5router.plan.change import CREATE, AnyChange


class UncertainWrites:
    """New Rules and records whose write, or that of a dependency, failed so that it may have been applied.

    The device may accept them at the next attempt. Until then a less specific one that is new as well would
    get their requests, and another pod would answer them.
    """

    def __init__(self, soon: Callable[[Ref], bool] = lambda ref: True):
        """Args: soon: False for an object that was tried so often that nothing waits for it any more."""
        self._soon = soon
        self._first: dict[tuple[str, str], tuple[int, BigIPError]] = {}
        """The most specific object in a policy or data-group, by its Hosts and the domains they lie in."""
        self._staying: dict[tuple[str, str], BigIPError] = {}
        """Errors of early deletes, by what the Rule covers which is still there."""

    def note(self, change: AnyChange, error: Exception | None) -> None:
        """Record the outcome of a Change."""
        if change.early and isinstance(error, BigIPError) and self._soon(change.ref):
            self._staying.update(dict.fromkeys(_covered(change.obj), error))
        if not isinstance(error, UNCERTAIN_ERRORS) or change.verb != CREATE or not self._soon(change.ref):
            return
        rank = _rank(change.obj)
        for place in _places(change.obj):
            if place not in self._first or rank < self._first[place][0]:
                self._first[place] = rank, error

    def obstacle(self, change: AnyChange) -> BigIPError | None:
        """Return the error of a more specific object that a Change would overtake; None if there is none.

        Likewise that of a delete, if the Change would leave requests to the Rule that is still there.
        """
        if self._staying and change.old is not None and leaving.leaves(change):
            return next(filter(None, map(self._staying.get, _places(change.old))), None)
        if change.verb != CREATE or not self._first:
            return None
        rank = _rank(change.obj)
        uncertain = (self._first.get(place) for place in _covered(change.obj))
        return next((error for first, error in filter(None, uncertain) if first < rank), None)


def _rank(obj: Object) -> int:
    """Rank an object among those of its Host, or of its data-group: the smaller, the more specific."""
    return obj.priority_band if isinstance(obj, Rule) else -len(obj.name) if isinstance(obj, Record) else 0


def _places(obj: Object) -> Iterator[tuple[str, str]]:
    """Yield where a less specific object may cover this one: its Hosts, and their domains after a dot."""
    if isinstance(obj, Rule):
        yield from leaving.places(obj.policy, obj.hosts)
    elif isinstance(obj, Record):
        yield from leaving.places(obj.group, {obj.name})


def _covered(obj: Object) -> Iterator[tuple[str, str]]:
    """Yield what an object covers: each of its Hosts, or all of a domain."""
    if isinstance(obj, Rule):
        yield from leaving.covered(obj)
    elif isinstance(obj, Record) and obj.name.startswith("."):
        yield obj.group, obj.name
