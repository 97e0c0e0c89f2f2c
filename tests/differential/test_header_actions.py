"""Header actions of Routes and of the router: ours against HAProxy's."""

from collections.abc import Iterable
from urllib.parse import quote

import pytest

from tests.differential.conftest import Pair, Router
from tests.differential.haproxy_config import HAPROXY
from tests.differential.outcomes import Request, in_turn
from tests.differential.test_options import annotated
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site

KINDS = ("", "edge", "reencrypt")
OURS = ("x-", "forwarded", "server", "accept", "host", "strict-transport-security", "cache-control")
"""Beginnings of the names of headers that are compared."""


def to_set(name: str, value: str) -> dict:
    return {"name": name, "action": {"type": "Set", "set": {"value": value}}}


def to_delete(name: str) -> dict:
    return {"name": name, "action": {"type": "Delete"}}


REQUESTS = {
    "set": [to_set("X-A", "one"), to_set("X-New", "two")],
    "delete": [to_delete("X-A"), to_delete("x-b"), to_delete("X-None")],
    "order": [to_set("X-A", "1"), to_delete("x-a"), to_set("x-A", "2"), to_set("X-Copy", "%[req.hdr(X-A)]")],
    "dynamic": [to_set("X-Host", "%[req.hdr(Host)]"), to_set("X-Low", "%[req.hdr(X-A),lower]"),
                to_set("X-Base", "%[req.hdr(X-A),base64]"), to_set("X-Both", "%[req.hdr(X-A),lower,base64]"),
                to_set("X-Quoted", "%{+Q}[req.hdr(X-A)]"), to_set("X-Absent", "%[req.hdr(X-None)]"),
                to_set("X-Quoted-Absent", "%{+Q}[req.hdr(X-None)]"), to_set("X-Text", "a %[req.hdr(x-a)] b"),
                to_set("X-Percent", "100%%"), to_set("X-Der", "<%{+Q}[ssl_c_der,base64]>")],
    "hostile": [to_set("X-1", "{$x} [exit] \\ ; \" ' # }{"), to_set("X-2", "$(reboot)`id`"),
                to_set("X-$x", "[HTTP::uri]"), to_set("x-%2", "\u00e4"), to_set("X-3", "a" * 1000)],
    "forwarded": [to_set("X-Forwarded-For", "192.0.2.9"), to_set("X-Forwarded-Proto", "spdy"),
                  to_delete("Forwarded")],
    "host": [to_set("Host", "inside.example.com"), to_set("X-Host", "%[req.hdr(Host)]")],
    "ssl": [to_set("X-SSL-Client-CN", "me"), to_set("X-SSL", "1")],
    "itself": [to_set("X-A", "%[req.hdr(X-A)], again")],
}
"""Name of a host: actions of its Route."""
RESPONSES = {
    "set": [to_set("X-A", "one"), to_set("X-Frame-Options", "DENY")],
    "delete": [to_delete("X-A"), to_delete("Server")],
    "order": [to_set("X-Copy", "%[res.hdr(X-A)]"), to_delete("X-A"), to_set("x-a", "2")],
    "dynamic": [to_set("X-Low", "%[res.hdr(X-A),lower]"), to_set("X-Base", "%[res.hdr(X-A),base64]"),
                to_set("X-Quoted", "%{+Q}[res.hdr(X-A)]"), to_set("X-Absent", "<%[res.hdr(X-None)]>")],
    "cache": [to_set("Cache-Control", "no-store")],
    "hostile": REQUESTS["hostile"],
}
SENT = {
    "once": ("X-A: Value, Last One", "X-B: b"), "twice": ("X-A: First", "x-a: Second", "X-B: 1", "X-B: 2"),
    "quoted": ('X-A: one, "two, three"', 'X-B: "'), "nothing": (), "empty": ("X-A:",),
    "blanks": ("X-A:   a  ,  b  ",),
}
GLOBALS = {
    "ROUTER_HTTP_REQUEST_HEADERS": ",".join([
        "X-Global:all:Set", "X-A:global:Set", "X-B:Delete", f"X-Was:{quote('%[req.hdr(X-A),lower]')}:Set",
        "X-Forwarded-Proto:global:Set"]),
    "ROUTER_HTTP_RESPONSE_HEADERS": ",".join([
        "X-Global:all:Set", "X-Frame-Options:SAMEORIGIN:Set", f"X-Was:{quote('%[res.hdr(X-A)]')}:Set",
        "Server:Delete"]),
}


def build(site: Site) -> None:
    site.serve("web", "10.1.1.1")
    site.serve("tls-web", "10.2.1.1", port=8443, tls=PODS)
    for kind in KINDS:
        for name in {*REQUESTS, *RESPONSES, "none"}:
            route = annotated(name, kind, {})
            route["spec"]["httpHeaders"] = {"actions": {
                "request": REQUESTS.get(name, []), "response": RESPONSES.get(name, [])}}
            site.apply(route)
    for policy in ("replace", "if-none", "never"):
        route = annotated(f"forwarded-{policy}", "", {f"{HAPROXY}set-forwarded-headers": policy})
        route["spec"]["httpHeaders"] = {"actions": {"request": REQUESTS["forwarded"]}}
        site.apply(route)
    both = annotated("both", "edge", {f"{HAPROXY}hsts_header": "max-age=1"}, insecure="Allow")
    both["spec"]["httpHeaders"] = {"actions": {"request": REQUESTS["set"], "response": RESPONSES["set"]}}
    site.apply(both)


@pytest.fixture(scope="module", params=[False, True], ids=["Routes", "Routes and router"])
def pair(pair_of, request) -> Pair:
    return pair_of(build, variables=GLOBALS if request.param else {})


def compared(router: Router, lines, *, secure: bool) -> list[tuple[str, str]]:
    """Return headers; the port is named by what listens there."""
    port, name = (router.https, "443") if secure else (router.http, "80")
    pairs = [(key.lower(), value) for key, value in lines if key.lower().startswith(OURS)]
    return sorted((key, name if key == "x-forwarded-port" and value == str(port[1]) else value)
                  for key, value in pairs)


def asked(router: Router, host: str, sent: tuple[str, ...], path: str = "/", *, secure: bool) -> tuple:
    """Return the status, the headers that a pod got and those that the client got."""
    return told(router, Request(host, path, secure=secure, how={"headers": sent}).send(router), secure=secure)


def told(router: Router, seen: clients.Seen, *, secure: bool) -> tuple:
    """Return the status, the headers that a pod got and those that the client got."""
    return (seen.status, compared(router, seen.pod["headers"], secure=secure),
            [pair for pair in compared(router, seen.lines, secure=secure) if pair[0] != "cache-control"])


def of_each(pair: Pair, name: str, kind: str, requests: Iterable[tuple[str, Iterable[str]]]
            ) -> tuple[list[tuple], list[tuple]]:
    """Return what both routers make of requests of one connection to a Route."""
    host = f"{name}-{kind}.example.com" if kind else f"{name}.example.com"
    return pair.both(lambda router: [told(router, seen, secure=bool(kind)) for seen in in_turn(
        router, host, requests, secure=bool(kind))])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize("name", [*REQUESTS, "none"])
def test_requests(pair, name, kind):
    theirs, ours = of_each(pair, name, kind, [("/", headers) for headers in SENT.values()])
    for sent, own, other in zip(SENT, ours, theirs, strict=True):
        assert own[:2] == other[:2], sent
        assert own[0] == 200, sent


OF_POD = {
    "nothing": "", "once": "X-A:Value, Last|Server:pod", "twice": "X-A:First|x-a:Second|Server:a|server:b",
    "quoted": 'X-A:one, "two, three"', "frame": "X-Frame-Options:ALLOW|X-Frame-Options:x",
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
@pytest.mark.parametrize("name", [*RESPONSES, "none"])
def test_responses(pair, name, kind):
    theirs, ours = of_each(pair, name, kind, [
        (f"/?headers={quote(headers)}", ()) for headers in OF_POD.values()])
    for of_pod, own, other in zip(OF_POD, ours, theirs, strict=True):
        assert own[::2] == other[::2], of_pod
        assert own[0] == 200, of_pod


@pytest.mark.parametrize("sent", [(), ("X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: a", "Forwarded: b")])
@pytest.mark.parametrize("policy", ["replace", "if-none", "never"])
def test_actions_on_forwarded_headers(pair, policy, sent):
    theirs, ours = pair.both(lambda router: asked(
        router, f"forwarded-{policy}.example.com", sent, secure=False))
    assert ours == theirs


@pytest.mark.parametrize("secure", [False, True])
def test_both_ports(pair, secure):
    def seen(router: Router) -> tuple:
        answer = asked(router, "both-edge.example.com", SENT["twice"], secure=secure)
        return (*answer[:2], [pair for pair in answer[2] if secure or pair[0] != "strict-transport-security"])
    theirs, ours = pair.both(seen)
    assert ours == theirs


def test_requests_of_one_connection(pair):
    names = ["set", "none", "dynamic", "delete", "none", "set", "hostile", "order"]
    requests = [clients.request_bytes(f"{name}.example.com", "/?headers=X-A:pod", headers=SENT["twice"],
                                      close=False) for name in names]

    def of_each(router: Router) -> list:
        return [tuple(compared(router, lines, secure=False) for lines in (seen.pod["headers"], seen.lines))
                for seen in clients.several(router.http, *requests)]
    theirs, ours = pair.both(of_each)
    assert len(ours) == len(names)
    for name, own, other in zip(names, ours, theirs, strict=True):
        assert own[0] == other[0], name
        assert [pair for pair in own[1] if pair[0] != "cache-control"] == [
            pair for pair in other[1] if pair[0] != "cache-control"], name


def test_redirects_and_pages_have_none(pair):
    """Where nothing was sent to a pod."""
    theirs, ours = pair.both(lambda router: compared(
        router, Request("nobody.example.com").send(router).lines, secure=False))
    assert [name for name, _ in ours] == [name for name, _ in theirs] == ["cache-control"]
