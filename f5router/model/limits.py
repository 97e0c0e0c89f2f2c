"""Bounds of the router's work: steps, pauses between tries, mass deletes, the permission to write."""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

import tenacity

from f5router.model.errors import BigIPError, NotLeader


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double with each failure in a row, up to a limit."""

    first_s: float
    limit_s: float

    def delay_s(self, failures: int) -> float:
        """Return the seconds to wait after so many failures in a row, 1 or more."""
        return tenacity.wait_exponential(multiplier=self.first_s, max=self.limit_s)(_state(failures))

    def jittered_s(self, failures: int, retry_after_s: float | None = None) -> float:
        """Return the delay minus a random part up to a half, but never less than the server asked for.

        Clients of a server that comes back do not return together. Source:
        https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/, "Equal Jitter".
        """
        half = {"multiplier": self.first_s / 2, "max": self.limit_s / 2}
        wait = tenacity.wait_exponential(**half) + tenacity.wait_random_exponential(**half)
        return max(wait(_state(failures)), retry_after_s or 0.0)


def _state(failures: int) -> tenacity.RetryCallState:
    """Build the state from which tenacity computes a wait."""
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.attempt_number = failures
    return state


LEAST = 20
"""Smallest number of deletes that is held back."""


def is_mass(deletes: int, total: int) -> bool:
    """True if so many deletes must be confirmed. Args: total: objects before the first of them."""
    return deletes >= LEAST and 2 * deletes > total


Result = TypeVar("Result")

Steps = Generator[None, None, Result]
"""Generator that yields after each step of about a millisecond and returns the result."""


def finish(work: Steps[Result]) -> Result:
    """Do the remaining steps and return the result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: Result = end.value
            return result


WHY_NOT = "this router is not the leader"


@dataclass(frozen=True, slots=True)
class WritePermit:
    """Permission to begin a write, asked for just before each one is sent."""

    left_s: Callable[[], float]
    """Returns for how long writes may begin; 0 or less if none may."""
    delivery_s: float = math.inf
    """Time after which a write that did not reach the other side must not reach it any more."""
    refusal: Callable[[str, str], BigIPError] = lambda method, path: NotLeader(method, path, WHY_NOT)
    """Returns the error of a write to the BIG-IP that may not begin. Args: method and path."""

    cleanup: "WritePermit | None" = None
    """Permission to remove uploaded files, which hold private keys; None for this one."""

    @property
    def for_cleanup(self) -> "WritePermit":
        """Permission to remove uploaded files."""
        return self.cleanup or self

    def is_given(self) -> bool:
        """True if a write may begin now."""
        return self.left_s() > 0


ALWAYS = WritePermit(lambda: math.inf)
"""That of a router without replicas, on one BIG-IP."""
