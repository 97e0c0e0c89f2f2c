"""A Gateway beside Routes of others: who has a host, and what happens when something is missing, or goes."""

import base64
import re
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
import yaml

from tests import manifests
from tests.builders import identity
from tests.gateways import (
    EVERYWHERE,
    backend,
    conditions,
    gateway,
    gateway_class,
    grant,
    http_route,
    listener,
    parent,
    redirect,
    rule,
)
from tests.rows import rows
from tests.traffic import clients

FLAGS = {"f5_vserver_address": "203.0.113.10", "sources": "routes,gateway"}
OWN = identity("own.example.com")
SECRET = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
          "metadata": {"namespace": "infra", "name": "own"},
          "data": {"tls.crt": base64.b64encode(OWN.certificate.encode()).decode(),
                   "tls.key": base64.b64encode(OWN.key.encode()).decode()}}
OPEN = listener(namespaces=EVERYWHERE)
TO_HTTPS = http_route("to-https", rule(filters=(redirect(scheme="https", statusCode=301),)),
                      parents=(parent("web", sectionName="own-http"),))
APP = http_route("app", rule(backend("web")), parents=(parent("web", sectionName="own"),))
OBJECTS = (SECRET, gateway_class(), gateway(
    "web", OPEN, listener("own-http", hostname="own.example.com"),
    listener("own", 443, "HTTPS", hostname="own.example.com", secret="own")), TO_HTTPS)


def site_with(site_of, *objects: dict, **options):
    options.setdefault("gateway_api", "v1.6")
    site = site_of(address="", **options)
    site.serve("web", "10.1.1.1", namespace="infra")
    site.serve("web", "10.1.2.1")
    site.apply(*objects)
    return site


def pod(site, host: str, path: str = "/") -> str:
    """Namespace of the pod that answers, or the status."""
    seen = clients.plain(site.http, host, path)
    return seen.pod.get("namespace", str(seen.status))


def accepted(site, name: str) -> tuple[str, str]:
    """Status and reason of the condition Accepted of an HTTPRoute."""
    parents = ((site.kube.get("HTTPRoute", "infra", name) or {}).get("status") or {}).get("parents", ())
    return conditions(parents[0]["conditions"])["Accepted"] if parents else ("", "")


def programmed(site) -> tuple[str, str]:
    status = (site.kube.get("Gateway", "infra", "web") or {}).get("status") or {}
    return conditions(status.get("conditions", ())).get("Programmed", ("", ""))


@pytest.fixture
def ready(site_of):
    """A Gateway with listeners of both protocols for one host, and one for all hosts."""
    return site_with(site_of, *OBJECTS, APP)


def test_two_listeners_of_one_host_have_their_own_routes(ready):
    """A redirect on port 80, and pods on port 443."""
    assert ready.converge(**FLAGS) == []
    seen = clients.plain(ready.http, "own.example.com", "/a?b=c")
    assert (seen.status, seen.location) == (301, "https://own.example.com/a?b=c")
    secure = clients.python(ready.https, "own.example.com", "/a")
    assert (secure.pod["namespace"], secure.certificate) == ("infra", "own.example.com")
    assert programmed(ready) == ("True", "Programmed")


def test_an_older_route_of_another_namespace_keeps_its_host(ready):
    """Also its other paths, which the listener for all hosts never gets."""
    old = manifests.route("old", host="shop.example.com", path="/shop", created="2020-01-01T00:00:00Z")
    ready.apply(old, http_route("thief", rule(backend("web")), hostnames=("shop.example.com",),
                                parents=(parent("web", sectionName="http"),)),
                http_route("rest", rule(backend("web")), parents=(parent("web", sectionName="http"),)))
    assert ready.converge(**FLAGS) == []
    assert pod(ready, "shop.example.com", "/shop") == "shop"
    assert pod(ready, "shop.example.com", "/other") == "503"
    assert pod(ready, "any.example.com") == "infra"
    assert accepted(ready, "thief") == ("False", "HostAlreadyClaimed")
    assert accepted(ready, "rest") == ("True", "Accepted")


def test_the_example_of_the_page(site_of):
    page = Path(__file__).parents[2] / "docs" / "gateway-api.md"
    (example,) = re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL)
    site = site_of(address="", gateway_api="v1.6")
    for number in (1, 2):
        site.serve(f"shop-v{number}", f"10.1.{number}.1")
    site.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {
        "team": "shop"}}}, {**SECRET, "metadata": {"namespace": "infra", "name": "www-tls"}},
        *yaml.safe_load_all(example))
    assert site.converge(**FLAGS) == []
    seen = clients.plain(site.http, "www.example.com", "/a")
    assert (seen.status, seen.location) == (301, "https://www.example.com/a")
    assert clients.python(site.https, "www.example.com").pod["namespace"] == "shop"
    assert programmed(site) == ("True", "Programmed")


def running(site, **flags: str):
    router = site.run(**FLAGS | flags)
    router.close = router.stop
    return closing(router)


def test_what_goes_is_served_no_longer(ready):
    ready.apply(http_route("rest", rule(backend("web")), parents=(parent("web", sectionName="http"),)))
    assert ready.converge(**FLAGS) == []
    with running(ready) as router:
        router.wait(lambda: pod(ready, "any.example.com") == "infra")
        ready.kube.delete("HTTPRoute", "infra", "rest")
        router.wait(lambda: pod(ready, "any.example.com") == "404")
        ready.kube.delete("Gateway", "infra", "web")
        router.wait(lambda: pod(ready, "any.example.com") == "503")
        router.wait(lambda: ready.kube.get("HTTPRoute", "infra", "app")["status"]["parents"] == [])
        router.wait(lambda: pod(ready, "own.example.com") == "503")


def test_crds_that_come_later_are_picked_up(ready):
    ready.kube.withdraw("gateway.networking.k8s.io")
    ready.apply(manifests.route("r", host="shop.example.com"))
    assert ready.converge(**FLAGS) == []
    assert (pod(ready, "shop.example.com"), pod(ready, "any.example.com")) == ("shop", "503")
    ready.kube.serve("gateway.networking.k8s.io")
    assert ready.converge(**FLAGS) == []
    assert pod(ready, "any.example.com") == "404"


@rows("kind", ["gateways", "httproutes", "gatewayclasses", "referencegrants", "namespaces", "secrets"])
def test_a_missing_right_stops_nothing(site_of, kind):
    """Also of a router that starts without it: all answers stay. Changes count once it is granted."""
    site = site_with(site_of, *OBJECTS, http_route("rest", rule(backend("web")), parents=(
        parent("web", sectionName="http"),)), http_route(
        "app", rule(backend("web"), paths=("/only",)), parents=(parent("web", sectionName="own"),)))
    assert site.converge(**FLAGS) == []
    site.kube.forbid(kind)
    site.apply(manifests.route("r", host="shop.example.com"), http_route(
        "later", rule(backend("web")), hostnames=("later.example.com",), parents=(
            parent("web", sectionName="http"),)))
    site.converge(**FLAGS)
    assert (pod(site, "shop.example.com"), pod(site, "any.example.com")) == ("shop", "infra")
    assert pod(site, "own.example.com") == "301"
    assert [clients.python(site.https, "own.example.com", path).status for path in ("/only", "/other")] == [
        200, 404]
    site.kube.allow(kind)
    assert site.converge(**FLAGS) == []
    assert accepted(site, "later") == ("True", "Accepted")


def test_entries_of_other_controllers_stay(ready):
    other = {"controllerName": "example.com/other", "parentRef": {"name": "theirs"}, "conditions": []}
    ready.apply({**APP, "status": {"parents": [other]}})
    assert ready.converge(**FLAGS) == []
    first, second = ready.kube.get("HTTPRoute", "infra", "app")["status"]["parents"]
    assert (first, second["controllerName"]) == (other, "f5router.io/gateway")
    ready.kube.clear_log()
    assert ready.converge(**FLAGS) == []
    assert [entry.path for entry in ready.kube.log
            if entry.method == "PATCH" and "/status" in entry.path] == []


def test_without_a_front_end_of_the_router_nothing_is_programmed(site_of):
    site = site_with(site_of, gateway_class(), gateway("web", OPEN), http_route("app", rule(backend("web"))))
    site.virtuals()
    site.converge(sources="routes,gateway")
    assert programmed(site) == ("False", "AddressNotAssigned")
    assert pod(site, "any.example.com") == "503"


def test_statuses_of_older_crds(site_of):
    """v1beta1 is read where v1 is not served."""
    site = site_of(address="", gateway_api="v0.8")
    site.serve("web", "10.1.1.1", namespace="infra")
    for obj in (gateway_class(), gateway("web", OPEN), http_route("app", rule(backend("web")))):
        site.apply({**obj, "apiVersion": "gateway.networking.k8s.io/v1beta1"})
    assert site.converge(**FLAGS) == []
    assert (programmed(site), pod(site, "any.example.com")) == (("True", "Programmed"), "infra")


def test_what_an_old_device_cannot_answer_is_refused(site_of):
    site = site_with(site_of, gateway_class(), gateway("web", listener(hostname="own.example.com")),
                     http_route("app", rule(backend("missing"))), tmos_version="11.6.0")
    site.converge(**FLAGS)
    assert accepted(site, "app")[0] == programmed(site)[0] == "False"


@rows("version", ["12.1.0", "14.1.2", "17.1.0"])
def test_matches_by_more_than_the_path(site_of, version):
    """The Rules are compared in their order, and none is written again by a router that is started anew."""
    to = {name: [{"headers": [{"name": "x", "value": value}]}] for name, value in (("v1", "1"), ("v2", "2"))}
    site = site_with(site_of, gateway_class(), gateway("web", OPEN), http_route(
        "app", rule(backend("web"), matches=[*to["v1"], {"method": "POST"}]),
        rule(backend("missing"), matches=to["v2"])), tmos_version=version)
    assert site.converge(**FLAGS) == []
    for how, answer in (({"headers": ["X: 1"]}, 200), ({"headers": ["X: 2"]}, 500), ({}, 404),
                        ({"method": "POST"}, 200), ({"method": "POST", "headers": ["X: 2"]}, 200)):
        assert clients.plain(site.http, "any.example.com", **how).status == answer, how
    written = site.writes()
    assert site.converge(**FLAGS) == []
    assert site.writes() == written


def test_before_drafts_matches_are_refused(site_of):
    matched = rule(backend("web"), matches=[{"method": "GET"}])
    site = site_with(site_of, gateway_class(), gateway("web", listener(hostname="own.example.com")),
                     http_route("app", matched), tmos_version="12.0.0")
    site.converge(**FLAGS)
    assert accepted(site, "app")[0] == "False"
    assert pod(site, "own.example.com") == "503"


WILD = (gateway_class(), gateway("web", listener(hostname="*.example.com"), created="2026-01-02T00:00:00Z"),
        http_route("app", rule(backend("web"))))


def test_a_wildcard_has_hosts_of_any_depth_but_those_of_older_routes(site_of):
    """Requests that an older Route of another namespace leaves on its host go to nobody."""
    site = site_with(site_of, *WILD, manifests.route(
        "deep", host="x.y.example.com", path="/a", created="2026-01-01T00:00:00Z"))
    site.apply(manifests.route("young", host="v.w.example.com", created="2026-01-03T00:00:00Z"))
    assert site.converge(**FLAGS) == []
    for host, path, answer in (
            ("a.example.com", "/", "infra"), ("b.a.example.com", "/", "infra"), ("example.com", "/", "404"),
            ("x.y.example.com", "/a", "shop"), ("x.y.example.com", "/b", "503"),
            ("z.y.example.com", "/a", "infra"), ("v.w.example.com", "/", "infra")):
        assert pod(site, host, path) == answer, host
    site.apply(manifests.route("root", host="x.y.example.com", created="2026-01-04T00:00:00Z"))
    assert (site.converge(**FLAGS), pod(site, "x.y.example.com", "/b")) == ([], "shop")
    site.kube.delete("Route", "shop", "root")
    assert (site.converge(**FLAGS), pod(site, "x.y.example.com", "/b")) == ([], "503")


def test_no_write_leads_requests_of_an_older_route_elsewhere(site_of):
    site = site_with(site_of, manifests.route(
        "deep", host="x.y.example.com", path="/a", created="2026-01-01T00:00:00Z"))
    site.converge(**FLAGS)
    seen = set()

    def asked(entry) -> None:
        seen.add((pod(site, "x.y.example.com", "/a"), pod(site, "x.y.example.com", "/b")))

    site.bigip.on_write = asked
    site.apply(*WILD)
    assert site.converge(**FLAGS) == []
    assert pod(site, "a.example.com") == "infra"
    assert seen == {("shop", "503")}
    for kind, name in (("HTTPRoute", "app"), ("Gateway", "web")):
        site.kube.delete(kind, "infra", name)
    site.converge(**FLAGS)
    assert seen == {("shop", "503")}


def test_backends_of_several_namespaces(site_of):
    """They share the requests by their weights, as long as a grant permits the one of another namespace."""
    permitted = grant("g", "shop", ("HTTPRoute", "infra"), ("", "Service", "web"))
    site = site_with(site_of, gateway_class(), gateway("web", OPEN), permitted, http_route(
        "app", rule(backend("web", weight=1), backend("web", namespace="shop", weight=3))))
    assert site.converge(**FLAGS) == []
    shares = Counter(pod(site, "any.example.com") for _ in range(80))
    assert shares.keys() == {"infra", "shop"}
    assert shares["shop"] > shares["infra"]
    site.pod("10.1.2.2", "web", namespace="shop")
    site.apply(*manifests.service("shop", "web", pods=("10.1.2.2",)))
    assert site.converge(**FLAGS) == []
    site.kube.delete("ReferenceGrant", "shop", "g")
    site.converge(**FLAGS)
    assert {pod(site, "any.example.com") for _ in range(40)} == {"infra", "500"}
