"""Answers to clients when no pod can answer: a page with status 503, as from OpenShift's own router."""

import http.client

import pytest

from f5router.app.controller import Controller
from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import HTTP, PODS, Site
from tests.waiting import DEADLINE_S, until

PAGE = "Application not available"


def ask(site, tls: bool, host: str, path: str = "/", **how) -> clients.Seen:
    if tls:
        return clients.python(site.https, host, path, **how)
    return clients.plain(site.http, host, path, **how)


def is_page(reply: clients.Seen) -> bool:
    return (reply.status == 503 and PAGE in reply.body.decode()
            and reply.headers["cache-control"] == "no-store" and reply.headers["connection"] == "close")


@pytest.fixture(params=[False, True], ids=["HTTP", "HTTPS"])
def tls(request):
    return request.param


@pytest.fixture
def served(site, tls):
    """The router of the Routes of `serve`."""
    return serve(site, tls)


@pytest.fixture(scope="module")
def standing_sites(shared_site_of) -> dict[bool, Site]:
    sites = {tls: shared_site_of() for tls in (False, True)}
    for tls, site in sites.items():
        serve(site, tls)
    return sites


@pytest.fixture
def standing(standing_sites, tls) -> Site:
    """A site with the Routes of `serve`, for requests alone."""
    return standing_sites[tls]


def serve(site: Site, tls: bool) -> Controller:
    """Apply Routes with pods, without pods, and with pods that refuse; returns the router, which is done."""
    kind = {"kind": "edge"} if tls else {}
    site.serve("web", "10.1.1.1")
    site.apply(
        *manifests.service("shop", "empty", pods=()),
        *manifests.service("shop", "dead", pods=("10.1.9.1", "10.1.9.2")),
        manifests.route("app", path="/app", **kind),
        manifests.route("empty", host="empty.example.com", service="empty", **kind),
        manifests.route("dead", host="dead.example.com", service="dead", **kind),
    )
    router = site.router()
    assert site.converge(router) == []
    return router


@pytest.mark.parametrize(("host", "path"), [
    ("nobody.example.com", "/"), ("www.example.com", "/"), ("www.example.com", "/apple"),
    ("empty.example.com", "/"), ("dead.example.com", "/"),
])
def test_the_page(standing, tls, host, path):
    """No Route for the host, none for the path, no pod, pods that refuse connections."""
    assert is_page(ask(standing, tls, host, path))


def test_a_head_request_gets_no_body(standing, tls):
    reply = ask(standing, tls, "nobody.example.com", method="HEAD")
    assert (reply.status, reply.body) == (503, b"")


def test_one_dead_pod_of_two(site, served, tls):
    """The page is for requests that no pod can answer: what one pod refuses, no page hides for ever."""
    site.pod("10.1.9.2", "dead")
    statuses = {ask(site, tls, "dead.example.com").status for _ in range(8)}
    assert statuses <= {200, 503}
    assert 200 in statuses


def test_the_pod_comes(site, served, tls):
    assert is_page(ask(site, tls, "empty.example.com"))
    site.pod("10.1.8.1", "empty")
    site.apply(manifests.endpoints("shop", "empty", ("10.1.8.1",)))
    site.settle(served)
    assert ask(site, tls, "empty.example.com").pod["pod"] == "empty-10.1.8.1"


@pytest.mark.parametrize("tls", [False])
def test_a_body_that_nobody_reads(standing):
    """The connection is closed after the page: what is left of the request is not taken for a next one."""
    body = b"GET /app HTTP/1.1\r\nHost: www.example.com\r\n\r\n" * 200
    data = clients.request_bytes("nobody.example.com", method="POST", close=False,
                                 headers=[f"Content-Length: {len(body)}"]) + body
    before = len(standing.bigip.dataplane.log)
    assert is_page(clients.raw(standing.http, data))
    assert [entry.pool for entry in list(standing.bigip.dataplane.log)[before:]] == [None]


@pytest.mark.parametrize("tls", [False])
def test_the_connection_before(standing):
    """Requests of one connection, each by itself: served, then nobody's."""
    connection = http.client.HTTPConnection(*standing.http, timeout=DEADLINE_S)
    for _ in range(3):
        connection.request("GET", "/app/x", headers={"Host": "www.example.com"})
        assert connection.getresponse().read()
    connection.request("GET", "/", headers={"Host": "nobody.example.com"})
    reply = connection.getresponse()
    assert (reply.status, PAGE in reply.read().decode()) == (503, True)
    connection.close()


@pytest.mark.parametrize("tls", [False])
def test_a_default_pool_of_the_administrator(site, served):
    """It gets what no Route matches; a Route without pods is the router's all the same."""
    site.pod("10.9.9.9", "legacy", namespace="none")
    site.change("POST", "ltm/pool", {"name": "legacy", "partition": "Common",
                                     "members": [{"name": "10.9.9.9:8080"}]})
    site.change("PATCH", f"ltm/virtual/{HTTP.replace('/', '~')}", {"pool": "/Common/legacy"})
    assert clients.plain(site.http, "nobody.example.com").pod["pod"] == "legacy-10.9.9.9"
    assert is_page(clients.plain(site.http, "empty.example.com"))


def test_switched_off(site, served, tls):
    assert site.converge(f5_503_page="false") == []
    reply = ask(site, tls, "nobody.example.com")
    assert (reply.status, bool(reply.error)) == (0, True)
    assert ask(site, tls, "www.example.com", "/app").pod


def test_passthrough_is_reset(site):
    """There is no HTTP to answer in."""
    site.apply(*manifests.service("shop", "tls", pods=(), ports=(("https", 8443),)),
               manifests.route("through", host="through.example.com", service="tls", kind="passthrough"))
    router = site.router()
    assert site.converge(router) == []
    reply = clients.python(site.https, "through.example.com")
    assert (reply.status, reply.certificate, bool(reply.error)) == (0, "", True)
    site.serve("tls", "10.1.3.1", port=8443, tls=PODS)
    site.settle(router)
    until(lambda: clients.python(site.https, "through.example.com").pod)


@pytest.mark.parametrize("tls", [False])
def test_a_default_pool_that_is_down(site, served):
    """The administrator's own requests are reset as before."""
    site.change("POST", "ltm/pool", {"name": "legacy", "partition": "Common",
                                     "members": [{"name": "10.9.9.9:8080"}]})
    site.change("PATCH", f"ltm/virtual/{HTTP.replace('/', '~')}", {"pool": "/Common/legacy"})
    reply = clients.plain(site.http, "nobody.example.com")
    assert (reply.status, bool(reply.error)) == (0, True)


def test_an_upgrade_and_an_old_client(standing, tls):
    """A WebSocket that nobody can take; HTTP/1.0 is answered as it was asked."""
    upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
    assert is_page(ask(standing, tls, "empty.example.com", headers=upgrade, close=False))
    assert is_page(ask(standing, tls, "empty.example.com", version="1.0", close=False))


@pytest.mark.parametrize("tls", [True])
def test_a_redirect_needs_no_pod(site, served):
    site.apply(manifests.route("empty", host="empty.example.com", service="empty", kind="edge",
                               insecure="Redirect"))
    site.settle(served)
    reply = clients.plain(site.http, "empty.example.com", "/x?y")
    assert (reply.status, reply.location) == (302, "https://empty.example.com/x?y")


@pytest.fixture(scope="module")
def ruled(shared_site_of) -> Site:
    """A site with the Routes of `serve` and a pool of the administrator's."""
    site = shared_site_of()
    serve(site, False)
    site.pod("10.9.9.8", "sorry", namespace="none")
    site.change("POST", "ltm/pool", {"name": "sorry", "partition": "Common",
                                     "members": [{"name": "10.9.9.8:8080"}]})
    return site


@pytest.mark.parametrize("first", [True, False], ids=["before ours", "behind ours"])
@pytest.mark.parametrize(("text", "want"), [
    pytest.param("when HTTP_REQUEST { HTTP::respond 418 content mine }", "mine", id="answers every request"),
    pytest.param("when LB_FAILED { HTTP::respond 418 content mine }", "mine", id="answers failures"),
    pytest.param("when HTTP_REQUEST { pool /Common/sorry }", "sorry-10.9.9.8", id="chooses a pool"),
    pytest.param("when LB_FAILED { LB::reselect pool /Common/sorry; set f5router_answered 1 }",
                 "sorry-10.9.9.8", id="chooses again"),
    pytest.param("when HTTP_REQUEST { HTTP::header insert X y }", PAGE, id="does neither"),
])
def test_irules_of_the_administrator(ruled, text, want, first):
    """They do what they did without ours, wherever they are on the virtual server."""
    site, virtual = ruled, f"ltm/virtual/{HTTP.replace('/', '~')}"
    site.change("POST", "ltm/rule", {"name": "mine", "partition": "Common", "apiAnonymous": text})
    ours = site.bigip.get(virtual)["rules"]
    site.change("PATCH", virtual, {"rules": ["/Common/mine", *ours] if first else [*ours, "/Common/mine"]})
    try:
        for host in ("empty.example.com", "nobody.example.com"):
            assert want in clients.plain(site.http, host).body.decode()
    finally:
        site.change("PATCH", virtual, {"rules": ours})
        site.change("DELETE", "ltm/rule/~Common~mine")
