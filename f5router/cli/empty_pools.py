"""Pools without members, and the Routes that answer 503 therefore: for `plan` and `doctor`."""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from f5router.model.ltm import Pool
from f5router.model.objects import Ref
from f5router.reconcile.reconciler import Reconciler

NOT_READY = "no pod of their Services is ready"


@dataclass(frozen=True, slots=True)
class EmptyPools:
    """Pools that have no member for one reason."""

    pools: int
    routes: int
    cause: str
    """The setting that leaves them no member, or NOT_READY."""
    is_loss: bool
    """True if they have members on the BIG-IP now."""
    are_all: bool
    """True if no pool at all has a member."""

    @property
    def is_problem(self) -> bool:
        """True if the settings keep from serving what is served, or everything.

        One team's Service without pods, or without a node port, must not make the administrator's check fail.
        """
        return self.cause != NOT_READY and (self.is_loss or self.are_all)

    def __str__(self) -> str:
        lose, have = ("loses its", "has") if self.pools == 1 else ("lose their", "have")
        lack = f"{lose} last member" if self.is_loss else f"{have} no member"
        return (f"{_counted(self.pools, 'pool')} {lack}: {_counted(self.routes, 'Route')} would answer 503; "
                f"{self.cause}")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def find(reconciler: Reconciler) -> Iterator[EmptyPools]:
    """Yield the empty pools of each cause: first those that are on the BIG-IP with members."""
    engine, observed = reconciler.engine, reconciler.device.observed
    empty = engine.empty_pools()
    if not empty:
        return
    users = Counter(ref for key in engine.routes() if (ref := engine.pool_of(key)) in empty)
    wanted = {ref for key in engine.routes() if (ref := engine.pool_of(key)) is not None}
    for is_loss in (True, False):
        for cause in sorted({*empty.values()}, reverse=True):
            chosen = [ref for ref in users if ref is not None and empty[ref] == cause
                      and _has_members(observed.get(ref)) == is_loss]
            if chosen:
                yield EmptyPools(len(chosen), sum(users[ref] for ref in chosen), cause or NOT_READY, is_loss,
                                 are_all=_are_all(wanted, empty))


def _has_members(obj: object) -> bool:
    return isinstance(obj, Pool) and bool(obj.members)


def _are_all(wanted: Collection[Ref], empty: Collection[Ref]) -> bool:
    return all(ref in empty for ref in wanted)
