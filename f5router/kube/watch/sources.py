"""Where the objects of each kind are read, and which API serves a kind on this cluster."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import quote

from f5router.kube.api import decode
from f5router.kube.api.connection import Connection
from f5router.kube.watch.store import Value
from f5router.model.errors import KubeForbidden, ResourceUnavailable
from f5router.model.json_types import JSON


@dataclass(frozen=True, slots=True)
class Source:
    """Where objects of a kind are read, and what they become."""

    resource: str
    group_path: str
    """/api/v1 or /apis/<group>/<version>."""
    field: str
    """Of the Store."""
    decode: Callable[[JSON], tuple[Any, ...]]
    namespaced: bool = True
    metadata_only: bool = False
    """Ask for no more than the metadata of objects; servers before Kubernetes 1.15 send them whole."""
    members: bool = False
    """Pool members, or the way to them, are made of these: a list that lacks most of them is read again."""
    fallback: "Source | None" = None
    """Read instead where this kind is not served, but the other one is."""

    def path(self, namespace: str | None) -> str:
        """Of the collection, of one namespace or of all."""
        if namespace and self.namespaced:
            return f"{self.group_path}/namespaces/{quote(namespace, safe='')}/{self.resource}"
        return f"{self.group_path}/{self.resource}"

    @property
    def api_version(self) -> str:
        """apiVersion of the objects."""
        return self.group_path.split("/", 2)[2]


def _slice(obj: JSON, *, placed: bool = False) -> tuple[Value, ...]:
    found = decode.endpoint_slice(obj, placed=placed)
    return () if found is None else (found,)


LEGACY_ROUTES = Source("routes", "/oapi/v1", "routes", lambda obj: (decode.route(obj),))
"""Where OpenShift 3.0 to 3.5 serves them; it has no API groups of its own."""
ROUTES = replace(LEGACY_ROUTES, group_path="/apis/route.openshift.io/v1", fallback=LEGACY_ROUTES)
SERVICES = Source("services", "/api/v1", "services", lambda obj: (decode.service(obj),), members=True)
ENDPOINTS = Source("endpoints", "/api/v1", "slices", decode.endpoints, members=True)
SLICES = Source("endpointslices", "/apis/discovery.k8s.io/v1", "slices", _slice, members=True,
                fallback=ENDPOINTS)
NAMESPACES = Source("namespaces", "/api/v1", "namespaces", lambda obj: (decode.namespace(obj),),
                    namespaced=False)
PROJECTS = Source("projects", "/apis/project.openshift.io/v1", "namespaces",
                  lambda obj: (decode.namespace(obj),), namespaced=False)
PLACED_ENDPOINTS = replace(ENDPOINTS, decode=partial(decode.endpoints, placed=True))
PLACED_SLICES = replace(SLICES, decode=partial(_slice, placed=True), fallback=PLACED_ENDPOINTS)
"""The same, of which only the Nodes of the ready pods are kept: pods that come and go there are no change."""
NODES = Source("nodes", "/api/v1", "nodes", lambda obj: (decode.node(obj),), namespaced=False,
               members=True)
HOST_SUBNETS = Source("hostsubnets", "/apis/network.openshift.io/v1", "host_subnets",
                      lambda obj: (decode.host_subnet(obj),), namespaced=False, members=True)
CLUSTER_NETWORKS = Source("clusternetworks", "/apis/network.openshift.io/v1", "cluster_networks",
                          lambda obj: (decode.cluster_network(obj),), namespaced=False)


def is_served(connection: Connection, source: Source) -> bool:
    """Ask discovery: without rights on it, an unknown kind is forbidden, not 404.

    Raises: KubeUnreachable.
    """
    try:
        found = connection.request("GET", source.group_path)
    except ResourceUnavailable:
        return False
    except KubeForbidden:  # discovery is closed: trying the kind itself will tell
        return True
    listed = found.get("resources") if isinstance(found, Mapping) else None
    return any(isinstance(item, Mapping) and item.get("name") == source.resource
               for item in (listed if isinstance(listed, list) else ()))


def served(connection: Connection, source: Source) -> Source | None:
    """The source or its fallback, whichever is served; None if neither is.

    Raises: KubeUnreachable.
    """
    if is_served(connection, source):
        return source
    other = source.fallback
    return other if other is not None and is_served(connection, other) else None
