"""The API that serves each kind, and a check which one does on this cluster."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from f5router.kube.api import decode, decode_contour, decode_gateway, decode_ingress, fields
from f5router.kube.api.connection import Connection
from f5router.kube.watch.store import Value
from f5router.model import gateway
from f5router.model.errors import KubeForbidden, ResourceUnavailable
from f5router.model.json_types import JSON


@dataclass(frozen=True, slots=True)
class Source:
    """The API that serves a kind, and the decoder of its objects."""

    resource: str
    group_path: str
    """/api/v1 or /apis/<group>/<version>."""
    field: str
    """Name of the kind in the Store."""
    decode: Callable[[JSON], tuple[Any, ...]]
    namespaced: bool = True
    metadata_only: bool = False
    """Request only the metadata of objects; servers before Kubernetes 1.15 send whole objects."""
    fallback: "Source | None" = None
    """Source to use where this kind is not served, but the other one, or its fallback, is."""

    name: str = ""
    """The only object that is read, by its name; "" for the whole collection."""
    period_s: float = 0.0
    """Interval between two readings of a kind that is not watched; 0 for a watch."""

    def path(self, namespace: str | None) -> str:
        """Return the path of the collection, of one namespace or of all."""
        if namespace and self.namespaced:
            return f"{self.group_path}/namespaces/{quote(namespace, safe='')}/{self.resource}"
        return f"{self.group_path}/{self.resource}"

    @property
    def api_version(self) -> str:
        """apiVersion of the objects."""
        return self.group_path.split("/", 2)[2]


def _slice(obj: JSON, *, placed: bool = False, located: bool = False) -> tuple[Value, ...]:
    endpoint_slice = decode.endpoint_slice(obj, placed=placed, located=located)
    return () if endpoint_slice is None else (endpoint_slice,)


LEGACY_ROUTES = Source("routes", "/oapi/v1", "routes", lambda obj: (decode.route(obj),))
"""OpenShift 3.0 to 3.5, which has no API groups of its own."""
ROUTES = replace(LEGACY_ROUTES, group_path="/apis/route.openshift.io/v1", fallback=LEGACY_ROUTES)
OLDEST_INGRESSES = Source("ingresses", "/apis/extensions/v1beta1", "ingresses",
                          lambda obj: (decode_ingress.ingress(obj),))
"""Kubernetes 1.1 to 1.21, OpenShift 3."""
OLDER_INGRESSES = replace(OLDEST_INGRESSES, group_path="/apis/networking.k8s.io/v1beta1",
                          fallback=OLDEST_INGRESSES)
INGRESSES = replace(OLDER_INGRESSES, group_path="/apis/networking.k8s.io/v1", fallback=OLDER_INGRESSES)
"""Since Kubernetes 1.19. Source: Kubernetes, deprecated API migration guide, v1.22."""
OLDER_INGRESS_CLASSES = Source(
    "ingressclasses", "/apis/networking.k8s.io/v1beta1", "ingress_classes",
    lambda obj: (decode_ingress.ingress_class(obj),), namespaced=False)
INGRESS_CLASSES = replace(OLDER_INGRESS_CLASSES, group_path="/apis/networking.k8s.io/v1",
                          fallback=OLDER_INGRESS_CLASSES)
INGRESS_ROUTES = Source("ingressroutes", "/apis/contour.heptio.com/v1beta1", "ingress_routes",
                        lambda obj: (decode_contour.ingress_route(obj),))
DELEGATIONS = Source("tlscertificatedelegations", "/apis/contour.heptio.com/v1beta1", "delegations",
                     lambda obj: (decode_contour.delegation(obj),))


def _of_gateway_api(resource: str, field: str, read: Callable[[JSON], Any], *versions: str,
                    namespaced: bool = True) -> Source:
    """Return a kind of the Gateway API in the first of these versions that is served."""
    version, *older = versions
    return Source(resource, f"/apis/{gateway.GROUP}/{version}", field, lambda obj: (read(obj),), namespaced,
                  fallback=_of_gateway_api(resource, field, read, *older, namespaced=namespaced)
                  if older else None)


GATEWAY_CLASSES = _of_gateway_api("gatewayclasses", "gateway_classes", decode_gateway.gateway_class,
                                  "v1", "v1beta1", namespaced=False)
GATEWAYS = _of_gateway_api("gateways", "gateways", decode_gateway.gateway, "v1", "v1beta1")
HTTP_ROUTES = _of_gateway_api("httproutes", "http_routes", decode_gateway.http_route, "v1", "v1beta1")
TLS_ROUTES = _of_gateway_api("tlsroutes", "tls_routes", decode_gateway.tls_route,
                             "v1", "v1alpha3", "v1alpha2")
TCP_ROUTES = _of_gateway_api("tcproutes", "tcp_routes", decode_gateway.tcp_route, "v1", "v1alpha2")
GATEWAY_ROUTES = {gateway.HTTP_ROUTE: HTTP_ROUTES, gateway.TLS_ROUTE: TLS_ROUTES,
                  gateway.TCP_ROUTE: TCP_ROUTES}
"""Kinds of routes, by their names."""
ALONE = {TCP_ROUTES: gateway.TCP_ROUTE}
"""Kinds that concern nothing but listeners of their own, by name: while one cannot be read, all else of
Gateways is served on."""
BACKEND_POLICIES = _of_gateway_api("backendtlspolicies", "backend_policies",
                                   decode_gateway.backend_tls_policy, "v1", "v1alpha3")
GRANTS = _of_gateway_api("referencegrants", "grants", decode_gateway.reference_grant, "v1", "v1beta1")
LABELLED_NAMESPACES = Source("namespaces", "/api/v1", "labelled_namespaces",
                             lambda obj: (decode_gateway.labelled_namespace(obj),), namespaced=False)
SERVED = {"Route": (ROUTES,), "Ingress": (INGRESSES, INGRESS_CLASSES),
          "IngressRoute": (INGRESS_ROUTES, DELEGATIONS),
          gateway.GATEWAY: (*GATEWAY_ROUTES.values(), GATEWAYS, GATEWAY_CLASSES, BACKEND_POLICIES, GRANTS,
                            LABELLED_NAMESPACES)}
"""By kind of object that is served: the kinds that must be read for it, its own first."""
OBJECTS = {**{kind: needed[0] for kind, needed in SERVED.items()}, **GATEWAY_ROUTES,
           gateway.GATEWAY: GATEWAYS}
"""Kinds of objects that Routes are made of, by their names."""
SERVICES = Source("services", "/api/v1", "services", lambda obj: (decode.service(obj),))
ENDPOINTS = Source("endpoints", "/api/v1", "slices", decode.endpoints)
SLICES = Source("endpointslices", "/apis/discovery.k8s.io/v1", "slices", _slice, fallback=ENDPOINTS)
NAMESPACES = Source("namespaces", "/api/v1", "namespaces", lambda obj: (decode.namespace(obj),),
                    namespaced=False)
PROJECTS = Source("projects", "/apis/project.openshift.io/v1", "namespaces",
                  lambda obj: (decode.namespace(obj),), namespaced=False, period_s=30.0)
"""A watch on projects with a selector is silent when a label goes (openshift-apiserver,
pkg/project/auth/watch.go), so they are listed periodically: every half hour by the original router."""
PLACED_ENDPOINTS = replace(ENDPOINTS, decode=partial(decode.endpoints, placed=True))
PLACED_SLICES = replace(SLICES, decode=partial(_slice, placed=True), fallback=PLACED_ENDPOINTS)
"""Endpoints with the Nodes of the ready pods; see Store.forget_addresses."""
LOCATED_ENDPOINTS = replace(ENDPOINTS, decode=partial(decode.endpoints, located=True))
LOCATED_SLICES = replace(SLICES, decode=partial(_slice, located=True), fallback=LOCATED_ENDPOINTS)
"""Endpoints with the Node of each address, where ways to the Nodes are made."""
NODES = Source("nodes", "/api/v1", "nodes", lambda obj: (decode.node(obj),), namespaced=False)
HOST_SUBNETS = Source("hostsubnets", "/apis/network.openshift.io/v1", "host_subnets",
                      lambda obj: (decode.host_subnet(obj),), namespaced=False)
CLUSTER_NETWORKS = Source("clusternetworks", "/apis/network.openshift.io/v1", "cluster_networks",
                          lambda obj: (decode.cluster_network(obj),), namespaced=False, name="default",
                          period_s=60.0)
"""system:sdn-reader allows `get` on it and nothing else (openshift/origin v3.11.0,
pkg/cmd/server/bootstrappolicy/policy.go). Another vxlanPort makes all pods unreachable."""


def _block_affinity(obj: JSON) -> tuple[Value, ...]:
    networks = decode.block_affinity(obj)
    return () if networks is None else (networks,)


BLOCK_AFFINITIES = Source("blockaffinities", "/apis/crd.projectcalico.org/v1", "block_affinities",
                          _block_affinity, namespaced=False)
CILIUM_NODES = Source("ciliumnodes", "/apis/cilium.io/v2", "cilium_nodes",
                      lambda obj: (decode.cilium_node(obj),), namespaced=False)
POD_NETWORKS = (BLOCK_AFFINITIES, CILIUM_NODES)
"""Kinds with the networks of pods, for static routes; most clusters serve one of them or none."""


def is_served(connection: Connection, source: Source) -> bool:
    """Look up the kind in discovery: without a right, even a kind that is not served gets 403.

    Raises: KubeUnreachable.
    """
    try:
        reply = connection.request("GET", source.group_path)
    except ResourceUnavailable:
        return False
    except KubeForbidden:  # discovery is forbidden: the first list will show
        return True
    listed = fields.objects(fields.mapping(reply).get("resources"))
    return any(item.get("name") == source.resource for item in listed)


def is_absent(connection: Connection, source: Source) -> bool:
    """True if the API server is sure that it serves a kind of the Gateway API in no version.

    It shows the custom resources of a group together, so that those which it shows are all, also while it
    starts; other groups may be those of servers behind it. Source: k8s.io/apiextensions-apiserver,
    pkg/apiserver/customresource_discovery_controller.go.
    Raises: KubeError: it does not say.
    """
    group_path, _, _ = source.group_path.rpartition("/")
    if group_path != f"/apis/{gateway.GROUP}":
        return False
    reply = fields.mapping(connection.request("GET", group_path))
    versions = {fields.text(each.get("version")) for each in fields.objects(reply.get("versions"))}
    older: Source | None = source
    while older is not None:
        if older.group_path.rpartition("/")[2] in versions:
            listed = fields.mapping(connection.request("GET", older.group_path)).get("resources")
            if any(item.get("name") == older.resource for item in fields.objects(listed)):
                return False
        older = older.fallback
    return bool(versions)


def choose_served(connection: Connection, source: Source) -> Source | None:
    """Return the first of source and fallbacks that is served; None if none is. Raises: KubeUnreachable."""
    choice: Source | None = source
    while choice is not None and not is_served(connection, choice):
        choice = choice.fallback
    return choice
