"""Time-outs of Routes: what a client sees of a late response, and how long each connection may be silent."""

import socket
from collections.abc import Mapping

import pytest

from tests.mocks.bigip.dataplane.client import tls_context
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.tenants import Kept
from tests.traffic.test_weights import KINDS, NAME, PODS, ask, weighted
from tests.waiting import DEADLINE_S, until

UPGRADE = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
PROFILE_S = 300
HTTP_KINDS = tuple(kind for kind in KINDS if kind != "passthrough")


def serve(site: Site, kind: str, **annotations: str) -> None:
    """Make a Route with annotations, its Service and a pod."""
    tls, port = (PODS, 8443) if kind in ("reencrypt", "passthrough") else (None, 8080)
    site.serve("web", "10.1.1.1", port=port, tls=tls)
    site.apply(route(kind, annotations))
    assert site.converge() == []


def route(kind: str, annotations: Mapping[str, str], **how: str) -> dict:
    """A Route with annotations, by their last words."""
    obj = weighted(kind, 1, **how)
    obj["metadata"]["annotations"] = {
        f"haproxy.router.openshift.io/{key.replace('_', '-')}": text for key, text in annotations.items()}
    return obj


def idle_s(site: Site, seconds: int) -> None:
    """Set the idle time-out of the virtual servers' profile."""
    site.change("PATCH", "ltm/profile/tcp/~Common~tcp", {"idleTimeout": str(seconds)})


def limits(site: Site) -> set[float]:
    """Idle time-outs of the connections that are open."""
    return {flow.idle_limit() for flow in site.bigip.dataplane.flows}


def late(site: Site, kind: str, seconds: float) -> clients.Seen:
    """Ask a pod that answers after some seconds."""
    if kind:
        return clients.python(site.https, NAME, path=f"/?delay={seconds}")
    return clients.plain(site.http, NAME, path=f"/?delay={seconds}")


@pytest.mark.parametrize("kind", HTTP_KINDS, ids=lambda kind: kind or "plain")
def test_a_late_response_is_a_reset(site, kind):
    serve(site, kind, timeout="900ms")
    assert ask(site, kind).status == 200
    assert late(site, kind, 3600).status == 0


@pytest.mark.parametrize("kind", HTTP_KINDS, ids=lambda kind: kind or "plain")
def test_a_route_waits_longer_than_the_profile(site, kind):
    serve(site, kind, timeout="10m")
    idle_s(site, 1)
    assert late(site, kind, 2.5).status == 200


def test_without_the_option_the_profile_counts(site):
    """The two tests above rely on this."""
    serve(site, "", timeout="10m")
    site.apply(weighted("", 1))
    assert site.converge() == []
    idle_s(site, 1)
    assert late(site, "", 2.5).status == 0
    assert not site.paths("ltm/rule") & {"/Common/openshift_timeout_irule"}


PASSED = (
    ({"timeout": "10m"}, 600), ({"timeout-tunnel": "1h"}, 3600),
    ({"timeout": "10m", "timeout-tunnel": "1001"}, 2), ({"timeout": "9999999d"}, 2147484),
)
"""Annotations of passthrough Routes, and the limit of their connections."""
UPGRADED = (
    ({"timeout-tunnel": "1h"}, PROFILE_S, 3600), ({"timeout": "10m", "timeout-tunnel": "5s"}, 600, 5),
    ({"timeout": "10m"}, 600, PROFILE_S), ({"timeout": "2s"}, PROFILE_S, PROFILE_S),
    ({}, PROFILE_S, PROFILE_S),
)
"""Annotations of Routes, the limit of their connections after a response, and that after an upgrade."""


@pytest.fixture(scope="module")
def of_rows(shared_site_of) -> Site:
    """A Route for each row."""
    site = shared_site_of()
    site.serve("web", "10.1.1.1")
    site.serve("tls", "10.1.2.1", port=8443, tls=PODS)
    site.apply(*(route("passthrough", annotations, name=f"passed-{number}", service="tls")
                 for number, (annotations, _) in enumerate(PASSED)))
    site.apply(*(route(kind, annotations, name=f"upgraded-{number}-{kind or 'plain'}")
                 for number, (annotations, *_) in enumerate(UPGRADED) for kind in ("", "edge")))
    assert site.converge() == []
    return site


@pytest.fixture
def rows(of_rows: Site) -> Site:
    """The site without a connection: those of other tests have ended."""
    until(lambda: not of_rows.bigip.dataplane.flows)
    return of_rows


@pytest.mark.parametrize("number", range(len(PASSED)), ids=[str(row[0]) for row in PASSED])
def test_a_passthrough_connection(rows, number):
    context, name = tls_context(), f"passed-{number}.example.com"
    with (socket.create_connection(rows.https, DEADLINE_S) as raw,
          context.wrap_socket(raw, server_hostname=name) as client):
        client.sendall(clients.request_bytes(name, close=False))
        assert client.recv(8) == b"HTTP/1.1"
        assert limits(rows) == {PASSED[number][1]}


@pytest.mark.parametrize("number", range(len(UPGRADED)), ids=[str(row[0]) for row in UPGRADED])
@pytest.mark.parametrize("tls", [False, True])
def test_an_upgraded_connection(rows, tls, number):
    """After a response, and after an upgrade on the same connection; a short wait ends with the response."""
    _, waiting, limit = UPGRADED[number]
    name = f"upgraded-{number}-{'edge' if tls else 'plain'}.example.com"
    with Kept(rows, tls) as client:
        client.ask(name)
        assert limits(rows) == {waiting}
        assert client.ask(name, headers=UPGRADE) == "101"
        assert limits(rows) == {limit}


@pytest.mark.parametrize("timeout", ["10m", "1s"])
def test_the_next_request_is_for_another_route(site, timeout):
    """Its time-outs are those of the profile again, on both sides."""
    serve(site, "", timeout=timeout)
    other = weighted("", 1)
    other["metadata"]["name"], other["spec"]["host"] = "b", "other.example.com"
    site.apply(other)
    assert site.converge() == []
    with Kept(site, tls=False) as client:
        client.ask(NAME)
        client.ask("other.example.com")
        assert limits(site) == {PROFILE_S}
        assert {flow.idle_s for flow in site.bigip.dataplane.flows} == {PROFILE_S}
        client.ask(NAME)
        assert limits(site) == {600 if timeout == "10m" else PROFILE_S}


@pytest.fixture(scope="module")
def with_a_record(shared_site_of) -> Site:
    site = shared_site_of()
    serve(site, "", timeout="10m")
    return site


@pytest.mark.parametrize("data", ["x/y", "", "0", "-1/-1", "99999999999/1", "5", "/", "5 5"])
def test_a_record_that_is_wrong_does_not_break_a_request(with_a_record, data):
    """As an administrator might leave it."""
    site, group = with_a_record, "ltm/data-group/internal/~Common~openshift_timeouts_dg"
    records = [{"name": record["name"], "data": data} for record in site.bigip.get(group)["records"]]
    assert records
    site.change("PATCH", group, {"records": records})
    assert ask(site, "").status == 200
