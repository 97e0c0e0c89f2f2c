"""The PROXY protocol: whose requests its header makes of a connection.

Without the setting it makes them nobody's. Which headers are right is compared with HAProxy in
tests/differential/test_proxy_protocol.py.
"""

import contextlib
import socket

import pytest

from f5router.admission.route_options import HAPROXY
from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.traffic.proxied import ask
from tests.unit.desired.irules import hello, proxy_headers
from tests.waiting import DEADLINE_S

ON = {"use_proxy_protocol": "true"}
KINDS = ("", "edge", "reencrypt", "passthrough")
V1 = proxy_headers.v1("TCP4 192.0.2.7 192.0.2.1 56324 443")
V2 = proxy_headers.v2("192.0.2.7")


@pytest.fixture(scope="module")
def site(shared_site_of) -> Site:
    """A site with a Route of each kind; only 192.0.2.7 may use some of them."""
    site = shared_site_of()
    site.serve("web", "10.1.1.1")
    for kind in ("", "passthrough"):
        for name, listed in (("open", ""), ("listed", "192.0.2.7")):
            obj = manifests.route(f"{name}{kind}", host=f"{name}.{kind or 'plain'}.example.com", kind=kind)
            obj["metadata"]["annotations"] = {f"{HAPROXY}ip_allowlist": listed} if listed else {}
            site.apply(obj)
    assert site.converge() == []
    return site


def answer(address: tuple[str, int], data: bytes) -> bytes:
    """Return what comes back until the connection ends; nothing if it is reset."""
    with contextlib.suppress(OSError), socket.create_connection(address, DEADLINE_S) as sock:
        sock.sendall(data)
        return b"".join(iter(lambda: sock.recv(65536), b""))
    return b""


@pytest.mark.parametrize("header", [V1, V2], ids=["v1", "v2"])
@pytest.mark.parametrize("name", ["open", "listed"])
def test_no_pod_is_asked(site, name, header):
    requests = list(site.pods["10.1.1.1", 8080].requests)
    request = clients.request_bytes(f"{name}.plain.example.com")
    assert b"web-10.1.1.1" not in answer(site.http, header + request)
    client_hello = hello.hello(f"{name}.passthrough.example.com")
    assert b"web-10.1.1.1" not in answer(site.https, header + client_hello)
    assert site.pods["10.1.1.1", 8080].requests == requests


def test_without_a_header(site):
    """The requests are right but for the header."""
    assert b"web-10.1.1.1" in answer(site.http, clients.request_bytes("open.plain.example.com"))
    assert b"web-10.1.1.1" not in answer(site.http, clients.request_bytes("listed.plain.example.com"))


def route(kind: str, annotations: dict[str, str], *, name: str = "a") -> dict:
    """A Route; its host is that of the kind."""
    service = "tls" if kind in ("reencrypt", "passthrough") else "web"
    name = f"{name}-{kind or 'plain'}"
    obj = manifests.route(name, host=f"{name}.example.com", kind=kind, service=service)
    obj["metadata"]["annotations"] = {f"{HAPROXY}{key}": value for key, value in annotations.items()}
    return obj


def asked(site: Site, kind: str, client: str, *, name: str = "a") -> clients.Seen:
    """Ask for a Route behind a header. Args: client: the address that it names; "" for no header."""
    header = proxy_headers.v2(client) if client else b""
    return ask(site.https if kind else site.http, f"{name}-{kind or 'plain'}.example.com", header,
               secure=bool(kind))


def serve(site: Site) -> Site:
    site.serve("web", "10.1.1.1", "10.1.1.2")
    site.serve("tls", "10.1.2.1", "10.1.2.2", port=8443, tls=PODS)
    return site


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_after_every_write(site_of, kind):
    """Whoever the load balancer may be, a stranger behind it gets in at no moment of switching on or off."""
    site, seen = serve(site_of()), []
    site.apply(route(kind, {"ip_allowlist": "127.0.0.0/8 192.0.2.7"}))
    assert site.converge() == []
    site.bigip.on_write = lambda entry: seen.append(asked(site, kind, "203.0.113.9").status)
    for flags, without, listed in ((ON, 0, 200), ({}, 200, 0), (ON, 0, 200)):
        seen.clear()
        assert site.converge(**flags) == []
        assert seen
        assert set(seen) == {0}
        assert [asked(site, kind, client).status for client in ("", "192.0.2.7", "203.0.113.9")] == [
            without, listed, 0]


@pytest.fixture(scope="module")
def proxied(shared_site_of) -> Site:
    site = serve(shared_site_of())
    for kind in KINDS:
        site.apply(route(kind, {"rate-limit-connections": "true", "rate-limit-connections.rate-tcp": "5"}),
                   route(kind, {"balance": "source"}, name="source"))
    assert site.converge(**ON) == []
    return site


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_limits_of_each_client(proxied, kind):
    """One behind the load balancer that exceeds them takes nothing from the others."""
    often = [asked(proxied, kind, "198.51.100.1").status for _ in range(25)]
    assert (often[0], often[-1]) == (200, 0)
    assert asked(proxied, kind, "198.51.100.2").status == 200


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_clients_stay_with_their_pods(proxied, kind):
    addresses = [f"198.51.100.{number}" for number in range(10, 22)]
    pods = [{asked(proxied, kind, address, name="source").pod["pod"] for _ in range(3)}
            for address in addresses]
    assert {len(answered) for answered in pods} == {1}
    assert len(set.union(*pods)) == 2


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_without_a_header_nobody_is_served(proxied, kind):
    for name in ("a", "source", "unknown"):
        assert asked(proxied, kind, "", name=name).status == 0
    assert asked(proxied, "", "192.0.2.7", name="unknown").status == 503
