"""Requests to the hosts of IngressRoutes, and the statuses that their owners see.

Sources: projectcontour/contour v1.5.1, docs/ingressroute.md and internal/e2e; design/ingressroute-design.md.
"""

from base64 import b64encode
from collections import Counter
from contextlib import ExitStack

import pytest

from tests.builders import Identity, identity
from tests.manifests import delegate, forward, ingress_route
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.test_health_checks import SPEED
from tests.waiting import until

HOST, SECURE, STRICT, RAW = "plain.example.com", "tls.example.com", "strict.example.com", "raw.example.com"
ROOTED = "rooted.example.com"
SOURCES = {"sources": "routes,ingressroutes", "root_namespaces": "shop"}
PAIR = identity("*.example.com")
OLDER, LATER = "2025-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
QUICK = {"intervalSeconds": 1, "unhealthyThresholdCount": 1}
CHECKS = {
    "well": {"path": "/up", **QUICK}, "sick": {"path": "/up?status=503", **QUICK},
    "host": {"path": "/up?host=check.example.com", "host": "check.example.com", **QUICK},
    "usual-host": {"path": "/up?host=contour-envoy-healthcheck", **QUICK},
    "other-host": {"path": "/up?host=check.example.com", **QUICK},
}
"""The check by name of a root."""
PLAIN = [  # path of the request, namespace and Service; "" for none
    ("/", "shop", "a"), ("/x", "shop", "a"),
    ("/foo", "shop", "b"), ("/foobar", "shop", "b"), ("/Foo", "shop", "a"),
    ("/foo/bar", "shop", "c"), ("/foo/barn", "shop", "c"),
    ("/pay", "bank", "pay"), ("/pay/in", "bank", "deep"), ("/pay/none", "bank", "pay"),
    ("/rewritten/x", "shop", "a"),
    ("/two/x", "shop", "b"), ("/three/y/z", "shop", "c"), ("/two", "shop", "a"), ("/three/x", "shop", "a"),
    ("/loop/x", "shop", "b"), ("/loop/again", "shop", "b"), ("/astray/in", "shop", "a"),
]
NOWHERE = {"forbidden": "bank", "younger": "shop", "wild": "shop"}
"""Roots of which nothing is served, with their namespaces."""


def tls_secret(name: str, pair: Identity) -> dict:
    data = {"tls.crt": pair.certificate, "tls.key": pair.key}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shop", "name": name},
            "type": "kubernetes.io/tls",
            "data": {key: b64encode(text.encode()).decode() for key, text in data.items()}}


def status(site: Site, name: str, namespace: str = "shop") -> str:
    return site.kube.get("IngressRoute", namespace, name).get("status", {}).get("currentStatus", "")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ExitStack() as stack:
        site = Site(stack, tmp_path_factory.mktemp("site"))
        for number, service in enumerate("abc", 1):
            site.serve(service, f"10.1.1.{number}")
        for number, service in enumerate(("pay", "deep"), 1):
            site.serve(service, f"10.1.2.{number}", namespace="bank")
        site.serve("tls", "10.1.3.1", port=8443, tls=PAIR)
        site.serve("two", "10.1.5.1", "10.1.5.2")
        site.serve("admin", "10.1.4.1", port=9090)
        theirs = ingress_route("theirs", forward("/", "a"), fqdn="theirs.example.com")
        theirs["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "nginx"}
        site.apply(
            tls_secret("pair", PAIR),
            ingress_route("plain", forward("/", "a"), forward("/foo", "b"), forward("/foo/bar", "c"),
                          delegate("/pay", "pay", "bank"), delegate("/gone", "gone"),
                          forward("/rewritten", "a", prefixRewrite="/new"), delegate("/loop", "loop"),
                          delegate("/astray", "astray"), delegate("/two", "twice"),
                          delegate("/three", "twice"), fqdn=HOST),
            ingress_route("twice", forward("/two/x", "b"), forward("/three/y", "c")),
            ingress_route("loop", forward("/loop", "b"), delegate("/loop/again", "again")),
            ingress_route("again", forward("/loop/again", "c"), delegate("/loop/again", "loop")),
            ingress_route("astray", forward("/astray/in", "c"), forward("/stray", "c")),
            ingress_route("forbidden", forward("/", "pay"), namespace="bank", fqdn=HOST, created=OLDER),
            ingress_route("younger", forward("/", "c"), fqdn=HOST, created=LATER),
            ingress_route("wild", forward("/", "c"), fqdn="*.example.com"),
            theirs,
            ingress_route("pay", forward("/pay", "pay"), delegate("/pay/in", "deep"), namespace="bank"),
            ingress_route("deep", forward("/pay/in", "deep"), namespace="bank"),
            ingress_route("orphan", forward("/pay/none", "deep"), namespace="bank"),
            ingress_route("invalid", forward("/pay/none", "deep"), namespace="shop", fqdn="bad.example.com"),
            ingress_route("tls", forward("/", "a"), forward("/open", "b", permitInsecure=True), fqdn=SECURE,
                          tls={"secretName": "pair"}),
            ingress_route("strict", forward("/", "a"), fqdn=STRICT,
                          tls={"secretName": "pair", "minimumProtocolVersion": "1.3"}),
            ingress_route("raw", forward("/open", "b"), fqdn=RAW, tls={"passthrough": True},
                          tcpproxy={"services": [{"name": "tls", "port": 8443}]}),
            ingress_route("rooted", forward("/", "b"), delegate("/part", "part"), fqdn=ROOTED,
                          tls={"passthrough": True}, tcpproxy={"services": [{"name": "tls", "port": 8443}]}),
            ingress_route("part", forward("/part", "c")),
            ingress_route("weights", forward("/", {"name": "a", "port": 8080, "weight": 30},
                                             {"name": "b", "port": 8080, "weight": 10},
                                             {"name": "c", "port": 8080}), fqdn="weights.example.com"),
            ingress_route("ports", forward("/", "a", {"name": "admin", "port": 9090}),
                          fqdn="ports.example.com"),
            *(ingress_route(name, forward("/", {"name": "a", "port": 8080, "healthCheck": check}),
                            fqdn=f"{name}.example.com") for name, check in CHECKS.items()),
            ingress_route("back", forward("/", {"name": "two", "port": 8080, "healthCheck": {
                "path": "/up", "intervalSeconds": 1, "timeoutSeconds": 1, "unhealthyThresholdCount": 2,
                "healthyThresholdCount": 4}}), fqdn="back.example.com"),
            ingress_route("whole", forward("/", "a"),
                          forward("/own", {"name": "b", "port": 8080, "healthCheck": {"path": "/up"}}),
                          fqdn="whole.example.com",
                          healthCheck=CHECKS["sick"]))
        assert site.converge(**SOURCES) == []
        yield site
        assert site.faults() == []


@pytest.mark.parametrize(("path", "namespace", "name"), PLAIN, ids=[row[0] for row in PLAIN])
def test_paths(site, path, namespace, name):
    """A match is text; the longest one counts."""
    reply = clients.plain(site.http, HOST, path)
    assert (reply.pod["namespace"], reply.pod["pod"].rpartition("-")[0]) == (namespace, name)
    if path.startswith("/rewritten"):
        assert reply.pod["target"] == "/new/x"


def test_statuses(site):
    assert {name: status(site, name, space) for space, name in (
        ("shop", "plain"), ("bank", "pay"), ("bank", "orphan"), ("shop", "invalid"), ("shop", "strict"))} == {
            "plain": "valid", "pay": "valid", "orphan": "orphaned", "invalid": "invalid", "strict": "valid"}
    assert site.kube.get("IngressRoute", "shop", "invalid")["status"]["description"] == (
        "Service [deep:8080] is invalid or missing")


@pytest.mark.parametrize("name", NOWHERE)
def test_roots_that_are_not_served(site, name):
    """They take no path from the others, whatever they are."""
    assert status(site, name, NOWHERE[name]) == "invalid"
    assert clients.plain(site.http, HOST).pod["pod"].startswith("a-")
    assert not clients.plain(site.http, "any.example.com").pod


def test_a_class_of_others(site):
    assert status(site, "theirs") == ""
    assert not clients.plain(site.http, "theirs.example.com").pod


def test_redirect(site):
    reply = clients.plain(site.http, SECURE, "/x?y=1")
    assert (reply.status, reply.location) == (301, f"https://{SECURE}/x?y=1")
    assert clients.plain(site.http, SECURE, "/open").pod["pod"].startswith("b-")
    assert clients.python(site.https, SECURE).pod["pod"].startswith("a-")


def test_minimum_of_tls(site):
    assert clients.python(site.https, STRICT).pod
    assert not clients.python(site.https, STRICT, maximum="TLSv1_2").pod
    assert clients.python(site.https, SECURE, maximum="TLSv1_2").pod


def test_passthrough(site):
    assert clients.python(site.https, RAW).pod["pod"].startswith("tls-")
    assert clients.plain(site.http, RAW, "/open").pod["pod"].startswith("b-")


def test_the_root_beside_a_passthrough(site):
    """Port 443 is the tcpproxy's, port 80 that of the routes; without a redirect, and without an Event."""
    assert clients.python(site.https, ROOTED, "/part").pod["pod"].startswith("tls-")
    for path, pod in (("/", "b-"), ("/x", "b-"), ("/part/x", "c-")):
        assert clients.plain(site.http, ROOTED, path).pod["pod"].startswith(pod)
    assert status(site, "rooted") == "valid"
    assert [event["message"] for event in site.kube.list("Event")
            if event["involvedObject"]["name"] == "rooted"] == []


def test_weights(site):
    """A Service without a weight beside others gets no request."""
    pods = Counter(clients.plain(site.http, "weights.example.com").pod["pod"][0] for _ in range(40))
    assert pods == {"a": 30, "b": 10}


def test_each_service_has_its_port(site):
    pods = Counter(clients.plain(site.http, "ports.example.com").pod["pod"] for _ in range(8))
    assert pods == {"a-10.1.1.1": 4, "admin-10.1.4.1": 4}


def test_an_upgrade_needs_no_option(site):
    """A WebSocket passes without enableWebsockets."""
    data = clients.request_bytes(HOST, "/foo/ws", close=False, headers=[
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="])
    assert clients.several(site.http, data)[0].status == 101


def test_health_checks(site):
    """A pod that answers the path with 503 gets no requests by this Host; by others it does.

    A check of the whole object counts for services without one of their own.
    """
    site.bigip.dataplane.clock.speed = SPEED
    until(lambda: not clients.plain(site.http, "sick.example.com").pod)
    until(lambda: not clients.plain(site.http, "whole.example.com").pod)
    until(lambda: not any(clients.plain(site.http, "other-host.example.com").pod for _ in range(60)))
    assert clients.plain(site.http, "whole.example.com", "/own").pod["pod"].startswith("b-")
    for name in ("well", "host", "usual-host"):
        until(lambda name=name: clients.plain(site.http, f"{name}.example.com").pod)
    assert clients.plain(site.http, HOST).pod["pod"].startswith("a-")


def test_a_pod_that_fails_and_comes_back(site):
    """It gets requests again after as many good answers as healthyThresholdCount wants, not at the first."""
    def asked() -> set[str]:
        return {clients.plain(site.http, "back.example.com").pod.get("address") for _ in range(4)}

    site.bigip.dataplane.clock.speed = SPEED
    pod = site.pods["10.1.5.1", 8080]
    until(lambda: asked() == {"10.1.5.1", "10.1.5.2"})
    pod.status = 503
    until(lambda: asked() == {"10.1.5.2"})
    before = len(pod.requests)
    pod.status = 200
    until(lambda: asked() == {"10.1.5.1", "10.1.5.2"})
    first = pod.requests.index("GET /", before)
    assert pod.requests[before:first].count("GET /up") >= 2


def test_changes(site):
    """A vertex gets a root, and a certificate is renewed, while nothing else is touched."""
    assert clients.python(site.https, SECURE).certificate == "*.example.com"
    site.apply(
        tls_secret("pair", identity(SECURE)),
        ingress_route("late", delegate("/pay", "orphan", "bank"), fqdn="late.example.com"))
    assert site.converge(**SOURCES) == []
    assert status(site, "orphan", "bank") == "valid"
    assert clients.plain(site.http, "late.example.com", "/pay/none").pod["pod"].startswith("deep-")
    assert clients.python(site.https, SECURE).certificate == SECURE
    site.kube.delete("IngressRoute", "shop", "late")
    assert site.converge(**SOURCES) == []
    assert status(site, "orphan", "bank") == "orphaned"
    assert not clients.plain(site.http, "late.example.com", "/pay/none").pod
