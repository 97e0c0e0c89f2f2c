"""Times and bounds of the control loop."""

from dataclasses import dataclass, field

from f5router.app.device_watch import Periods
from f5router.icontrol import failover, pair
from f5router.icontrol.rest import session
from f5router.kube.settings import SecretPace, StatusTiming, WatchTiming
from f5router.model.limits import Backoff


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncTiming:
    """Durations of config sync, in seconds."""

    settle_s: float = 6.0
    """The status is read this long after the last write, so after the save,"""
    settle_limit_s: float = 60.0
    """and at the latest this long after the first."""
    wait_s: float = 10.0
    """Period at which a sync that is under way is looked at again,"""
    patience_s: float = 180.0
    """and time after which it is reported."""
    problem_s: float = 60.0
    """Period at which a problem that was reported is looked at again."""
    refused: Backoff = field(default_factory=lambda: Backoff(first_s=5.0, limit_s=60.0))
    """Waits after looks that the device refused in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Everything that no setting decides. Durations are in seconds."""

    settle_s: float = 5.0
    """The configuration is saved this long after the last write,"""
    settle_limit_s: float = 60.0
    """and at the latest this long after the first."""
    tidy_most: int = 20
    """LTM nodes that are deleted in one turn; then the loop looks at events again."""
    exit_s: float = 10.0
    """Longest wait for the saving at the end, of the 30 s that a pod has."""

    busy_s: float = 1.0
    """Pause after the device refused a request as busy, during a save or shortly afterwards."""
    slice_s: float = 1.0
    """A pass that others wait for ends after this long, and leaves the rest to the next one."""
    portion: int = 500
    """Rough number of objects in a pass while other changes come in, from each namespace in turn."""
    load_portion: int = 4000
    """The same while none do: of some 1,200 Routes. Their statuses are written before the next one."""

    backoff: Backoff = field(default_factory=lambda: Backoff(first_s=1.0, limit_s=60.0))
    """Waits after passes that failed in a row."""
    endpoints_s: float = 5.0
    """Longest of these waits while changed endpoints are pending; not after a refused login."""
    refused_login_s: float = 60.0
    """Pause after a refused login: accounts are locked after a few."""
    login_pause_s: float = session.REFUSED_S
    """Time after a refused login for which the client itself sends nothing."""

    failover_s: float = 5.0
    """Period at which the failover state is read while nothing is written, standby or not."""
    failover_fresh_s: float = failover.FRESH_S
    """Age up to which a failover state permits a write,"""
    failover_alone_s: float = failover.ALONE_S
    """and the same for a device that stands alone."""
    servers_s: float = 5.0
    """Period at which the virtual servers are looked at, and what is wrong is logged."""
    device: Periods = field(default_factory=Periods)
    """The same for LTM nodes, licence, modules and the role of the user."""
    api_look_s: float = 2.0
    """Longest time between two looks at the API server."""
    look_s: float = pair.LOOK_S
    """Longest wait for the failover state of a unit of a pair."""
    files_s: float = 10.0
    """Period at which the administrator's files for TLS are read again."""
    confirm_s: float = 5.0
    """Time between the holding back of deletes and the second list of the cluster, which confirms them."""

    drain_s: float = 0.25
    """Time that a BIG-IP has to connect a request to the pod that was chosen for it."""
    passthrough_drain_s: float = 30.0
    """Time for which connections whose TLS ends at the BIG-IP go on when their Route becomes passthrough."""

    statuses: StatusTiming = field(default_factory=StatusTiming)
    """When a status is not written at once; its `contention_s` follows a setting."""
    secret_pace: SecretPace = field(default_factory=SecretPace)
    """How often Secrets are read, and when a failure to read them counts."""
    sync: SyncTiming = field(default_factory=SyncTiming)
    watch: WatchTiming = field(default_factory=WatchTiming)
    """How each kind is listed and watched; its `resync_s` follows a setting."""


DEFAULT = Timing()
