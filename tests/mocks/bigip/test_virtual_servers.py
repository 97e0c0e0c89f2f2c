"""Virtual servers and their addresses: what is written, what is read, and what is refused."""

from __future__ import annotations

from typing import Any

from mocks.bigip import FakeBigIP
from tests.mocks.bigip.offline import ADDRESSES, AT, at, refusal, virtual
from tests.rows import rows

HOST6 = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"


def address(big: FakeBigIP, path: str, **fields: Any) -> dict:
    return big.put_object(ADDRESSES, {"name": path, **fields})


def names(big: FakeBigIP) -> list[str]:
    """Full paths of the virtual addresses."""
    return [item["fullPath"] for item in big.get(ADDRESSES)["items"]]


# -- destinations ----------------------------------------------------------------------------------


@rows(("written", "read", "source", "mask"), [
    ("10.1.10.10:443", "/P/10.1.10.10:443", "0.0.0.0/0", "255.255.255.255"),
    ("/P/10.1.10.10:443", "/P/10.1.10.10:443", "0.0.0.0/0", "255.255.255.255"),
    ("10.1.10.10%6:443", "/P/10.1.10.10%6:443", "0.0.0.0%6/0", "255.255.255.255"),
    ("10.1.10.10%0:443", "/P/10.1.10.10:443", "0.0.0.0/0", "255.255.255.255"),
    ("10.1.10.10:https", "/P/10.1.10.10:443", "0.0.0.0/0", "255.255.255.255"),
    ("10.1.10.10:0", "/P/10.1.10.10:0", "0.0.0.0/0", "255.255.255.255"),
    ("10.1.10.10:*", "/P/10.1.10.10:0", "0.0.0.0/0", "255.255.255.255"),
    ("2001:DB8::0001.443", "/P/2001:db8::1.443", "::/0", HOST6),
    ("2001:db8::1%2.443", "/P/2001:db8::1%2.443", "::%2/0", HOST6),
    ("2001:db8::1.0", "/P/2001:db8::1.any", "::/0", HOST6),
    ("::ffff:10.0.0.1.80", "/P/::ffff:a00:1.80", "::/0", HOST6),
    ("0.0.0.0:0", "/P/0.0.0.0:0", "0.0.0.0/0", "any"),
    ("any:80", "/P/0.0.0.0:80", "0.0.0.0/0", "any"),
    ("any6.80", "/P/any6.80", "::/0", "any6"),
    ("/P/any6.80", "/P/any6.80", "::/0", "any6"),
    ("::.80", "/P/any6.80", "::/0", "any6"),
])
def test_a_destination_as_it_is_read(make, written, read, source, mask):
    shown = virtual(make(), destination=written)
    assert (shown["destination"], shown["source"], shown["mask"]) == (read, source, mask)


@rows("written", [
    "10.0.0.1", "10.0.0.1:x", "10.0.0.1:65536", "x:80", "[2001:db8::1]:443", "/P/nobody:80", "/N/10.0.0.1:80",
])
def test_a_destination_that_is_refused(make, written):
    assert refusal(virtual, make(), destination=written).startswith("400 ")


@rows(("destination", "mask", "read"), [
    ("10.2.0.0:80", "255.255.0.0", "255.255.0.0"),
    ("2001:db8::.80", "ffff:ffff::", "ffff:ffff::"),
    ("0.0.0.0:0", "255.255.255.255", "255.255.255.255"),
    ("10.2.0.0:80", "255.0.255.0", None),
    ("10.2.0.0:80", "ffff::", None),
    ("10.2.0.0:80", "any", None),
    ("10.2.0.0:80", "x", None),
])
def test_a_mask(make, destination, mask, read):
    big = make()
    if read is None:
        assert refusal(virtual, big, destination=destination, mask=mask) == (
            f'400 invalid property value "mask":"{mask}"')
    else:
        assert virtual(big, destination=destination, mask=mask)["mask"] == read


def test_a_network_answers_neither_arp_nor_ping(big):
    virtual(big, destination="10.2.0.0:80", mask="255.255.0.0")
    (item,) = big.get(ADDRESSES)["items"]
    assert [item[name] for name in ("mask", "arp", "icmpEcho")] == ["255.255.0.0", "disabled", "disabled"]


@rows(("written", "read"), [
    ("10.0.0.0/8", "10.0.0.0/8"), ("10.0.0.7", "10.0.0.7/32"), ("10.0.0.0%0/8", "10.0.0.0/8"),
    ("10.0.0.0/33", None), ("x", None), ("x/8", None),
])
def test_a_source(make, written, read):
    big = make()
    if read is None:
        assert refusal(virtual, big, source=written) == f'400 invalid property value "source":"{written}"'
    else:
        assert virtual(big, source=written)["source"] == read


@rows(("destination", "source", "shown"), [
    ("10.0.0.1:80", "::/0", ("::", "10.0.0.1")),
    ("2001:db8::1.80", "0.0.0.0/0", ("0.0.0.0", "2001:db8::1")),
    ("any6.80", "10.0.0.0/8", ("10.0.0.0", "any6")),
])
def test_source_and_destination_are_of_one_family(make, destination, source, shown):
    assert refusal(virtual, make(), destination=destination, source=source) == (
        f"400 0107028c:3: The source ({shown[0]}) and destination ({shown[1]}) addresses for virtual server "
        "(/P/vs) must be be the same type (IPv4 or IPv6).")


@rows(("written", "read"), [
    ("tcp", "tcp"), ("TCP", "tcp"), (6, "tcp"), ("6", "tcp"), ("17", "udp"), (132, "sctp"), ("any", "any"),
    ("47", "47"), ("x", None), (256, None),
])
def test_a_protocol(make, written, read):
    big = make()
    if read is None:
        assert refusal(virtual, big, ipProtocol=written).startswith(
            '400 invalid property value "ip-protocol"')
    else:
        assert virtual(big, ipProtocol=written)["ipProtocol"] == read


# -- conflicts -------------------------------------------------------------------------------------

FIRST = {"destination": "10.0.0.1:80", "ipProtocol": "tcp"}
INSIDE = {"vlansEnabled": True, "vlans": ["/Common/internal"]}
OUTSIDE = {"vlansEnabled": True, "vlans": ["/Common/external"]}
NOT_INSIDE = {"vlansDisabled": True, "vlans": ["/Common/internal"]}
BOTH = {"vlansEnabled": True, "vlans": ["/Common/external", "/Common/internal"]}


@rows(("first", "second", "conflict"), [
    ({}, {}, True),
    ({}, {"destination": "10.0.0.1:81"}, False),
    ({}, {"destination": "10.0.0.2:80"}, False),
    ({}, {"destination": "10.0.0.1:0"}, False),
    ({}, {"destination": "10.0.0.1%2:80"}, False),
    ({}, {"destination": "10.0.0.1%0:80"}, True),
    ({}, {"ipProtocol": "udp"}, False),
    ({}, {"ipProtocol": 6}, True),
    ({}, {"source": "10.0.0.0/8"}, False),
    ({}, {"source": "0.0.0.0%0/0"}, True),
    ({}, INSIDE, True),
    ({}, {"disabled": True}, True),
    (INSIDE, OUTSIDE, False),
    (INSIDE, BOTH, True),
    (INSIDE, NOT_INSIDE, False),
    (OUTSIDE, NOT_INSIDE, True),
    (NOT_INSIDE, {}, True),
])
def test_two_for_the_same_destination(make, first, second, conflict):
    for own, other in ((first, second), (second, first)):
        big = make()
        virtual(big, "/P/a", **{**FIRST, **own})
        if conflict:
            assert refusal(virtual, big, "/P/b", **{**FIRST, **other}) == (
                "400 01070333:3: Virtual Server /P/b illegally shares destination address, source address, "
                "service port, ip-protocol, and vlan with Virtual Server /P/a.")
            assert big.get(at("/P/b")) is None
        else:
            virtual(big, "/P/b", **{**FIRST, **other})


@rows("change", [{"destination": "10.0.0.1:80"}, {"source": "0.0.0.0/0"}, {"ipProtocol": "tcp"},
                 {"vlansDisabled": True, "vlans": []}])
def test_a_change_into_a_conflict(make, change):
    big = make()
    virtual(big, "/P/a", **FIRST)
    other = {"destination": "10.0.0.1:81"} if "destination" in change else {"source": "10.0.0.0/8"}
    other = {"ipProtocol": "udp"} if "ipProtocol" in change else other
    virtual(big, "/P/b", **{**FIRST, **other})
    if "vlans" in change:
        change = {**change, "source": "0.0.0.0/0"}
    assert "01070333:3" in refusal(big.request, "PATCH", at("/P/b"), {}, change)


def test_two_swap_their_destinations_in_a_transaction(client):
    for name, destination in (("a", "10.0.0.1:80"), ("b", "10.0.0.2:80")):
        client.big.add_virtual(f"/P/{name}", destination)
    assert "01070333:3" in client.refused("PATCH", at("/P/a"), {"destination": "10.0.0.2:80"})[1]
    number = client.ok("POST", "/mgmt/tm/transaction", {})["transId"]
    head = {"X-F5-REST-Coordination-Id": str(number)}
    for name, destination in (("a", "10.0.0.2:80"), ("b", "10.0.0.1:80")):
        client.ok("PATCH", at(f"/P/{name}"), {"destination": destination}, headers=head)
    client.ok("PATCH", f"/mgmt/tm/transaction/{number}", {"state": "VALIDATING"})
    shown = [client.ok("GET", at(f"/P/{name}"))["destination"] for name in "ab"]
    assert shown == ["/P/10.0.0.2:80", "/P/10.0.0.1:80"]
    assert sorted(names(client.big)) == ["/P/10.0.0.1", "/P/10.0.0.2"]


# -- virtual addresses -----------------------------------------------------------------------------


def test_an_address_lives_as_long_as_its_virtual_servers(big):
    virtual(big, "/P/a", "10.0.0.1:80")
    virtual(big, "/P/b", "10.0.0.1:443")
    big.request("DELETE", at("/P/a"), {})
    assert names(big) == ["/P/10.0.0.1"]
    assert refusal(big.request, "DELETE", f"{ADDRESSES}/~P~10.0.0.1", {}) == (
        "400 01070344:3: Cannot delete referenced virtual address /P/10.0.0.1.")
    big.request("DELETE", at("/P/b"), {})
    assert names(big) == []
    assert refusal(big.request, "DELETE", f"{ADDRESSES}/~P~10.0.0.1", {}).startswith("404 01020036:3")


def test_an_address_that_is_kept(big):
    address(big, "/P/10.0.0.1", autoDelete="false")
    virtual(big)
    big.request("DELETE", at("/P/vs"), {})
    assert names(big) == ["/P/10.0.0.1"]
    big.request("DELETE", f"{ADDRESSES}/~P~10.0.0.1", {})
    assert names(big) == []


def test_a_destination_by_the_name_of_its_address(big):
    address(big, "/P/front", address="10.0.0.1")
    address(big, "/P/front6", address="2001:db8::1")
    assert virtual(big, "/P/a", "front:80")["destination"] == "/P/front:80"
    assert virtual(big, "/P/b", "/P/front:https")["destination"] == "/P/front:443"
    assert virtual(big, "/P/c", "/P/front6.80")["destination"] == "/P/front6.80"
    assert virtual(big, "/P/d", "10.0.0.1:81")["destination"] == "/P/10.0.0.1:81"
    assert "01070333:3" in refusal(virtual, big, "/P/e", "10.0.0.1:80", ipProtocol="any")
    big.request("PATCH", at("/P/a"), {}, {"description": "x"})
    assert big.get(at("/P/a"))["destination"] == "/P/front:80"
    big.request("PUT", at("/P/a"), {}, {"description": "y"})
    assert big.get(at("/P/a"))["destination"] == "/P/front:80"
    big.request("PATCH", at("/P/a"), {}, {"destination": "10.0.0.1:82"})
    assert big.get(at("/P/a"))["destination"] == "/P/10.0.0.1:82"
    assert names(big) == ["/P/front", "/P/front6"]


def test_an_address_of_another_partition_by_name(big):
    virtual(big, "/Q/vs", "10.0.0.1:80")
    assert refusal(virtual, big, "/P/vs", "10.0.0.1:443") == (
        "400 0107176c:3: Invalid Virtual Address, the IP address 10.0.0.1 already exists.")
    assert virtual(big, "/P/vs", "/Q/10.0.0.1:443")["destination"] == "/Q/10.0.0.1:443"
    big.request("DELETE", at("/Q/vs"), {})
    assert names(big) == ["/Q/10.0.0.1"]


@rows(("body", "expected"), [
    ({"address": "10.0.0.2"}, "400 0107176a:3: Invalid Virtual Address modification. An address change from "
                              "10.0.0.1 to 10.0.0.2 is not supported"),
    ({"trafficGroup": "traffic-group-1"}, "400 01070734:3: Configuration error: Traffic group "
                                          "(/P/traffic-group-1) does not exist."),
    ({"trafficGroup": "/Common/none"}, "400 01070734:3: Configuration error: Traffic group (/Common/none) "
                                       "does not exist."),
    ({"arp": "x"}, '400 invalid property value "arp":"x"'),
    ({"icmpEcho": "x"}, '400 invalid property value "icmp-echo":"x"'),
    ({"serverScope": "x"}, '400 invalid property value "server-scope":"x"'),
    ({"routeAdvertisement": "x"}, '400 invalid property value "route-advertisement":"x"'),
    ({"autoDelete": "x"}, '400 invalid property value "auto-delete":"x"'),
    ({"enabled": "x"}, '400 invalid property value "enabled":"x"'),
    ({"mask": "255.0.255.0"}, '400 invalid property value "mask":"255.0.255.0"'),
    ({"guess": "x"}, '400 "guess" unknown property'),
])
def test_changes_of_an_address_that_are_refused(make, body, expected):
    big = make()
    address(big, "/P/front", address="10.0.0.1")
    assert refusal(big.request, "PATCH", f"{ADDRESSES}/~P~front", {}, body) == expected


@rows("path", ["/P/other", "/Q/other", "/Common/10.0.0.1"])
def test_an_address_exists_once_on_the_make(make, path):
    big = make()
    address(big, "/P/front", address="10.0.0.1")
    assert refusal(address, big, path, address="10.0.0.1") == (
        "400 0107176c:3: Invalid Virtual Address, the IP address 10.0.0.1 already exists.")


def test_floating_follows_the_traffic_group(big):
    shown = address(big, "/P/front", address="10.0.0.1")
    assert [shown[name] for name in ("trafficGroup", "floating", "unit")] == [
        "/Common/traffic-group-1", "enabled", 1]
    group = {"trafficGroup": "/Common/traffic-group-local-only"}
    shown = big.request("PATCH", f"{ADDRESSES}/~P~front", {}, group)
    assert [shown[name] for name in ("trafficGroup", "floating", "unit")] == [
        "/Common/traffic-group-local-only", "disabled", 0]


def test_an_address_has_the_traffic_group_of_its_folder(big):
    big.request("PATCH", "sys/folder/~P", {}, {"trafficGroup": "/Common/traffic-group-local-only"})
    virtual(big)
    assert big.get(f"{ADDRESSES}/~P~10.0.0.1")["floating"] == "disabled"


@rows(("version", "body", "taken"), [
    ("11.6.0", {"spanning": "enabled"}, False),
    ("12.0.0", {"spanning": "enabled"}, True),
    ("12.1.2", {"routeAdvertisement": "enabled"}, True),
    ("12.1.2", {"routeAdvertisement": "selective"}, False),
    ("13.0.0", {"routeAdvertisement": "selective"}, True),
    ("11.6.0", {"icmpEcho": "selective"}, True),
])
def test_properties_of_an_address_by_version(make, version, body, taken):
    big = make(version)
    if taken:
        assert address(big, "/P/front", address="10.0.0.1", **body).items() >= body.items()
    else:
        assert refusal(address, big, "/P/front", address="10.0.0.1", **body).startswith("400 ")


def test_put_of_an_ipv6_address_keeps_its_mask(big):
    address(big, "/P/front", address="2001:db8::1", arp="disabled")
    shown = big.request("PUT", f"{ADDRESSES}/~P~front", {}, {"icmpEcho": "disabled"})
    assert [shown[name] for name in ("address", "mask", "arp")] == ["2001:db8::1", HOST6, "enabled"]


# -- a front end in one transaction ----------------------------------------------------------------

OWN = [
    ("ltm/pool", {"name": "/P/log", "members": ["10.2.0.1:514"]}),
    ("ltm/profile/tcp", {"name": "/P/tcp", "idleTimeout": 30}),
    ("ltm/profile/http", {"name": "/P/http", "enforcement": {"maxHeaderSize": 32768}}),
    ("ltm/profile/client-ssl", {"name": "/P/tls", "sniDefault": "true"}),
    ("ltm/profile/request-log", {"name": "/P/requests", "responseLogPool": "/P/log"}),
    ("ltm/rule", {"name": "/P/rule", "apiAnonymous": "when HTTP_REQUEST { }"}),
    (ADDRESSES, {"name": "/P/10.0.0.1", "autoDelete": "false"}),
    (AT, {"name": "/P/vs", "destination": "/P/10.0.0.1:443", "ipProtocol": "tcp", "rules": ["/P/rule"],
          "profiles": ["/P/tcp", "/P/http", "/P/tls", "/P/requests"], "description": "owner: x",
          "metadata": [{"name": "owner", "value": "x"}], "sourceAddressTranslation": {"type": "automap"}}),
]


def in_one_transaction(client, calls: list[tuple[str, str, dict | None]]) -> tuple[int, str]:
    """(status, message) of the commit."""
    number = client.ok("POST", "/mgmt/tm/transaction", {})["transId"]
    head = {"X-F5-REST-Coordination-Id": str(number)}
    for method, path, body in calls:
        client.ok(method, path, body, headers=head)
    reply = client.call("PATCH", f"/mgmt/tm/transaction/{number}", {"state": "VALIDATING"})
    return reply.status_code, reply.json().get("message", "")


def test_a_front_end_is_made_and_removed_as_a_whole(client):
    posts = [("POST", kind, body) for kind, body in OWN]
    before = {kind: len(client.ok("GET", kind)["items"]) for kind, _ in OWN}
    status, message = in_one_transaction(client, [*posts, ("POST", AT, {"name": "/P/x", "destination": "x"})])
    assert (status, "invalid property value" in message) == (400, True)
    assert {kind: len(client.ok("GET", kind)["items"]) for kind, _ in OWN} == before
    assert in_one_transaction(client, posts) == (200, "")
    assert client.ok("GET", at("/P/vs"))["destination"] == "/P/10.0.0.1:443"
    removed = [("DELETE", f"{kind}/{body['name'].replace('/', '~')}", None) for kind, body in reversed(OWN)]
    assert in_one_transaction(client, removed) == (200, "")
    assert {kind: len(client.ok("GET", kind)["items"]) for kind, _ in OWN} == before


def test_the_types_of_its_profiles_change_in_one_patch(big):
    for kind, body in OWN:
        big.put_object(kind, body)
    big.request("PATCH", at("/P/vs"), {}, {"profiles": ["/Common/fastL4"], "rules": []})
    big.request("DELETE", "ltm/profile/tcp/~P~tcp", {})
    assert "01020036:3" in refusal(big.request, "PATCH", at("/P/vs"), {}, {"profiles": ["/P/tcp"]})
    (item,) = big.get(at("/P/vs"))["profilesReference"]["items"]
    assert item["fullPath"] == "/Common/fastL4"
