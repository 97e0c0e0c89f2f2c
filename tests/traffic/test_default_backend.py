"""Requests for hosts that nobody claims, and for those that somebody does, beside a default backend."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests import manifests
from tests.builders import identity
from tests.rows import rows
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.waiting import until

ALLOWED = {"f5_vserver_address": "203.0.113.10", "sources": "routes,ingress,ingressroutes",
           "allow_wildcard_routes": "true", "default_backend_namespaces": "shop,second"}
EDGE = identity("edge.example.com", serial=71)
BACKEND = {"service": {"name": "web", "port": {"number": 8080}}}


def everything(name: str = "all", namespace: str = "shop", service: str = "web", **more) -> dict:
    """An Ingress with nothing but a default backend."""
    return manifests.ingress(name, namespace=namespace, defaultBackend={
        "service": {"name": service, "port": {"number": 8080}}}, **more)


def answer(site: Site, host: str | None, path: str = "/", *, secure: bool = False) -> tuple[int, str]:
    """Status, and the namespace and Service of the pod that answered."""
    seen = (clients.python(site.https, host, path) if secure else clients.plain(site.http, host, path))
    pod = seen.pod
    return seen.status, f"{pod['namespace']}/{pod['pod'].rpartition('-')[0]}" if pod else ""


def wildcard(name: str, host: str, **more) -> dict:
    route = manifests.route(name, namespace="team", host=host, service="web", **more)
    route["spec"]["wildcardPolicy"] = "Subdomain"
    return route


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    """Tenants with hosts of every kind; only one namespace may serve all others."""
    with ExitStack() as stack:
        whole = Site(stack, tmp_path_factory.mktemp("site"), address="")
        for number, namespace in enumerate(("shop", "team", "rogue"), 1):
            whole.serve("web", f"10.1.{number}.1", namespace=namespace)
        whole.serve("tls", "10.1.4.1", namespace="team", port=8443, tls=PODS)
        whole.apply(
            manifests.ingress_class(), *manifests.service("team", "empty", pods=()), everything(),
            everything("rogue", "rogue", created="2025-01-01T00:00:00Z"),
            manifests.ingress("star", ("*", "/", "web", 8080), namespace="rogue"),
            manifests.ingress("own", ("own.example.com", "/app", "web", 8080), namespace="rogue",
                              defaultBackend=BACKEND),
            *(manifests.route(name, namespace="team", host=f"{name}.example.com", **how)
              for name, how in {
                "app": {"path": "/app"}, "empty": {"service": "empty"},
                "edge": {"kind": "edge", "certificate": EDGE.certificate, "key": EDGE.key, "path": "/app"},
                "through": {"kind": "passthrough", "service": "tls"},
                "bad": {"kind": "edge", "certificate": "none", "key": "none"},
                "waits": {"kind": "edge", "externalCertificate": {"name": "missing"}},
              }.items()),
            wildcard("wild", "x.wild.example.com"),
            manifests.ingress("nothing", ("nothing.example.com", "/", "missing", 8080), namespace="team"),
            manifests.ingress_route("contour", manifests.forward("/app", "web"), namespace="team",
                                    fqdn="contour.example.com"))
        star = manifests.route("all", namespace="rogue", host="*", service="web")
        whole.apply(star)
        assert whole.converge(**ALLOWED) == []
        yield whole
        assert whole.faults() == []


ALL = (200, "shop/web")
NOBODY = (503, "")


@rows("secure", [False, True])
@rows("host", [
    "any.example.com", "my-host", "example.com", "203.0.113.10", "UPPER.example.com", "dot.example.com.",
    "app.example.com.evil.test", "xapp.example.com", "any.example.com:80", "wild.example.com",
    "example.org:8443",
])
def test_hosts_that_nobody_claims(site, host, secure):
    assert answer(site, host, "/any/path?x=1", secure=secure) == ALL


def test_without_a_host(site):
    seen = clients.raw(site.http, b"GET / HTTP/1.0\r\n\r\n")
    assert (seen.status, seen.pod["namespace"]) == (200, "shop")


@rows(("host", "path", "plain", "secure"), [
    ("app.example.com", "/app", (200, "team/web"), NOBODY),
    ("app.example.com", "/", NOBODY, NOBODY),
    ("APP.example.com.", "/other", NOBODY, NOBODY),
    ("app.example.com:80", "/other", NOBODY, NOBODY),
    ("empty.example.com", "/", NOBODY, NOBODY),
    ("edge.example.com", "/app", NOBODY, (200, "team/web")),
    ("edge.example.com", "/", NOBODY, NOBODY),
    ("through.example.com", "/", NOBODY, (200, "team/tls")),
    ("bad.example.com", "/", NOBODY, NOBODY),
    ("waits.example.com", "/", NOBODY, NOBODY),
    ("one.wild.example.com", "/", (200, "team/web"), NOBODY),
    ("one.two.wild.example.com", "/", NOBODY, NOBODY),
    ("nothing.example.com", "/", NOBODY, NOBODY),
    ("contour.example.com", "/app", (200, "team/web"), NOBODY),
    ("contour.example.com", "/", NOBODY, NOBODY),
    ("own.example.com", "/other", (200, "rogue/web"), NOBODY),
])
def test_hosts_that_somebody_claims(site, host, path, plain, secure):
    """None of their requests comes to the default backend, whatever becomes of their Routes."""
    assert answer(site, host, path) == plain
    assert answer(site, host, path, secure=True) == secure


def test_later_requests_of_a_connection(site):
    hosts = [("app.example.com", "/app"), ("any.example.com", "/"), ("app.example.com", "/no"),
             ("any.example.com", "/"), ("app.example.com", "/app")]
    seen = clients.several(site.http, *(clients.request_bytes(*each, close=False) for each in hosts))
    assert [each.pod.get("namespace") for each in seen] == ["team", "shop", None]


def test_what_tenants_are_told(site):
    """Objects that ask for all hosts and may not have them have an Event or a status."""
    events = {(event["involvedObject"]["name"], event["reason"]) for event in site.kube.list("Event")
              if event["involvedObject"]["namespace"] == "rogue"
              and event["involvedObject"]["kind"] == "Ingress"}
    assert {("rogue", "NoHost"), ("star", "InvalidHost")} <= events
    assert site.admitted("rogue", "all")["reason"] == "InvalidHost"
    assert [status(site, namespace, name) for namespace, name in (
        ("shop", "all"), ("rogue", "rogue"), ("rogue", "star"))] == [[{"ip": "203.0.113.10"}], [], []]


def status(site: Site, namespace: str, name: str) -> list[dict]:
    known = site.kube.get("Ingress", namespace, name).get("status") or {}
    return (known.get("loadBalancer") or {}).get("ingress") or []


FLAGS = {"sources": "routes,ingress", "default_backend_namespaces": "*"}


@pytest.fixture
def own(site_of) -> Site:
    """A Route with one path, and pods of two namespaces."""
    site = site_of()
    for number, namespace in enumerate(("shop", "team"), 1):
        site.serve("web", f"10.1.{number}.1", namespace=namespace)
    site.apply(manifests.ingress_class(), manifests.route("app", namespace="team", host="app.example.com",
                                                          path="/app"))
    return site


def other_path(site: Site) -> tuple[int, str]:
    return answer(site, "app.example.com", "/other")


def test_each_step(own):
    """From the first to the last write, when it comes and when it goes: nobody gets what a Route claims."""
    assert own.converge(sources="routes,ingress") == []
    own.apply(everything())
    seen = set()
    for flags in (FLAGS, {"sources": "routes,ingress"}):
        for _ in own.each_end(2, **flags):
            assert answer(own, "app.example.com", "/app") == (200, "team/web")
            assert other_path(own) == NOBODY
            seen.add(answer(own, "any.example.com"))
    assert seen == {ALL, NOBODY}
    assert answer(own, "any.example.com") == NOBODY


def test_a_route_that_comes_and_goes(own):
    """It takes its host from the default backend, with all paths, and gives it back."""
    own.apply(everything())
    router = own.router(**FLAGS)
    assert own.converge(router) == []
    own.apply(manifests.route("new", namespace="team", host="any.example.com", path="/new", service="none"))
    until(lambda: router.reconcile_once() and answer(own, "any.example.com") == NOBODY)
    own.kube.delete("Route", "team", "new")
    until(lambda: router.reconcile_once() and answer(own, "any.example.com") == ALL)


def test_two_that_ask_for_it(own):
    """The older one has it, also without pods or its Service; the other has an Event, and comes after."""
    own.apply(everything(), everything("second", "team", created="2026-02-01T00:00:00Z"))
    router = own.router(**FLAGS)
    assert own.converge(router) == []
    assert answer(own, "any.example.com") == ALL
    (event,) = [event for event in own.kube.list("Event") if event["involvedObject"]["name"] == "second"]
    assert (event["reason"], "spec.defaultBackend: an ingress in another namespace holds" in event["message"]
            ) == ("HostAlreadyClaimed", True)
    own.apply(*manifests.service("shop", "web", pods=()))
    until(lambda: router.reconcile_once() and answer(own, "any.example.com") == NOBODY)
    own.kube.delete("Service", "shop", "web")
    until(lambda: router.reconcile_once() and {event["reason"] for event in own.kube.list("Event")
                                               if event["involvedObject"]["name"] == "all"})
    assert answer(own, "any.example.com") == NOBODY
    own.kube.delete("Ingress", "shop", "all")
    until(lambda: router.reconcile_once() and answer(own, "any.example.com") == (200, "team/web"))


def test_a_restart_writes_nothing(own):
    own.apply(everything())
    assert own.converge(**FLAGS) == []
    own.clear()
    assert own.converge(**FLAGS) == []
    assert own.writes() == []


def test_without_the_setting(own):
    """It is refused, and nothing on the BIG-IP differs from what is there without the Ingress."""
    assert own.converge(sources="routes,ingress") == []
    own.clear()
    own.apply(everything())
    assert own.converge(sources="routes,ingress") == []
    assert own.writes() == []
    assert [event["reason"] for event in own.kube.list("Event")] == ["NoHost"]


@pytest.fixture
def own_shared(own):
    router = own.router(**FLAGS)
    assert own.converge(router) == []
    return own, router


@rows(("annotations", "plain", "secure"), [
    ({}, ALL, ALL),
    ({"route.openshift.io/termination": "edge"}, NOBODY, ALL),
    ({"nginx.ingress.kubernetes.io/force-ssl-redirect": "true"}, NOBODY, ALL),
    ({"route.openshift.io/termination": "passthrough"}, NOBODY, NOBODY),
    ({"nginx.ingress.kubernetes.io/whitelist-source-range": "192.0.2.1"}, (0, ""), (0, "")),
    ({"nginx.ingress.kubernetes.io/auth-url": "https://auth.example.com"}, NOBODY, NOBODY),
    ({"virtual-server.f5.com/rewrite-app-root": "/app"}, ALL, ALL),
])
def test_annotations(own_shared, annotations, plain, secure):
    """Never in clear text where TLS is asked for, never without a protection that is asked for."""
    site, router = own_shared
    site.apply(everything(annotations=annotations))
    until(lambda: router.reconcile_once() and (
        answer(site, "any.example.com"), answer(site, "any.example.com", secure=True)) == (plain, secure))
    assert answer(site, "app.example.com", "/") == NOBODY
