"""Gateways that come to a router with Routes, and the router that ends at a write of that change.

Hosts of Routes are kept from HTTPRoutes of another namespace at each of them.
"""

import pytest

from tests import manifests
from tests.builders import identity
from tests.feature.versions import step
from tests.gateways import EVERYWHERE, backend, gateway, gateway_class, http_route, listener, rule
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.test_gateways import SECRET

__all__ = ["step"]

pytestmark = pytest.mark.ends

FLAGS = {"f5_vserver_address": "203.0.113.10", "allow_wildcard_routes": "true"}
BEFORE, AFTER = FLAGS | {"sources": "routes"}, FLAGS | {"sources": "routes,gateway"}
SITE = identity("*.example.com", serial=5)
GATEWAYS = (
    SECRET, gateway_class(),
    gateway("web", listener(namespaces=EVERYWHERE),
            listener("all", 443, "HTTPS", secret="own", namespaces=EVERYWHERE),
            listener("wild", hostname="*.example.com", namespaces=EVERYWHERE),
            listener("own", 443, "HTTPS", hostname="*.example.com", secret="own", namespaces=EVERYWHERE)),
    http_route("all", rule(backend("web"))),
    http_route("wild", rule(backend("web")), hostnames=("*.example.com",)),
    http_route("same", rule(backend("web")), hostnames=("a.example.com",)),
)
AGE = {"created": "2025-01-01T00:00:00Z"}
"""Of the Routes: older than the HTTPRoutes, so that these do not get their hosts."""
EDGE = {"kind": "edge", "certificate": SITE.certificate, "key": SITE.key}
ROUTES = (
    manifests.route("a", host="a.example.com", path="/x", **AGE),
    manifests.route("e", host="e.example.com", path="/x", insecureEdgeTerminationPolicy="Allow",
                    **EDGE, **AGE),
    manifests.route("s", host="s.example.com", path="/x", **EDGE, **AGE),
    manifests.route("r", host="r.example.com", path="/x", insecureEdgeTerminationPolicy="Redirect",
                    **EDGE, **AGE),
    manifests.route("w", host="any.w.example.com", wildcardPolicy="Subdomain", **AGE),
)
HOSTS = ("a.example.com", "e.example.com", "s.example.com", "r.example.com", "any.w.example.com")


def answers(site: Site) -> dict[tuple[str, str], str]:
    """Namespace of the pod that answers, or the status, by scheme and URL."""
    seen = {}
    for host in (*HOSTS, "new.example.com", "other.org"):
        for path in ("/x", "/y"):
            for scheme, each in (("http", clients.plain(site.http, host, path)),
                                 ("https", clients.python(site.https, host, path))):
                seen[scheme, f"{host}{path}"] = each.pod.get("namespace", str(each.status))
    return seen


def test_a_router_that_ends_while_gateways_come(site_of, step):
    site, later = site_of(address="", gateway_api="v1.6"), {}
    site.serve("web", "10.1.1.1", namespace="infra")
    site.serve("web", "10.1.2.1")
    site.apply(*GATEWAYS, *ROUTES)
    assert site.converge(**BEFORE) == []
    earlier = answers(site)
    assert "infra" not in earlier.values()
    for number in site.each_end(1, **AFTER):
        if number % step and number > 2:
            continue
        for place, answer in answers(site).items():
            if place[1].rpartition("/")[0] in HOSTS:
                assert answer == earlier[place], (number, place)
        for _ in range(2):
            site.converge(**AFTER)
        later = later or answers(site)
        assert answers(site) == later, number
    assert {place: answer for place, answer in later.items() if answer == "infra"} == {
        (scheme, f"{host}{path}"): "infra" for scheme in ("http", "https") for path in ("/x", "/y")
        for host in ("new.example.com", "other.org")}
