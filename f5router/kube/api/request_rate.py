"""The rate of requests that an API server takes: it grows while it is used, and falls after refusals.

Additive increase and multiplicative decrease (RFC 5681, section 3.1, for TCP). The API server queues what it
cannot take at once and refuses what does not fit into the queues with 429 (API priority and fairness,
https://kubernetes.io/docs/concepts/cluster-administration/flow-control/). A reply that takes longer needs no
rule here: the number of requests under way at once is fixed, so that slower replies mean fewer requests.
"""

GROWTH = 0.2
"""Requests per second that each accepted request adds: at full use, the rate grows by a fifth per second."""

CAREFUL_GROWTH = 0.02
"""The same in the time after a refusal, so that the rate stays close below what is taken,"""
CAREFUL_S = 60.0
"""and the length of this time."""

SAME_REFUSAL_S = 1.0
"""Refusals within this time have one cause: requests that were under way together."""


class RequestRate:
    """A number of requests per second between a first one and a limit, or below after refusals."""

    def __init__(self, first_per_s: float, limit_per_s: float, *, least_per_s: float = 1.0):
        self._limit_per_s = limit_per_s
        self._least_per_s = min(least_per_s, limit_per_s)
        self.per_s = min(first_per_s, limit_per_s)
        self._refused_at = float("-inf")

    def accepted(self, now: float) -> None:
        """Count a request that was accepted after it had waited for its turn."""
        careful = now - self._refused_at < CAREFUL_S
        self.per_s = min(self._limit_per_s, self.per_s + (CAREFUL_GROWTH if careful else GROWTH))

    def refused(self, now: float) -> None:
        """Halve the rate, once for requests that were under way together."""
        if now - self._refused_at >= SAME_REFUSAL_S:
            self.per_s = max(self._least_per_s, self.per_s / 2)
        self._refused_at = now
