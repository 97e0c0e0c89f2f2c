"""CRDs of the Gateway API: served as the cluster has them, with their defaults and their rules."""

import pytest
import requests

from mocks.kube import FakeKube
from tests import gateways
from tests.rows import rows

GROUP = "/apis/gateway.networking.k8s.io"


@pytest.fixture(scope="module")
def api():
    with FakeKube(gateway_api="v1.6") as kube, requests.Session() as session:
        session.trust_env, session.verify = False, kube.ca_file
        session.headers["Authorization"] = f"Bearer {kube.token}"
        kube.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "infra"}})
        yield lambda method, path, body=None: session.request(method, f"{kube.url}{path}", json=body)


def post(api, obj: dict) -> requests.Response:
    plural = {"HTTPRoute": "httproutes", "Gateway": "gateways", "ReferenceGrant": "referencegrants",
              "TLSRoute": "tlsroutes", "BackendTLSPolicy": "backendtlspolicies"}[obj["kind"]]
    body = {**obj, "metadata": {key: obj["metadata"][key] for key in ("name", "namespace")}}
    return api("POST", f"{GROUP}/v1/namespaces/infra/{plural}", body)


@rows(("release", "versions"), [
    ("none", []), ("v0.8", ["v1beta1"]), ("v1.3", ["v1", "v1alpha2", "v1alpha3", "v1beta1"]),
    ("v1.4", ["v1", "v1alpha2", "v1alpha3", "v1beta1"]),
    ("v1.6", ["v1"]),
])
def test_releases_serve_their_versions(release, versions):
    with FakeKube(gateway_api=release) as kube:
        served = requests.get(f"{kube.url}/apis", verify=kube.ca_file, timeout=60,
                              headers={"Authorization": f"Bearer {kube.token}"}).json()["groups"]
    assert sorted(version["version"] for group in served for version in group["versions"]
                  if group["name"] == gateways.VERSION.partition("/")[0]) == versions


def test_a_new_gateway_waits_for_its_controller_and_has_defaults(api):
    obj = gateways.gateway("new")
    del obj["spec"]["listeners"][0]["allowedRoutes"]
    created = post(api, obj).json()
    assert created["spec"]["listeners"][0]["allowedRoutes"] == {"namespaces": {"from": "Same"}}
    assert [(each["type"], each["status"]) for each in created["status"]["conditions"]] == [
        ("Accepted", "Unknown"), ("Programmed", "Unknown")]


def test_the_status_has_an_address_of_its_own(api):
    post(api, gateways.http_route("status", gateways.rule()))
    path = f"{GROUP}/v1/namespaces/infra/httproutes/status"
    changed = api("PATCH", f"{path}/status", None)
    assert changed.status_code != 404
    assert api("GET", path).json()["metadata"]["generation"] == 1


LISTENER = gateways.listener
TWO = gateways.parent("web")


@rows(("obj", "text"), [
    (gateways.gateway("a", LISTENER("a"), LISTENER("a", 81)), "name must be unique"),
    (gateways.gateway("a", LISTENER("a"), LISTENER("b")), "port, protocol and hostname must be unique"),
    (gateways.gateway("a", *(LISTENER(f"l{number}", number + 1) for number in range(65))),
     "at most 64 items"),
    (gateways.gateway("a", LISTENER(tls={"mode": "Passthrough"})), "tls must not be specified"),
    (gateways.gateway("a", LISTENER(protocol="HTTPS", tls={})), "certificateRefs or options"),
    (gateways.gateway("a", LISTENER(hostname="a_b")), "should be a hostname"),
    (gateways.http_route("a", gateways.rule(), parents=(TWO, TWO)), "sectionName or port must be unique"),
    (gateways.http_route("a", *[gateways.rule()] * 17), "at most 16 items"),
    (gateways.http_route("a", *[gateways.rule(paths=("/a",) * 43)] * 3), "must be less than 128"),
    (gateways.http_route("a", gateways.rule(paths=("a",))), "absolute path"),
    (gateways.http_route("a", gateways.rule(paths=("/a//b",))), "must not contain '//'"),
    (gateways.http_route("a", gateways.rule({"name": "v1"})), "Must have port"),
    (gateways.http_route("a", gateways.rule(filters=(gateways.redirect(), {"type": "URLRewrite"}))),
     "but not both"),
    (gateways.http_route("a", gateways.rule(filters=(gateways.redirect(),) * 2)), "cannot be repeated"),
    (gateways.http_route("a", gateways.rule(gateways.backend("v1"), filters=(gateways.redirect(),))),
     "must not be used together"),
    ({**gateways.grant("a", "infra", ("HTTPRoute", ""), ("", "Service", ""))}, "from[0].namespace"),
    (gateways.tls_route("a", gateways.backend("v1")), "spec.hostnames"),
    (gateways.backend_policy("a", "v1"), "must specify either"),
    (gateways.backend_policy("a", "v1", {"name": "ca"}, wellKnownCACertificates="System"),
     "not contain both"),
    (gateways.backend_policy("a", "v1", {"name": "ca"}, hostname="*.test"), "without a wildcard"),
    (gateways.backend_policy("a", "", {"name": "ca"}), "targetRefs[0].name"),
    (gateways.tls_route("a", gateways.backend("v1"), hostnames=("10.1.1.1",)), "cannot contain an IP"),
    (gateways.tls_route("a", hostnames=("a.test",)), "backendRefs"),
    (gateways.tls_route("a", hostnames=("a.test",), rules=[]), "exactly 1 item"),
    (gateways.tls_route("a", hostnames=("a.test",) * 1025), "at most 1024 items"),
])
def test_rules_of_the_crds(api, obj, text):
    reply = post(api, obj)
    assert reply.status_code == 422
    assert text in reply.text
