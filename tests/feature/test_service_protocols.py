"""Services that HAProxy's router serves in another way: idled ones, and ports for HTTP/2."""

import pytest

from tests import manifests
from tests.waiting import until

IDLED = {"idling.alpha.openshift.io/idled-at": "2026-01-01T00:00:00Z"}


def told(lab) -> list[str]:
    """Return the messages of all Warning Events in the namespace shop."""
    return sorted(event["message"] for event in lab.kube.list("Event")
                  if event["metadata"]["namespace"] == "shop")


def service(*, pods: tuple[str, ...] = ("10.1.1.1",), protocol: str = "",
            annotations: dict | None = None) -> tuple[dict, dict]:
    obj, slice_ = manifests.service("shop", "web", pods=pods)
    obj["metadata"]["annotations"] = annotations or {}
    if protocol:
        obj["spec"]["ports"][0]["appProtocol"] = protocol
    return obj, slice_


@pytest.mark.parametrize("protocol", ["h2c", "kubernetes.io/h2c"])
@pytest.mark.parametrize(("kind", "warned"), [
    ("", True), ("edge", True), ("reencrypt", False), ("passthrough", False)])
def test_http2(lab, protocol, kind, warned):
    """The Route is served, by HTTP/1.1 where the BIG-IP sees requests, with a Warning."""
    lab.apply(*service(protocol=protocol), manifests.route("a", kind=kind))
    assert lab.converge() == []
    assert lab.admitted("shop", "a")["status"] == "True"
    assert any(f"Service web has appProtocol {protocol}" in text for text in told(lab)) == warned


def test_another_port_or_protocol(lab):
    obj, slice_ = service(protocol="kubernetes.io/ws")
    obj["spec"]["ports"].append({"name": "grpc", "port": 9000, "targetPort": 9000, "appProtocol": "h2c"})
    lab.apply(obj, slice_, manifests.route("a", port="http"))
    assert lab.converge() == []
    assert told(lab) == []


def test_a_protocol_that_is_set_later(lab):
    lab.apply(*service(), manifests.route("a"))
    router = lab.router()
    lab.settle(router)
    assert told(lab) == []
    lab.apply(service(protocol="h2c")[0])
    lab.settle(router)
    until(lambda: any("appProtocol h2c" in text for text in told(lab)))


@pytest.mark.parametrize(("annotations", "words"), [
    (IDLED, "Service web is idled"), ({}, "Service web has no ready endpoints")])
def test_idled(lab, annotations, words):
    """Nothing wakes the pods; a Warning says why nobody answers."""
    lab.apply(*service(pods=(), annotations=annotations), manifests.route("a"))
    assert lab.converge() == []
    (text,) = told(lab)
    assert words in text


def test_idled_on_openshift_3(make_lab):
    """The Endpoints object has the annotation."""
    lab = make_lab()
    lab.virtuals()
    lab.apply(manifests.service("shop", "web")[0], {
        "apiVersion": "v1", "kind": "Endpoints", "subsets": [],
        "metadata": {"namespace": "shop", "name": "web", "annotations": IDLED}}, manifests.route("a"))
    assert lab.converge(watch_endpoints="true") == []
    (text,) = told(lab)
    assert "Service web is idled" in text


def test_idled_with_pods(lab):
    """A note that was left behind does no harm."""
    lab.apply(*service(annotations=IDLED), manifests.route("a"))
    assert lab.converge() == []
    assert told(lab) == []
