"""Requests to the router's virtual servers on some VLANs, and the lines of their access log."""

import re
from contextlib import closing
from http.client import HTTPConnection

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.waiting import until

FLAGS = {"f5_vserver_address": "203.0.113.10"}
EDGE = identity("edge.example.com")


@pytest.fixture
def site(site_of):
    site = site_of(address="")
    site.serve("web", "10.1.1.1")
    site.apply(
        manifests.route("plain", host="plain.example.com"),
        manifests.route("edge", host="edge.example.com", kind="edge", certificate=EDGE.certificate,
                        key=EDGE.key))
    yield site
    assert site.faults() == []


def status(site) -> int:
    return clients.plain(site.http, "plain.example.com").status


def again(kept: HTTPConnection) -> int:
    """Send a request on a connection that is open."""
    kept.request("GET", "/", headers={"Host": "plain.example.com"})
    reply = kept.getresponse()
    reply.read()
    return reply.status


def test_vlans(site):
    """Clients on other VLANs get no answer; a connection that is open goes on."""
    assert site.converge(**FLAGS) == []
    plane = site.bigip.dataplane
    plane.vlan = "/Common/internal"
    with closing(HTTPConnection(*site.http)) as kept:
        assert again(kept) == 200
        assert site.converge(**FLAGS, f5_vserver_vlans="/Common/external") == []
        assert again(kept) == 200
    assert status(site) == 0
    plane.vlan = "/Common/external"
    assert status(site) == 200
    assert site.converge(**FLAGS, f5_vserver_vlans="all") == []
    plane.vlan = "/Common/internal"
    assert status(site) == 200


@pytest.mark.parametrize("protocol", ["", "tcp@"])
def test_the_access_log(site, protocol):
    """In HAProxy's format: pools for backends, members for servers."""
    server = site.pods.log_server("10.9.9.9", 1514)
    assert site.converge(**FLAGS, syslog_address=f"{protocol}10.9.9.9:1514") == []
    assert status(site) == 200
    assert clients.python(site.https, "edge.example.com", "/a?b=c").status == 200
    until(lambda: len(server.lines) == 2)
    first, second = sorted(server.lines, key=lambda line: "/a?b=c" in line)
    match = re.fullmatch(
        r"<142>\w{3} \d\d \d\d:\d\d:\d\d \S+ f5router: "
        r"127\.0\.0\.1:\d+ \[\d\d/\w{3}/\d{4}:\d\d:\d\d:\d\d\.\d{3}\] /Common/ose-vserver "
        r"/Common/openshift_shop_web/10\.1\.1\.1:8080 -1/-1/-1/-1/\d+ 200 \d+ - - ---- 0/0/0/0/0 0/0 "
        r'"GET / HTTP/1\.1"', first)
    assert match, first
    assert "/Common/https-ose-vserver " in second
    assert second.endswith('"GET /a?b=c HTTP/1.1"')


def test_another_format_and_facility(site):
    server = site.pods.log_server("10.9.9.9", 514)
    flags = {"syslog_address": "10.9.9.9", "log_facility": "local7",
             "syslog_format": '"%HM %HU %ST ${Host} %[req.hdr(X-None)]"'}
    assert site.converge(**FLAGS, **flags) == []
    assert status(site) == 200
    (line,) = until(lambda: server.lines)
    assert line.startswith("<190>")
    assert line.endswith("f5router: GET / 200 plain.example.com ")


def test_traffic_goes_on_without_a_log_server(site):
    assert site.converge(**FLAGS, syslog_address="10.9.9.9") == []
    assert status(site) == 200
