"""Hosts that the router makes, and domains that it admits: our router against HAProxy's."""

import pytest

from tests import manifests
from tests.differential.outcomes import Request
from tests.traffic.conftest import Site

TEMPLATE = "${name}-${namespace}.apps.example.com"
SETTINGS = {
    "domain": {"ROUTER_DOMAIN": "apps.example.com"},
    "template": {"ROUTER_SUBDOMAIN": TEMPLATE},
    "quoted template": {"ROUTER_SUBDOMAIN": f'"{TEMPLATE}"'},
    "domain and template": {"ROUTER_DOMAIN": "apps.example.com", "ROUTER_SUBDOMAIN": TEMPLATE},
    "override": {"ROUTER_SUBDOMAIN": TEMPLATE, "ROUTER_OVERRIDE_HOSTNAME": "true",
                 "ROUTER_DOMAIN": "apps.example.com"},
    "override domains": {"ROUTER_SUBDOMAIN": TEMPLATE, "ROUTER_DOMAIN": "example.net",
                         "ROUTER_OVERRIDE_DOMAINS": " example.org , example.net"},
    "denied": {"ROUTER_DENIED_DOMAINS": "example.org, deep.example.com"},
    "allowed": {"ROUTER_ALLOWED_DOMAINS": "example.org"},
    "both": {"ROUTER_ALLOWED_DOMAINS": "example.com,example.org",
             "ROUTER_DENIED_DOMAINS": "deep.example.com"},
    "denied as made": {"ROUTER_SUBDOMAIN": TEMPLATE, "ROUTER_DENIED_DOMAINS": "apps.example.com"},
}
ROUTES = {
    "nothing": {}, "sub": {"subdomain": "front"}, "deep-sub": {"subdomain": "a.b"},
    "host": {"host": "www.example.org"}, "both": {"host": "both.example.com", "subdomain": "front"},
    "deep": {"host": "x.deep.example.com"}, "deepest": {"host": "a.x.deep.example.com"},
    "beside": {"host": "xdeep.example.com"}, "apex": {"host": "example.org"},
    "edge": {"host": "edge.example.org", "tls": {"termination": "edge"}},
}
"""By name: the fields of spec that matter."""
HOSTS = (
    "www.example.org", "both.example.com", "x.deep.example.com", "a.x.deep.example.com", "xdeep.example.com",
    "example.org", "edge.example.org", "front.apps.example.com", "a.b.apps.example.com", "front.example.net",
    *(f"{name}-shop.apps.example.com" for name in ROUTES),
)


def build(site: Site) -> None:
    for number, (name, fields) in enumerate(ROUTES.items(), 1):
        site.serve(name, f"10.1.{number}.1")
        route = manifests.route(name, service=name)
        del route["spec"]["host"]
        route["spec"] |= fields
        site.apply(route)


@pytest.mark.parametrize("name", SETTINGS)
def test_hosts(pair_of, name):
    """Each Route is found under the same name, on the same port, or nowhere."""
    pair = pair_of(build, variables=SETTINGS[name])
    requests = [Request(host, secure=secure) for host in HOSTS for secure in (False, True)]
    theirs, ours = pair.both(lambda router: {
        (request.host, request.secure): request.outcome(router) for request in requests})
    assert ours == theirs
    assert {outcome.status for outcome in ours.values()} == {200, 503}
