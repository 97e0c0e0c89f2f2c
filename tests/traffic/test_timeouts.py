"""Time-outs of Routes: what a client sees of a late response, and how long each connection may be silent."""

import socket

import pytest

from tests.mocks.bigip.dataplane.client import tls_context
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.traffic.tenants import Kept
from tests.traffic.test_weights import KINDS, NAME, PODS, ask, weighted
from tests.waiting import DEADLINE_S

UPGRADE = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
           "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
PROFILE_S = 300
HTTP_KINDS = tuple(kind for kind in KINDS if kind != "passthrough")


def serve(site: Site, kind: str, **annotations: str) -> None:
    """Make a Route with annotations, its Service and a pod."""
    tls, port = (PODS, 8443) if kind in ("reencrypt", "passthrough") else (None, 8080)
    site.serve("web", "10.1.1.1", port=port, tls=tls)
    route = weighted(kind, 1)
    route["metadata"]["annotations"] = {
        f"haproxy.router.openshift.io/{key.replace('_', '-')}": text for key, text in annotations.items()}
    site.apply(route)
    assert site.converge() == []


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


@pytest.mark.parametrize(("annotations", "limit"), [
    ({"timeout": "10m"}, 600), ({"timeout-tunnel": "1h"}, 3600),
    ({"timeout": "10m", "timeout-tunnel": "1001"}, 2), ({"timeout": "9999999d"}, 2147484),
])
def test_a_passthrough_connection(site, annotations, limit):
    serve(site, "passthrough", **annotations)
    context = tls_context()
    with (socket.create_connection(site.https, DEADLINE_S) as raw,
          context.wrap_socket(raw, server_hostname=NAME) as client):
        client.sendall(clients.request_bytes(NAME, close=False))
        assert client.recv(8) == b"HTTP/1.1"
        assert limits(site) == {limit}


@pytest.mark.parametrize(("annotations", "waiting", "limit"), [
    ({"timeout-tunnel": "1h"}, PROFILE_S, 3600), ({"timeout": "10m", "timeout-tunnel": "5s"}, 600, 5),
    ({"timeout": "10m"}, 600, PROFILE_S), ({"timeout": "2s"}, PROFILE_S, PROFILE_S),
    ({}, PROFILE_S, PROFILE_S),
])
@pytest.mark.parametrize("tls", [False, True])
def test_an_upgraded_connection(site, tls, annotations, waiting, limit):
    """After a response, and after an upgrade on the same connection; a short wait ends with the response."""
    serve(site, "edge" if tls else "", **annotations)
    with Kept(site, tls) as client:
        client.ask(NAME)
        assert limits(site) == ({waiting} if waiting > PROFILE_S or annotations.get("timeout") != "2s"
                                else {PROFILE_S})
        assert client.ask(NAME, headers=UPGRADE) == "101"
        assert limits(site) == {limit}


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


@pytest.mark.parametrize("data", ["x/y", "", "0", "-1/-1", "99999999999/1", "5", "/", "5 5"])
def test_a_record_that_is_wrong_does_not_break_a_request(site, data):
    """As an administrator might leave it."""
    serve(site, "", timeout="10m")
    records = [{"name": record["name"], "data": data} for record in site.bigip.get(
        "ltm/data-group/internal/~Common~openshift_timeouts_dg")["records"]]
    site.change("PATCH", "ltm/data-group/internal/~Common~openshift_timeouts_dg", {"records": records})
    assert ask(site, "").status == 200
