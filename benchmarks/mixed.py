"""A cluster of mixed Routes, as the API server has it.

Three of ten Routes are plain, three plain with a path, two edge, one re-encrypt and one passthrough, each
with a Service of three endpoints. Some bring a certificate, each one its own.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.cluster import MIXED, SECURED
from f5router.kube.api import decode
from f5router.model.delta import Delta
from tests import manifests
from tests.builders import identity

OWN = SECURED[0]
"""Last digit in the numbers of Routes that bring a certificate if one in ten does."""
PER_NAMESPACE = 10
SPREAD = 200
"""Pods of a Node at most; the numbers above are for pods that come later."""
BIGIP = "10.3.89.213"
"""Address of the BIG-IP in the Nodes' network."""
KEYS = 16
"""RSA keys that the certificates share: to make one takes 50 ms to half a second."""


@dataclass(frozen=True)
class Size:
    """How much a router has to program."""

    routes: int
    nodes: int
    digits: tuple[int, ...]
    """Last digits in the numbers of Routes that bring a certificate."""


def route(number: int, *, secured: bool = False, changed: bool = False) -> dict:
    """A Route. Args: secured: it brings a certificate; changed: it asks for another policy."""
    kind, host = MIXED[number % 10], f"h{number}.example.com"
    policy = {"insecure": "None" if changed else "Redirect"}
    return manifests.route(
        f"route{number}", namespace=namespace(number), host=host, service=f"svc{number}",
        path=("/other" if changed else "/shop") if kind == "path" else "",
        kind="" if kind == "path" else kind, **(policy if kind not in ("", "path") else {}),
        **(identity(host, algorithm="rsa", serial=number % KEYS).tls if secured else {}))


def service(number: int, nodes: int, *, last: int = 0) -> tuple[dict, dict]:
    """The Service of a Route with its EndpointSlice.

    Args: nodes: number of Nodes, on which all pods are spread. last: other numbers give the third pod
    another address.
    """
    pods = [_pod(nodes, 3 * number + each) for each in range(3)]
    if last:
        pods[-1] = _pod(nodes, number % nodes, host=SPREAD + last)
    return manifests.service(namespace(number), f"svc{number}", pods=tuple(pods))


def _pod(nodes: int, number: int, *, host: int = 0) -> str:
    """Return the address of a pod. Args: host: its number on its Node."""
    node, host = number % nodes, host or 2 + number // nodes
    return f"10.{128 + (node >> 8)}.{node & 255}.{host}"


def namespace(number: int) -> str:
    """Return the namespace of a Route."""
    return f"ns{number // PER_NAMESPACE}"


def network(nodes: int) -> Iterator[dict]:
    """Yield Nodes with their HostSubnets, and the ClusterNetwork."""
    for number in range(nodes):
        name, address = f"node{number}", f"172.16.{number >> 8}.{number & 255}"
        yield manifests.node(name, address)
        yield manifests.host_subnet(name, address, f"10.{128 + (number >> 8)}.{number & 255}.0/24")
    annotations = {f"pod.network.openshift.io/{name}": text
                   for name, text in (("assign-subnet", "true"), ("fixed-vnid-host", "0"))}
    yield manifests.host_subnet("bigip", BIGIP, "10.131.0.0/24") | {
        "metadata": {"name": "bigip", "annotations": annotations}}
    yield manifests.cluster_network("10.128.0.0/14")


def objects(size: Size) -> Iterator[dict]:
    """Yield everything that the cluster has."""
    yield from network(size.nodes)
    for number in range(size.routes):
        yield from service(number, size.nodes)
        yield route(number, secured=number % 10 in size.digits)


def cluster(size: Size) -> Delta:
    """Return Routes and EndpointSlices as a router knows them after its first lists."""
    numbers = range(size.routes)
    routes = [decode.route(route(number, secured=number % 10 in size.digits)) for number in numbers]
    slices = [decode.endpoint_slice(service(number, size.nodes)[1]) for number in numbers]
    return Delta(routes={each.key: each for each in routes}, slices={each.key: each for each in slices})
