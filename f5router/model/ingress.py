"""Objects beside Routes that say what is served, decoded: fields as written, nothing validated or defaulted.

Source: Kubernetes API reference, Ingress v1 and IngressClass v1; the older networking.k8s.io/v1beta1 and
extensions/v1beta1 are decoded into the same values.

Source: projectcontour/contour v1.5.1, apis/contour/v1beta1/ingressroute.go and docs/ingressroute.md.
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
    labels: tuple[tuple[str, str], ...] = ()
    resource_version: str = field(default="", compare=False, repr=False)
    load_balancer: tuple[JSON, ...] = field(default=(), compare=False, repr=False, hash=False)
    """status.loadBalancer.ingress, entries of others too."""

    @property
    def own_class(self) -> str:
        """The class that it names; "" for none."""
        return self.ingress_class or self.class_annotation or ""


@dataclass(frozen=True, slots=True)
class IngressClass:
    """A Kubernetes IngressClass."""

    key: Key
    controller: str = ""
    is_default: bool = False
    """Annotation ingressclass.kubernetes.io/is-default-class."""


class ServiceHealthCheck(NamedTuple):
    """healthCheck; 0 and "" for what is not given."""

    path: str = ""
    host: str = ""
    interval_s: int = 0
    timeout_s: int = 0
    unhealthy_count: int = 0
    healthy_count: int = 0


class RouteService(NamedTuple):
    """An entry of services."""

    name: str = ""
    port: int = 0
    weight: int | None = None
    strategy: str = ""
    health_check: ServiceHealthCheck | None = None
    ca_secret: str = ""
    """validation.caSecret."""
    subject_name: str = ""
    """validation.subjectName."""


class Delegate(NamedTuple):
    """Delegate: the IngressRoute that continues."""

    name: str
    namespace: str = ""
    """"" for the namespace of the object that delegates."""


class RouteEntry(NamedTuple):
    """An entry of spec.routes."""

    match: str = ""
    services: tuple[RouteService, ...] = ()
    delegate: Delegate | None = None
    permit_insecure: bool = False
    prefix_rewrite: str = ""
    request_timeout: str = ""
    """timeoutPolicy.request."""
    retries: int = 0
    """retryPolicy.count; 0 without a policy."""


class TCPProxy(NamedTuple):
    """spec.tcpproxy."""

    services: tuple[RouteService, ...] = ()
    delegate: Delegate | None = None


class VirtualHost(NamedTuple):
    """spec.virtualhost, which makes an IngressRoute a root."""

    fqdn: str = ""
    secret: str = ""
    """tls.secretName, as written: NAME or NAMESPACE/NAME; "" without TLS."""
    minimum_version: str = ""
    """tls.minimumProtocolVersion."""
    passthrough: bool = False
    tls: bool = False
    """True if it has the object tls, even an empty one."""


@dataclass(frozen=True, slots=True)
class IngressRoute:
    """A Contour IngressRoute."""

    key: Key
    uid: str = ""
    created: str = ""
    """creationTimestamp, RFC 3339 in UTC: sorts as text."""
    ingress_class: str = ""
    """The first of the annotations for it; "" without one."""
    virtual_host: VirtualHost | None = None
    """None for an object that is no root."""
    routes: tuple[RouteEntry, ...] = ()
    tcp_proxy: TCPProxy | None = None
    strategy: str = ""
    """spec.strategy: that of services without one."""
    health_check: ServiceHealthCheck | None = None
    """spec.healthCheck: that of services without one."""
    problem: str = ""
    """Why it cannot be decoded: a field of the wrong type, or more of something than is possible; "" if it
    can."""
    labels: tuple[tuple[str, str], ...] = ()
    resource_version: str = field(default="", compare=False, repr=False)
    status: tuple[str, str] = field(default=("", ""), compare=False, repr=False)
    """status.currentStatus and status.description, as written."""


@dataclass(frozen=True, slots=True)
class CertificateDelegation:
    """A TLSCertificateDelegation: Secrets of its namespace that roots of other namespaces may use."""

    key: Key
    delegations: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names of Secrets, each with the namespaces that may use it."""
