"""A Gateway with its HTTPRoutes: created, as their statuses show them, and asked."""

from collections.abc import Iterator
from typing import NamedTuple

from mocks.demo import asking
from mocks.demo.api import Api
from mocks.demo.asking import Request
from mocks.demo.servers import MANIFESTS, Lab
from mocks.kube.manifests import read_manifests

GROUP = "/apis/gateway.networking.k8s.io/v1"
PLURALS = {"Gateway": "gateways", "HTTPRoute": "httproutes"}
EXAMPLE = "gateway.yaml"
GATEWAY, HOST, PATH = ("edge", "blog"), "blog.example.com", "/posts"
POD = "a pod of news/press, asked by HTTP"
VIRTUALS = {"http": "/Common/openshift_http__edge.blog.80", "https": "/Common/openshift_https__edge.blog.443"}
"""Virtual servers that the router creates for the Gateway."""


class ListenerRow(NamedTuple):
    """A listener, as the status of its Gateway has it."""

    name: str
    routes: int
    programmed: str
    """Status of its condition Programmed, and the reason if that is not True."""


class Published(NamedTuple):
    """A Gateway with its HTTPRoutes, by their statuses alone."""

    addresses: tuple[str, ...]
    listeners: tuple[ListenerRow, ...]
    routes: dict[str, str]
    """NAMESPACE/NAME to the status of Accepted."""

    @property
    def problems(self) -> list[str]:
        """Parts that are missing, or not served yet."""
        return [f"{what} is {state or 'nothing'!r}, not 'True'" for what, state in (
            *((f"listener {each.name}: Programmed", each.programmed) for each in self.listeners),
            *((f"HTTPRoute {name}: Accepted", state) for name, state in self.routes.items()))
            if state != "True"] + ([] if self.addresses and self.listeners else ["no address is assigned"])


def publish(cluster: Api) -> None:
    """The platform team creates the Gateway, and a team its HTTPRoutes."""
    for _, obj in read_manifests(MANIFESTS / EXAMPLE):
        namespace = obj["metadata"]["namespace"]
        cluster.call("POST", f"{GROUP}/namespaces/{namespace}/{PLURALS[obj['kind']]}", obj)


def read(cluster: Api) -> Published:
    """Raises: requests.RequestException."""
    namespace, name = GATEWAY
    status = cluster.get(f"{GROUP}/namespaces/{namespace}/gateways/{name}").get("status", {})
    routes = {f"{obj['metadata']['namespace']}/{obj['metadata']['name']}": _accepted(obj)
              for obj in cluster.get(f"{GROUP}/httproutes")["items"]}
    return Published(
        tuple(each["value"] for each in status.get("addresses", ())),
        tuple(ListenerRow(each["name"], each["attachedRoutes"], _condition(each["conditions"], "Programmed"))
              for each in status.get("listeners", ())), routes)


def _accepted(route: dict) -> str:
    entries = route.get("status", {}).get("parents", ())
    return _condition(entries[0]["conditions"], "Accepted") if entries else ""


def _condition(conditions: list[dict], kind: str) -> str:
    for each in conditions:
        if each["type"] == kind:
            return each["status"] if each["status"] == "True" else f"{each['status']}, {each['reason']}"
    return ""


def questions(lab: Lab) -> Iterator[Request]:
    """Requests for its host: the redirect, a pod, and a path that no HTTPRoute has."""
    yield _ask(lab, "http", PATH, f"301 https://{HOST}{PATH}")
    yield _ask(lab, "https", PATH, POD)
    yield _ask(lab, "https", "/", "404")


def _ask(lab: Lab, scheme: str, path: str, answer: str) -> Request:
    return Request(asking.curl(lab, scheme, HOST, path, virtual=VIRTUALS[scheme]), answer)

