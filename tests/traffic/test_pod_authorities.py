"""Pods that Ingresses and IngressRoutes have verified by authorities in a Secret.

Sources: openshift/route-controller-manager, pkg/route/ingress/ingress.go: destinationCACertificateForIngress;
projectcontour/contour v1.5.1, internal/dag/builder.go: lookupUpstreamValidation.
"""

from base64 import b64encode
from collections import Counter
from contextlib import ExitStack

import pytest

from tests.builders import Identity, identity
from tests.manifests import delegate, forward, ingress, ingress_class, ingress_route, service
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.test_unavailable import is_page
from tests.waiting import until

SOURCES = {"sources": "ingress,ingressroutes"}
FRONT = identity("*.example.com")
PODS = {  # Service: certificate of its pod
    "web": identity("web.pods", ca="Our CA"), "canary": identity("canary.pods", ca="Our CA"),
    "stranger": identity("web.pods", ca="Their CA"),
}
OURS, THEIRS = PODS["web"].issuer, PODS["stranger"].issuer
ANNOTATION = "route.openshift.io/destination-ca-certificate-secret"

INGRESSES = {  # host: Service, Secret, who answers: "" for nobody, "page" if it is not served
    "opaque": ("web", "ca", {"web"}), "pair": ("web", "ca-pair", {"web"}), "other": ("stranger", "ca", {""}),
    "missing": ("web", "none", "Secret not found"), "key": ("web", "no-key", 'empty "tls.crt" key'),
    "text": ("web", "no-pem", "tls.crt: it is not PEM"), "type": ("web", "basic", "Secret type is "),
}
ROUTES = {  # host: Secret and expected name of each Service, who answers
    "named": ({"web": ("ca", "web.pods")}, {"web"}), "misnamed": ({"web": ("ca", "canary.pods")}, {""}),
    "signed": ({"stranger": ("ca", "web.pods")}, {""}),
    "both": ({"web": ("ca", "web.pods"), "canary": ("ca", "canary.pods")}, {"web", "canary"}),
    "swapped": ({"web": ("ca", "canary.pods"), "canary": ("ca", "canary.pods")}, {"", "canary"}),
    "absent": ({"web": ("none", "web.pods")}, 'invalid CA Secret "shop/none": Secret not found'),
    "unnamed": ({"web": ("ca", "")}, "missing subject alternative name"),
    "keyless": ({"web": ("no-key", "web.pods")}, 'empty "ca.crt" key'),
}


def secret(name: str, kind: str = "Opaque", **data: str) -> dict:
    """A Secret. Args: data: with underscores in place of dots."""
    return {"apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": {"namespace": "shop", "name": name},
            "data": {key.replace("_", "."): b64encode(text.encode()).decode() for key, text in data.items()}}


def authorities(pem: str) -> dict:
    return secret("ca", tls_crt=pem, ca_crt=pem)


def pair(name: str, front: Identity, **data: str) -> dict:
    return secret(name, "kubernetes.io/tls", **{"tls_crt": front.certificate, "tls_key": front.key, **data})


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ExitStack() as stack:
        site = Site(stack, tmp_path_factory.mktemp("site"))
        for number, (name, identity_of_pod) in enumerate(PODS.items(), 1):
            site.serve(name, f"10.1.1.{number}", port=8443, tls=identity_of_pod)
            with_tls, _ = service("shop", name, ports=(("https", 8443),))
            with_tls["metadata"]["annotations"] = {"contour.heptio.com/upstream-protocol.tls": "8443"}
            site.apply(with_tls)
        site.apply(
            ingress_class(), authorities(OURS), pair("front", FRONT), pair("ca-pair", FRONT, tls_crt=OURS),
            secret("no-key", other=OURS), secret("no-pem", tls_crt="no"),
            secret("basic", "kubernetes.io/basic-auth", username="a", password="b", tls_crt=OURS))
        for host, (name, ca, _) in INGRESSES.items():
            site.apply(ingress(host, (f"{host}.example.com", "/", name, 8443),
                               ("plain.example.com", f"/{host}", name, 8443),
                               tls=(((f"{host}.example.com",), "front"),),
                               annotations={"route.openshift.io/termination": "reencrypt", ANNOTATION: ca}))
        for host, (services, _) in ROUTES.items():
            entries = [{"name": name, "port": 8443, "validation": {"caSecret": ca, "subjectName": subject}}
                       for name, (ca, subject) in services.items()]
            plain = forward("/plain", {"name": "web", "port": 8443})
            site.apply(ingress_route(host, forward("/", *entries), plain, fqdn=f"{host}.example.com",
                                     tls={"secretName": "front"}),
                       ingress_route(f"clear-{host}", forward("/", *entries), plain,
                                     fqdn=f"clear-{host}.example.com"))
        bad = {"name": "web", "port": 8443, "validation": {"caSecret": "none", "subjectName": "web.pods"}}
        site.apply(
            ingress_route("above", forward("/x", {"name": "web", "port": 8443}), delegate("/v", "below"),
                          fqdn="above.example.com", tls={"secretName": "front"}),
            ingress_route("below", forward("/v", bad)))
        assert site.converge(**SOURCES) == []
        yield site
        assert site.faults() == []


def ask(site: Site, host: str, requests: int = 4) -> Counter:
    """Which Services answer; "" for no answer. On port 80 for the hosts of roots without TLS."""
    request, port = ((clients.plain, site.http) if host.startswith("clear-") else
                     (clients.python, site.https))
    seen = [request(port, f"{host}.example.com") for _ in range(requests)]
    return Counter("page" if is_page(each) else each.pod.get("pod", "").rpartition("-")[0] for each in seen)


@pytest.mark.parametrize(("host", "expected"), [
    *((host, row[2]) for host, row in INGRESSES.items()), *((host, row[1]) for host, row in ROUTES.items()),
    *((f"clear-{host}", row[1]) for host, row in ROUTES.items())])
def test_who_answers(site, host, expected):
    """Requests get to verified pods alone; what cannot be verified is not served, with the reason."""
    assert set(ask(site, host)) == (expected if isinstance(expected, set) else {"page"})
    if isinstance(expected, set):
        return
    if host.removeprefix("clear-") in ROUTES:
        status = site.kube.get("IngressRoute", "shop", host)["status"]
        assert status["currentStatus"] == "invalid"
        message = status["description"]
    else:
        [message] = {event["message"] for event in site.kube.list("Event")
                     if event["involvedObject"]["name"] == host}
        assert f"{ANNOTATION} '{INGRESSES[host][1]}': " in message
    assert expected in message


@pytest.mark.parametrize(("host", "status"), [("absent", 200), ("keyless", 200), ("unnamed", 503)])
def test_the_other_routes_of_an_object(site, host, status):
    """A Secret that cannot be used takes away the routes that name it; an error of the object takes all."""
    assert clients.python(site.https, f"{host}.example.com", "/plain").status == status
    assert clients.plain(site.http, f"clear-{host}.example.com", "/plain").status == status
    assert not clients.python(site.https, f"clear-{host}.example.com", "/plain").pod


def test_a_vertex_whose_pods_cannot_be_verified(site):
    """The root is valid, and serves its own routes."""
    assert [site.kube.get("IngressRoute", "shop", name)["status"]["currentStatus"]
            for name in ("above", "below")] == ["valid", "invalid"]
    asked = [clients.python(site.https, "above.example.com", path) for path in ("/x", "/v")]
    assert [reply.status for reply in asked] == [200, 503]


def test_renewed_authorities(site):
    """They are in use without a restart: a file and the profiles change, no pool, Rule or record."""
    router = site.router(**SOURCES)
    assert site.converge(router) == []
    site.clear()
    site.apply(authorities(THEIRS))
    until(lambda: router.reconcile_once() and set(ask(site, "signed", 1)) == {"stranger"})
    assert set(ask(site, "opaque")) == set(ask(site, "both")) == {""}
    changed = Counter((method, path.removeprefix("/mgmt/tm/").partition("/~")[0])
                      for method, path in site.writes() if path.startswith(("/mgmt/tm/ltm", "/mgmt/tm/sys")))
    assert changed == {("POST", "sys/file/ssl-cert"): 1, ("PATCH", "ltm/profile/server-ssl"): 3}
    site.apply(authorities("bad"))
    until(lambda: router.reconcile_once() and set(ask(site, "both", 1)) == {"page"})
    site.apply(authorities(OURS))
    until(lambda: router.reconcile_once() and set(ask(site, "both")) == {"web", "canary"})
    router.close()
