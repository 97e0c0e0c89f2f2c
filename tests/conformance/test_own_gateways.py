"""Tests that need several Gateways, ports or addresses: each Gateway has an address of its own.

Source: kubernetes-sigs/gateway-api v1.6.1, conformance/tests/gateway-modify-listeners.go,
httproute-multiple-gateways.go, tlsroute-hostname-intersection.go, gateway-optional-address-value.go,
gateway-static-addresses.go, gateway-http-listener-isolation.go, httproute-listener-port-matching.go and
httproute-redirect-port-and-scheme.go, and their manifests.
"""

from collections.abc import Iterator

import pytest

from tests import gateways
from tests.conformance.cluster import INFRA, Conformance, base, route
from tests.conformance.conftest import router
from tests.conformance.suite import core, extended
from tests.gateways import (
    EVERYWHERE,
    PASSTHROUGH,
    backend,
    gateway,
    listener,
    parent,
    redirect,
    rule,
    tls_route,
)

YES = "True"
READY = {"Accepted": (YES, "Accepted"), "Programmed": (YES, "Programmed")}
VALID = {"Accepted": (YES, "Accepted"), "ResolvedRefs": (YES, "ResolvedRefs")}
V1, V2, V3 = (f"infra-backend-v{number}" for number in (1, 2, 3))
HTTPS = {"name": "https", "port": 443, "protocol": "HTTPS", "hostname": "secure.test.com",
         "secret": "certificate", "namespaces": EVERYWHERE}
HTTP = listener(namespaces=EVERYWHERE)
EXACT, ONE, TWO = "abc.example.com", "tls-backend", "tls-backend-2"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, tmos_version: str) -> Iterator[Conformance]:
    with router(tmp_path_factory.mktemp("site"), tmos_version, gateway_addresses="10.50.0.0/24") as cluster:
        yield cluster


@core("GatewayModifyListeners")
def test_modify_listeners(cluster):
    """A listener that is added is served on its port; one that is removed takes its virtual server along."""
    cluster.secret("certificate")
    added = "gateway-add-listener"
    cluster.apply(gateway(added, listener(**HTTPS), namespace=INFRA),
                  route("http-route-1", rule(backend(V1)), parents=(parent(added),)))
    cluster.wait_gateway(added, READY, https=VALID)
    cluster.apply(gateway(added, listener(**HTTPS), listener(hostname="data.test.com", namespaces=EVERYWHERE),
                          namespace=INFRA))
    cluster.wait_gateway(added, READY, https=VALID, http=VALID)
    cluster.wait_attached(added, https=1, http=1)
    cluster.wait_answer_of(added, "/", V1, host="data.test.com")
    cluster.wait_answer_of(added, "/", V1, port=443, host="secure.test.com")
    removed = "gateway-remove-listener"
    cluster.apply(gateway(removed, listener(**HTTPS), HTTP, namespace=INFRA),
                  route("http-route-2", rule(backend(V2)), parents=(parent(removed),)))
    cluster.wait_gateway(removed, READY, https=VALID, http=VALID)
    address = cluster.address(removed)
    assert address != cluster.address(added)
    cluster.apply(gateway(removed, HTTP, namespace=INFRA))
    cluster.wait_gateway(removed, READY, http=VALID)
    cluster.wait_attached(removed, http=1)
    cluster.wait_answer_of(removed, "/", V2)
    cluster.kube.wait_for(lambda: f"{address}:443" not in cluster.site.bigip.listeners())
    assert f"{address}:443" not in cluster.site.bigip.listeners()


@core("HTTPRouteMultipleGateways")
@pytest.mark.every_tmos
def test_multiple_gateways(cluster):
    """A route on two Gateways, and one on each of them alone."""
    same, every = parent("same-namespace"), parent("all-namespaces")
    cluster.apply(
        base("same-namespace"), base("all-namespaces"),
        route("multiple-gateways-shared-route", rule(backend(V1), paths=("/shared",)), parents=(same, every)),
        route("same-namespace-dedicated-route", rule(backend(V2), paths=("/",)), parents=(same,)),
        route("all-namespaces-dedicated-route", rule(backend(V3), paths=("/",)), parents=(every,)))
    for name, own in (("same-namespace", V2), ("all-namespaces", V3)):
        cluster.wait_gateway(name, READY)
        cluster.wait_answer_of(name, "/shared", V1)
        cluster.wait_answer_of(name, "/", own)
    entries = cluster.kube.get("HTTPRoute", INFRA, "multiple-gateways-shared-route")["status"]["parents"]
    assert {each["parentRef"]["name"] for each in entries} == {"same-namespace", "all-namespaces"}
    assert all(gateways.conditions(each["conditions"])["Accepted"] == (YES, "Accepted") for each in entries)


@core("TLSRouteHostnameIntersection")
@pytest.mark.parametrize(("hostname", "routes", "none"), [
    (EXACT, {"*.example.com": ONE}, "non.matching.com"),
    ("*.example.com", {EXACT: ONE, "*.com": TWO}, "non.matching.com"),
    ("*.com", {EXACT: ONE, "*.example.com": TWO}, "non.matching.com"),
    ("", {EXACT: ONE, "*.com": TWO}, "non.matching.org"),
], ids=["exact", "more specific wildcard", "less specific wildcard", "empty"])
def test_hostnames_of_listeners_and_of_routes(cluster, hostname, routes, none):
    """A name that nothing matches ends without an alert of TLS."""
    only = {"namespaces": {"from": "Same"}, "kinds": [{"kind": "TLSRoute"}]}
    cluster.apply(gateway("g", listener("tls", **{**PASSTHROUGH, "allowedRoutes": only}, hostname=hostname),
                          namespace=INFRA))
    for number, (name, service) in enumerate(routes.items()):
        cluster.apply(tls_route(f"r{number}", backend(service, 443), namespace=INFRA, hostnames=(name,),
                                parents=(parent("g"),)))
    cluster.wait_gateway("g", READY, tls=VALID)
    for number in range(len(routes)):
        cluster.wait_route(f"r{number}", VALID, kind="TLSRoute")
    cluster.wait_attached("g", tls=len(routes))
    cluster.wait_passed(EXACT, ONE, gateway="g")
    if len(routes) > 1:
        cluster.wait_passed("other.example.com", TWO, gateway="g")
    cluster.wait_reset(none, gateway="g")


@extended("GatewayOptionalAddressValue")
def test_optional_address_value(cluster):
    cluster.apply(gateway("g", namespace=INFRA, addresses=[{"type": "IPAddress"}]))
    (address,) = cluster.wait_gateway("g", READY)["addresses"]
    assert address["type"] == "IPAddress"
    cluster.wait_answer_of("g", "/", 404)


@extended("GatewayStaticAddresses")
def test_static_addresses(cluster):
    """One address of a type that is not supported, one that is not usable, and one that is; then fewer."""
    addresses = [{"type": "test.example.com/custom", "value": "invalid"},
                 {"type": "IPAddress", "value": "10.51.0.1"}, {"type": "IPAddress", "value": "10.50.0.77"}]
    for given, conditions in (
            (addresses, {"Accepted": ("False", "UnsupportedAddress"), "Programmed": ("False", "Invalid")}),
            (addresses[1:], {"Accepted": READY["Accepted"], "Programmed": ("False", "AddressNotUsable")}),
            (addresses[2:], READY)):
        cluster.apply(gateway("g", namespace=INFRA, addresses=given))
        status = cluster.wait_gateway("g", conditions, **({"http": VALID} if conditions is READY else {}))
    assert status["addresses"] == addresses[2:]


ISOLATED = {"empty-hostname": "", "wildcard-example-com": "*.example.com",
            "wildcard-foo-example-com": "*.foo.example.com", "abc-foo-example-com": "abc.foo.example.com"}


@extended("GatewayHTTPListenerIsolation")
@pytest.mark.parametrize("names", [(), ("bar.com", *list(ISOLATED.values())[1:])],
                         ids=["only listeners", "intersecting"])
def test_http_listener_isolation(cluster, names):
    """A request comes to the HTTPRoutes of the most specific listener alone."""
    cluster.apply(gateway("g", *(listener(name, hostname=host, namespaces=EVERYWHERE)
                                 for name, host in ISOLATED.items()), namespace=INFRA))
    for name in ISOLATED:
        cluster.apply(route(name, rule(backend(V1), paths=(f"/{name}",)), hostnames=names,
                            parents=(parent("g", sectionName=name),)))
    for name in ISOLATED:
        cluster.wait_route(name, VALID)
    for host, own in zip(("bar.com", "bar.example.com", "bar.foo.example.com", "abc.foo.example.com"),
                         ISOLATED, strict=True):
        for name in ISOLATED:
            cluster.wait_answer_of("g", f"/{name}", V1 if name == own else 404, host=host)


@extended("HTTPRouteListenerPortMatching")
def test_listener_port_matching(cluster):
    """Each listener of its own port and hostname has an HTTPRoute; its references name ports."""
    cluster.apply(
        gateway("g", listener("listener-1", hostname="foo.com"),
                listener("listener-2", 8080, hostname="foo.com"),
                listener("listener-3", 8080, hostname="bar.com"),
                listener("listener-4", 8090, hostname="foo.com"), namespace=INFRA),
        route("backend-v1", rule(backend(V1)), parents=(parent("g", port=80),)),
        route("backend-v2", rule(backend(V2)), parents=(parent("g", port=8080),)),
        route("backend-v3", rule(backend(V3)), parents=(parent("g", port=8090, sectionName="listener-4"),)))
    for number in (1, 2, 3):
        cluster.wait_route(f"backend-v{number}", VALID)
    for host, port, answer in (("foo.com", 80, V1), ("foo.com", 8080, V2), ("bar.com", 8080, V2),
                               ("foo.com", 8090, V3), ("bar.com", 8090, 404)):
        cluster.wait_answer_of("g", "/", answer, port=port, host=host)


@extended("HTTPRouteRedirectPortAndScheme")
def test_redirect_port_and_scheme(cluster):
    """Port and scheme of a redirect, on listeners of three ports: a known port is left out."""
    cluster.secret("certificate")
    cluster.apply(gateway("g", listener("80"), listener("8080", 8080), listener(
        "443", 443, "HTTPS", hostname="example.org", secret="certificate"), namespace=INFRA))
    wanted = {"nil": ({}, ""), "scheme-http": ({"scheme": "http"}, "http://{}"),
              "scheme-https": ({"scheme": "https"}, "https://{}"),
              "port": ({"port": 8083}, "{scheme}://{}:8083"),
              "http-8080": ({"scheme": "http", "port": 8080}, "http://{}:8080"),
              "http-443": ({"scheme": "http", "port": 443}, "http://{}:443"),
              "http-80": ({"scheme": "http", "port": 80}, "http://{}"),
              "https-443": ({"scheme": "https", "port": 443}, "https://{}"),
              "https-8443": ({"scheme": "https", "port": 8443}, "https://{}:8443")}
    cluster.apply(route("r", *(rule(paths=(f"/{name}",), filters=(redirect(**how, hostname="example.org"),))
                               for name, (how, _) in wanted.items()), parents=(parent("g"),)))
    cluster.wait_route("r", VALID)
    for port in (80, 8080, 443):
        cluster.wait_answer_of("g", "/port", 302, port=port, host="example.org")
        scheme = "https" if port == 443 else "http"
        for name, (_, text) in wanted.items():
            own = "" if port in (80, 443) else f":{port}"
            location = (text or f"{scheme}://{{}}{own}").format("example.org", scheme=scheme)
            assert cluster.seen_at("g", f"/{name}", port=port, host="example.org").location == (
                f"{location}/{name}"), (port, name)
