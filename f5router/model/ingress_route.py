"""Contour's IngressRoute and TLSCertificateDelegation, decoded: fields as written, nothing validated.

Source: projectcontour/contour v1.5.1, apis/contour/v1beta1/ingressroute.go and docs/ingressroute.md.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from f5router.model.cluster import Key


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
    """A delegate: the IngressRoute that goes on."""

    name: str
    namespace: str = ""
    """"" for the namespace of the object that delegates."""


class RouteEntry(NamedTuple):
    """An entry of spec.routes."""

    match: str = ""
    services: tuple[RouteService, ...] = ()
    delegate: Delegate | None = None
    permit_insecure: bool = False
    websockets: bool = False
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
    resource_version: str = field(default="", compare=False, repr=False)
    status: tuple[str, str] = field(default=("", ""), compare=False, repr=False)
    """status.currentStatus and status.description, as written."""


@dataclass(frozen=True, slots=True)
class CertificateDelegation:
    """A TLSCertificateDelegation: Secrets of its namespace that roots of other namespaces may use."""

    key: Key
    delegations: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names of Secrets, each with the namespaces that may use it."""
