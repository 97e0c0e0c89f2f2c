"""TLSRoutes beside other routes: whose pod speaks TLS with a client, and what rejects the connection."""

import base64

from tests import manifests
from tests.builders import identity
from tests.gateways import (
    PASSTHROUGH,
    backend,
    conditions,
    gateway,
    gateway_class,
    http_route,
    listener,
    parent,
    rule,
    tls_route,
)
from tests.rows import rows
from tests.traffic import clients
from tests.traffic.conftest import PODS

FLAGS = {"f5_vserver_address": "203.0.113.10", "sources": "routes,gateway"}
OWN = identity("own.example.com")
SECRET = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
          "metadata": {"namespace": "infra", "name": "own"},
          "data": {"tls.crt": base64.b64encode(OWN.certificate.encode()).decode(),
                   "tls.key": base64.b64encode(OWN.key.encode()).decode()}}
HOST = "db.example.com"
TLS = listener("tls", **PASSTHROUGH, hostname=HOST)
OBJECTS = (gateway_class(), gateway("web", TLS))
ROUTE = tls_route("r", backend("tls", 8443), hostnames=(HOST,))


def site_with(site_of, *objects: dict, **options):
    options.setdefault("gateway_api", "v1.6")
    site = site_of(address="", **options)
    site.serve("tls", "10.1.1.1", namespace="infra", port=8443, tls=PODS)
    site.serve("tls", "10.1.2.1", port=8443, tls=PODS)
    site.serve("web", "10.1.3.1", namespace="infra")
    site.apply(*objects)
    return site


def pod(site, host: str = HOST) -> str:
    """Namespace of the pod that ends TLS, or why there is none."""
    seen = clients.python(site.https, host)
    if seen.certificate and seen.certificate != "pods.example.com":
        return seen.certificate
    return seen.pod["namespace"] if seen.status == 200 else "reset"


def accepted(site, name: str = "r", namespace: str = "infra") -> tuple[str, str]:
    obj = site.kube.get("TLSRoute", namespace, name) or {}
    parents = (obj.get("status") or {}).get("parents", ())
    return conditions(parents[0]["conditions"])["Accepted"] if parents else ("", "")


@rows("version", ["11.6.0", "14.1.2", "17.1.0"])
def test_its_connections_come_to_its_pods(site_of, version):
    """Until it is there they are reset; what goes is served no longer."""
    site = site_with(site_of, *OBJECTS, tmos_version=version)
    assert site.converge(**FLAGS) == []
    assert pod(site) == "reset"
    site.apply(ROUTE)
    assert site.converge(**FLAGS) == []
    assert (pod(site), accepted(site)) == ("infra", ("True", "Accepted"))
    site.kube.delete("TLSRoute", "infra", "r")
    assert site.converge(**FLAGS) == []
    assert pod(site) == "reset"


def test_a_listener_beside_it_ends_tls_for_its_own_host(site_of):
    https = listener("https", 443, "HTTPS", hostname="own.example.com", secret="own")
    site = site_with(site_of, SECRET, gateway_class(), gateway("web", TLS, https), ROUTE, http_route(
        "r", rule(backend("web")), parents=(parent("web", sectionName="https"),)))
    assert site.converge(**FLAGS) == []
    assert pod(site) == "infra"
    seen = clients.python(site.https, "own.example.com")
    assert (seen.pod["pod"], seen.certificate) == ("web-10.1.3.1", "own.example.com")


@rows(("created", "holder", "reason"), [
    ("2020-01-01T00:00:00Z", "shop", "HostAlreadyClaimed"), ("2030-01-01T00:00:00Z", "infra", "Accepted")])
def test_the_older_one_has_the_host(site_of, created, holder, reason):
    """A Route of another namespace, that passes TLS through as well."""
    site = site_with(site_of, *OBJECTS, ROUTE, manifests.route(
        "r", host=HOST, service="tls", kind="passthrough", created=created))
    assert site.converge(**FLAGS) == []
    assert (pod(site), accepted(site)[1]) == (holder, reason)


@rows("release", ["v1.3", "v1.4"])
def test_older_versions_are_read_and_have_a_status(site_of, release):
    version = {"v1.3": "v1alpha2", "v1.4": "v1alpha3"}[release]
    site = site_with(site_of, *OBJECTS, {**ROUTE, "apiVersion": f"gateway.networking.k8s.io/{version}"},
                     gateway_api=release)
    assert site.converge(**FLAGS) == []
    assert (pod(site), accepted(site)) == ("infra", ("True", "Accepted"))


def test_a_missing_right_changes_nothing(site_of):
    site = site_with(site_of, *OBJECTS, ROUTE)
    assert site.converge(**FLAGS) == []
    site.kube.forbid("tlsroutes")
    site.apply(tls_route("later", backend("tls", 8443), hostnames=("later.example.com",)))
    site.converge(**FLAGS)
    assert pod(site) == "infra"
    site.kube.allow("tlsroutes")
    assert site.converge(**FLAGS) == []
    assert pod(site) == "infra"


def test_a_router_that_ends_at_any_write(site_of):
    """The next one goes on; nobody else gets a connection meanwhile."""
    site = site_with(site_of, *OBJECTS)
    assert site.converge(**FLAGS) == []
    site.apply(ROUTE)
    for _ in site.each_end(3, **FLAGS):
        assert pod(site) in ("reset", "infra")
        assert site.converge(**FLAGS) == []
        assert pod(site) == "infra"


@rows("back", [False, True])
def test_a_host_that_changes_between_pods_and_the_big_ip(site_of, back):
    """After each write a client gets what it was or what it will be: never another certificate, or pod."""
    https = listener("https", 443, "HTTPS", hostname=HOST, secret="own")
    requests = http_route("r", rule(backend("web")), parents=(parent("web", sectionName="https"),))
    before, after = gateway("web", TLS), gateway("web", https)
    site = site_with(site_of, SECRET, gateway_class(), *((after,) if back else (before,)), ROUTE, requests)
    assert site.converge(**FLAGS) == []
    site.apply(before if back else after)
    for _ in site.each_end(3, **FLAGS):
        seen = clients.python(site.https, HOST)
        assert seen.pod.get("pod") in (None, "web-10.1.3.1", "tls-10.1.1.1")
        assert seen.status in (200, 0, 503)
        assert site.converge(**FLAGS) == []
        seen = clients.python(site.https, HOST)
        assert (seen.certificate, seen.pod["pod"]) == (
            ("pods.example.com", "tls-10.1.1.1") if back else ("own.example.com", "web-10.1.3.1"))


def test_a_gateway_of_its_own_has_its_own_names(site_of):
    """The same name on two Gateways, each with a listener for TLS that pods end, on a port of its own."""
    site = site_with(site_of, gateway_class())
    for number, name in enumerate(("one", "two"), start=1):
        site.serve(name, f"10.1.{number + 6}.1", namespace="infra", port=8443, tls=PODS)
        site.apply(gateway(name, listener("tls", **{**PASSTHROUGH, "port": 8443}, hostname=HOST)), tls_route(
            name, backend(name, 8443), hostnames=(HOST,), parents=(parent(name),)))
    assert site.converge(**FLAGS, gateway_addresses="10.9.0.0/28") == []
    assert [accepted(site, name) for name in ("one", "two")] == [("True", "Accepted")] * 2
    for name in ("one", "two"):
        seen = clients.python(site.bigip.endpoint(f"/Common/openshift_https__infra.{name}.8443"), HOST)
        assert seen.pod["pod"].startswith(f"{name}-")
