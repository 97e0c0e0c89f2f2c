"""Settings of the connection to the API server, of reading and of writing.

Nothing is imported here that takes long, so that the command line can read its settings at once.
"""

from dataclasses import dataclass

from f5router.model.selection import Selection
from f5router.sources.translator import SourceSettings

EVERY_ROUTE = Selection()
ALL_SOURCES = SourceSettings()


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
