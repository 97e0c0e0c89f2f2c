"""The examples of docs/ingress.md and docs/ingressroute.md are served as the pages say."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from f5router.kube.api import decode_contour, decode_ingress
from f5router.model.cluster import Key
from f5router.sources import explanation, ingress_conversion
from tests.unit.sources.contour_objects import secret, service, source

DOCS = Path(__file__).resolve().parents[3] / "docs"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    return [text for word, text in BLOCK.findall((DOCS / page).read_text()) if word == language]


def examples() -> list[dict]:
    return [obj for page in ("ingress.md", "ingressroute.md") for text in blocks(page, "yaml")
            for obj in yaml.safe_load_all(text)]


def test_ingress():
    (obj,) = (obj for obj in examples() if obj["kind"] == "Ingress")
    services = (service("shop/web", 80), service("shop/api", 80))
    result = ingress_conversion.convert(decode_ingress.ingress(obj), {each.key: each for each in services})
    assert not result.problems
    assert {(route.host, route.path): (route.service, route.tls_secret, route.options.timeout_ms)
            for route in result.routes.values()} == {
        ("www.example.com", ""): ("web", Key("shop", "www-tls"), 30_000),
        ("www.example.com", "/api"): ("api", Key("shop", "www-tls"), 30_000)}


def test_ingress_route():
    """`explain` prints for it what the page shows."""
    given = [decode_contour.ingress_route(obj) for obj in examples() if obj["kind"] == "IngressRoute"]
    loaded, _ = source(
        *given, secret("platform/www-tls"), service("platform/web", 80), service("platform/acme", 80),
        service("payments/pay-v1", 8080), service("payments/pay-v2", 8080))
    command, *lines = blocks("ingressroute.md", "")[0].splitlines()
    assert command == "$ f5router explain ingressroute payments/pay"
    assert explanation.explain(loaded, Key("payments", "pay")) == lines
    assert loaded.status(Key("platform", "www")).current == "valid"


def schemas() -> dict[str, dict]:
    by_kind = {}
    for obj in yaml.safe_load_all((DOCS / "deploy" / "40-ingressroutes.yaml").read_text()):
        if obj["kind"] == "CustomResourceDefinition":
            (version,) = obj["spec"]["versions"]
            by_kind[obj["spec"]["names"]["kind"]] = version["schema"]["openAPIV3Schema"]
    return by_kind


def unknown(value: object, schema: dict, name: str = "") -> Iterator[str]:
    """Yield the fields that an API server would drop: those that a schema does not have."""
    if isinstance(value, list):
        for each in value:
            yield from unknown(each, schema["items"], name)
    if isinstance(value, dict) and "properties" in schema:
        for field, inner in value.items():
            if field in schema["properties"]:
                yield from unknown(inner, schema["properties"][field], f"{name}.{field}")
            else:
                yield f"{name}.{field}"


@pytest.mark.parametrize("spec", [
    *(obj["spec"] for obj in examples() if obj["kind"] == "IngressRoute"),
    {"strategy": "Cookie", "healthCheck": {
        "path": "/", "host": "h", "intervalSeconds": 1, "timeoutSeconds": 1, "unhealthyThresholdCount": 2,
        "healthyThresholdCount": 2},
     "virtualhost": {"fqdn": "a.b", "tls": {"passthrough": True}},
     "tcpproxy": {"services": [{"name": "a", "port": 1}], "delegate": {"name": "b", "namespace": "c"}},
     "routes": [{"match": "/", "enableWebsockets": True, "prefixRewrite": "/", "permitInsecure": True,
                 "timeoutPolicy": {"request": "1s"}, "retryPolicy": {"count": 1}, "services": [
                     {"name": "a", "port": 1, "weight": 1, "strategy": "Random",
                      "validation": {"caSecret": "c", "subjectName": "s"}}]}]},
])
def test_the_resource_of_docs_deploy_has_every_field(spec):
    """An API server would drop a field of an IngressRoute that the schema does not have."""
    status = {"currentStatus": "valid", "description": "valid IngressRoute"}
    assert list(unknown({"spec": spec, "status": status}, schemas()["IngressRoute"])) == []


def test_the_resource_of_delegations_has_every_field():
    spec = {"delegations": [{"secretName": "tls", "targetNamespaces": ["*"]}]}
    assert list(unknown({"spec": spec}, schemas()["TLSCertificateDelegation"])) == []
