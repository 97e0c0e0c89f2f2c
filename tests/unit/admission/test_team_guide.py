"""The Routes of docs/team-guide.md are admitted, all at once, and ask for what their sections say."""

import yaml

from f5router.admission import admission, host_claims
from f5router.kube.api import decode
from f5router.model.cluster import Backend, Route
from f5router.model.route_options import PathRewrite, RouteOptions
from tests.builders import identity, secret
from tests.e2e.pages import blocks
from tests.rows import rows

OBJECTS = [yaml.safe_load(block.text) for block in blocks("team-guide.md") if block.language == "yaml"]
ROUTES: dict[str, Route] = {obj["metadata"]["name"]: decode.route(obj) for obj in OBJECTS}
PAIR = secret(identity=identity("pay.example.com"), name="pay-tls")
EVALUATED = {name: admission.check(route, admission.AdmissionPolicy(wildcards=True), {PAIR.key: PAIR})
             for name, route in ROUTES.items()}


def test_the_page_has_a_route_in_each_example():
    assert {(obj["apiVersion"], obj["kind"]) for obj in OBJECTS} == {("route.openshift.io/v1", "Route")}
    assert len(ROUTES) == len(OBJECTS) == 15


@rows("name", sorted(ROUTES))
def test_an_example_is_valid_and_nothing_of_it_is_without_effect(name):
    assert EVALUATED[name].rejection is None
    assert ROUTES[name].option_problems == ()
    assert ROUTES[name].option_refusal == ""
    assert ROUTES[name].unsupported == ()


def test_all_examples_are_served_beside_each_other():
    verdicts = host_claims.resolve(EVALUATED.values(), ownership=True).verdicts
    assert {key.name: rejection for key, rejection in verdicts.items() if rejection} == {}
    assert len(verdicts) == len(ROUTES)


@rows(("name", "termination", "insecure"), [
    ("plain", "", "Allow"), ("edge", "edge", "Redirect"), ("secret", "edge", "None"),
    ("reencrypt", "reencrypt", "None"), ("passthrough", "passthrough", "None"), ("hsts", "edge", "Redirect"),
])
def test_kinds(name, termination, insecure):
    assert (EVALUATED[name].termination, EVALUATED[name].insecure) == (termination, insecure)


@rows(("name", "options"), [
    ("plain", RouteOptions()),
    ("timeouts", RouteOptions(timeout_ms=90_000, tunnel_timeout_ms=3_600_000)),
    ("limits", RouteOptions(request_rate=100)),
    ("cookies", RouteOptions(cookie_name="shop-pod", same_site="Lax")),
    ("clients", RouteOptions(sources=("192.0.2.0/24", "2001:db8::/32"))),
    ("hsts", RouteOptions(hsts="max-age=31536000;includeSubDomains")),
    ("rewrite", RouteOptions(rewrite=PathRewrite("/", keeps_rest=True, drops_slash=True))),
])
def test_options(name, options):
    assert ROUTES[name].options == options


def test_fields():
    assert len(ROUTES["headers"].options.response_actions) == 1
    assert (ROUTES["plain"].target_port, ROUTES["api"].path) == ("8080", "/api")
    assert EVALUATED["wildcard"].host == "*.tenants.example.com"
    assert EVALUATED["secret"].key_pair is not None
    assert EVALUATED["edge"].key_pair is None
    assert (ROUTES["weights"].weight, ROUTES["weights"].alternates) == (90, (Backend("web-canary", 10),))
