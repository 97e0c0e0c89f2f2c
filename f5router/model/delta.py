"""Changes in the cluster since it was last asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

from f5router.model.cluster import (
    ClusterNetwork,
    EndpointSlice,
    HostSubnet,
    Key,
    Namespace,
    Node,
    PodNetworks,
    Route,
    Secret,
    Service,
)
from f5router.model.gateway import (
    HTTP_ROUTE,
    TCP_ROUTE,
    TLS_ROUTE,
    BackendTLSPolicy,
    Gateway,
    GatewayClass,
    HTTPRoute,
    LabelledNamespace,
    ReferenceGrant,
    TCPRoute,
    TLSRoute,
)
from f5router.model.ingress import CertificateDelegation, Ingress, IngressClass, IngressRoute
from f5router.model.limits import Steps, finish
from f5router.model.virtual_server import FrontEndSet

ROUTE_FIELDS = {HTTP_ROUTE: "http_routes", TLS_ROUTE: "tls_routes", TCP_ROUTE: "tcp_routes"}
"""Kinds of routes of the Gateway API, each with the field of a Delta that has its objects."""


@dataclass(frozen=True, slots=True)
class Delta:
    """Changes since the last Delta: the new value by key, or None for a deleted object.

    Only values that differ (`==`) from the last ones are in it. The first Delta holds everything.
    """

    routes: Mapping[Key, Route | None] = field(default_factory=dict)
    services: Mapping[Key, Service | None] = field(default_factory=dict)
    slices: Mapping[Key, EndpointSlice | None] = field(default_factory=dict)
    namespaces: Mapping[Key, Namespace | None] = field(default_factory=dict)
    """Selected namespaces, if namespaces are selected."""
    nodes: Mapping[Key, Node | None] = field(default_factory=dict)
    host_subnets: Mapping[Key, HostSubnet | None] = field(default_factory=dict)
    cluster_networks: Mapping[Key, ClusterNetwork | None] = field(default_factory=dict)
    block_affinities: Mapping[Key, PodNetworks | None] = field(default_factory=dict)
    cilium_nodes: Mapping[Key, PodNetworks | None] = field(default_factory=dict)
    secrets: Mapping[Key, Secret | None] = field(default_factory=dict)
    ingresses: "Mapping[Key, Ingress | None]" = field(default_factory=dict)
    ingress_classes: "Mapping[Key, IngressClass | None]" = field(default_factory=dict)
    ingress_routes: "Mapping[Key, IngressRoute | None]" = field(default_factory=dict)
    delegations: "Mapping[Key, CertificateDelegation | None]" = field(default_factory=dict)
    gateway_classes: "Mapping[Key, GatewayClass | None]" = field(default_factory=dict)
    gateways: "Mapping[Key, Gateway | None]" = field(default_factory=dict)
    http_routes: "Mapping[Key, HTTPRoute | None]" = field(default_factory=dict)
    tls_routes: "Mapping[Key, TLSRoute | None]" = field(default_factory=dict)
    tcp_routes: "Mapping[Key, TCPRoute | None]" = field(default_factory=dict)
    backend_policies: "Mapping[Key, BackendTLSPolicy | None]" = field(default_factory=dict)
    grants: "Mapping[Key, ReferenceGrant | None]" = field(default_factory=dict)
    labelled_namespaces: "Mapping[Key, LabelledNamespace | None]" = field(default_factory=dict)
    nodes_listed: bool = field(default=False, compare=False)
    """True if every Node is known; otherwise records of deleted Nodes cannot be distinguished from others."""
    networks_unread: bool = field(default=False, compare=False)
    """True if a kind with networks of pods may be there and is not known: not listed yet, or forbidden."""
    slices_listed: bool = field(default=False, compare=False)
    """True if all slices are known; where Nodes are pool members, the right to list them may be missing."""
    sources_unread: frozenset[str] = field(default=frozenset(), compare=False)
    """Kinds that are to be served (Route, Ingress, IngressRoute) but whose objects are not known: not listed
    yet, forbidden, or not served by the API server just now. Their objects must not be deleted."""
    routes_absent: frozenset[str] = field(default=frozenset(), compare=False)
    """Kinds of routes of the Gateway API that the API server does not serve."""
    front_ends: FrontEndSet | None = None
    """All front ends, if one has come, changed or gone."""
    statuses_due: bool = field(default=False, compare=False)
    """True if the status of an object of the Gateway API may have changed, whether a Route has or not."""
    undecided: frozenset[tuple[str, Key]] = field(default=frozenset(), compare=False)
    """Kind and key of objects that are known, but not whether they are served: that depends on objects that
    cannot be read. The objects that serve them must not be deleted either."""

    def __bool__(self) -> bool:
        return self.front_ends is not None or any(getattr(self, name) for name in _KINDS)

    def size(self) -> int:
        """Return the number of changed objects."""
        return sum(len(changes) for changes in self._kinds().values())

    def then(self, later: "Delta") -> "Delta":
        """Merge this Delta with a later one."""
        after = later._kinds()
        merged: dict[str, Any] = {name: {**kind, **after[name]} for name, kind in self._kinds().items()}
        front_ends = self.front_ends if later.front_ends is None else later.front_ends
        return replace(later, front_ends=front_ends, **merged)

    def only_routes(self, routes: Mapping[Key, Route | None]) -> "Delta":
        """Return a Delta of these Routes, with the same notes of what is not known."""
        nothing: dict[str, Any] = {name: {} for name in _KINDS}
        return replace(self, **nothing | {"routes": routes})

    def of_gateways(self) -> "Delta":
        """Return the changes of the kinds that decide about Gateways and their routes."""
        return Delta(services=self.services, secrets=self.secrets, gateway_classes=self.gateway_classes,
                     gateways=self.gateways, http_routes=self.http_routes, tls_routes=self.tls_routes,
                     tcp_routes=self.tcp_routes, backend_policies=self.backend_policies, grants=self.grants,
                     labelled_namespaces=self.labelled_namespaces)

    def _kinds(self) -> dict[str, Mapping[Key, Any]]:
        return {name: getattr(self, name) for name in _KINDS}


_KINDS = tuple(attribute.name for attribute in fields(Delta) if attribute.default_factory is dict)
"""Fields of a Delta that hold objects; a Delta is looked at between any two requests."""


class Changes(NamedTuple):
    """Changes in the cluster, whose conversion to Routes may still have to be done."""

    objects: Delta
    """All that has changed, as the API server has it; `undecided` and `statuses_due` are not known yet."""
    conversion: Steps[Delta]
    """Converts the objects of all sources, and returns a Delta of the Routes alone that are served."""

    @classmethod
    def known(cls, delta: Delta) -> "Changes":
        """Return the changes of a Delta whose Routes are known."""
        return cls(delta, _known(delta.only_routes(delta.routes)))

    def whole(self) -> Delta:
        """Do the conversion at once, and return everything."""
        converted = finish(self.conversion)
        return replace(self.objects, routes=converted.routes, undecided=converted.undecided,
                       front_ends=converted.front_ends, statuses_due=converted.statuses_due)


def _known(routes: Delta) -> Steps[Delta]:
    yield from ()
    return routes
