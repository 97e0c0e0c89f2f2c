"""The network plug-in of the cluster, as far as its objects show it: for `f5router doctor` alone.

Sources: openshift/origin v3.11.0, HostSubnet; ovn-kubernetes, go-controller/pkg/util/node_annotations.go;
flannel, Documentation/kubernetes.md (annotations of its subnet manager); projectcalico/calico,
libcalico-go/lib/backend/k8s/conversion (projectcalico.org/IPv4Address); cilium, pkg/annotation
(network.cilium.io, and io.cilium.network before 1.14).
"""

from collections.abc import Mapping

from f5router.kube.api import fields
from f5router.kube.api.connection import Connection
from f5router.kube.watch.sources import HOST_SUBNETS, NODES, is_served
from f5router.model.errors import KubeError

OPENSHIFT_SDN, OVN, FLANNEL, CALICO, CILIUM = (
    "OpenShift SDN", "OVN-Kubernetes", "flannel", "Calico", "Cilium")

_ANNOTATIONS = {
    "k8s.ovn.org/": OVN, "flannel.alpha.coreos.com/": FLANNEL, "projectcalico.org/": CALICO,
    "network.cilium.io/": CILIUM, "io.cilium.network": CILIUM}
"""Beginnings of a Node's annotations. Calico may enforce policies on flannel's network: its own come last."""


def detect(connection: Connection) -> str:
    """Return the plug-in by one Node's annotations, or the kinds that are served; "" if nothing shows it."""
    try:
        reply = connection.request("GET", NODES.path(None), query={"limit": 1})
        nodes = fields.objects(fields.mapping(reply).get("items"))
    except KubeError:
        nodes = []
    annotations: Mapping[str, object] = {}
    for node in nodes:
        annotations = fields.mapping(fields.mapping(node.get("metadata")).get("annotations"))
    for beginning, plugin in _ANNOTATIONS.items():
        if any(name.startswith(beginning) for name in annotations):
            return plugin
    try:
        return OPENSHIFT_SDN if is_served(connection, HOST_SUBNETS) else ""
    except KubeError:
        return ""
