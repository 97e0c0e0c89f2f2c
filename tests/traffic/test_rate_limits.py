"""Limits of each client's connections and requests: what reaches a limit is reset, and nothing else."""

import contextlib
import http.client
import socket
import struct

import pytest

from tests import manifests
from tests.builders import identity
from tests.mocks.bigip.dataplane.conftest import DeviceClock
from tests.traffic import clients
from tests.traffic.conftest import HTTP, HTTPS, PODS, Site
from tests.waiting import DEADLINE_S, until

KINDS = ("", "edge", "reencrypt", "passthrough")
NAME = "shop.example.com"
EDGE = identity(NAME)
ONE, TWO = "127.0.0.2", "127.0.0.3"
"""Addresses of clients."""
SWITCH = "haproxy.router.openshift.io/rate-limit-connections"
CONCURRENT, CONNECTIONS, REQUESTS = "concurrent-tcp", "rate-tcp", "rate-http"
ALLOWLIST = "haproxy.router.openshift.io/ip_allowlist"


def rated(kind: str = "", limits: dict[str, int] | None = None, *, name: str = "a", sources: str = "",
          host: str = NAME, **fields) -> dict:
    """A Route with limits, by the last words of their annotations; without any for None."""
    tls = {"certificate": EDGE.certificate, "key": EDGE.key} if kind in ("edge", "reencrypt") else {}
    if kind == "reencrypt":
        tls["destinationCACertificate"] = PODS.issuer
    obj = manifests.route(name, host=host, service="web", kind=kind, **tls, **fields)
    given = {f"{SWITCH}.{key}": str(value) for key, value in (limits or {}).items()}
    obj["metadata"]["annotations"] = {**({SWITCH: "true", **given} if given else {}),
                                      **({ALLOWLIST: sources} if sources else {})}
    return obj


def ask(kind: str, site: Site, source: str = ONE) -> int:
    """Status of a request on a connection of its own; 0 if it is reset."""
    if kind:
        return clients.python(site.https, NAME, source=source).status
    return clients.plain(site.http, NAME, source=source).status


@pytest.fixture
def serve(site_of):
    """Makes a site with Service web, on a clock that stands still."""
    def make(kind: str = "", **options) -> Site:
        site = site_of(**options)
        site.bigip.dataplane.clock.time_of_day = DeviceClock()
        secured = kind in ("reencrypt", "passthrough")
        site.serve("web", "10.1.1.1", port=8443 if secured else 8080, tls=PODS if secured else None)
        return site
    return make


def connect(site: Site, source: str = ONE) -> socket.socket:
    return socket.create_connection(site.http, DEADLINE_S, (source, 0))


def request(sock: socket.socket, path: str = "/") -> int:
    """Status of a request on a kept connection; 0 if it is reset."""
    with contextlib.suppress(ConnectionError):
        sock.sendall(clients.request_bytes(NAME, path, close=False))
        reply = http.client.HTTPResponse(sock)
        reply.begin()
        reply.read()
        return reply.status
    return 0


def accepted(site: Site) -> int:
    return sum(pod.accepted for pod in site.pods)


def pool(site: Site) -> str:
    """The only pool with limits."""
    (path,) = [path for path in site.pools() if path.endswith("__rated")]
    return path


def seats(site: Site) -> int:
    """Connections that count as open."""
    return sum(subtable is not None for subtable, _ in list(site.bigip.dataplane.table.live()))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_connections_in_three_seconds(serve, kind):
    site = serve(kind)
    site.apply(rated(kind, {CONNECTIONS: 4}))
    assert site.converge(f5_pool_monitor="none") == []
    assert site.admitted("shop", "a")["status"] == "True"
    assert [ask(kind, site) for _ in range(5)] == [200, 200, 200, 0, 0]
    assert ask(kind, site, TWO) == 200
    before = accepted(site)
    assert ask(kind, site) == 0
    assert accepted(site) == before
    site.bigip.dataplane.clock.time_of_day.now += 6
    assert [ask(kind, site) for _ in range(4)] == [200, 200, 200, 0]


@pytest.mark.parametrize("kind", KINDS[:3], ids=lambda kind: kind or "plain")
def test_requests_in_ten_seconds(serve, kind):
    site = serve(kind)
    site.apply(rated(kind, {REQUESTS: 3}))
    assert site.converge() == []
    sent = [clients.request_bytes(NAME, close=False)] * 5
    seen = clients.several(site.https if kind else site.http, *sent, sni=NAME if kind else None)
    assert [answer.status for answer in seen] == [200, 200, 200]
    assert ask(kind, site, "127.0.0.1") == 0
    assert ask(kind, site) == 200
    site.bigip.dataplane.clock.time_of_day.now += 20
    assert ask(kind, site, "127.0.0.1") == 200


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_connections_at_a_time(serve, kind):
    """Connections that are closed do not count."""
    site = serve(kind)
    site.apply(rated(kind, {CONCURRENT: 2}))
    assert site.converge() == []
    for _ in range(3):
        assert ask(kind, site) == 200
        until(lambda: seats(site) == 0)
    site.bigip.dataplane.table.put(f"f5router connections {ONE} {pool(site)}".encode(), b"another", b"1")
    assert ask(kind, site) == 0
    assert ask(kind, site, TWO) == 200


@pytest.mark.parametrize("end", ["close", "reset"])
def test_a_connection_counts_until_it_ends(serve, end):
    site = serve()
    site.apply(rated("", {CONCURRENT: 3}))
    assert site.converge() == []
    first, second = connect(site), connect(site)
    assert [request(first), request(second), ask("", site), ask("", site, TWO)] == [200, 200, 0, 200]
    if end == "reset":
        first.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    first.close()
    until(lambda: seats(site) == 1)
    assert [ask("", site), request(second)] == [200, 200]
    until(lambda: seats(site) == 1)
    second.close()
    until(lambda: seats(site) == 0)


@pytest.mark.parametrize("quirks", [(), ("bare-names",)], ids=["full paths", "bare names"])
@pytest.mark.parametrize("one_connect", [False, True], ids=["", "OneConnect"])
def test_several_routes_on_one_connection(serve, one_connect, quirks):
    """It counts for the Route that it was used for last, and each of its requests for its own."""
    site = serve(quirks=quirks)
    site.apply(rated("", {CONCURRENT: 2, REQUESTS: 4}), rated("", {CONCURRENT: 2}, name="b", path="/b"),
               rated(name="open", path="/open"))
    if one_connect:
        for virtual in (HTTP, HTTPS):
            site.change("POST", f"ltm/virtual/~{virtual.strip('/').replace('/', '~')}/profiles",
                        {"name": "/Common/oneconnect"})
    assert site.converge() == []
    with connect(site) as kept:
        assert request(kept) == 200
        assert ask("", site) == 0
        assert request(kept, "/b") == 200
        assert ask("", site) == 200
        until(lambda: seats(site) == 1)
        with connect(site) as another:
            assert request(another, "/b") == 0
        assert [request(kept, path) for path in ("/open", "/b", "/open")] == [200] * 3
        assert seats(site) == 0
        assert request(kept) == 200
        assert seats(site) == 1
        assert request(kept) == 0
    until(lambda: seats(site) == 0)


def test_both_ports_count_together(serve):
    site = serve()
    site.apply(rated("edge", {CONNECTIONS: 3}, insecure="Allow"))
    assert site.converge() == []
    assert [ask(kind, site) for kind in ("", "edge", "", "edge")] == [200, 200, 0, 0]


def test_a_list_and_limits(serve):
    """Whoever is not listed does not get in, and does not count."""
    site = serve()
    site.apply(rated("", {CONNECTIONS: 3}, sources=ONE))
    assert site.converge() == []
    assert [ask("", site, TWO) for _ in range(4)] == [0] * 4
    assert [ask("", site) for _ in range(3)] == [200, 200, 0]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_without_the_session_table_everybody_gets_in(serve, kind):
    site = serve(kind, quirks={"table-fails"})
    site.apply(rated(kind, {CONCURRENT: 2, CONNECTIONS: 2}))
    assert site.converge() == []
    assert [ask(kind, site) for _ in range(4)] == [200] * 4


def test_a_list_stays_closed_without_the_session_table(serve):
    site = serve(quirks={"table-fails"})
    site.apply(rated("", {CONNECTIONS: 2}, sources=ONE))
    assert site.converge() == []
    assert [ask("", site), ask("", site, TWO)] == [200, 0]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "plain")
def test_after_every_write(serve, kind):
    """While limits and lists come and go, whoever is listed and below the limits is served, others never."""
    site, seen = serve(kind), []
    clock = site.bigip.dataplane.clock.time_of_day
    site.apply(rated(kind))
    router = site.router()
    site.settle(router)

    def look(entry) -> None:
        clock.now += 10
        seen.append((ask(kind, site), ask(kind, site, TWO)))

    site.bigip.on_write = look
    for limits, sources in ((None, ONE), ({CONNECTIONS: 3}, ONE), ({CONNECTIONS: 5}, ONE), (None, ONE)):
        site.apply(rated(kind, limits, sources=sources))
        site.settle(router)
        assert {status for status, _ in seen} == {200}
        assert ask(kind, site, TWO) == 0
    assert seen[-1] == (200, 0)
    for limits, refused in (({CONNECTIONS: 3}, True), ({CONNECTIONS: 50}, False), (None, False)):
        seen.clear()
        site.apply(rated(kind, limits))
        site.settle(router)
        assert {status for status, _ in seen} == {200}
        clock.now += 10
        assert ([ask(kind, site, TWO) for _ in range(3)][-1] == 0) == refused
    site.later()
    site.settle(router)
    site.bigip.on_write = None
    assert not [item.path for item in site.bigip.items("ltm/data-group/internal") if "limits" in item.path]
    assert not [item.path for item in site.bigip.items("ltm/rule") if "limits" in item.path]
    router.close()


def test_a_connection_that_began_with_the_irule_of_an_earlier_release(serve):
    """It understands a record of a list alone: it lets nobody in by one with limits, and the client connects
    anew."""
    site = serve()
    site.apply(rated(path="/open", name="open"), rated("", {CONNECTIONS: 50}, sources=ONE))
    assert site.converge() == []
    text = """when LB_SELECTED priority 100 {
        set f5router_limits 1
        set f5r_pool [LB::server pool]
        if { [string match "/Common/openshift_*__limited" $f5r_pool] } {
            set f5r_list [class match -value $f5r_pool equals /Common/openshift_limits_dg]
            if { [catch { set f5r_allowed [class match [IP::client_addr] equals /Common/$f5r_list] }] ||
                 !$f5r_allowed } {
                reject
            }
        }
    }"""
    site.change("PATCH", "ltm/rule/~Common~openshift_limits_irule", {"apiAnonymous": text})
    with connect(site) as kept:
        assert request(kept, "/open") == 200
        assert site.converge() == []
        assert request(kept) == 0
    assert ask("", site) == 200
