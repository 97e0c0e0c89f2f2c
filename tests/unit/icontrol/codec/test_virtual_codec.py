"""Virtual servers of the router as JSON, and the marks by which they are recognised."""

from dataclasses import replace

import pytest

from f5router.icontrol.codec import virtual_codec
from f5router.model.virtual_server import VirtualServer, metadata_entry, profiles
from tests.rows import rows

USED = frozenset((profile.path, context) for profile, context in profiles("/Common"))
TEXT = "managed by f5router public: port 443 of 203.0.113.10"
V4 = VirtualServer("/Common/a", "203.0.113.10", 443, USED)
V6 = VirtualServer("/P/zone/a", "2001:db8::10", 443, frozenset(
    (profile.path, context) for profile, context in profiles("/P/zone")))


def read(server: VirtualServer, **changed) -> dict:
    """Reply to a GET after a POST."""
    raw = {**virtual_codec.creation(server), **changed}
    return {**raw, "profilesReference": {"items": raw.pop("profiles")}}


@rows("server", [V4, V6, replace(V4, translation="none"), replace(V4, translation="/Common/pool")])
def test_what_is_written_is_read(server):
    assert virtual_codec.decode(read(server)) == server
    assert virtual_codec.state(read(server)) is None


@rows(("server", "destination", "mask"), [
    (V4, "/Common/203.0.113.10:443", "255.255.255.255"),
    (V6, "/P/zone/2001:db8::10.443", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"),
])
def test_destinations(server, destination, mask):
    body = virtual_codec.creation(server)
    assert (body["destination"], body["mask"], body["disabled"]) == (destination, mask, True)
    assert virtual_codec.destination_address(body) == server.address
    assert virtual_codec.destination_port(body) == server.port


@rows(("changed", "same"), [
    ({}, True),
    ({"source": "0.0.0.0%6/0"}, True),
    ({"source": "10.0.0.0/8"}, False),
    ({"mask": "255.255.255.0"}, False),
    ({"ipProtocol": "udp"}, False),
    ({"translatePort": "disabled"}, False),
    ({"destination": "/Common/203.0.113.11:443"}, False),
    ({"destination": "/Common/203.0.113.10%6:443"}, True),
    ({"sourceAddressTranslation": {"type": "none"}}, False),
    ({"sourceAddressTranslation": {"type": "snat", "pool": "/Common/automap"}}, False),
    ({"sourceAddressTranslation": {"type": "lsn", "pool": "/Common/lsn"}}, False),
    ({"profiles": [{"name": "/Common/tcp", "context": "all"}]}, False),
    ({"connectionLimit": 5}, False),
    ({"rateLimit": "5", "vlansEnabled": True, "vlans": ["/Common/internal"]}, True),
])
def test_differences(changed, same):
    assert (virtual_codec.decode(read(V4, **changed)) == V4) is same


@rows(("raw", "state"), [
    ({}, None),
    ({"description": "f5router"}, None),
    ({"description": TEXT}, None),
    ({"description": f"{TEXT}; being prepared"}, False),
    ({"description": f"{TEXT}; in service"}, True),
    ({"description": "another team; in service"}, None),
    ({"metadata": [metadata_entry(listening=False)]}, False),
    ({"metadata": [{"name": "x"}, {**metadata_entry(listening=True), "persist": "true"}]}, True),
    ({"metadata": [{"name": "f5router", "value": "mine"}]}, None),
    ({"metadata": [metadata_entry(listening=True)], "description": "important"}, True),
    ({"metadata": [metadata_entry(listening=True)], "description": f"{TEXT}; being prepared"}, True),
])
def test_marks(raw, state):
    assert virtual_codec.state(raw) is state


@pytest.mark.parametrize("listening", [True, False])
def test_marks_are_read(listening):
    other = {"name": "ticket", "value": "42"}
    body = virtual_codec.marks({"metadata": [other, metadata_entry(listening=not listening)]}, TEXT,
                               listening=listening, metadata=True)
    assert virtual_codec.state(body) is listening
    assert body["metadata"] == [other, metadata_entry(listening=listening)]
    alone = virtual_codec.marks({}, TEXT, listening=listening, metadata=False)
    assert list(alone) == ["description"]
    assert virtual_codec.state(alone) is listening


def item(path: str, kind: str = "", context: str = "all") -> dict:
    """A profile as it is read."""
    link = {"nameReference": {"link": f"https://localhost/mgmt/tm/ltm/profile/{kind}/~x?ver=14.1.2"}}
    return {"name": path, "fullPath": path, "context": context, **(link if kind else {})}


@rows(("read", "kept"), [
    ([], set()),
    ([item("/Common/tcp", "tcp"), item("/Common/http", "http")], set()),
    ([item("/Common/fastL4", "fastl4")], set()),
    ([item("/Common/x", "client-ssl", "clientside")], {("/Common/x", "clientside")}),
    ([item("/Common/http")], {("/Common/http", "all")}),  # a version that does not show the type
    ([item("/Common/openshift_client-tcp-profile", "tcp")], set()),  # on both sides
])
def test_profiles_of_others(read, kept):
    written = virtual_codec.with_profiles({"profilesReference": {"items": read}}, V4)
    assert {(each["name"], each["context"]) for each in written} == USED | kept
