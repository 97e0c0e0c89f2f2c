"""Moves to the Gateway API: Routes of the same host, cert-manager, external-dns.

Sources: cert-manager.io, "Annotated Gateway resource"; kubernetes-sigs/external-dns,
docs/sources/gateway.md. What ingress2gateway writes is in test_ingress2gateway.py.
"""

import base64
from collections.abc import Iterator

import pytest

from tests import manifests
from tests.builders import Identity, identity
from tests.gateways import (
    EVERYWHERE,
    backend,
    conditions,
    gateway,
    gateway_class,
    http_route,
    listener,
    parent,
    rule,
)
from tests.rows import rows
from tests.traffic import clients
from tests.traffic.test_gateways import FLAGS, SECRET, accepted, programmed, running

ADDRESS = FLAGS["f5_vserver_address"]
OLD, MIDDLE, NEW = (f"202{year}-01-01T00:00:00Z" for year in (0, 3, 6))
SHOP = identity("shop.example.com")


def tls_secret(pair: Identity, name: str) -> dict:
    texts = {"tls.crt": pair.certificate, "tls.key": pair.key}
    return {**SECRET, "metadata": {"namespace": "infra", "name": name}, "data": {
        key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}}


def site_with(site_of, *objects: dict):
    site = site_of(address="", gateway_api="v1.6")
    for number, name in enumerate(("web", "canary"), 1):
        site.serve(name, f"10.1.{number}.1", namespace="infra")
    site.serve("web", "10.1.9.1")
    site.apply(*objects)
    return site


# --- Routes beside HTTPRoutes ------------------------------------------------------------


def admitted(site, namespace: str) -> tuple[str, str]:
    entries = ((site.kube.get("Route", namespace, "r") or {}).get("status") or {}).get("ingress", ())
    told = entries[0]["conditions"][0] if entries else {}
    return told.get("status", ""), told.get("reason", "")


TAKEN, SERVED = ("False", "HostAlreadyClaimed"), ("True", "")


@rows(("namespace", "route", "http_route_", "hostname", "winners"), [
    ("shop", OLD, NEW, "", ("web",)), ("shop", OLD, NEW, "www.example.com", ("web",)),
    ("shop", NEW, OLD, "", ("canary",)), ("shop", NEW, OLD, "www.example.com", ("canary",)),
    ("shop", MIDDLE, MIDDLE, "", ("web", "canary")), ("infra", OLD, NEW, "", ("web",)),
    ("shop", MIDDLE, MIDDLE, "www.example.com", ("web", "canary")), ("infra", NEW, OLD, "", ("canary",)),
    ("infra", MIDDLE, MIDDLE, "www.example.com", ("web", "canary"))])
def test_one_host_of_two_kinds(site_of, namespace, route, http_route_, hostname, winners):
    """The older one has it, and both statuses say so; of one age, each start decides alike, by their UIDs."""
    site = site_with(
        site_of, gateway_class(), gateway("web", listener(hostname=hostname), created=MIDDLE),
        manifests.route("r", host="www.example.com", namespace=namespace, service="web", created=route),
        http_route("h", rule(backend("canary")), hostnames=("www.example.com",), created=http_route_))
    for _ in range(2):
        assert site.converge(**FLAGS) == []
        winner = clients.plain(site.http, "www.example.com", "/").pod["pod"].partition("-")[0]
        assert winner in winners
        assert (admitted(site, namespace), accepted(site, "h")) == (
            (SERVED, TAKEN) if winner == "web" else (TAKEN, ("True", "Accepted")))
        winners = (winner,)


def test_paths_of_both_kinds_in_one_namespace(site_of):
    """A Route keeps its path while an HTTPRoute takes the others, so a team can move path by path."""
    site = site_with(
        site_of, gateway_class(), gateway("web", listener(), created=MIDDLE),
        manifests.route("r", host="www.example.com", path="/old", namespace="infra", created=OLD),
        http_route("h", rule(backend("canary"), paths=("/new",)), hostnames=("www.example.com",),
                   created=NEW))
    assert site.converge(**FLAGS) == []
    answers = {path: clients.plain(site.http, "www.example.com", path) for path in ("/old", "/new", "/other")}
    assert answers["/old"].pod["pod"].startswith("web")
    assert answers["/new"].pod["pod"].startswith("canary")
    assert answers["/other"].status == 404


# --- cert-manager ------------------------------------------------------------------------


def test_cert_manager_makes_the_secret_of_a_gateway(site_of):
    """It needs a hostname, mode Terminate and a reference; the listener waits for the Secret, then serves."""
    web = gateway("web", listener("tls", 443, "HTTPS", hostname="shop.example.com", secret="shop-tls"))
    web["metadata"]["annotations"] = {"cert-manager.io/cluster-issuer": "letsencrypt"}
    site = site_with(site_of, gateway_class(), web, http_route("app", rule(backend("web"))))
    assert site.converge(**FLAGS) == []
    assert programmed(site)[0] == "False"
    with running(site) as router:
        site.apply(tls_secret(SHOP, "shop-tls"))
        router.wait(lambda: programmed(site) == ("True", "Programmed"))
        assert clients.python(site.https, "shop.example.com").certificate == "shop.example.com"


def test_the_challenge_of_an_acme_issuer(site_of):
    """cert-manager makes an HTTPRoute for one path, which comes before the team's, and deletes it."""
    token = "/.well-known/acme-challenge/token"
    site = site_with(
        site_of, gateway_class(), gateway("web", listener(namespaces=EVERYWHERE)),
        http_route("app", rule(backend("web"), paths=("/",)), hostnames=("shop.example.com",)),
        http_route("cm-acme-http-solver", rule(backend("canary", weight=1), exact=(token,)),
                   hostnames=("shop.example.com",), created=NEW))
    assert site.converge(**FLAGS) == []
    assert clients.plain(site.http, "shop.example.com", token).pod["pod"].startswith("canary")
    assert clients.plain(site.http, "shop.example.com", "/").pod["pod"].startswith("web")
    site.kube.delete("HTTPRoute", "infra", "cm-acme-http-solver")
    assert site.converge(**FLAGS) == []
    assert clients.plain(site.http, "shop.example.com", token).pod["pod"].startswith("web")


# --- external-dns ------------------------------------------------------------------------


def names_of(site) -> Iterator[tuple[str, str]]:
    """DNS records as external-dns makes them: of each accepted parent, hostnames and status.addresses."""
    for route in site.kube.list("HTTPRoute"):
        for entry in (route.get("status") or {}).get("parents", ()):
            ref, told = entry["parentRef"], conditions(entry["conditions"])
            if told["Accepted"][0] != "True" or (ref["group"], ref["kind"]) != (
                    "gateway.networking.k8s.io", "Gateway"):
                continue
            of = site.kube.get("Gateway", ref.get("namespace", "infra"), ref["name"])
            sections = [each for each in of["spec"]["listeners"]
                        if ref.get("sectionName", each["name"]) == each["name"]]
            for each in sections:
                hosts = route["spec"].get("hostnames") or [each["hostname"]]
                for host in hosts:
                    if each.get("hostname", host) == host:
                        yield from ((host, address["value"]) for address in of["status"]["addresses"])


def test_external_dns_finds_names_and_addresses(site_of):
    """An HTTPRoute that is refused, and a host that no listener has, get no record."""
    site = site_with(
        site_of, gateway_class(), gateway(
            "web", *(listener(name, hostname=f"{name}.example.com") for name in ("shop", "news"))),
        http_route("shop", rule(backend("web")), hostnames=("shop.example.com", "other.example.com"),
                   parents=(parent("web", sectionName="shop"),)),
        http_route("news", rule(backend("web")), parents=(parent("web", sectionName="news"),)),
        http_route("lost", rule(backend("web")), hostnames=("lost.example.com",)))
    assert site.converge(**FLAGS) == []
    assert set(names_of(site)) == {("shop.example.com", ADDRESS), ("news.example.com", ADDRESS)}


@pytest.mark.parametrize("address", ["2001:db8::10"])
def test_addresses_of_both_families(site_of, address):
    """A record of each type is made of them."""
    site = site_with(site_of, gateway_class(), gateway("web", listener(hostname="shop.example.com")),
                     http_route("shop", rule(backend("web"))))
    assert site.converge(**FLAGS | {"f5_vserver_address": f"{ADDRESS},{address}"}) == []
    assert set(names_of(site)) == {("shop.example.com", ADDRESS), ("shop.example.com", address)}
