"""The router's own defaults for Routes without an annotation: the same variables for both routers."""

import contextlib
import socket
import ssl
from collections import Counter

import pytest

from tests.differential.conftest import Pair, Router
from tests.differential.haproxy_config import HAPROXY, PREFIXES, ROUTER
from tests.differential.outcomes import Request
from tests.differential.test_cookies import names
from tests.differential.test_options import annotated
from tests.differential.test_weights import ask
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.waiting import DEADLINE_S, until

KINDS = ("", "edge", "reencrypt", "passthrough")
HTTP_KINDS = KINDS[:3]
VARIABLES = {
    "leastconn": {"ROUTER_LOAD_BALANCE_ALGORITHM": "leastconn", "ROUTER_TCP_BALANCE_SCHEME": "roundrobin",
                  "ROUTER_COOKIE_NAME": "router-Cookie"},
    "roundrobin": {"ROUTER_LOAD_BALANCE_ALGORITHM": "roundrobin"},
    "source": {"ROUTER_LOAD_BALANCE_ALGORITHM": "source", "ROUTER_TCP_BALANCE_SCHEME": "leastconn"},
}
"""By name of a Pair."""
ROUTES = {
    "plainly": {},
    "bad": {f"{HAPROXY}balance": "fastest", f"{ROUTER}cookie_name": "my cookie"},
    "own": {f"{HAPROXY}balance": "roundrobin", f"{ROUTER}cookie_name": "own-Cookie"},
    "least": {f"{HAPROXY}balance": "leastconn"},
}


def build(site: Site) -> None:
    for prefix, network, port, tls in (("", "10.1", 8080, None), ("tls-", "10.2", 8443, PODS)):
        site.serve(f"{prefix}web", *(f"{network}.1.{pod}" for pod in range(1, 5)), port=port, tls=tls)
        site.serve(f"{prefix}two", f"{network}.2.1", f"{network}.2.2", port=port, tls=tls)
    for kind in KINDS:
        site.apply(*(annotated(name, kind, annotations) for name, annotations in ROUTES.items()),
                   annotated("pair", kind, {}, service="two"))


@pytest.fixture(scope="module")
def pairs(pair_of) -> dict[str, Pair]:
    return {name: pair_of(build, variables=variables) for name, variables in VARIABLES.items()}


def host(name: str, kind: str) -> str:
    return f"{name}-{kind}.example.com" if kind else f"{name}.example.com"


def spread(router: Router, name: str, kind: str, requests: int = 8) -> list[int]:
    """Return how many requests each pod got, in ascending order; nothing if one had no answer of a pod."""
    whole = f"{name}-{kind}" if kind else name
    pods = [ask(router, whole, kind).pod.get("pod") for _ in range(requests)]
    return sorted(Counter(pods).values()) if all(pods) else []


@pytest.mark.parametrize(("settings", "name", "kind", "expected"), [
    *(("roundrobin", name, kind, [2] * 4) for name in ("plainly", "bad", "own") for kind in KINDS),
    *(("source", name, kind, [8]) for name in ("plainly", "bad") for kind in HTTP_KINDS),
    *(("source", "own", kind, [2] * 4) for kind in KINDS),
    *(("leastconn", name, "passthrough", [2] * 4) for name in ("plainly", "bad", "own")),
])
def test_balance(pairs, settings, name, kind, expected):
    """Passthrough Routes take the first of the two variables that is set.

    A pod may be down for a while on a busy machine, when its health check had no answer in time.
    """
    pairs[settings].both(lambda router: until(lambda: spread(router, name, kind) == expected))


def fewest(pair: Pair, router: Router, name: str, kind: str) -> None:
    """Have two requests under way at each of two pods, end one pod's, and wait until it gets all new ones."""
    pods = list(pair.site.pods)
    request = clients.request_bytes(host(name, kind), method="POST", headers=["Content-Length: 1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    under_way: dict[str, list[socket.socket]] = {}
    with contextlib.ExitStack() as stack:
        for _ in range(4):
            before = {pod.name: len(pod.requests) for pod in pods}
            sock = stack.enter_context(
                socket.create_connection(router.https if kind else router.http, DEADLINE_S))
            if kind:
                sock = stack.enter_context(context.wrap_socket(sock, server_hostname=host(name, kind)))
            sock.sendall(request)
            arrived = until(lambda before=before: [
                pod.name for pod in pods if len(pod.requests) > before[pod.name]])
            under_way.setdefault(arrived[0], []).append(sock)
        assert [len(sockets) for sockets in under_way.values()] == [2, 2]
        free = min(under_way)
        for sock in under_way[free]:
            sock.close()
        whole = f"{name}-{kind}" if kind else name
        # The router learns of the end a moment later.
        until(lambda: [ask(router, whole, kind).pod.get("pod") for _ in range(2)] == [free] * 2)


@pytest.mark.parametrize(("settings", "kinds"), [
    ("leastconn", HTTP_KINDS), ("source", ("passthrough",))])
def test_the_fewest_connections(pairs, settings, kinds):
    """The pod that is free gets all requests; in turn, it would get every second one."""
    pair = pairs[settings]
    for kind in kinds:
        pair.both(lambda router, kind=kind: fewest(pair, router, "pair", kind))


def build_halves(site: Site) -> None:
    for prefix, network, port, tls in (("", "10.1", 8080, None), ("tls-", "10.2", 8443, PODS)):
        site.serve(f"{prefix}half", f"{network}.3.1", f"{network}.3.2", port=port, tls=tls)
    site.apply(*(annotated("half", kind, {}, service="half") for kind in KINDS))


@pytest.fixture(scope="module")
def checked(pair_of) -> Pair:
    """Pods are looked at so often that on a busy machine HAProxy takes some for down: for one test alone."""
    return pair_of(build_halves, variables={
        "ROUTER_LOAD_BALANCE_ALGORITHM": "roundrobin", "ROUTER_BACKEND_CHECK_INTERVAL": "200ms"})


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_a_pod_that_is_checked(checked, kind):
    """The router's own interval: a pod that has gone is found down, and the other one answers everybody."""
    pair, name = checked, f"half-{kind}" if kind else "half"
    address, port = ("10.2.3.2", 8443) if kind in ("reencrypt", "passthrough") else ("10.1.3.2", 8080)
    if pair.site.pods.lookup(address, port):
        pair.site.pods.stop(address, port)
    until(lambda: pair.process.checked_down(f"{PREFIXES[kind]}:shop:{name}"))
    until(lambda: spread(pair.haproxy, "half", kind, 4) == [4])
    assert spread(pair.ours, "half", kind, 4) == [4]


@pytest.mark.parametrize("kind", HTTP_KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize(("settings", "name", "expected"), [
    ("leastconn", "plainly", "router-Cookie"), ("leastconn", "bad", "router-Cookie"),
    ("leastconn", "own", "own-Cookie"), ("roundrobin", "plainly", "a hash"),
    ("roundrobin", "own", "own-Cookie"),
])
def test_name_of_the_cookie(pairs, settings, name, kind, expected):
    def cookie(router: Router) -> str:
        seen = Request(host(name, kind), secure=bool(kind)).send(router)
        return names(seen.headers.get("set-cookie", ""))
    theirs, ours = pairs[settings].both(cookie)
    assert ours == theirs == expected
