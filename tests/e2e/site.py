"""Both fakes with docs/deploy loaded, and the pod between them."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from mocks.bigip.traffic import Request, decide
from mocks.kube import FakeKube
from tests import manifests
from tests.builders import identity
from tests.e2e import deployment
from tests.e2e.deployment import FILES, Pod
from tests.e2e.image import Image
from tests.feature.conftest import Lab

EDGE = identity("edge.example.com")
ENDPOINTS = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"namespace": "shop", "name": "web"},
             "subsets": [{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"name": "http", "port": 8080}]}]}


class Site(Lab):
    """Both fakes, docs/deploy loaded into the API, and the pod."""

    def __init__(self, stack, folder: Path, **bigip):
        super().__init__(stack, folder, ssh=True, **bigip)
        self.virtuals()
        self.key = folder / "router.pem"
        self.ssh_flags()
        self._stack = stack

    def without_slices(self) -> None:
        self.kube = self._stack.enter_context(FakeKube(slices=False))

    def with_gateway_api(self) -> None:
        self.kube = self._stack.enter_context(FakeKube(gateway_api="v1.6"))

    def older_ingresses(self) -> None:
        self.kube = self._stack.enter_context(FakeKube(ingress_api="extensions/v1beta1"))

    def load(self, *, sdn: bool = True) -> None:
        """Load what an administrator applies, and Routes: good, with a certificate, without a Service.

        Args: sdn: whether the cluster has openshift-sdn; each kind has a file that is left out.
        """
        for path in FILES:
            if path.name != ("17-nodes-reader.yaml" if sdn else "15-sdn-reader.yaml"):
                self.kube.load(path)
        self.apply(*((manifests.sdn_reader(),) if sdn else ()))
        self.apply(*manifests.service("shop", "web", pods=("10.1.1.1",)), ENDPOINTS,
                   manifests.route("plain"),
                   manifests.route("edge", host="edge.example.com", kind="edge",
                                   certificate=EDGE.certificate, key=EDGE.key),
                   manifests.route("lost", host="lost.example.com", service="none"))

    def start(self, *, vxlan: bool = False, built: Image | None = None, copied: bool = True,
              more: Mapping[str, str] = MappingProxyType({}), workload: dict | None = None,
              secrets: Mapping[str, dict[str, str]] = MappingProxyType({})) -> Pod:
        """Start the pod.

        Args:
            copied: begin as a copy.
            more: variables that an administrator adds.
            workload: Deployment, if not that of docs/deploy.
            secrets: those that it needs besides.
        """
        pod = Pod(self._folder, self.kube,
                  workload or deployment.document("Deployment", "f5router", vxlan=vxlan),
                  {**deployment.secrets(self.bigip, self.key.read_text()), **secrets}, self.bigip.ssh_port,
                  built=built, copied=copied and built is None, more=more)
        self._stack.callback(pod.end)
        return pod

    def status(self, name: str) -> str:
        """Return the status of the Admitted condition that the router wrote."""
        ingress = (self.kube.get("Route", "shop", name).get("status") or {}).get("ingress") or ()
        return next((entry["conditions"][0]["status"] for entry in ingress
                     if entry["routerName"] == "f5router"), "")

    def events(self, name: str) -> list[tuple[str, int]]:
        """Message and count of each Event of a Route."""
        return [(event["message"], event["count"]) for event in self.kube.list("Event", "shop")
                if event["involvedObject"]["name"] == name]

    def pool(self, host: str, *, tls: bool = False) -> str:
        """Where the BIG-IP sends a request."""
        virtual = "/Common/https-ose-vserver" if tls else "/Common/ose-vserver"
        return decide(self.bigip.store, virtual, Request(host, "/", sni=host if tls else None, tls=tls)).pool

    def warn_again(self, pod: Pod) -> None:
        """Make the router count an Event up: the Service comes, without pods, and goes again."""
        pod.until(lambda: self.events("lost"))
        self.apply(*manifests.service("shop", "none", pods=()))
        pod.until(lambda: any(text.startswith("spec.to.name: Service none has no ready endpoints")
                              for text, _ in self.events("lost")))
        for kind, name in (("Service", "none"), ("EndpointSlice", "none-1")):
            self.kube.delete(kind, "shop", name)
