"""Wildcard Routes with real requests: who answers, with which certificate, and what deeper names get."""

import http.client

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import PODS
from tests.traffic.test_unavailable import is_page
from tests.waiting import DEADLINE_S

OWN = identity("*.apps.example.com", serial=9)
WILD = {"allow_wildcard_routes": "true"}
DEEP = "a.b.apps.example.com"


def wildcard(name: str, **fields) -> dict:
    manifest = manifests.route(name, host="any.apps.example.com", **fields)
    manifest["spec"]["wildcardPolicy"] = "Subdomain"
    return manifest


def service(reply: clients.Seen) -> str:
    """Return whose pod answered, "" for none."""
    return reply.pod.get("pod", "").rpartition("-")[0]


@pytest.fixture(params=["", "edge", "reencrypt"], ids=["plain", "edge", "reencrypt"])
def fields(request):
    """Return the fields of all Routes."""
    ca = {"destinationCACertificate": PODS.issuer} if request.param == "reencrypt" else {}
    return {"kind": request.param, **ca}


def ask(site, host: str, path: str, kind: str) -> clients.Seen:
    if kind:
        return clients.python(site.https, host, path)
    return clients.plain(site.http, host, path)


def test_one_label(site, fields):
    """The exact host first, the wildcard for what it leaves, the page for all others."""
    kind = fields["kind"]
    for number, name in enumerate(("web", "api")):
        site.serve(name, f"10.1.{number}.1", tls=PODS if kind == "reencrypt" else None)
    exact = manifests.route("exact", host="www.apps.example.com", path="/p", service="api", **fields)
    site.apply(wildcard("all", **fields), exact)
    assert site.converge(**WILD) == []
    for host, path, wanted in (
        ("x.apps.example.com", "/", "web"), ("X.Apps.Example.Com", "/p", "web"),
        ("x.apps.example.com.", "/", "web"), ("www.apps.example.com", "/p/q", "api"),
        ("www.apps.example.com", "/q", "web"),
    ):
        assert service(ask(site, host, path, kind)) == wanted, (host, path)
    for host in (DEEP, f"www.{DEEP}", "apps.example.com", "x.example.com"):
        assert is_page(ask(site, host, "/p", kind)), host
    assert site.faults() == []


def test_requests_of_one_connection(site):
    """Each is judged by itself."""
    site.serve("web", "10.1.1.1")
    site.apply(wildcard("all"), manifests.route("deep", host=DEEP, path="/p"))
    assert site.converge(**WILD) == []
    connection = http.client.HTTPConnection(*site.http, timeout=DEADLINE_S)
    for host, path, status in (
        ("x.apps.example.com", "/", 200), (DEEP, "/p", 200), ("y.apps.example.com", "/", 200),
        (DEEP, "/q", 503),
    ):
        connection.request("GET", path, headers={"Host": host})
        reply = connection.getresponse()
        reply.read()
        assert reply.status == status, (host, path)
    connection.close()


def test_switched_off(site):
    """Without the page deeper names are reset, as all else that nobody answers."""
    site.serve("web", "10.1.1.1")
    site.apply(wildcard("all"))
    assert site.converge(**WILD, f5_503_page="false") == []
    assert service(clients.plain(site.http, "x.apps.example.com")) == "web"
    assert clients.plain(site.http, DEEP).status == 0


def test_certificate(site):
    """The wildcard's is for names of one label that have none of their own; else the administrator's."""
    site.serve("web", "10.1.1.1")
    own = {"kind": "edge", "certificate": OWN.certificate, "key": OWN.key}
    exact = identity("www.apps.example.com", serial=8)
    site.apply(wildcard("all", **own), manifests.route(
        "exact", host="www.apps.example.com", kind="edge", certificate=exact.certificate, key=exact.key))
    assert site.converge(**WILD) == []
    for host, wanted in (
        ("x.apps.example.com", "*.apps.example.com"), ("www.apps.example.com", "www.apps.example.com"),
        (DEEP, "default.example.com"), ("apps.example.com", "default.example.com"),
    ):
        assert clients.python(site.https, host).certificate == wanted, host


def test_passthrough(site):
    """TLS of one label goes to the pods; that of an exact host that ends on the BIG-IP does not."""
    site.serve("tls", "10.1.1.1", tls=PODS)
    site.serve("web", "10.1.2.1")
    site.apply(wildcard("all", kind="passthrough", service="tls"),
               manifests.route("exact", host="www.apps.example.com", kind="edge"))
    assert site.converge(**WILD) == []
    for host, wanted, certificate in (
        ("x.apps.example.com", "tls", "pods.example.com"), ("X.Apps.example.com", "tls", "pods.example.com"),
        ("www.apps.example.com", "web", "default.example.com"), (DEEP, "", "default.example.com"),
    ):
        reply = clients.python(site.https, host)
        assert (service(reply), reply.certificate) == (wanted, certificate), host
    assert is_page(clients.python(site.https, DEEP))
    assert site.faults() == []
