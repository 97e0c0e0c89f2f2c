"""BackendTLSPolicies: pods that are asked over TLS, verified, and never in clear text once there is one."""

import base64
from contextlib import ExitStack

import pytest

from tests.builders import identity
from tests.gateways import (
    backend,
    backend_policy,
    conditions,
    gateway,
    gateway_class,
    http_route,
    listener,
    rule,
)
from tests.traffic import clients
from tests.traffic.conftest import PODS

FLAGS = {"f5_vserver_address": "203.0.113.10", "sources": "routes,gateway"}
OWN = identity("own.example.com")
HOST = "own.example.com"


def secret(name: str, **data: str) -> dict:
    kind = "kubernetes.io/tls" if "tls.key" in data else "Opaque"
    return {"apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": {"namespace": "infra", "name": name},
            "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}}


CERTIFICATE = secret("own", **{"tls.crt": OWN.certificate, "tls.key": OWN.key})
AUTHORITY = secret("ca", **{"ca.crt": PODS.issuer})
REF = {"group": "", "kind": "Secret", "name": "ca"}
POLICY = backend_policy("p", "tls", REF)
OBJECTS = (CERTIFICATE, AUTHORITY, gateway_class(), gateway(
    "web", listener("http", hostname=HOST), listener("https", 443, "HTTPS", hostname=HOST, secret="own")),
    http_route("r", rule(backend("tls", 8443))))


@pytest.fixture
def site(site_of):
    site = site_of(address="", gateway_api="v1.6")
    site.serve("tls", "10.1.1.1", namespace="infra", port=8443, tls=PODS)
    site.apply(*OBJECTS, POLICY)
    return site


def answers(site, path: str = "/") -> tuple[str, str]:
    """Pod, or status, without and with TLS of the client."""
    seen = clients.plain(site.http, HOST, path), clients.python(site.https, HOST, path)
    return tuple(each.pod.get("pod", str(each.status)) for each in seen)


def ancestors(site, name: str = "p") -> list[tuple[str, dict]]:
    """Gateways with their conditions."""
    status = (site.kube.get("BackendTLSPolicy", "infra", name) or {}).get("status") or {}
    entries = status.get("ancestors", ())
    return [(each["ancestorRef"]["name"], conditions(each["conditions"])) for each in entries]


ENDED = ("0", "0")
"""The BIG-IP ends connections whose pod it cannot verify."""
GOOD = {"Accepted": ("True", "Accepted"), "ResolvedRefs": ("True", "ResolvedRefs")}


def test_pods_are_verified_and_asked_for_their_name(site):
    assert site.converge(**FLAGS) == []
    assert answers(site) == ("tls-10.1.1.1", "tls-10.1.1.1")
    assert ancestors(site) == [("web", GOOD)]
    kind = "ltm/profile/server-ssl"
    (path,) = (path for path in site.paths(kind) if "-sni-" in path)
    profile = site.bigip.get(f"{kind}/{path.replace('/', '~')}")
    assert (profile["serverName"], profile["authenticateName"], profile["peerCertMode"]) == (
        "pods.example.com", "pods.example.com", "require")
    site.kube.clear_log()
    site.bigip.clear_log()
    assert site.converge(**FLAGS) == []
    assert site.writes() == []
    assert [each.path for each in site.kube.log if each.method == "PATCH" and "/status" in each.path] == []


def test_a_config_map_is_as_good(site):
    """Until it is there nothing comes to the pods; a renewed one counts soon."""
    site.apply(backend_policy("p", "tls", {"group": "", "kind": "ConfigMap", "name": "ca"}))
    assert site.converge(**FLAGS) == []
    assert answers(site) == ("500", "500")
    (_, shown), = ancestors(site)
    assert shown["ResolvedRefs"] == ("False", "InvalidCACertificateRef")
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "infra", "name": "ca"}}
    site.apply({**config_map, "data": {"ca.crt": PODS.issuer}})
    assert site.converge(**FLAGS) == []
    assert (answers(site), ancestors(site)) == (("tls-10.1.1.1",) * 2, [("web", GOOD)])
    site.apply({**config_map, "data": {"ca.crt": identity("x.example.com", ca="Other").issuer}})
    assert site.converge(**FLAGS) == []
    assert answers(site) == ENDED


def test_config_maps_that_may_not_be_read_close_the_service(site):
    site.kube.forbid("configmaps")
    site.apply(backend_policy("p", "tls", {"group": "", "kind": "ConfigMap", "name": "ca"}))
    site.converge(**FLAGS)
    assert answers(site) == ("500", "500")
    (_, shown), = ancestors(site)
    assert shown["Accepted"] == ("False", "NoValidCACertificate")


def test_pods_with_another_name_get_nothing(site):
    site.apply(backend_policy("p", "tls", REF, hostname="other.example.com"))
    assert site.converge(**FLAGS) == []
    assert answers(site) == ENDED


def test_pods_of_another_authority_get_nothing(site):
    site.apply(secret("ca", **{"ca.crt": identity("x.example.com", ca="Other").issuer}))
    assert site.converge(**FLAGS) == []
    assert answers(site) == ENDED


def test_what_cannot_be_used_closes_the_service(site):
    """A Secret that is missing; nothing comes to the pod in clear text, also before there was a policy."""
    site.pod("10.1.9.1", "plain", namespace="infra")
    site.serve("plain", "10.1.9.2", namespace="infra")
    site.apply(http_route("r", rule(backend("plain"))))
    assert site.converge(**FLAGS) == []
    assert answers(site) == ("plain-10.1.9.2", "plain-10.1.9.2")
    site.apply(backend_policy("q", "plain", {**REF, "name": "missing"}))
    assert site.converge(**FLAGS) == []
    assert answers(site) == ("500", "500")
    assert ancestors(site, "q") == [("web", {
        "Accepted": ("False", "NoValidCACertificate"), "ResolvedRefs": ("False", "InvalidCACertificateRef")})]
    site.kube.delete("BackendTLSPolicy", "infra", "q")
    assert site.converge(**FLAGS) == []
    assert answers(site) == ("plain-10.1.9.2", "plain-10.1.9.2")


def test_a_policy_whose_config_map_is_not_read_yet_closes_the_service(site):
    """Its pod was asked in clear text until then; pods of a policy that was there before keep their TLS."""
    site.serve("plain", "10.1.9.1", namespace="infra")
    site.apply(http_route("r", rule(backend("tls", 8443)), rule(backend("plain"), paths=("/plain",))))
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": PODS.issuer},
                  "metadata": {"namespace": "infra", "name": "late"}}
    assert site.converge(**FLAGS) == []
    with ExitStack() as stack:
        running = site.run(**FLAGS)
        stack.callback(running.stop)
        site.apply(http_route("late", rule(backend("plain"), paths=("/late",))))
        running.wait(lambda: answers(site, "/late") == ("plain-10.1.9.1",) * 2)  # by this router
        site.kube.inject("503", times=None, method="GET", path="configmaps")
        site.apply(config_map, backend_policy("q", "plain", {**REF, "kind": "ConfigMap", "name": "late"}))
        running.wait(lambda: answers(site, "/plain") == ("500", "500"))
        assert answers(site) == ("tls-10.1.1.1",) * 2
        running.wait(lambda: [of["ResolvedRefs"] for _, of in ancestors(site, "q")] == [
            ("Unknown", "Pending")])


def test_entries_of_other_controllers_stay_and_ours_go_with_the_route(site):
    other = {"controllerName": "example.com/other", "ancestorRef": {"name": "theirs"}, "conditions": []}
    site.apply({**POLICY, "status": {"ancestors": [other]}})
    assert site.converge(**FLAGS) == []
    assert [name for name, _ in ancestors(site)] == ["theirs", "web"]
    site.kube.delete("HTTPRoute", "infra", "r")
    assert site.converge(**FLAGS) == []
    assert [name for name, _ in ancestors(site)] == ["theirs"]


def test_a_missing_right_changes_nothing(site):
    assert site.converge(**FLAGS) == []
    site.kube.forbid("backendtlspolicies")
    site.converge(**FLAGS)
    assert answers(site) == ("tls-10.1.1.1", "tls-10.1.1.1")


def test_a_router_that_ends_at_any_write(site):
    """From clear text to TLS: each request has an answer of the pod, or none."""
    site.kube.delete("BackendTLSPolicy", "infra", "p")
    site.apply(http_route("r", rule(backend("tls", 8443))))
    assert site.converge(**FLAGS) == []
    site.apply(POLICY)
    for _ in site.each_end(3, **FLAGS):
        assert set(answers(site)) <= {"tls-10.1.1.1", "0", "503", "500"}
        assert site.converge(**FLAGS) == []
        assert answers(site) == ("tls-10.1.1.1",) * 2
