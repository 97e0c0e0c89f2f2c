"""Times and bounds of the watches, of the readers of Secrets and of the writers, which no setting decides.

Those of the control loop are in app/timing.py, above this package. Durations are in seconds.
"""

from dataclasses import dataclass, field

from f5router.model.limits import Backoff

PAGE_SIZE = 500
"""Objects per page of a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchTiming:
    """How each kind is listed and watched."""

    page_size: int = PAGE_SIZE
    resync_s: float = 1800.0
    """Interval between two lists; 0 for none after the first."""
    watch_s: tuple[float, float] = (240.0, 480.0)
    """Range of the random duration of a watch, so that watches do not all end together."""
    grace_s: float = 15.0
    """How long after its end a silent watch counts as broken."""
    backoff: Backoff = field(default=Backoff(first_s=0.5, limit_s=60.0))
    """Waits after failures."""
    confirm_s: float = 5.0
    """Wait after a list that lacks most of the known objects, before the second one, which confirms it."""
    absent_s: float = 30.0
    """Longest time between two looks for a kind that the API server does not serve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretPace:
    """How often Secrets are read."""

    readers: int = 8
    """Reads in flight; each takes a thread and a connection."""
    readers_per_namespace: int = 4
    """Reads in flight for one namespace: one in which the API server hangs leaves readers to the others."""
    readers_of_slow: int = 2
    """Reads in flight for Secrets that the API server was slow to return the last time."""
    burst: int = 5000
    """First reads without a pause, as after a start: as many as the limit of Secrets."""
    first_per_s: float = 20.0
    """First reads per second, once the burst is used up."""
    again_per_s: float = 25.0
    """All other reads per second."""
    refresh_s: float = 20.0
    """Longest time between two reads of a Secret, as far as again_per_s permits."""
    watched_s: float = 60.0
    """The same in a namespace that is watched."""
    hasten_s: float = 1.0
    """Shortest time between two reads of a Secret, however often its Routes change."""
    absent: Backoff = field(default=Backoff(first_s=2.0, limit_s=45.0))
    """Waits for a Secret that is missing or forbidden."""
    failed: Backoff = field(default=Backoff(first_s=0.5, limit_s=10.0))
    """Waits for a Secret that the API server fails to read."""
    probe: Backoff = field(default=Backoff(first_s=0.5, limit_s=8.0))
    """Waits between two reads while the API server itself fails."""
    timeout_s: float = 5.0
    """Longest silence of the API server during a read."""
    patience_s: float = 60.0
    """How long the API server may refuse a Secret that was read, or fail to return one that was not, before
    the router acts on it: an API server that restarts does both for a moment."""
    start_s: float = 5.0
    """How long the start waits for Secrets once every kind is listed: enough for many, not for one that
    hangs. It is unknown what the Routes of a missing one need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusTiming:
    """Timing of status writes."""

    first_per_s: float = 20.0
    """Writes per second before any was accepted, as many as kube-controller-manager makes by default
    (--kube-api-qps). From there on, the rate adapts, up to a setting."""
    forbidden_s: float = 60.0
    """Wait of a Route after a refusal for want of rights; of the whole queue after two in a row."""
    refused: Backoff = field(default=Backoff(first_s=5.0, limit_s=300.0))
    """Waits of a Route whose status the API server, or a webhook, refuses: it may accept the same later."""
    repair_s: float = 3.0
    """Wait before an entry is restored that somebody else changed: this router may be about to agree."""
    contention_s: float = 180.0
    """How long a Route is left alone that another router of the same name keeps changing."""
