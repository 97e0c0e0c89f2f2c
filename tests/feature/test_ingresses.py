"""Ingresses between both fakes: served, with status and Events, and nothing left when they go."""

import base64

import pytest

from f5router.model.cluster import Key
from tests import manifests
from tests.builders import identity
from tests.waiting import until

SOURCES = "routes,ingress"
PAIR = identity("site.example.com", serial=41)


def tls_secret(name: str, pair) -> dict:
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"namespace": "shop", "name": name},
            "data": {f"tls.{name}": base64.b64encode(text.encode()).decode()
                     for name, text in (("crt", pair.certificate), ("key", pair.key))}}


def entries(lab, name: str = "site") -> list:
    status = lab.kube.get("Ingress", "shop", name).get("status") or {}
    return (status.get("loadBalancer") or {}).get("ingress") or []


def events(lab) -> set[tuple[str, str, str]]:
    return {(event["involvedObject"]["kind"], event["involvedObject"]["name"], event["reason"])
            for event in lab.kube.list("Event")}


@pytest.fixture
def site(lab):
    lab.apply(manifests.ingress_class(), *manifests.service("shop", "web", pods=("10.1.1.1",)))
    return lab


@pytest.mark.parametrize(("flags", "entry"), [
    pytest.param({"router_canonical_hostname": "router.example.com"}, {"hostname": "router.example.com"},
                 id="canonical name"),
    pytest.param({}, None, id="address of the virtual servers"),
])
def test_status(site, flags, entry):
    """Written while any path is served; Events name the parts that are not."""
    site.apply(manifests.ingress("site", ("site.example.com", "/", "web", 8080),
                                 ("site.example.com", "/none", "none", 80)),
               manifests.ingress("foreign", ("x.example.com", "/", "web", 8080), ingress_class="other"))
    router = site.router(sources=SOURCES, **flags)
    assert site.converge(router) == []
    address = router.device.facts.http.address
    assert address
    assert entries(site) == [entry or {"ip": address}]
    assert entries(site, "foreign") == []
    assert events(site) == {("Ingress", "site", "ServiceNotFound")}
    site.apply(*manifests.service("shop", "none", ports=(("http", 80),)))
    until(lambda: router.reconcile_once() and len(
        [key for key in router.reconciler.engine.routes() if key.name.startswith("-i-")]) == 2)
    assert router.cluster.objects("Ingress").condition(Key("shop", "site")) == ()
    for name in ("none", "web"):
        site.kube.delete("Service", "shop", name)
    until(lambda: router.reconcile_once() and not entries(site), "the entry stays")
    assert router.reconciler.engine.rejection(next(iter(router.reconciler.engine.routes())))


def test_a_status_that_a_router_left(site):
    """An Ingress that is served no more loses this router's entry, and keeps those of others."""
    site.apply(manifests.ingress("site", ("site.example.com", "/", "none", 80)),
               manifests.ingress("other", ("other.example.com", "/", "none", 80)))
    for name, hostname in (("site", "router.example.com"), ("other", "theirs.example.com")):
        ingress = site.kube.get("Ingress", "shop", name)
        site.apply(ingress | {"status": {"loadBalancer": {"ingress": [{"hostname": hostname}]}}})
    site.converge(sources=SOURCES, router_canonical_hostname="router.example.com")
    assert (entries(site), entries(site, "other")) == ([], [{"hostname": "theirs.example.com"}])


def test_a_secret_decides(site):
    """Without its Secret a host is not served at all, never in clear text; a new one is installed at once."""
    site.apply(manifests.ingress("site", ("site.example.com", "/", "web", 8080),
                                 tls=((("site.example.com",), "pair"),)))
    router = site.router(sources=SOURCES, allow_external_certificates="false")
    site.converge(router)
    assert entries(site) == []
    assert {event["message"] for event in site.kube.list("Event")} == {
        "spec.tls[0].secretName: Secret 'pair' not found"}
    assert not [item for item in site.bigip.items("ltm/policy/rules") if "-i-" in item.name]
    site.apply(tls_secret("pair", PAIR))

    def installed(pair) -> bool:
        router.reconcile_once()
        return any(pair.certificate.strip() in site.content(path) for path in site.paths("sys/file/ssl-cert")
                   if "openshift" in path)

    until(lambda: installed(PAIR), "the certificate is not installed")
    until(lambda: router.reconcile_once() and entries(site))
    other = identity("site.example.com", serial=42)
    site.apply(tls_secret("pair", other))
    until(lambda: installed(other), "the new certificate is not installed")


NGINX = "nginx.ingress.kubernetes.io/"


def messages(lab, reason: str) -> list[str]:
    return [event["message"] for event in lab.kube.list("Event") if event["reason"] == reason]


def test_an_edit_that_asks_for_a_protection_withdraws_an_ingress(site):
    """Its Event names the annotation. Without the annotation it is served again."""
    paths = ("site.example.com", "/", "web", 8080)
    site.apply(manifests.ingress("site", paths, annotations={
        f"{NGINX}whitelist-source-range": "192.0.2.0/24"}))
    router = site.router(sources=SOURCES)
    assert site.converge(router) == []
    (translated,) = messages(site, "AnnotationTranslated")
    assert f"{NGINX}whitelist-source-range" in translated
    assert entries(site)
    site.apply(manifests.ingress("site", paths, annotations={
        f"{NGINX}auth-url": "https://auth.example.com", f"{NGINX}proxy-body-size": "8m"}))
    until(lambda: router.reconcile_once() and not entries(site))
    until(lambda: router.reconcile_once() and messages(site, "RouteNotAdmitted"))
    (refused,) = messages(site, "RouteNotAdmitted")
    assert f"{NGINX}auth-url" in refused
    assert [f"{NGINX}proxy-body-size" in text for text in messages(site, "UnsupportedAnnotation")] == [True]
    site.apply(manifests.ingress("site", paths))
    until(lambda: router.reconcile_once() and entries(site))


def test_a_path_that_stays_open_though_its_ingress_asks_for_a_protection(site):
    """The BIG-IP refuses what keeps its requests from a less specific Ingress: the Event says so."""
    site.apply(manifests.ingress("root", ("site.example.com", "/", "web", 8080)))
    router = site.router(sources=SOURCES)
    assert site.converge(router) == []
    site.bigip.inject("refuse", times=None, method="POST", path="/rules$", status=400,
                      message="01070734:3: Configuration error: no")
    site.apply(manifests.ingress("site", ("site.example.com", "/admin", "web", 8080), annotations={
        f"{NGINX}auth-url": "https://auth.example.com"}))
    until(lambda: router.reconcile_once() and any(
        "others may get its requests" in text for text in messages(site, "RouteNotAdmitted")))
    assert all(f"{NGINX}auth-url" in text for text in messages(site, "RouteNotAdmitted"))
    assert "Configuration error: no" in messages(site, "RouteNotAdmitted")[-1]
    site.bigip.clear_faults()
    site.later()
    until(lambda: router.reconcile_once() and any(
        item.name.endswith(".site") for item in site.bigip.items("ltm/policy/rules")))


def test_annotations_that_the_administrator_lets_be_ignored(site):
    """The Ingress is served, and one Event names all of them."""
    site.apply(manifests.ingress("site", ("site.example.com", "/", "web", 8080), annotations={
        f"{NGINX}auth-url": "https://auth.example.com", f"{NGINX}enable-modsecurity": "true"}))
    router = site.router(sources=SOURCES, ignore_annotations=f"{NGINX}*")
    assert site.converge(router) == []
    assert entries(site)
    (text,) = messages(site, "UnsupportedAnnotation")
    assert f"{NGINX}auth-url" in text
    assert f"{NGINX}enable-modsecurity" in text
    assert "ignored" in text
