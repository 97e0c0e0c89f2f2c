"""Refusals that need one request, or one object before it. Words are compared where a source tells them.

Longer than other modules: it is one table, a row for each refusal.
"""

from __future__ import annotations

import base64
import http.client
import ssl
from typing import Any

import pytest

from mocks.bigip import DiskFile
from tests.mocks.bigip.material import pair
from tests.waiting import DEADLINE_S

VIRTUAL = ("ltm/virtual", {"name": "/P/vs", "destination": "10.0.0.1:80", "profiles": ["/Common/tcp"]})
GROUP = ("ltm/data-group/internal", {"name": "/P/g", "type": "string"})
POLICY = (
    "ltm/policy",
    {"name": "/P/pol", "strategy": "first-match", "legacy": True, "rules": [{"name": "r"}]},
)
DRAFT = ("ltm/policy", {"name": "/P/Drafts/d", "strategy": "first-match", "rules": [{"name": "r"}]})
TUNNEL = ("net/tunnels/tunnel", {"name": "/P/t", "profile": "vxlan"})
SELF = ("net/self", {"name": "/P/s", "address": "10.0.0.1/24", "vlan": "/Common/internal"})
POOL = ("ltm/pool", {"name": "/P/p", "members": ["10.0.0.1:80"]})
CLIENT_SSL = ("ltm/profile/client-ssl", {"name": "/P/c"})
ROUTE = ("net/route", {"name": "/P/r", "network": "10.9.0.0/16", "gw": "10.0.0.7"})
DOMAIN = ("net/route-domain", {"name": "/Common/7", "id": 7})
RULE = ("ltm/rule", {"name": "/P/r", "apiAnonymous": "when CLIENT_ACCEPTED { }"})

PROFILES, POLICIES = "ltm/virtual/~P~vs/profiles", "ltm/virtual/~P~vs/policies"
OPTIONS = "ltm/data-group/internal/~P~g?options="
MAC = "0a:0a:0a:0a:0a:0a"


def case(method: str, path: str, body: Any, expected: str, *before: tuple[str, dict], name: str) -> Any:
    return pytest.param(method, path, body, expected, before, id=name)


ATTACHMENTS = [
    case(
        "POST",
        PROFILES,
        {"name": "/Common/http"},
        "409",
        VIRTUAL,
        ("ltm/virtual/~P~vs/profiles", {"name": "/Common/http"}),
        name="profile twice",
    ),
    case(
        "PATCH",
        "ltm/virtual/~P~vs",
        {"profiles": ["/Common/fastL4", "/Common/tcp", "/Common/http"]},
        "400 01070734:3: Configuration error: Found disallowed profile on /P/vs: Not Any Of",
        VIRTUAL,
        name="fastL4 with http",
    ),
    case(
        "PATCH",
        "ltm/virtual/~P~vs",
        {"profiles": ["/Common/udp", "/Common/http"]},
        "400 01070734:3: Configuration error: Found disallowed profile on /P/vs: HTTP",
        VIRTUAL,
        name="http on udp",
    ),
    case(
        "POST",
        "ltm/virtual/~P~none/profiles",
        {"name": "/Common/http"},
        "404 01020036:3: The requested Virtual Server (/P/none)",
        name="no virtual server",
    ),
    case("PATCH", f"{PROFILES}/~Common~tcp", {}, "400 one or more properties", VIRTUAL, name="empty patch"),
    case(
        "POST",
        PROFILES,
        {"name": "/P/none"},
        "404 01020036:3: The requested profile (/P/none)",
        VIRTUAL,
        name="no profile",
    ),
    case("POST", PROFILES, {"name": "/Common/http", "context": "x"}, "400 invalid", VIRTUAL, name="context"),
    case(
        "POST",
        PROFILES,
        {"name": "/Common/clientssl", "context": "serverside"},
        "400 invalid",
        VIRTUAL,
        name="wrong side",
    ),
    case(
        "POST",
        PROFILES,
        {"name": "/Common/http", "x": 1},
        '400 "x" unknown',
        VIRTUAL,
        name="property of a profile",
    ),
    case(
        "POST", POLICIES, {"name": "/P/pol", "x": 1}, '400 "x" unknown', VIRTUAL, POLICY, name="of a policy"
    ),
    case("POST", POLICIES, {"name": "/P/Drafts/d"}, "400 01070734:3", VIRTUAL, DRAFT, name="draft"),
]
DATA_GROUPS = [
    case("PATCH", "ltm/data-group/internal/~P~g", {"records": [{"data": "x"}]}, "400", GROUP, name="no name"),
    case(
        "PATCH",
        "ltm/data-group/internal/~P~g",
        {"records": [{"name": "x", "value": "x"}]},
        '400 "value" unknown property',
        GROUP,
        name="property of a record",
    ),
    case("PATCH", f"{OPTIONS}records add x", {"name": "g"}, "400", GROUP, name="no braces"),
    case("PATCH", OPTIONS + "records add { }", {"name": "g"}, "400", GROUP, name="no records"),
    case("PATCH", OPTIONS + 'records add { "x }', {"name": "g"}, "400", GROUP, name="open quote"),
    case("PATCH", OPTIONS + "records add { { x } }", {"name": "g"}, "400", GROUP, name="brace without name"),
    case(
        "PATCH",
        OPTIONS + "records add { x }",
        {},
        "400 one or more properties",
        GROUP,
        name="options without body",
    ),
    case(
        "DELETE",
        "ltm/data-group/internal/~P~g",
        None,
        "400 01070265:3",
        GROUP,
        POLICY,
        (
            "ltm/policy/~P~pol/rules",
            {"name": "x", "conditions": [{"name": "0", "httpHost": True, "datagroup": "/P/g"}]},
        ),
        name="in use",
    ),
]
VERBS = [
    case("POST", "ltm/pool", {"name": "/P/p", "slowRampTime": "x"}, "400 invalid property", name="no number"),
    case(
        "POST", "ltm/pool", {"name": "/P/p", "allowNat": ["yes"]}, "400 invalid property", name="wrong type"
    ),
    case("POST", "ltm/pool", {"name": "/P/p", "slowRampTime": {}}, "400 invalid property", name="object"),
    case("POST", "ltm/pool", {"command": "run"}, '400 "run" unexpected', name="command"),
    case("DELETE", "ltm/pool", None, "400 enter a valid option", name="delete a collection"),
    case("POST", "ltm/pool/~P~p", {}, "400 enter a valid option", POOL, name="post to an object"),
    case("POST", "sys/crypto/cert", {"command": "x"}, '400 "x" unexpected', name="crypto command"),
    case("PATCH", "sys/crypto/cert/~Common~default.crt", {}, "400 enter a valid", name="patch of crypto"),
    case("POST", "sys/crypto/cert", {"command": "install", "name": "x"}, "400", name="install of nothing"),
    case("POST", "sys/file/ssl-cert", {"name": "x.crt"}, "400", name="file without source"),
    case(
        "PATCH", "sys/file/ssl-cert/~Common~default.crt", {}, "400 one or more", name="empty patch of a file"
    ),
    case(
        "PATCH",
        "sys/file/ssl-cert/~Common~default.crt",
        {"x": 1},
        '400 "x" unknown',
        name="property of a file",
    ),
    case("DELETE", "sys/file/ssl-cert/~Common~default.crt", None, "400 01071349:3", name="factory file"),
    case("POST", "sys/config", {"command": "load"}, '400 "load" unexpected', name="load"),
    case("POST", "util/bash", {"command": "x"}, '400 "x" unexpected', name="bash"),
    case("POST", "util/bash", {"command": "run", "utilCmdArgs": "-c 'x"}, "400", name="open quote for bash"),
    case("GET", "ltm/pool?ver=99.0", None, "400 Version 99.0", name="newer version"),
    case("GET", "ltm/pool?ver=x", None, "400 Version x", name="no version"),
    case("GET", "ltm/pool?$top=x", None, "400", name="top"),
    case("GET", "/mgmt/shared/authn/login", None, "404", name="get of login"),
    case("POST", "/mgmt/shared/authn/login", [], "400", name="login with a list"),
    case("PATCH", "/mgmt/shared/authz/tokens/NONE", {"timeout": 1}, "404", name="no such token"),
]
OBJECTS = [
    case("DELETE", "sys/folder/~Common", None, "400 01070734:3", name="folder Common"),
    case("DELETE", "auth/partition/Common", None, "400 01070734:3", name="partition Common"),
    case("DELETE", "ltm/profile/http/~Common~http", None, "400", name="factory profile"),
    case("DELETE", "ltm/monitor/http/~Common~http", None, "400 01070083:3", name="factory monitor"),
    case(
        "POST",
        "ltm/monitor/https",
        {"name": "/Common/http"},
        "409 01020066:3",
        name="monitor of another type",
    ),
    case(
        "POST", "ltm/monitor/http", {"name": "/P/m", "defaultsFrom": "/P/x"}, "400 01070043:3", name="parent"
    ),
    case("GET", "ltm/monitor/http/~P~none", None, "404 01020036:3", name="no monitor"),
    case(
        "POST",
        "ltm/rule",
        {"name": "/P/r", "apiAnonymous": "when CLIENT_ACCEPTED { set a 1 }" + " " * 70000 + "#"},
        "400 01020057:3",
        name="long iRule",
    ),
    case(
        "PATCH",
        "ltm/virtual/~P~vs",
        {"rules": ["/P/r"]},
        "400 01071912:3: SERVERSSL_HANDSHAKE",
        VIRTUAL,
        ("ltm/rule", {"name": "/P/r", "apiAnonymous": "when SERVERSSL_HANDSHAKE { }"}),
        name="server TLS event",
    ),
    case(
        "PATCH",
        "ltm/virtual/~P~vs",
        {"rules": ["/P/r"]},
        "400 01071912:3: HTTP::disable",
        VIRTUAL,
        ("ltm/rule", {"name": "/P/r", "apiAnonymous": "when CLIENT_ACCEPTED { HTTP::disable }"}),
        name="HTTP command",
    ),
    case(
        "DELETE",
        "ltm/rule/~P~r",
        None,
        "400 01070265:3: The rule (/P/r)",
        RULE,
        ("ltm/rule", {"name": "/P/q", "apiAnonymous": "when CLIENT_ACCEPTED { call /P/r::x }"}),
        name="called rule",
    ),
    case(
        "POST", "ltm/rule", {"name": "/P/r", "apiAnonymous": "when lower { }"}, "400 01070151:3", name="event"
    ),
    case(
        "POST",
        "ltm/rule",
        {"name": "/P/r", "apiAnonymous": "when CLIENT_ACCEPTED"},
        "400 01070151:3",
        name="event without body",
    ),
    case(
        "POST",
        "ltm/rule",
        {"name": "/P/r", "apiAnonymous": "when CLIENT_ACCEPTED { if {1} }"},
        "400 01070151:3",
        name="if",
    ),
    case(
        "POST",
        "ltm/rule",
        {"name": "/P/r", "apiAnonymous": "when CLIENT_ACCEPTED {\nelse { } }"},
        "400 01070151:3",
        name="else",
    ),
    case(
        "PATCH",
        "ltm/pool/~P~p",
        {"members": ["10.0.0.1:80", "10.0.0.1:80"]},
        "409 01020066:3",
        POOL,
        name="member twice",
    ),
    case(
        "PATCH", "ltm/pool/~P~p/members/~P~10.0.0.1:80", {"address": "10.0.0.9"}, "400", POOL, name="address"
    ),
    case(
        "PATCH",
        "ltm/pool/~P~p/members/~P~10.0.0.1:80",
        {"monitor": "/P/none"},
        "400 01070712:3",
        POOL,
        name="monitor of a member",
    ),
    case(
        "PATCH",
        "ltm/node/~P~10.0.0.1",
        {"monitor": "/P/none"},
        "400 01070712:3",
        POOL,
        name="monitor of a node",
    ),
    case("POST", "ltm/node", {"name": "/P/n"}, "400", name="node without address"),
    case("POST", "ltm/node", {"name": "/P/n", "address": "x"}, "400", name="no address"),
    case("POST", "ltm/pool/~P~p/members", {}, "400", POOL, name="member without name"),
    case("POST", "ltm/pool/~P~p/members", {"name": "10.0.0.1:x"}, "400", POOL, name="port"),
    case(
        "POST",
        "ltm/profile/http",
        {"name": "/P/h", "defaultsFrom": "/P/h"},
        "404 01020036:3",
        name="own parent",
    ),
    case(
        "PATCH",
        "ltm/profile/client-ssl/~P~c",
        {"defaultsFrom": "/P/c"},
        "400",
        CLIENT_SSL,
        name="own parent later",
    ),
    case(
        "POST", "ltm/profile/client-ssl", {"name": "/P/d", "certKeyChain": [{}, {}]}, "400", name="two pairs"
    ),
    case(
        "POST",
        "ltm/profile/client-ssl",
        {"name": "/P/d", "certKeyChain": [{"x": 1}]},
        '400 "x"',
        name="entry",
    ),
    case(
        "DELETE",
        "ltm/persistence/cookie/~Common~cookie",
        None,
        "400 01070265:3",
        (VIRTUAL[0], {**VIRTUAL[1], "profiles": ["/Common/tcp", "/Common/http"], "persist": ["cookie"]}),
        name="persistence in use",
    ),
    case(
        "POST",
        "ltm/persistence/cookie",
        {"name": "/Common/source_addr"},
        "409",
        name="persistence of another type",
    ),
    case("PATCH", "ltm/virtual/~P~vs", {"persist": ["x"]}, "404 01020036:3", VIRTUAL, name="no persistence"),
    case("PATCH", "ltm/virtual/~P~vs", {"vlans": ["/P/x"]}, "400 01070712:3", VIRTUAL, name="no VLAN"),
    case(
        "PATCH", "ltm/virtual/~P~vs", {"sourceAddressTranslation": {"type": "x"}}, "400", VIRTUAL, name="SNAT"
    ),
    case(
        "PATCH",
        "ltm/virtual/~P~vs",
        {"sourceAddressTranslation": {"type": "snat", "pool": "/P/x"}},
        "400 01070712:3",
        VIRTUAL,
        name="no SNAT pool",
    ),
    case(
        "POST",
        "ltm/virtual",
        {"name": "/P/w", "destination": "/Common/10.0.0.1:81"},
        "400 0107176c:3",
        VIRTUAL,
        name="address of another partition",
    ),
    case(
        "DELETE",
        "ltm/virtual/~P~vs",
        None,
        "400 01070265:3",
        VIRTUAL,
        (
            "ltm/policy",
            {
                "name": "/P/x",
                "strategy": "first-match",
                "legacy": True,
                "rules": [
                    {
                        "name": "r",
                        "actions": [{"name": "0", "forward": True, "select": True, "virtual": "/P/vs"}],
                    }
                ],
            },
        ),
        name="virtual in use",
    ),
    case(
        "DELETE",
        "ltm/snat-translation/~P~10.1.1.1",
        None,
        "400 01070265:3",
        ("ltm/snatpool", {"name": "/P/s", "members": ["10.1.1.1"]}),
        name="SNAT translation in use",
    ),
    case("POST", "ltm/policy", {"name": "/P/Drafts/x", "strategy": "x"}, "404 01020036:3", name="strategy"),
    case(
        "POST", "ltm/policy", {"command": "publish", "name": "/P/Drafts/x"}, "404 01020036:3", name="no draft"
    ),
    case(
        "POST",
        "ltm/policy",
        {"command": "publish", "name": "/P/pol"},
        "400 01070734:3",
        POLICY,
        name="legacy",
    ),
    case(
        "PATCH",
        "ltm/policy/~P~pol",
        {"createDraft": True},
        "400 01070734:3",
        POLICY,
        name="draft of a legacy one",
    ),
    case("POST", "ltm/policy/~P~x/rules", {"name": "r"}, "404 01020036:3", name="no policy"),
    case(
        "POST",
        "ltm/policy/~P~pol/rules/x/conditions",
        {"name": "0", "httpHost": True},
        "404",
        POLICY,
        name="no rule",
    ),
    case(
        "PATCH",
        "ltm/policy/~P~pol/rules/r/actions/0",
        {},
        "400 one or more",
        POLICY,
        ("ltm/policy/~P~pol/rules/r/actions", {"name": "0", "forward": True, "reset": True}),
        name="empty action",
    ),
    case(
        "POST",
        "ltm/policy/~P~pol/rules/r/conditions",
        {"name": "0", "httpHost": "x"},
        "400",
        POLICY,
        name="flag as text",
    ),
    case(
        "POST",
        "ltm/policy/~P~pol/rules/r/conditions",
        {"name": "0", "httpHost": True, "caseSensitive": True, "caseInsensitive": True},
        "400",
        POLICY,
        name="cases",
    ),
    case(
        "POST",
        "ltm/policy/~P~pol/rules/r/conditions",
        {"name": "0", "httpHost": True, "values": ["x"], "datagroup": "/Common/images"},
        "400",
        POLICY,
        name="both",
    ),
    case(
        "POST",
        "ltm/policy/~P~pol/rules/r/actions",
        {"name": "0", "forward": True, "select": True, "pool": "/P/p", "connection": True},
        '400 "select" may not be specified with "connection"',
        POLICY,
        POOL,
        name="select and connection",
    ),
    case(
        "POST",
        "ltm/policy/~P~pol/rules/r/actions",
        {"name": "0", "httpHeader": True, "remove": True, "shutdown": True},
        '400 "shutdown" unknown',
        POLICY,
        name="shutdown without reset",
    ),
    case(
        "POST",
        "ltm/policy/~P~pol/rules/r/actions",
        {"name": "0", "forward": True, "reset": True, "location": "x"},
        "400",
        POLICY,
        name="location of a reset",
    ),
]
NETWORK = [
    case("POST", "net/tunnels/vxlan", {"name": "/P/v", "port": 0}, "400", name="port of a VXLAN"),
    case(
        "POST", "net/tunnels/vxlan", {"name": "/P/v", "defaultsFrom": "/P/x"}, "404", name="parent of a VXLAN"
    ),
    case(
        "POST",
        "net/tunnels/tunnel",
        {"name": "/P/t", "profile": "/P/x"},
        "404 01020036:3",
        name="tunnel profile",
    ),
    case(
        "POST",
        "net/tunnels/tunnel",
        {"name": "/P/t", "profile": "vxlan", "localAddress": "x"},
        "400",
        name="address of a tunnel",
    ),
    case(
        "PATCH",
        "net/tunnels/tunnel/~P~t",
        {"profile": "vxlan-multipoint"},
        "400",
        TUNNEL,
        name="fixed profile",
    ),
    case("POST", "net/fdb/tunnel", {"name": "/P/x"}, "400 enter a valid option", name="new FDB tunnel"),
    case(
        "POST",
        "net/fdb/tunnel/~P~x/records",
        {"name": MAC, "endpoint": "10.0.0.1"},
        "404",
        name="no FDB tunnel",
    ),
    case(
        "POST", "net/fdb/tunnel/~P~t/records", {"name": MAC, "endpoint": "x"}, "400", TUNNEL, name="endpoint"
    ),
    case("POST", "net/fdb/tunnel/~P~t/records", {"name": MAC}, "400", TUNNEL, name="no endpoint"),
    case(
        "POST",
        "net/self",
        {"name": "/P/q", "address": "10.0.0.1/24", "vlan": "/Common/internal"},
        "400 01070088:3",
        SELF,
        name="self address twice",
    ),
    case("POST", "net/self", {"name": "/P/q", "address": "10.0.0.1/24"}, "400", name="self IP without VLAN"),
    case(
        "POST", "net/self", {"name": "/P/q", "address": "x", "vlan": "internal"}, "400", name="self address"
    ),
    case(
        "POST",
        "net/self",
        {"name": "/P/q", "address": "10.0.0.1", "vlan": "internal"},
        "400",
        name="no length",
    ),
    case(
        "POST",
        "net/self",
        {"name": "/P/q", "address": "10.0.0.1/24", "vlan": "/P/x"},
        "404",
        name="no such VLAN",
    ),
    case("PATCH", "net/self/~P~s", {"address": "10.0.0.2/24"}, "400", SELF, name="fixed address"),
    case("POST", "net/route", {"name": "/P/r", "network": "default"}, "400", name="route to nowhere"),
    case(
        "POST",
        "net/route",
        {"name": "/P/r", "network": "default", "gw": "10.0.0.1", "blackhole": True},
        "400",
        name="route to two",
    ),
    case(
        "POST",
        "net/route",
        {"name": "/P/r", "network": "default", "pool": "/P/x"},
        "400 01070712:3",
        name="route to no pool",
    ),
    case(
        "POST",
        "net/route",
        {"name": "/P/r", "network": "10.9.0.0/16", "gw": "10.0.1.7"},
        "400 01070330:3: Static route gateway 10.0.1.7 is not directly connected via an interface.",
        SELF,
        name="gateway without a self IP",
    ),
    case(
        "POST",
        "net/route",
        {"name": "/P/r", "network": "10.9.0.0%7/16", "gw": "10.0.0.7%7"},
        "400 01070330:3",
        SELF,
        DOMAIN,
        name="gateway in another route domain",
    ),
    case("POST", "net/route", {"name": "/P/r", "network": "10.9", "gw": "10.0.0.7"}, "400", SELF,
         name="no network"),
    case("POST", "net/route", {"name": "/P/r", "network": "fd01::/64", "gw": "10.0.0.7"}, "400", SELF,
         name="gateway of another family"),
    case("POST", "net/route", {"name": "/P/r", "network": "10.9.0.0/16", "gw": "x"}, "400", SELF,
         name="gateway that is no address"),
    case("PATCH", "net/route/~P~r", {"network": "10.8.0.0/16"}, "400", SELF, ROUTE, name="fixed network"),
    case("POST", "net/route", {"name": "/P/q", "network": "10.9.0.0/16", "gw": "10.0.0.8"}, "409",
         SELF, ROUTE, name="network of another route"),
    case("POST", "net/route-domain", {"name": "/Common/8"}, "400", name="domain without id"),
    case("POST", "net/arp", {"name": "/P/a", "ipAddress": "10.0.0.1", "macAddress": "x"}, "400", name="MAC"),
    case(
        "DELETE",
        "net/vlan/~Common~internal",
        None,
        "400 01070265:3: The VLAN (/Common/internal) cannot be deleted "
        "because it is in use by a self IP (/P/s).",
        SELF,
        name="VLAN in use",
    ),
]


@pytest.mark.parametrize(
    ("method", "path", "body", "expected", "before"), [*ATTACHMENTS, *DATA_GROUPS, *VERBS, *OBJECTS, *NETWORK]
)
def test_refused(client, method, path, body, expected, before):
    for kind, fields in before:
        client.big.put_object(kind, fields)
    reply = client.call(method, path, body)
    assert f"{reply.status_code} {reply.json()['message']}".startswith(expected)


def test_locked_key(client):
    """A key with a passphrase needs it."""
    client.big.store.disk["/var/tmp/k"] = DiskFile(pair("x")[1].replace(b"EC PRIVATE", b"ENCRYPTED PRIVATE"))
    assert (
        client.refused("POST", "sys/file/ssl-key", {"name": "k.key", "sourcePath": "file:/var/tmp/k"})[0]
        == 400
    )


def test_bare_percent(client):
    """`%0` of a route domain must be `%250` (bigip-behaviour.md A1)."""
    context = ssl.create_default_context(cafile=client.big.ca_file)
    connection = http.client.HTTPSConnection(client.big.address, context=context, timeout=DEADLINE_S)
    basic = base64.b64encode(f"{client.big.username}:{client.big.password}".encode()).decode()
    connection.request("GET", "/mgmt/tm/ltm/node/~P~10.0.0.1%x", headers={"Authorization": f"Basic {basic}"})
    assert connection.getresponse().status == 400
    connection.close()


def test_uploads_before_12(device):
    client = device("11.6.0")[1]
    head = {"Content-Range": "0-0/1", "Content-Type": "application/octet-stream"}
    assert (
        client.call("POST", "/mgmt/shared/file-transfer/uploads/x", data=b"x", headers=head).status_code
        == 404
    )


def test_state_of_a_transaction(client):
    number = client.ok("POST", "transaction", {})["transId"]
    assert client.refused("PATCH", f"transaction/{number}", {"state": "DONE"})[0] == 400
    assert client.refused("GET", f"transaction/{number}/guess")[0] == 400
    assert client.refused("PATCH", "transaction", {"state": "VALIDATING"})[0] == 404
    client.ok("DELETE", f"transaction/{number}")
    assert client.refused("GET", f"transaction/{number}")[0] == 404


def test_validate_only_before_12(device):
    client = device("11.6.0")[1]
    number = client.ok("POST", "transaction", {})["transId"]
    client.ok("POST", "ltm/pool", {"name": "p"}, headers={"X-F5-REST-Coordination-Id": str(number)})
    body = {"state": "VALIDATING", "validateOnly": True}
    assert client.refused("PATCH", f"transaction/{number}", body) == (400, '"validateOnly" unknown property')
