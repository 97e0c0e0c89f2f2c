"""Wildcard Routes and certificates of Secrets that change under load: no request fails, none goes astray."""

import base64
import ssl

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic.conftest import PODS
from tests.traffic.load import KEPT, Load, Target
from tests.traffic.test_load import Drill
from tests.waiting import until

ALL, WWW = identity("*.apps.example.com", serial=9), identity("www.apps.example.com", serial=8)


def wildcard(name: str = "all", *, namespace: str = "shop", **fields) -> dict:
    manifest = manifests.route(name, namespace=namespace, host="any.apps.example.com", **fields)
    manifest["spec"]["wildcardPolicy"] = "Subdomain"
    return manifest


def exact(name: str = "www", *, namespace: str = "shop", **fields) -> dict:
    return manifests.route(name, namespace=namespace, host="www.apps.example.com", **fields)


def own(pair) -> dict[str, str]:
    return {"certificate": pair.certificate, "key": pair.key}


KINDS = {
    "plain": {"service": "web"}, "edge": {"kind": "edge", "service": "web", **own(ALL)},
    "passthrough": {"kind": "passthrough", "service": "tls"},
    "reencrypt": {"kind": "reencrypt", "service": "tls", "destinationCACertificate": PODS.issuer, **own(ALL)},
}


class Scene:
    """A router with wildcards, and load on two names of a subdomain."""

    def __init__(self, site, tell):
        self.site, self.tell = site, tell
        for namespace, octet in (("shop", 1), ("bank", 2)):
            site.serve("web", f"10.{octet}.1.1", namespace=namespace)
            site.serve("api", f"10.{octet}.2.1", namespace=namespace)
            site.serve("tls", f"10.{octet}.3.1", namespace=namespace, port=8443, tls=PODS)
        self.router = site.run(allow_wildcard_routes="true")

    def admitted(self, *routes: tuple[str, str]) -> None:
        until(lambda: all(self.site.admitted(*key).get("status") == "True" for key in routes))

    def target(self, host: str, *services: str, tls: bool = True, alone: bool = False) -> Target:
        return Target(host, self.site.https if tls else self.site.http, f"{host}.apps.example.com", tls=tls,
                      right=self.site.right(*services), alone=alone)

    def gone(self, name: str, namespace: str = "shop") -> None:
        """Delete a Route and wait until the BIG-IP has nothing of it."""
        self.site.kube.delete("Route", namespace, name)
        paths = [f"ltm/policy/~Common~openshift_{kind}_routes" for kind in ("insecure", "secure")]
        until(lambda: f"route_{namespace}_{name}'" not in str([self.site.bigip.get(path) for path in paths]))


@pytest.fixture
def scene(site, record_property):
    new_scene = Scene(site, record_property)
    yield new_scene
    new_scene.router.stop()


@pytest.mark.parametrize("kind", KINDS)
def test_an_exact_host_comes_and_goes(scene, kind):
    """Beside a wildcard of each kind: one of the two answers all the time, for the others only the wildcard.

    TLS that pods end and TLS that ends here do not change into each other on one connection: there each
    request has its own.
    """
    tls = kind != "plain"
    service = KINDS[kind]["service"]
    scene.site.apply(wildcard(**KINDS[kind]))
    scene.admitted(("shop", "all"))
    how = {"tls": tls, "alone": kind == "passthrough"}
    www, other = scene.target("www", service, "api", **how), scene.target("x", service, **how)
    fields = {"service": "api", **({"kind": "edge", **own(WWW)} if tls else {})}
    with Load(www, other, kept=1 if kind == "passthrough" else KEPT, device=scene.site.bigip) as load:
        drill = Drill(scene.site, load, scene.tell)
        drill.some()
        for _ in range(2):
            scene.site.apply(exact(**fields))
            scene.admitted(("shop", "www"))
            drill.some(8)  # connections that were passed through before
            www.right = scene.site.right("api")
            drill.some()
            www.right = scene.site.right(service, "api")
            scene.gone("www")
            drill.some()
        drill.end()


def test_a_wildcard_changes_its_kind(scene):
    """From edge to passthrough, re-encrypt and back, beside an exact host whose TLS ends on the BIG-IP."""
    scene.site.apply(wildcard(**KINDS["edge"]), exact(service="api", kind="edge", **own(WWW)))
    scene.admitted(("shop", "all"), ("shop", "www"))
    www, other = scene.target("www", "api", alone=True), scene.target("x", "web", "tls", alone=True)
    www.certificates = {ssl.PEM_cert_to_DER_cert(WWW.certificate)}
    with Load(www, other, device=scene.site.bigip) as load:
        drill = Drill(scene.site, load, scene.tell)
        drill.some()
        for kind in ("passthrough", "reencrypt", "passthrough", "edge"):
            with drill.written():
                scene.site.apply(wildcard(**KINDS[kind]))
            drill.some()
        drill.end()


@pytest.mark.parametrize("kind", ["plain", "edge", "passthrough"])
@pytest.mark.parametrize("heir", ["wildcard", "host"])
def test_a_subdomain_passes_to_another_namespace(scene, kind, heir):
    """The old owner is served until the Route of the new one is there, and none of it afterwards."""
    tls, service = kind != "plain", KINDS[kind]["service"]
    make = {"wildcard": wildcard, "host": exact}[heir]
    scene.site.apply(wildcard(created="2026-01-01T00:00:00Z", **KINDS[kind]))
    scene.admitted(("shop", "all"))
    scene.site.apply(make("heir", namespace="bank", created="2026-01-02T00:00:00Z", **KINDS[kind]))
    until(lambda: scene.site.admitted("bank", "heir").get("reason") == "HostAlreadyClaimed")
    www = scene.target("www", service, tls=tls, alone=kind == "passthrough")
    mine, theirs = (scene.site.right(service, namespace=namespace) for namespace in ("shop", "bank"))
    with Load(www, device=scene.site.bigip) as load:
        drill = Drill(scene.site, load, scene.tell)
        drill.some()
        www.right = lambda pod: mine(pod) or theirs(pod)
        scene.site.kube.delete("Route", "shop", "all")
        scene.admitted(("bank", "heir"))
        www.right = theirs
        drill.some()
        drill.end()


def secret(pair, name: str = "tls") -> dict:
    data = {"tls.crt": pair.certificate, "tls.key": pair.key}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "shop", "name": name},
            "type": "kubernetes.io/tls",
            "data": {key: base64.b64encode(text.encode()).decode() for key, text in data.items()}}


def test_the_certificate_of_a_secret_is_renewed(scene):
    """Old or new while it changes, then only the new one; no handshake fails, no old file stays."""
    pairs = [identity("x.apps.example.com", serial=serial, algorithm="ec") for serial in range(4)]
    der = [ssl.PEM_cert_to_DER_cert(pair.certificate) for pair in pairs]
    scene.site.apply(secret(pairs[0]), wildcard(
        kind="edge", service="web", externalCertificate={"name": "tls"}))
    scene.admitted(("shop", "all"))
    other = scene.target("x", "web")
    other.certificates = {der[0]}
    with Load(other, device=scene.site.bigip) as load:
        drill = Drill(scene.site, load, scene.tell)
        drill.some()
        for number, pair in enumerate(pairs[1:], 1):
            other.certificates = {der[number - 1], der[number]}
            scene.site.apply(secret(pair))
            until(lambda: {pair.certificate.strip()} == installed(scene.site))  # noqa: B023
            drill.some()
            other.certificates = {der[number]}
            drill.some()
        drill.end()


def installed(site) -> set[str]:
    """Return what is in our certificate files."""
    return {item.hidden["data"].decode().strip() for item in site.bigip.items("sys/file/ssl-cert")
            if "-https-cert-" in item.path}
