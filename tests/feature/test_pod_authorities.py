"""Authorities for pods in a Secret: whatever becomes of it, no write leads requests to unverified pods."""

import base64
from dataclasses import replace

import pytest

from f5router.kube.settings import SecretPace
from f5router.model.limits import Backoff
from mocks.bigip.traffic import Request, decide
from tests import manifests
from tests.builders import identity
from tests.feature.conftest import HTTP, HTTPS
from tests.waiting import until

SOURCES = "ingress,ingressroutes"
FRONT = identity("*.example.com")
OURS, THEIRS = (identity("pod", ca=name).issuer for name in ("Our CA", "Their CA"))
CA = "route.openshift.io/destination-ca-certificate-secret"
TERMINATION = "route.openshift.io/termination"
AT_ONCE = Backoff(0.01, 0.1)


def secret(name: str, kind: str = "Opaque", **data: str) -> dict:
    """A Secret. Args: data: with underscores in place of dots."""
    return {"apiVersion": "v1", "kind": "Secret", "type": kind,
            "metadata": {"namespace": "shop", "name": name},
            "data": {key.replace("_", "."): base64.b64encode(text.encode()).decode()
                     for key, text in data.items()}}


def authorities(pem: str, name: str = "ca") -> dict:
    return secret(name, tls_crt=pem, ca_crt=pem)


def site(ca: str = "ca", **annotations: str) -> dict:
    return manifests.ingress(
        "site", ("site.example.com", "/", "web", 8080), tls=((("site.example.com",), "front"),),
        annotations={TERMINATION: "reencrypt", CA: ca, **annotations})


def graph(ca: str = "ca", subject: str = "web.pods", *, weight: int = 1) -> dict:
    """A root with a route to two Services; port 80 serves it, too."""
    services = [{"name": name, "port": 8080, "weight": share, "validation": {
        "caSecret": ca, "subjectName": named}}
        for name, share, named in (("web", weight, subject), ("canary", 1, "canary.pods"))]
    return manifests.ingress_route(
        "graph", manifests.forward("/", *services, permitInsecure=True), fqdn="graph.example.com",
        tls={"secretName": "front"})


PROBES = [("site.example.com", True), ("graph.example.com", True), ("graph.example.com", False)]


class Watched:
    """Looks at who verifies the pods after each write."""

    def __init__(self, lab):
        self.lab, self.bad = lab, []

    def look(self, entry) -> None:
        for host, tls in PROBES:
            answer = self.ask(host, tls=tls)
            if answer.kind == "pool" and answer.members and not self.authority(answer):
                self.bad.append((entry.method, entry.path, host, tls, answer))

    def ask(self, host: str, *, tls: bool = True):
        virtual = f"/Common/{HTTPS if tls else HTTP}"
        return decide(self.lab.bigip.store, virtual, Request(host, "/", sni=host if tls else None, tls=tls))

    def authority(self, answer) -> str:
        """The authorities that verify the pods; "" if nothing does."""
        paths = self.profiles(answer)
        texts = set()
        for path in paths:
            profile = next((item for item in self.lab.bigip.items("ltm/profile/server-ssl")
                            if item.path == path), None)
            if profile is None or profile.fields.get("peerCertMode") != "require":
                return ""
            texts.add(self.lab.content(profile.fields["caFile"]))
        if not texts or not texts <= {OURS, THEIRS}:
            return ""
        return texts.pop() if len(texts) == 1 else "both"  # the profiles are written one after another

    def profiles(self, answer) -> list[str]:
        group = next(item for item in self.lab.bigip.items("ltm/data-group/internal")
                     if item.path.endswith("ssl_reencrypt_serverssl_dg")).fields["records"]
        data = group.get(answer.pool)
        if data and data.startswith("/"):
            return [data]
        return [text for name, text in group.items() if name.startswith(f"{answer.pool}/")]

    def served(self) -> list[str]:
        return [self.authority(answer) if (answer := self.ask(host, tls=tls)).kind == "pool" else ""
                for host, tls in PROBES]


@pytest.fixture
def shop(lab):
    pace = SecretPace(again_per_s=500, refresh_s=0.1, hasten_s=0.0, absent=AT_ONCE, failed=AT_ONCE,
                      start_s=0.2)
    lab.timing = replace(lab.timing, secret_pace=pace)
    for name, address in (("web", "10.1.1.1"), ("canary", "10.1.1.2")):
        service, *rest = manifests.service("shop", name, pods=(address,))
        service["metadata"]["annotations"] = {"contour.heptio.com/upstream-protocol.tls": "8080"}
        lab.apply(service, *rest)
    lab.apply(manifests.ingress_class(), secret("front", "kubernetes.io/tls", tls_crt=FRONT.certificate,
                                                tls_key=FRONT.key),
              authorities(OURS), authorities(THEIRS, "other"), site(), graph())
    watched = Watched(lab)
    lab.bigip.on_write = watched.look
    yield watched
    lab.bigip.on_write = None
    assert lab.bigip.errors == []


def test_each_state_of_the_secrets(shop):
    """Renewed, spoilt, gone, of another type, and another one that cannot be read yet."""
    lab = shop.lab
    router = lab.router(sources=SOURCES)
    assert lab.converge(router) == []

    def becomes(text: str) -> None:
        until(lambda: router.reconcile_once() and shop.served() == [text] * len(PROBES), repr(text[-40:]))

    becomes(OURS)
    for obj in (authorities("garbage"), secret("ca", "kubernetes.io/basic-auth", tls_crt=OURS), None,
                secret("ca", other=OURS)):
        lab.apply(authorities(THEIRS))
        becomes(THEIRS)
        if obj is None:
            lab.kube.delete("Secret", "shop", "ca")
        else:
            lab.apply(obj)
        becomes("")
    lab.apply(authorities(OURS))
    becomes(OURS)
    for obj in (graph("other"), graph("other", "canary.pods"), graph("other", weight=0), site("other")):
        lab.apply(obj)
        router.reconcile_once()
    becomes(THEIRS)
    lab.kube.inject("503", method="list", path="secrets", times=None)
    for edited in (site("ca"), graph("ca")):
        lab.apply(edited)
        until(lambda: router.reconcile_once() and len(router.reconciler.retention.unread()) > 0)
    assert shop.served() == [THEIRS] * len(PROBES)
    lab.kube.clear_faults()
    becomes(OURS)
    router.close()
    assert shop.bad == []


def test_a_restart_while_they_cannot_be_read(shop):
    """Nothing is written but the addresses of pods; then what was renewed meanwhile is in use."""
    lab = shop.lab
    assert lab.converge(sources=SOURCES) == []
    lab.clear()
    lab.kube.inject("503", method="list", path="secrets", times=None)
    lab.apply(authorities(THEIRS), *manifests.service("shop", "canary", pods=("10.1.1.9",))[1:])
    router = lab.router(sources=SOURCES)
    lab.converge(router)
    assert shop.served() == [OURS] * len(PROBES)
    assert not [path for _, path in lab.writes() if "/ltm/pool/" not in path and "/ltm/node/" not in path]
    assert shop.ask("graph.example.com").members == ("10.1.1.1:8080", "10.1.1.9:8080")
    lab.kube.clear_faults()
    until(lambda: router.reconcile_once() and shop.served() == [THEIRS] * len(PROBES))
    assert shop.bad == []
