"""Settings of the sources: which kinds are served, and which of their objects are this router's.

Sources of the class: Kubernetes, Ingress, "Ingress class"; openshift/route-controller-manager,
pkg/route/ingress/ingress.go.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from f5router.model.address_range import AddressRange, canonical
from f5router.model.cluster import is_object_name
from f5router.model.gateway import GATEWAY, ROUTE_KINDS
from f5router.model.ingress import IngressRoute
from f5router.model.virtual_server import FrontEnd, FrontEndSet

MOST_ROUTES = 10_000
"""Routes that the roots of a namespace publish by its delegations to one namespace. See Budget."""

CONTOUR_CLASS = "contour"
"""Class of objects that are taken where none is configured. Source: projectcontour/contour v1.5.1,
internal/annotation/annotations.go: MatchesIngressClass."""


@dataclass(frozen=True, slots=True)
class IngressRoutePolicy:
    """Settings of IngressRoutes."""

    root_namespaces: frozenset[str] = frozenset()
    """Namespaces that may have roots; empty: all."""
    ingress_class: str = ""
    """Class of the objects that are taken; "" for those without a class, and of class contour."""
    ownership: bool = True
    """A host belongs to one namespace, which claims to Hosts decide: only roots of the same namespace compete
    here. Otherwise a root that lost its Host to a Route would take down roots of the Route's namespace."""

    most_routes: int = MOST_ROUTES
    """Routes of the roots of a namespace by delegation to one namespace."""

    def takes(self, obj: IngressRoute) -> bool:
        """True if an object is not left to another controller."""
        if self.ingress_class:
            return obj.ingress_class == self.ingress_class
        return obj.ingress_class in ("", CONTOUR_CLASS)


CONTROLLER = "f5router.io/ingress"
"""spec.controller of the IngressClasses of this router."""
INGRESS_CLASS = "f5router"
"""Class that the older annotation may name without any IngressClass."""
_CONTROLLER = re.compile(
    r"(?=.{1,250}\Z)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?/[A-Za-z0-9](?:[\w./-]*[A-Za-z0-9])?", re.ASCII)
"""Source: Kubernetes, validateIngressClassSpec: a domain-prefixed path of at most 250 characters."""


def parse_class(text: str) -> str:
    """Parse the name of a class. Raises: ValueError."""
    if not is_object_name(text):
        raise ValueError(f"{text!r} is no name of an IngressClass")
    return text


def parse_controller(text: str) -> str:
    """Parse the name of a controller. Raises: ValueError."""
    if not _CONTROLLER.fullmatch(text):
        raise ValueError(f"{text!r} is no name of a controller such as example.com/router")
    return text


@dataclass(frozen=True, slots=True)
class ClassSettings:
    """The classes of this router."""

    controller: str = CONTROLLER
    name: str = INGRESS_CLASS


ROUTE, INGRESS, INGRESS_ROUTE = KINDS = ("Route", "Ingress", "IngressRoute")
"""Kinds of objects that are served unless the settings name others; GATEWAY is one more."""


def origins(kind: str) -> tuple[str, ...]:
    """Return the kinds of objects that virtual Routes of a kind stand for."""
    return (GATEWAY, *ROUTE_KINDS) if kind == GATEWAY else (kind,)


GATEWAY_CONTROLLER = "f5router.io/gateway"
"""spec.controllerName of the GatewayClasses of this router."""


@dataclass(frozen=True, slots=True)
class ServedPorts:
    """Addresses and ports of the front end that a Gateway has, or may ask for."""

    addresses: tuple[str, ...] = ()
    """Canonical texts; empty if there is no front end that Gateways can have."""
    ports: tuple[tuple[str, int], ...] | None = ()
    """Protocols with the port of each; None for all: the Gateway has front ends of its own."""
    asks_clients: bool = False
    """True if the router's settings ask clients for certificates."""

    @classmethod
    def of(cls, front_ends: Iterable[FrontEnd]) -> "ServedPorts":
        """Return those of the router's own front end, if there is one."""
        front_end = next(iter(front_ends), None)
        if front_end is None:
            return cls()
        ports = (("HTTP", front_end.http_port if front_end.http else 0),
                 ("HTTPS", front_end.https_port if front_end.https else 0))
        return cls(front_end.addresses, tuple((name, port) for name, port in ports if port))


NO_FRONT_END = FrontEnd((), http=None, https=None)


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """Settings of the Gateway API."""

    controller: str = GATEWAY_CONTROLLER
    served: ServedPorts = ServedPorts()
    """The router's own front end, which one Gateway at a time can have."""
    ranges: tuple[AddressRange, ...] = ()
    """Addresses that other Gateways may have."""
    most_addresses: int = 0
    """Addresses that Gateways of one namespace may have; 0 for the default of places.assign."""
    reserved: frozenset[str] = frozenset()
    """Addresses of the front ends of the settings, which they may not have."""
    template: FrontEnd = NO_FRONT_END
    """Settings of their front ends; the paths of virtual servers lack the name."""
    asks_clients: bool = False
    """As of ServedPorts."""

    def has(self, address: str) -> bool:
        """True for an address that the router gives to Gateways. Args: address: any text."""
        known = canonical(address)
        return bool(known) and (known in self.served.addresses or any(known in each for each in self.ranges))

    def with_front_ends(self, front_ends: FrontEndSet) -> "GatewaySettings":
        """Return the settings beside these front ends."""
        reserved = {address for each in front_ends.by_name().values() for address in each.addresses}
        return replace(self, served=ServedPorts.of(front_ends.own), reserved=frozenset(reserved))


ALL_NAMESPACES = "*"


@dataclass(frozen=True, slots=True)
class IngressPolicy:
    """Settings of Ingresses."""

    ignored_annotations: frozenset[str] = frozenset()
    """Annotations of other controllers that are ignored, or DOMAIN/*."""
    insecure_policy: str = "Redirect"
    """Redirect or Allow: what requests without TLS get for a host with TLS, where no annotation says so."""
    default_backend_namespaces: frozenset[str] = frozenset()
    """Namespaces of Ingresses that may get the requests for hosts which nobody claims; or ALL_NAMESPACES."""

    def may_have_default_backend(self, namespace: str) -> bool:
        """True for a namespace whose Ingresses may get the requests for hosts that nobody claims."""
        return not self.default_backend_namespaces.isdisjoint({namespace, ALL_NAMESPACES})


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """The kinds of objects that are served."""

    kinds: tuple[str, ...] = KINDS
    classes: ClassSettings = field(default_factory=ClassSettings)
    ingress_routes: IngressRoutePolicy = field(default_factory=IngressRoutePolicy)
    ingresses: IngressPolicy = field(default_factory=IngressPolicy)
    gateways: GatewaySettings = field(default_factory=GatewaySettings)
    on_demand: bool = False
    """True if Gateways are served, too, once a GatewayClass names their controller."""

    def with_gateways(self) -> "SourceSettings":
        """Return the settings with Gateways among the kinds."""
        return replace(self, kinds=(*self.kinds, GATEWAY), on_demand=False)
