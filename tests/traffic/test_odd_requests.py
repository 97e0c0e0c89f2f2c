"""Requests that are unusual or wrong: what the configuration makes of them, as docs/routes.md tells."""

import contextlib
import re
import socket
from pathlib import Path

import pytest

from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import PODS
from tests.waiting import DEADLINE_S, until

DOCS = Path(__file__).parents[2] / "docs" / "routes.md"
OTHER = "other.example.com"


@pytest.fixture(scope="module")
def served(shared_site_of):
    """www.example.com with a path of its own Service, and a host of another namespace."""
    site = shared_site_of()
    for service, address in (("web", "10.1.1.1"), ("api", "10.1.2.1")):
        site.serve(service, address)
    site.serve("tls", "10.1.3.1", port=8443, tls=PODS)
    site.serve("web", "10.2.1.1", namespace="rival")
    site.apply(
        manifests.route("web"),
        manifests.route("api", path="/api", service="api"),
        manifests.route("other", namespace="rival", host=OTHER),
        manifests.route("through", host="through.example.com", service="tls", kind="passthrough"),
    )
    assert site.converge() == []
    return site


def request(target: str, *hosts: str, version: str = "1.1", more: bytes = b"") -> bytes:
    lines = [f"GET {target} HTTP/{version}", *(f"Host: {host}" for host in hosts), "Connection: close"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1").replace(b"\r\n\r\n", b"\r\n" + more + b"\r\n")


WWW = "www.example.com"
ROWS = {
    # what docs/routes.md calls it: request, Service that answers or status
    "no `Host`": (request("/"), "503"),
    "no `Host`, HTTP/1.0": (request("/", version="1.0"), "503"),
    "an empty `Host`": (request("/", ""), "503"),
    "`Host` with a port": (request("/", f"{WWW}:8080"), "web"),
    "`Host` in upper case": (request("/", WWW.upper()), "web"),
    "`Host` with a dot at the end": (request("/", f"{WWW}."), "web"),
    "`/api/`": (request("/api/", WWW), "api"),
    "`/API`": (request("/API", WWW), "web"),
    "`/apiary`": (request("/apiary", WWW), "web"),
    "`/api?x=1`": (request("/api?x=1", WWW), "api"),
    "`/%61pi`": (request("/%61pi", WWW), "web"),
    "`/api%2fx`": (request("/api%2fx", WWW), "web"),
    "`//api`": (request("//api", WWW), "web"),
    "`/api//x`": (request("/api//x", WWW), "api"),
    "`/x/../api`": (request("/x/../api", WWW), "web"),
    "`/api/../x`": (request("/api/../x", WWW), "api"),
    "a header line of 20,000 bytes": (request("/", WWW, more=b"X-Long: " + b"x" * 20000 + b"\r\n"), "web"),
    "headers of 40,000 bytes": (request("/", WWW, more=b"X-Long: " + b"x" * 40000 + b"\r\n"), "nothing"),
}


@pytest.mark.parametrize("which", ROWS)
def test_requests(served, which):
    data, expected = ROWS[which]
    reply = clients.raw(served.http, data)
    what = reply.pod["pod"].rsplit("-", 1)[0] if reply.pod else str(reply.status or "nothing")
    assert what == expected
    if reply.pod:
        target = data.split()[1].decode()
        assert reply.pod["target"] == target  # the pod gets what the client sent


DOUBTFUL = {
    "two `Host` headers": request("/", WWW, OTHER),
    "two `Host` headers, the other way round": request("/", OTHER, WWW),
    "another host in an absolute target": request(f"http://{OTHER}/", WWW),
    "an absolute target": request(f"http://{WWW}/api", WWW),
}


@pytest.mark.parametrize("which", DOUBTFUL)
def test_requests_that_name_two_hosts(served, which):
    """Whichever the device believes: a pod of one of the two, or nobody; never anything else."""
    reply = clients.raw(served.http, DOUBTFUL[which])
    assert reply.status in (0, 200, 400, 503)
    if reply.pod:
        assert reply.pod["namespace"] in ("shop", "rival")


def test_a_client_that_stops_in_its_client_hello(served):
    """The idle time-out ends it, and nothing is left."""
    plane = served.bigip.dataplane
    plane.clock.speed = 300 / 0.3
    try:
        with socket.create_connection(served.https, DEADLINE_S) as sock:
            sock.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01")
            with contextlib.suppress(ConnectionResetError):
                assert sock.recv(1) == b""
    finally:
        plane.clock.speed = 1.0
    until(lambda: not any(plane.counters().values()))
    assert clients.python(served.https, "through.example.com").pod["pod"] == "tls-10.1.3.1"


def test_the_table_in_the_documentation():
    """Every row stands there, with the outcome that is tested here."""
    text = DOCS.read_text()
    documented = dict(re.findall(r"^\| (.+?) \| (.+?) \|$", text, re.MULTILINE))
    for name, (_, expected) in ROWS.items():
        outcome = {"503": "503 page", "nothing": "the connection is reset"}.get(expected, f"`{expected}`")
        assert documented.get(name) == outcome, name
    for name in DOUBTFUL:
        assert name in documented
