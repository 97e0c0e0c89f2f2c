"""Requests to virtual servers that the router has created on a BIG-IP without any."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from f5router.model.virtual_server import numbered
from tests import manifests
from tests.builders import identity
from tests.rows import rows
from tests.traffic import clients
from tests.traffic.conftest import PODS, Site
from tests.waiting import until

ADDRESSES = ("203.0.113.10", "203.0.113.11", "2001:db8::10")
EDGE = identity("edge.example.com")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Iterator[Site]:
    """A Route of each kind, by a router that has created the virtual servers on three addresses."""
    with ExitStack() as stack:
        whole = Site(stack, tmp_path_factory.mktemp("site"), address="")
        whole.serve("web", "10.1.1.1")
        whole.serve("tls", "10.1.2.1", port=8443, tls=PODS)
        whole.apply(
            manifests.route("plain", host="plain.example.com"),
            manifests.route("edge", host="edge.example.com", kind="edge", insecure="Redirect",
                            certificate=EDGE.certificate, key=EDGE.key),
            manifests.route("again", host="again.example.com", kind="reencrypt", service="tls",
                            insecure="Allow", destinationCACertificate=PODS.issuer),
            manifests.route("through", host="through.example.com", kind="passthrough", service="tls"))
        assert whole.converge(f5_vserver_address=",".join(ADDRESSES)) == []
        yield whole
        assert whole.faults() == []


def where(site: Site, name: str, address: str) -> tuple[str, int]:
    return site.bigip.endpoint(numbered(f"/Common/{name}", ADDRESSES.index(address) + 1))


@rows("address", ADDRESSES)
@rows(("host", "status", "service"), [
    ("plain", 200, "web"), ("edge", 302, ""), ("again", 200, "tls"), ("through", 503, ""), ("none", 503, ""),
])
def test_http(site, address, host, status, service):
    reply = clients.plain(where(site, "ose-vserver", address), f"{host}.example.com")
    assert (reply.status, reply.pod.get("pod", "").rpartition("-")[0]) == (status, service)


@rows("address", ADDRESSES)
@rows(("host", "status", "service", "certificate"), [
    ("edge", 200, "web", "edge.example.com"), ("again", 200, "tls", "localhost.localdomain"),
    ("through", 200, "tls", "pods.example.com"), ("none", 503, "", "localhost.localdomain"),
])
def test_https(site, address, host, status, service, certificate):
    reply = clients.python(where(site, "https-ose-vserver", address), f"{host}.example.com")
    assert (reply.status, reply.pod.get("pod", "").rpartition("-")[0]) == (status, service)
    assert reply.certificate == certificate


@rows("address", ADDRESSES)
def test_requests_to_pods_with_tls_are_encrypted(site, address):
    """Also those that come in clear text, on each address."""
    reply = clients.plain(where(site, "ose-vserver", address), "again.example.com")
    assert reply.pod["tls"]


def test_limits(site_of):
    """Headers beyond the limit, and connections beyond the limit, get no answer; others do."""
    site = site_of(address="")
    site.serve("web", "10.1.1.1")
    site.apply(manifests.route("plain", host="plain.example.com"))
    flags = {"f5_vserver_address": ADDRESSES[0], "buf_size": "16384", "max_rewrite_size": "8192"}
    assert site.converge(**flags) == []
    where = site.bigip.endpoint("/Common/ose-vserver")
    answers = [clients.plain(where, "plain.example.com", headers=(f"X-Long: {'a' * count}",)).status
               for count in (7000, 9000)]
    assert answers == [200, 0]
    assert site.converge(**flags, max_connections="1") == []
    with socket.create_connection(where):
        until(lambda: site.bigip.dataplane.counters()["connections"] == 1)
        assert clients.plain(where, "plain.example.com").status == 0
    until(lambda: clients.plain(where, "plain.example.com").status == 200)
