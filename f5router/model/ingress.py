"""Ingress objects and their classes, decoded: fields as written, nothing validated or defaulted.

Source: Kubernetes API reference, Ingress v1 and IngressClass v1; the older networking.k8s.io/v1beta1 and
extensions/v1beta1 are decoded into the same values.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from f5router.model.cluster import Key
from f5router.model.json_types import JSON

TERMINATION = "route.openshift.io/termination"
DESTINATION_CA = "route.openshift.io/destination-ca-certificate-secret"
READ_ANNOTATIONS = frozenset({TERMINATION, DESTINATION_CA})
"""Annotations of an Ingress alone. Source: OpenShift's documentation, "Creating a route through an Ingress
object"; those of Routes are honoured too."""


class IngressBackend(NamedTuple):
    """A backend."""

    service: str = ""
    """Name of the Service; "" for none."""
    port_name: str = ""
    port_number: int = 0
    resource: bool = False
    """True if it is another object than a Service."""


class IngressPath(NamedTuple):
    """A path of a rule."""

    path: str = ""
    path_type: str = ""
    """Exact, Prefix or ImplementationSpecific; "" in older versions."""
    backend: IngressBackend = IngressBackend()


class IngressRule(NamedTuple):
    """A rule: a host and its paths."""

    host: str = ""
    paths: tuple[IngressPath, ...] | None = None
    """None for a rule without `http`."""


class IngressTLS(NamedTuple):
    """An entry of spec.tls."""

    hosts: tuple[str, ...] = ()
    secret: str = ""


@dataclass(frozen=True, slots=True)
class Ingress:
    """A Kubernetes Ingress."""

    key: Key
    uid: str = ""
    created: str = ""
    """creationTimestamp, RFC 3339 in UTC: sorts as text."""
    ingress_class: str | None = None
    """spec.ingressClassName; None without one."""
    class_annotation: str | None = None
    """Annotation kubernetes.io/ingress.class; None without one."""
    rules: tuple[IngressRule, ...] = ()
    tls: tuple[IngressTLS, ...] = ()
    default_backend: IngressBackend | None = None
    annotations: tuple[tuple[str, str], ...] = ()
    """Annotations for this router or another controller, sorted by key."""
    problem: str = ""
    """Why nothing of it can be served: more of something than is possible; "" without such a reason."""
    resource_version: str = field(default="", compare=False, repr=False)
    load_balancer: tuple[JSON, ...] = field(default=(), compare=False, repr=False, hash=False)
    """status.loadBalancer.ingress, entries of others too."""


@dataclass(frozen=True, slots=True)
class IngressClass:
    """A Kubernetes IngressClass."""

    key: Key
    controller: str = ""
    is_default: bool = False
    """Annotation ingressclass.kubernetes.io/is-default-class."""
