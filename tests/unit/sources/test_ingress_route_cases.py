"""Statuses of IngressRoutes and what is served: a table of cases by their source."""

import pytest

from f5router.model.cluster import Key
from f5router.sources import delegation_walk
from f5router.sources.delegation_graph import NO_ROOT
from tests.rows import rows
from tests.unit.sources.contour_objects import (
    LATER,
    OK,
    bad,
    delegation,
    entry,
    ingress_route,
    root,
    secret,
    service,
    service_of,
    source,
    statuses,
)

WEB = service()
ORPHAN = ("orphaned", NO_ROOT)
EMPTY = bad("spec.routes must be present and not empty")
MISSING = 'Spec.VirtualHost.TLS Secret "tls" is invalid: '
DUPLICATE = bad('fqdn "WWW.Example.com." is used in multiple IngressRoutes: shop/a, shop/root')

CASES: dict[str, dict] = {}
"""By source: objects, the status of each, and the paths that are served."""
CASES["projectcontour/contour v1.5.1, internal/dag/status_test.go"] = {
    "root with a service": ([root(entry("/", "web"))], {"shop/root": OK}, [""]),
    "orphan": ([ingress_route("v", entry("/", "web"))], {"shop/v": ORPHAN}, []),
    "no fqdn": ([root(entry("/", "web"), fqdn="  ")],
                {"shop/root": bad("Spec.VirtualHost.Fqdn must be specified")}, []),
    "wildcard in the middle": (
        [root(entry("/", "web"), fqdn="a.*.com")],
        {"shop/root": bad('Spec.VirtualHost.Fqdn "a.*.com" cannot use wildcards')}, []),
    "Secret not found": (
        [root(entry("/", "web"), tls={"secretName": "tls"}),
         secret(type_="", certificate="", problem="Secret 'tls' not found")],
        {"shop/root": bad(MISSING + "Secret not found")}, []),
    "Secret not delegated: the asterisk is one of several, which cache.go takes for a name": (
        [root(entry("/", "web"), tls={"secretName": "bank/tls"}), secret("bank/tls"),
         delegation("bank", "tls", "*", "other"), delegation("bank", "another", "shop")],
        {"shop/root": bad('Spec.VirtualHost.TLS Secret "bank/tls" certificate delegation not permitted')},
        []),
    "services and delegate": (
        [root(entry("/a", "web"), entry("/b", "web", to="v")), ingress_route("v", entry("/b", "web"))],
        {"shop/root": bad('route "/b": cannot specify services and delegate in the same route'),
         "shop/v": ORPHAN}, []),
    "prefix of another path": (
        [root(entry("/", "web"), entry("/foo", to="v")),
         ingress_route("v", entry("/foo/x", "web"), entry("/foobar", "web"))],
        {"shop/root": OK,
         "shop/v": bad('the path prefix "/foobar" does not match the parent\'s path prefix "/foo"')}, [""]),
    "port out of range": (
        [root(entry("/", service_of("web:70000")))],
        {"shop/root": bad('route "/": service "web": port must be in the range 1-65535')}, []),
    "Service missing": (
        [root(entry("/", "web"), entry("/a", "other"))],
        {"shop/root": bad("Service [other:80] is invalid or missing")}, []),
    "delegation to a root": (
        [root(entry("/", to="other")), root(entry("/", "web"), name="other", fqdn="other.example.com")],
        {"shop/root": bad(delegation_walk.TO_ROOT), "shop/other": OK}, [""]),
    "delegation to itself": (
        [root(entry("/", to="root"))], {"shop/root": bad(delegation_walk.TO_ROOT)}, []),
    "cycle": (
        [root(entry("/", to="a")), ingress_route("a", entry("/", "web"), entry("/", to="b")),
         ingress_route("b", entry("/", "web"), entry("/", to="a"))],
        {"shop/root": OK, "shop/a": OK,
         "shop/b": bad("route creates a delegation cycle: shop/root -> shop/a -> shop/b -> shop/a")}, [""]),
    "two roots of one vertex": (
        [root(entry("/", to="v")), root(entry("/", to="v"), name="other", fqdn="other.example.com"),
         ingress_route("v", entry("/", "web"))],
        {"shop/root": OK, "shop/other": OK, "shop/v": OK}, ["", ""]),
    "one of two vertices is invalid": (
        [root(entry("/foo", to="v"), entry("/bar", to="w")), ingress_route("v", entry("/foo", "web")),
         ingress_route("w", entry("/bar", "web:12345678"))],
        {"shop/root": OK, "shop/v": OK,
         "shop/w": bad('route "/bar": service "web": port must be in the range 1-65535')}, ["/foo"]),
    "an invalid root leaves an orphan": (
        [root(entry("/", to="v"), fqdn=""), ingress_route("v", entry("/", "web"))],
        {"shop/root": bad("Spec.VirtualHost.Fqdn must be specified"), "shop/v": ORPHAN}, []),
    "an invalid root beside a valid one leaves none": (
        [root(entry("/", to="v"), fqdn=""), root(entry("/", to="v"), name="other"),
         ingress_route("v", entry("/", "web"))],
        {"shop/root": bad("Spec.VirtualHost.Fqdn must be specified"), "shop/other": OK, "shop/v": OK}, [""]),
    "tcpproxy with a Secret that is not delegated": (
        [root(tls={"secretName": "bank/tls"}, tcpproxy={"services": [service_of("web")]}),
         secret("bank/tls")],
        {"shop/root": bad('Spec.VirtualHost.TLS Secret "bank/tls" certificate delegation not permitted')},
        []),
    "routes beside a tcpproxy": (
        [root(entry("/", "web"), entry("/a", "web"), tls={"passthrough": True},
              tcpproxy={"services": [service_of("web")]})], {"shop/root": OK}, ["", "/", "/a"]),
}
CASES["projectcontour/contour v1.5.1, internal/dag/builder.go"] = {
    "vertex of another namespace": (
        [root(entry("/", "web"), entry("/pay", to="bank/pay")),
         ingress_route("bank/pay", entry("/pay/in", "web")), service("bank/web")],
        {"shop/root": OK, "bank/pay": OK}, ["", "/pay/in"]),
    "port missing": ([root(entry("/", "web:81"))],
                     {"shop/root": bad("Service [web:81] is invalid or missing")}, []),
    "Service of another namespace": (
        [root(entry("/", to="bank/v")), ingress_route("bank/v", entry("/", "web"))],
        {"shop/root": OK, "bank/v": bad("Service [web:80] is invalid or missing")}, []),
    "vertex that delegates to itself": (
        [root(entry("/", to="v")), ingress_route("v", entry("/", to="v"))],
        {"shop/root": OK,
         "shop/v": bad("route creates a delegation cycle: shop/root -> shop/v -> shop/v")}, []),
    "diamond": (
        [root(entry("/", to="a"), entry("/", to="b")), ingress_route("a", entry("/", to="c")),
         ingress_route("b", entry("/", to="c")), ingress_route("c", entry("/", "web"))],
        {"shop/root": OK, "shop/a": OK, "shop/b": OK, "shop/c": OK}, [""]),
    "a missing vertex, and an entry with nothing": (
        [root(entry("/a", to="v"), entry("/b", "web"), entry("/c"))], {"shop/root": OK}, ["/b"]),
    "tcpproxy of another object": (
        [root(tls={"passthrough": True}, tcpproxy={"delegate": {"name": "v"}}),
         ingress_route("v", tcpproxy={"services": [service_of("web")]})],
        {"shop/root": OK, "shop/v": OK}, [""]),
    "tcpproxy of both": (
        [root(tls={"passthrough": True},
              tcpproxy={"services": [service_of("web")], "delegate": {"name": "v"}})],
        {"shop/root": bad("tcpproxy: cannot specify services and delegate in the same tcpproxy")}, []),
    "tcpproxy without Service": (
        [root(entry("/", "web"), tls={"passthrough": True}, tcpproxy={"services": [service_of("gone:443")]})],
        {"shop/root": bad("tcpproxy: service shop/gone/443: not found")}, []),
    "tcpproxy in a circle": (
        [root(tls={"passthrough": True}, tcpproxy={"delegate": {"name": "v"}}),
         ingress_route("v", tcpproxy={"delegate": {"name": "root"}})],
        {"shop/root": OK,
         "shop/v": bad("tcpproxy creates a delegation cycle: shop/root -> shop/v -> shop/root")}, []),
    "tcpproxy of another root": (
        [root(tls={"passthrough": True}, tcpproxy={"delegate": {"name": "other"}}),
         root(name="other", fqdn="other.example.com", tls={"passthrough": True},
              tcpproxy={"services": [service_of("web")]})],
        {"shop/root": OK, "shop/other": OK}, ["", ""]),
    "an empty tcpproxy": ([root(entry("/a", "web"), tls={"passthrough": True}, tcpproxy={})],
                          {"shop/root": OK}, ["/a"]),
    "tcpproxy without TLS has no effect": (
        [root(entry("/a", "web"), tcpproxy={"services": [service_of("gone")]})], {"shop/root": OK}, ["/a"]),
    "several services with enableWebsockets": (
        [root(entry("/a", "web", "web", enableWebsockets=True))], {"shop/root": OK}, ["/a"]),
    "Secret of the root's own namespace: splitSecret": (
        [root(entry("/", "web"), tls={"secretName": "/tls"}), secret()], {"shop/root": OK}, [""]),
}
CASES["projectcontour/contour v1.5.1, internal/dag/cache.go"] = {
    "Secret": ([root(entry("/", "web"), tls={"secretName": "tls"}), secret()], {"shop/root": OK}, [""]),
    "Secret of another namespace": (
        [root(entry("/", "web"), tls={"secretName": "bank/tls"}), secret("bank/tls"),
         delegation("bank", "tls", "other", "shop")], {"shop/root": OK}, [""]),
    "Secret for all namespaces": (
        [root(entry("/", "web"), tls={"secretName": "bank/tls"}), secret("bank/tls"),
         delegation("bank", "tls", "*")], {"shop/root": OK}, [""]),
    "class of another controller": (
        [root(entry("/", to="v")), ingress_route(
            "v", entry("/", "web"), annotations={"kubernetes.io/ingress.class": "nginx"})],
        {"shop/root": OK}, []),
}
CASES["projectcontour/contour v1.5.1, internal/dag/secret.go"] = {
    "Secret of another type": (
        [root(entry("/", "web"), tls={"secretName": "tls"}), secret(type_="Opaque", certificate="")],
        {"shop/root": bad(MISSING + 'Secret type is not "kubernetes.io/tls"')}, []),
    "Secret without certificate": (
        [root(entry("/", "web"), tls={"secretName": "tls"}), secret(certificate="")],
        {"shop/root": bad(MISSING + 'empty "tls.crt" key')}, []),
    "Secret without key": (
        [root(entry("/", "web"), tls={"secretName": "tls"}), secret(private_key="")],
        {"shop/root": bad(MISSING + 'empty "tls.key" key')}, []),
}
CASES["projectcontour/contour v0.15.3, internal/dag/status_test.go"] = {
    "negative weight": (
        [root(entry("/", service_of("web", weight=-1)))],
        {"shop/root": bad('route "/": service "web": weight must be greater than or equal to zero')}, []),
}
CASES["projectcontour/contour v0.6.0, design/ingressroute-design.md"] = {
    "an object rejected whole": (
        [root(entry("/a", to="v"), entry("/b", "web"), entry("/c", "gone")),
         ingress_route("v", entry("/a", "web"))],
        {"shop/root": bad("Service [gone:80] is invalid or missing"), "shop/v": ORPHAN}, []),
    "no routes": ([root()], {"shop/root": EMPTY}, []),
    "no routes, in a child": ([root(entry("/", "web"), entry("/a", to="v")), ingress_route("v")],
                              {"shop/root": OK, "shop/v": EMPTY}, [""]),
    "no routes, in an orphan": ([ingress_route("v")], {"shop/v": ORPHAN}, []),
    "no routes beside a tcpproxy: issue 812": (
        [root(tls={"passthrough": True}, tcpproxy={"services": [service_of("web")]})],
        {"shop/root": OK}, [""]),
}
CASES["docs/ingressroute.md, What is different from Contour"] = {
    "two of one fqdn, of any case and with a dot: v0.15.3, and RFC 4343; the older one is served": (
        [root(entry("/", "web")), root(entry("/b", "web"), name="a", fqdn="WWW.Example.com.", created=LATER)],
        {"shop/root": OK, "shop/a": DUPLICATE}, [""]),
    "the older one is invalid, and holds its fqdn": (
        [root(entry("/", "none")),
         root(entry("/b", "web"), name="a", fqdn="WWW.Example.com.", created=LATER)],
        {"shop/root": bad("Service [none:80] is invalid or missing"), "shop/a": DUPLICATE}, []),
    "two of one fqdn and of two namespaces: claims to Hosts decide": (
        [root(entry("/", "web")), root(entry("/b", "web"), name="bank/other"), service("bank/web")],
        {"shop/root": OK, "bank/other": OK}, ["", "/b"]),
    "Secret that is not read yet: no reason to take a host down": (
        [root(entry("/", "web"), tls={"secretName": "tls"})], {"shop/root": OK}, [""]),
    "Secret of nobody's name": (
        [root(entry("/", "web"), tls={"secretName": "../tls"})],
        {"shop/root": bad('Spec.VirtualHost.TLS Secret "../tls" certificate delegation not permitted')}, []),
    "delegation outside of the prefix: Contour lets it through": (
        [root(entry("/a", to="v")), ingress_route("v", entry("/b", to="w")),
         ingress_route("w", entry("/b/c", "web"))],
        {"shop/root": OK,
         "shop/v": bad('the path prefix "/b" does not match the parent\'s path prefix "/a"'),
         "shop/w": ORPHAN}, []),
    "two roots that disagree about a vertex: the older one counts": (
        [root(entry("/a", to="v")),
         root(entry("/b", to="v"), name="other", fqdn="other.example.com", created=LATER),
         ingress_route("v", entry("/b", "web"))],
        {"shop/root": OK, "shop/other": OK,
         "shop/v": bad('the path prefix "/b" does not match the parent\'s path prefix "/a"')}, ["/b"]),
    "a younger root of others that delegates what a vertex does not serve": (
        [root(entry("/b", to="v")), service("evil/web"),
         root(entry("/a", to="shop/v"), name="evil/a", fqdn="evil.example.com", created=LATER),
         ingress_route("v", entry("/b", "web"))],
        {"shop/root": OK, "evil/a": OK, "shop/v": OK}, ["/b"]),
    "a child with two prefixes": (
        [root(entry("/a", to="v"), entry("/b", to="v")),
         ingress_route("v", entry("/a/x", "web"), entry("/b/y", "web"))],
        {"shop/root": OK, "shop/v": OK}, ["/a/x", "/b/y"]),
    "a child with two prefixes, one by way of another object": (
        [root(entry("/a", to="v"), entry("/b", to="w")), ingress_route("w", entry("/b/y", to="v")),
         ingress_route("v", entry("/a", "web"), entry("/b/y/z", "web"))],
        {"shop/root": OK, "shop/v": OK, "shop/w": OK}, ["/a", "/b/y/z"]),
    "two prefixes are delegated further": (
        [root(entry("/a", to="v"), entry("/b", to="v")),
         ingress_route("v", entry("/a", to="w"), entry("/b", to="w")),
         ingress_route("w", entry("/a/x", "web"), entry("/b/y", "web"))],
        {"shop/root": OK, "shop/v": OK, "shop/w": OK}, ["/a/x", "/b/y"]),
    "a child with two prefixes, and a route below none": (
        [root(entry("/a", to="v"), entry("/b", to="v")),
         ingress_route("v", entry("/a/x", "web"), entry("/b/y", "web"), entry("/c", "web"))],
        {"shop/root": OK,
         "shop/v": bad('the path prefix "/c" does not match the parent\'s path prefix "/a"')}, []),
    "another tenant's delegation lets nothing out of a prefix": (
        [root(entry("/a", to="v"), entry("/e", to="evil/e")),
         ingress_route("evil/e", entry("/e/x", to="shop/v")),
         ingress_route("v", entry("/a/x", "web"), entry("/e/x/y", "web"))],
        {"shop/root": OK, "evil/e": OK,
         "shop/v": bad('the path prefix "/e/x/y" does not match the parent\'s path prefix "/a"')}, []),
    "the object that delegates the second prefix is invalid": (
        [root(entry("/a", to="v"), entry("/b", to="w")),
         ingress_route("w", entry("/b", to="v"), entry("/z", "web")),
         ingress_route("v", entry("/a/x", "web"), entry("/b/y", "web"))],
        {"shop/root": OK, "shop/v": OK,
         "shop/w": bad('the path prefix "/z" does not match the parent\'s path prefix "/b"')}, ["/a/x"]),
    "a path of no request": (
        [root(entry("^/x.*", "web"))],
        {"shop/root": bad('route "^/x.*": match must begin with / and may have at most 2000 characters, of '
                          "printable ASCII without ? and #")}, []),
    "a field of a wrong type": (
        [root(entry("/", "web", permitInsecure="yes"))],
        {"shop/root": bad("spec.routes[0].permitInsecure has a wrong type")}, []),
    "tcpproxy with a certificate": (
        [root(entry("/", "web"), tls={"secretName": "tls"}, tcpproxy={"services": [service_of("web")]})],
        {"shop/root": bad("tcpproxy: not supported with secretName: the HTTPS virtual server handles as HTTP "
                          "what it decrypts; use tls.passthrough, or routes")}, []),
}


def test_a_route_whose_prefix_nobody_valid_delegates():
    """The object is valid without it, so an Event says that it is not served."""
    loaded, _ = source(
        WEB, root(entry("/a", to="v"), entry("/b", to="w")),
        ingress_route("w", entry("/b", to="v"), entry("/z", "web")),
        ingress_route("v", entry("/a/x", "web"), entry("/b/y", "web")))
    assert loaded.warnings(Key("shop", "v")) == (
        'route "/b/y": not served: no valid IngressRoute delegates its path',)


@rows(("objects", "expected", "paths"), [
    pytest.param(*case, id=name) for cases in CASES.values() for name, case in cases.items()])
def test_statuses(objects, expected, paths):
    ingress_routes, routes = source(WEB, *objects)
    assert statuses(ingress_routes) == expected
    assert sorted(path for _, path in routes) == paths


# projectcontour/contour v1.5.1, internal/dag/builder_test.go: TestMatchesPathPrefix
@pytest.mark.parametrize(("match", "prefix", "below"), [
    ("", "/foo", False), ("/foo", "", True), ("/foo", "/foo", True), ("/foo/", "/foo/", True),
    ("/bar", "/foo", False), ("/foobar", "/foo", False), ("/foo/bar", "/foo", True),
    ("/foo/bar", "/foo/", True), ("/foo/bar/", "/foo", True), ("/foo/bar/", "/foo/", True),
    ("/foo/", "/foo", True), ("/foo", "/foo/", True), ("/foo", "/", True), ("/", "/foo", False),
    ("/Foo", "/foo", False),
])
def test_prefixes(match, prefix, below):
    assert delegation_walk.is_below(match, prefix) == below
