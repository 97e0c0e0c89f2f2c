"""Profiles, iRules and references of a virtual server: what fits together."""

from __future__ import annotations

import pytest

from mocks.bigip import FakeBigIP
from tests.mocks.bigip.offline import AT, CLIENT, HTTP, SERVER, TCP, at, profile, refusal, virtual
from tests.rows import rows

LAN, FASTL4, UDP, TLS = "/Common/tcp-lan-optimized", "/Common/fastL4", "/Common/udp", "/Common/clientssl"
COOKIE = {"persist": [{"name": "/Common/cookie"}]}


def attached(shown: dict) -> set[tuple[str, str]]:
    return {(item["fullPath"], item["context"]) for item in shown["profilesReference"]["items"]}


def too_few(side: str) -> str:
    words = ", ".join(f"{word} Profile ({side})" for word in ("UDP", "TCP", "SCTP"))
    return ("400 01070734:3: Configuration error: Less than the required minimum number of profiles found on "
            f"/P/vs: Exactly 1 of ({words})")


NOT_ANY = ("400 01070734:3: Configuration error: Found disallowed profile on /P/vs: "
           "Not Any Of (FastL4 Profile, FastHTTP Profile)")


@rows(("profiles", "shown"), [
    ([], {(FASTL4, "all")}),
    ([TCP], {(TCP, "all")}),
    (["tcp", "http"], {(TCP, "all"), (HTTP, "all")}),
    ([{"name": "tcp", "partition": "Common"}], {(TCP, "all")}),
    ([{"name": TCP, **CLIENT}, {"name": LAN, **SERVER}], {(TCP, "clientside"), (LAN, "serverside")}),
    ([TCP, HTTP, TLS, "/Common/serverssl"],
     {(TCP, "all"), (HTTP, "all"), (TLS, "clientside"), ("/Common/serverssl", "serverside")}),
    ([UDP, TLS], {(UDP, "all"), (TLS, "clientside")}),
])
def test_profiles_that_fit(make, profiles, shown):
    assert attached(virtual(make(), profiles=profiles)) == shown


@rows(("profiles", "fields", "expected"), [
    ([TCP, FASTL4], {}, NOT_ANY),
    ([FASTL4, HTTP, TCP], {}, NOT_ANY),
    ([FASTL4, "/Common/oneconnect"], {}, NOT_ANY),
    ([FASTL4, TLS], {}, NOT_ANY),
    ([TLS], {}, too_few("clientside")),
    ([{"name": TCP, **CLIENT}], {}, too_few("serverside")),
    ([{"name": TCP, **SERVER}], {}, too_few("clientside")),
    ([{"name": TCP, **CLIENT}, {"name": TCP, **SERVER}], {}, too_few("clientside")),
    ([{"name": TCP, **CLIENT}, {"name": LAN, **CLIENT}, {"name": "/Common/tcp-legacy", **SERVER}], {},
     "400 01070097:3: Virtual server /P/vs lists duplicate profiles."),
    ([TCP, LAN], {}, "400 01070097:3: Virtual server /P/vs lists duplicate profiles."),
    ([TCP, UDP], {}, "400 01070734:3: Configuration error: More than"),
    ([HTTP], {}, "400 01070734:3: Configuration error: Found disallowed profile on /P/vs: HTTP Profile"),
    ([TCP, "/Common/httpcompression"], {}, "400 01070734:3: Configuration error: Found disallowed"),
    ([TCP, "/Common/websocket"], {}, "400 01070734:3: Configuration error: Found disallowed"),
    ([TCP, HTTP, "/Common/http2"], {}, "400 01070734:3: Configuration error: Found disallowed"),
    ([TCP, HTTP, TLS, "/Common/http2"], {}, "400 01070734:3: Configuration error: HTTP2 profile on /P/vs"),
    ([TCP], {"ipProtocol": "udp"}, "400 01070734:3: Configuration error: Found disallowed"),
    ([UDP], {"ipProtocol": "tcp"}, "400 01070734:3: Configuration error: Found disallowed"),
    ([TCP], COOKIE, "400 01070309:3: Cookie persistence requires an HTTP or FastHTTP profile"),
    (["/P/none", TCP], {}, "404 01020036:3: The requested profile (/P/none) was not found."),
])
def test_profiles_that_do_not_fit(make, profiles, fields, expected):
    big = make()
    assert refusal(virtual, big, profiles=profiles, **fields).startswith(expected)
    assert big.get(AT)["items"] == []
    assert big.get("ltm/virtual-address")["items"] == []


def test_http2_with_renegotiation_off(make):
    big = make()
    profile(big, "client-ssl", "/P/tls", renegotiation="disabled")
    virtual(big, profiles=[TCP, HTTP, "/P/tls", "/Common/http2"])
    assert "HTTP2 profile" in refusal(
        big.request, "PATCH", at("/P/tls", "ltm/profile/client-ssl"), {}, {"renegotiation": "enabled"})


@rows(("rule", "code"), [("when HTTP_REQUEST { }", "01071912"), ("when CLIENT_ACCEPTED { }", "")])
def test_http_goes_while_an_irule_needs_it(make, rule, code):
    """The same when both are in one body and only one of them fits."""
    big = make()
    big.put_object("ltm/rule", {"name": "/P/r", "apiAnonymous": rule})
    virtual(big, profiles=[TCP, HTTP], rules=["/P/r"])
    if code:
        assert code in refusal(big.request, "PATCH", at("/P/vs"), {}, {"profiles": [TCP]})
    else:
        big.request("PATCH", at("/P/vs"), {}, {"profiles": [TCP]})
    big.request("PATCH", at("/P/vs"), {}, {"profiles": [TCP], "rules": []})
    big.request("PATCH", at("/P/vs"), {}, {"profiles": [TCP, HTTP], "rules": ["/P/r"]})


# -- references ------------------------------------------------------------------------------------

OBJECTS = [
    ("ltm/pool", {}), ("ltm/rule", {"apiAnonymous": "when CLIENT_ACCEPTED { }"}),
    ("ltm/snatpool", {"members": ["10.1.0.1"]}), ("ltm/profile/tcp", {}), ("ltm/persistence/source-addr", {}),
    ("ltm/policy", {"strategy": "first-match", "legacy": True, "rules": [{"name": "r"}]}),
]
REFERENCES = {
    "pool": lambda path: {"pool": path},
    "rule": lambda path: {"rules": [path]},
    "snatpool": lambda path: {"sourceAddressTranslation": {"type": "snat", "pool": path}},
    "tcp": lambda path: {"profiles": [path]},
    "source-addr": lambda path: {"persist": [{"name": path}]},
    "policy": lambda path: {"policies": [path], "profiles": [TCP, HTTP]},
}


def name_of(kind: str, folder: str) -> str:
    return f"{folder}/own-{kind.rsplit('/', 1)[1]}"


def stocked(big: FakeBigIP) -> FakeBigIP:
    """One of each in /Common, /P, a folder of it, and /Q."""
    big.put_object("sys/folder", {"name": "/P/sub"})
    for number, folder in enumerate(("/Common", "/P", "/P/sub", "/Q")):
        for kind, fields in OBJECTS:
            own = {"members": [f"10.1.{number}.1"]} if kind == "ltm/snatpool" else fields
            big.put_object(kind, {"name": name_of(kind, folder), **own})
    return big


@rows(("virtual_folder", "folder", "allowed"), [
    ("/P", "/P", True), ("/P", "/Common", True), ("/P", "/P/sub", True), ("/P/sub", "/P", True),
    ("/P", "/Q", False), ("/P/sub", "/Q", False), ("/Common", "/P", False), ("/Common", "/Common", True),
])
def test_objects_of_its_own_partition_or_common(make, virtual_folder, folder, allowed):
    big = stocked(make())
    for kind, _ in OBJECTS:
        fields = REFERENCES[kind.rsplit("/", 1)[1]](name_of(kind, folder))
        path = f"{virtual_folder}/vs"
        if allowed:
            virtual(big, path, **fields)
            assert refusal(big.request, "DELETE", at(name_of(kind, folder), kind), {})[:4] == "400 ", kind
            big.request("DELETE", at(path), {})
        else:
            text = refusal(virtual, big, path, **fields)
            assert text.startswith("400 01070726:3: A virtual server may only reference "), kind
            assert text.endswith(f" in the same partition or the common partition ({path}:"
                                 f"{name_of(kind, folder)})"), kind


@rows(("fields", "expected"), [
    ({"pool": "/P/none"}, "400 01070712:3: Values (/P/none)"),
    ({"rules": ["/P/none"]}, "400 01070712:3: Values (/P/none)"),
    ({"vlansEnabled": True, "vlans": ["/P/none"]}, "400 01070712:3: Values (/P/none)"),
    ({"sourceAddressTranslation": {"type": "snat", "pool": "/P/none"}}, "400 01070712:3: Values (/P/none)"),
    ({"policies": ["/P/none"]}, "404 01020036:3:"),
    ({"persist": [{"name": "/P/none"}]}, "404 01020036:3:"),
    ({"fallbackPersistence": "/P/none"}, "404 01020036:3:"),
])
def test_references_to_nothing(make, fields, expected):
    assert refusal(virtual, make(), **fields).startswith(expected)


# -- other properties ------------------------------------------------------------------------------


@rows(("fields", "expected"), [
    ({"sourceAddressTranslation": {"type": "snat"}}, "400 01070734:3"),
    ({"sourceAddressTranslation": {"type": "none", "pool": "/P/s"}}, "400 01070734:3"),
    ({"sourceAddressTranslation": {"type": "x"}}, '400 invalid property value "type":"x"'),
    ({"sourceAddressTranslation": {"type": "automap", "x": 1}}, '400 "x" unknown property'),
    ({"mirror": "yes"}, '400 invalid property value "mirror":"yes"'),
    ({"connectionLimit": "x"}, '400 invalid property value "connection-limit":"x"'),
    ({"sourcePort": "x"}, '400 invalid property value "source-port":"x"'),
    ({"serviceDownImmediateAction": "x"}, "400 invalid property value"),
    ({"autoLasthop": "x"}, "400 invalid property value"),
    ({"enabled": True, "disabled": True}, '400 "enabled" may not be specified with "disabled"'),
    ({"vlansEnabled": True, "vlansDisabled": True}, "400 "),
    ({"metadata": [{"value": "x"}]}, "400 invalid property value"),
    ({"metadata": [{"name": "a"}, {"name": "a"}]}, "400 invalid property value"),
    ({"metadata": [{"name": "a", "persist": "x"}]}, "400 invalid property value"),
    ({"httpMrfRoutingEnabled": True}, '400 "httpMrfRoutingEnabled" unknown property'),
])
def test_values_that_are_refused(make, fields, expected):
    assert refusal(virtual, make(), **fields).startswith(expected)


FULL = {
    "description": "owner", "connectionLimit": 10, "mirror": "enabled", "vlansEnabled": True,
    "vlans": ["/Common/internal"], "pool": "/P/own-pool", "source": "10.0.0.0/8", "disabled": True,
    "rules": ["/P/own-rule"], "persist": [{"name": "/P/own-source-addr", "tmDefault": "yes"}],
    "metadata": [{"name": "b", "value": "2", "persist": "false"}, {"name": "a", "value": "1"}],
    "policies": ["/P/own-policy"], "profiles": [TCP, HTTP],
    "sourceAddressTranslation": {"type": "snat", "pool": "/P/own-snatpool"},
}


@pytest.fixture
def full(make) -> FakeBigIP:
    big = stocked(make())
    virtual(big, **FULL)
    return big


def test_all_of_it_is_read_again(full):
    shown = full.get(at("/P/vs"))
    for name in ("description", "connectionLimit", "mirror", "vlansEnabled", "vlans", "pool", "source",
                 "disabled", "rules"):
        assert shown[name] == FULL[name], name
    assert shown["metadata"] == [{"name": "a", "persist": "true", "value": "1"},
                                 {"name": "b", "persist": "false", "value": "2"}]
    assert shown["sourceAddressTranslation"]["pool"] == "/P/own-snatpool"
    assert shown.keys().isdisjoint({"enabled", "vlansDisabled"})


@rows(("change", "shown"), [
    ({"rules": ["/Common/own-rule", "/P/own-rule"]}, {"rules": ["/Common/own-rule", "/P/own-rule"]}),
    ({"rules": []}, {"rules": None}),
    ({"vlans": [], "vlansDisabled": True}, {"vlans": None, "vlansDisabled": True, "vlansEnabled": None}),
    ({"metadata": [{"name": "c", "value": "3"}]},
     {"metadata": [{"name": "c", "persist": "true", "value": "3"}]}),
    ({"metadata": []}, {"metadata": None}),
    ({"enabled": True}, {"enabled": True, "disabled": None}),
    ({"pool": "none"}, {"pool": None}),
    ({"persist": []}, {"persist": None}),
    ({"sourceAddressTranslation": {"type": "automap"}}, {"sourceAddressTranslation": {"type": "automap"}}),
    ({"connectionLimit": 0}, {"connectionLimit": 0}),
])
def test_patch_replaces_lists_and_leaves_the_rest(make, change, shown):
    big = stocked(make())
    before = virtual(big, **FULL)
    big.request("PATCH", at("/P/vs"), {}, change)
    after = big.get(at("/P/vs"))
    assert {name: after.get(name) for name in shown} == shown
    same = before.keys() - shown.keys() - {"generation", "lastModifiedTime"}
    assert {name: after.get(name) for name in same - {"poolReference", "rulesReference", "vlansReference",
                                                      "profilesReference", "policiesReference"}} == {
        name: before[name] for name in same - {"poolReference", "rulesReference", "vlansReference",
                                               "profilesReference", "policiesReference"}}


def test_put_resets_what_is_not_sent(full):
    full.request("PUT", at("/P/vs"), {}, {"description": "new"})
    shown = full.get(at("/P/vs"))
    gone = {"vlans", "pool", "rules", "persist", "metadata", "disabled", "vlansEnabled"}
    assert shown.keys().isdisjoint(gone)
    assert [shown[name] for name in ("connectionLimit", "mirror", "source", "sourceAddressTranslation")] == [
        0, "disabled", "0.0.0.0/0", {"type": "none"}]
    assert attached(shown) == {(FASTL4, "all")}
    assert "items" not in shown["policiesReference"]


@pytest.mark.parametrize("lose_unsaved", [True, False])
def test_a_restart_forgets_metadata_that_is_not_saved(full, lose_unsaved):
    full.request("POST", "sys/config", {}, {"command": "save"})
    full.restart(lose_unsaved=lose_unsaved)
    assert full.get(at("/P/vs"))["metadata"] == [{"name": "a", "persist": "true", "value": "1"}]
