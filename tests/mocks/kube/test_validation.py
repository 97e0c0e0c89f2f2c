"""Refusals of the API server, with its fields and words, and what it gives back."""

import pytest

from mocks.kube import FakeKube

from .conftest import Http
from .objects import SERVICES, SHOP, admitted, route

SLICES = "/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices"
SECRETS = "/api/v1/namespaces/shop/secrets"
EVENTS = "/api/v1/namespaces/shop/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/shop/events"


@pytest.fixture(autouse=True)
def shop(kube):
    """The namespace the tests write to."""
    kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})


def spec(**fields) -> dict:
    return route() | {"spec": route()["spec"] | fields}


def endpoints(*addresses: str, **fields) -> dict:
    return {"metadata": {"name": "web-1"}, "addressType": "IPv4",
            "endpoints": [{"addresses": list(addresses)}], "ports": [{"port": 80}]} | fields  # fmt: skip


def service(*ports: dict, **fields) -> dict:
    return {"metadata": {"name": "web"}, "spec": {"ports": list(ports), **fields}}


def secret(**data: str) -> dict:
    held = {name.replace("_", "."): text for name, text in data.items()}
    return {"metadata": {"name": "cert"}, "type": "kubernetes.io/tls", "data": held}


def event(space: str = "shop", **fields) -> dict:
    about = {"kind": "Route", "namespace": space, "name": "web"}
    return {"metadata": {"name": "web.1"}, "involvedObject": about} | fields


def new_event(**fields) -> dict:
    about = {"kind": "Route", "namespace": "shop", "name": "web"}
    return {"metadata": {"name": "web.1"}, "regarding": about, "eventTime": "2026-01-01T00:00:00.000000Z",
            "reportingController": "f5router", "reportingInstance": "a", "action": "Bind", "reason": "Gone",
            "type": "Warning"} | fields  # fmt: skip


@pytest.mark.parametrize(("path", "body", "faults"), [
    pytest.param(SHOP, spec(host="a_b"), {
        "spec.host": 'Invalid value: "a_b": host must conform to DNS 952 subdomain conventions'}, id="host"),
    pytest.param(SHOP, spec(subdomain="A"), {
        "spec.subdomain": 'Invalid value: "A": a lowercase RFC 1123 label'}, id="subdomain"),
    pytest.param(SHOP, spec(host="", wildcardPolicy="Subdomain"), {
        "spec.wildcardPolicy": 'Invalid value: "Subdomain": host name not specified for wildcard policy'},
        id="wildcard without a host"),
    pytest.param(SHOP, spec(wildcardPolicy="All"), {
        "spec.wildcardPolicy": 'Unsupported value: "All": supported values: "None", "Subdomain"'},
        id="wildcard policy"),
    pytest.param(SHOP, spec(to={"kind": "Pod", "name": "web"}), {
        "spec.to.kind": 'Invalid value: "Pod": must reference a Service'}, id="backend's kind"),
    pytest.param(SHOP, spec(alternateBackends=[{}, *[{"name": "b"}] * 3]), {
        "spec.alternateBackends": "Required value: cannot specify more than 3 alternate backends",
        "spec.alternateBackends[0].name": "Required value"}, id="alternate backends"),
    pytest.param(SHOP, spec(port={"targetPort": 0}), {"spec.port.targetPort": "Required value"}, id="port"),
    pytest.param(SHOP, spec(tls={"termination": "passthrough", "key": "k"}), {
        "spec.tls.key": 'Invalid value: "redacted key data": passthrough termination does not support '
                        "certificates"}, id="key of a passthrough Route"),
    pytest.param(SHOP, spec(tls={"termination": "edge", "destinationCACertificate": "c"}), {
        "spec.tls.destinationCACertificate": 'Invalid value: "redacted destination ca certificate data": '
                                             "edge termination does not support destination certificates"},
        id="destination certificate of an edge Route"),
    pytest.param(SHOP, spec(tls={"termination": "passthrough", "insecureEdgeTerminationPolicy": "Allow"}), {
        "spec.tls.insecureEdgeTerminationPolicy": 'Invalid value: "Allow": invalid value for '
        "InsecureEdgeTerminationPolicy option, acceptable values are None, Redirect, or empty"},
        id="insecure passthrough"),
    pytest.param(SHOP, spec(tls={"termination": "tls"}), {
        "spec.tls.termination": 'Unsupported value: "tls": supported values: "edge", "passthrough", '
                                '"reencrypt"'}, id="termination"),
    pytest.param(SLICES, endpoints("10.1.0.1", addressType=None), {"addressType": "Required value"},
                 id="no address type"),
    pytest.param(SLICES, endpoints("10.1.0.1", addressType="IP"), {
        "addressType": 'Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"'},
        id="address type"),
    pytest.param(SLICES, endpoints(), {
        "endpoints[0].addresses": "Required value: must contain at least 1 address"}, id="no address"),
    pytest.param(SLICES, endpoints(*[f"10.1.0.{n}" for n in range(1, 102)]), {
        "endpoints[0].addresses": "Too many: 101: must have at most 100 items"}, id="too many addresses"),
    pytest.param(SLICES, endpoints("10.1.0.1", endpoints=[{"addresses": ["10.1.0.1"]}] * 1001), {
        "endpoints": "Too many: 1001: must have at most 1000 items"}, id="too many endpoints"),
    pytest.param(SLICES, endpoints("10.1.0.1", "fd00::1", "127.0.0.1", "169.254.169.254"), {
        "endpoints[0].addresses[1]": 'Invalid value: "fd00::1": must be a valid IPv4 address',
        "endpoints[0].addresses[2]": 'Invalid value: "127.0.0.1": may not be in the loopback range '
                                     "(127.0.0.0/8, ::1/128)",
        "endpoints[0].addresses[3]": 'Invalid value: "169.254.169.254": may not be in the link-local range '
                                     "(169.254.0.0/16, fe80::/10)"}, id="addresses"),
    pytest.param(SLICES, endpoints("10.1.0.1", ports=[{"port": 80}, {"port": 81}]), {
        "ports[1].name": 'Duplicate value: ""'}, id="two ports without names"),
    pytest.param(SLICES, endpoints("10.1.0.1", ports=[{"port": 80, "protocol": "QUIC"}]), {
        "ports[0].protocol": 'Unsupported value: "QUIC": supported values: "SCTP", "TCP", "UDP"'},
        id="protocol of an endpoint"),
    pytest.param(SERVICES, service(), {"spec.ports": "Required value"}, id="no ports"),
    pytest.param(SERVICES, service({"port": 80}, {"port": 81}), {
        "spec.ports[0].name": "Required value", "spec.ports[1].name": "Required value"}, id="no port names"),
    pytest.param(SERVICES, service({"name": "a", "port": 80}, {"name": "a", "port": 81}), {
        "spec.ports[1].name": 'Duplicate value: "a"'}, id="port name twice"),
    pytest.param(SERVICES, service({"name": "a", "port": 80}, {"name": "b", "port": 80}), {
        "spec.ports[1]": 'Duplicate value: core.ServicePort{Name:"", Protocol:"TCP", '
        "AppProtocol:(*string)(nil), Port:80, TargetPort:intstr.IntOrString{Type:0, IntVal:0, "
        'StrVal:""}, NodePort:0}'}, id="port twice"),
    pytest.param(SERVICES, service({"port": 70000, "targetPort": "a_port"}), {
        "spec.ports[0].port": "Invalid value: 70000: must be between 1 and 65535, inclusive",
        "spec.ports[0].targetPort": 'Invalid value: "a_port": must contain only alpha-numeric characters '
                                    "(a-z, 0-9), and hyphens (-)"}, id="ports"),
    pytest.param(SERVICES, service({"port": 80, "nodePort": 30080}), {
        "spec.ports[0].nodePort": "Forbidden: may not be used when `type` is 'ClusterIP'"}, id="node port"),
    pytest.param(SERVICES, service({"port": 80}, type="NodePort", clusterIP="None"), {
        "spec.clusterIPs[0]": 'Invalid value: "None": may not be set to \'None\' for NodePort services'},
        id="headless with node ports"),
    pytest.param(SERVICES, service(type="ExternalName"), {"spec.externalName": "Required value"},
                 id="no external name"),
    pytest.param(SERVICES, service({"port": 80}) | {"metadata": {"name": "1web"}}, {
        "metadata.name": 'Invalid value: "1web": a DNS-1035 label must consist'}, id="Service's name"),
    pytest.param(SECRETS, secret(tls_crt="YQ=="), {"data[tls.key]": "Required value"}, id="no key"),
    pytest.param(SECRETS, secret(tls_crt="YQ==", tls_key="A" * 1_500_000), {
        "data": "Too long: must have at most 1048576 bytes"}, id="long Secret"),
    pytest.param(EVENTS, event("other"), {
        "involvedObject.namespace": 'Invalid value: "other": does not match event.namespace'},
        id="Event elsewhere"),
    pytest.param(EVENTS, event(eventTime="2026-01-01T00:00:00.000000Z", reason="Gone"), {
        "reportingController": "Required value", "reportingInstance": "Required value",
        "action": "Required value"}, id="new fields of an Event"),
    pytest.param(NEW_EVENTS, new_event(eventTime=None), {"eventTime": "Required value"}, id="no eventTime"),
    pytest.param(NEW_EVENTS, new_event(note="\u00fc" * 513), {
        "message": 'Invalid value: "": can have at most 1024 characters'}, id="bytes of an Event"),
    pytest.param(NEW_EVENTS, new_event(note="x" * 1025, deprecatedCount=2, type="Error"), {
        "message": 'Invalid value: "": can have at most 1024 characters',
        "type": 'Invalid value: "": has invalid value: Error',
        "count": 'Invalid value: "": needs to be unset'},
        id="Event"),
])  # fmt: skip
def test_refused(http, path, body, faults):
    """422 with every fault; the message of a fault begins as here."""
    reply = http("POST", path, json=body)
    assert (reply.status_code, reply.json()["reason"]) == (422, "Invalid")
    causes = {cause["field"]: cause["message"] for cause in reversed(reply.json()["details"]["causes"])}
    assert causes.keys() == faults.keys()
    for field, message in faults.items():
        assert causes[field].startswith(message)
        assert f"{field}: {message}" in reply.json()["message"]


@pytest.mark.parametrize(("path", "body"), [
    pytest.param(SHOP, spec(host="", subdomain="web"), id="subdomain"),
    pytest.param(SHOP, spec(tls={"termination": "reencrypt", "destinationCACertificate": "c"}),
                 id="reencrypt"),
    pytest.param(SHOP, spec(tls={}), id="TLS without a termination"),
    pytest.param(SLICES, endpoints("Pod.example.com".lower(), addressType="FQDN"), id="names"),
    pytest.param(SLICES, endpoints("fd00::1", addressType="IPv6"), id="IPv6"),
    pytest.param(SERVICES, service(clusterIP="None"), id="headless without ports"),
    pytest.param(SERVICES, service(type="ExternalName", externalName="example.com."), id="external name"),
    pytest.param(SERVICES, service({"name": "a", "port": 53}, {"name": "b", "port": 53, "protocol": "UDP"}),
                 id="one number, two protocols"),
    pytest.param(SECRETS, secret(tls_crt="", tls_key=""), id="empty TLS Secret"),
    pytest.param(SECRETS, {"metadata": {"name": "any"}}, id="Opaque Secret"),
    pytest.param(EVENTS, event(), id="Event"),
    pytest.param(NEW_EVENTS, new_event(), id="new Event"),
])  # fmt: skip
def test_accepted(http, path, body):
    assert http("POST", path, json=body).status_code == 201


@pytest.mark.parametrize(("path", "body", "change", "field", "message"), [
    pytest.param(SHOP, route(), {"spec": {"wildcardPolicy": "Subdomain"}}, "spec.wildcardPolicy",
                 'Invalid value: "Subdomain": field is immutable', id="wildcard policy"),
    pytest.param(SERVICES, service({"port": 80}), {"spec": {"clusterIP": "172.30.9.9"}}, "spec.clusterIPs[0]",
                 "may not change once set", id="cluster address"),
    pytest.param(SECRETS, secret(tls_crt="", tls_key=""), {"type": "Opaque"}, "type",
                 'Invalid value: "Opaque": field is immutable', id="type of a Secret"),
    pytest.param(SECRETS, secret(tls_crt="", tls_key="") | {"immutable": True}, {"data": {"tls.crt": "YQ=="}},
                 "data", "Forbidden: field is immutable when `immutable` is set", id="immutable Secret"),
    pytest.param(SLICES, endpoints("10.1.0.1"), {"addressType": "FQDN", "endpoints": None}, "addressType",
                 'Invalid value: "FQDN": field is immutable', id="address type"),
])  # fmt: skip
def test_unchangeable(http, path, body, change, field, message):
    name = http("POST", path, json=body).json()["metadata"]["name"]
    reply = http.patch(f"{path}/{name}", change)
    assert reply.status_code == 422
    (cause,) = reply.json()["details"]["causes"]
    assert cause["field"] == field
    assert message in cause["message"]


def test_an_old_host_stays(kube, http):
    """A host that was let in before labels were checked is no reason to refuse another change."""
    kube.apply(route(host=f"{'a' * 70}.example.com"))
    assert http.patch(f"{SHOP}/web", {"spec": {"path": "/x"}}).status_code == 200


@pytest.mark.parametrize(("spec", "why"), [
    ({"to": {"kind": "Service", "name": "web", "weight": "50"}},
     "string into Go struct field RouteTargetReference.spec.to.weight of type int32"),
    ({"to": {"kind": "Service", "name": "web", "weight": True}},
     "bool into Go struct field RouteTargetReference.spec.to.weight of type int32"),
    ({"alternateBackends": [{"kind": "Service", "name": "two", "weight": 1.5}]},
     "number into Go struct field RouteTargetReference.spec.alternateBackends.weight of type int32"),
    ({"alternateBackends": {}},
     "object into Go struct field RouteSpec.spec.alternateBackends of type []v1.RouteTargetReference"),
    ({"to": "web"}, "string into Go struct field RouteSpec.spec.to of type v1.RouteTargetReference"),
    ({"path": 1}, "number into Go struct field RouteSpec.spec.path of type string"),
    ({"tls": "edge"}, "string into Go struct field RouteSpec.spec.tls of type v1.TLSConfig"),
    ({"tls": {"termination": ["edge"]}},
     "array into Go struct field TLSConfig.spec.tls.termination of type string"),
], ids=lambda value: str(value)[:40])
def test_undecodable_spec(http, spec, why):
    """400 as of Go's decoder; a Route with the right types is validated."""
    obj = route()
    obj["spec"] |= spec
    reply = http("POST", SHOP, json=obj)
    assert (reply.status_code, reply.json()["message"]) == (
        400, f'Route in version "v1" cannot be handled as a Route: json: cannot unmarshal {why}')


@pytest.mark.parametrize(("ingress", "why"), [
    pytest.param("x", "json: cannot unmarshal string into Go struct field RouteStatus.status.ingress of type "
                      "[]v1.RouteIngress", id="no list"),
    pytest.param([{"host": 1}], "json: cannot unmarshal number into Go struct field "
                                "RouteIngress.status.ingress.host of type string", id="host"),
    pytest.param([{"conditions": [{"lastTransitionTime": "now"}]}],
                 'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"',
                 id="time"),
])  # fmt: skip
def test_undecodable_status(kube, http, ingress, why):
    """The types of a Route status are checked, its values are not."""
    kube.apply(route())
    reply = http.patch(f"{SHOP}/web/status", {"status": {"ingress": ingress}})
    assert (reply.status_code, reply.json()["details"]["causes"][0]["field"]) == (422, "patch")
    assert reply.json()["message"].startswith(' "" is invalid: patch: Invalid value: ')
    assert reply.json()["message"].endswith(f": {why}")
    reply = http("PUT", f"{SHOP}/web/status", json=kube.get("Route", "shop", "web") | {
        "status": {"ingress": ingress}})
    assert (reply.status_code, reply.json()["message"]) == (
        400, f'Route in version "v1" cannot be handled as a Route: {why}')


def test_any_status_values(kube, http):
    """ValidateRouteStatusUpdate looks at metadata alone."""
    kube.apply(route())
    odd = {"host": "Not a host", "conditions": [{"type": "Odd", "status": "Perhaps"}]}
    status = {"ingress": [admitted("x")["ingress"][0], odd]}
    assert http.patch(f"{SHOP}/web/status", {"status": status}).status_code == 200


def test_undecodable_secret(http):
    reply = http("POST", SECRETS, json=secret(tls_crt="%", tls_key=""))
    assert (reply.status_code, reply.json()["message"]) == (
        400, 'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0')


@pytest.mark.parametrize("given", [{}, {"endpoints": [], "ports": []}, {"endpoints": None, "ports": None}])
def test_null_lists(kube, http, given):
    """An EndpointSlice without endpoints or ports has null, not an empty list, in lists and watches too."""
    body = {"metadata": {"name": "empty", "namespace": "shop"}, "addressType": "IPv4", **given}
    assert http("POST", SLICES, json=body).json()["endpoints"] is None
    kube.apply(body | {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice"})
    assert http.patch(f"{SLICES}/empty", given).json()["metadata"]["generation"] == 1
    (item,) = http.get(SLICES).json()["items"]
    assert (item["endpoints"], item["ports"]) == (None, None)
    stream = http.watch(SLICES)
    assert next(stream)["object"]["ports"] is None
    stream.close()


def test_port_defaults(kube, http):
    http("POST", SLICES, json=endpoints("10.1.0.1"))
    (port,) = kube.get("EndpointSlice", "shop", "web-1")["ports"]
    assert port == {"name": "", "protocol": "TCP", "port": 80}


@pytest.mark.parametrize(("given", "host"), [
    ({"subdomain": "web"}, None),
    ({"wildcardPolicy": "Subdomain", "host": "www.example.com"}, "www.example.com"),
    ({}, "web-shop.router.default.svc.cluster.local"),
], ids=str)
def test_generated_host(kube, http, given, host):
    """Only a new Route without a host and subdomain gets one, and keeps it."""
    http("POST", SHOP, json={"metadata": {"name": "web"}, "spec": {"to": {"name": "web"}, **given}})
    stored = kube.get("Route", "shop", "web")
    assert stored["spec"].get("host") == host
    generated = "openshift.io/host.generated" in stored["metadata"].get("annotations", {})
    assert generated == (not given)
    http.patch(f"{SHOP}/web", {"spec": {"subdomain": None, "path": "/x"}})
    assert kube.get("Route", "shop", "web")["spec"].get("host") == host


def test_generation(kube, http):
    """Labels count for EndpointSlices and annotations for Deployments; so does a first graceful deletion."""
    http("POST", SLICES, json=endpoints("10.1.0.1"))
    for change, generation in (
        ({"metadata": {"annotations": {"a": "b"}}}, 1), ({"metadata": {"labels": {"a": "b"}}}, 2),
        ({"ports": None}, 3), ({"metadata": {"finalizers": ["example.com/x"]}}, 3),
    ):
        assert http.patch(f"{SLICES}/web-1", change).json()["metadata"]["generation"] == generation
    http("DELETE", f"{SLICES}/web-1")
    assert kube.get("EndpointSlice", "shop", "web-1")["metadata"]["generation"] == 4
    path = "/apis/apps/v1/namespaces/shop/deployments"
    http("POST", path, json={"metadata": {"name": "d"}, "spec": {}})
    assert http.patch(f"{path}/d", {"metadata": {"labels": {"a": "b"}}}).json()["metadata"]["generation"] == 1
    changed = http.patch(f"{path}/d", {"metadata": {"annotations": {"a": "b"}}}).json()
    assert changed["metadata"]["generation"] == 2


def test_generation_of_a_custom_resource(kube, http):
    """Without a status sub-resource, status is a field like others."""
    path = "/apis/contour.heptio.com/v1beta1/namespaces/shop/ingressroutes"
    http("POST", path, json={"metadata": {"name": "i"}, "spec": {}})
    changed = http.patch(f"{path}/i", {"status": {"currentStatus": "valid"}}).json()
    assert changed["metadata"]["generation"] == 2


@pytest.mark.parametrize(("path", "is_text"), [
    ("/apis/nothing.io/v1/things", True),
    ("/apis/network.openshift.io/v1/things", True),
    ("/apis/route.openshift.io/v1/things", False),
    (f"{SHOP}/web", False),
    ("/apis/network.openshift.io/v1/hostsubnets/n", False),
])
def test_not_found(http, path, is_text):
    """A text where no kind is served, in an API group of custom resources too; else a Status."""
    reply = http.get(path)
    assert reply.status_code == 404
    assert (reply.text == "404 page not found\n") == is_text
    assert reply.headers["Content-Type"] == ("text/plain; charset=utf-8" if is_text else "application/json")


def test_unknown_kind_without_rights():
    """Rights are asked for first, and nobody has any on a kind that is not served; discovery is open."""
    with FakeKube(openshift=False) as kube:
        kube.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "router"}})
        http = Http(kube)
        http.session.headers["Authorization"] = f"Bearer {kube.token_for('default', 'router')}"
        reply = http.get(SHOP)
        assert (reply.status_code, reply.json()["message"]) == (403, (
            'routes.route.openshift.io is forbidden: User "system:serviceaccount:default:router" cannot list '
            'resource "routes" in API group "route.openshift.io" in the namespace "shop"'))
        assert http.get("/apis/route.openshift.io/v1").text == "404 page not found\n"
        http.session.close()
