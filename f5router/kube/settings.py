"""Settings of the connection to the API server, and bounds for what is read of it.

Nothing is imported here that takes long, so that the command line can read its settings at once.
"""

from dataclasses import dataclass


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
    namespace: str | None = None
    """Namespace to which a ClusterWatcher is limited; None for all."""
    connect_timeout_s: float = 10
    read_timeout_s: float = 60
    """Longest silence in a reply; a watch sets its own."""
    sdn: bool = True
    """True if openshift-sdn is expected, one of whose roles may then grant a missing right."""


@dataclass(frozen=True, slots=True)
class SecretLimits:
    """Limits on the number of Secrets that are read."""

    per_namespace: int = 2000
    total: int = 5000
