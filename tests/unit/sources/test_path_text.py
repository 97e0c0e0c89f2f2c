"""contour_entries.py: paths that look like regular expressions, in Ingresses and IngressRoutes.

Sources of the rows: kubernetes/ingress-nginx, docs/user-guide/ingress-path-matching.md and
docs/examples/rewrite; projectcontour/contour v1.5.1, internal/dag/builder.go: route; RFC 3986 3.3; OData 4.01
part 2 (URL conventions).
"""

import pytest

from f5router.sources import contour_entries
from tests.rows import rows
from tests.unit.sources.contour_objects import entry, ingress_route, service, source
from tests.unit.sources.test_ingress_conversion import HOST, converted, served_of

MEANT = ["/a(.*)$", "/something(/|$)(.*)", "/foo/.*", "/foo/[A-Z]{3}", "/foo/bar/.+", r"/a\.html", "^/a",
         "/a$", "/a|/b", "/static/*", "/users/{id}", "/(api)"]
ORDINARY = ["", "/", "/a+b", "/~user", "/$metadata", "/x$y", "/index.html", "/..a", "/a;v=1,2", "/a%5B1%5D",
            "/@scope/it's!", "/a:b&c=d", "/c++", "/-_-"]


@rows(("path", "meant"), [*((path, True) for path in MEANT),
                                             *((path, False) for path in ORDINARY)])
def test_the_signs(path, meant):
    assert contour_entries.resembles_expression(path) == meant


@pytest.mark.parametrize("kind", ["Prefix", "Exact", "ImplementationSpecific", ""])
def test_an_ingress(kind):
    """One message, however many there are; all are served, as they are written."""
    paths = ["/a(.*)$", "/b+c", "/d/.*"]
    result = converted(*((HOST, path, "web", 80, kind) for path in paths))
    assert [route.path for route in served_of(result)] == paths
    assert [tuple(problem) for problem in result.problems] == [(
        "PathIsText", "spec.rules[0].http.paths[0].path: '/a(.*)$' is text, not a regular expression; so are "
        "1 more")]


@pytest.mark.parametrize("path", ["/a", "/b+c"])
def test_an_ingress_with_ordinary_paths(path):
    assert converted((HOST, path, "web", 80)).problems == []


def test_an_ingress_route():
    """Where it serves, and where it delegates; both stay valid."""
    root = ingress_route("root", entry("/a(.*)$", "web"), entry("/b+c", "web"), entry("/v.*", to="v"),
                         fqdn="www.example.com")
    loaded, routes = source(service(), root, ingress_route("v", entry("/v.*/w", "web")))
    assert {path for _, path in routes} == {"/a(.*)$", "/b+c", "/v.*/w"}
    assert [loaded.warnings(key) for key in loaded.objects] == [
        ('route "/a(.*)$": match is text, not a regular expression',
         'route "/v.*": match is text, not a regular expression'),
        ('route "/v.*/w": match is text, not a regular expression',)]
    assert {loaded.status(key).current for key in loaded.objects} == {"valid"}
