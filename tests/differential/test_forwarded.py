"""Headers by which pods know the client, as each policy sets them: our router against HAProxy's."""

import pytest

from tests.differential.conftest import Pair, Router
from tests.differential.haproxy_config import HAPROXY
from tests.differential.outcomes import Request, in_turn
from tests.differential.test_options import annotated
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

KINDS = ("", "edge", "reencrypt", "passthrough")
POLICIES = ("append", "replace", "if-none", "never")
ROUTES = {"default": "", "bad": "Append", **{name: name for name in POLICIES}}
"""Name of a host: the annotation of its Route."""
NAMES = ("x-forwarded-for", "x-forwarded-host", "x-forwarded-port", "x-forwarded-proto",
         "x-forwarded-proto-version", "forwarded")
SENT = {
    "nothing": (),
    "all": ("X-Forwarded-For: 192.0.2.1", "X-Forwarded-Host: other", "X-Forwarded-Port: 1",
            "X-Forwarded-Proto: spdy", "X-Forwarded-Proto-Version: h3", "Forwarded: for=192.0.2.1"),
    "twice": ("X-Forwarded-For: 192.0.2.1", "x-forwarded-for: 192.0.2.2", "Forwarded: for=a",
              "FORWARDED: for=b", "X-Forwarded-Proto: https", "X-Forwarded-Proto: http"),
    "some": ("X-Forwarded-Proto: https",),
    "lists": ("X-Forwarded-Proto: https, ftp", "X-Forwarded-For: a, b"),
    "empty": ("X-Forwarded-For:", "X-Forwarded-Proto:", "Forwarded:"),
    "hostile": ("X-Forwarded-For: $x [exit] {", "X-Forwarded-Proto: ];}", 'Forwarded: "\\'),
}


def build(site: Site) -> None:
    site.serve("web", "10.1.1.1")
    site.serve("tls-web", "10.2.1.1", port=8443, tls=PODS)
    for kind in KINDS:
        site.apply(*(annotated(name, kind, {f"{HAPROXY}set-forwarded-headers": text} if text else {})
                     for name, text in ROUTES.items()))
    site.apply(annotated("allow", "edge", {}, insecure="Allow"))


@pytest.fixture(scope="module", params=["", *POLICIES], ids=lambda text: text or "no variable")
def pair(pair_of, request) -> Pair:
    """Both routers with each default."""
    return pair_of(build, variables={"ROUTER_SET_FORWARDED_HEADERS": request.param} if request.param else {})


def received(router: Router, seen: clients.Seen, *, secure: bool) -> list[tuple[str, str]]:
    """Return the headers that a pod got; the port is named by what listens there."""
    port, name = (router.https, "443") if secure else (router.http, "80")
    pairs = [(key.lower(), value) for key, value in seen.pod["headers"] if key.lower() in NAMES]
    return sorted((key, name if key == "x-forwarded-port" and value == str(port[1]) else value)
                  for key, value in pairs)


def ask(router: Router, host: str, sent: str, *, secure: bool) -> list[tuple[str, str]]:
    request = Request(host, secure=secure, how={"headers": SENT[sent]})
    return received(router, request.send(router), secure=secure)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize("name", ROUTES)
def test_policies(pair, name, kind):
    """Each request by itself, whatever came before it on the connection."""
    host, requests = f"{name}-{kind}.example.com" if kind else f"{name}.example.com", [
        ("/", headers) for headers in SENT.values()]
    theirs, ours = pair.both(lambda router: dict(zip(SENT, (
        received(router, seen, secure=bool(kind))
        for seen in in_turn(router, host, requests, secure=bool(kind))), strict=True)))
    assert ours == theirs


def test_port_80_of_a_route_with_tls(pair):
    theirs, ours = pair.both(lambda router: ask(router, "allow-edge.example.com", "all", secure=False))
    assert ours == theirs


@pytest.mark.parametrize("host", ["DEFAULT.example.com", "default.example.com:8080", "default.example.com."])
def test_spellings_of_the_host(pair, host):
    theirs, ours = pair.both(lambda router: ask(router, host, "nothing", secure=False))
    assert ours == theirs


def test_requests_of_one_connection(pair):
    """Each is treated as its own Route wants it."""
    hosts = [f"{name}.example.com" for name in ("never", "append", "replace", "never", "if-none", "default",
                                                "replace", "never")]
    requests = [clients.request_bytes(host, headers=SENT["all"], close=False) for host in hosts]

    def of_each(router: Router) -> list:
        return [received(router, seen, secure=False) for seen in clients.several(router.http, *requests)]
    theirs, ours = pair.both(of_each)
    assert ours == theirs
    assert len(ours) == len(hosts)
