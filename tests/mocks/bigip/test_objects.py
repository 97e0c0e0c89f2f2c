"""Rules of single kinds: iRules, data-groups, profiles, virtual servers, pools, folders.

Source: bigip-behaviour.md B5 to B9.
"""

from __future__ import annotations

import pytest

from tests.mocks.bigip.material import pair

GOOD_RULE = """
when HTTP_REQUEST {
    # a comment with a { brace }
    if { [HTTP::host] equals "a" } {
        pool /P/p
    } elseif { not ([HTTP::uri] starts_with "/x") } {
        switch -glob [HTTP::path] {
            "/a*" { HTTP::redirect "https://[getfield [HTTP::host] : 1][HTTP::uri]" }
            default { reject }
        }
    } else {
        binary scan [TCP::payload] @0ccS a b c
        set n [expr { $c & 0xffff }]
    }
}
"""


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param("if {1} {", "missing close-brace", id="open brace"),
        pytest.param("} }", 'unexpected extra argument "}"', id="too many"),
        pytest.param("set a [foo", "missing close-bracket", id="open bracket"),
        pytest.param('set a "x', 'missing "', id="open quote"),
        pytest.param("set d [dict create]", "undefined procedure: dict", id="dict"),
        pytest.param("if {1} { } else if {2} { }", "extra words", id="else if"),
    ],
)
def test_irules_that_do_not_compile(client, body, reason):
    """A few of the refusals of test_rulecheck, as the client sees them."""
    text = f"when CLIENT_ACCEPTED {{ {body} }}"
    status, message = client.refused(
        "POST", "ltm/rule", {"name": "r", "partition": "P", "apiAnonymous": text}
    )
    assert (status, message[:31]) == (400, "01070151:3: Rule [/P/r] error: ")
    assert reason in message


def test_irule_text_is_stripped(client):
    client.ok("POST", "ltm/rule", {"name": "r", "partition": "P", "apiAnonymous": GOOD_RULE})
    assert client.ok("GET", "ltm/rule/~P~r")["apiAnonymous"] == GOOD_RULE.strip()
    status, _ = client.refused("PATCH", "ltm/rule/~P~r", {"apiAnonymous": "when CLIENT_ACCEPTED {"})
    assert status == 400
    assert client.ok("GET", "ltm/rule/~P~r")["apiAnonymous"] == GOOD_RULE.strip()


def test_irule_with_escapes(client):
    r"""`\uXXXX` is not decoded, UTF-8 is (bigip-behaviour.md A2.1)."""
    ascii_only = {"name": "ascii", "partition": "P", "apiAnonymous": "when CLIENT_ACCEPTED { }"}
    client.ok("POST", "ltm/rule", ascii_only)
    head = {"Content-Type": "application/json"}
    escaped = b'{"name": "r", "partition": "P", "apiAnonymous": "when CLIENT_ACCEPTED { # \\u00e4\\n }"}'
    assert client.refused("POST", "ltm/rule", data=escaped, headers=head)[1].startswith("01070151:3")
    plain = '{"name": "r", "partition": "P", "apiAnonymous": "when CLIENT_ACCEPTED { # ä\\n }"}'.encode()
    assert "ä" in client.ok("POST", "ltm/rule", data=plain, headers=head)["apiAnonymous"]


def test_irule_on_a_virtual_server(client):
    for name, text in (("http", "when HTTP_REQUEST { }"), ("ssl", "when SERVER_CONNECTED { SSL::disable }")):
        client.ok("POST", "ltm/rule", {"name": name, "partition": "P", "apiAnonymous": text})
    client.big.add_virtual("/P/vs", "10.0.0.1:80", profiles=["/Common/tcp"])
    for name in ("http", "ssl"):
        status, message = client.refused("PATCH", "ltm/virtual/~P~vs", {"rules": [f"/P/{name}"]})
        assert (status, message[:10]) == (400, "01071912:3")
    client.ok(
        "PATCH", "ltm/virtual/~P~vs", {"profiles": ["/Common/tcp", "/Common/http"], "rules": ["/P/http"]}
    )
    assert client.refused("DELETE", "ltm/rule/~P~http")[1].startswith("01070265:3")
    assert client.refused("PATCH", "ltm/virtual/~P~vs", {"rules": ["/P/none"]})[1].startswith("01070712:3")
    text = {"apiAnonymous": "when CLIENTSSL_HANDSHAKE { }"}
    assert client.refused("PATCH", "ltm/rule/~P~http", text)[1].startswith("01071912:3")
    client.ok("PATCH", "ltm/virtual/~P~vs", {"rules": []})
    assert "rules" not in client.ok("GET", "ltm/virtual/~P~vs")
    client.ok("DELETE", "ltm/rule/~P~http")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("records add { b { data 2 } }", {"a": "1", "b": "2"}),
        ("records add { b }", {"a": "1", "b": ""}),
        ('records add { "b c" { data "x { y" } d { data \\"q\\" } }', {"a": "1", "b c": "x { y", "d": '"q"'}),
        ("records modify { a { data 2 } }", {"a": "2"}),
        ("records delete { a }", {}),
        ("records replace-all-with { c { data 3 } }", {"c": "3"}),
    ],
)
def test_single_records(client, options, expected):
    client.ok(
        "POST",
        "ltm/data-group/internal",
        {"name": "g", "partition": "P", "type": "string", "records": [{"name": "a", "data": "1"}]},
    )
    shown = client.ok("PATCH", "ltm/data-group/internal/~P~g", {"name": "g"}, params={"options": options})
    assert {record["name"]: record["data"] for record in shown.get("records", [])} == expected


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ("records add { a { data 2 } }", 409),
        ("records modify { x { data 2 } }", 404),
        ("records delete { x }", 404),
        ("records add { b { data 2 }", 400),
        ("records guess { b }", 400),
        ("recordz add { b }", 400),
        ("records add { b { value 2 } }", 400),
        ("records add { b { data 2 } a }", 409),
    ],
)
def test_refused_single_records(client, options, status):
    body = {"name": "g", "partition": "P", "type": "string", "records": [{"name": "a", "data": "1"}]}
    client.ok("POST", "ltm/data-group/internal", body)
    refusal = client.refused(
        "PATCH", "ltm/data-group/internal/~P~g", {"name": "g"}, params={"options": options}
    )
    assert refusal[0] == status
    assert client.big.get("ltm/data-group/internal/~P~g")["records"] == [{"name": "a", "data": "1"}]


def test_data_group_types(client):
    at = "ltm/data-group/internal"
    client.ok(
        "POST", at, {"name": "ip", "partition": "P", "type": "ip", "records": ["10.0.0.1", "9.0.0.0/8"]}
    )
    shown = client.ok("GET", f"{at}/~P~ip")["records"]
    assert [item["name"] for item in shown] == ["9.0.0.0/8", "10.0.0.1/32"]
    assert client.refused("POST", at, {"name": "x", "type": "ip", "records": ["a"]})[0] == 400
    assert client.refused("POST", at, {"name": "x", "type": "integer", "records": ["a"]})[0] == 400
    assert client.refused("POST", at, {"name": "x", "type": "guess"})[0] == 400
    assert client.refused("POST", at, {"name": "x"})[0] == 400
    assert client.refused("POST", at, {"name": "x", "type": "string", "records": ["a", "a"]})[0] == 409


def install(client, name, host="x", serial=1):
    cert, key = pair(host, serial)
    client.big.install(f"/P/{name}.crt", cert)
    client.big.install(f"/P/{name}.key", key)


def test_client_ssl_refusals(client):
    install(client, "a")
    install(client, "b", serial=2)
    at, body = "ltm/profile/client-ssl", {"name": "c", "partition": "P"}
    cases = [
        ({"cert": "/P/a.crt", "key": "/P/none.key"}, "0107134a:3"),
        ({"cert": "/P/none.crt", "key": "/P/a.key"}, "0107134a:3"),
        ({"cert": "/P/a", "key": "/P/a"}, "010717e3:3"),
        ({"cert": "/P/a.crt"}, "010717e3:3"),
        ({"cert": "/P/a.crt", "key": "/P/b.key"}, "01070317:3"),
        ({"cert": "/P/a.crt", "key": "/P/a.key", "certKeyChain": [{"name": "x"}]}, "01b4002a:3"),
        ({"guess": 1}, '"guess" unknown property'),
        ({"peerCertMode": "maybe"}, "invalid property value"),
        ({"defaultsFrom": "/Common/none"}, "01020036:3"),
    ]
    for fields, message in cases:
        assert client.refused("POST", at, {**body, **fields})[1].startswith(message), fields
    client.ok("POST", at, {**body, "cert": "a.crt", "key": "a.key", "serverName": "h"})
    shown = client.ok("GET", f"{at}/~P~c")
    assert (shown["cert"], shown["certKeyChain"][0]["key"]) == ("/P/a.crt", "/P/a.key")
    assert client.refused("POST", "ltm/profile/server-ssl", body)[1].startswith("01070293:3")
    assert client.refused("DELETE", "sys/file/ssl-cert/~P~a.crt")[1].startswith("01071349:3")
    client.ok("PATCH", f"{at}/~P~c", {"certKeyChain": [{"name": "n", "cert": "/P/b.crt", "key": "/P/b.key"}]})
    client.ok("DELETE", "sys/file/ssl-cert/~P~a.crt")
    assert client.ok("GET", f"{at}/~P~c")["certKeyChain"][0]["name"] == "n"


def test_profiles_inherit(client):
    at = "ltm/profile/client-ssl"
    client.ok("POST", at, {"name": "base", "partition": "P", "ciphers": "ECDHE"})
    client.ok("POST", at, {"name": "child", "partition": "P", "defaultsFrom": "/P/base"})
    assert client.ok("GET", f"{at}/~P~child")["ciphers"] == "ECDHE"
    client.ok("PATCH", f"{at}/~P~base", {"ciphers": "DEFAULT"})
    assert client.ok("GET", f"{at}/~P~child")["ciphers"] == "DEFAULT"
    assert client.refused("DELETE", f"{at}/~P~base")[1].startswith("01070265:3")


@pytest.mark.parametrize(
    ("second", "code"),
    [
        ({"serverName": "H", "sniDefault": "false"}, "0107149e:3"),
        ({"serverName": "i", "sniDefault": "true"}, "01071809:3"),
    ],
)
def test_sni_rules(client, second, code):
    at = "ltm/profile/client-ssl"
    client.ok("POST", at, {"name": "a", "partition": "P", "serverName": "h", "sniDefault": "true"})
    client.ok("POST", at, {"name": "b", "partition": "P", **second})
    client.big.add_virtual("/P/vs", "10.0.0.1:443", profiles=["/Common/tcp", "/P/a"])
    assert client.refused("POST", "ltm/virtual/~P~vs/profiles", {"name": "/P/b"})[1].startswith(code)
    client.ok("POST", at, {"name": "c", "partition": "P", "serverName": "c"})
    client.ok("POST", "ltm/virtual/~P~vs/profiles", {"name": "/P/c"})
    assert client.refused("PATCH", f"{at}/~P~c", second)[1].startswith(code)
    assert client.refused("DELETE", f"{at}/~P~c")[1].startswith("01070265:3")


def test_several_client_ssl_need_a_default(client):
    for name in ("a", "b"):
        client.ok("POST", "ltm/profile/client-ssl", {"name": name, "partition": "P", "serverName": name})
    client.big.add_virtual("/P/vs", "10.0.0.1:443", profiles=["/Common/tcp", "/P/a"])
    status, _ = client.refused("POST", "ltm/virtual/~P~vs/profiles", {"name": "/P/b"})
    assert status == 400
    shown = client.big.get("ltm/virtual/~P~vs")["profilesReference"]["items"]
    assert {item["fullPath"] for item in shown} == {"/Common/tcp", "/P/a"}


def test_virtual_servers(client):
    at = "ltm/virtual/~P~vs"
    assert client.refused("POST", "ltm/virtual", {"name": "x", "partition": "P"})[0] == 400
    assert (
        client.refused("POST", "ltm/virtual", {"name": "x", "partition": "P", "destination": "x:1"})[0] == 400
    )
    shown = client.ok(
        "POST",
        "ltm/virtual",
        {
            "name": "vs",
            "partition": "P",
            "destination": "10.0.0.1:http",
            "profiles": [{"name": "tcp", "context": "all"}],
        },
    )
    assert shown["destination"] == "/P/10.0.0.1:80"
    assert client.big.get("ltm/virtual-address/~P~10.0.0.1") is not None
    assert client.refused("PATCH", at, {"pool": "/P/none"})[1].startswith("01070712:3")
    assert client.refused("PATCH", at, {"enabled": True, "disabled": True})[0] == 400
    assert client.ok("PATCH", at, {"disabled": True})["disabled"] is True
    assert "enabled" not in client.ok("GET", at)
    duplicate = {"profiles": ["/Common/tcp", "/Common/tcp-legacy"]}
    assert client.refused("PATCH", at, duplicate)[1].startswith("01070097:3")
    assert client.refused("PATCH", at, {"profiles": ["/Common/fastL4", "/Common/http"]})[1].startswith(
        "01070734:3"
    )
    client.ok("PATCH", at, {"vlans": ["/Common/internal"], "vlansEnabled": True})
    assert client.refused("DELETE", "net/vlan/~Common~internal")[1].startswith("01070265:3")
    client.ok("DELETE", at)
    assert client.big.get("ltm/virtual-address/~P~10.0.0.1") is None


def test_put_resets_and_patch_keeps(client):
    client.ok(
        "POST", "ltm/pool", {"name": "p", "partition": "P", "monitor": "/Common/http", "description": "x"}
    )
    assert client.ok("PATCH", "ltm/pool/~P~p", {"description": "y"})["monitor"] == "/Common/http"
    assert "monitor" not in client.ok("PUT", "ltm/pool/~P~p", {"description": "z"})


def test_members(client):
    at = "ltm/pool/~P~p/members"
    client.ok("POST", "ltm/pool", {"name": "p", "partition": "P", "members": ["10.0.0.1:80"]})
    client.ok("POST", at, {"name": "2001:db8::1.80"})
    client.ok("POST", at, {"name": "/P/10.0.0.2%1:80"})
    assert client.ok("GET", f"{at}/~P~10.0.0.2%251:80")["address"] == "10.0.0.2%1"
    assert client.refused("POST", at, {"name": "10.0.0.1:80"})[0] == 409
    assert client.refused("POST", at, {"name": "10.0.0.1"})[0] == 400
    assert client.refused("POST", at, {"name": "10.0.0.1:81", "session": "up"})[0] == 400
    assert client.refused("DELETE", "ltm/node/~P~10.0.0.1")[1].startswith("01070110:3")
    client.ok("PATCH", "ltm/pool/~P~p", {"members": [{"name": "10.0.0.1:80", "ratio": "3"}]})
    items = client.ok("GET", at)["items"]
    assert [(item["name"], item["ratio"]) for item in items] == [("10.0.0.1:80", 3)]
    client.ok("DELETE", f"{at}/~P~10.0.0.1:80")
    assert client.ok("GET", at)["items"] == []
    client.ok("DELETE", "ltm/node/~P~10.0.0.1")


def test_nodes_of_several_partitions(client):
    """One per address whatever the partition; /Common's may be shared, another partition's not."""
    client.ok("POST", "sys/folder", {"name": "Q", "subPath": "/"})
    own = {"name": "10.0.0.1:80"}
    shared = {"name": "10.0.0.2:80", "partition": "Common"}
    for partition in "PQ":
        client.ok("POST", "ltm/pool", {"name": "p", "partition": partition, "members": [shared]})
    client.ok("PATCH", "ltm/pool/~P~p", {"members": [own, shared]})
    assert [item["fullPath"] for item in client.ok("GET", "ltm/pool/~P~p/members")["items"]] == [
        "/Common/10.0.0.2:80", "/P/10.0.0.1:80"]
    status, text = client.refused("PATCH", "ltm/pool/~Q~p", {"members": [own]})
    assert (status, text) == (400, (
        "0107003a:3: Pool member node (/Q/10.0.0.1) and existing node (/P/10.0.0.1) "
        "cannot use the same IP Address (10.0.0.1)."))
    status, text = client.refused("PATCH", "ltm/pool/~Q~p", {"members": [{**own, "partition": "P"}]})
    assert status == 400
    assert text.startswith("01070726:3:")
    status, text = client.refused("POST", "ltm/node", {"name": "/Common/10.0.0.1", "address": "10.0.0.1"})
    assert (status, text) == (400, "0107176c:3: Invalid Node, the IP address 10.0.0.1 already exists.")
    client.ok("PATCH", "ltm/pool/~P~p", {"members": []})
    assert client.refused("DELETE", "ltm/node/~Common~10.0.0.2")[1].startswith("01070110:3")
    client.ok("PATCH", "ltm/pool/~Q~p", {"members": []})
    client.ok("DELETE", "ltm/node/~Common~10.0.0.2")


@pytest.mark.parametrize(
    ("version", "written", "shown"),
    [
        ("13.1.1", "/Common/http", "/Common/http "),
        ("13.1.1", "http and https", "/Common/http and /Common/https "),
        ("14.1.2", "/Common/http and /Common/https", "/Common/http and /Common/https"),
        ("13.1.1", "min 1 of /Common/http /Common/tcp", "min 1 of { /Common/http /Common/tcp }"),
        ("16.0.0", "min 1 of { /Common/http }", "min 1 of { /Common/http }"),
    ],
)
def test_monitor_of_a_pool(device, version, written, shown):
    client = device(version)[1]
    assert (
        client.ok("POST", "ltm/pool", {"name": "p", "partition": "P", "monitor": written})["monitor"] == shown
    )
    assert "monitor" not in client.ok("PATCH", "ltm/pool/~P~p", {"monitor": "none"})
    assert client.refused("PATCH", "ltm/pool/~P~p", {"monitor": "/P/none"})[0] == 400


def test_folders(client):
    client.ok("POST", "sys/folder", {"name": "/P/a"})
    client.ok("POST", "sys/folder", {"name": "b", "partition": "P", "subPath": "a"})
    shown = client.ok("GET", "sys/folder/~P~a~b")
    assert (shown["partition"], shown["subPath"], shown["fullPath"]) == ("P", "a", "/P/a/b")
    client.ok("POST", "ltm/pool", {"name": "p", "partition": "P", "subPath": "a/b"})
    assert client.refused("DELETE", "sys/folder/~P~a~b")[1].startswith("0107082a:3")
    assert client.refused("DELETE", "auth/partition/P")[1].startswith("0107082a:3")
    client.ok("DELETE", "ltm/pool/~P~a~b~p")
    client.ok("DELETE", "sys/folder/~P~a~b")
    client.ok("DELETE", "sys/folder/~P~a")
    client.ok("DELETE", "auth/partition/P")
    assert client.call("GET", "sys/folder/~P").status_code == 404


@pytest.mark.parametrize("monitor", ["/Common/tcp", None])
def test_members_of_a_node_that_is_forced_offline(client, monitor):
    """They are down, by their parent, and what a user has set on them stays as it is."""
    body = {"name": "web", "partition": "Common", "members": ["10.1.1.1:80", "10.1.1.2:80"]}
    client.ok("POST", "ltm/pool", body | ({"monitor": monitor} if monitor else {}))
    client.ok("PATCH", "ltm/node/~Common~10.1.1.1", {"session": "user-disabled", "state": "user-down"})
    forced, other = client.ok("GET", "ltm/pool/~Common~web/members")["items"]
    assert forced["session"] == other["session"] == ("monitor-enabled" if monitor else "user-enabled")
    assert (forced["state"], other["state"] == "down") == ("down", False)
    path = "ltm/pool/~Common~web/members/~Common~10.1.1.1:80/stats"
    (entry,) = client.ok("GET", path)["entries"].values()
    shown = entry["nestedStats"]["entries"]
    assert shown["status.enabledState"]["description"] == "disabled-by-parent"
    assert shown["status.availabilityState"]["description"] == "offline"
    client.ok("PATCH", "ltm/node/~Common~10.1.1.1", {"session": "user-enabled", "state": "user-up"})
    again, other = client.ok("GET", "ltm/pool/~Common~web/members")["items"]
    assert again["state"] == other["state"]
