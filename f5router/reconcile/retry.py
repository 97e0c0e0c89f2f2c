"""Decides when to try again what the device refused. Nothing is sent here, and the time is an argument."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass

from f5router.model.errors import UNCERTAIN_ERRORS, BigIPError, Unconfirmed, is_usable
from f5router.model.limits import Backoff
from f5router.model.objects import Ref
from f5router.reconcile.hold import Hold, HoldReason

RETRY_FIRST_S, RETRY_MOST_S = 5.0, 300.0
BACKOFF = Backoff(RETRY_FIRST_S, RETRY_MOST_S)

OVERTAKEN_AFTER = 3
"""Attempts without a usable reply after which less specific Rules wait for an object no longer."""


@dataclass(slots=True)
class Failure:
    """An object that the device refused."""

    error: BigIPError
    attempts: int
    due: float
    """Monotonic seconds of the next attempt; infinite while it waits for another object."""
    blocked: bool = False
    """True if it was not sent, because it needs an object that was refused."""


class RetrySchedule:
    """Refused objects, each with the time of its next attempt."""

    def __init__(self) -> None:
        self.failures: dict[Ref, Failure] = {}

    def record(self, failed: Mapping[Ref, BigIPError], blocked: Collection[Ref], now: float) -> None:
        """Record refusals.

        Args: blocked: those of the objects that were not sent, because others were refused.
        """
        for ref, error in failed.items():
            attempts = self.failures[ref].attempts + 1 if ref in self.failures else 1
            is_blocked = ref in blocked
            due = math.inf if is_blocked else now + BACKOFF.delay_s(attempts)
            self.failures[ref] = Failure(error, attempts, due, is_blocked)

    def record_pass(self, failed: Mapping[Ref, BigIPError], blocked: Collection[Ref], now: float, *,
                    is_settled: Callable[[Ref], bool], recovered: bool) -> tuple[set[Ref], bool]:
        """Record the refusals of a pass, and forget those that are over.

        Args:
            is_settled: True for an object of an earlier refusal that needs no attempt any more.
            recovered: True if an object recovered besides the pass.
        Returns: objects whose state has changed; True if any object recovered.
        """
        before = self._states()
        self.record(failed, blocked, now)
        self.discard([ref for ref in self.failures.keys() - failed.keys() if is_settled(ref)])
        recovered = recovered or any(not before[ref][0] for ref in before.keys() - self.failures.keys())
        self.unblock(now, recovered=recovered)
        return {ref for ref, _ in before.items() ^ self._states().items()}, recovered

    def _states(self) -> dict[Ref, tuple[bool, str]]:
        return {ref: (failure.blocked, str(failure.error)) for ref, failure in self.failures.items()}

    def discard(self, refs: Iterable[Ref]) -> None:
        """Forget the refusals of these objects."""
        for ref in refs:
            del self.failures[ref]

    def unblock(self, now: float, *, recovered: bool) -> None:
        """Make blocked objects due when another has recovered.

        Blocked objects get a time of their own if nothing else is left: otherwise they would wait forever.
        """
        only_blocked = all(failure.blocked for failure in self.failures.values())
        for failure in self.failures.values():
            if failure.blocked and recovered:
                failure.due = now
            elif failure.blocked and (only_blocked or failure.due <= now):
                failure.due = now + RETRY_FIRST_S if only_blocked else math.inf

    def reset_backoff(self, ref: Ref) -> None:
        """Make an object due at once."""
        self.failures[ref].due = 0.0

    def retry_uncertain(self, now: float) -> None:
        """Make all objects due whose last write was left in doubt."""
        for failure in self.failures.values():
            if isinstance(failure.error, UNCERTAIN_ERRORS):
                failure.due = now

    def suspend(self, ref: Ref) -> None:
        """Put off an object, if it was refused, until the write of it that is under way has ended."""
        if ref in self.failures:
            self.failures[ref].due = math.inf

    def record_hanging(self, ref: Ref) -> None:
        """Record that a write of an object gets no reply, so that what needs the object waits."""
        attempts = self.failures[ref].attempts if ref in self.failures else 0
        self.failures[ref] = Failure(Unconfirmed(text="no reply so far"), attempts, math.inf)

    def hold(self, ref: Ref, now: float, closure: Callable[[], Iterable[Ref]]) -> Hold | None:
        """Return why it is too early to try an object again; None if it is not.

        Args: closure: returns the object and all that it needs in turn; called for a blocked object only.
        """
        failure = self.failures.get(ref)
        if failure is None:
            return None
        if not failure.blocked:
            return Hold(HoldReason.BACKOFF, failure.due) if failure.due > now else None
        needed = (self.failures.get(need) for need in closure())
        blockers = [other.due for other in needed if other is not None
                    and not other.blocked and other.due > now and not is_usable(other.error)]
        return Hold(HoldReason.BLOCKED, max(blockers)) if blockers else None

    def is_recent(self, ref: Ref) -> bool:
        """True while less specific Rules wait for an object, as it was not tried too often."""
        return ref not in self.failures or self.failures[ref].attempts < OVERTAKEN_AFTER

    def errors(self, planned: Collection[Ref]) -> dict[Ref, BigIPError]:
        """Return the errors of all objects that are not in a Plan."""
        return {ref: failure.error for ref, failure in self.failures.items() if ref not in planned}

    def next_due(self, is_held_up: Callable[[Ref], bool]) -> float | None:
        """Return the time of the next attempt; None if time alone brings none.

        Args: is_held_up: True for an object whose turn comes by itself when another write ends.
        """
        return min((failure.due for ref, failure in self.failures.items()
                    if failure.due != math.inf and not is_held_up(ref)), default=None)

    def due(self, now: float) -> Iterable[Ref]:
        """Yield the objects that are due."""
        return (ref for ref, failure in self.failures.items() if failure.due <= now)
