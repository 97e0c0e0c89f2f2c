"""openshift_passthrough_irule where names without a certificate are refused."""

import pytest

from f5router.desired import irules
from f5router.model import names
from tests.unit.desired.irules import hello as h
from tests.unit.desired.irules.tmm import Tmm

FOLDER = "/OpenShift/zone1"
GROUPS = {
    f"{FOLDER}/ssl_passthrough_servername_dg": {
        "pass.example.com": "/P/pass", ".pass.example.com": "/P/pass", "end.pass.example.com": "terminate"},
    f"{FOLDER}/{names.SERVER_NAME_GROUP}": {
        "own.example.com": names.CERTIFICATE, ".wild.example.com": names.CERTIFICATE, names.STRICT: "on"},
}
RULE = irules.passthrough_irule(FOLDER, source=False, strict=True)
ALERT = "\x15\x03\x01\x00\x02\x02\x70"
REFUSED = (("TCP::respond", ALERT), ("TCP::close",))
LEFT = (("TCP::release",),)


def effects(tmm: Tmm, hello: bytes, *, without: str = "", faults=()):
    group = f"{FOLDER}/{names.SERVER_NAME_GROUP}"
    known = {name: data for name, data in GROUPS[group].items() if name != without}
    connection = tmm.run([RULE], segments=[hello], groups={**GROUPS, group: known}, faults=faults)
    assert not connection.logs
    return connection.effects


@pytest.mark.parametrize(("name", "served"), [
    ("own.example.com", True), ("OWN.Example.com", True), ("own.example.com.", True),
    ("a.wild.example.com", True), ("a.b.wild.example.com", False), ("wild.example.com", False),
    (".wild.example.com", False), ("/strict", False), ("end.pass.example.com", False),
    ("other.example.com", False), ("own", False), ("-value", False), ("a b", False), ("[reject]", False),
])
def test_names(tmm, name, served):
    assert effects(tmm, h.hello(name)) == (LEFT if served else REFUSED)


@pytest.mark.parametrize(("name", "expected"), [
    ("own.example.com", LEFT), ("other.example.com", REFUSED), ("pass.example.com", ("pool", "/P/pass"))])
def test_behind_the_header_of_a_load_balancer(tmm, name, expected):
    """The name is that of the ClientHello behind the header of the PROXY protocol, which is removed."""
    rule = irules.passthrough_irule(FOLDER, source=False, strict=True, proxied=True)
    header = b"PROXY TCP4 192.0.2.9 192.0.2.80 40000 443\r\n"
    connection = tmm.run([rule], segments=[header + h.hello(name)], groups=GROUPS)
    effects_ = [effect for effect in connection.effects if effect[0] != "TCP::payload"]
    assert expected in (tuple(effects_), effects_[0])


@pytest.mark.parametrize("name", ["pass.example.com", "a.pass.example.com"])
def test_what_is_passed_through(tmm, name):
    assert effects(tmm, h.hello(name))[0] == ("pool", "/P/pass")


@pytest.mark.parametrize("hello", [
    pytest.param(h.client_hello(), id="no SNI"), pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="no TLS"),
    pytest.param(h.hello(""), id="an empty name")])
def test_clients_without_a_name(tmm, hello):
    assert effects(tmm, hello) == LEFT


def test_before_all_names_are_there(tmm):
    assert effects(tmm, h.hello("other.example.com"), without=names.STRICT) == LEFT


def test_where_the_alert_cannot_be_sent(tmm):
    assert effects(tmm, h.hello("other.example.com"), faults=["TCP::respond"])[-1] == ("reject",)
