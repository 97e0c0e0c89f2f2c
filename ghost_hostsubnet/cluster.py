"""Requests of this command to the Kubernetes API, over the router's connection."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from f5router.kube.api import api_errors
from f5router.kube.api.connection import Connection
from f5router.kube.api.requests import Collection
from f5router.model.errors import (
    KubeError,
    KubeForbidden,
    KubeNotFound,
    KubeUnreachable,
    ResourceUnavailable,
    RouterError,
)
from f5router.model.json_types import JSON
from ghost_hostsubnet import manifest

SILENCE_S = 3.0
"""A watch that is silent for this long after its end counts as broken."""

PLUGINS = {
    "k8s.ovn.org": "OVN-Kubernetes",
    "crd.projectcalico.org": "Calico",
    "cilium.io": "Cilium",
    "crd.antrea.io": "Antrea",
    "kubeovn.io": "Kube-OVN",
}
"""Network plug-ins by an API group that they install."""


class NoHostSubnets(RouterError):
    """The cluster's network is not OpenShift's SDN."""


@dataclass(frozen=True, slots=True)
class NetworkApi:
    """The API that serves the SDN's kinds."""

    path: str
    version: str
    """apiVersion of the objects."""


GROUP = NetworkApi("/apis/network.openshift.io/v1", "network.openshift.io/v1")
OAPI = NetworkApi("/oapi/v1", "v1")
"""The oldest clusters; 3.6 to 3.11 have both."""


class SDNClient:
    """Reads and writes of one cluster."""

    def __init__(self, connection: Connection):
        """Look up the API that serves the kinds. Raises: NoHostSubnets, KubeError."""
        self._connection = connection
        self.api = self._discovered()

    def read(self) -> tuple[manifest.SDNFacts, dict[str, dict[str, Any]]]:
        """Read the facts of the cluster, and its HostSubnets as the API returns them, by name.

        Raises: NoHostSubnets: served, but the SDN does not run; KubeError.
        """
        networks = self._cluster_networks()
        hostsubnets, _ = self.hostsubnets()
        nodes, _ = self._list("/api/v1/nodes")
        facts = manifest.facts(hostsubnets, nodes, networks)
        if not facts.networks:
            raise NoHostSubnets(f"the cluster serves HostSubnets, but has no ClusterNetwork: OpenShift's SDN "
                                f"is not its network plug-in{_seems(self.plugin())}")
        return facts, {obj["metadata"]["name"]: obj for obj in hostsubnets}

    def hostsubnets(self) -> tuple[list[dict[str, Any]], str]:
        """Return all HostSubnets, and the resourceVersion of the list."""
        objects, version = self._list(f"{self.api.path}/hostsubnets")
        return [self._typed(obj) for obj in objects], version

    def create(self, body: JSON) -> dict[str, Any]:
        """Create a HostSubnet. Raises: KubeConflict: it exists; KubeUnreachable: it may have been created."""
        return self._typed(self._connection.request("POST", f"{self.api.path}/hostsubnets", body=body))

    def delete(self, name: str, uid: str) -> None:
        """Delete this very object. Raises: KubeConflict: it was re-created; KubeNotFound."""
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1"}
        if uid:
            options["preconditions"] = {"uid": uid}
        path = f"{self.api.path}/hostsubnets/{quote(name, safe='')}"
        self._connection.request("DELETE", path, body=options)

    def watch(self, version: str, *, lasts_s: int) -> Iterator[tuple[bool, dict[str, Any], str]]:
        """Yield changes of HostSubnets after a resourceVersion: deleted, object, new resourceVersion.

        Raises: ResourceExpired: list again; KubeError.
        """
        path = f"{self.api.path}/hostsubnets"
        query = {"watch": "true", "resourceVersion": version, "timeoutSeconds": str(lasts_s)}
        stream = self._connection.request("GET", path, query=query, stream=True,
                                          timeout_s=lasts_s + SILENCE_S)
        with closing(stream):
            for event in stream:
                kind = event.get("type") if isinstance(event, Mapping) else None
                obj = event.get("object") if isinstance(event, Mapping) else None
                if kind == "ERROR":
                    raise api_errors.error_in_stream(path, obj)
                if not isinstance(obj, Mapping):
                    raise KubeUnreachable(f"GET {path}: the watch sent a line that is no event")
                if kind in ("ADDED", "MODIFIED", "DELETED"):
                    yield kind == "DELETED", self._typed(obj), _version(obj)

    def plugin(self) -> str:
        """Return the name of the network plug-in, "" if unknown."""
        try:
            network = self._connection.request("GET", "/apis/config.openshift.io/v1/networks/cluster")
            for field in ("status", "spec"):
                if name := (network.get(field) or {}).get("networkType"):
                    return str(name)
        except (KubeError, AttributeError):
            pass  # OpenShift 3, plain Kubernetes, or no right to it
        try:
            groups = self._connection.request("GET", "/apis")
            names = [group.get("name") for group in groups.get("groups") or ()]
        except (KubeError, AttributeError):
            return ""
        return next((PLUGINS[name] for name in names if name in PLUGINS), "")

    def _discovered(self) -> NetworkApi:
        closed = []
        for api in (GROUP, OAPI):
            try:
                served = self._connection.request("GET", api.path)
            except (ResourceUnavailable, KubeNotFound):
                continue
            except KubeForbidden:
                closed.append(api)
                continue
            listed = served.get("resources") if isinstance(served, Mapping) else None
            if any(isinstance(item, Mapping) and item.get("name") == "hostsubnets" for item in listed or ()):
                return api
        if closed:  # discovery is forbidden to this user: the first list will show
            return closed[0]
        raise NoHostSubnets(f"the cluster serves no HostSubnets: OpenShift's SDN is not its network plug-in"
                            f"{_seems(self.plugin())}. A ghost HostSubnet is neither possible nor needed; "
                            "reach the pods by routes, or through a ramp node")

    def _cluster_networks(self) -> list[dict[str, Any]]:
        """Get the only one in use by its name: system:sdn-reader may get it, but not list."""
        try:
            return [self._connection.request("GET", f"{self.api.path}/clusternetworks/default")]
        except (KubeNotFound, ResourceUnavailable):
            return []

    def _list(self, path: str) -> tuple[list[dict[str, Any]], str]:
        collection = Collection(self._connection, path, {})
        objects = list(collection.values())
        return objects, collection.version

    def _typed(self, obj: JSON) -> dict[str, Any]:
        """Add kind and apiVersion, which items of a list may lack."""
        return {"apiVersion": self.api.version, "kind": "HostSubnet"} | dict(obj)


def _version(obj: JSON) -> str:
    return str((obj.get("metadata") or {}).get("resourceVersion") or "")


def _seems(plugin: str) -> str:
    return f" (that is {plugin})" if plugin else " (which one it is could not be found out)"
