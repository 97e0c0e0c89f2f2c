"""rewrite-target: the path that pods get."""

import itertools

import pytest

from f5router.admission.route_options import HAPROXY
from mocks.bigip.quirks import Quirk
from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

KINDS = ("", "edge", "reencrypt")
EDGE = identity("*.example.com")
POLICIES = ("None", "Allow")
KEY = f"{HAPROXY}rewrite-target"
QUIRKS = (frozenset(), frozenset({Quirk.BARE_NAMES, Quirk.DETACH_FORGETS_POOL}),
          frozenset({Quirk.POOL_SWITCHES_SERVER}))


def route(name: str, kind: str = "", target: str = "", path: str = "", *, insecure: str = "",
          wildcard: bool = False, **annotations: str) -> dict:
    """A Route. Args: target: its annotation; "" for none."""
    tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind in ("edge", "reencrypt") else {}
    if kind == "reencrypt":
        tls["destinationCACertificate"] = PODS.issuer
    host = "any.wild.example.com" if wildcard else f"{name}.example.com"
    obj = manifests.route(name + path.replace("/", "-").rstrip("-"), host=host, path=path, kind=kind,
                          insecure=insecure,
                          service="tls" if kind in ("reencrypt", "passthrough") else "web", **tls)
    if wildcard:
        obj["spec"]["wildcardPolicy"] = "Subdomain"
    obj["metadata"]["annotations"] = {f"{HAPROXY}{key}": text for key, text in annotations.items()}
    if target:
        obj["metadata"]["annotations"][KEY] = target
    return obj


def serve(site: Site) -> Site:
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.2.1", port=8443, tls=PODS)
    return site


def target(site: Site, host: str, path: str, *, secure: bool = False, **how) -> str:
    """Return the target that a pod gets."""
    ask, address = (clients.python, site.https) if secure else (clients.plain, site.http)
    return ask(address, host, path, **how).pod["target"]


@pytest.fixture(params=QUIRKS, ids=lambda quirks: "-".join(sorted(quirks)) or "default", scope="module")
def of_all_kinds(shared_site_of, request) -> Site:
    """A Route of each kind and policy that rewrites a path, and one that has the rest of its host."""
    site = serve(shared_site_of(quirks=request.param))
    for kind, insecure in itertools.product(KINDS, POLICIES):
        name, policy = name_of(kind, insecure), insecure if kind else ""
        site.apply(route(name, kind, "/new", "/old", insecure=policy), route(name, kind, insecure=policy))
    assert site.converge() == []
    return site


def name_of(kind: str, insecure: str) -> str:
    return f"{kind or 'plain'}-{insecure.lower()}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("insecure", POLICIES)
def test_kinds(of_all_kinds, kind, insecure):
    for secure in (True, False) if insecure == "Allow" and kind else (bool(kind),):
        for sent, got in (("/old", "/new"), ("/old/x?y=/old", "/new/x?y=/old"), ("/older", "/older"),
                          ("/old/%41%2f//", "/new/%41%2f//"), ("/", "/"), ("/x/old", "/x/old")):
            host = f"{name_of(kind, insecure)}.example.com"
            assert target(of_all_kinds, host, sent, secure=secure) == got


def test_wildcards(site):
    """Each label; a deeper name does not come to the pods at all."""
    serve(site)
    site.apply(route("wild", target="/", path="/app", wildcard=True))
    assert site.converge(allow_wildcard_routes="true") == []
    assert [target(site, f"{name}.wild.example.com", "/app/x") for name in ("a", "b")] == ["/x", "/x"]
    assert clients.plain(site.http, "a.b.wild.example.com", "/app/x").status == 503


def test_requests_of_one_connection(site):
    """Each has what its own Route asks for, however they follow each other, also to one pod."""
    serve(site)
    site.apply(route("a", "edge", "/a"), route("b", "edge", "/", "/b"), route("c", "edge"))
    assert site.converge() == []
    want = {"a": "/a/b/x", "b": "/x", "c": "/b/x"}
    for order in itertools.product("abc", repeat=3):
        requests = [clients.request_bytes(f"{name}.example.com", "/b/x", close=False) for name in order]
        seen = clients.several(site.https, *requests, sni="a.example.com")
        assert [each.pod["target"] for each in seen] == [want[name] for name in order]


def test_a_redirect_keeps_the_path(site):
    serve(site)
    site.apply(route("a", "edge", "/new", "/old", insecure="Redirect"))
    assert site.converge() == []
    assert clients.plain(site.http, "a.example.com", "/old/x?y").location == "https://a.example.com/old/x?y"
    assert target(site, "a.example.com", "/old/x?y", secure=True) == "/new/x?y"


def test_targets_with_an_origin(site):
    serve(site)
    site.apply(route("a", target="/new", path="/old"))
    assert site.converge() == []
    assert target(site, "a.example.com", "http://a.example.com/old/x?y") == "http://a.example.com/new/x?y"


def test_beside_other_options(site):
    """Cookies, limits of clients and Strict-Transport-Security go on, for a Route with its own pool."""
    serve(site)
    site.apply(route("a", "edge", "/new", "/old", hsts_header="max-age=5", ip_allowlist="127.0.0.0/8",
                     timeout="5s"))
    assert site.converge() == []
    first = clients.python(site.https, "a.example.com", "/old/x")
    assert first.pod["target"] == "/new/x"
    assert first.headers["strict-transport-security"] == "max-age=5"
    assert "path=/;" in first.headers["set-cookie"]


def test_upgrades(site):
    serve(site)
    site.apply(route("a", target="/new", path="/old"))
    assert site.converge() == []
    data = clients.request_bytes("a.example.com", "/old/ws", close=False, headers=[
        "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="])
    assert clients.several(site.http, data)[0].status == 101
    assert site.pods["10.1.1.1", 8080].requests[-1] == "GET /new/ws"


def test_changes(site):
    """A target that comes, changes and goes."""
    serve(site)
    router = site.router()
    for text, got in (("", "/old/x"), ("/", "/x"), ("/new", "/new/x"), ("/new#", "/new"), ("bad", "/old/x"),
                      ("", "/old/x")):
        site.apply(route("a", target=text, path="/old"))
        site.settle(router)
        assert target(site, "a.example.com", "/old/x") == got


BAD = ("x", "/a b", "/a\\\\1", "/\n", "/" + "x" * 1000, "/ä")


@pytest.fixture(scope="module")
def of_bad_values(shared_site_of) -> Site:
    """A Route for each."""
    site = serve(shared_site_of())
    site.apply(*(route(f"bad-{number}", target=text, path="/old") for number, text in enumerate(BAD)))
    assert site.converge() == []
    return site


@pytest.mark.parametrize("number", range(len(BAD)), ids=BAD)
def test_bad_values_have_no_effect(of_bad_values, number):
    assert target(of_bad_values, f"bad-{number}.example.com", "/old/x") == "/old/x"
    assert KEY in of_bad_values.admitted("shop", f"bad-{number}-old")["message"]


def test_passthrough_has_none(site):
    serve(site)
    site.apply(route("a", "passthrough", "/new"))
    assert site.converge() == []
    assert target(site, "a.example.com", "/x", secure=True) == "/x"
    assert KEY in site.admitted("shop", "a")["message"]
