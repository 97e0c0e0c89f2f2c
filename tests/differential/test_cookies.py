"""Session cookies: our router against HAProxy's. The values differ: HAProxy's are hashes."""

from dataclasses import dataclass

import pytest

from tests.differential.conftest import Pair, Router
from tests.differential.haproxy_config import HAPROXY, ROUTER
from tests.differential.outcomes import Request
from tests.differential.test_options import annotated
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

KINDS = ("", "edge", "reencrypt", "passthrough")
CASES = {
    "default": {},
    "named": {f"{ROUTER}cookie_name": "my-Cookie_1"},
    "bad-name": {f"{ROUTER}cookie_name": "my cookie"},
    "off": {f"{HAPROXY}disable_cookies": "true"},
    "off-in-short": {f"{HAPROXY}disable_cookies": "1"},
    "not-off": {f"{HAPROXY}disable_cookies": "false"},
    "badly-off": {f"{HAPROXY}disable_cookies": "yes"},
    "lax": {f"{ROUTER}cookie-same-site": "Lax"},
    "strict": {f"{ROUTER}cookie-same-site": "Strict", f"{ROUTER}cookie_name": "c"},
    "bad-site": {f"{ROUTER}cookie-same-site": "lax"},
    "leastconn": {f"{HAPROXY}balance": "leastconn"},
}


def build(site: Site) -> None:
    for prefix, network, port, tls in (("", "10.1", 8080, None), ("tls-", "10.2", 8443, PODS)):
        site.serve(f"{prefix}web", f"{network}.1.1", f"{network}.1.2", f"{network}.1.3", port=port, tls=tls)
        site.serve(f"{prefix}old", f"{network}.2.1", port=port, tls=tls)
    for kind in KINDS:
        site.apply(*(annotated(name, kind, annotations) for name, annotations in CASES.items()))
    for insecure in ("Allow", "Redirect", "None"):
        site.apply(*(annotated(f"{name}-{insecure}".lower(), "edge", CASES[name], insecure=insecure)
                     for name in ("default", "strict")))


@pytest.fixture(scope="module")
def pair(pair_of) -> Pair:
    return pair_of(build)


@dataclass(frozen=True)
class Answer:
    """A client's view of the cookie, without its value."""

    status: int
    name: str
    """Name that the Route gave it, "a hash", or ""."""
    attributes: frozenset[str] = frozenset()
    cache_control: str = ""
    received: str | None = None
    """Cookies that came to the pod."""
    again: tuple[str, ...] = ()
    """Whether the pod was the same when the cookie came back, what was set then and what came to the pod."""


def names(pair: str) -> str:
    name = pair.partition("=")[0]
    return "a hash" if len(name) == 32 else name


def cookies_of(seen: clients.Seen) -> str | None:
    values = [value for name, value in seen.pod["headers"] if name.lower() == "cookie"] if seen.pod else []
    return "; ".join(values) if values else None


def answer(router: Router, host: str, *, secure: bool) -> Answer:
    """Return what two requests of a client get; the second one brings the cookie of the first."""
    first = Request(host, "/?etag=1", secure=secure, how={"headers": ["Cookie: x=1"]}).send(router)
    if not first.pod:
        return Answer(first.status, names(first.headers.get("set-cookie", "")))
    pair, *attributes = first.headers.get("set-cookie", "").split("; ")
    sent = f"x=1; {pair}; y=2" if pair else "x=1; y=2"
    again = Request(host, "/?etag=1", secure=secure, how={"headers": [f"Cookie: {sent}"]})
    later = [again.send(router) for _ in range(3)]
    stays = {seen.pod["pod"] for seen in later} == {first.pod["pod"]}
    then = ("stays" if stays or not pair else "moves", *(
        f"{names(seen.headers.get('set-cookie', ''))}, {seen.headers.get('cache-control', '')}, "
        f"{cookies_of(seen)}" for seen in later))
    return Answer(first.status, names(pair), frozenset(attributes), first.headers.get("cache-control", ""),
                  cookies_of(first), then)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize("name", CASES)
def test_cookies(pair, name, kind):
    host = f"{name}-{kind}.example.com" if kind else f"{name}.example.com"
    theirs, ours = pair.both(lambda router: answer(router, host, secure=bool(kind)))
    assert ours == theirs
    assert ours.status == 200
    assert bool(ours.name) == (kind != "passthrough" and not name.startswith("off"))


@pytest.mark.parametrize("insecure", ["allow", "redirect", "none"])
@pytest.mark.parametrize("name", ["default", "strict"])
@pytest.mark.parametrize("secure", [True, False], ids=["TLS", "port 80"])
def test_insecure_policies(pair, name, insecure, secure):
    """A cookie that port 80 uses too is for both ports."""
    theirs, ours = pair.both(lambda router: answer(
        router, f"{name}-{insecure}-edge.example.com", secure=secure))
    assert ours == theirs
    assert ("Secure" in ours.attributes) == (secure and insecure != "allow")


@pytest.mark.parametrize("cookie", [
    "my-Cookie_1=x", "my-Cookie_1=", "my-Cookie_1=x; my-Cookie_1=y", "MY-COOKIE_1=x",
    "my-Cookie_1=1.2.0000", "my-Cookie_1=" + "9" * 3000])
def test_a_cookie_that_names_no_pod(pair, cookie):
    """It is replaced, and comes to no pod."""
    def outcome(router: Router) -> tuple:
        seen = Request("named.example.com", how={"headers": [f"Cookie: {cookie}"]}).send(router)
        return seen.status, names(seen.headers["set-cookie"]), cookies_of(seen)
    theirs, ours = pair.both(outcome)
    assert ours == theirs
    assert ours[:2] == (200, "my-Cookie_1")


def test_a_pod_that_sets_a_cookie_of_this_name(pair):
    """Its cookie does not come to the client."""
    request = clients.request_bytes("named.example.com", "/?cookies=x%3D1,my-Cookie_1%3Dmine,y%3D2")

    def cookies(router: Router) -> list[str]:
        head = clients.whole(router.http, request).partition(b"\r\n\r\n")[0].decode()
        lines = [line.partition(": ") for line in head.split("\r\n")]
        pairs = [value.partition(";")[0] for name, _, value in lines if name.lower() == "set-cookie"]
        return [names(pair) if names(pair) == "my-Cookie_1" and pair != "my-Cookie_1=mine" else pair
                for pair in pairs]
    theirs, ours = pair.both(cookies)
    assert ours == theirs == ["x=1", "y=2", "my-Cookie_1"]


def test_requests_of_one_connection(pair):
    """Each Route of a connection has its own cookie, or none."""
    hosts = [f"{name}.example.com" for name in ("named", "off", "strict", "off", "named", "default")]
    requests = [clients.request_bytes(host, close=False) for host in hosts]

    def cookie_values(router: Router) -> list[str]:
        return [names(seen.headers.get("set-cookie", "")) for seen in clients.several(router.http, *requests)]
    theirs, ours = pair.both(cookie_values)
    assert ours == theirs == ["my-Cookie_1", "", "c", "", "my-Cookie_1", "a hash"]
