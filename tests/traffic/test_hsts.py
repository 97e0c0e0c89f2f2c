"""Strict-Transport-Security: the header of a Route on responses over TLS, and on no others."""

import itertools

import pytest

from f5router.admission.route_options import HAPROXY
from mocks.bigip.quirks import Quirk
from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

KINDS = ("edge", "reencrypt")
EDGE = identity("*.example.com")
NAME, KEY = "strict-transport-security", f"{HAPROXY}hsts_header"
QUIRKS = (frozenset(), frozenset({Quirk.HEADER_REMOVE_LAST}))
TEXT = 'max-age="31536000" ; includeSubDomains;preload'


def route(name: str, kind: str, text: str = "", *, insecure: str = "", path: str = "",
          wildcard: bool = False) -> dict:
    """A Route. Args: text: its header; "" for none."""
    tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind in KINDS else {}
    if kind == "reencrypt":
        tls["destinationCACertificate"] = PODS.issuer
    host = "any.wild.example.com" if wildcard else f"{name}.example.com"
    obj = manifests.route(name + path.replace("/", "-"), host=host, path=path, kind=kind, insecure=insecure,
                          service="tls" if kind in ("reencrypt", "passthrough") else "web", **tls)
    if wildcard:
        obj["spec"]["wildcardPolicy"] = "Subdomain"
    obj["metadata"]["annotations"] = {KEY: text} if text else {}
    return obj


def serve(site: Site) -> Site:
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.2.1", port=8443, tls=PODS)
    return site


def values(site: Site, host: str, path: str = "/", *, secure: bool = True) -> list[str]:
    """Return every value of the header in an answer."""
    ask = clients.python if secure else clients.plain
    seen = ask(site.https if secure else site.http, host, path)
    return [value for name, value in seen.lines if name.lower() == NAME]


POLICIES = ("None", "Allow", "Redirect")


@pytest.fixture(params=QUIRKS, ids=lambda quirks: "-".join(quirks) or "default", scope="module")
def of_all_kinds(shared_site_of, request) -> Site:
    """A Route of each kind and policy with the header, and one of each kind without."""
    site = serve(shared_site_of(quirks=request.param))
    site.apply(*(route(f"{kind}-{insecure.lower()}", kind, TEXT, insecure=insecure)
                 for kind in KINDS for insecure in POLICIES), *(route(f"{kind}-b", kind) for kind in KINDS))
    assert site.converge() == []
    return site


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("insecure", POLICIES)
def test_on_tls_alone(of_all_kinds, kind, insecure):
    """It replaces those of the pod, however many there are; a redirect and port 80 have none."""
    site, with_it, without = of_all_kinds, f"{kind}-{insecure.lower()}.example.com", f"{kind}-b.example.com"
    of_pod = "/?headers=Strict-Transport-Security:max-age=1|strict-transport-SECURITY:max-age=2|X-A:1"
    assert values(site, with_it) == values(site, with_it, of_pod) == [TEXT]
    assert values(site, without) == []
    assert values(site, without, of_pod) == ["max-age=1", "max-age=2"]
    assert values(site, with_it, secure=False) == []
    assert "x-a" in clients.python(site.https, with_it, of_pod).headers


@pytest.mark.parametrize("kind", ["", "passthrough"])
def test_other_routes_have_none(site, kind):
    """The team gets to know it."""
    serve(site)
    site.apply(route("a", kind, "max-age=5"))
    assert site.converge() == []
    assert values(site, "a.example.com", secure=bool(kind)) == []
    assert KEY in site.admitted("shop", "a")["message"]


def test_requests_of_one_connection(site):
    """Each response has the header of its own Route, or none, however the Routes follow each other."""
    serve(site)
    site.apply(route("a", "edge", "max-age=1"), route("b", "edge", "max-age=2"), route("c", "edge"),
               route("c", "edge", "max-age=3", path="/below"), route("wild", "edge", "max-age=4",
                                                                     wildcard=True))
    assert site.converge(allow_wildcard_routes="true") == []
    wanted = {("a.example.com", "/"): "max-age=1", ("b.example.com", "/"): "max-age=2",
              ("c.example.com", "/"): None, ("c.example.com", "/below/x"): "max-age=3",
              ("x.wild.example.com", "/"): "max-age=4"}
    order = [pair for pairs in itertools.permutations(wanted, 2) for pair in pairs]
    requests = [clients.request_bytes(host, path, close=False) for host, path in order]
    for pipelined in (False, True):
        seen = clients.several(site.https, *requests, sni="a.example.com", pipelined=pipelined)
        assert [answer.headers.get(NAME) for answer in seen] == [wanted[pair] for pair in order]


def test_answers_of_the_big_ip_have_none(site):
    """The 503 page, also that for a name below a wildcard that is not its own."""
    serve(site)
    site.apply(*manifests.service("shop", "empty"))
    empty = route("empty", "edge", "max-age=1")
    empty["spec"]["to"]["name"] = "empty"
    site.apply(empty, route("a", "edge", "max-age=2"), route("wild", "edge", "max-age=4", wildcard=True))
    assert site.converge(allow_wildcard_routes="true") == []
    for host in ("empty.example.com", "x.y.wild.example.com", "nobody.example.org"):
        requests = [clients.request_bytes(name, close=False) for name in ("a.example.com", host)]
        first, answer = clients.several(site.https, *requests, sni="a.example.com")
        assert (first.headers[NAME], answer.status) == ("max-age=2", 503), host
        assert NAME not in answer.headers


def test_before_12_1(site_of):
    site = serve(site_of(tmos_version="12.0.0"))
    site.apply(route("a", "edge", "max-age=1"))
    assert site.converge() == []
    assert values(site, "a.example.com") == []
    assert f"{KEY} has no effect before TMOS 12.1" in str(site.kube.list("Event"))


def test_a_change_while_requests_come(site):
    """At each write a client gets the old header or the new one; none is without."""
    serve(site)
    site.apply(route("a", "edge", "max-age=1"), route("b", "edge", "max-age=1"))
    router = site.router()
    site.settle(router)
    seen = []
    site.bigip.on_write = lambda entry: seen.append(
        (values(site, "a.example.com"), values(site, "b.example.com")))
    site.apply(route("a", "edge", "max-age=2"))
    site.settle(router)
    site.bigip.on_write = None
    assert seen
    assert {tuple(own) for own, _ in seen} <= {("max-age=1",), ("max-age=2",)}
    assert {tuple(other) for _, other in seen} == {("max-age=1",)}
    assert values(site, "a.example.com") == ["max-age=2"]
    router.close()


DEFAULT = "max-age=63072000; includeSubDomains"


@pytest.fixture(params=QUIRKS, ids=lambda quirks: "-".join(quirks) or "default", scope="module")
def by_default(shared_site_of, request) -> Site:
    """Virtual servers of the router, which has the header for all Routes; one Route has its own."""
    site = serve(shared_site_of(quirks=request.param, address=""))
    site.apply(*(route(kind, kind, insecure="Allow") for kind in KINDS),
               route("own", "edge", "max-age=1"), route("plain", ""), route("passed", "passthrough"))
    assert site.converge(f5_vserver_address="203.0.113.10", hsts_header=DEFAULT) == []
    return site


@pytest.mark.parametrize(("name", "path", "secure", "wanted"), [
    *((kind, "/", True, [DEFAULT]) for kind in KINDS), *((kind, "/", False, []) for kind in KINDS),
    ("own", "/", True, ["max-age=1"]), ("plain", "/", False, []), ("passed", "/", True, []),
    ("edge", "/?headers=strict-transport-SECURITY:max-age=2", True, ["max-age=2"]),
    ("own", "/?headers=strict-transport-security:max-age=2", True, ["max-age=1"]),
    ("nobody", "/", True, []),
])
def test_the_header_of_the_router(by_default, name, path, secure, wanted):
    """On responses of pods over TLS that have none; a Route's own, and the pod's, take precedence."""
    assert values(by_default, f"{name}.example.com", path, secure=secure) == wanted
