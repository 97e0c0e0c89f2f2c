"""Which Route gets a request: hosts before wildcards, longer paths before shorter ones, whatever the kind.

Each row names its source in openshift/router: path is GenerateRouteRegexp, pkg/router/template/util/util.go,
order is SortMapPaths beside it, https is images/router/haproxy/conf/haproxy-config.template.
"""

from contextlib import ExitStack

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.traffic.test_unavailable import is_page

KINDS = ["", "edge", "reencrypt"]
WILD = {"allow_wildcard_routes": "true"}
ALL, FULL = identity("*.apps.example.com", serial=9), identity("full.apps.example.com", serial=8)

ROUTES = {  # path by Service; each of them on an exact host and on the wildcard beside it
    "root": "/", "a": "/a", "ab": "/a/b", "dir": "/dir/", "escaped": "/%62", "case": "/Case", "dot": "/v1.0",
}
PATHS = [
    ("path: / is everything", "/", "root"), ("path: / is everything", "/other", "root"),
    ("path: / is everything", "//a", "root"), ("path: / is everything", "/x/a", "root"),
    ("path: the path itself", "/a", "a"), ("path: and below", "/a/", "a"),
    ("path: and below", "/a/c", "a"), ("path: and below", "/a//b", "a"),
    ("path: segment boundary", "/ab", "root"), ("path: segment boundary", "/a.", "root"),
    ("path: segment boundary", "/a.b", "root"), ("path: segment boundary", "/a;v=1", "root"),
    ("order: longest path first", "/a/b", "ab"), ("order: longest path first", "/a/b/", "ab"),
    ("order: longest path first", "/a/b/c/d", "ab"), ("order: longest path first", "/a/bc", "a"),
    ("path: trailing slash", "/dir/", "dir"), ("path: trailing slash", "/dir/x", "dir"),
    ("path: trailing slash", "/dir//", "dir"), ("path: not without it", "/dir", "root"),
    ("path: not without it", "/dirx", "root"),
    ("path: exact case", "/A", "root"), ("path: exact case", "/a/B", "a"),
    ("path: exact case", "/Case", "case"), ("path: exact case", "/case", "root"),
    ("path: exact case", "/CASE/x", "root"), ("path: exact case", "/Dir/", "root"),
    ("path: escapes as they are", "/%62", "escaped"), ("path: escapes as they are", "/%62/x", "escaped"),
    ("path: escapes as they are", "/b", "root"), ("path: escapes as they are", "/%61", "root"),
    ("path: escapes as they are", "/%41", "root"), ("path: escapes as they are", "/a%2Fb", "root"),
    ("path: escapes as they are", "/a/%62", "a"),
    ("path: characters are literal", "/v1.0", "dot"), ("path: characters are literal", "/v1x0", "root"),
    ("path: no query", "/a?x=1", "a"), ("path: no query", "/a?", "a"), ("path: no query", "/?/a", "root"),
    ("path: no query", "/?p=/a/b", "root"), ("path: no query", "/a/b?x=/c", "ab"),
    ("path: no query", "/dir?/", "root"),
]
HOSTS = [
    ("order: the exact host first", "full.apps.example.com", "/", "exact-root"),
    ("order: the exact host first", "part.apps.example.com", "/a", "part"),
    ("order: also before a longer path of the wildcard", "part.apps.example.com", "/a/b", "part"),
    ("order: a miss falls through to the wildcard", "part.apps.example.com", "/", "wild-root"),
    ("order: a miss falls through to the wildcard", "part.apps.example.com", "/ab", "wild-root"),
    ("order: a miss falls through to its longest path", "part.apps.example.com", "/dir/x", "wild-dir"),
    ("order: a host without a wildcard's path", "www.org.example.com", "/", "host-root"),
    ("order: the exact host first, whatever the paths", "www.org.example.com", "/api/x", "host-root"),
    ("path: the wildcard has one path", "x.org.example.com", "/api/x", "path"),
    ("path: the wildcard has one path", "x.org.example.com", "/", ""),
    ("path: the wildcard has one path", "x.org.example.com", "/apis", ""),
    ("path: host in any case", "FULL.Apps.example.com", "/a", "exact-a"),
    ("path: host in any case", "X.APPS.example.com", "/a", "wild-a"),
    ("path: trailing dot", "full.apps.example.com.", "/a", "exact-a"),
    ("path: trailing dot", "x.apps.example.com.", "/a", "wild-a"),
    ("path: port", "full.apps.example.com:8080", "/a", "exact-a"),
    ("path: port", "x.apps.example.com:8080", "/a", "wild-a"),
    ("path: the name of a wildcard Route is one of its hosts", "any.apps.example.com", "/a", "wild-a"),
    ("path: one label", "y.x.apps.example.com", "/a", ""),
    ("path: one label", "y.full.apps.example.com", "/a", ""),
    ("path: one label", "a.b.c.d.apps.example.com", "/", ""),
    ("path: one label", "apps.example.com", "/a", ""),
    ("path: one label", ".apps.example.com", "/a", ""),
    ("path: the dot is a dot", "xapps.example.com", "/a", ""),
    ("path: of the nearest domain", "y.deep.apps.example.com", "/p", "deep"),
    ("path: of the nearest domain", "y.deep.apps.example.com", "/", ""),
    ("path: of the nearest domain", "deep.apps.example.com", "/p", "wild-root"),
    ("path: of the nearest domain", "z.y.deep.apps.example.com", "/p", ""),
    ("https: no Route", "www.example.org", "/a", ""),
]


def with_routes(site: Site, kind: str) -> Site:
    """Every Route of one kind, each with a pod of its own."""
    services = [f"{where}-{name}" for where in ("exact", "wild") for name in ROUTES]
    more = ["part", "host-root", "path", "deep"]
    for number, service in enumerate(services + more, 1):
        site.serve(service, f"10.1.1.{number}", tls=PODS if kind == "reencrypt" else None)
    fields = {"destinationCACertificate": PODS.issuer} if kind == "reencrypt" else {}
    for host, path, service, wild in (
        *(("full.apps.example.com", path, f"exact-{name}", False) for name, path in ROUTES.items()),
        *(("any.apps.example.com", path, f"wild-{name}", True) for name, path in ROUTES.items()),
        ("part.apps.example.com", "/a", "part", False), ("www.org.example.com", "/", "host-root", False),
        ("any.org.example.com", "/api", "path", True), ("any.deep.apps.example.com", "/p", "deep", True),
    ):
        pair = {"any.apps.example.com": ALL, "full.apps.example.com": FULL}.get(host) if kind else None
        own = {"certificate": pair.certificate, "key": pair.key} if pair and path == "/" else {}
        route = manifests.route(service, host=host, path=path, service=service, kind=kind, **fields, **own)
        route["spec"]["wildcardPolicy"] = "Subdomain" if wild else "None"
        site.apply(route)
    assert site.converge(**WILD) == []
    return site


@pytest.fixture(scope="module", params=KINDS, ids=["plain", "edge", "reencrypt"])
def sites(request, tmp_path_factory):
    with ExitStack() as stack:
        site = with_routes(Site(stack, tmp_path_factory.mktemp("site")), request.param)
        yield site, request.param
        assert site.faults() == []


def ask(sites, host: str, path: str, sni: str = "") -> clients.Seen:
    site, kind = sites
    if not kind:
        return clients.plain(site.http, host, path)
    # The name of the connection, which is no matter of the request: it may have neither port nor first dot.
    name = sni or host.partition(":")[0].strip(".")
    return clients.python(site.https, host, path, sni=name)


def service(reply: clients.Seen) -> str:
    """Return whose pod answered; "" is the page."""
    assert reply.pod or is_page(reply), reply
    return reply.pod.get("pod", "").rpartition("-")[0]


@pytest.mark.parametrize(("where", "host"), [
    ("exact", "full.apps.example.com"), ("wild", "x.apps.example.com")])
@pytest.mark.parametrize(("source", "path", "name"), PATHS, ids=[path for _, path, _ in PATHS])
def test_paths(sites, source, path, name, where, host):
    """Paths of an exact host, which has all paths that its wildcard has too, and of the wildcard."""
    reply = ask(sites, host, path)
    assert service(reply) == f"{where}-{name}", source
    assert reply.pod["target"] == path, "as it was sent"


@pytest.mark.parametrize(
    ("source", "host", "path", "name"), HOSTS, ids=[f"{row[1]}{row[2]}" for row in HOSTS])
def test_hosts(sites, source, host, path, name):
    assert service(ask(sites, host, path)) == name, source


SNI = [
    ("x.apps.example.com", "*.apps.example.com"), ("X.Apps.example.com", "*.apps.example.com"),
    ("full.apps.example.com", "full.apps.example.com"), ("part.apps.example.com", "*.apps.example.com"),
    ("y.x.apps.example.com", "default.example.com"), ("apps.example.com", "default.example.com"),
    ("y.deep.apps.example.com", "default.example.com"), ("www.example.org", "default.example.com"),
]


@pytest.mark.parametrize(("host", "name"), [
    ("full.apps.example.com", "exact-a"), ("x.apps.example.com", "wild-a"), ("y.x.apps.example.com", "")])
@pytest.mark.parametrize(("sni", "certificate"), SNI)
def test_the_name_in_tls_chooses_the_certificate_and_the_host_the_route(sites, sni, certificate, host, name):
    """https: whatever goes with what."""
    if not sites[1]:
        sni = certificate = ""
    reply = ask(sites, host, "/a", sni)
    assert (service(reply), reply.certificate) == (name, certificate)


PASSED = [
    # host, Service, certificate; exact hosts beside a wildcard of the other kind
    ("through.edge.test", "tls", "pods.example.com"), ("x.edge.test", "web", "default.example.com"),
    ("THROUGH.edge.test", "tls", "pods.example.com"), ("y.through.edge.test", "", "default.example.com"),
    ("ended.pass.test", "web", "default.example.com"), ("x.pass.test", "tls", "pods.example.com"),
    ("X.Pass.Test", "tls", "pods.example.com"), ("again.pass.test", "ssl", "default.example.com"),
    ("y.x.pass.test", "", "default.example.com"), ("pass.test", "", "default.example.com"),
    ("own.pass.test", "ssl", "pods.example.com"), ("y.deep.pass.test", "ssl", "pods.example.com"),
    ("deep.pass.test", "tls", "pods.example.com"), ("plain.pass.test", "tls", "pods.example.com"),
]


@pytest.fixture(scope="module")
def passing(tmp_path_factory):
    """Wildcards of edge and of passthrough, with exact hosts of the other kinds beside them."""
    with ExitStack() as stack:
        site = Site(stack, tmp_path_factory.mktemp("passing"))
        site.serve("web", "10.1.1.1")
        for number, name in enumerate(("tls", "ssl"), 2):
            site.serve(name, f"10.1.1.{number}", tls=PODS)
        for host, name, kind in (
            ("*.edge.test", "web", "edge"), ("through.edge.test", "tls", "passthrough"),
            ("*.pass.test", "tls", "passthrough"), ("ended.pass.test", "web", "edge"),
            ("again.pass.test", "ssl", "reencrypt"), ("own.pass.test", "ssl", "passthrough"),
            ("*.deep.pass.test", "ssl", "passthrough"), ("plain.pass.test", "web", ""),
        ):
            ca = {"destinationCACertificate": PODS.issuer} if kind == "reencrypt" else {}
            route = manifests.route(
                host.strip("*."), host=host.replace("*", "any"), service=name, kind=kind, **ca)
            route["spec"]["wildcardPolicy"] = "Subdomain" if host.startswith("*") else "None"
            site.apply(route)
        assert site.converge(**WILD) == []
        yield site
        assert site.faults() == []


@pytest.mark.parametrize(("host", "name", "certificate"), PASSED, ids=[row[0] for row in PASSED])
def test_passthrough(passing, host, name, certificate):
    """As order and https; unlike there an exact host takes precedence over a passthrough wildcard.

    docs/haproxy-differences.md has the difference.
    """
    reply = clients.python(passing.https, host)
    assert (service(reply), reply.certificate) == (name, certificate)
