"""Statuses of IngressRoutes, and their counts as Contour's metrics have them.

Source: projectcontour/contour v1.3.0, internal/metrics/metrics.go and internal/contour/metrics.go.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from f5router.model.cluster import Key

VALID, INVALID, ORPHANED = "valid", "invalid", "orphaned"
NO_ROOT = "this IngressRoute is not part of a delegation chain from a root IngressRoute"


class GraphStatus(NamedTuple):
    """Status of an IngressRoute, as far as the objects of the cluster decide it."""

    current: str
    description: str
    fqdn: str = ""
    """That of the root, for metrics; "" for other objects."""


TOTAL, ROOT = "total", "root"
BY_HOST = ("valid", "invalid")
"""Statuses that are counted by vhost, too."""
MOST_HOST = 253
"""Characters of a vhost that are shown."""


class Labels(NamedTuple):
    """A sample: the metric, and the values of its labels."""

    metric: str
    """TOTAL, ROOT or a status."""
    namespace: str
    vhost: str = ""


class StatusCounts:
    """Counts that one thread changes and any other may read."""

    def __init__(self) -> None:
        self._samples: dict[Key, tuple[Labels, ...]] = {}
        self._counts: Counter[Labels] = Counter()
        self.counts: Mapping[Labels, int] = {}
        """The counts when they were published last; never changed in place."""
        self.rebuilt_at = 0.0
        """When a graph changed last, in seconds since the epoch; 0 for never."""

    def put(self, key: Key, status: GraphStatus | None, *, is_root: bool = False) -> None:
        """Set the status of an object; None for a deleted object."""
        for labels in self._samples.pop(key, ()):
            self._counts[labels] -= 1
            if not self._counts[labels]:
                del self._counts[labels]
        if status is None:
            return
        vhost = status.fqdn[:MOST_HOST] if status.current in BY_HOST else ""
        samples = [Labels(TOTAL, key.namespace), Labels(status.current, key.namespace, vhost)]
        samples += [Labels(ROOT, key.namespace)] if is_root else []
        self._samples[key] = tuple(samples)
        self._counts.update(samples)

    def publish(self, now: float) -> None:
        """Publish the counts to readers. Args: now: seconds since the epoch."""
        self.counts, self.rebuilt_at = dict(self._counts), now
