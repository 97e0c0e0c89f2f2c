"""Settings of leader election between replicas of one router.

Names and defaults of the flags are those of Kubernetes' own components (kube-controller-manager, reference of
the command line), and so is the condition on their durations (client-go, tools/leaderelection).
"""

from f5router.config.object_names import object_name
from f5router.config.reader import Reader
from f5router.kube.settings import ElectionTiming, LeaseSettings

NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"
"""Namespace of the pod. Source: kubernetes.io, Accessing the Kubernetes API from a Pod."""

JITTER = 1.2
"""A renewal is tried again before the deadline, however late the first attempt began."""

_ELECT = "leader-elect"
_DURATION, _DEADLINE, _RETRY = TIMES = tuple(
    f"{_ELECT}-{name}" for name in ("lease-duration", "renew-deadline", "retry-period"))
_NAME, _NAMESPACE = f"{_ELECT}-resource-name", f"{_ELECT}-resource-namespace"


def load(reader: Reader) -> LeaseSettings | None:
    """Return the Lease by which replicas elect a leader; None without replicas."""
    timing = ElectionTiming(*(reader.value(name) for name in TIMES))
    name, namespace = reader.value(_NAME), reader.value(_NAMESPACE)
    if not reader.value(_ELECT):
        return None
    if timing.duration_s <= timing.renew_deadline_s:
        reader.problem("the deadline must be shorter than the duration", _DURATION, _DEADLINE)
    if timing.retry_s <= 0 or timing.renew_deadline_s <= JITTER * timing.retry_s:
        reader.problem("the period must be above 0, and the deadline more than 1.2 times as long", _DEADLINE,
                       _RETRY)
    return LeaseSettings(name or _own_name(reader), namespace or _own_namespace(reader), timing)


def _own_name(reader: Reader) -> str:
    """Return a name of the router's own: routers of different names work on different Routes or devices."""
    name = f"f5router-{reader.value('name')}"
    try:
        return object_name(name)
    except ValueError as exc:
        reader.problem(f"{exc}; choose another one", _NAME)
        return name


def _own_namespace(reader: Reader) -> str:
    """Return the namespace of the pod."""
    try:
        return reader.read_file(NAMESPACE_FILE).strip()
    except (OSError, ValueError):
        if not reader.text(_NAMESPACE):
            reader.problem("it must be specified outside of a pod", _NAMESPACE)
        return ""
