"""Time-outs and limits of a front end: what clients see, and how long their connections may be silent."""

import socket
from collections.abc import Callable

import pytest

from tests import manifests
from tests.mocks.bigip.dataplane.client import tls_context
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.traffic.tenants import Kept
from tests.traffic.test_timeouts import UPGRADE, limits, route
from tests.traffic.test_weights import NAME
from tests.waiting import DEADLINE_S, until

SiteOf = Callable[..., Site]
ADDRESS = {"f5_vserver_address": "203.0.113.10"}


def serve(site_of: SiteOf, **flags: str) -> Site:
    """A Route without time-outs, and one with its own, on virtual servers of the router."""
    site = site_of(address="")
    site.serve("web", "10.1.1.1")
    site.apply(route("", {}), route("", {"timeout": "10m", "timeout-tunnel": "5s"}, name="own"))
    assert site.converge(**ADDRESS, **flags) == []
    return site


def is_reset(client: socket.socket, *, trickle: bytes = b"") -> bool:
    """Wait for the end of a connection; True if it is a reset, without an answer.

    Args: trickle: is sent again and again.
    """
    if trickle:
        client.settimeout(0.02)
    while True:
        try:
            client.sendall(trickle)
            return client.recv(1) == b"not a reset"
        except TimeoutError:
            continue
        except ConnectionError:
            return True


def silent(address: tuple[str, int]) -> bool:
    """Connect and say nothing; True if the connection is reset."""
    with socket.create_connection(address, DEADLINE_S) as client:
        return is_reset(client)


def test_client_timeout(site_of):
    """A response that is late does not count, if more time is set for it."""
    site = serve(site_of, default_client_timeout="1s", default_server_timeout="60s")
    assert silent(site.http)
    assert silent(site.https)
    assert clients.plain(site.http, NAME, path="/?delay=2").status == 200


def test_server_timeout(site_of):
    """A Route's own takes precedence."""
    site = serve(site_of, default_server_timeout="900ms")
    assert clients.plain(site.http, NAME).status == 200
    assert clients.plain(site.http, NAME, path="/?delay=3600").status == 0
    assert clients.plain(site.http, "own.example.com", path="/?delay=2").status == 200


def test_connect_timeout(site_of):
    """The next pod is tried. On a slow device the 45 s of a TCP profile would be 450 s."""
    site = serve(site_of, default_connect_timeout="50ms")
    site.serve("web", "10.1.1.1", "10.1.1.2")
    assert site.converge(**ADDRESS, default_connect_timeout="50ms") == []
    site.pods.silence("10.1.1.2", 8080)
    site.bigip.dataplane.clock.speed = 0.1
    assert {clients.plain(site.http, NAME).pod["pod"] for _ in range(3)} == {"web-10.1.1.1"}


HEAD_S = "300ms"


def test_the_headers_of_a_request(site_of):
    """A client that keeps sending is reset; one that has asked is not, nor one of a passthrough Route."""
    site = serve(site_of, slowloris_timeout=HEAD_S)
    site.serve("tls", "10.1.2.1", port=8443, tls=PODS)
    site.apply(route("passthrough", {}, name="passed", service="tls"))
    assert site.converge(**ADDRESS, slowloris_timeout=HEAD_S) == []
    context, name = tls_context(), "passed.example.com"
    with (Kept(site, tls=False) as kept, socket.create_connection(site.https, DEADLINE_S) as raw,
          context.wrap_socket(raw, server_hostname=name) as passed,
          socket.create_connection(site.http, DEADLINE_S) as slow):
        kept.ask(NAME)
        slow.sendall(b"GET / HTTP/1.1\r\nX-Long: ")
        assert is_reset(slow, trickle=b"a")
        assert silent(site.https)
        kept.ask(NAME)
        passed.sendall(clients.request_bytes(name, close=False))
        assert passed.recv(8) == b"HTTP/1.1"


def test_the_headers_are_complete(site_of):
    """An upload may take longer, and so may an upgraded connection, and what a redirect has answered."""
    site = serve(site_of, slowloris_timeout=HEAD_S)
    site.apply(manifests.route("to-tls", host="to-tls.example.com", kind="edge", insecure="Redirect"))
    assert site.converge(**ADDRESS, slowloris_timeout=HEAD_S) == []
    with (Kept(site, tls=False) as upgraded, Kept(site, tls=False) as redirected,
          Kept(site, tls=False) as uploading):
        uploading.send(clients.request_bytes(NAME, method="POST", headers=["Content-Length: 4"],
                                             close=False))
        assert upgraded.ask(NAME, headers=UPGRADE) == "101"
        assert redirected.ask("to-tls.example.com") == "302"
        assert silent(site.http)  # of a connection that is younger than these
        uploading.send(b"body")
        assert uploading.answer() == "shop web"
        assert redirected.ask("to-tls.example.com") == "302"
        assert upgraded.opened == redirected.opened == uploading.opened == 1
        until(lambda: len(site.bigip.dataplane.flows) == 3)


def test_times_beside_the_proxy_protocol(site_of):
    """They begin with the connection, before its header of the PROXY protocol."""
    flags = {"use_proxy_protocol": "true", "slowloris_timeout": HEAD_S, "inspect_delay": HEAD_S}
    site = serve(site_of, **flags)
    header = b"PROXY TCP4 192.0.2.1 203.0.113.10 1000 80\r\n"
    assert silent(site.http)
    for address, begun, trickle in ((site.http, b"GET / HTTP/1.1\r\nX-Long: ", b"a"),
                                    (site.https, b"\x16\x03\x01", b"")):
        with socket.create_connection(address, DEADLINE_S) as client:
            client.sendall(header + begun)
            assert is_reset(client, trickle=trickle)
    with Kept(site, tls=False) as kept:
        kept.send(header)
        assert kept.ask(NAME) == "shop web"
        assert silent(site.http)
        assert kept.ask(NAME) == "shop web"
        assert kept.opened == 1


def test_the_client_hello(site_of):
    site = serve(site_of, inspect_delay=HEAD_S)
    with socket.create_connection(site.http, DEADLINE_S) as plain:
        assert silent(site.https)
        with socket.create_connection(site.https, DEADLINE_S) as client:
            client.sendall(b"\x16\x03\x01")  # the beginning of one
            assert is_reset(client)
        plain.sendall(clients.request_bytes(NAME))
        assert plain.recv(8) == b"HTTP/1.1"
    assert clients.python(site.https, NAME).status == 503


TIMES = {"default_client_timeout": "40s", "default_server_timeout": "20s", "default_tunnel_timeout": "1h",
         "slowloris_http_keepalive": "50s"}
C, S, T, K, PROFILE = 40, 20, 3600, 50, 300
ROWS = (
    # settings by the first letters of their names; limits before a request, behind a response, in a tunnel;
    # the latter two for a Route with its own of 10 m and 5 s
    ("", PROFILE, PROFILE, PROFILE, 600),
    ("c", C, C, C, 600),
    ("s", PROFILE, PROFILE, PROFILE, 600),
    ("t", PROFILE, PROFILE, T, 600),
    ("k", PROFILE, K, PROFILE, 600),
    ("ks", PROFILE, K, PROFILE, 600),
    ("cs", C, C, C, 600),
    ("ckst", C, K, T, 600),
)


@pytest.mark.parametrize(("given", "before", "behind", "tunnel", "own"), ROWS, ids=[row[0] for row in ROWS])
def test_how_long_a_connection_may_be_silent(site_of, given, before, behind, tunnel, own):
    names = dict(zip("cstk", TIMES, strict=True))
    site = serve(site_of, **{names[letter]: TIMES[names[letter]] for letter in given})
    with socket.create_connection(site.http, DEADLINE_S):
        flows = site.bigip.dataplane.flows
        until(lambda: any(flow.virtual and flow.idle_limit() == before for flow in flows))
    until(lambda: not site.bigip.dataplane.flows)
    with Kept(site, tls=False) as client:
        client.ask(NAME)
        assert limits(site) == {behind}
        client.ask("own.example.com")
        assert limits(site) == {own}
        client.ask(NAME)
        assert limits(site) == {behind}
        assert client.ask(NAME, headers=UPGRADE) == "101"
        assert limits(site) == {tunnel}
    until(lambda: not site.bigip.dataplane.flows)
    with Kept(site, tls=False) as client:
        assert client.ask("own.example.com", headers=UPGRADE) == "101"
        assert limits(site) == {5}


def test_a_passthrough_connection(site_of):
    """The default for tunnels, and a Route's own."""
    site = site_of(address="")
    site.serve("tls", "10.1.2.1", port=8443, tls=PODS)
    site.apply(route("passthrough", {}, name="usual", service="tls"),
               route("passthrough", {"timeout": "10m"}, name="own", service="tls"))
    assert site.converge(**ADDRESS, default_tunnel_timeout="1h") == []
    for name, limit in (("usual", 3600), ("own", 600)):
        until(lambda: not site.bigip.dataplane.flows)
        with (socket.create_connection(site.https, DEADLINE_S) as raw,
              tls_context().wrap_socket(raw, server_hostname=f"{name}.example.com") as client):
            client.sendall(clients.request_bytes(f"{name}.example.com", close=False))
            assert client.recv(8) == b"HTTP/1.1"
            assert limits(site) == {limit}


def test_the_pause_between_requests(site_of):
    site = serve(site_of, slowloris_http_keepalive="1s", default_server_timeout="1s")
    with socket.create_connection(site.http, DEADLINE_S) as client:
        client.sendall(clients.request_bytes(NAME, close=False))
        assert client.recv(8) == b"HTTP/1.1"
        client.settimeout(DEADLINE_S)
        assert len(client.recv(65536)) > 100
        assert is_reset(client)


def test_the_number_of_headers(site_of):
    site = serve(site_of, max_header_count="16")
    answers = [clients.plain(site.http, NAME, headers=[f"X-{number}: a" for number in range(count)]).status
               for count in (10, 20)]
    assert answers == [200, 0]


def test_each_address(site_of):
    """The virtual servers of a further address have the same times."""
    site = site_of(address="")
    site.serve("web", "10.1.1.1")
    site.apply(route("", {}))
    assert site.converge(f5_vserver_address="203.0.113.10,203.0.113.11", slowloris_timeout=HEAD_S) == []
    for name in ("ose-vserver", "https-ose-vserver", "ose-vserver_2", "https-ose-vserver_2"):
        assert silent(site.bigip.endpoint(f"/Common/{name}"))


def test_how_long_a_client_waits_for_a_pod_at_its_limit(site_of):
    """On a slow device, where 5 s are beyond the patience of a client."""
    site = site_of(address="")
    site.serve("web", "10.1.1.1")
    site.apply(route("", {"pod-concurrent-connections": "1"}))
    assert site.converge(**ADDRESS, default_connect_timeout="50ms") == []
    site.bigip.dataplane.clock.speed = 0.05
    with Kept(site, tls=False) as client:
        client.ask(NAME)
        assert clients.plain(site.http, NAME).status == 503
