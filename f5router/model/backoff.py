"""Exponential back-off: how long to wait before something is tried again."""

from dataclasses import dataclass

import tenacity


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that double with each failure in a row, up to a limit."""

    first_s: float
    limit_s: float

    def delay_s(self, failures: int) -> float:
        """Return the seconds to wait after so many failures in a row, 1 or more."""
        return tenacity.wait_exponential(multiplier=self.first_s, max=self.limit_s)(_state(failures))

    def jittered_s(self, failures: int, retry_after_s: float | None = None) -> float:
        """Return the same, less a random part up to a half, but never less than the server asked for.

        Clients of a server that comes back do not return together. Source:
        https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/, "Equal Jitter".
        """
        half = {"multiplier": self.first_s / 2, "max": self.limit_s / 2}
        wait = tenacity.wait_exponential(**half) + tenacity.wait_random_exponential(**half)
        return max(wait(_state(failures)), retry_after_s or 0.0)


def _state(failures: int) -> tenacity.RetryCallState:
    """Build what tenacity computes a wait from."""
    state = tenacity.RetryCallState(tenacity.Retrying(), None, (), {})
    state.attempt_number = failures
    return state
