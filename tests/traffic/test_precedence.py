"""Which Route gets a request: hosts before wildcards, longer paths before shorter ones, whatever the kind.

Each row names its source: P is haproxy-parity.md (5.1 what one Route matches, 5.2 order, 5.3 HTTPS; its
rows were confirmed on HAProxy), U is openshift/router, pkg/router/template/util/haproxy: GenerateRouteRegexp.
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
    ("P 5.1: / is everything", "/", "root"), ("P 5.1: / is everything", "/other", "root"),
    ("P 5.1: / is everything", "//a", "root"), ("P 5.1: / is everything", "/x/a", "root"),
    ("P 5.1: the path itself", "/a", "a"), ("P 5.1: and below", "/a/", "a"),
    ("P 5.1: and below", "/a/c", "a"), ("P 5.1: and below", "/a//b", "a"),
    ("P 5.1: segment boundary", "/ab", "root"), ("P 5.1: segment boundary", "/a.", "root"),
    ("P 5.1: segment boundary", "/a.b", "root"), ("P 5.1: segment boundary", "/a;v=1", "root"),
    ("P 5.2: longest path first", "/a/b", "ab"), ("P 5.2: longest path first", "/a/b/", "ab"),
    ("P 5.2: longest path first", "/a/b/c/d", "ab"), ("P 5.2: longest path first", "/a/bc", "a"),
    ("P 5.1: trailing slash", "/dir/", "dir"), ("P 5.1: trailing slash", "/dir/x", "dir"),
    ("P 5.1: trailing slash", "/dir//", "dir"), ("P 5.1: not without it", "/dir", "root"),
    ("P 5.1: not without it", "/dirx", "root"),
    ("P 5.1: exact case", "/A", "root"), ("P 5.1: exact case", "/a/B", "a"),
    ("P 5.1: exact case", "/Case", "case"), ("P 5.1: exact case", "/case", "root"),
    ("P 5.1: exact case", "/CASE/x", "root"), ("P 5.1: exact case", "/Dir/", "root"),
    ("P 5.1: escapes as they are", "/%62", "escaped"), ("P 5.1: escapes as they are", "/%62/x", "escaped"),
    ("P 5.1: escapes as they are", "/b", "root"), ("P 5.1: escapes as they are", "/%61", "root"),
    ("P 5.1: escapes as they are", "/%41", "root"), ("P 5.1: escapes as they are", "/a%2Fb", "root"),
    ("P 5.1: escapes as they are", "/a/%62", "a"),
    ("P 5.1: characters are literal", "/v1.0", "dot"), ("P 5.1: characters are literal", "/v1x0", "root"),
    ("P 5.1: no query", "/a?x=1", "a"), ("P 5.1: no query", "/a?", "a"), ("P 5.1: no query", "/?/a", "root"),
    ("P 5.1: no query", "/?p=/a/b", "root"), ("P 5.1: no query", "/a/b?x=/c", "ab"),
    ("P 5.1: no query", "/dir?/", "root"),
]
HOSTS = [
    ("P 5.2: the exact host first", "full.apps.example.com", "/", "exact-root"),
    ("P 5.2: the exact host first", "part.apps.example.com", "/a", "part"),
    ("P 5.2: also before a longer path of the wildcard", "part.apps.example.com", "/a/b", "part"),
    ("P 5.2: a miss falls through to the wildcard", "part.apps.example.com", "/", "wild-root"),
    ("P 5.2: a miss falls through to the wildcard", "part.apps.example.com", "/ab", "wild-root"),
    ("P 5.2: a miss falls through to its longest path", "part.apps.example.com", "/dir/x", "wild-dir"),
    ("P 5.2: a host without a wildcard's path", "www.org.example.com", "/", "host-root"),
    ("P 5.2: the exact host first, whatever the paths", "www.org.example.com", "/api/x", "host-root"),
    ("P 5.1: the wildcard has one path", "x.org.example.com", "/api/x", "path"),
    ("P 5.1: the wildcard has one path", "x.org.example.com", "/", ""),
    ("P 5.1: the wildcard has one path", "x.org.example.com", "/apis", ""),
    ("P 5.1: host in any case", "FULL.Apps.example.com", "/a", "exact-a"),
    ("P 5.1: host in any case", "X.APPS.example.com", "/a", "wild-a"),
    ("P 5.1: trailing dot", "full.apps.example.com.", "/a", "exact-a"),
    ("P 5.1: trailing dot", "x.apps.example.com.", "/a", "wild-a"),
    ("P 5.1: port", "full.apps.example.com:8080", "/a", "exact-a"),
    ("P 5.1: port", "x.apps.example.com:8080", "/a", "wild-a"),
    ("U: the name of a wildcard Route is one of its hosts", "any.apps.example.com", "/a", "wild-a"),
    ("U: one label", "y.x.apps.example.com", "/a", ""), ("U: one label", "y.full.apps.example.com", "/a", ""),
    ("U: one label", "a.b.c.d.apps.example.com", "/", ""), ("U: one label", "apps.example.com", "/a", ""),
    ("U: one label", ".apps.example.com", "/a", ""), ("U: the dot is a dot", "xapps.example.com", "/a", ""),
    ("U: of the nearest domain", "y.deep.apps.example.com", "/p", "deep"),
    ("U: of the nearest domain", "y.deep.apps.example.com", "/", ""),
    ("U: of the nearest domain", "deep.apps.example.com", "/p", "wild-root"),
    ("U: of the nearest domain", "z.y.deep.apps.example.com", "/p", ""),
    ("P 5.3: no Route", "www.example.org", "/a", ""),
]


def made(site: Site, kind: str) -> Site:
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
        site = made(Site(stack, tmp_path_factory.mktemp("site")), request.param)
        yield site, request.param
        assert site.faults() == []


def ask(sites, host: str, path: str, sni: str = "") -> clients.Seen:
    site, kind = sites
    if not kind:
        return clients.plain(site.http, host, path)
    # The name of the connection, which is no matter of the request: it may have neither port nor first dot.
    name = sni or host.partition(":")[0].strip(".")
    return clients.python(site.https, host, path, sni=name)


def service(found: clients.Seen) -> str:
    """Whose pod answered; "" is the page."""
    assert found.pod or is_page(found), found
    return found.pod.get("pod", "").rpartition("-")[0]


@pytest.mark.parametrize(("where", "host"), [
    ("exact", "full.apps.example.com"), ("wild", "x.apps.example.com")])
@pytest.mark.parametrize(("source", "path", "name"), PATHS, ids=[path for _, path, _ in PATHS])
def test_paths(sites, source, path, name, where, host):
    """Of an exact host, which has all paths that its wildcard has too, and of the wildcard."""
    found = ask(sites, host, path)
    assert service(found) == f"{where}-{name}", source
    assert found.pod["target"] == path, "as it was sent"


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
    """P 5.3: whatever goes with what."""
    if not sites[1]:
        sni = certificate = ""
    found = ask(sites, host, "/a", sni)
    assert (service(found), found.certificate) == (name, certificate)


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
    """P 5.2 and 5.3; unlike there an exact host goes before a passthrough wildcard (docs/limits.md)."""
    found = clients.python(passing.https, host)
    assert (service(found), found.certificate) == (name, certificate)
