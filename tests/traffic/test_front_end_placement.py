"""Requests to the router's virtual servers on some VLANs, and the lines of their access log."""

import json
import re
from contextlib import closing
from http.client import HTTPConnection

import pytest

from tests import manifests
from tests.builders import identity
from tests.traffic import clients
from tests.waiting import DEADLINE_S, until

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


def answer(kept: HTTPConnection) -> tuple[int, bytes]:
    """Send a request on a connection that stays open; returns status and body."""
    kept.request("GET", "/", headers={"Host": "plain.example.com"})
    reply = kept.getresponse()
    return reply.status, reply.read()


def test_vlans(site):
    """Clients on other VLANs get no answer; a connection that is open goes on."""
    assert site.converge(**FLAGS) == []
    plane = site.bigip.dataplane
    plane.vlan = "/Common/internal"
    with closing(HTTPConnection(*site.http)) as kept:
        assert answer(kept)[0] == 200
        assert site.converge(**FLAGS, f5_vserver_vlans="/Common/external") == []
        assert answer(kept)[0] == 200
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


def test_irules_of_an_administrator(site):
    """They see each request before the router's, also on the virtual server for HTTPS."""
    for name, text in (("first", 'HTTP::header replace X-Order first'),
                       ("second", 'HTTP::header replace X-Order "[HTTP::header X-Order] second"')):
        site.bigip.put_object("ltm/rule", {"name": f"/Common/{name}",
                                           "apiAnonymous": f"when HTTP_REQUEST {{ {text} }}"})
    for flags, wanted in (({}, None), ({"f5_irules": "/Common/first,/Common/second"}, "first second"),
                          ({"f5_irules": "/Common/second"}, " second"), ({}, None)):
        assert site.converge(**FLAGS, **flags) == []
        for reply in (clients.plain(site.http, "plain.example.com"),
                      clients.python(site.https, "edge.example.com")):
            headers = {name.lower(): value for name, value in reply.pod["headers"]}
            assert headers.get("x-order") == (wanted and wanted.strip())


def test_a_profile_of_an_administrator_for_http(site):
    """Its limits hold in place of the router's own, until the setting is given up."""
    small = {"name": "/Common/small", "enforcement": {"maxHeaderSize": 512}}
    site.bigip.put_object("ltm/profile/http", small)
    for flags, status in (({}, 200), ({"f5_http_profile": "/Common/small"}, 0), ({}, 200)):
        assert site.converge(**FLAGS, **flags) == []
        reply = clients.plain(site.http, "plain.example.com", headers=(f"X-Long: {'a' * 600}",))
        assert reply.status == status


def test_clients_share_connections_only_with_a_oneconnect_profile(site):
    for flags, are_shared in (({}, False), ({"f5_oneconnect_profile": "/Common/oneconnect"}, True),
                              ({}, False)):
        assert site.converge(**FLAGS, **flags) == []
        with closing(HTTPConnection(*site.http)) as first, closing(HTTPConnection(*site.http)) as second:
            numbers = {json.loads(answer(each)[1])["connection"] for each in (first, second)}
        assert (len(numbers) == 1) is are_shared


HERE, ELSEWHERE = ({"addresses": [{"name": name}]} for name in ("127.0.0.0/8", "192.0.2.0/24"))
MET = {"name": "met", "source": HERE}


def reaction(site, wait_s: float) -> str:
    """Return what a client gets that connects and asks: its status, a reset, or silence for a while."""
    try:
        with closing(HTTPConnection(*site.http, timeout=wait_s)) as client:
            return str(answer(client)[0])
    except TimeoutError:
        return "silence"
    except ConnectionError:
        return "reset"


@pytest.mark.parametrize(("rules", "wanted"), [
    ([], "200"), ([{**MET, "action": "accept"}, {**MET, "action": "reject"}], "200"),
    ([{"name": "others", "source": ELSEWHERE, "action": "reject"}], "200"),
    ([{**MET, "action": "reject"}], "reset"), ([{"name": "all", "action": "drop"}], "silence"),
    ([{**MET, "destination": {"ports": [{"name": "443"}]}, "action": "reject"}], "200"),
])
def test_a_firewall_policy_of_an_administrator(site, rules, wanted):
    """It decides about new connections; one that is open goes on, and all are let in without the setting."""
    site.change("PATCH", "sys/provision/afm", {"level": "nominal"})
    site.bigip.put_object("security/firewall/policy", {"name": "/Common/wall", "rules": rules})
    assert site.converge(**FLAGS) == []
    with closing(HTTPConnection(*site.http)) as kept:
        assert answer(kept)[0] == 200
        assert site.converge(**FLAGS, f5_firewall_policy="/Common/wall") == []
        assert reaction(site, 1.0 if wanted == "silence" else DEADLINE_S) == wanted
        assert answer(kept)[0] == 200
    assert site.converge(**FLAGS) == []
    assert status(site) == 200


def test_profiles_against_bots_and_floods_and_their_logs(site):
    """They are on a virtual server before it answers a client, and requests are served with them."""
    for module in ("asm", "afm"):
        site.change("PATCH", f"sys/provision/{module}", {"level": "nominal"})
    for kind, name in (("bot-defense", "bots"), ("dos", "floods"), ("log", "log")):
        site.bigip.put_object(f"security/{kind}/profile", {"name": f"/Common/{name}"})
    flags = {"f5_bot_defense_profile": "/Common/bots", "f5_dos_profile": "/Common/floods",
             "f5_security_log_profiles": "/Common/log"}
    seen = []

    def look(entry: object) -> None:
        for item in site.bigip.items("ltm/virtual"):
            if item.fields.get("enabled"):
                raw = site.bigip.get(f"ltm/virtual/{item.path.replace('/', '~')}")
                profiles = {each["fullPath"] for each in raw["profilesReference"]["items"]}
                seen.append({"/Common/bots", "/Common/floods"} <= profiles
                            and "/Common/log" in str(raw["securityLogProfiles"]))

    site.bigip.on_write = look
    assert site.converge(**FLAGS, **flags) == []
    site.bigip.on_write = None
    assert seen
    assert all(seen)
    assert status(site) == 200
    assert clients.python(site.https, "edge.example.com").status == 200
