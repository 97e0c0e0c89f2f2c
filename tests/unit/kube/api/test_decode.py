"""decode.py and fields.py: API objects to frozen values, and what becomes of odd ones."""

import contextlib
import copy
import json
from dataclasses import asdict, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.admission import annotations
from f5router.kube.api import decode, fields
from f5router.model.cluster import (
    Backend,
    Key,
    Route,
    RouteTLS,
    Secret,
    Service,
    ServicePort,
)
from tests.rows import rows
from tests.unit.kube import objects

FULL = {
    "metadata": {"namespace": "shop", "name": "a", "uid": "u1", "resourceVersion": "7",
                 "creationTimestamp": "2026-01-01T00:00:00Z", "annotations": {"b": "2", "a": "1"}},
    "spec": {
        "host": "www.example.com", "subdomain": "www", "path": "/x", "wildcardPolicy": "Subdomain",
        "to": {"kind": "Service", "name": "web", "weight": 10},
        "alternateBackends": [{"kind": "Service", "name": "b", "weight": 1}, {"name": "c"}],
        "port": {"targetPort": "http"},
        "tls": {"termination": "reencrypt", "insecureEdgeTerminationPolicy": "Redirect", "certificate": "C",
                "key": "K", "caCertificate": "CA", "destinationCACertificate": "D",
                "externalCertificate": {"name": "secret"}},
    },
    "status": {"ingress": [{"routerName": "public", "host": "www.example.com"}]},
}

ROUTE = Route(
    Key("shop", "a"), uid="u1", created="2026-01-01T00:00:00Z", host="www.example.com", subdomain="www",
    path="/x", service="web", weight=10, alternates=(Backend("b", 1), Backend("c")), target_port="http",
    tls=RouteTLS("reencrypt", "Redirect", "C", "K", "CA", "D", "secret"),
    wildcard_policy="Subdomain",
)


def changed(obj, path, value):
    """A copy with one field set, or deleted if the value is None."""
    result = copy.deepcopy(obj)
    *parents, last = path.split(".")
    place = result
    for name in parents:
        place = place[name]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return result


def test_route():
    """Every field, and the two that are not compared."""
    result = decode.route(FULL)
    assert result == ROUTE
    assert result.resource_version == "7"
    assert result.status_ingress == ({"routerName": "public", "host": "www.example.com"},)


VALUES = st.one_of(st.none(), st.text(), st.integers())
CONDITIONS = st.lists(st.one_of(VALUES, st.dictionaries(st.sampled_from(["type", "message"]), VALUES)))


@given(st.dictionaries(st.sampled_from(["type", "status", "conditions", "odd"]), VALUES | CONDITIONS))
def test_entries_of_a_status_are_kept_as_they_are(entry):
    """A write sends those of other routers back."""
    assert decode.ingress({"status": {"ingress": [entry]}}) == (entry,)


def test_entries_share_their_names():
    text = json.dumps({"status": {"ingress": [
        {"routerName": "public", "conditions": [{"type": "Admitted", "message": "x"}]}]}})
    first, second = (decode.ingress(json.loads(text))[0] for _ in range(2))
    assert list(map(id, first)) == list(map(id, second))
    assert list(map(id, first["conditions"][0])) == list(map(id, second["conditions"][0]))
    assert first["routerName"] is second["routerName"]


def test_smallest_route():
    """Missing fields have the defaults of the API."""
    assert decode.route({"metadata": {"name": "a", "namespace": "n"}, "spec": {}}) == Route(Key("n", "a"))


@pytest.mark.parametrize(("path", "value", "field", "expected"), [
    pytest.param("spec.wildcardPolicy", None, "wildcard_policy", "None", id="no wildcard policy"),
    pytest.param("spec.wildcardPolicy", "", "wildcard_policy", "None", id="empty wildcard policy"),
    pytest.param("spec.wildcardPolicy", 5, "wildcard_policy", "None", id="odd wildcard policy"),
    pytest.param("spec.port.targetPort", 8080, "target_port", "8080", id="port number"),
    pytest.param("spec.port.targetPort", True, "target_port", "", id="odd port"),
    pytest.param("spec.port", ["x"], "target_port", "", id="odd port object"),
    pytest.param("spec.host", 5, "host", "", id="odd host"),
    pytest.param("spec.subdomain", 5, "subdomain", "", id="odd subdomain"),
    pytest.param("spec.to.name", ["web"], "service", "", id="odd target"),
    pytest.param("spec.to.kind", None, "service_kind", "Service", id="no kind"),
    pytest.param("spec.to.weight", None, "weight", None, id="no weight"),
    pytest.param("spec.to.weight", 0, "weight", 0, id="weight 0"),
    pytest.param("spec.to.weight", "10", "weight", None, id="odd weight"),
    pytest.param("spec.alternateBackends", {"name": "b"}, "alternates", (), id="odd alternates"),
    pytest.param("spec.alternateBackends", [7, {"name": "b", "weight": "1", "kind": "Pod"}], "alternates",
                 (Backend(), Backend("b", None, "Pod")), id="odd alternate"),
    pytest.param("spec.alternateBackends", [{"name": "b"}] * 99, "alternates", (Backend("b"),) * 4,
                 id="many alternates"),
    pytest.param("spec.tls", None, "tls", None, id="no tls"),
    pytest.param("status", 5, "status_ingress", (), id="odd status"),
])
def test_route_field(path, value, field, expected):
    """A field that is missing or of a wrong type has its neutral value; the others stay."""
    result = decode.route(changed(FULL, path, value))
    assert getattr(result, field) == expected
    assert replace(result, **{field: getattr(ROUTE, field)}) == ROUTE


@pytest.mark.parametrize(("path", "value", "field"), [
    pytest.param("spec.tls", "edge", "spec.tls", id="tls would become clear text"),
    pytest.param("spec.path", ["/x"], "spec.path", id="path would become every path"),
    pytest.param("spec", None, "spec", id="no spec"),
    pytest.param("spec", [], "spec", id="odd spec"),
    pytest.param("metadata.name", 5, "metadata.name", id="no name"),
    pytest.param("metadata", None, "metadata.name", id="no metadata"),
])
def test_route_without_a_meaning(path, value, field):
    """Where the neutral value would serve what nobody asked for, the object is refused."""
    with pytest.raises(fields.DecodeError) as caught:
        decode.route(changed(FULL, path, value))
    assert caught.value.field == field


@rows("decoded", [
    decode.route, decode.service, decode.endpoint_slice, decode.endpoints, decode.secret],
    ids=lambda function: function.__name__)
@rows(("metadata", "field"), [
    pytest.param({"name": name}, "metadata.name", id=label) for label, name in (
        ("slash", "a/b"), ("upper case", "A"), ("underscore", "a_b"), ("lone surrogate", "a\ud800"),
        ("right to left", "a\u202eb"), ("escape", "a\x1b[2J"), ("line break", "a\n"), ("NUL", "a\0"),
        ("dot at the end", "a."), ("two dots", "a..b"), ("dots", ".."), ("percent", "a%2fb"),
        ("blank", "a b"), ("other digits", "a\u0663"), ("too long", "a" * 254),
        ("very long", "a" * 1_500_000))
] + [
    pytest.param({"name": "a", "namespace": namespace}, "metadata.namespace", id=f"namespace {label}")
    for label, namespace in (("missing", ""), ("with a dot", "a.b"), ("slash", "a/b"), ("number", 5),
                             ("upper case", "A"), ("underscore", "a_b"), ("too long", "a" * 64))
])
def test_names_that_the_api_gives_to_nothing(decoded, metadata, field):
    """Names on the BIG-IP, paths of requests and logs are made of them."""
    with pytest.raises(fields.DecodeError) as caught:
        decoded({"metadata": {"namespace": "shop", **metadata}, "spec": {}})
    assert caught.value.field == field
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("name", ["a", "0", "a.b-c.d", "a" * 253, ".".join(["a" * 63] * 3)])
def test_good_names(name):
    assert decode.route({"metadata": {"namespace": "a" * 63, "name": name}, "spec": {}}).key.name == name


def test_names_of_hosts():
    """OpenShift's own kinds for its network take what may stand in a path."""
    assert decode.host_subnet({"metadata": {"name": "F5_one"}}).key.name == "F5_one"


def test_nothing_is_kept_that_nobody_reads():
    """An object is as large as the API server takes it; 2,000 of these filled the memory of the router."""
    load = "x" * 255_000
    metadata = {"namespace": "shop", "name": "a", "annotations": {"note": load}, "labels": {"l": load},
                "managedFields": [{"manager": load}], "uid": load, "creationTimestamp": load}
    spec = {"host": load, "path": load, "unknown": load, "to": {"kind": load, "name": load},
            "alternateBackends": [{"name": load}] * 9, "port": {"targetPort": load}, "wildcardPolicy": load,
            "tls": {"termination": load, "externalCertificate": {"name": load}}, "type": load,
            "ports": [{"name": load, "port": 80, "targetPort": load}], "podCIDR": load}
    obj = {"metadata": metadata, "spec": spec, "status": {"conditions": [{"message": load}]}, "type": load,
           "data": {"token": load}}
    for decoded in (decode.route, decode.service, decode.secret, decode.node):
        assert len(repr(decoded(obj))) < 20 * fields.MOST_TEXT, decoded


def test_annotations_for_a_router():
    """Their keys are kept, for warnings; a WAF policy is seen among however many others."""
    prefix, waf = "haproxy.router.openshift.io/", "virtual-server.f5.com/waf"
    given = {f"{prefix}key{number}": "x" for number in range(1000)}
    given |= {"note": "x", f"{prefix}empty": " ", f"{prefix}number": 3,
              f"{prefix}{'x' * 400}": "x", waf: "/Common/waf"}
    metadata = {"namespace": "shop", "name": "a", "annotations": given}
    route = decode.route({"metadata": metadata, "spec": {}})
    assert route.waf == "/Common/waf"
    assert len(route.unsupported) == annotations.MOST_KEYS
    assert all(key.startswith(f"{prefix}key") for key in route.unsupported)


@pytest.mark.parametrize(("text", "kept"), [
    (" /Common/a ", "/Common/a"), (" ", ""), (None, ""), ("x" * 100_000, "x" * 256)])
def test_a_waf_policy(text, kept):
    """A text that is too long for a path still asks for protection."""
    metadata = {"namespace": "shop", "name": "a", "annotations": {"virtual-server.f5.com/waf": text}}
    assert decode.route({"metadata": metadata, "spec": {}}).waf == kept


def test_a_list_of_clients():
    """It is an option of the Route, or a reason to refuse it; it never counts as unsupported."""
    def decoded(text: str):
        given = {"haproxy.router.openshift.io/ip_whitelist": text}
        metadata = {"namespace": "shop", "name": "a", "annotations": given}
        return decode.route({"metadata": metadata, "spec": {}})

    for text, sources in (("10.0.0.1 x", ("10.0.0.1/32",)), ("x", ()), (" ", ())):
        result = decoded(text)
        assert (result.options.sources, result.unsupported) == (sources, ())
        assert (bool(result.option_problems), bool(result.option_refusal)) == ("." in text, text == "x")


@pytest.mark.parametrize(("headers", "actions", "problems"), [
    ({"actions": {"request": [{"name": "a", "action": {"type": "Delete"}}]}}, ("delete.61",), 0),
    ({"actions": {"request": [{"name": "a"}]}}, (), 1), ({"actions": {"response": [{"name": "a"}]}}, (), 1),
    ({"actions": {"request": [], "response": None}}, (), 0), ({}, (), 0), (None, (), 0), ("x", (), 0),
])
def test_header_actions(headers, actions, problems):
    metadata = {"namespace": "shop", "name": "a"}
    route = decode.route({"metadata": metadata, "spec": {"httpHeaders": headers}})
    assert route.options.request_actions == actions
    assert len(route.option_problems) == problems
    assert route.unsupported == ()


def test_too_many_ports():
    """A Service of 65,000 ports would cost 10 MB."""
    ports = [{"port": number} for number in range(1, decode.MOST_PORTS + 2)]
    with pytest.raises(fields.DecodeError, match=r"shop/web: spec.ports has 1001 entries, at most 1000"):
        decode.service(objects.service(ports=ports))
    assert len(decode.service(objects.service(ports=ports[1:])).ports) == decode.MOST_PORTS


def test_no_secret_is_printed():
    """Neither the key nor the certificate."""
    assert "'K'" not in repr(decode.route(FULL))
    assert asdict(decode.route(FULL))["tls"]["key"] == "K"


def test_service():
    result = decode.service({
        "metadata": {"namespace": "shop", "name": "web", "annotations": {"x": "y"}},
        "spec": {"clusterIP": "172.30.0.10", "ports": [
            {"name": "http", "port": 80, "targetPort": "web", "nodePort": 30080},
            {"port": 53, "protocol": "UDP"}, {"name": "no number"}, {"port": 70000}, "odd"]}})
    assert result == Service(
        Key("shop", "web"),
        (ServicePort("http", 80, "TCP", "web", 30080), ServicePort("", 53, "UDP")),
        "172.30.0.10")


@pytest.mark.parametrize(("spec", "kind", "local"), [
    pytest.param({}, "ClusterIP", False, id="nothing"),
    pytest.param({"type": "NodePort"}, "NodePort", False, id="node port"),
    pytest.param({"type": "LoadBalancer", "externalTrafficPolicy": "Local"}, "LoadBalancer", True,
                 id="Local"),
    pytest.param({"type": "NodePort", "externalTrafficPolicy": "Cluster"}, "NodePort", False, id="Cluster"),
    pytest.param({"type": 5, "externalTrafficPolicy": ["Local"]}, "ClusterIP", False, id="odd"),
])
def test_service_type(spec, kind, local):
    result = decode.service({"metadata": {"namespace": "shop", "name": "web"}, "spec": spec})
    assert (result.type, result.local) == (kind, local)


@pytest.mark.parametrize(("annotation", "idled"), [
    ("2026-01-01T00:00:00Z", True), ("", False), (None, False), (["x"], False),
])
def test_idled(annotation, idled):
    """OpenShift 4 notes it on the Service, OpenShift 3 on Endpoints without subsets."""
    annotations = {"idling.alpha.openshift.io/idled-at": annotation}
    obj = {"metadata": {"namespace": "shop", "name": "web", "annotations": annotations}}
    assert decode.service(obj).idled == idled
    assert [slice_.idled for slice_ in decode.endpoints(obj)] == [True] * idled
    assert not any(slice_.idled for slice_ in decode.endpoints({**obj, "subsets": [{}]}))


@pytest.mark.parametrize(("value", "shown"), [("h2c", "h2c"), (5, ""), (None, "")])
def test_app_protocol(value, shown):
    spec = {"ports": [{"port": 80, "appProtocol": value}]}
    obj = {"metadata": {"namespace": "shop", "name": "web"}, "spec": spec}
    assert [port.app_protocol for port in decode.service(obj).ports] == [shown]


@pytest.mark.parametrize("spec", [
    pytest.param({"clusterIP": "None"}, id="headless"),
    pytest.param({"clusterIP": 5, "ports": "x"}, id="odd"),
    pytest.param("odd", id="odd spec"),
])
def test_service_without_address(spec):
    obj = {"metadata": {"namespace": "n", "name": "a"}, "spec": spec}
    assert decode.service(obj) == Service(Key("n", "a"))


@pytest.mark.parametrize(("text", "expected"), [
    pytest.param("10.1.2.3", "10.1.2.3", id="IPv4"),
    pytest.param("2001:DB8:0:0::1", "2001:db8::1", id="IPv6 in canonical form"),
    pytest.param("::ffff:10.1.2.3", "10.1.2.3", id="IPv4-mapped is IPv4"),
    pytest.param("fd00:ec2::253", "fd00:ec2::253", id="private IPv6"),
    pytest.param("169.253.1.1", "169.253.1.1", id="beside link-local"),
    pytest.param("fe80::1%eth0", None, id="zone"),
    pytest.param("2001:db8::1%1", None, id="zone of a global address"),
    pytest.param("10.1.2", None, id="short"),
    pytest.param("010.1.2.3", None, id="leading zero"),
    pytest.param("10.1.2.3/32", None, id="prefix"),
    pytest.param(" 10.1.2.3", None, id="space"),
    pytest.param("pod.example.com", None, id="name"),
    pytest.param("", None, id="empty"),
])
def test_addresses(text, expected):
    """In one spelling; which of them become pool members is decided later."""
    assert fields.canonical_address(text) == expected


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([
        "metadata", "spec", "status", "name", "namespace", "labels", "annotations", "to", "port", "tls",
        "ingress", "ports", "endpoints", "addresses", "conditions", "subsets", "ip", "targetPort",
        "alternateBackends", "externalCertificate", "podCIDRs"]), inner, max_size=4),
    max_leaves=25)


@pytest.mark.parametrize("function", [
    decode.route, decode.service, decode.endpoint_slice, decode.endpoints, decode.node, decode.secret])
@given(spec=JSON, status=JSON, more=JSON)
def test_no_object_crashes(function, spec, status, more):
    """Any JSON gives a value that can be compared and stored, or DecodeError."""
    obj = {"metadata": {"name": "x", "labels": more, "annotations": more}, "spec": spec, "status": status,
           "subsets": more, "endpoints": more, "ports": spec, "type": "kubernetes.io/tls",
           "data": {"tls.crt": spec, "tls.key": more}}
    with contextlib.suppress(fields.DecodeError):
        hash(function(obj))


@pytest.mark.parametrize(("data", "wanted"), [
    ({"tls.crt": "b25l", "tls.key": "dHdv"}, ("one", "two")), ({"tls.crt": "b25l"}, ("one", "")),
    ({"tls.crt": "b25", "tls.key": "b25l b25l"}, ("", "")),
    ({"tls.crt": "\xe9", "tls.key": "/w=="}, ("", "\ufffd")),
    ({"tls.crt": 7}, ("", "")), (None, ("", "")),
])
def test_secret(data, wanted):
    """Invalid base64 counts as empty. No key is kept of type Opaque, and nothing of others."""
    obj = {"metadata": {"name": "tls", "namespace": "shop"}, "type": "kubernetes.io/tls", "data": data}
    result = decode.secret(obj)
    assert (result.certificate, result.private_key) == wanted
    assert decode.secret({**obj, "type": "Opaque"}) == Secret(result.key, "Opaque", wanted[0])
    assert decode.secret({**obj, "type": "example.com/x"}) == Secret(result.key, "example.com/x")
    for kind in ("Opaque", "kubernetes.io/tls"):
        assert decode.secret({**obj, "type": kind, "data": {"ca.crt": "b25l"}}).authorities == "one"
    assert "one" not in repr(result)
