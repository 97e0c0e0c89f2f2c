"""Answers of port 80 where Routes with different insecureEdgeTerminationPolicy lie one below the other.

The most specific Route decides whether a request is redirected; one that is not goes to the most specific
Route that serves port 80, or gets 503. Source: openshift/router, haproxy-config.template since 4.9.
"""

from collections.abc import Iterable, Iterator

import pytest

from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.traffic.test_unavailable import is_page

WILD = {"allow_wildcard_routes": "true"}
WWW, OTHER, ANY = "www", "other", "any"
"""Labels before the domain of a row."""

EDGE, SECURE, THROUGH = "edge", "reencrypt", "passthrough"
ROWS = [
    # Routes: (host or * for the wildcard, path, kind, policy). Requests: a path of WWW to a status, or to the
    # path of the Route whose pod answers.
    pytest.param([(WWW, "/a", EDGE, "Redirect"), (WWW, "/a/none", EDGE, "None")],
                 {"/a": 302, "/a/x": 302, "/a/none": 503, "/a/none/x": 503, "/a/nonex": 302, "/": 503},
                 id="None below Redirect"),
    pytest.param([(WWW, "", "", None), (WWW, "/a", EDGE, "Redirect"), (WWW, "/a/none", EDGE, "None")],
                 {"/": "", "/a": 302, "/a/none": "", "/a/none/x": ""}, id="a plain Route above both"),
    pytest.param([(WWW, "", SECURE, "Allow"), (WWW, "/a", EDGE, "Redirect"), (WWW, "/a/none", EDGE, None)],
                 {"/": "", "/a": 302, "/a/none": ""}, id="Allow above both, with TLS towards pods"),
    pytest.param([(WWW, "", EDGE, "Redirect"), (WWW, "/a", EDGE, "Allow"), (WWW, "/a/none", EDGE, "None")],
                 {"/": 302, "/a": "/a", "/a/none": "/a"}, id="Allow between them"),
    pytest.param([(WWW, "", EDGE, "Redirect"), (WWW, "/none", EDGE, "None"),
                  (WWW, "/none/re", EDGE, "Redirect")],
                 {"/": 302, "/none": 503, "/none/re": 302, "/none/x": 503}, id="Redirect below None"),
    pytest.param([(WWW, "/a/", EDGE, "Redirect"), (WWW, "/a/b/", EDGE, "None")],
                 {"/a/": 302, "/a/b/": 503, "/a/b/c": 503, "/a/b": 302}, id="paths that end with a slash"),
    pytest.param([("*", "", EDGE, "Redirect"), (WWW, "", EDGE, "None"), (OTHER, "/x", EDGE, "None")],
                 {"/": 503, "/x": 503}, id="an exact host under a wildcard that redirects"),
    pytest.param([("*", "", THROUGH, "Redirect"), (WWW, "", EDGE, "None")], {"/": 503, "/x": 503},
                 id="an exact host under a passthrough wildcard that redirects"),
    pytest.param([("*", "", EDGE, "Redirect"), (WWW, "", THROUGH, None)], {"/": 503},
                 id="a passthrough host under a wildcard that redirects"),
    pytest.param([("*", "", EDGE, "Redirect"), (WWW, "/a", EDGE, "None")], {"/": 302, "/a": 503, "/a/x": 503},
                 id="one path of the exact host"),
    pytest.param([("*", "", "", None), ("*", "/a", EDGE, "Redirect"), (WWW, "/a", EDGE, "None")],
                 {"/": "", "/a": "", "/a/x": ""}, id="a wildcard that serves above one that redirects"),
    pytest.param([("*", "/a/b", EDGE, "Redirect"), (WWW, "/a", EDGE, "None")], {"/a": 503, "/a/b": 503},
                 id="a wildcard that redirects a longer path"),
    pytest.param([("*", "", EDGE, "Redirect"), ("*", "/none", EDGE, "None")], {"/": 302, "/none/x": 503},
                 id="both in the wildcard"),
    pytest.param([("*", "", EDGE, "Redirect"), (WWW, "", "", None), (WWW, "/a", EDGE, "None")],
                 {"/": "", "/a": ""}, id="a plain Route of the exact host before the wildcard"),
]


@pytest.fixture(params=["12.0.0", "16.1.0"], scope="module")
def site(shared_site_of, request) -> Site:
    """The Routes of all rows, each row with a domain and pods of its own."""
    site = shared_site_of(tmos_version=request.param)
    for number, row in enumerate(ROWS):
        for name, address, (host, path, kind, insecure) in routes_of(number, row.values[0]):
            tls = PODS if kind in (SECURE, THROUGH) else None
            site.serve(name, address, port=8443, tls=tls)
            fields = {"destinationCACertificate": PODS.issuer} if kind == SECURE else {}
            if insecure:
                fields["insecure"] = insecure
            route = manifests.route(name, host=f"{ANY if host == '*' else host}.{domain(number)}", path=path,
                                    service=name, kind=kind, **fields)
            route["spec"]["wildcardPolicy"] = "Subdomain" if host == "*" else "None"
            site.apply(route)
    assert site.converge(**WILD) == []
    return site


def domain(number: int) -> str:
    """Return that of a row."""
    return f"apps-{number}.example.com"


def routes_of(number: int, routes: Iterable[tuple]) -> Iterator[tuple[str, str, tuple]]:
    """Name of each Route of a row, which is its Service's, address of its pod, and the Route."""
    return ((f"r{number}-{at}", f"10.1.{number}.{at}", route) for at, route in enumerate(routes, 1))


@pytest.mark.parametrize(("number", "routes", "expected"), [
    pytest.param(number, *row.values, id=row.id) for number, row in enumerate(ROWS)])
def test_policies_below_each_other(site, number, routes, expected):
    answers = {f"{name}-{address}": path for name, address, (_, path, *_) in routes_of(number, routes)}
    host = f"{WWW}.{domain(number)}"
    for path, wanted in expected.items():
        reply = clients.plain(site.http, host, path)
        if wanted == 503:
            assert is_page(reply), (path, reply)
        elif wanted == 302:
            assert (reply.status, reply.location) == (302, f"https://{host}{path}"), path
        else:
            assert answers[reply.pod["pod"]] == wanted, (path, reply)
