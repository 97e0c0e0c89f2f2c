"""The report of a pass, and the choice of the Routes that are in it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from f5router.desired.engine import Engine
from f5router.icontrol.device import Device
from f5router.icontrol.outcome import Outcome
from f5router.model.cluster import Key, Route
from f5router.model.ltm import Rule
from f5router.model.objects import Ref
from f5router.model.texts import Problem
from f5router.reconcile.backlog import Backlog, hosts_of
from f5router.status.condition import Verdict

OTHERS_MOST = 1000
"""Most Routes in a report besides those of which the pass wrote something."""

ROUTES_PER_LOOK = 100
"""Routes between two looks at endpoints."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a pass. A pass that takes only a part of the work leaves the rest to the next."""

    outcome: Outcome
    full: bool
    verdicts: dict[Key, Verdict]
    """Verdicts of the Routes that may have a new one; a Route that is not yet served has none."""
    warnings: dict[Key, tuple[Problem, ...]]
    """Warnings of the same Routes."""
    removed: dict[Key, Route] = field(default_factory=dict)
    """Routes that are served no longer, as they were last evaluated: deleted, or not selected any more."""


class ChangedRoutes:
    """Routes whose verdict may have changed since it was last reported."""

    def __init__(self, engine: Engine, device: Device, backlog: Backlog, *, look: Callable[[], object]):
        """Args: look: lets endpoints be written in between, called every few Routes."""
        self._engine, self._device, self._backlog, self._look = engine, device, backlog, look
        self._keys: dict[Key, None] = {}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def add(self, keys: Iterable[Key]) -> None:
        """Add Routes behind all others."""
        self._keys |= dict.fromkeys(keys)

    def add_users(self, refs: set[Ref]) -> None:
        """Add the Routes that need one of these objects."""
        if not refs:
            return
        if all(ref.kind == Rule.KIND for ref in refs):  # only objects of the same Host need it
            self.add({key for host in self._hosts(refs) for key in self._engine.routes_of_host(host)})
            return
        self.add({key for key in self._engine.routes()
                  if not refs.isdisjoint(self._engine.closure(
                      self._engine.uses(key) | self._engine.closing(key)))})

    def clear(self) -> None:
        """Forget all Routes."""
        self._keys.clear()

    def take(self, portion: Iterable[Ref]) -> list[Key]:
        """Return the Routes to report: those of a portion, and as many others as take no time.

        A Route that needs something in the backlog stays for a later report.
        """
        chosen = dict.fromkeys(
            key for host in self._hosts(portion) for key in self._engine.routes_of_host(host)
            if key in self._keys)
        chosen |= dict.fromkeys(islice(self._keys, OTHERS_MOST))
        settled = []
        for key in self.while_looking(chosen):
            del self._keys[key]
            if key in self._engine.routes():
                if self._is_settled(key):
                    settled.append(key)
                else:
                    self._keys[key] = None  # behind the others
        return settled

    def while_looking(self, keys: Iterable[Key]) -> Iterator[Key]:
        """Yield the same Routes, and look at endpoints in between."""
        for number, key in enumerate(keys, start=1):
            yield key
            if number % ROUTES_PER_LOOK == 0:
                self._look()

    def _hosts(self, refs: Iterable[Ref]) -> set[str]:
        """Return the Hosts of objects that lead requests, desired or observed."""
        states = (self._engine.objects, self._device.observed)
        return {host for ref in refs for state in states if ref in state
                for host in hosts_of(state[ref], state)}

    def _is_settled(self, key: Key) -> bool:
        """True if nothing that a Route needs is in the backlog."""
        return not self._backlog or self._backlog.isdisjoint(self._engine.closure(self._engine.uses(key)))
