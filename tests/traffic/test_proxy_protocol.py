"""The PROXY protocol, which the virtual servers do not read: its header lets nobody in as somebody else."""

import contextlib
import socket

import pytest

from f5router.admission.route_options import HAPROXY
from tests import manifests
from tests.traffic import clients
from tests.traffic.conftest import Site
from tests.unit.desired.irules import hello
from tests.waiting import DEADLINE_S

V1 = b"PROXY TCP4 192.0.2.7 192.0.2.1 56324 443\r\n"
V2 = (b"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c" + socket.inet_aton("192.0.2.7")
      + socket.inet_aton("192.0.2.1") + b"\xdc\x04\x01\xbb")


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
