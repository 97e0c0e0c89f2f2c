"""Requests to the hosts of Ingresses: which Service gets them.

path: Kubernetes, Ingress, "Path types" and its table of examples, whose rows are here as they are there.
"""

import base64
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.test_unavailable import is_page
from tests.waiting import until

PATHS = {  # host: path, path type and Service of each path of its Ingress
    "all.example.com": [("/", "Prefix", "a")],
    "prefix.example.com": [("/foo", "Prefix", "a")],
    "slash.example.com": [("/foo/", "Prefix", "a")],
    "element.example.com": [("/aaa/bbb", "Prefix", "a")],
    "longest.example.com": [("/", "Prefix", "a"), ("/aaa", "Prefix", "b"), ("/aaa/bbb", "Prefix", "c")],
    "exact.example.com": [("/foo", "Exact", "a"), ("/foo", "Prefix", "c"), ("/bar/", "Exact", "a"),
                          ("/", "Prefix", "b")],
    "own.example.com": [("/foo", "ImplementationSpecific", "a"), ("", "", "b")],
}
REQUESTS = [  # host, path of the request, Service; "" for none
    ("all.example.com", "/", "a"), ("all.example.com", "/any/path", "a"),
    ("prefix.example.com", "/foo", "a"), ("prefix.example.com", "/foo/", "a"),
    ("prefix.example.com", "/foo/bar", "a"), ("prefix.example.com", "/foobar", ""),
    ("prefix.example.com", "/", ""),
    ("slash.example.com", "/foo", "a"), ("slash.example.com", "/foo/", "a"),
    ("element.example.com", "/aaa/bbb", "a"), ("element.example.com", "/aaa/bbb/ccc", "a"),
    ("element.example.com", "/aaa/bb", ""), ("element.example.com", "/aaa/bbbxyz", ""),
    ("longest.example.com", "/aaa/bbb/c", "c"), ("longest.example.com", "/aaa/ccc", "b"),
    ("longest.example.com", "/ccc", "a"),
    ("exact.example.com", "/foo", "a"), ("exact.example.com", "/foo?x=1", "a"),
    ("exact.example.com", "/foo/", "c"), ("exact.example.com", "/foo/bar", "c"),
    ("exact.example.com", "/foobar", "b"), ("exact.example.com", "/bar", "b"),
    ("exact.example.com", "/bar/", "a"), ("exact.example.com", "/bar/x", "b"),
    ("own.example.com", "/foo/x", "a"), ("own.example.com", "/x", "b"),
    ("unknown.example.com", "/", ""),
]


OWN = identity("own.example.com", serial=51)
ENCRYPTED = {  # host of the Ingress: entries of spec.tls, annotations
    "cert.example.com": ([(("cert.example.com",), "own")], {}),
    "router.example.com": ([((), "")], {}),
    "*.wild.example.com": ([(("*.wild.example.com",), "own")], {}),
    "missing.example.com": ([(("missing.example.com",), "none")], {}),
}


def secret() -> dict:
    return {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls",
            "metadata": {"namespace": "shop", "name": "own"},
            "data": {f"tls.{kind}": base64.b64encode(text.encode()).decode()
                     for kind, text in (("crt", OWN.certificate), ("key", OWN.key))}}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with ExitStack() as stack:
        site = Site(stack, tmp_path_factory.mktemp("site"))
        for number, service in enumerate("abc", 1):
            site.serve(service, f"10.1.1.{number}")
        site.serve("through", "10.1.2.1", port=8443, tls=OWN)
        site.apply(manifests.ingress_class(default=True))
        for host, paths in PATHS.items():
            site.apply(manifests.ingress(
                host, *((host, path, service, 8080, kind) for path, kind, service in paths)))
        site.apply(
            secret(), manifests.ingress_class("theirs", controller="example.com/other"),
            manifests.ingress("theirs", ("theirs.example.com", "/", "a", 8080), ingress_class="theirs"),
            manifests.ingress("annotated", ("annotated.example.com", "/", "a", 8080), ingress_class=None,
                              annotations={"kubernetes.io/ingress.class": "f5router"}),
            manifests.ingress("default", ("classless.example.com", "/", "a", "http"), ingress_class=None))
        for number, (host, (tls, annotations)) in enumerate(ENCRYPTED.items()):
            site.apply(manifests.ingress(f"tls-{number}", (host, "/", "a", 8080), tls=tls,
                                         annotations=annotations))
        site.apply(manifests.ingress("through", *(("through.example.com", path, "through", 8443)
                                                  for path in ("/", "/api")),
                                     annotations={"route.openshift.io/termination": "passthrough"}))
        assert site.converge(sources="ingress", allow_wildcard_routes="true") == []
        yield site
        assert site.faults() == []


@pytest.mark.parametrize(("host", "path", "name"), REQUESTS, ids=[f"{row[0]}{row[1]}" for row in REQUESTS])
def test_paths(site, host, path, name):
    reply = clients.plain(site.http, host, path)
    assert reply.pod or is_page(reply), reply
    assert service(reply) == name


def test_classes(site):
    """An Ingress of this router's class is served, however that is named; others are not.

    The one without a class, of which this one is the default, names its port.
    """
    for host in ("annotated.example.com", "classless.example.com"):
        assert service(clients.plain(site.http, host)) == "a"
    assert is_page(clients.plain(site.http, "theirs.example.com"))


@pytest.mark.parametrize(("host", "name"), [
    pytest.param("cert.example.com", "own.example.com", id="of the Secret"),
    pytest.param("router.example.com", "default.example.com", id="of the router"),
    pytest.param("any.wild.example.com", "own.example.com", id="of a wildcard"),
])
def test_certificates(site, host, name):
    """An encrypted host is served on port 443, and port 80 redirects to it."""
    reply = clients.python(site.https, host, "/x")
    assert (reply.pod.get("pod"), reply.certificate) == ("a-10.1.1.1", name)
    plain = clients.plain(site.http, host, "/x")
    assert (plain.status, plain.headers["location"]) == (302, f"https://{host}/x")


def test_passthrough_with_two_paths(site):
    """They are one Route, which is not in its own way: the BIG-IP sees no path."""
    for path in ("/", "/api/x"):
        assert service(clients.python(site.https, "through.example.com", path)) == "through"
    assert [event["reason"] for event in site.kube.list("Event")
            if event["involvedObject"]["name"] == "through"] == []


def test_never_in_clear_text(site):
    """A host whose Secret is missing is served on neither port."""
    assert is_page(clients.plain(site.http, "missing.example.com", "/"))
    assert is_page(clients.python(site.https, "missing.example.com", "/"))


def test_the_ingress_takes_the_place_of_its_route(site):
    """When a Route that OpenShift made of an Ingress goes, no request is lost, and so when it comes."""
    host = "move.example.com"
    site.apply(manifests.ingress("move", (host, "/", "b", 8080)))
    ingress = site.kube.get("Ingress", "shop", "move")
    route = manifests.route("move-x", host=host, service="c")
    route["metadata"]["ownerReferences"] = [
        {"kind": "Ingress", "name": "move", "uid": ingress["metadata"]["uid"], "controller": True}]
    site.apply(route)
    router = site.router(sources="routes,ingress", allow_wildcard_routes="true")
    assert site.converge(router) == []
    assert service(clients.plain(site.http, host, "/")) == "c"
    with load_of(site, host) as seen:
        site.kube.delete("Route", "shop", "move-x")
        until(lambda: router.reconcile_once() and service(clients.plain(site.http, host, "/")) == "b")
        site.apply(route)
        until(lambda: router.reconcile_once() and service(clients.plain(site.http, host, "/")) == "c")
    assert {"b", "c"} >= set(seen)
    assert seen


def service(reply: clients.Seen) -> str:
    """Return whose pod answered, "" for none."""
    return reply.pod.get("pod", "").rpartition("-")[0]


@contextmanager
def load_of(site: Site, host: str) -> Iterator[list[str]]:
    """Send requests all the time; the Services that answered are in the list."""
    seen: list[str] = []
    stop = threading.Event()

    def send() -> None:
        while not stop.is_set():
            seen.append(service(clients.plain(site.http, host, "/")))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()
