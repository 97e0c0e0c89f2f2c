"""Common parts of all writers."""

from collections.abc import Callable, Collection, Iterable, Sequence
from itertools import chain
from typing import Generic, Protocol, TypeVar

from f5router.icontrol.rest.client import Client, delete_if_there
from f5router.icontrol.rest.readiness import blames_object
from f5router.icontrol.rest.wire import item_path
from f5router.model.errors import Refused
from f5router.model.ltm import Object
from f5router.model.objects import Ref
from f5router.plan.change import AnyChange, Change, T

T_contra = TypeVar("T_contra", bound=Object, contravariant=True)

Result = tuple[AnyChange, Exception | None]
"""A Change that was sent, and the error because of which it was not done, if any."""
Results = list[Result]


class Writer(Protocol[T_contra]):
    """Writes objects of some kinds."""

    @property
    def kinds(self) -> Collection[str]:
        """Kinds of their Refs."""

    def group(self, obj: T_contra) -> str:
        """Return the object whose parts are written together with this one; "" if it is written alone."""

    def write(self, changes: Sequence[Change[T_contra]]) -> Results:
        """Write Changes of one group, or a single one, in their order.

        Returns: those that were sent; none of the others was, because the device itself is in trouble.
        Raises: BigIPError: nothing was done.
        """


class SingleWriter(Generic[T]):
    """Base of writers that send each object by itself. Thread-safe: several are written at a time."""

    def group(self, obj: T) -> str:
        """Return "": no object is written together with another."""
        return ""

    def write(self, changes: Sequence[Change[T]]) -> Results:
        """Write Changes one by one. Raises: BigIPError."""
        for change in changes:
            self.write_single(change)
        return [(change, None) for change in changes]

    def write_single(self, change: Change[T]) -> None:
        """Write one Change. Raises: BigIPError."""
        raise NotImplementedError


def delete(client: Client, ref: Ref) -> None:
    """Delete an object that is a REST object of its own and may be gone already. Raises: BigIPError."""
    delete_if_there(client, item_path(ref.kind, ref.path))


def bisect(units: Sequence[Iterable[Change[T]]], refusal: Refused,
           write: Callable[[list[Change[T]]], Results]) -> Results:
    """Find out which of the Changes that the device refused together it refuses.

    Args:
        units: the Changes; those of one unit are never written apart.
        refusal: of all of them.
        write: writes some of them together, and calls this again if they are refused.
    Returns: as `Writer.write`.
    """
    if len(units) == 1:
        return [(change, refusal) for change in units[0]]
    middle = len(units) // 2
    results: Results = []
    for half in (units[:middle], units[middle:]):
        if any(error is not None and not blames_object(error) for _, error in results):
            break
        results += write(list(chain.from_iterable(half)))
    return results
