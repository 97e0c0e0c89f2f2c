"""The PROXY protocol: which headers are read, as what, and that nothing gets past without one."""

import pytest

from f5router.desired import irules
from f5router.model import names
from tests.unit.desired.irules import hello
from tests.unit.desired.irules.proxy_headers import BAD, GOOD, REQUEST, v1
from tests.unit.desired.irules.tmm import Connection, Tmm

GROUPS = {f"/Common/{names.HTTP_GROUP}": {}, f"/Common/{names.PASSTHROUGH_GROUP}": {"a.com": "/Common/pool"}}

def plain(tmm: Tmm, *segments: bytes, requests: int = 1, **how) -> Connection:
    """A connection of a client that speaks no TLS."""
    rules = [irules.proxy_irule("/Common"), irules.request_irule("/Common", page=True, proxied=True),
             irules.headers_irule("/Common", forwarded="append", sets_variables=False)]
    return tmm.run(rules, segments=segments, groups=GROUPS, requests=[("a.com", {})] * requests, **how)


def inserted(connection: Connection) -> tuple[str, ...]:
    """Return the values of X-Forwarded-For and X-Forwarded-Port."""
    headers = {action[2]: action[3] for action in connection.actions
               if action[:2] == ("HTTP::header", "insert")}
    return tuple(headers.get(f"X-Forwarded-{word}", "") for word in ("For", "Port"))


def pieces(data: bytes) -> list[list[bytes]]:
    """Return ways in which data may come: at once, and cut in several places."""
    cuts = {1, 5, 6, 11, 12, 13, 15, 16, 17, 28, len(data) // 2, len(data) - 1}
    return [[data], [data[at:at + 1] for at in range(min(len(data), 120))] + [data[120:]],
            *([data[:cut], data[cut:]] for cut in cuts if 0 < cut < len(data))]


@pytest.mark.parametrize("header", GOOD, ids=range(len(GOOD)))
def test_headers(tmm, header):
    """They are removed, and what they say is the client's address and the server's port."""
    for mode in ("stream", "once"):
        for segments in [[header, REQUEST], *pieces(header + REQUEST)]:
            connection = plain(tmm, *filter(None, segments), mode=mode)
            assert (connection.forwarded, connection.held) == (REQUEST, b"")
            assert inserted(connection) == GOOD[header]


@pytest.mark.parametrize("header", GOOD, ids=range(len(GOOD)))
def test_headers_before_tls(tmm, header):
    """The ClientHello behind it is read, and comes to the pod as it was sent."""
    rule = irules.passthrough_irule("/Common", proxied=True)
    data = hello.hello("a.com")
    whole = header + data
    behind = len(header) + 9
    for segments in [[header, data], [whole], [whole[:behind], whole[behind:]], [whole[:9], whole[9:]]]:
        connection = tmm.run([rule], segments=segments, groups=GROUPS)
        assert (connection.forwarded, connection.held) == (data, b"")
        assert ("pool", "/Common/pool") in connection.actions
        assert ("persist", "uie", f"{GOOD[header][0]} /Common/pool", "3600") in connection.actions


@pytest.mark.parametrize("header", BAD, ids=range(len(BAD)))
def test_without_a_right_header(tmm, header):
    """Nothing is released, however it comes, and no request is taken."""
    for rules in ([irules.proxy_irule("/Common")], [irules.passthrough_irule("/Common", proxied=True)]):
        for behind in (REQUEST, hello.hello("a.com")):
            for segments in ([header + behind], [header, behind]):
                connection = tmm.run(rules, segments=segments, groups=GROUPS)
                assert ("reject",) in connection.actions
                assert connection.forwarded == b""
                assert "f5router_ends" not in connection.variables


@pytest.mark.parametrize("header", [header for header in GOOD if len(header) < 120], ids=repr)
def test_a_part_of_a_header_waits(tmm, header):
    for size in range(1, len(header)):
        connection = plain(tmm, header[:size], requests=0)
        assert (connection.forwarded, connection.held) == (b"", header[:size])
        assert "f5router_ends" not in connection.variables


def test_a_request_without_a_header_read(tmm):
    """As on a connection from before the iRule that reads it was there."""
    rules = [irules.request_irule("/Common", page=True, proxied=True),
             irules.headers_irule("/Common", forwarded="append")]
    connection = tmm.run(rules, groups=GROUPS, requests=[("a.com", {"f5router_pool": "/Common/pool"})])
    assert connection.effects == (("reject",),)


@pytest.mark.parametrize("fault", ["TCP::payload replace", "TCP::payload 16", "IP::local_addr"])
def test_a_fault_lets_nobody_in(tmm, fault):
    header = v1("TCP4 198.51.100.7 192.0.2.1 1 8443")
    faults = [f"TCP::payload replace 0 {len(header)} "] if "replace" in fault else [fault]
    for rule in (irules.proxy_irule("/Common"), irules.passthrough_irule("/Common", proxied=True)):
        connection = tmm.run([rule], segments=[header + hello.hello("b.com")], groups=GROUPS, faults=faults)
        assert ("reject",) in connection.actions
        assert connection.forwarded == b""


def test_route_domains(tmm):
    """An address of a list may have that of the connection."""
    rules = [irules.proxy_irule("/Common"), irules.limits_irule("/Common")]
    groups = {f"/Common/{names.LIMITS_GROUP}": {"/Common/openshift_x__limited": "list"},
              "/Common/list": {"198.51.100.7%3": ""}}
    header = v1("TCP4 198.51.100.7 192.0.2.1 1 8443")
    for client, allowed in (("10.0.0.1%3", True), ("198.51.100.7%3", True), ("10.0.0.1%4", False)):
        connection = tmm.run(rules, segments=[header + REQUEST], groups=groups, client=client,
                             selected=["/Common/openshift_x__limited"])
        assert (("reject",) not in connection.actions) == allowed


@pytest.mark.parametrize("setting", [{}, {"proxied": True}])
def test_clients_without_the_protocol(tmm, setting):
    """Without the setting, its header is no more than other bytes."""
    rule = irules.passthrough_irule("/Common", **setting)
    data = v1("TCP4 198.51.100.7 192.0.2.1 1 8443") + hello.hello("a.com")
    connection = tmm.run([rule], segments=[data], groups=GROUPS)
    assert ("f5router_ends" in connection.variables) == bool(setting)
    assert connection.forwarded == (hello.hello("a.com") if setting else data)


