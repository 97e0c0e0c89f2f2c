"""Session cookies: a client that brings one comes to the pod that it names, whatever the balance is.

Longer than other modules: all tests need these clients, and pods that tell which one answered.
"""

import hashlib
import itertools
from collections.abc import Iterator

import pytest

from f5router.admission.route_options import HAPROXY, ROUTER
from f5router.app.controller import Controller
from mocks.bigip.dataplane.balancing import Member
from mocks.bigip.dataplane.persistence import cookie_value
from mocks.bigip.quirks import Quirk
from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

KINDS = ("", "edge", "reencrypt")
EDGE = identity("*.example.com")
WEB = ("10.1.1.1", "10.1.1.2", "10.1.1.3", "10.1.1.4")
QUIRKS = (frozenset(), frozenset({Quirk.COOKIE_IN_HTTP_RESPONSE}), frozenset({Quirk.COOKIE_READ_AGAIN}),
          frozenset({Quirk.COOKIE_REMOVE_FIRST, Quirk.BARE_NAMES}))
SECURE = "; path=/; HttpOnly; Secure; SameSite="
OPEN = "; path=/; HttpOnly"


def route(kind: str, name: str = "a", service: str = "web", *, insecure: str = "", path: str = "",
          weights: dict[str, int] | None = None, **annotations: str) -> dict:
    """A Route. Args: weights: of its Services, if there are several; annotations: by their last word."""
    tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind in ("edge", "reencrypt") else {}
    if kind == "reencrypt":
        tls["destinationCACertificate"] = PODS.issuer
    obj = manifests.route(name + path.replace("/", "-"), host=f"{name}.example.com", path=path,
                          service=service, kind=kind, insecure=insecure, **tls)
    prefixes = {"cookie_name": ROUTER, "cookie-same-site": ROUTER}
    obj["metadata"]["annotations"] = {
        prefixes.get(key, HAPROXY) + key: text for key, text in annotations.items()}
    if weights:
        obj["spec"]["to"]["weight"] = weights[service]
        obj["spec"]["alternateBackends"] = [
            {"kind": "Service", "name": other, "weight": weight}
            for other, weight in weights.items() if other != service]
    return obj


def serve(site: Site, kind: str, service: str, *addresses: str) -> None:
    tls, port = (PODS, 8443) if kind in ("reencrypt", "passthrough") else (None, 8080)
    site.serve(service, *addresses, port=port, tls=tls)


def scale(site: Site, kind: str, service: str, *addresses: str, **how) -> None:
    """Change the endpoints; all pods go on."""
    port, name = (8443, "https") if kind in ("reencrypt", "passthrough") else (8080, "http")
    site.apply(manifests.endpoints("shop", service, addresses, ports=((name, port),), **how))


def ask(site: Site, kind: str, cookie: str = "", name: str = "a", path: str = "/", *,
        secure: bool | None = None) -> clients.Seen:
    """Send a request. Args: cookie: Cookie header; secure: over TLS, None for what the kind of Route has."""
    headers = [f"Cookie: {cookie}"] if cookie else []
    asking, address = (clients.python, site.https) if (bool(kind) if secure is None else secure) else (
        clients.plain, site.http)
    return asking(address, f"{name}.example.com", path, headers=headers)


def cookie_of(seen: clients.Seen) -> str:
    """Return the pair of name and value that an answer sets; "" for none."""
    return seen.headers.get("set-cookie", "").partition(";")[0]


def pods(site: Site, kind: str, cookie: str = "", name: str = "a", times: int = 8) -> set[str]:
    """Return the pods that answer a client with a cookie."""
    return {ask(site, kind, cookie, name).pod.get("pod", "") for _ in range(times)}


def received(seen: clients.Seen) -> str | None:
    """Return the cookies that came to the pod; None for no header."""
    values = [value for name, value in seen.pod["headers"] if name.lower() == "cookie"]
    return values[0] if values else None


@pytest.fixture(params=KINDS, ids=lambda kind: kind or "plain")
def kind(request) -> str:
    return request.param


def called(name: str, kind: str) -> str:
    """Return the name of a Route, or of a Service, that is there for each kind."""
    return f"{name}-{kind or 'plain'}"


def addresses_of(network: int, count: int = 4) -> list[str]:
    """Return addresses of pods that no other Service of the Site has."""
    return [f"10.2.{network}.{number}" for number in range(1, count + 1)]


@pytest.fixture(params=QUIRKS, ids=lambda quirks: "-".join(sorted(quirks)) or "default", scope="module")
def quirky(shared_site_of, request) -> Site:
    """A device's Routes for the tests that change none; each kind has Services of its own."""
    site = shared_site_of(quirks=request.param)
    for number, kind in enumerate(KINDS):
        for name, count, network in (("stays", 4, 10), ("forged", 2, 20)):
            serve(site, kind, called(name, kind), *addresses_of(network + number, count))
            site.apply(route(kind, called(name, kind), called(name, kind)))
        vault = route(kind, called("vault", kind), "vault-tls" if kind == "reencrypt" else "vault")
        vault["metadata"]["namespace"] = "bank"
        site.apply(vault)
    site.serve("vault", "10.9.9.9", namespace="bank")
    site.serve("vault-tls", "10.9.9.9", namespace="bank", port=8443, tls=PODS)
    serve(site, "", "web", *WEB)
    serve(site, "", "api", "10.1.2.1", "10.1.2.2")
    site.apply(route("", "a"), route("", "b", "api", cookie_name="b"),
               route("", "off", disable_cookies="true"), route("", "source", "api", balance="source"))
    assert site.converge() == []
    return site


def test_a_client_stays_with_its_pod(quirky, kind):
    """One cookie for each client, which no pod sees; other cookies are left alone."""
    site, name = quirky, called("stays", kind)
    first = ask(site, kind, name=name)
    cookie, text = cookie_of(first), first.headers["set-cookie"]
    suffix = "__" if kind == "reencrypt" else ""
    assert text == cookie + (f"{SECURE}None" if kind else OPEN)
    assert len(cookie.partition("=")[0]) == 32
    assert suffix or cookie.startswith(hashlib.md5(
        f"/Common/openshift_shop_{name}".encode(), usedforsecurity=False).hexdigest() + "=")
    assert first.headers["cache-control"] == "private"
    assert received(first) is None
    assert {cookie_of(ask(site, kind, name=name)) for _ in range(8)} > {cookie}
    for sent, left in [(cookie, None), (f"x=1; {cookie}", "x=1"), (f"x=1; {cookie}; y=2", "x=1; y=2"),
                       (f"{cookie}; {cookie}", None)]:
        again = ask(site, kind, sent, name)
        assert again.pod["pod"] == first.pod["pod"]
        assert received(again) == left
        assert "cache-control" not in again.headers or sent.count(cookie) > 1
        assert cookie_of(again) == "" or sent.count(cookie) > 1
    assert len(pods(site, kind, name=name)) == 4


OPTIONS = (
    ({"cookie_name": "my-Cookie_1"}, "", "my-Cookie_1", f"{SECURE}None"),
    ({"cookie-same-site": "Lax"}, "Redirect", "", f"{SECURE}Lax"),
    ({"cookie-same-site": "None"}, "None", "", f"{SECURE}None"),
    ({"cookie-same-site": "Strict", "cookie_name": "c"}, "", "c", f"{SECURE}Strict"),
    ({"cookie-same-site": "Lax", "cookie_name": "c"}, "Allow", "c", OPEN),
    ({}, "Allow", "", OPEN),
    ({"cookie_name": "bad name"}, "", "", f"{SECURE}None"),
    ({"disable_cookies": "false"}, "", "", f"{SECURE}None"),
    ({"balance": "leastconn"}, "", "", f"{SECURE}None"),
)
"""Annotations, insecureEdgeTerminationPolicy, name of the cookie if it is set, and the end of its header."""
WITHOUT = (
    ({"disable_cookies": "true"}, False), ({"disable_cookies": "1", "cookie_name": "c"}, False),
    ({"balance": "source"}, True), ({"balance": "source", "cookie_name": "c"}, True),
)
"""Annotations of Routes without a cookie; True if a client stays with its pod."""


@pytest.fixture(scope="module")
def of_options(shared_site_of) -> Site:
    """A Route and a Service for each row and kind."""
    site = shared_site_of()
    rows = [(f"option-{number}", kind, insecure, annotations)
            for number, (annotations, insecure, *_) in enumerate(OPTIONS) for kind in KINDS if kind]
    rows += [(f"without-{number}", kind, "", annotations)
             for number, (annotations, _) in enumerate(WITHOUT) for kind in KINDS]
    rows.append(("none", "passthrough", "", {"cookie_name": "c"}))
    for number, (row, kind, insecure, annotations) in enumerate(rows):
        name = called(row, kind)
        serve(site, kind, name, *addresses_of(number))
        site.apply(route(kind, name, name, insecure=insecure, **annotations))
    assert site.converge() == []
    return site


@pytest.mark.parametrize("number", range(len(OPTIONS)), ids=[str(row[0]) for row in OPTIONS])
@pytest.mark.parametrize("kind", ["edge", "reencrypt"])
def test_options(of_options, kind, number):
    _, insecure, name, end = OPTIONS[number]
    site, host = of_options, called(f"option-{number}", kind)
    header = ask(site, kind, name=host).headers["set-cookie"]
    cookie, rest = header.partition(";")[0], header[header.index(";"):]
    assert rest == end
    assert not name or cookie.startswith(f"{name}=")
    assert len(pods(site, kind, cookie, host)) == 1
    if insecure == "Allow":
        plain = ask(site, kind, cookie, host, secure=False)
        assert cookie_of(plain) == ""
        assert {plain.pod["pod"]} == pods(site, kind, cookie, host)


@pytest.mark.parametrize("number", range(len(WITHOUT)), ids=[str(row[0]) for row in WITHOUT])
def test_routes_without_a_cookie(of_options, kind, number):
    sticky, site, host = WITHOUT[number][1], of_options, called(f"without-{number}", kind)
    answer = ask(site, kind, "c=1.2.0000", host)
    assert "set-cookie" not in answer.headers
    assert "cache-control" not in answer.headers
    assert received(answer) == "c=1.2.0000"
    assert len(pods(site, kind, name=host)) == (1 if sticky else 4)


def test_passthrough_has_none(of_options):
    answer = ask(of_options, "passthrough", "c=1", called("none", "passthrough"))
    assert received(answer) == "c=1"
    assert "set-cookie" not in answer.headers


def test_one_service_in_routes_of_all_kinds(site):
    """They share a pool; Secure and SameSite are those of the Route, by either port."""
    serve(site, "", "web", *WEB)
    site.apply(route("", "p"), route("edge", "allow", insecure="Allow"), route("edge", "none"),
               route("edge", "redirect", insecure="Redirect"))
    assert site.converge() == []
    for name, secure, end in [("p", False, OPEN), ("allow", False, OPEN), ("allow", True, OPEN),
                              ("none", True, f"{SECURE}None"), ("redirect", True, f"{SECURE}None")]:
        text = ask(site, "edge", name=name, secure=secure).headers["set-cookie"]
        assert text[text.index(";"):] == end, name
    assert ask(site, "edge", name="redirect", secure=False).status == 302


def test_the_name_of_the_router(site):
    """A Route's own name goes before it."""
    serve(site, "", "web", *WEB)
    site.apply(route(""), route("", "b", cookie_name="mine"))
    assert site.converge(cookie_name="sticky") == []
    assert cookie_of(ask(site, "")).startswith("sticky=")
    assert cookie_of(ask(site, "", name="b")).startswith("mine=")


@pytest.fixture(scope="module")
def changing(shared_site_of) -> Iterator[tuple[Site, Controller]]:
    """A site and its router, for tests whose Services and Routes are their own."""
    site = shared_site_of()
    router = site.router()
    yield site, router
    router.close()


def test_a_weight_of_0(changing, kind):
    """Sessions go on; new clients come to the other Service."""
    site, router = changing
    name, web, api = (called(text, kind) for text in ("zero", "zero-web", "zero-api"))
    serve(site, kind, web, *addresses_of(KINDS.index(kind), 2))
    serve(site, kind, api, *addresses_of(10 + KINDS.index(kind), 1))
    site.apply(route(kind, name, web, weights={web: 1, api: 1}))
    site.settle(router)
    cookies = {seen.pod["pod"]: cookie_of(seen) for seen in (ask(site, kind, name=name) for _ in range(8))}
    of_web, of_api = ({pod for pod in cookies if pod.startswith(service)} for service in (web, api))
    assert (len(cookies), len(of_web), len(of_api)) == (3, 2, 1)
    for weights, new in [((3, 1), set(cookies)), ((0, 1), of_api), ((1, 0), of_web)]:
        site.apply(route(kind, name, web, weights=dict(zip((web, api), weights, strict=True))))
        site.settle(router)
        assert {pod: pods(site, kind, cookie, name, times=3) for pod, cookie in cookies.items()} == {
            pod: {pod} for pod in cookies}, weights
        assert pods(site, kind, name=name) == new, weights


def test_a_single_service_of_weight_0(changing, kind):
    site, router = changing
    name = called("single", kind)
    serve(site, kind, name, *addresses_of(20 + KINDS.index(kind)))
    obj = route(kind, name, name, cookie_name="c")
    site.apply(obj)
    site.settle(router)
    first = ask(site, kind, name=name)
    obj["spec"]["to"]["weight"] = 0
    site.apply(obj)
    site.settle(router)
    assert pods(site, kind, cookie_of(first), name) == {first.pod["pod"]}
    assert ask(site, kind, name=name).status == 503


def test_pods_come_and_go(changing, kind):
    """A pod that ends loses its sessions; those of the others go on."""
    site, router = changing
    name, web = called("moves", kind), addresses_of(30 + KINDS.index(kind))
    serve(site, kind, name, *web)
    site.apply(route(kind, name, name))
    site.settle(router)
    cookies = {seen.pod["pod"]: cookie_of(seen) for seen in (ask(site, kind, name=name) for _ in range(8))}
    assert len(cookies) == 4
    for addresses, draining in [(web[:3], web[3:]), (web[:3], ()), (web, ())]:
        scale(site, kind, name, *addresses, draining=draining)
        site.settle(router)
        site.later()
        site.settle(router)
        for pod, cookie in cookies.items():
            answers = pods(site, kind, cookie, name, times=3)
            ended = pod.removeprefix(f"{name}-") not in addresses
            assert (answers == {pod}) != ended, (pod, addresses)
            assert "" not in answers
        moved = ask(site, kind, cookies[f"{name}-{web[3]}"], name)
        assert (cookie_of(moved) == "") == (web[3] in addresses)


def forged(site: Site, cookie: str) -> list[str]:
    """Return Cookie headers that no BIG-IP made for this client."""
    name = cookie.partition("=")[0]
    secret = cookie_value(Member("/Common/openshift_bank_vault", "", "10.9.9.9", 8080))
    values = [secret, "1.2.0000", "0.0.0000", "9" * 300, "rd5o00000000000000000000ffff0a090909o8080",
              "vi0000000000000000000000000a090909.36895", "!x", "%00", "", "=", "10.9.9.9:8080", "-", "{",
              "[exit]"]
    return [*(f"{name}={value}" for value in values), f"{name}={secret}; {cookie}",
            f"{cookie}; {name}={secret}", f"{name.upper()}={secret}", f"{name}", f"{name} = {secret}",
            "; " * 50 + cookie,
            "; ".join([f"{name}={secret}"] * 200), f"$Version=1; {cookie}", f'{name}="{secret}"']


def test_a_forged_cookie(quirky, kind):
    """It leads to no pod but those of the Route, and fails no request."""
    site, name = quirky, called("forged", kind)
    own = cookie_of(ask(site, kind, name=name))
    others = cookie_of(ask(site, kind, name=called("vault", kind)))
    for cookie in (*forged(site, own), others, f"{own.partition('=')[0]}={others.partition('=')[2]}"):
        seen = ask(site, kind, cookie, name)
        assert seen.status == 200, cookie
        assert seen.pod["namespace"] == "shop", cookie
    flood = ask(site, kind, f"{own.partition('=')[0]}={'1' * 100_000}", name)
    assert flood.pod["namespace"] == "shop" if flood.status == 200 else not flood.body
    assert len(pods(site, kind, name=name)) == 2


def test_several_routes_on_one_connection(quirky):
    """Each request is answered as if it had a connection of its own, whichever two came before it."""
    site = quirky
    held = {name: ask(site, "", name=name) for name in "ab"}
    cookie = "; ".join(map(cookie_of, held.values()))
    for names in itertools.permutations(["a", "b", "off", "source", "nobody"], 3):
        requests = [clients.request_bytes(f"{name}.example.com", close=False, headers=[f"Cookie: {cookie}"])
                    for name in names]
        answers = dict(zip(names, clients.several(site.http, *requests), strict=False))
        for name, seen in answers.items():
            assert seen.status == (503 if name == "nobody" else 200)
            assert "set-cookie" not in seen.headers, (names, name)
            if name in held:
                assert seen.pod["pod"] == held[name].pod["pod"], (names, name)
                assert cookie_of(held[name]) not in received(seen)
            elif name != "nobody":
                assert received(seen) == cookie
    fresh = [clients.request_bytes(f"{name}.example.com", close=False) for name in ("a", "off", "a", "b")]
    sets = [cookie_of(seen).partition("=")[0] for seen in clients.several(site.http, *fresh)]
    names = [cookie_of(held[name]).partition("=")[0] for name in "ab"]
    assert sets == [names[0], "", names[0], names[1]]


def test_cookies_of_the_pod(site):
    """They are left alone; one with the name of the session cookie is not the client's business."""
    serve(site, "", "web", *WEB)
    site.apply(route("", cookie_name="c"))
    assert site.converge() == []
    cookie = cookie_of(ask(site, ""))
    for sent in ("", cookie):
        data = clients.request_bytes("a.example.com", "/?cookies=x%3D1,c%3Dmine,y%3D2,c%3D7", headers=(
            [f"Cookie: {sent}"] if sent else []))
        head = clients.whole(site.http, data).partition(b"\r\n\r\n")[0]
        sets = [line.partition(b": ")[2] for line in head.split(b"\r\n") if line.startswith(b"Set-Cookie")]
        assert sets[:2] == [b"x=1", b"y=2"]
        assert len(sets) == (2 if sent else 3)
        assert all(value.startswith(b"c=") and value.endswith(OPEN.encode()) for value in sets[2:])


def test_a_rolling_update(changing, kind):
    """No request is lost, with and without a cookie."""
    site, router = changing
    name, every = called("rolls", kind), addresses_of(40 + KINDS.index(kind), 8)
    addresses = every[:4]
    serve(site, kind, name, *addresses)
    site.apply(route(kind, name, name))
    site.settle(router)
    cookie = cookie_of(ask(site, kind, name=name))
    tls, port = (PODS, 8443) if kind == "reencrypt" else (None, 8080)
    pair = (tls.certificate.encode(), tls.key.encode()) if tls else None
    for new in every[4:]:
        site.pod(new, name, port=port, tls=pair)
        old = addresses.pop(0)
        addresses.append(new)
        scale(site, kind, name, *addresses, draining=(old,))
        for _ in range(2):
            for sent in ("", cookie):
                seen = ask(site, kind, sent, name)
                assert seen.status == 200
                cookie = cookie_of(seen) or cookie
            site.settle(router)
        scale(site, kind, name, *addresses)
        site.settle(router)
        site.pods.stop(old, port)
        for sent in ("", cookie):
            assert ask(site, kind, sent, name).status == 200


@pytest.mark.parametrize("version", ["11.6.0", "12.0.0"])
def test_before_rules_can_name_their_pool(site_of, version):
    site = site_of(tmos_version=version)
    serve(site, "", "web", *WEB)
    site.apply(route("", cookie_name="c"))
    assert site.converge() == []
    assert "set-cookie" not in ask(site, "").headers
    assert site.bigip.store.get("ltm/rule", "/Common/openshift_session_cookie_irule") is None


def test_a_router_without_cookies(site_of):
    """A Route that names one has it; `source` keeps clients by their address all the same."""
    site = site_of(address="")
    site.serve("web", *addresses_of(1))
    named, by_address = route("", "named"), route("", "source")
    named["metadata"]["annotations"] = {"router.openshift.io/cookie_name": "mine"}
    by_address["metadata"]["annotations"] = {"haproxy.router.openshift.io/balance": "source"}
    site.apply(route(""), named, by_address)
    flags = {"f5_vserver_address": "203.0.113.10"}
    assert site.converge(**flags) == []
    assert cookie_of(ask(site, ""))
    site.clear()
    assert site.converge(**flags, disable_cookies="true") == []
    assert [path.rpartition("/")[2] for _, path in site.writes() if "/ltm/" in path] == [
        "~Common~openshift_request_irule"]
    assert cookie_of(ask(site, "")) == ""
    assert cookie_of(ask(site, "", name="named")).startswith("mine=")
    assert len(pods(site, "", name="source")) == 1
    assert len(pods(site, "")) == 4
