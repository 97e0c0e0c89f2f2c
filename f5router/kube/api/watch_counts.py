"""Counts of lists and watches of the Kubernetes API, for metrics."""

import threading
from collections import Counter

LISTS, WATCHES, FAILURES = "lists", "watches", "failures"


class WatchCounts:
    """Numbers since the start by what happened and resource; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, what: str, resource: str) -> None:
        """Count a complete list, an accepted watch, or a failure of a list or watch."""
        with self._lock:
            self._counts[what, resource] += 1

    def counts(self) -> dict[tuple[str, str], int]:
        """Return a copy."""
        with self._lock:
            return dict(self._counts)
