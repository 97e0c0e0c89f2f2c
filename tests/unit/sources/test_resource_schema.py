"""Bad IngressRoutes: whether the schema of docs/deploy refuses them, and what the router makes of them.

A cluster with Contour has another schema, and one may be changed or missing: the router relies on none.
"""

import re

import pytest

from f5router.kube.api import decode_contour
from f5router.model.cluster import Key
from tests.rows import rows
from tests.unit.sources.contour_objects import service, source
from tests.unit.sources.test_examples import schemas

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int}
VALID = "valid IngressRoute"


def problems(value: object, schema: dict, place: str = "") -> list[str]:
    """Return what an API server has against a value, by the keywords that the schemas use."""
    kind = schema.get("type")
    if kind is None or (value is None and schema.get("nullable")):
        return []
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return [f"{place}: no {kind}"]
    assert schema.keys() <= {
        "type", "nullable", "properties", "required", "items", "enum", "pattern", "minimum", "maximum"}
    bad = [f"{place}.{name}: required" for name in schema.get("required", ()) if name not in value]
    if value not in schema.get("enum", [value]) or not re.search(schema.get("pattern", ""), str(value)):
        bad.append(f"{place}: {value!r}")
    if kind == "integer" and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        bad.append(f"{place}: {value}")
    inner = enumerate(value) if kind == "array" else value.items() if kind == "object" else ()
    for name, each in inner:
        known = schema["items"] if kind == "array" else schema.get("properties", {}).get(name, {})
        bad += problems(each, known, f"{place}.{name}")
    return bad


def spec(service: object = None, *, route: dict | None = None, **more) -> dict:
    """Return a spec with one Service. Args: service: changes of its entry; route: of that of spec.routes."""
    entry = {"name": "web", "port": 80, **(service or {})}
    return {"virtualhost": {"fqdn": "www.example.com"},
            "routes": [{"match": "/", "services": [entry], **(route or {})}], **more}


def without(name: str) -> dict:
    whole = spec()
    del whole["routes"][0]["services"][0][name]
    return whole


HOST = {"fqdn": "www.example.com"}
REFUSED = {  # spec, the router's description
    "a match without a slash": (spec(route={"match": "a"}), 'route "a": match must begin with /'),
    "a match that is a regular expression": (
        spec(route={"match": "^/a.*$"}), 'route "^/a.*$": match must begin with /'),
    "no match: all paths": ({**spec(), "routes": [{"services": [{"name": "web", "port": 80}]}]}, VALID),
    "port 0": (spec({"port": 0}), 'route "/": service "web": port must be in the range 1-65535'),
    "port 70000": (spec({"port": 70000}), 'route "/": service "web": port must be in the range 1-65535'),
    "a port by name": (spec({"port": "http"}), "spec.routes[0].services[0].port has a wrong type"),
    "no port": (without("port"), 'route "/": service "web": port must be in the range 1-65535'),
    "no name": (without("name"), "Service [:80] is invalid or missing"),
    "a negative weight": (
        spec({"weight": -1}), 'route "/": service "web": weight must be greater than or equal to zero'),
    "half a weight": (spec({"weight": 1.5}), "spec.routes[0].services[0].weight has a wrong type"),
    "an unknown strategy": (spec({"strategy": "RingHash"}), VALID),
    "TLS 1.0": (
        spec(virtualhost={**HOST, "tls": {"secretName": "tls", "minimumProtocolVersion": "1.0"}}), VALID),
    "a health check without a path: /": (spec({"healthCheck": {}}), VALID),
    "a health check of a path without a slash": (
        spec({"healthCheck": {"path": "up"}}), 'route "/": healthCheck: path is '),
    "a negative interval": (
        spec(healthCheck={"path": "/", "intervalSeconds": -1}),
        'route "/": healthCheck: a number must be greater than or equal to zero'),
    "negative retries": (spec(route={"retryPolicy": {"count": -1}}), VALID),
    "a validation without a name": (spec({"validation": {"caSecret": "ca"}}), VALID),
    "a text for a Boolean": (
        spec(route={"permitInsecure": "yes"}), "spec.routes[0].permitInsecure has a wrong type"),
    "routes in a map": (spec(routes={"/": {}}), "spec.routes has a wrong type"),
    "an fqdn that is a number": (
        spec(virtualhost={"fqdn": 7}), "spec.virtualhost.fqdn has a wrong type"),
}
PASSED = {
    "no fqdn": (spec(virtualhost={}), "Spec.VirtualHost.Fqdn must be specified"),
    "a wildcard": (spec(virtualhost={"fqdn": "a.*.com"}),
                   'Spec.VirtualHost.Fqdn "a.*.com" cannot use wildcards'),
    "a question mark": (spec(route={"match": "/a?b"}), 'route "/a?b": match must begin with /'),
    "a match of 2001 characters": (spec(route={"match": "/" + 2000 * "a"}), 'route "/aaa'),
    "services and delegate": (
        spec(route={"delegate": {"name": "v"}}),
        'route "/": cannot specify services and delegate in the same route'),
    "a rewrite without a slash": (
        spec(route={"prefixRewrite": "new"}), 'route "/": prefixRewrite is "new" but must be a path'),
    "a Secret with two slashes": (
        spec(virtualhost={**HOST, "tls": {"secretName": "a/b/c"}}),
        'Spec.VirtualHost.TLS Secret "a/b/c" certificate delegation not permitted'),
    "a Service of no valid name": (spec({"name": "../x"}), "Service [../x:80] is invalid or missing"),
    "a time that is none": (spec(route={"timeoutPolicy": {"request": "soon"}}), VALID),
    "a weight beyond any limit": (
        spec({"weight": 10**30}), "spec.routes[0].services[0].weight is out of range"),
    "17 services": (
        spec(route={"services": [{"name": "web", "port": 80}] * 17}),
        "spec.routes[0].services has 17 entries, at most 16 are possible"),
    "1001 routes": (
        spec(routes=[{"match": "/"}] * 1001), "spec.routes has 1001 entries, at most 1000 are possible"),
    "TLS without a Secret: never in clear text": (
        spec(virtualhost={**HOST, "tls": {"minimumProtocolVersion": "1.3"}}),
        'Spec.VirtualHost.TLS Secret "" is invalid: Secret not found'),
    "an empty tls": (spec(virtualhost={**HOST, "tls": {}}),
                     'Spec.VirtualHost.TLS Secret "" is invalid: Secret not found'),
}


@rows(("given", "description", "refused"), [
    *(pytest.param(*row, True, id=name) for name, row in REFUSED.items()),
    *(pytest.param(*row, False, id=name) for name, row in PASSED.items())])
def test_bad_input(given, description, refused):
    obj = {"metadata": {"namespace": "shop", "name": "root"}, "spec": given}
    refusals = problems({"spec": given}, schemas()["IngressRoute"])
    assert bool(refusals) == refused, refusals
    loaded, _ = source(service(), decode_contour.ingress_route(obj))
    status = loaded.status(Key("shop", "root"))
    has_default = given in (REFUSED["no match: all paths"][0], REFUSED["a health check without a path: /"][0])
    assert status.description.startswith(description)
    assert (status.current == "valid") == (description == VALID)
    if status.current == "valid" and not has_default:
        assert loaded.warnings(Key("shop", "root"))
