"""decode_contour.py: IngressRoutes and delegations of certificates, and what becomes of odd ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.kube.api import decode, decode_contour
from f5router.kube.api.fields import DecodeError
from f5router.model.cluster import Key
from f5router.model.ingress import (
    Delegate,
    IngressRoute,
    RouteEntry,
    RouteService,
    ServiceHealthCheck,
    TCPProxy,
    VirtualHost,
)

CHECK = {"path": "/up", "host": "h", "intervalSeconds": 1, "timeoutSeconds": 2, "unhealthyThresholdCount": 3,
         "healthyThresholdCount": 4}
SERVICE = {"name": "web", "port": 80, "weight": 5, "strategy": "Random", "healthCheck": CHECK,
           "validation": {"caSecret": "ca", "subjectName": "pod"}}
FULL = {
    "metadata": {"namespace": "shop", "name": "a", "uid": "u", "resourceVersion": "7",
                 "creationTimestamp": "2026-01-01T00:00:00Z",
                 "annotations": {"kubernetes.io/ingress.class": "x",
                                 "contour.heptio.com/ingress.class": "f5"}},
    "spec": {
        "virtualhost": {"fqdn": "a.b", "tls": {
            "secretName": "s", "minimumProtocolVersion": "1.2", "passthrough": True}},
        "strategy": "Cookie", "healthCheck": CHECK,
        "routes": [
            {"match": "/", "services": [SERVICE], "delegate": {"name": ""}, "permitInsecure": True,
             "enableWebsockets": True, "prefixRewrite": "/x", "timeoutPolicy": {"request": "1s"},
             "retryPolicy": {"count": 3}},
            {"match": "/d", "delegate": {"name": "v", "namespace": "n"}},
            {"match": "/w", "service": {"name": "web", "port": 80, "weight": None}}],
        "tcpproxy": {"services": [{"name": "t", "port": 1}], "delegate": {"name": "p"}},
    },
    "status": {"currentStatus": "valid", "description": "d"},
}
HEALTH = ServiceHealthCheck("/up", "h", 1, 2, 3, 4)


def test_ingress_route():
    decoded = decode_contour.ingress_route(FULL)
    assert decoded == IngressRoute(
        Key("shop", "a"), "u", "2026-01-01T00:00:00Z", "f5",
        VirtualHost("a.b", "s", "1.2", passthrough=True, tls=True),
        (RouteEntry("/", (RouteService("web", 80, 5, "Random", HEALTH, "ca", "pod"),), None, True, "/x",
                    "1s", 3),
         RouteEntry("/d", delegate=Delegate("v", "n")), RouteEntry("/w", (RouteService("web", 80),))),
        TCPProxy((RouteService("t", 1),), Delegate("p")), "Cookie", HEALTH)
    assert (decoded.resource_version, decoded.status) == ("7", ("valid", "d"))


@pytest.mark.parametrize(("spec", "problem"), [
    ([], "spec has a wrong type"),
    ({"virtualhost": "a.b"}, "spec.virtualhost has a wrong type"),
    ({"virtualhost": {"fqdn": 1}}, "spec.virtualhost.fqdn has a wrong type"),
    ({"virtualhost": {"tls": {"passthrough": "yes"}}}, "spec.virtualhost.tls.passthrough has a wrong type"),
    ({"routes": {"match": "/"}}, "spec.routes has a wrong type"),
    ({"routes": ["/"]}, "spec.routes[0] has a wrong type"),
    ({"routes": [{}] * 1001}, "spec.routes has 1001 entries, at most 1000 are possible"),
    ({"routes": [{"services": [{}] * 17}]},
     "spec.routes[0].services has 17 entries, at most 16 are possible"),
    ({"routes": [{"services": [{"port": "80"}]}]}, "spec.routes[0].services[0].port has a wrong type"),
    ({"routes": [{"services": [{"weight": True}]}]}, "spec.routes[0].services[0].weight has a wrong type"),
    ({"routes": [{"services": [{"port": 10**30}]}]}, "spec.routes[0].services[0].port is out of range"),
    ({"routes": [{"service": {"name": 1}}]}, "spec.routes[0].service[0].name has a wrong type"),
    ({"routes": [{"enableWebsockets": "yes"}]}, "spec.routes[0].enableWebsockets has a wrong type"),
    ({"routes": [{"match": "/" * 5000}]},
     "spec.routes[0].match has 5000 characters, at most 4096 are possible"),
    ({"tcpproxy": {"delegate": "v"}}, "spec.tcpproxy.delegate has a wrong type"),
    ({"healthCheck": {"intervalSeconds": 1.5}}, "spec.healthCheck.intervalSeconds has a wrong type"),
])
def test_problems(spec, problem):
    decoded = decode_contour.ingress_route({"metadata": {"namespace": "shop", "name": "a"}, "spec": spec})
    assert decoded == IngressRoute(Key("shop", "a"), problem=problem)


JSON = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=3)),
                    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(
                        st.sampled_from(["virtualhost", "routes", "services", "service", "match", "name",
                                         "tls", "delegate", "healthCheck", "tcpproxy", "fqdn", "port"]),
                        inner, max_size=4)), max_leaves=12)


@given(JSON)
def test_any_spec_is_decoded(spec):
    decode_contour.ingress_route({"metadata": {"namespace": "shop", "name": "a"}, "spec": spec})


def test_delegation():
    obj = {"metadata": {"namespace": "n", "name": "d"}, "spec": {"delegations": [
        {"secretName": "s", "targetNamespaces": ["a", 1, "*"]}, "x",
        {"secretName": 1, "targetNamespaces": "b"}]}}
    assert decode_contour.delegation(obj).delegations == (("s", ("a", "*")), ("", ()), ("", ()))
    obj["spec"]["delegations"] *= 400
    with pytest.raises(DecodeError, match="1200 entries"):
        decode_contour.delegation(obj)


def test_protocols_of_a_service():
    """Source: projectcontour/contour v1.5.1, internal/annotation/annotations_test.go."""
    decoded = decode.service({
        "metadata": {"namespace": "n", "name": "s", "annotations": {
            "contour.heptio.com/upstream-protocol.tls": "443, https",
            "projectcontour.io/upstream-protocol.h2c": "x"}},
        "spec": {"ports": [{"port": 443}, {"name": "https", "port": 8443}, {"name": "x", "port": 1},
                           {"name": "y", "port": 2}]}})
    assert [port.upstream_protocol for port in decoded.ports] == ["tls", "tls", "h2c", ""]


def test_circuit_breakers_of_a_service():
    """Source: projectcontour/contour v1.5.1, internal/annotation/annotations.go."""
    annotations = {"contour.heptio.com/max-requests": "10", "projectcontour.io/max-connections": "1",
                   "other.io/max-retries": "1", "contour.heptio.com/max-retries": ""}
    decoded = decode.service({"metadata": {"namespace": "n", "name": "s", "annotations": annotations}})
    assert decoded.circuit_breakers == ("max-connections", "max-requests")
