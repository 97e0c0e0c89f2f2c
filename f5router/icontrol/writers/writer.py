"""Common parts of all writers, and writes of which the device may refuse a part.

A refused list of members is written without the new ones, then these in halves until those that the device
refuses are alone. An address that leaves the pool does so with the first of these writes.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Generic, Protocol, TypeVar

from f5router.icontrol.rest.client import Client, delete_if_there
from f5router.icontrol.rest.readiness import blames_object
from f5router.icontrol.rest.wire import item_path
from f5router.model.errors import Refused
from f5router.model.ltm import Object, Pool, PoolMember
from f5router.model.ltm_nodes import Incomplete
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


MOST_WRITES = 40
"""Writes to find out which members are refused; those not tried by then are left out for now."""

Put = Callable[[Pool, bool], None]
"""Sends a pool; True if it is on the device."""


class PoolWrite:
    """One attempt to write a pool."""

    def __init__(self, pool: Pool, old: Pool | None, put: Put, check: Callable[[Pool], None]):
        """Args:
        old: the pool on the device, None if there is none.
        check: called after each write; raises what is wrong with it.
        """
        self._pool, self._put, self._check = pool, put, check
        self.applied = old
        """The pool on the device now; None if there is none."""
        self.is_wrong = False
        """True if the pool has to be written though `applied` is the same."""

    def send(self, without: Collection[str] = ()) -> None:
        """Write the pool without the members at some addresses. Raises: BigIPError: nothing was written."""
        self._send(replace(self._pool, members=frozenset(
            member for member in self._pool.members if member.address not in without)))

    def _send(self, pool: Pool) -> None:
        if pool == self.applied and not self.is_wrong:
            return
        self._put(pool, self.applied is not None)
        self.applied, self.is_wrong = pool, True
        self._check(pool)
        self.is_wrong = False

    def bisect(self, refusal: Refused, without: Collection[str]) -> dict[PoolMember, Refused]:
        """Write the members that the device takes; return those that it refuses.

        Args: refusal: of all of them; without: addresses whose members are left out anyway.
        Raises: BigIPError: the refusal, if the members are not the reason for it.
        """
        wanted = frozenset(m for m in self._pool.members if m.address not in without)
        before = self.applied.members if self.applied is not None else frozenset()
        places = {(member.address, member.port) for member in wanted}
        kept = frozenset(member for member in before if (member.address, member.port) in places)
        units = sorted(wanted - kept)
        if not units:
            raise refusal
        self.is_wrong = True  # written even if it is the same: it shows if the pool itself is refused
        try:
            self._send(replace(self._pool, members=kept))
        except Refused as exc:
            raise refusal from exc
        search = _Search(self._add, MOST_WRITES)
        search.divide(units, refusal)
        return search.refused

    def _add(self, members: Collection[PoolMember]) -> None:
        """Add members to those on the device, or change them. Raises: BigIPError."""
        assert self.applied is not None, "it was written before"
        places = {(member.address, member.port) for member in members}
        others = {m for m in self.applied.members if (m.address, m.port) not in places}
        self._send(replace(self._pool, members=frozenset(others.union(members))))

    def incomplete(self, left: Mapping[str, Refused], refused: Mapping[PoolMember, Refused]) -> None:
        """Report members that are left out. Args: left: reasons by address. Raises: Incomplete."""
        errors = [*left.values(), *refused.values()]
        if errors:
            assert self.applied is not None, "it was written without them"
            raise Incomplete(errors[0], self.applied)


class _Search:
    """Halves a list of members until those that are refused are alone."""

    def __init__(self, add: Callable[[Collection[PoolMember]], None], most: int):
        self._add, self._left = add, most
        self.refused: dict[PoolMember, Refused] = {}

    def divide(self, members: list[PoolMember], refusal: Refused) -> None:
        """Add the members that are not refused. Args: refusal: of the whole list. Raises: BigIPError."""
        if len(members) == 1:
            self.refused.update(dict.fromkeys(members, refusal))
            return
        middle = len(members) // 2
        for half in (members[:middle], members[middle:]):
            if self._left <= 0:
                self.refused.update(dict.fromkeys(half, refusal))
                continue
            self._left -= 1
            try:
                self._add(half)
            except Refused as exc:
                self.divide(half, exc)
