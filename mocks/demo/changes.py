"""Changes in the cluster while the router runs."""

from mocks.demo.api import Api
from mocks.demo.certificates import Authority
from mocks.demo.servers import ADDED, JOINING, MANIFESTS
from mocks.kube.manifests import read_manifests

ROUTES = "/apis/route.openshift.io/v1/namespaces/shop/routes"
SLICE = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices/web-b8m4c"
COLLECTIONS = {"Node": "/api/v1/nodes", "HostSubnet": "/apis/network.openshift.io/v1/hostsubnets"}
MERGE = "application/merge-patch+json"


def join(cluster: Api) -> None:
    """A Node comes, with the subnet that the SDN gives it."""
    for _, obj in read_manifests(MANIFESTS / JOINING):
        cluster.call("POST", COLLECTIONS[obj["kind"]], obj)


def scale(cluster: Api) -> None:
    """Two more pods of Service shop/web become ready on that Node, as after `oc scale`."""
    endpoints = cluster.get(SLICE)["endpoints"]
    endpoints += [
        {"addresses": [address], "conditions": {"ready": True}} for address in ("10.131.0.33", "10.131.0.34")
    ]
    cluster.call("PATCH", SLICE, {"endpoints": endpoints}, content_type=MERGE)


def add(cluster: Api) -> None:
    """A new Route, to a Service that others use already."""
    for _, route in read_manifests(MANIFESTS / ADDED):
        cluster.call("POST", ROUTES, route)


def fix(cluster: Api, public: Authority) -> None:
    """The Route whose key was wrong gets a certificate with its own key."""
    certificate, key = public.issue("newsletter.example.com")
    tls = {"certificate": certificate, "key": key}
    cluster.call("PATCH", f"{ROUTES}/newsletter", {"spec": {"tls": tls}}, content_type=MERGE)
