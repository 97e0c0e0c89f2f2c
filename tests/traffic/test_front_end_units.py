"""Settings of virtual servers that matter on a pair of BIG-IPs: traffic group and mirrored connections."""

import json
import ssl
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection, HTTPSConnection

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.traffic.conftest import FIRST, HTTP, HTTPS, SECOND, Site
from tests.waiting import DEADLINE_S, until

FLAGS = {"f5_vserver_address": "203.0.113.10"}
EDGE = identity("a.example.com")


@pytest.fixture
def site(site_of) -> Site:
    site = site_of(address="")
    site.timing = replace(site.timing, failover_s=0.1, failover_fresh_s=0.0, look_s=DEADLINE_S)
    site.serve("web", "10.1.1.1")
    site.serve("api", "10.1.2.1")
    site.apply(*(manifests.route(name, host=f"{name}.example.com", service=service, kind="edge",
                                 insecure="Allow", certificate=EDGE.certificate, key=EDGE.key)
                 for name, service in (("a", "web"), ("b", "api"))))
    return site


def answering(pair) -> list[bool]:
    """For each unit, whether clients get an answer of it at the address."""
    return [HTTP in {virtual.path for virtual in big.items("ltm/virtual")}
            and f"{FLAGS['f5_vserver_address']}:80" in big.dataplane.listeners() for big in pair.pair.units]


def test_the_traffic_group(site, pair):
    """Clients are answered by the unit that has it, the router writes to that of the partition's."""
    flags = {**FLAGS, **pair.flags}
    assert site.converge(**flags, f5_vserver_traffic_group=SECOND) == []
    assert answering(pair) == [True, False]
    pair.pair.fail_over(SECOND)
    assert answering(pair) == [False, True]
    for where, ask in ((HTTP, clients.plain), (HTTPS, clients.python)):
        assert ask(pair.pair.endpoint(where), "a.example.com").status == 200
    site.apply(manifests.route("c", host="c.example.com", service="api"))
    assert site.converge(**flags, f5_vserver_traffic_group=SECOND) == []
    assert pair.written(pair.pair.units[1]) == []
    assert clients.plain(pair.pair.endpoint(HTTP), "c.example.com").pod["pod"] == "api-10.1.2.1"
    assert site.converge(**flags, f5_vserver_traffic_group=FIRST) == []
    assert answering(pair) == [True, False]
    assert clients.plain(pair.pair.endpoint(HTTP), "a.example.com").status == 200


def connected(site: Site, *, tls: bool) -> HTTPConnection:
    """Return a connection of a client that is to stay open."""
    if tls:
        return HTTPSConnection(*site.https, timeout=DEADLINE_S, context=clients.trusting())
    return HTTPConnection(*site.http, timeout=DEADLINE_S)


def pod(kept: HTTPConnection, host: str) -> str:
    """Send a request; returns the name of the pod."""
    kept.request("GET", "/", headers={"Host": host})
    return json.loads(kept.getresponse().read())["pod"]


@pytest.mark.parametrize(("flags", "survives"), [({}, False), ({"f5_vserver_mirroring": "enabled"}, True)])
@pytest.mark.parametrize("tls", [False, True])
def test_mirroring(site, pair, flags, survives, tls):
    """A mirrored connection goes on after a failover, by what the other unit has; others are reset."""
    assert site.converge(**FLAGS, **pair.flags, **flags) == []
    with closing(connected(site, tls=tls)) as kept:
        assert pod(kept, "a.example.com") == "web-10.1.1.1"
        pair.pair.fail_over()
        until(lambda: answering(pair) == [False, True])
        site.apply(manifests.route("a", host="a.example.com", service="api", kind="edge", insecure="Allow",
                                   certificate=EDGE.certificate, key=EDGE.key))
        assert site.converge(**FLAGS, **pair.flags, **flags) == []
        if survives:
            assert [pod(kept, f"{name}.example.com") for name in "ab"] == ["api-10.1.2.1"] * 2
        else:
            with pytest.raises((ConnectionError, ssl.SSLEOFError)):
                pod(kept, "a.example.com")
