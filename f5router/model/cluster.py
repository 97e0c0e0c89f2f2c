"""State of the cluster: frozen values decoded from the Kubernetes API.

A resourceVersion is not part of a value: two readings of an object are equal if nothing that the router
serves has changed, so the router's own status writes are no change.
"""

import re
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from f5router.model.json_types import JSON
from f5router.model.net import VXLAN_PORT
from f5router.model.request_match import RequestMatch
from f5router.model.route_options import DEFAULTS, RouteOptions

_LABEL = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_OBJECT_NAME = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*")

OVN_SUBNETS = "k8s.ovn.org/node-subnets"
"""Annotation of a Node under OVN-Kubernetes: the networks of its pods, as JSON."""
OVN_HOST_ADDRESSES = ("k8s.ovn.org/host-cidrs", "k8s.ovn.org/host-addresses")
"""Annotations of a Node under OVN-Kubernetes, the older one last: the addresses of all its interfaces, as
JSON. Source: ovn-kubernetes, go-controller/pkg/util/node_annotations.go."""


class Key(NamedTuple):
    """Namespace and name of an object, the former "" for cluster-wide kinds.

    A Route that several front ends serve is one Route for each of them.
    """

    namespace: str
    name: str
    front_end: str = ""
    """Name of the front end that serves a Route; "" for the one that has none, and for all other objects."""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def on(self, front_end: str) -> "Key":
        """Return the key of a Route on a front end; on the one without a name it is that in the cluster."""
        return Key(self.namespace, self.name, front_end)


@dataclass(frozen=True, slots=True)
class RouteTLS:
    """spec.tls, as written; nothing is validated or defaulted here."""

    termination: str = ""
    insecure_policy: str = ""
    """insecureEdgeTerminationPolicy: "", None, Allow or Redirect."""
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    ca_certificate: str = field(default="", repr=False)
    destination_ca_certificate: str = field(default="", repr=False)
    external_certificate: str = ""
    """Name of a Secret; "" without one."""


class Backend(NamedTuple):
    """An entry of spec.alternateBackends, as written."""

    service: str = ""
    """Name of the Service."""
    weight: int | None = None
    kind: str = "Service"
    port: str | None = None
    """Port of this Service, as Route.target_port; None for that of the Route."""
    namespace: str = ""
    """"" for that of the Route; another one for a virtual Route that may refer to it."""


class PodAuthority(NamedTuple):
    """A Secret with the authorities by which the pods of a virtual Route are verified."""

    secret: Key
    entry: str
    """Key of its data: TLS_CRT or CA_CRT."""
    field: str
    """Beginning of messages about it."""
    names: tuple[tuple[str, str], ...] = ()
    """The name that the certificates must carry, by Service; () for any."""
    asks_for_name: bool = False
    """True if pods are asked for that name, by server name indication."""


class PathMatch(StrEnum):
    """Meaning of a path."""

    SEGMENTS = "segments"
    """The path itself and all below it: /foo matches /foo and /foo/bar, not /foobar."""
    TEXT = "text"
    """All that begins with the text: /foo matches /foobar too. Source: projectcontour/contour v0.15.3,
    docs/ingressroute.md."""
    EXACT = "exact"
    """The path itself. Source: Kubernetes, Ingress, path types."""


class Subject(NamedTuple):
    """An object of the cluster, as a person knows it."""

    kind: str
    key: Key


@dataclass(frozen=True, slots=True)
class Origin:
    """The object that a virtual Route stands for, for its status and for messages about it.

    `created` and `uid` of the Route are those of the object that claims the Host.
    """

    kind: str
    """Ingress, IngressRoute, Gateway, or a kind of its routes."""
    key: Key
    field: str = ""
    """Part of the object, such as spec.rules[0].http.paths[1]."""
    host_field: str = ""
    """Field that the Host comes from, such as spec.rules[0].host."""
    claimant: Key | None = None
    """The object that claims the Host, where it is another one: the root of an IngressRoute."""
    tls_field: str = ""
    """Field of the claimant with the Secret, such as spec.tls[0].secretName."""


@dataclass(frozen=True, slots=True)
class Route:
    """OpenShift Route, or virtual Route: one of the Routes that another object stands for."""

    key: Key
    uid: str = ""
    created: str = ""
    """creationTimestamp, RFC 3339 in UTC: sorts as text."""
    host: str = ""
    """spec.host as written, or as the router made it (hostnames.Naming)."""
    subdomain: str = ""
    path: str = ""
    service: str = ""
    """spec.to.name."""
    service_kind: str = "Service"
    weight: int | None = None
    alternates: tuple[Backend, ...] = ()
    """spec.alternateBackends; of more than are possible only one more is kept."""
    target_port: str = ""
    """spec.port.targetPort, number or name, as text; "" without one."""
    tls: RouteTLS | None = None
    wildcard_policy: str = "None"
    options: RouteOptions = DEFAULTS
    option_problems: tuple[str, ...] = ()
    """Why options have no effect, each beginning with the field."""
    option_refusal: str = ""
    """Why the Route must not be served with the options that it has; "" if it may."""
    waf: str = ""
    """The WAF policy that must protect it, as written, or its beginning; "" without one."""
    unsupported: tuple[str, ...] = ()
    """Keys of annotations for a router, and other fields, without effect here; see annotations.py."""
    path_match: PathMatch = PathMatch.SEGMENTS
    match: RequestMatch | None = None
    """Set for a virtual Route whose Host and path others of the same claimant may have too."""
    tls_secret: Key | None = None
    """The Secret with the certificate of a virtual Route; it may be in another namespace."""
    pod_authority: PodAuthority | None = None
    """In place of tls.destination_ca_certificate, of a virtual Route whose pods are asked over TLS."""
    pods_speak_tls: bool = False
    """True if the pods of a virtual Route without TLS are asked over TLS all the same."""
    redirect_status: int = 302
    """Status of the response that sends a client to port 443."""
    minimum_tls: str = ""
    """Lowest version of TLS that clients may use, one of client_tls.VERSIONS; "" for the router's."""
    exclusive: bool = False
    """True if no less specific Route must get requests for its path, nor on a port that it does not serve."""
    origin: Origin | None = None
    """None for a Route of the cluster."""
    port: int = 0
    """80 or 443 for a virtual Route of requests that come without or with TLS alone: those of the other kind
    are another Route's. 0 for both, as its TLS says."""
    alone: bool = False
    """True if no pods of another Route get what the Routes of its Host leave of the requests for it."""
    default_backend: bool = False
    """True for a virtual Route of the hosts that nobody claims; its host is hostnames.ANY."""
    labels: tuple[tuple[str, str], ...] = ()
    """metadata.labels of a Route of the cluster, sorted."""
    owner_ingress: str = ""
    """uid of the Ingress that OpenShift's controller made it of; "" for none."""
    resource_version: str = field(default="", compare=False, repr=False)
    status_ingress: tuple[JSON, ...] = field(default=(), compare=False, repr=False, hash=False)
    """status.ingress as plain JSON objects, other routers' entries too."""

    @property
    def secret(self) -> Key | None:
        """The Secret with its certificate; None without one, and if pods terminate TLS.

        Its name may be one that no Secret can have, see `is_object_name`.
        """
        if self.tls_secret is not None:
            return self.tls_secret
        if self.tls is None or self.tls.termination == "passthrough" or not self.tls.external_certificate:
            return None
        return Key(self.key.namespace, self.tls.external_certificate)

    @property
    def secrets(self) -> tuple[Key, ...]:
        """All Secrets that it refers to."""
        others = (self.pod_authority.secret,) if self.pod_authority else ()
        return (self.secret, *others) if self.secret else others

    @property
    def age(self) -> tuple[str, str]:
        """Smaller is older. Source: openshift/router, routeapihelpers: RouteLessThan."""
        return (self.created, self.uid)

    @property
    def subject(self) -> Subject:
        """The object that messages name: the Route itself, or its origin."""
        return Subject(self.origin.kind, self.origin.key) if self.origin else Subject("Route", self.key)

    @property
    def claimant(self) -> Key:
        """The object that claims its Host."""
        return (self.origin.claimant or self.origin.key) if self.origin else self.key

    @property
    def claim_namespace(self) -> str:
        """The namespace that holds its Host."""
        return self.claimant.namespace


def is_object_name(text: str) -> bool:
    """True if an object of most kinds can have this name. Source: Kubernetes, names: DNS subdomain."""
    return _OBJECT_NAME.fullmatch(text) is not None


TLS_SECRET, OPAQUE, TLS_CRT, CA_CRT = "kubernetes.io/tls", "Opaque", "tls.crt", "ca.crt"
"""Types of Secrets, and keys of their data."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A Secret that Routes refer to."""

    key: Key
    type: str = ""
    certificate: str = field(default="", repr=False)
    """TLS_CRT; "" for types but these two."""
    private_key: str = field(default="", repr=False)
    """tls.key, of type TLS_SECRET alone."""
    authorities: str = field(default="", repr=False)
    """CA_CRT; "" likewise."""
    problem: str = ""
    """Why it cannot be used or read; "" if it can."""
    not_loaded: bool = False
    """True if its content is not known yet."""
    unread: str = ""
    """Why it cannot be read any more, although its content is known: as it was read last; "" if it can."""
    forbidden: bool = False
    """True if the router lacks the right to read it, which says nothing of it: `not_loaded` is True."""

    def text(self, entry: str) -> str:
        """Return an entry of its data with certificates: TLS_CRT or CA_CRT."""
        return self.authorities if entry == CA_CRT else self.certificate


@dataclass(frozen=True, slots=True)
class ServicePort:
    """A port of a Service."""

    name: str
    port: int
    protocol: str = "TCP"
    target_port: str = ""
    node_port: int = 0
    app_protocol: str = ""
    upstream_protocol: str = ""
    """tls, h2 or h2c, by an annotation of Contour, which counts for IngressRoutes alone."""


@dataclass(frozen=True, slots=True)
class Service:
    """A Service; its members come from its endpoints."""

    key: Key
    ports: tuple[ServicePort, ...] = ()
    cluster_ip: str = ""
    type: str = "ClusterIP"
    local: bool = False
    """True if externalTrafficPolicy is Local: only Nodes with a ready pod accept connections."""
    idled: bool = False
    """True if `oc idle` took its pods away, until the first request comes to its cluster IP."""
    circuit_breakers: tuple[str, ...] = ()
    """Contour's limits that its annotations set; they have no effect."""


@dataclass(frozen=True, slots=True, order=True)
class EndpointPort:
    """Port that every address of an EndpointSlice serves."""

    name: str
    port: int
    protocol: str = "TCP"


@dataclass(frozen=True, slots=True)
class EndpointSlice:
    """Ready addresses of a Service: an EndpointSlice, or one subset of an Endpoints object.

    An Endpoints object with several subsets becomes several of these, named <name>/<number>.
    """

    key: Key
    service: str
    """Name of the Service, in the same namespace."""
    addresses: frozenset[str] = frozenset()
    """Ready IPv4 and IPv6 addresses, in canonical text form; none if only `nodes` is kept."""
    ports: tuple[EndpointPort, ...] = ()
    nodes: frozenset[str] = frozenset()
    """Names of Nodes with a ready address, "" for an unnamed one; only if node ports are pool members."""
    omitted: int = 0
    """Number of further ready addresses, beyond those that are kept."""
    draining: frozenset[str] = frozenset()
    """Addresses of pods that are ending but still serve, in canonical text form."""
    unready: bool = False
    """True if there are addresses of pods that are not ready."""
    idled: bool = False
    """As for a Service: OpenShift 3 notes it on the Endpoints object."""
    places: tuple[tuple[str, str], ...] = ()
    """Ready addresses, sorted, each with the name of its Node or ""; only where ways to Nodes are made."""

    def without_addresses(self) -> "EndpointSlice":
        """Return the slice with the Nodes of its pods alone."""
        return replace(self, addresses=frozenset(), draining=frozenset(), omitted=0)


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace, or project, that is selected."""

    key: Key
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A Kubernetes Node."""

    key: Key
    uid: str = ""
    internal_ips: tuple[str, ...] = ()
    """status.addresses of type InternalIP, in order."""
    ready: bool = True
    unschedulable: bool = False
    pod_cidrs: tuple[str, ...] = ()
    """spec.podCIDRs, as written."""
    ovn_subnets: str = ""
    """The annotation OVN_SUBNETS, as written; "" without one."""
    created: str = ""
    """creationTimestamp, RFC 3339 in UTC: sorts as text."""
    other_ips: tuple[str, ...] = ()
    """Further addresses, of the annotation OVN_HOST_ADDRESSES, sorted."""

    @property
    def age(self) -> tuple[str, str]:
        """Smaller is older."""
        return (self.created, self.uid)


@dataclass(frozen=True, slots=True)
class HostSubnet:
    """Subnet that openshift-sdn gave to a host: a Node, or a ghost such as the BIG-IP."""

    key: Key
    """The name is the host's."""
    host_ip: str = ""
    """Address at which the host receives VxLAN; "" if it is invalid."""
    subnet: str = ""
    """CIDR; "" until the SDN master has allocated one."""


@dataclass(frozen=True, slots=True)
class ClusterNetwork:
    """The network of all pods."""

    key: Key
    networks: tuple[str, ...] = ()
    """CIDRs."""
    vxlan_port: int = VXLAN_PORT
    """UDP port on which every Node receives VxLAN."""


@dataclass(frozen=True, slots=True)
class PodNetworks:
    """Networks that a network plug-in gave to a Node for its pods: a block of Calico, or a CiliumNode."""

    key: Key
    node: str = ""
    """Name of the Node."""
    networks: tuple[str, ...] = ()
    """As written."""


