"""Each switch changes what it names, and without it the device does the other thing."""

from __future__ import annotations

import pytest

from mocks.bigip import DiskFile, Quirk
from mocks.bigip.quirks import defaults, parse
from tests.mocks.bigip.material import pair

RULE = {"name": "r"}
POLICY = {"name": "pol", "partition": "P", "strategy": "first-match", "legacy": True, "rules": [RULE]}
GROUP = {"name": "g", "partition": "P", "type": "string"}


def with_policy(client):
    body = dict(POLICY)
    if client.big.store.version < (12, 1):
        del body["legacy"]
    client.ok("POST", "ltm/policy", body)
    client.big.add_virtual("/P/vs", "10.0.0.1:80")


def post_policy(client):
    with_policy(client)
    status = client.call("POST", "ltm/virtual/~P~vs/policies", {"name": "/P/pol"}).status_code
    return status, len(client.big.get("ltm/virtual/~P~vs")["policiesReference"].get("items", []))


def post_member(client):
    client.ok("POST", "ltm/pool", {"name": "p", "partition": "P"})
    status = client.call("POST", "ltm/pool/~P~p/members", {"name": "10.0.0.1:80"}).status_code
    return status, len(client.ok("GET", "ltm/pool/~P~p/members")["items"])


def post_profile(client):
    client.big.add_virtual("/P/vs", "10.0.0.1:80")
    status = client.call("POST", "ltm/virtual/~P~vs/profiles", {"name": "/Common/clientssl"}).status_code
    return status, len(client.ok("GET", "ltm/virtual/~P~vs/profiles")["items"])


def absent_sub(client):
    client.big.add_virtual("/P/vs", "10.0.0.1:80")
    return client.call("GET", "ltm/virtual/~P~vs/policies/~P~none").status_code


def policies_form(client):
    client.big.add_virtual("/P/vs", "10.0.0.1:80")
    return "policiesReference" in client.ok("GET", "ltm/virtual/~P~vs/policies")


def monitor(client):
    return client.ok("POST", "ltm/pool", {"name": "p", "partition": "P", "monitor": "/Common/http"})[
        "monitor"
    ]


def monitor_braces(client):
    body = {"name": "p", "partition": "P", "monitor": "min 1 of { /Common/http }"}
    return client.call("POST", "ltm/pool", body).status_code


def draft_place(client):
    client.ok("POST", "sys/folder", {"name": "/P/sub"})
    body = {"name": "pol", "partition": "P", "subPath": "sub/Drafts", "strategy": "first-match"}
    return client.call("POST", "ltm/policy", body).status_code


def delete_with_draft(client):
    client.ok("POST", "ltm/policy", {**POLICY, "legacy": False, "subPath": "Drafts"})
    client.ok("POST", "ltm/policy", {"command": "publish", "name": "/P/Drafts/pol"})
    client.ok("PATCH", "ltm/policy/~P~pol", {"createDraft": True})
    return client.call("DELETE", "ltm/policy/~P~pol").status_code


def filtered(client):
    client.ok("POST", "sys/folder", {"name": "/P/sub"})
    client.ok("POST", "ltm/pool", {"name": "/P/sub/p"})
    return len(client.ok("GET", "ltm/pool?$filter=partition+eq+P")["items"])


def filtered_fdb(client):
    client.ok("POST", "net/tunnels/tunnel", {"name": "t", "partition": "P", "profile": "vxlan"})
    return len(client.ok("GET", "net/fdb/tunnel?$filter=partition eq Common").get("items", []))


def paged(client):
    for name in "abc":
        client.ok("POST", "ltm/pool", {"name": name, "partition": "P"})
    return [item["name"] for item in client.ok("GET", "ltm/pool?$top=1&$skip=1")["items"]]


def empty(client):
    return client.ok("GET", "ltm/pool").get("items")


def condition_twice(client):
    client.ok("POST", "ltm/policy", POLICY)
    body = {"name": "0", "httpHost": True, "values": ["a"]}
    client.ok("POST", "ltm/policy/~P~pol/rules/r/conditions", body)
    return client.call("POST", "ltm/policy/~P~pol/rules/r/conditions", body).status_code


def false_flag(client):
    client.ok("POST", "ltm/policy", POLICY)
    body = {"name": "0", "httpHost": True, "not": False, "values": ["a"]}
    return client.call("POST", "ltm/policy/~P~pol/rules/r/conditions", body).status_code


def redirect_code(client):
    client.ok("POST", "ltm/policy", POLICY)
    body = {"name": "0", "httpReply": True, "redirect": True, "location": "https://a/", "code": 301}
    return client.call("POST", "ltm/policy/~P~pol/rules/r/actions", body).status_code


def records(client):
    sent = [{"name": name, "data": data} for name, data in (("b", ""), ("a", "x\\y"))]
    return client.ok("POST", "ltm/data-group/internal", {**GROUP, "records": sent})["records"]


def host_record(client):
    body = {**GROUP, "type": "ip", "records": ["10.0.0.1"]}
    return client.ok("POST", "ltm/data-group/internal", body)["records"][0]["name"]


def record_options(client):
    client.ok("POST", "ltm/data-group/internal", GROUP)
    options = {"options": "records add { a }"}
    return client.call("PATCH", "ltm/data-group/internal/~P~g", {"name": "g"}, params=options).status_code


def duplicates(client):
    return client.call("POST", "ltm/data-group/internal", {**GROUP, "records": ["a", "a"]}).status_code


def installed_at(client):
    """Reads until an installed certificate shows."""
    client.big.store.disk["/var/tmp/x"] = DiskFile(pair("x")[0])
    client.ok("POST", "sys/crypto/cert", {"command": "install", "name": "x", "from-local-file": "/var/tmp/x"})
    for reads in range(1, 10):
        if client.call("GET", "sys/file/ssl-cert/~Common~x.crt").status_code == 200:
            return reads
    return None


def put_virtual(client):
    client.big.add_virtual("/P/vs", "10.0.0.1:80")
    return client.call("PUT", "ltm/virtual/~P~vs", client.ok("GET", "ltm/virtual/~P~vs")).status_code


def two_removed(client):
    client.big.store.disk |= {"/var/tmp/a": DiskFile(b"x"), "/var/tmp/b": DiskFile(b"x")}
    client.ok("POST", "util/unix-rm", {"command": "run", "utilCmdArgs": "/var/tmp/a /var/tmp/b"})
    return len(client.big.store.disk)


def unused_file(client):
    cert, key = pair("x")
    client.big.install("/P/a.crt", cert)
    client.big.install("/P/a.key", key)
    client.ok(
        "POST", "ltm/profile/client-ssl", {"name": "c", "partition": "P", "cert": "a.crt", "key": "a.key"}
    )
    return client.call("DELETE", "sys/file/ssl-cert/~P~a.crt").status_code


def no_sni_default(client):
    client.ok("POST", "ltm/profile/client-ssl", {"name": "c", "partition": "P"})
    client.big.add_virtual("/P/vs", "10.0.0.1:443", profiles=["/Common/tcp", "/Common/clientssl"])
    return client.call("POST", "ltm/virtual/~P~vs/profiles", {"name": "/P/c"}).status_code


def inheritance(client):
    client.ok("POST", "ltm/profile/client-ssl", {"name": "c", "partition": "P"})
    return client.call("PATCH", "ltm/profile/client-ssl/~P~c", {"inheritCertkeychain": "true"}).status_code


def endpoint(client):
    client.ok("POST", "net/tunnels/tunnel", {"name": "t", "partition": "P", "profile": "vxlan"})
    body = {"name": "0a:0a:0a:0a:0a:0a", "endpoint": "10.0.0.1"}
    return client.ok("POST", "net/fdb/tunnel/~P~t/records", body)["endpoint"]


def tunnel_address(client):
    body = {"name": "t", "partition": "P", "profile": "vxlan"}
    return client.ok("POST", "net/tunnels/tunnel", body)["remoteAddress"]


def network_twice(client):
    client.ok("POST", "net/route", {"name": "/P/a", "network": "10.0.0.0/24", "blackhole": True})
    body = {"name": "/P/b", "network": "10.0.0.0/24", "blackhole": True}
    return client.call("POST", "net/route", body).status_code


def percent_2f(client):
    return client.call("GET", "ltm/pool/%2FCommon%2Fx").status_code


def shared_node(client):
    client.ok("POST", "ltm/pool", {"name": "p", "partition": "P"})
    sent = {"members": [{"name": "10.0.0.1:80", "partition": "Common"}]}
    first = client.call("PATCH", "ltm/pool/~P~p", sent).status_code
    client.call("POST", "ltm/node", {"name": "10.0.0.1", "partition": "Common", "address": "10.0.0.1"})
    return first, client.call("PATCH", "ltm/pool/~P~p", sent).status_code


def in_another_partition(client):
    """Destination and partition of the address of a virtual server in /Common whose address is in /P."""
    client.big.add_virtual("/P/vs", "10.0.0.1:80")
    body = {"name": "/Common/vs", "destination": "10.0.0.1:443"}
    reply = client.call("POST", "ltm/virtual", body)
    return reply.json()["destination"] if reply.status_code == 200 else reply.status_code


def name_of_address(client):
    client.ok("POST", "ltm/virtual-address", {"name": "/P/front", "address": "10.0.0.1"})
    return client.big.add_virtual("/P/vs", "10.0.0.1:80")["destination"]


def moved(client):
    client.big.add_virtual("/P/vs", "10.0.0.1:80")
    client.ok("PATCH", "ltm/virtual/~P~vs", {"destination": "10.0.0.2:80"})
    return [item["name"] for item in client.ok("GET", "ltm/virtual-address")["items"]]


def event_without_profile(client):
    client.ok("POST", "ltm/rule", {"name": "/P/r", "apiAnonymous": "when HTTP_REQUEST { }"})
    client.big.add_virtual("/P/vs", "10.0.0.1:80", profiles=["/Common/tcp"])
    return client.refused("PATCH", "ltm/virtual/~P~vs", {"rules": ["/P/r"]})[1].partition(":")[0]


def missing_rule(client):
    client.big.add_virtual("/P/vs", "10.0.0.1:80")
    status, message = client.refused("PATCH", "ltm/virtual/~P~vs", {"rules": ["/P/none"]})
    return status, message.partition(":")[0]


def metadata(client):
    body = {"name": "/P/vs", "destination": "10.0.0.1:80", "metadata": [{"name": "a", "value": "b"}]}
    return client.call("POST", "ltm/virtual", body).status_code


def long_template(client):
    body = {"name": "/P/log", "responseLogTemplate": "x" * 1024}
    return client.call("POST", "ltm/profile/request-log", body).status_code


def on_more_vlans(client):
    client.big.add_virtual("/P/vs", "10.0.0.1:80")
    body = {"name": "/P/other", "destination": "10.0.0.1:80", "ipProtocol": "tcp", "vlansEnabled": True,
            "vlans": ["/Common/internal"]}
    return client.call("POST", "ltm/virtual", body).status_code


def vxlan(client):
    return client.call("POST", "net/tunnels/vxlan", {"name": "v", "partition": "P"}).status_code


PLAIN = [{"name": "a", "data": "x\\y"}, {"name": "b", "data": ""}]
CASES = [
    (Quirk.SUB_POST_404, "14.1.2.1", post_policy, (404, 1), (200, 1)),
    (Quirk.SUB_POST_404, "14.1.2.1", post_member, (404, 1), (200, 1)),
    (Quirk.PROFILES_POST_404, "14.1.2.1", post_profile, (404, 3), (200, 3)),
    (Quirk.MEMBERS_NEED_PARTITION, "14.1.2.1", post_member, (404, 1), (200, 1)),
    (Quirk.MEMBER_MAKES_NO_SHARED_NODE, "14.1.2.1", shared_node, (404, 200), (200, 200)),
    (Quirk.ABSENT_SUB_200, "14.1.2.1", absent_sub, 200, 404),
    (Quirk.NESTED_POLICIES_REFERENCE, "14.1.2.1", policies_form, True, False),
    (Quirk.MONITOR_TRAILING_SPACE, "14.1.2.1", monitor, "/Common/http ", "/Common/http"),
    (Quirk.MONITOR_BRACES_REFUSED, "14.1.2.1", monitor_braces, 400, 200),
    (Quirk.DRAFT_IN_ROOT, "14.1.2.1", draft_place, 400, 200),
    (Quirk.DRAFT_BLOCKS_DELETE, "14.1.2.1", delete_with_draft, 400, 200),
    (Quirk.FILTER_EXCLUDES_SUBFOLDERS, "14.1.2.1", filtered, 0, 1),
    (Quirk.FILTER_IGNORED_BY_FDB, "14.1.2.1", filtered_fdb, 3, 2),
    (Quirk.TOP_SKIP_IGNORED, "14.1.2.1", paged, ["a", "b", "c"], ["b"]),
    (Quirk.EMPTY_ITEMS_ABSENT, "14.1.2.1", empty, None, []),
    (Quirk.CONDITION_POST_UPSERT, "14.1.2.1", condition_twice, 200, 409),
    (Quirk.FALSE_FLAGS_REFUSED, "14.1.2.1", false_flag, 400, 200),
    (Quirk.REDIRECT_CODE_REFUSED, "13.1.1", redirect_code, 400, 200),
    (Quirk.RECORDS_AS_SENT, "14.1.2.1", records, PLAIN[::-1], PLAIN),
    (Quirk.RECORD_WITHOUT_DATA, "14.1.2.1", records, [PLAIN[0], {"name": "b"}], PLAIN),
    (Quirk.BACKSLASHES_DOUBLED, "14.1.2.1", records, [{"name": "a", "data": "x\\\\y"}, PLAIN[1]], PLAIN),
    (Quirk.IP_HOST_WITHOUT_MASK, "14.1.2.1", host_record, "10.0.0.1", "10.0.0.1/32"),
    (Quirk.RECORD_OPTIONS_REFUSED, "14.1.2.1", record_options, 400, 200),
    (Quirk.DUPLICATES_400, "14.1.2.1", duplicates, 400, 409),
    (Quirk.RM_ONE_PATH, "14.1.2.1", two_removed, 2, 0),
    (Quirk.INSTALL_ASYNC, "14.1.2.1", installed_at, 3, 1),
    (Quirk.PUT_VIRTUAL_REFUSED, "14.1.2.1", put_virtual, 400, 200),
    (Quirk.ADDRESS_SHARED_BY_IP, "14.1.2.1", in_another_partition, "/P/10.0.0.1:443", 400),
    (Quirk.DESTINATION_READS_NAME, "14.1.2.1", name_of_address, "/P/front:80", "/P/10.0.0.1:80"),
    (Quirk.MOVE_LEAVES_ADDRESS, "14.1.2.1", moved, ["10.0.0.1", "10.0.0.2"], ["10.0.0.2"]),
    (Quirk.VLANS_MAY_OVERLAP, "14.1.2.1", on_more_vlans, 200, 400),
    (Quirk.HTTP_EVENT_01070394, "14.1.2.1", event_without_profile, "01070394", "01071912"),
    (Quirk.MISSING_NAME_404, "14.1.2.1", missing_rule, (404, "01020036"), (400, "01070712")),
    (Quirk.METADATA_UNKNOWN, "11.6.0", metadata, 400, 200),
    (Quirk.LOG_TEMPLATE_SHORT, "14.1.2.1", long_template, 400, 200),
    (Quirk.FILE_OF_UNUSED_PROFILE_FREE, "14.1.2.1", unused_file, 200, 400),
    (Quirk.NO_SNI_DEFAULT_ACCEPTED, "14.1.2.1", no_sni_default, 200, 400),
    (Quirk.INHERITANCE_REFUSED, "14.1.2.1", inheritance, 400, 200),
    (Quirk.FDB_ENDPOINT_BARE, "14.1.2.1", endpoint, "10.0.0.1", "10.0.0.1%0"),
    (Quirk.TUNNEL_ADDRESSES_ANY, "14.1.2.1", tunnel_address, "any", "any6"),
    (Quirk.ROUTE_NETWORK_TWICE, "14.1.2.1", network_twice, 200, 409),
    (Quirk.PERCENT_2F_REFUSED, "14.1.2.1", percent_2f, 400, 404),
    (Quirk.SDN_NOT_LICENSED, "14.1.2.1", vxlan, 400, 200),
]


@pytest.mark.parametrize(
    ("quirk", "version", "act", "on", "off"), CASES, ids=[f"{case[0]}-{case[2].__name__}" for case in CASES]
)
def test_quirk(device, quirk, version, act, on, off):
    assert act(device(version, quirks={quirk})[1]) == on
    assert act(device(version)[1]) == off


IN_THE_DATA_PLANE = {
    Quirk.POLICY_POOL_STAYS,
    Quirk.POOL_SWITCHES_SERVER,
    Quirk.DETACH_FORGETS_POOL,
    Quirk.REPLY_SKIPS_HTTP_REQUEST,
    Quirk.COLLECT_AGAIN,
    Quirk.SERVER_SSL_AFRESH,
    Quirk.SERVER_SSL_LIVE,
    Quirk.BARE_NAMES,
    Quirk.CHECKING_TAKES_NOTHING,
    Quirk.TABLE_FAILS,
    Quirk.COOKIE_IN_HTTP_RESPONSE,
    Quirk.COOKIE_REMOVE_FIRST,
    Quirk.COOKIE_READ_AGAIN,
    Quirk.HEADER_REMOVE_LAST,
    Quirk.LISTENER_GONE_RESETS,
    Quirk.LOGS_OWN_RESPONSES,
}
"""Their cases are in dataplane/."""


def test_every_quirk_has_a_case():
    elsewhere = {Quirk.HOST_KEEPS_PORT, Quirk.RULES_MERGED} | IN_THE_DATA_PLANE  # test_policies.py
    assert set(Quirk) == {case[0] for case in CASES} | elsewhere


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        (
            (11, 5, 4),
            {"monitor-trailing-space", "nested-policies-reference", "empty-items-absent", "sub-post-404"},
        ),
        ((11, 6, 0), {"monitor-trailing-space", "absent-sub-200", "empty-items-absent"}),
        ((12, 0, 0), {"monitor-trailing-space", "members-need-partition"}),
        ((12, 1, 1), {"monitor-trailing-space", "sub-post-404"}),
        ((12, 1, 2), {"monitor-trailing-space"}),
        ((14, 1, 2, 1), set()),
    ],
)
def test_quirks_of_versions(version, expected):
    assert defaults(version) == expected


def test_names():
    assert parse({"no-monitor-trailing-space"}, (13,)) == set()
    assert Quirk.NO_SNI_DEFAULT_ACCEPTED in parse({"no-sni-default-accepted"}, (14,))
    with pytest.raises(ValueError, match="guess"):
        parse({"guess"}, (14,))
