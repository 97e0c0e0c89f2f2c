"""Profiles of a client's own: what they inherit, what a version takes, and who uses them."""

from __future__ import annotations

from tests.mocks.bigip.offline import HTTP, TCP, at, profile, refusal, virtual
from tests.rows import rows

P = "ltm/profile"
FIELDS = {
    "tcp": {"idleTimeout": 30, "finWaitTimeout": 1, "finWait_2Timeout": 1, "closeWaitTimeout": 1,
            "timeWaitTimeout": "1000", "synMaxRetrans": 1, "synRtoBase": 1500, "keepAliveInterval": 60},
    "fastl4": {"idleTimeout": "30", "tcpHandshakeTimeout": "3"},
    "udp": {"idleTimeout": "5", "datagramLoadBalancing": "enabled"},
    "http": {"insertXforwardedFor": "enabled", "serverAgentName": "none"},
    "one-connect": {"sourceMask": "255.255.255.255", "maxSize": 100, "maxAge": 60, "maxReuse": 10},
    "http2": {"concurrentStreamsPerConnection": 50, "connectionIdleTimeout": 60},
    "websocket": {"masking": "preserve"},
    "client-ssl": {"renegotiation": "disabled", "handshakeTimeout": "5", "sniDefault": "true"},
    "request-log": {"requestLogging": "enabled", "requestLogTemplate": "$CLIENT_IP",
                    "requestLogProtocol": "mds-tcp"},
}


def factory(kind: str) -> str:
    return {"fastl4": "/Common/fastL4", "one-connect": "/Common/oneconnect",
            "client-ssl": "/Common/clientssl"}.get(kind, f"/Common/{kind}")


@rows(("kind", "fields"), list(FIELDS.items()))
def test_own_values_and_the_parents(make, kind, fields):
    big = make()
    parent = profile(big, kind, "/P/parent", description="base")
    child = profile(big, kind, "/P/child", defaultsFrom="/P/parent", **fields)
    assert parent["defaultsFrom"] == factory(kind)
    assert {name: child[name] for name in fields} == fields
    assert child["description"] == "base"
    big.request("PATCH", at("/P/parent", f"{P}/{kind}"), {}, {"description": "other"})
    assert big.get(at("/P/child", f"{P}/{kind}"))["description"] == "other"
    big.request("PUT", at("/P/child", f"{P}/{kind}"), {}, {"defaultsFrom": "/P/parent"})
    again = big.get(at("/P/child", f"{P}/{kind}"))
    assert {name: again[name] for name in fields} == {name: parent[name] for name in fields}


@rows(("kind", "fields", "expected"), [
    ("tcp", {"guess": 1}, '400 "guess" unknown property'),
    ("tcp", {"idleTimeout": "x"}, '400 invalid property value "idle-timeout":"x"'),
    ("tcp", {"resetOnTimeout": "x"}, '400 invalid property value "reset-on-timeout":"x"'),
    ("tcp", {"synMaxRetrans": 17}, '400 invalid property value "syn-max-retrans":"17"'),
    ("tcp", {"synRtoBase": 5001}, '400 invalid property value "syn-rto-base":"5001"'),
    ("tcp", {"defaultsFrom": "/P/none"}, "404 01020036:3: The requested TCP Profile (/Common/none)"),
    ("http", {"defaultsFrom": TCP}, "404 01020036:3"),
    ("http", {"enforcement": {"guess": 1}}, '400 "guess" unknown property'),
    ("http", {"enforcement": {"maxHeaderCount": 15}}, "400 invalid property value"),
    ("http", {"enforcement": {"maxHeaderSize": "x"}}, "400 invalid property value"),
    ("http", {"hsts": {"mode": "x"}}, "400 invalid property value"),
    ("request-log", {"requestLogProtocol": "udp"}, "400 invalid property value"),
    ("request-log", {"requestLogPool": "/P/none"}, "404 01020036:3: The requested Pool (/P/none)"),
])
def test_refused(make, kind, fields, expected):
    text = refusal(profile, make(), kind, "/P/x", **fields)
    assert text.startswith(expected.replace("(/Common/none)", "(/P/none)")), text


@rows(("version", "kind", "fields", "taken"), [
    ("11.6.0", "http2", {}, False), ("12.0.0", "http2", {}, True),
    ("12.0.0", "websocket", {}, False), ("12.1.0", "websocket", {}, True),
    ("16.0.0", "websocket", {"compression": "disabled"}, False),
    ("16.1.0", "websocket", {"compression": "disabled"}, True),
    ("14.0.0", "httprouter", {}, False), ("14.1.2.1", "httprouter", {}, True),
    ("11.6.0", "request-log", {}, True), ("17.1.0", "request-log", {}, True),
    ("12.1.2", "http", {"hsts": {"preload": "enabled"}}, False),
    ("13.0.0", "http", {"hsts": {"preload": "enabled"}}, True),
    ("14.1.2.1", "http", {"enforcement": {"rfcCompliance": "enabled"}}, False),
    ("15.1.0", "http", {"enforcement": {"rfcCompliance": "enabled"}}, True),
    ("16.0.0", "http", {"enforcement": {"allowWsHeaderName": "enabled"}}, False),
    ("16.1.0", "http", {"enforcement": {"allowWsHeaderName": "enabled"}}, True),
    ("14.1.2.1", "http", {"requestChunking": "sustain"}, False),
    ("15.0.0", "http", {"requestChunking": "sustain"}, True),
    ("12.1.2", "client-ssl", {"cipherGroup": "/Common/f5-default"}, False),
    ("13.0.0", "client-ssl", {"cipherGroup": "/Common/f5-default"}, True),
])
def test_what_a_version_takes(make, version, kind, fields, taken):
    big = make(version)
    if taken:
        profile(big, kind, "/P/x", **fields)
        return
    text = refusal(profile, big, kind, "/P/x", **fields)
    assert "unknown property" in text or "Found unexpected URI" in text or "sustain" in text
    if not fields:
        assert "Found unexpected URI" in refusal(big.get, f"{P}/{kind}")
        assert "was not found" in refusal(virtual, big, profiles=[TCP, HTTP, factory(kind)])


def test_an_object_within_a_profile_changes_in_what_is_sent(big):
    parent = profile(big, "http", "/P/parent", enforcement={"maxHeaderSize": 1000})
    profile(big, "http", "/P/child", defaultsFrom="/P/parent", enforcement={"maxRequests": 7})
    assert parent["enforcement"]["maxHeaderCount"] == 64
    big.request("PATCH", at("/P/child", f"{P}/http"), {}, {"enforcement": {"maxHeaderCount": "32"}})
    big.request("PATCH", at("/P/parent", f"{P}/http"), {}, {"enforcement": {"maxHeaderSize": 2000}})
    shown = big.get(at("/P/child", f"{P}/http"))["enforcement"]
    assert [shown[name] for name in ("maxHeaderSize", "maxHeaderCount", "maxRequests")] == [2000, 32, 7]
    big.request("PUT", at("/P/child", f"{P}/http"), {}, {"defaultsFrom": "/P/parent", "enforcement": {}})
    shown = big.get(at("/P/child", f"{P}/http"))["enforcement"]
    assert [shown[name] for name in ("maxHeaderSize", "maxHeaderCount", "maxRequests")] == [2000, 64, 0]


@rows(("kind", "word", "beside"), [
    ("tcp", "TCP Profile", []), ("http", "HTTP Profile", [TCP]), ("one-connect", "OneConnect Profile", [TCP]),
    ("client-ssl", "ClientSSL Profile", [TCP]), ("request-log", "Request Logging Profile", [TCP, HTTP]),
])
def test_a_profile_in_use(make, kind, word, beside):
    big = make()
    profile(big, kind, "/P/x")
    virtual(big, profiles=["/P/x", *beside])
    text = f"400 01070265:3: The {word} (/P/x) cannot be deleted because it is in use by a "
    assert refusal(big.request, "DELETE", at("/P/x", f"{P}/{kind}"), {}) == (
        f"{text}virtual server profile (/P/vs /P/x).")
    big.request("DELETE", at("/P/vs"), {})
    profile(big, kind, "/P/child", defaultsFrom="/P/x")
    assert refusal(big.request, "DELETE", at("/P/x", f"{P}/{kind}"), {}) == f"{text}{word} (/P/child)."


def test_the_pool_of_a_log_is_in_use(big):
    big.put_object("ltm/pool", {"name": "/P/log"})
    shown = profile(big, "request-log", "/P/x", responseLogPool="log")
    assert shown["responseLogPool"] == "/P/log"
    assert shown["responseLogPoolReference"]["link"].startswith("https://localhost/mgmt/tm/ltm/pool/~P~log")
    assert "01070265:3" in refusal(big.request, "DELETE", at("/P/log", "ltm/pool"), {})
    big.request("PATCH", at("/P/x", f"{P}/request-log"), {}, {"responseLogPool": "none"})
    big.request("DELETE", at("/P/log", "ltm/pool"), {})


def test_one_sni_default_of_a_virtual_server(big):
    for name in "ab":
        profile(big, "client-ssl", f"/P/{name}", sniDefault="true")
    text = "400 01071809:3: Virtual Server /P/vs has more than one clientssl/serverssl profile that is"
    assert refusal(virtual, big, profiles=[TCP, "/P/a", "/P/b"]).startswith(text)
    profile(big, "client-ssl", "/P/base", sniDefault="true")
    profile(big, "client-ssl", "/P/c", defaultsFrom="/P/base")
    assert refusal(virtual, big, profiles=[TCP, "/P/a", "/P/c"]).startswith(text)
    big.request("PATCH", at("/P/base", f"{P}/client-ssl"), {}, {"sniDefault": "false"})
    virtual(big, profiles=[TCP, "/P/a", "/P/c"])
    assert refusal(big.request, "PATCH", at("/P/base", f"{P}/client-ssl"), {},
                   {"sniDefault": "true"}).startswith(text)
