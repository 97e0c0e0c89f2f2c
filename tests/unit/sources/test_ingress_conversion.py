"""ingress_conversion.py: the Routes of an Ingress.

The id of a row begins with its source: concepts is Kubernetes' page "Ingress" under Concepts, api is
Kubernetes' API reference, Ingress v1, controller is openshift/route-controller-manager,
pkg/route/ingress/ingress.go, with the tests beside it, and own is docs/ingress.md, where nothing of these is
said, or something else is done.
"""

import pytest

from f5router.admission import host_claims
from f5router.kube.api import decode_ingress
from f5router.model.cluster import Key, PathMatch
from f5router.sources.ingress_conversion import convert, services
from f5router.sources.settings import IngressPolicy
from tests import builders, manifests
from tests.rows import rows

SERVICES = {service.key: service for service in (
    builders.service("web", ports=(("http", 80), ("admin", 9090))),
    builders.service("bare", ports=(("", 80),)),
)}
HOST = "www.example.com"
REDIRECT = "nginx.ingress.kubernetes.io/force-ssl-redirect"
DEFAULT = {"service": {"name": "bare", "port": {"number": 80}}}


def converted(*paths, **more):
    return convert(decode_ingress.ingress(manifests.ingress("site", *paths, **more)), SERVICES)


def served_of(result):
    return [route for route in result.routes.values() if route.option_refusal != host_claims.REFUSAL]


def only(*paths, **more):
    result = converted(*paths, **more)
    (route,) = result.routes.values()
    assert not result.problems
    return route


@pytest.mark.parametrize(("kind", "path", "match", "text"), [
    pytest.param("Prefix", "/foo", PathMatch.SEGMENTS, "/foo", id="concepts: by elements"),
    pytest.param("Prefix", "/foo/", PathMatch.SEGMENTS, "/foo", id="concepts: a trailing slash is ignored"),
    pytest.param("Prefix", "/", PathMatch.SEGMENTS, "", id="concepts: / is all paths"),
    pytest.param("Exact", "/foo", PathMatch.EXACT, "/foo", id="concepts: exactly"),
    pytest.param("Exact", "/foo/", PathMatch.EXACT, "/foo/", id="concepts: exactly, with its slash"),
    pytest.param("ImplementationSpecific", "/foo/", PathMatch.SEGMENTS, "/foo/",
                 id="controller: the path of a Route"),
    pytest.param("", "/foo", PathMatch.SEGMENTS, "/foo", id="controller: no type in older versions"),
    pytest.param("", "", PathMatch.SEGMENTS, "", id="controller: a Route without path"),
])
def test_paths(kind, path, match, text):
    route = only((HOST, path, "web", 80, kind))
    assert (route.path_match, route.path) == (match, text)


@pytest.mark.parametrize(("host", "route_host", "policy"), [
    pytest.param("www.example.com", "www.example.com", "None", id="concepts: precise"),
    pytest.param("*.example.com", "wildcard.example.com", "Subdomain", id="controller: wildcard"),
])
def test_hosts(host, route_host, policy):
    route = only((host, "/", "web", 80))
    assert (route.host, route.wildcard_policy) == (route_host, policy)


@pytest.mark.parametrize(("service", "port", "target"), [
    pytest.param("web", 80, "http", id="controller: the name of the Service's port"),
    pytest.param("web", "admin", "admin", id="api: ServiceBackendPort, by name"),
    pytest.param("bare", 80, "", id="controller: the only port has no name"),
])
def test_ports(service, port, target):
    route = only((HOST, "/", service, port))
    assert (route.service, route.target_port) == (service, target)


def test_identity():
    """The Routes of an Ingress claim their Hosts since it exists, under names that no object can have."""
    result = converted(
        (HOST, "/a", "web", 80), (HOST, "/a", "web", 80, "Exact"), ("b.example.com", "/a", "web", 80))
    assert len(result.routes) == 3
    for key, route in result.routes.items():
        assert key.namespace == "shop"
        assert key.name.startswith("-i-")
        assert (route.created, route.origin.kind, route.origin.key) == (
            "2026-01-01T00:00:00Z", "Ingress", Key("shop", "site"))
    assert [route.origin.field for route in result.routes.values()][2] == "spec.rules[2].http.paths[0]"
    other = converted(
        ("b.example.com", "/a", "web", 80), (HOST, "/a/", "bare", 80), (HOST, "/a", "bare", 80, "Exact"))
    assert result.routes.keys() == other.routes.keys()


@pytest.mark.parametrize(("paths", "more", "reason", "words"), [
    pytest.param([("", "/", "web", 80)], {}, "NoHost", "spec.rules[0].host: ", id="controller: no host"),
    pytest.param([(HOST, "/", "none", 80)], {}, "ServiceNotFound",
                 "spec.rules[0].http.paths[0].backend.service: Service 'none' ", id="controller: no Service"),
    pytest.param([(HOST, "/", "web", 81)], {}, "ServicePortNotFound", " no TCP port 81",
                 id="controller: no port of the number"),
    pytest.param([(HOST, "/", "web", "https")], {}, "ServicePortNotFound", " no TCP port 'https'",
                 id="controller: no port of the name"),
    pytest.param([(HOST, "/", "web", 80, "Regex")], {}, "InvalidIngress", "pathType: 'Regex'",
                 id="api: HTTPIngressPath, path type"),
    pytest.param([], {"defaultBackend": DEFAULT}, "NoHost", "spec.defaultBackend: ",
                 id="controller: defaultBackend without a host"),
    pytest.param([(HOST, "/", "web", 80)], {"annotations": {"route.openshift.io/termination": "Edge"}},
                 "InvalidIngress", "route.openshift.io/termination is 'Edge'",
                 id="own: a termination of another spelling, which the controller takes for none"),
    pytest.param([(HOST, "/", "web", 80)] * 1001, {}, "InvalidIngress", "spec.rules: 1001 ",
                 id="own: too many"),
])
def test_refused(paths, more, reason, words):
    result = converted(*paths, **more)
    assert not served_of(result)
    (problem,) = result.problems
    assert problem.reason == reason
    assert words in problem.message


@pytest.mark.parametrize(("paths", "served"), [
    pytest.param([(HOST, "/a", "web", 80)], {"/a": "web", "": "bare"}, id="concepts: what no path matches"),
    pytest.param([(HOST, "/", "web", 80)], {"": "web"}, id="concepts: / matches everything"),
    pytest.param([(HOST, "/", "web", 80, "Exact")], {"/": "web", "": "bare"},
                 id="concepts: / alone is matched exactly"),
    pytest.param([(HOST, "/", "none", 80)], {}, id="own: / matches everything, but has no Service"),
])
def test_default_backend(paths, served):
    result = converted(*paths, defaultBackend=DEFAULT)
    assert {route.path: route.service for route in served_of(result)} == served


ALL_HOSTS = IngressPolicy(default_backend_namespaces=frozenset({"shop"}))


@rows(("policy", "paths", "annotations", "insecure", "problems"), [
    (ALL_HOSTS, [], {}, "Allow", []),
    (IngressPolicy(default_backend_namespaces=frozenset({"*"})), [], {}, "Allow", []),
    (IngressPolicy(default_backend_namespaces=frozenset({"other"})), [], {}, "", ["NoHost"]),
    (ALL_HOSTS, [("", "/a", "web", 80)], {}, "", ["NoHost", "NoHost"]),
    (ALL_HOSTS, [], {"route.openshift.io/termination": "edge"}, "None", ["OptionWithoutEffect"]),
    (ALL_HOSTS, [], {REDIRECT: "true"}, "None", ["OptionWithoutEffect", "AnnotationTranslated"]),
    (ALL_HOSTS, [], {"route.openshift.io/termination": "passthrough"}, "held", ["NotSupported"]),
])
def test_a_default_backend_alone(policy, paths, annotations, insecure, problems):
    """It gets the requests for hosts that nobody claims, in a namespace that the administrator names."""
    ingress = decode_ingress.ingress(manifests.ingress(
        "site", *paths, annotations=annotations, defaultBackend=DEFAULT))
    result = convert(ingress, SERVICES, policy=policy)
    assert [problem.reason for problem in result.problems] == problems
    assert [(route.default_backend, route.host, "held" if route.option_refusal else route.tls.insecure_policy)
            for route in result.routes.values()] == ([(True, "*", insecure)] if insecure else [])


def test_a_default_backend_without_its_service():
    """All hosts stay with the Ingress."""
    ingress = decode_ingress.ingress(manifests.ingress("site", defaultBackend=DEFAULT))
    (route,) = convert(ingress, {}, policy=ALL_HOSTS).routes.values()
    assert (route.default_backend, route.option_refusal) == (True, host_claims.REFUSAL)


def test_a_host_without_paths():
    """The default backend has all of it. Source: Kubernetes API reference, IngressRule: http."""
    obj = manifests.ingress("site", (HOST, "/", "web", 80), defaultBackend=DEFAULT)
    del obj["spec"]["rules"][0]["http"]
    (route,) = convert(decode_ingress.ingress(obj), SERVICES).routes.values()
    assert (route.host, route.path, route.service) == (HOST, "", "bare")
    assert route.origin.field == "spec.defaultBackend"


def test_the_service_of_the_default_backend_is_followed():
    obj = decode_ingress.ingress(manifests.ingress("site", (HOST, "/a", "web", 80), defaultBackend=DEFAULT))
    assert services(obj) == {Key("shop", "web"), Key("shop", "bare")}


@pytest.mark.parametrize(("paths", "reason"), [
    pytest.param([], None, id="controller: no paths"),
    pytest.param([{"path": "/", "pathType": "Prefix", "backend": {"service": {"port": {"number": 80}}}}],
                 "ServiceNotFound", id="controller: no name of a Service"),
    pytest.param([{"path": "/", "pathType": "Prefix", "backend": {}}], "ServiceNotFound",
                 id="controller: an empty backend"),
])
def test_a_rule_without_a_backend(paths, reason):
    """Nothing of it is served; the other rules are."""
    obj = manifests.ingress("site", (HOST, "/", "web", 80), ("b.example.com", "/", "web", 80))
    obj["spec"]["rules"][0]["http"]["paths"] = paths
    result = convert(decode_ingress.ingress(obj), SERVICES)
    assert [route.host for route in served_of(result)] == ["b.example.com"]
    assert [problem.reason for problem in result.problems] == ([reason] if reason else [])


def test_resource_backend():
    obj = manifests.ingress("site", (HOST, "/", "web", 80))
    obj["spec"]["rules"][0]["http"]["paths"][0]["backend"] = {"resource": {"kind": "Bucket", "name": "b"}}
    (problem,) = convert(decode_ingress.ingress(obj), SERVICES).problems
    assert problem.message.startswith("spec.rules[0].http.paths[0].backend.resource: ")


def test_the_same_path_twice():
    """The first one is served. Prefix and ImplementationSpecific have one meaning here."""
    result = converted((HOST, "/a", "web", 80), (HOST, "/a", "bare", 80, ""))
    (route,) = result.routes.values()
    assert route.service == "web"
    assert [problem.reason for problem in result.problems] == ["DuplicatePath"]


@pytest.mark.parametrize(("tls", "annotations", "host", "termination", "secret"), [
    pytest.param([], {}, HOST, None, None, id="controller: none"),
    pytest.param([((HOST,), "own")], {}, HOST, "edge", "own", id="controller: the Secret of the host"),
    pytest.param([(("b.example.com",), "b"), ((HOST,), "own"), ((HOST,), "c")], {}, HOST, "edge", "own",
                 id="controller: the first that has it"),
    pytest.param([(("*.example.com",), "wild")], {}, HOST, "edge", "wild",
                 id="own: the wildcard of the host"),
    pytest.param([(("*.example.com",), "wild"), ((HOST,), "own")], {}, HOST, "edge", "own",
                 id="own: the host before its wildcard"),
    pytest.param([(("*.example.com",), "wild")], {}, "*.example.com", "edge", "wild",
                 id="controller: a wildcard host"),
    pytest.param([((), "")], {}, HOST, "edge", None, id="controller: an empty entry, router's certificate"),
    pytest.param([((HOST,), "")], {}, HOST, "edge", None, id="own: no Secret, the router's certificate"),
    pytest.param([((), "all")], {}, HOST, "edge", "all", id="concepts: no hosts, for all hosts"),
    pytest.param([((HOST,), "own")], {"termination": "reencrypt"}, HOST, "reencrypt", "own",
                 id="controller: annotation"),
    pytest.param([((HOST,), "own")], {"termination": "passthrough"}, HOST, "passthrough", None,
                 id="controller: passthrough has no certificate"),
    pytest.param([], {"termination": "edge"}, HOST, "edge", None, id="controller: the annotation is enough"),
])
def test_tls(tls, annotations, host, termination, secret):
    result = converted((host, "/", "web", 80), tls=tls, annotations={
        f"route.openshift.io/{name}": text for name, text in annotations.items()})
    (route,) = result.routes.values()
    assert {problem.reason for problem in result.problems} <= {"UnusedTLSHost"}
    assert (route.tls.termination if route.tls else None) == termination
    assert route.tls_secret == (Key("shop", secret) if secret else None)
    if secret:
        (number,) = [number for number, (_, name) in enumerate(tls) if name == secret][:1]
        assert route.origin.tls_field == f"spec.tls[{number}].secretName"
    if route.tls:
        assert (route.tls.insecure_policy, route.redirect_status) == ("Redirect", 302)


@rows(("annotations", "policy", "insecure"), [
    ({}, "Redirect", "Redirect"), ({}, "Allow", "Allow"),
    ({"route.openshift.io/termination": "reencrypt"}, "Allow", "Allow"),
    ({"route.openshift.io/termination": "passthrough"}, "Allow", "Redirect"),
    ({REDIRECT: "true"}, "Allow", "Redirect"),
    ({"ingress.kubernetes.io/allow-http": "false"}, "Allow", "Redirect"),
    ({"kubernetes.io/ingress.allow-http": "false"}, "Allow", "None"),
    ({"nginx.ingress.kubernetes.io/ssl-redirect": "false"}, "Redirect", "Allow"),
])
def test_requests_without_tls(annotations, policy, insecure):
    """The administrator's policy counts where no annotation asks for less."""
    ingress = decode_ingress.ingress(manifests.ingress(
        "site", (HOST, "/", "web", 80), tls=[((HOST,), "own")], annotations=annotations))
    (route,) = convert(ingress, SERVICES, policy=IngressPolicy(insecure_policy=policy)).routes.values()
    assert route.tls.insecure_policy == insecure


@pytest.mark.parametrize(("termination", "name", "authority", "problems"), [
    pytest.param("reencrypt", "ca", (Key("shop", "ca"), "tls.crt"), [], id="controller: reencrypt"),
    pytest.param("reencrypt", "", None, [], id="controller: no name"),
    pytest.param("edge", "ca", None, ["UnusedAnnotation"], id="controller: edge"),
    pytest.param("passthrough", "ca", None, ["UnusedAnnotation"], id="controller: passthrough"),
])
def test_a_secret_with_authorities_for_pods(termination, name, authority, problems):
    result = converted((HOST, "/", "web", 80), annotations={
        "route.openshift.io/termination": termination,
        "route.openshift.io/destination-ca-certificate-secret": name})
    (route,) = result.routes.values()
    assert (route.pod_authority and route.pod_authority[:2]) == authority
    assert [problem.reason for problem in result.problems] == problems
    if route.pod_authority:
        assert route.pod_authority.field == (
            "metadata.annotations: route.openshift.io/destination-ca-certificate-secret 'ca'")


def test_hosts_of_tls_that_no_rule_has():
    """One message, however many there are."""
    result = converted((HOST, "/", "web", 80), tls=((("ww.example.com", "b.example.com"), "own"),))
    (problem,) = result.problems
    assert (problem.reason, problem.message) == (
        "UnusedTLSHost", "spec.tls: no rule has the host 'ww.example.com' and 1 more; it has no effect")


def test_passthrough_is_for_all_paths():
    """ImplementationSpecific / as well: a passthrough Route may not have a path."""
    for kind in ("Prefix", "ImplementationSpecific"):
        assert only((HOST, "/", "web", 80, kind), annotations={
            "route.openshift.io/termination": "passthrough"}).path == ""


PASSED = {"annotations": {"route.openshift.io/termination": "passthrough"}}
UNSEEN = ("spec.rules[{}].http.paths[0]: passthrough termination does not support paths: the BIG-IP cannot "
          "see them; ")
ROOT_SERVES = UNSEEN + "path / of the host serves all its requests"
NO_ROOT = UNSEEN + "the host needs a path /"


@rows("paths, more, served, problems", [
    pytest.param([("/", "web"), ("/api", "web")], {}, "web", [], id="own: all go to the Service of /"),
    pytest.param([("/api", "web"), ("/", "web")], {}, "web", [], id="own: in any order"),
    pytest.param([("/", "web"), ("/", "web", "Exact")], {}, "web", [], id="own: exactly /"),
    pytest.param([("/", "web"), ("/api", "bare")], {}, "web", [ROOT_SERVES.format(1)],
                 id="own: other Service"),
    pytest.param([("/api", "bare"), ("/", "web")], {}, "web", [ROOT_SERVES.format(0)],
                 id="own: other Service first"),
    pytest.param([("/api", "web"), ("/b", "web")], {}, None, [NO_ROOT.format(0), NO_ROOT.format(1)],
                 id="own: no root"),
    pytest.param([("/", "web", "Exact")], {}, None, [NO_ROOT.format(0)], id="own: exactly / alone"),
    pytest.param([("/api", "web")], {"defaultBackend": DEFAULT}, "bare", [ROOT_SERVES.format(0)],
                 id="own: default backend"),
])
def test_passthrough_with_several_paths(paths, more, served, problems):
    """One Route without a path: several of one host would be in each other's way."""
    result = converted(*((HOST, path, service, 80, *(kind or ["Prefix"])) for path, service, *kind in paths),
                       **more, **PASSED)
    assert [(route.service, route.path) for route in served_of(result)] == ([(served, "")] if served else [])
    assert [problem.message for problem in result.problems] == problems


def test_annotations_of_routes():
    """They are honoured as on a Route, by its termination."""
    route = only((HOST, "/", "web", 80), annotations={
        "haproxy.router.openshift.io/timeout": "5s", "haproxy.router.openshift.io/ip_whitelist": "192.0.2.1",
        "haproxy.router.openshift.io/hsts_header": "max-age=1"})
    assert route.options.timeout_ms == 5000
    assert route.options.sources == ("192.0.2.1/32",)
    assert [text.split()[1] for text in route.option_problems] == ["haproxy.router.openshift.io/hsts_header"]
