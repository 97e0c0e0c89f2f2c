"""A fake Kubernetes API server with OpenShift's Routes: HTTPS, list and watch, patches, faults.

    with FakeKube() as kube:
        kube.apply(route)
        kube.write_kubeconfig(path)
        kube.inject("drop-watch")

``python -m mocks.kube --help`` runs it alone. Not here: protobuf (kubectl 1.32 and newer need it for ``auth
can-i`` alone), field ownership (server-side apply merges), validation of kinds other than Route, Service,
EndpointSlice, Secret, Event and HostSubnet, controllers except the SDN's master (a Service gets no
EndpointSlice by itself), conversion between the two Event kinds, which are stored apart.
"""

from .fake import FakeKube
from .kinds import UnknownKind
from .manifests import ManifestError
from .objects import InvalidObject

__all__ = ["FakeKube", "InvalidObject", "ManifestError", "UnknownKind"]
