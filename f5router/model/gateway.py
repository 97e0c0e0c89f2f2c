"""Objects of the Gateway API, decoded: fields as written, nothing validated or defaulted.

Source: gateway-api.sigs.k8s.io, API specification; kubernetes-sigs/gateway-api v1.4.1, apis/v1/*_types.go and
apis/v1beta1/referencegrant_types.go. Older versions of a kind are decoded into the same values.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from f5router.model.cluster import Key, Subject
from f5router.model.json_types import JSON

if TYPE_CHECKING:
    from f5router.model.label_selector import Requirement

GROUP = "gateway.networking.k8s.io"
GATEWAY, GATEWAY_CLASS = "Gateway", "GatewayClass"
HTTP_ROUTE, TLS_ROUTE, TCP_ROUTE = ROUTE_KINDS = ("HTTPRoute", "TLSRoute", "TCPRoute")
"""Kinds of routes that are served."""
BACKEND_TLS_POLICY = "BackendTLSPolicy"
SERVICE, SECRET, CONFIG_MAP = "Service", "Secret", "ConfigMap"


class ObjectRef(NamedTuple):
    """A reference to an object, with the defaults of its field."""

    group: str
    kind: str
    name: str
    namespace: str = ""
    """"" for the namespace of the object that refers to it."""

    def key(self, namespace: str) -> Key:
        """Return the object. Args: namespace: that of the object that refers to it."""
        return Key(self.namespace or namespace, self.name)


class ParentRef(NamedTuple):
    """An entry of spec.parentRefs."""

    ref: ObjectRef
    section: str = ""
    """sectionName; "" for all listeners."""
    port: int = 0
    """0 for all ports."""
    written: tuple[tuple[str, str | int], ...] = ()
    """Its fields as written, which its status repeats."""


class HeaderModifier(NamedTuple):
    """requestHeaderModifier or responseHeaderModifier; names and values of headers."""

    set: tuple[tuple[str, str], ...] = ()
    add: tuple[tuple[str, str], ...] = ()
    remove: tuple[str, ...] = ()


class PathModifier(NamedTuple):
    """Replacement of the path of a request."""

    type: str
    """ReplaceFullPath or ReplacePrefixMatch."""
    value: str
    """Path that stands in place of the whole one, or of what a match has matched."""


class RequestRedirect(NamedTuple):
    """requestRedirect; "" and 0 for what is not given."""

    scheme: str = ""
    hostname: str = ""
    port: int = 0
    status: int = 0
    path: PathModifier | None = None


class URLRewrite(NamedTuple):
    """urlRewrite."""

    hostname: str = ""
    """"" for that of the request."""
    path: PathModifier | None = None


class Filter(NamedTuple):
    """An entry of filters."""

    type: str
    headers: HeaderModifier | None = None
    redirect: RequestRedirect | None = None
    rewrite: URLRewrite | None = None


class BackendRef(NamedTuple):
    """An entry of backendRefs."""

    ref: ObjectRef
    port: int = 0
    """0 without one."""
    weight: int = 1
    filters: tuple[Filter, ...] = ()


class ValueMatch(NamedTuple):
    """An entry of headers or queryParams of a match."""

    type: str
    """Exact or RegularExpression."""
    name: str
    value: str


class HTTPMatch(NamedTuple):
    """An entry of matches."""

    path_type: str = "PathPrefix"
    path: str = "/"
    method: str = ""
    headers: tuple[ValueMatch, ...] = ()
    query: tuple[ValueMatch, ...] = ()


class HTTPRule(NamedTuple):
    """An entry of spec.rules."""

    matches: tuple[HTTPMatch, ...] = (HTTPMatch(),)
    filters: tuple[Filter, ...] = ()
    backends: tuple[BackendRef, ...] = ()
    others: tuple[str, ...] = ()
    """Further fields that change what is served, such as timeouts."""


@dataclass(frozen=True, slots=True)
class ObjectWithStatus:
    """An object whose status the router writes."""

    key: Key
    uid: str = ""
    created: str = ""
    """creationTimestamp, RFC 3339 in UTC: sorts as text."""
    generation: int = 0
    problem: str = ""
    """Why it cannot be decoded: a field of the wrong type, or more of something than is possible; "" if it
    can."""
    resource_version: str = field(default="", compare=False, repr=False)
    status: JSON = field(default_factory=dict, compare=False, repr=False, hash=False)

    @property
    def age(self) -> tuple[str, str, str]:
        """Smaller is older: by creation, then by namespace and name. Source: HTTPRouteRule.Matches."""
        return (self.created, self.key.namespace, self.key.name)


@dataclass(frozen=True, slots=True)
class GatewayRoute(ObjectWithStatus):
    """A route of any kind."""

    kind: ClassVar[str]
    parents: tuple[ParentRef, ...] = ()
    hostnames: tuple[str, ...] = ()

    @property
    def subject(self) -> Subject:
        """Kind and key: routes of several kinds may have the same key."""
        return Subject(self.kind, self.key)

    @property
    def backends(self) -> Iterator[BackendRef]:
        """All entries of backendRefs."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class HTTPRoute(GatewayRoute):
    """An HTTPRoute."""

    kind = HTTP_ROUTE
    rules: tuple[HTTPRule, ...] = ()

    @property
    def backends(self) -> Iterator[BackendRef]:
        """See GatewayRoute."""
        for rule in self.rules:
            yield from rule.backends


@dataclass(frozen=True, slots=True)
class StreamRoute(GatewayRoute):
    """A route of connections, in which the BIG-IP looks for no requests."""

    rules: tuple[tuple[BackendRef, ...], ...] = ()
    """backendRefs of each rule."""

    @property
    def backends(self) -> Iterator[BackendRef]:
        """See GatewayRoute."""
        return itertools.chain.from_iterable(self.rules)


@dataclass(frozen=True, slots=True)
class TLSRoute(StreamRoute):
    """A TLSRoute."""

    kind = TLS_ROUTE


@dataclass(frozen=True, slots=True)
class TCPRoute(StreamRoute):
    """A TCPRoute, which has no hostnames."""

    kind = TCP_ROUTE


class KindRef(NamedTuple):
    """An entry of allowedRoutes.kinds."""

    group: str
    kind: str


@dataclass(frozen=True, slots=True)
class GatewayListener:
    """An entry of spec.listeners of a Gateway."""

    name: str
    port: int
    protocol: str
    hostname: str = ""
    """"" for all hosts."""
    tls_mode: str = ""
    """Terminate or Passthrough; "" without the object tls."""
    certificates: tuple[ObjectRef, ...] = ()
    options: tuple[str, ...] = ()
    """Keys of tls.options."""
    namespaces: str = "Same"
    """allowedRoutes.namespaces.from: Same, All or Selector."""
    selector: "tuple[Requirement, ...] | None" = None
    """Requirements on the labels of a namespace, all of which must hold."""
    kinds: tuple[KindRef, ...] = ()
    """Empty: all that suit the protocol."""


class FrontendValidation(NamedTuple):
    """Validation of client certificates: spec.tls.frontend, default.validation or that of a port."""

    field: str
    authorities: tuple[ObjectRef, ...] = ()
    """caCertificateRefs."""
    mode: str = "AllowValidOnly"


class GatewayAddress(NamedTuple):
    """An entry of spec.addresses."""

    type: str
    value: str = ""
    """"" for any address of the type."""


@dataclass(frozen=True, slots=True)
class Gateway(ObjectWithStatus):
    """A Gateway."""

    class_name: str = ""
    listeners: tuple[GatewayListener, ...] = ()
    addresses: tuple[GatewayAddress, ...] = ()
    held: tuple[str, ...] = ()
    """Addresses in its status."""
    parameters: bool = False
    """True if it has infrastructure.parametersRef."""
    default_validation: FrontendValidation | None = None
    port_validations: tuple[tuple[int, FrontendValidation | None], ...] = ()
    """Those of spec.tls.frontend.perPort, which go before the default one."""
    unsupported: str = ""
    """Field that changes what is served and has no effect here; "" without one."""

    def validation(self, port: int) -> FrontendValidation | None:
        """Return how clients of HTTPS listeners of a port are validated; None if they are not."""
        return dict(self.port_validations).get(port, self.default_validation)


@dataclass(frozen=True, slots=True)
class GatewayClass(ObjectWithStatus):
    """A GatewayClass."""

    controller: str = ""
    parameters: bool = False
    """True if it has a parametersRef."""


class PolicyTarget(NamedTuple):
    """An entry of spec.targetRefs of a policy, in its own namespace."""

    group: str
    kind: str
    name: str
    section: str = ""
    """sectionName, the name of a port; "" for all."""


@dataclass(frozen=True, slots=True)
class BackendTLSPolicy(ObjectWithStatus):
    """A BackendTLSPolicy: pods of Services are asked over TLS, and verified."""

    targets: tuple[PolicyTarget, ...] = ()
    authorities: tuple[ObjectRef, ...] = ()
    """caCertificateRefs."""
    hostname: str = ""
    """Name that the router asks for, and that the certificates of the pods must carry."""
    unsupported: str = ""
    """Field that changes what is served and has no effect here; "" without one."""


class GrantFrom(NamedTuple):
    """Objects that may refer."""

    group: str
    kind: str
    namespace: str


class GrantTo(NamedTuple):
    """Objects that may be referred to."""

    group: str
    kind: str
    name: str = ""
    """"" for all of the kind."""


@dataclass(frozen=True, slots=True)
class ReferenceGrant:
    """A ReferenceGrant: what of its namespace objects of others may refer to."""

    key: Key
    sources: tuple[GrantFrom, ...] = ()
    targets: tuple[GrantTo, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelledNamespace:
    """A namespace with its labels."""

    key: Key
    labels: tuple[tuple[str, str], ...] = ()
    """Sorted."""
