"""Core tests of the official conformance suite, each by its short name, where the router claims them.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests/*.go and *.yaml. Listeners of protocol HTTPS
have a hostname here, and one Gateway is there at a time.
"""

import concurrent.futures
from collections import Counter

from tests.conformance.cluster import APP, INFRA, WEB, base, route, service
from tests.conformance.suite import core
from tests.gateways import (
    backend,
    gateway,
    gateway_class,
    grant,
    headers,
    listener,
    parent,
    redirect,
    rule,
)

YES = "True"
ACCEPTED, RESOLVED = {"Accepted": (YES, "Accepted")}, {"ResolvedRefs": (YES, "ResolvedRefs")}
PROGRAMMED = {"Programmed": (YES, "Programmed")}
HTTPS = {"name": "https", "port": 443, "protocol": "HTTPS", "hostname": "example.org"}
V1, V2, V3 = (f"infra-backend-v{number}" for number in (1, 2, 3))


def ready(cluster, name: str = "same-namespace") -> None:
    cluster.apply(base(name))
    cluster.wait_gateway(name, ACCEPTED | PROGRAMMED)


@core("GatewayClassObservedGenerationBump")
def test_class_observed_generation_bump(cluster):
    def observed() -> tuple:
        status = cluster.kube.get("GatewayClass", None, "f5").get("status") or {}
        return tuple(each.get("observedGeneration") for each in status.get("conditions", ()))

    cluster.kube.wait_for(lambda: observed() == (1,))
    assert observed() == (1,)
    cluster.apply(gateway_class(description="new"))
    assert cluster.kube.wait_for(lambda: observed() == (2,))


def test_features_of_the_class(cluster):
    """Sorted, as GEP-2162 asks for, and of the CRD's form."""
    def named() -> list[str]:
        status = cluster.kube.get("GatewayClass", None, "f5").get("status") or {}
        return [each["name"] for each in status.get("supportedFeatures", ())]

    assert cluster.kube.wait_for(lambda: "HTTPRoutePathRewrite" in named())
    assert named() == sorted(named())


@core("GatewayInvalidParametersRef")
def test_invalid_parameters_ref(cluster):
    cluster.apply(gateway("g", listener(), namespace=INFRA, infrastructure={
        "parametersRef": {"group": "invalid.io", "kind": "X", "name": "x"}}))
    cluster.wait_gateway("g", {"Accepted": ("False", "InvalidParameters")})


@core("GatewayInvalidRouteKind")
def test_invalid_route_kind(cluster):
    for kinds, supported in ((["InvalidRoute"], []), (["InvalidRoute", "HTTPRoute"], ["HTTPRoute"])):
        cluster.apply(gateway("g", listener(allowedRoutes={"kinds": [{"kind": kind} for kind in kinds]}),
                              namespace=INFRA))
        status = cluster.wait_gateway("g", {}, http={"ResolvedRefs": ("False", "InvalidRouteKinds")})
        assert [each["kind"] for each in status["listeners"][0]["supportedKinds"]] == supported


@core("GatewayInvalidTLSConfiguration")
def test_invalid_tls_configuration(cluster):
    cluster.secret("malformed", certificate="Hello world")
    for ref in ({"name": "missing"}, {"name": "x", "group": "wrong.group.company.io"},
                {"name": "x", "kind": "WrongKind"}, {"name": "malformed"}):
        cluster.apply(gateway("g", listener(**HTTPS, tls={"certificateRefs": [ref]}), namespace=INFRA))
        status = cluster.wait_gateway("g", {}, https={"ResolvedRefs": ("False", "InvalidCertificateRef")})
        assert [each["kind"] for each in status["listeners"][0]["supportedKinds"]] == ["HTTPRoute"]


@core("GatewayListenerUnsupportedProtocol")
def test_listener_unsupported_protocol(cluster):
    invalid = listener("invalid", 1111, "INVALID")
    refused = {"Accepted": ("False", "UnsupportedProtocol")}
    cluster.apply(gateway("g", invalid, namespace=INFRA))
    status = cluster.wait_gateway("g", {"Accepted": ("False", "ListenersNotValid")}, invalid=refused)
    assert status["listeners"][0]["supportedKinds"] == []
    cluster.apply(gateway("g", invalid, listener(), namespace=INFRA))
    cluster.wait_gateway("g", {"Accepted": (YES, "ListenersNotValid")} | PROGRAMMED, invalid=refused,
                         http=ACCEPTED | PROGRAMMED)


@core("GatewayObservedGenerationBump")
def test_gateway_observed_generation_bump(cluster):
    cluster.apply(gateway("g", listener(), namespace=INFRA))
    cluster.wait_gateway("g", ACCEPTED | PROGRAMMED)
    cluster.apply(gateway("g", listener(), listener("alternate", hostname="foo.com"), namespace=INFRA))
    cluster.wait_gateway("g", ACCEPTED | PROGRAMMED, alternate=ACCEPTED | PROGRAMMED)


def secured(cluster, *grants: dict) -> None:
    cluster.secret("certificate", WEB)
    cluster.apply(*grants, gateway("g", listener(**HTTPS, secret=f"{WEB}/certificate"), namespace=INFRA))


@core("GatewaySecretInvalidReferenceGrant")
def test_secret_invalid_grant(cluster):
    secured(cluster, grant("a", WEB, ("Gateway", INFRA), ("", "Secret", "other")),
            grant("b", WEB, ("Gateway", APP), ("", "Secret", "")),
            grant("c", WEB, ("HTTPRoute", INFRA), ("", "Secret", "certificate")))
    cluster.wait_gateway("g", {}, https={"ResolvedRefs": ("False", "RefNotPermitted")})
    assert cluster.attached("g") == {"https": 0}


@core("GatewaySecretMissingReferenceGrant")
def test_secret_missing_grant(cluster):
    secured(cluster)
    cluster.wait_gateway("g", {}, https={"ResolvedRefs": ("False", "RefNotPermitted")})


@core("GatewaySecretReferenceGrantAllInNamespace")
def test_secret_grant_for_all(cluster):
    secured(cluster, grant("a", WEB, ("Gateway", INFRA), ("", "Secret", "")))
    cluster.wait_gateway("g", PROGRAMMED, https=RESOLVED | PROGRAMMED)


@core("GatewaySecretReferenceGrantSpecific")
def test_secret_grant_for_one(cluster):
    secured(cluster, grant("a", WEB, ("Gateway", INFRA), ("", "Secret", "certificate")))
    cluster.wait_gateway("g", PROGRAMMED, https=RESOLVED | PROGRAMMED)


@core("GatewayWithAttachedRoutes")
def test_attached_routes(cluster):
    to_gateway = {"parents": (parent("g"),)}
    cluster.apply(gateway("g", listener(hostname="foo.com"), namespace=INFRA),
                  route("one", rule(backend(V1)), **to_gateway))
    cluster.wait_attached("g", http=1)
    cluster.apply(route("two", rule(backend(V1)), **to_gateway),
                  route("other", rule(backend(V1)), hostnames=("bar.com",), **to_gateway))
    cluster.wait_attached("g", http=2)
    cluster.wait_route("other", {"Accepted": ("False", "NoMatchingListenerHostname")})
    cluster.clear()
    cluster.apply(gateway_class(), gateway("g", listener(**HTTPS, secret="missing"), namespace=INFRA),
                  route("bad", rule(backend("missing")), **to_gateway))
    cluster.wait_gateway("g", {}, https={"Programmed": ("False", "Invalid"),
                                         "ResolvedRefs": ("False", "InvalidCertificateRef")})
    cluster.wait_attached("g", https=1)
    cluster.wait_route("bad", ACCEPTED | {"ResolvedRefs": ("False", "BackendNotFound")})


@core("HTTPRouteSimpleSameNamespace")
def test_simple_same_namespace(cluster):
    ready(cluster)
    cluster.apply(route("r", rule(backend(V1))))
    cluster.wait_route("r", ACCEPTED | RESOLVED)
    cluster.wait_answer("/", V1)


@core("HTTPRouteCrossNamespace")
def test_cross_namespace(cluster):
    ready(cluster, "backend-namespaces")
    cluster.apply(route("r", rule(backend("web-backend")), namespace=WEB,
                        parents=(parent("backend-namespaces", namespace=INFRA),)))
    cluster.wait_route("r", ACCEPTED | RESOLVED, namespace=WEB)
    cluster.wait_answer("/", "web-backend")


@core("HTTPRouteDisallowedKind")
def test_disallowed_kind(cluster):
    cluster.apply(gateway("g", {"name": "tls", "port": 443, "protocol": "TLS", "tls": {"mode": "Passthrough"},
                                "allowedRoutes": {"kinds": [{"kind": "TLSRoute"}]}}, namespace=INFRA),
                  route("r", rule(backend(V1)), parents=(parent("g"),)))
    cluster.wait_route("r", {"Accepted": ("False", "NotAllowedByListeners")} | RESOLVED)
    cluster.wait_attached("g", tls=0)


@core("HTTPRouteExactPathMatching")
def test_exact_path_matching(cluster):
    ready(cluster)
    cluster.apply(route("r", rule(backend(V1), exact=("/one",)), rule(backend(V2), exact=("/two",))))
    cluster.wait_answer("/one", V1)
    cluster.wait_answer("/two", V2)
    for path in ("/", "/one/example", "/two/", "/Two"):
        cluster.wait_answer(path, 404)


@core("HTTPRouteInvalidBackendRefUnknownKind")
def test_backend_of_unknown_kind(cluster):
    ready(cluster)
    cluster.apply(route("r", rule(backend("x", kind="NonExistent"), paths=("/v2",))))
    cluster.wait_route("r", ACCEPTED | {"ResolvedRefs": ("False", "InvalidKind")})
    cluster.wait_answer("/v2", 500)


@core("HTTPRouteInvalidCrossNamespaceBackendRef")
def test_backend_of_another_namespace(cluster):
    ready(cluster)
    cluster.apply(route("r", rule(backend("web-backend", namespace=WEB))))
    cluster.wait_route("r", ACCEPTED | {"ResolvedRefs": ("False", "RefNotPermitted")})
    cluster.wait_answer("/", 500)


@core("HTTPRouteInvalidCrossNamespaceParentRef")
def test_parent_of_another_namespace(cluster):
    ready(cluster)
    cluster.apply(route("r", rule(backend("web-backend")), namespace=WEB,
                        parents=(parent("same-namespace", namespace=INFRA),)))
    cluster.wait_route("r", {"Accepted": ("False", "NotAllowedByListeners")} | RESOLVED, namespace=WEB)
    cluster.wait_attached("same-namespace", http=0)


@core("HTTPRouteInvalidNonExistentBackendRef")
def test_backend_that_does_not_exist(cluster):
    ready(cluster)
    cluster.apply(route("r", rule(backend("nonexistent"))))
    cluster.wait_route("r", ACCEPTED | {"ResolvedRefs": ("False", "BackendNotFound")})
    cluster.wait_answer("/", 500)


@core("HTTPRouteInvalidParentRefNotMatchingSectionName")
def test_parent_without_the_section(cluster):
    ready(cluster)
    cluster.apply(route("r", rule(backend(V1)), parents=(parent("same-namespace", sectionName="http1"),)))
    cluster.wait_route("r", {"Accepted": ("False", "NoMatchingParent")})
    cluster.wait_attached("same-namespace", http=0)


@core("HTTPRouteInvalidReferenceGrant")
def test_invalid_grants(cluster):
    ready(cluster)
    right, target = ("HTTPRoute", INFRA), ("", "Service", "app-backend-v1")
    cluster.apply(
        grant("wrong-namespace", INFRA, right, target), grant("from-other", APP, ("HTTPRoute", WEB), target),
        grant("from-kind", APP, ("Gateway", INFRA), target), grant("name", APP, right, ("", "Service", "x")),
        grant("group", APP, right, ("a.b", "Service", "app-backend-v1")),
        grant("kind", APP, right, ("", "Secret", "app-backend-v1")),
        route("r", rule(backend("app-backend-v1", namespace=APP), paths=("/v2",))))
    cluster.wait_route("r", {"ResolvedRefs": ("False", "RefNotPermitted")})
    cluster.wait_answer("/v2", 500)


@core("HTTPRouteNoBackendRefs")
def test_no_backend_refs(cluster):
    ready(cluster)
    cluster.apply(route("r", rule(paths=("/none",)), rule(paths=("/empty",), backendRefs=[]),
                        rule(backend(V1), paths=("/forward",))))
    cluster.wait_route("r", ACCEPTED | RESOLVED)
    for path, answer in (("/none", 500), ("/empty", 500), ("/forward", V1)):
        cluster.wait_answer(path, answer)


@core("HTTPRouteObservedGenerationBump")
def test_route_observed_generation_bump(cluster):
    ready(cluster)
    for name in (V1, V2):
        cluster.apply(route("r", rule(backend(name))))
        cluster.wait_route("r", ACCEPTED | RESOLVED)
        cluster.wait_answer("/", name)


@core("HTTPRoutePartiallyInvalidViaInvalidReferenceGrant")
def test_partly_invalid(cluster):
    ready(cluster)
    cluster.apply(grant("g", APP, ("HTTPRoute", INFRA), ("", "Service", "app-backend-v1")), route(
        "r", rule(backend("app-backend-v2", namespace=APP), paths=("/v2",)),
        rule(backend("app-backend-v1", namespace=APP), paths=("/",))))
    cluster.wait_route("r", ACCEPTED | {"ResolvedRefs": ("False", "RefNotPermitted")})
    cluster.wait_answer("/v2", 500)
    cluster.wait_answer("/", "app-backend-v1")


@core("HTTPRoutePathMatchOrder")
def test_path_match_order(cluster):
    ready(cluster)
    cluster.apply(route(
        "r", rule(backend(V3), exact=("/match/exact",)), rule(backend(V2), exact=("/match",)),
        rule(backend(V1), exact=("/match/exact/one",)), rule(backend(V2), paths=("/match/",)),
        rule(backend(V1), paths=("/match/prefix/",)), rule(backend(V3), paths=("/match/prefix/one",))))
    for path, name in (("/match/exact", V3), ("/match", V2), ("/match/exact/one", V1), ("/match/any", V2),
                       ("/match/prefix/any", V1), ("/match/prefix/one/any", V3)):
        cluster.wait_answer(path, name)


@core("HTTPRouteRedirectHostAndStatus")
def test_redirect_host_and_status(cluster):
    ready(cluster)
    cluster.apply(route(
        "r", rule(paths=("/hostname-redirect",), filters=(redirect(hostname="example.org"),)),
        rule(paths=("/host-and-status",), filters=(redirect(hostname="example.org", statusCode=301),))))
    for path, status in (("/hostname-redirect", 302), ("/host-and-status", 301)):
        cluster.wait_answer(path, status)
        assert cluster.ask(path).location == f"http://example.org{path}"


@core("HTTPRouteReferenceGrant")
def test_reference_grant(cluster):
    ready(cluster)
    cluster.apply(grant("g", WEB, ("HTTPRoute", INFRA), ("", "Service", "web-backend")),
                  route("r", rule(backend("web-backend", namespace=WEB))))
    cluster.wait_answer("/", "web-backend")
    cluster.kube.delete("ReferenceGrant", WEB, "g")
    cluster.wait_answer("/", 500)


@core("HTTPRouteRequestHeaderModifier")
def test_request_header_modifier(cluster):
    ready(cluster)
    cluster.apply(route(
        "r", rule(backend(V1), paths=("/set",), filters=(headers(
            set=[{"name": "X-Header-Set", "value": "set-overwrites-values"}]),)),
        rule(backend(V1), paths=("/add",), filters=(headers(
            add=[{"name": "X-Header-Add", "value": "add-appends-values"}]),)),
        rule(backend(V1), paths=("/remove",), filters=(headers(remove=["x-header-REMOVE"]),))))
    for path, sent, name, wanted in (
            ("/set", (), "x-header-set", "set-overwrites-values"),
            ("/set", ("X-Header-Set: old",), "x-header-set", "set-overwrites-values"),
            ("/add", (), "x-header-add", "add-appends-values"),
            ("/add", ("X-Header-Add: old",), "x-header-add", "old,add-appends-values"),
            ("/remove", ("X-Header-Remove: old",), "x-header-remove", "")):
        cluster.wait_answer(path, V1)
        seen = cluster.ask(path, headers=sent).pod["headers"]
        assert ",".join(value for header, value in seen if header.lower() == name) == wanted, path


@core("HTTPRouteServiceTypes")
def test_service_types(cluster):
    ready(cluster)
    cluster.site.pod("10.9.9.1", "headless", namespace=INFRA)
    cluster.site.pod("10.9.9.2", "manual", namespace=INFRA)
    cluster.apply(*service(INFRA, "headless", ("10.9.9.1",), clusterIP="None"),
                  *service(INFRA, "manual", ()),
                  route("r", rule(backend("headless"), paths=("/headless",)),
                        rule(backend("manual"), paths=("/manual",))))
    cluster.wait_answer("/headless", "headless")
    cluster.apply(*service(INFRA, "manual", ("10.9.9.2",)))
    cluster.wait_answer("/manual", "manual")


@core("HTTPRouteWeight")
def test_weight(cluster):
    ready(cluster)
    cluster.apply(route("r", rule(backend(V1, weight=70), backend(V2, weight=30), backend(V3, weight=0))))
    cluster.wait_route("r", ACCEPTED | RESOLVED)
    cluster.wait_answer("/", V1)
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        pods = list(pool.map(lambda _: cluster.ask().pod["pod"].rpartition("-")[0], range(200)))
    shares = Counter(pods)
    assert shares.keys() == {V1, V2}
    assert 0.6 <= shares[V1] / len(pods) <= 0.8
