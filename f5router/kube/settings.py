"""Settings of the connections to the API server, and the times that no setting decides.

Nothing is imported here that takes long, so that the command line can read its settings at once.

Those of the control loop are in app/timing.py, above this package. Durations are in seconds.
"""

from dataclasses import dataclass, field

from f5router.model.limits import Backoff
from f5router.model.selection import Selection
from f5router.model.virtual_server import FrontEndSet
from f5router.sources.front_ends import FrontEndSelection
from f5router.sources.settings import SourceSettings

EVERY_ROUTE = Selection()
ALL_SOURCES = SourceSettings()
NO_FRONT_ENDS = FrontEndSet()


@dataclass(frozen=True, slots=True)
class KubeSettings:
    """Address of the API server, and the login.

    The first that applies: kubeconfig; the variable KUBECONFIG; the service account of a pod;
    ~/.kube/config; master without credentials.
    """

    kubeconfig: str | None = None
    """Path of a file, or several as in KUBECONFIG."""
    context: str | None = None
    """Context of the kubeconfig; None for its current one."""
    master: str | None = None
    """URL that replaces the server of the configuration (KUBERNETES_MASTER)."""
    connect_timeout_s: float = 10
    read_timeout_s: float = 60
    """Longest silence in a reply; a watch sets its own."""
    sdn: bool = True
    """True if openshift-sdn is expected, one of whose roles may then grant a missing right."""

    @property
    def source(self) -> str:
        """Return where the address of the API server comes from, for messages."""
        if self.master:
            return "--master"
        context = f", --context {self.context}" if self.context else ""
        if self.kubeconfig:
            return f"--config {self.kubeconfig}{context}"
        return f"KUBECONFIG, the service account of the pod, or ~/.kube/config{context}"


@dataclass(frozen=True, slots=True)
class ElectionTiming:
    """Durations of an election, in seconds."""

    duration_s: float = 15.0
    """Time for which others wait for a leader that does not renew the Lease."""
    renew_deadline_s: float = 10.0
    """Time for which a leader leads without renewing it."""
    retry_s: float = 2.0
    """Time between two attempts to renew it, or to get it."""


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """The Lease by which replicas elect a leader."""

    name: str
    namespace: str
    timing: ElectionTiming


@dataclass(frozen=True, slots=True)
class SecretLimits:
    """Limits on the number of Secrets that are read."""

    per_namespace: int = 2000
    total: int = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """The kinds and objects that a ClusterWatcher follows."""

    selection: Selection = EVERY_ROUTE
    """The Routes; its namespace limits all other kinds that have namespaces, too."""
    sources: SourceSettings = ALL_SOURCES
    front_ends: tuple[FrontEndSelection, ...] = ()
    """Selections of the front ends; () for one that serves everything."""
    front_end_set: FrontEndSet = NO_FRONT_ENDS
    """The front ends that the settings describe."""
    nodes: bool = False
    sdn: bool = False
    """Watch HostSubnets and ClusterNetworks."""
    nodeport: bool = False
    """Pool members are Nodes, so nothing works without these; only the Nodes of endpoints are kept, and
    endpoints may be forbidden."""
    node_selector: str = ""
    """Labels of the Nodes to watch."""
    use_endpoints: bool = False
    """Read Endpoints even if EndpointSlices are served."""
    secrets: bool = False
    """Read the Secrets that Routes name in spec.tls.externalCertificate."""
    secret_limits: SecretLimits = SecretLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusSettings:
    """The router's entry in the status of Routes, and if and how fast it is written."""

    router_name: str
    """Name of the router's entry."""
    canonical_hostname: str = ""
    """"" for none."""
    enabled: bool = True
    """False: nothing is written."""
    clean: bool = True
    """Remove entries from Routes that have left the selection."""
    rate_per_s: float = 100
    """Most writes, by all workers together; a status that is there already costs nothing."""


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
    absent_soon_s: float = 1.0
    """The same while a start waits for the answer."""


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
