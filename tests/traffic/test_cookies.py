"""Session cookies: a client that brings one comes to the pod that it names, whatever the balance is."""

import hashlib
import itertools

import pytest

from f5router.admission.route_options import HAPROXY, ROUTER
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


@pytest.mark.parametrize("quirks", QUIRKS, ids=lambda quirks: "-".join(sorted(quirks)) or "default")
def test_a_client_stays_with_its_pod(site_of, kind, quirks):
    """One cookie for each client, which no pod sees; other cookies are left alone."""
    site = site_of(quirks=quirks)
    serve(site, kind, "web", *WEB)
    site.apply(route(kind))
    assert site.converge() == []
    first = ask(site, kind)
    cookie, text = cookie_of(first), first.headers["set-cookie"]
    suffix = "__" if kind == "reencrypt" else ""
    assert text == cookie + (f"{SECURE}None" if kind else OPEN)
    assert len(cookie.partition("=")[0]) == 32
    assert suffix or cookie.startswith(hashlib.md5(
        b"/Common/openshift_shop_web", usedforsecurity=False).hexdigest() + "=")
    assert first.headers["cache-control"] == "private"
    assert received(first) is None
    assert {cookie_of(ask(site, kind)) for _ in range(8)} > {cookie}
    for sent, left in [(cookie, None), (f"x=1; {cookie}", "x=1"), (f"x=1; {cookie}; y=2", "x=1; y=2"),
                       (f"{cookie}; {cookie}", None)]:
        again = ask(site, kind, sent)
        assert again.pod["pod"] == first.pod["pod"]
        assert received(again) == left
        assert "cache-control" not in again.headers or sent.count(cookie) > 1
        assert cookie_of(again) == "" or sent.count(cookie) > 1
    assert len(pods(site, kind)) == 4


@pytest.mark.parametrize(("annotations", "insecure", "name", "end"), [
    ({"cookie_name": "my-Cookie_1"}, "", "my-Cookie_1", f"{SECURE}None"),
    ({"cookie-same-site": "Lax"}, "Redirect", "", f"{SECURE}Lax"),
    ({"cookie-same-site": "None"}, "None", "", f"{SECURE}None"),
    ({"cookie-same-site": "Strict", "cookie_name": "c"}, "", "c", f"{SECURE}Strict"),
    ({"cookie-same-site": "Lax", "cookie_name": "c"}, "Allow", "c", OPEN),
    ({}, "Allow", "", OPEN),
    ({"cookie_name": "bad name"}, "", "", f"{SECURE}None"),
    ({"disable_cookies": "false"}, "", "", f"{SECURE}None"),
    ({"balance": "leastconn"}, "", "", f"{SECURE}None"),
])
@pytest.mark.parametrize("kind", ["edge", "reencrypt"])
def test_options(site, kind, annotations, insecure, name, end):
    serve(site, kind, "web", *WEB)
    site.apply(route(kind, insecure=insecure, **annotations))
    assert site.converge() == []
    header = ask(site, kind).headers["set-cookie"]
    cookie, rest = header.partition(";")[0], header[header.index(";"):]
    assert rest == end
    assert not name or cookie.startswith(f"{name}=")
    assert len(pods(site, kind, cookie)) == 1
    if insecure == "Allow":
        plain = ask(site, kind, cookie, secure=False)
        assert cookie_of(plain) == ""
        assert {plain.pod["pod"]} == pods(site, kind, cookie)


@pytest.mark.parametrize(("annotations", "sticky"), [
    ({"disable_cookies": "true"}, False), ({"disable_cookies": "1", "cookie_name": "c"}, False),
    ({"balance": "source"}, True), ({"balance": "source", "cookie_name": "c"}, True),
])
def test_routes_without_a_cookie(site, kind, annotations, sticky):
    serve(site, kind, "web", *WEB)
    site.apply(route(kind, **annotations))
    assert site.converge() == []
    answer = ask(site, kind, "c=1.2.0000")
    assert "set-cookie" not in answer.headers
    assert "cache-control" not in answer.headers
    assert received(answer) == "c=1.2.0000"
    assert len(pods(site, kind)) == (1 if sticky else 4)


def test_passthrough_has_none(site):
    serve(site, "passthrough", "web", *WEB)
    site.apply(route("passthrough", cookie_name="c"))
    assert site.converge() == []
    answer = ask(site, "passthrough", "c=1")
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


def test_a_weight_of_0(site, kind):
    """Sessions go on; new clients come to the other Service."""
    serve(site, kind, "web", "10.1.1.1", "10.1.1.2")
    serve(site, kind, "api", "10.1.2.1")
    site.apply(route(kind, weights={"web": 1, "api": 1}))
    router = site.router()
    site.settle(router)
    cookies = {seen.pod["pod"]: cookie_of(seen) for seen in (ask(site, kind) for _ in range(8))}
    assert set(cookies) == {"web-10.1.1.1", "web-10.1.1.2", "api-10.1.2.1"}
    for weights, new in [({"web": 3, "api": 1}, set(cookies)), ({"web": 0, "api": 1}, {"api-10.1.2.1"}),
                         ({"web": 1, "api": 0}, {"web-10.1.1.1", "web-10.1.1.2"})]:
        site.apply(route(kind, weights=weights))
        site.settle(router)
        assert {pod: pods(site, kind, cookie, times=3) for pod, cookie in cookies.items()} == {
            pod: {pod} for pod in cookies}, weights
        assert pods(site, kind) == new, weights
    router.close()


def test_a_single_service_of_weight_0(site, kind):
    serve(site, kind, "web", *WEB)
    site.apply(route(kind, cookie_name="c"))
    router = site.router()
    site.settle(router)
    first = ask(site, kind)
    obj = route(kind, cookie_name="c")
    obj["spec"]["to"]["weight"] = 0
    site.apply(obj)
    site.settle(router)
    assert pods(site, kind, cookie_of(first)) == {first.pod["pod"]}
    assert ask(site, kind).status == 503
    router.close()


def test_pods_come_and_go(site, kind):
    """A pod that ends loses its sessions; those of the others go on."""
    serve(site, kind, "web", *WEB)
    site.apply(route(kind))
    router = site.router()
    site.settle(router)
    cookies = {seen.pod["pod"]: cookie_of(seen) for seen in (ask(site, kind) for _ in range(8))}
    assert len(cookies) == 4
    for addresses, draining in [(WEB[:3], WEB[3:]), (WEB[:3], ()), (WEB, ())]:
        scale(site, kind, "web", *addresses, draining=draining)
        site.settle(router)
        site.later()
        site.settle(router)
        for pod, cookie in cookies.items():
            answers = pods(site, kind, cookie, times=3)
            ended = pod.removeprefix("web-") not in addresses
            assert (answers == {pod}) != ended, (pod, addresses)
            assert "" not in answers
        moved = ask(site, kind, cookies[f"web-{WEB[3]}"])
        assert (cookie_of(moved) == "") == (WEB[3] in addresses)
    router.close()


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


@pytest.mark.parametrize("quirks", QUIRKS, ids=lambda quirks: "-".join(sorted(quirks)) or "default")
def test_a_forged_cookie(site_of, kind, quirks):
    """It leads to no pod but those of the Route, and fails no request."""
    site = site_of(quirks=quirks)
    serve(site, kind, "web", "10.1.1.1", "10.1.1.2")
    tls, port = (PODS, 8443) if kind == "reencrypt" else (None, 8080)
    site.serve("vault", "10.9.9.9", namespace="bank", port=port, tls=tls)
    vault = route(kind, "vault", "vault")
    vault["metadata"]["namespace"] = "bank"
    site.apply(route(kind), vault)
    assert site.converge() == []
    own, others = cookie_of(ask(site, kind)), cookie_of(ask(site, kind, name="vault"))
    for cookie in (*forged(site, own), others, f"{own.partition('=')[0]}={others.partition('=')[2]}"):
        seen = ask(site, kind, cookie)
        assert seen.status == 200, cookie
        assert seen.pod["namespace"] == "shop", cookie
    flood = ask(site, kind, f"{own.partition('=')[0]}={'1' * 100_000}")
    assert seen.pod["namespace"] == "shop" if flood.status == 200 else not flood.body
    assert len(pods(site, kind)) == 2


@pytest.mark.parametrize("quirks", QUIRKS, ids=lambda quirks: "-".join(sorted(quirks)) or "default")
def test_several_routes_on_one_connection(site_of, quirks):
    """Each request is answered as if it had a connection of its own, whichever two came before it."""
    site = site_of(quirks=quirks)
    serve(site, "", "web", *WEB)
    serve(site, "", "api", "10.1.2.1", "10.1.2.2")
    site.apply(route("", "a"), route("", "b", "api", cookie_name="b"),
               route("", "off", disable_cookies="true"), route("", "source", "api", balance="source"))
    assert site.converge() == []
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


def test_a_rolling_update(site, kind):
    """No request is lost, with and without a cookie."""
    serve(site, kind, "web", *WEB)
    site.apply(route(kind))
    router = site.router()
    site.settle(router)
    cookie = cookie_of(ask(site, kind))
    addresses = list(WEB)
    for number in range(5, 9):
        new = f"10.1.1.{number}"
        tls, port = (PODS, 8443) if kind == "reencrypt" else (None, 8080)
        pair = (tls.certificate.encode(), tls.key.encode()) if tls else None
        site.pod(new, "web", port=port, tls=pair)
        old = addresses.pop(0)
        addresses.append(new)
        scale(site, kind, "web", *addresses, draining=(old,))
        for _ in range(2):
            for sent in ("", cookie):
                seen = ask(site, kind, sent)
                assert seen.status == 200
                cookie = cookie_of(seen) or cookie
            site.settle(router)
        scale(site, kind, "web", *addresses)
        site.settle(router)
        site.pods.stop(old, port)
        for sent in ("", cookie):
            assert ask(site, kind, sent).status == 200
    router.close()


@pytest.mark.parametrize("version", ["11.6.0", "12.0.0"])
def test_before_rules_can_name_their_pool(site_of, version):
    site = site_of(tmos_version=version)
    serve(site, "", "web", *WEB)
    site.apply(route("", cookie_name="c"))
    assert site.converge() == []
    assert "set-cookie" not in ask(site, "").headers
    assert site.bigip.store.get("ltm/rule", "/Common/openshift_session_cookie_irule") is None
