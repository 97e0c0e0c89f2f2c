"""A fake Kubernetes API server with OpenShift's Routes: HTTPS, list and watch, patches, faults.

    with FakeKube() as kube:
        kube.apply(route)
        kube.write_kubeconfig(path)
        kube.inject("drop-watch")

``python -m mocks.kube --help`` runs it alone. Without: field ownership (server-side apply merges), admission
of any kind but Route, controllers (a Service gets no EndpointSlice by itself).
"""

from .fake import FakeKube
from .kinds import UnknownKind
from .manifests import ManifestError
from .objects import InvalidObject

__all__ = ["FakeKube", "InvalidObject", "ManifestError", "UnknownKind"]
