"""Objects are read back as they were written, in every form in which devices return them.

Longer than other modules: a few rows for each kind of object that the codec has.
"""

import ipaddress
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from f5router.icontrol import ltm_reading
from f5router.icontrol.codec import ltm_codec, policy_codec, virtual_codec
from f5router.model import names
from f5router.model.ltm import (
    CheckedRedirect,
    ClientSSL,
    Condition,
    Foreign,
    Forward,
    HTTPCompression,
    IRule,
    Policy,
    Pool,
    PoolMember,
    Record,
    Redirect,
    Rule,
    ServerSSL,
)
from f5router.model.route_options import HTTPMonitor, HTTPSMonitor, TCPMonitor
from tests.rows import rows

RECORDINGS = Path(__file__).parents[3] / "recordings"


def as_read(body: dict, *, version: int = 14) -> dict:
    """The form in which the device gives back what was posted: lists of parts under references."""
    path = "/" + "/".join(filter(None, (body.get("partition"), body.get("subPath"), body["name"])))
    shown = {**body, "fullPath": path if body.get("partition") else body["name"], "generation": 7}
    for name in ("members", "rules", "conditions", "actions"):
        if isinstance(shown.get(name), list) and all(isinstance(item, dict) for item in shown[name]):
            items = [as_read(item) for item in shown.pop(name)]
            shown[f"{name}Reference"] = {"isSubcollection": True, **({"items": items} if items else {})}
    if version < 14 and "monitor" in shown:
        shown["monitor"] += " "
    return shown


ADDRESSES = st.one_of(st.ip_addresses(v=4), st.ip_addresses(v=6)).map(str)
MEMBERS = st.lists(
    st.builds(PoolMember, ADDRESSES, st.integers(1, 65535), st.integers(1, 100), st.integers(0, 1000),
              st.sampled_from(["enabled", "disabled", "forced_offline"]), st.integers(0, 4)),
    max_size=5, unique_by=lambda member: member.name).map(frozenset)
MONITORS = st.sampled_from(["", "/Common/tcp", "/Common/a and /Common/b", "min 1 of { /Common/a /Common/b }"])
CONDITIONS = st.frozensets(
    st.one_of(
        st.builds(
            Condition,
            st.just("httpHost"),
            st.just("host"),
            st.sampled_from(["equals", "endsWith"]),
            st.frozensets(st.sampled_from(["a.com", "a.com:80"]), min_size=1),
        ),
        st.builds(
            Condition,
            st.just("httpUri"),
            st.just("path"),
            st.sampled_from(["equals", "startsWith"]),
            st.frozensets(st.text(min_size=1), min_size=1, max_size=2),
            case_sensitive=st.booleans(),
        ),
        st.builds(
            Condition,
            st.just("httpUri"),
            st.just("pathSegment"),
            st.just("equals"),
            st.frozensets(st.text(min_size=1), min_size=1, max_size=1),
            st.integers(1, 9),
        ),
    ),
    max_size=3,
)
ACTIONS = st.one_of(
    st.builds(Forward, st.just("/P/openshift_a_b"), st.booleans(), st.booleans()),
    st.builds(Redirect, st.just("tcl:https://x"), st.sampled_from([301, 302, 308])),
    st.just(CheckedRedirect()),
)


@given(
    MEMBERS,
    MONITORS,
    st.sampled_from(["/Common/openshift_a_b", "/P/zone/x/openshift_a_b"]),
    st.sampled_from([11, 14]),
)
def test_pools(members, monitor, path, version):
    pool = Pool(path, monitor, members)
    assert ltm_codec.decode_pool(as_read(ltm_codec.encode(pool), version=version)) == pool


@pytest.mark.parametrize(("session", "state", "expected"), [
    pytest.param("user-enabled", "user-up", "enabled", id="enabled"),
    pytest.param("monitor-enabled", "up", "enabled", id="its monitor succeeds"),
    pytest.param("monitor-enabled", "down", "enabled", id="its monitor fails"),
    pytest.param("user-disabled", "user-up", "disabled", id="disabled"),
    pytest.param("user-disabled", "down", "disabled", id="disabled, and its monitor fails"),
    pytest.param("user-disabled", "user-down", "forced_offline", id="forced offline"),
    pytest.param("user-enabled", "user-down", "forced_offline", id="down without being disabled"),
])
def test_state_of_a_member(session, state, expected):
    """The state is what a user has set, whatever monitors find."""
    item = {"name": "10.1.1.1:80", "session": session, "state": state}
    assert ltm_codec.decode_member(item) == PoolMember("10.1.1.1", 80, state=expected)


@given(st.integers(1, 86400), st.integers(1, 86400), st.integers(0, 86400))
def test_monitors(interval_s, timeout_s, until_up_s):
    monitor = TCPMonitor("/P/openshift_monitor_tcp_5", interval_s, timeout_s, until_up_s)
    assert ltm_codec.DECODERS[monitor.KIND](as_read(ltm_codec.encode(monitor))) == monitor


@pytest.mark.parametrize("kind", [HTTPMonitor, HTTPSMonitor])
@pytest.mark.parametrize("recv", ["", "200", r"HTTP/1\.[01] (200|301)"])
def test_monitors_with_a_request(kind, recv):
    monitor = kind("/P/openshift_monitor_x", 5, 16, send=r"GET / HTTP/1.1\r\nHost: a\r\n\r\n", recv=recv)
    body = ltm_codec.encode(monitor)
    assert body.get("recv", "") == recv
    assert ltm_codec.CHANGES[kind.KIND](monitor)["recv"] == (recv or "none")
    assert ltm_codec.DECODERS[kind.KIND](as_read(body)) == monitor


@given(MEMBERS, st.sampled_from(["%0", "%6"]))
def test_route_domains_are_no_difference(members, suffix):
    """Addresses come with and without the default route domain (bigip-behaviour.md A3)."""
    pool = Pool("/P/x", "", members)
    body = as_read(ltm_codec.encode(pool))
    for item in body["membersReference"].get("items", []):
        address = ltm_codec.decode_member(item).address
        item["address"] = address + suffix
        item["name"] = item["name"].replace(address, address + suffix)
    assert ltm_codec.decode_pool(body) == pool


@given(CONDITIONS, ACTIONS, st.integers(0, 2**31 - 1), st.sampled_from(["", ".a.com"]))
def test_rules(conditions, action, ordinal, suffix):
    if isinstance(action, CheckedRedirect):
        suffix = ".a.com"
    band = names.band_of(ordinal)
    rule = Rule("/P/openshift_secure_routes", "r", band, conditions, action, ordinal, suffix=suffix)
    read = policy_codec.decode_rule(rule.policy, as_read(policy_codec.encode_rule(rule)))
    assert (read, read.ordinal) == (rule, ordinal)


@pytest.mark.parametrize(("operator", "values", "host"), [
    ("equals", {"a.com", "a.com.", "a.com:80", "a.com.:80"}, "a.com"),
    ("endsWith", {".a.com", ".a.com.", ".a.com:80", ".a.com.:80"}, "*.a.com"),
])
def test_hosts_of_a_rule(operator, values, host):
    wanted = frozenset({Condition("httpHost", "host", operator, frozenset(values))})
    body = as_read(policy_codec.encode_rule(Rule("/P/p", "r", 1, wanted, Forward("/P/x"), 3)))
    assert policy_codec.decode_rule("/P/p", body).hosts == {host}


def test_what_a_rule_tells_is_that_of_its_action():
    """Another pool than it forwards to counts as not told; a redirect tells none."""
    sets = {"tcl": True, "setVariable": True, "request": True, "tmName": "f5router_pool"}
    forward = {"forward": True, "select": True, "request": True, "pool": "/P/x"}
    redirect = {"httpReply": True, "redirect": True, "request": True, "location": "tcl:https://x"}

    def action(*actions):
        items = [{"name": str(n), **fields} for n, fields in enumerate(actions)]
        return policy_codec.decode_rule("/P/p", {"name": "r", "actionsReference": {"items": items}}).action

    told, other = {**sets, "expression": "/P/x"}, {**sets, "expression": "/P/y"}
    assert action(forward, told) == action(told, forward) == Forward("/P/x")
    assert action(forward, other) == action(forward) == Forward("/P/x", sets_pool_variable=False)
    insecure = {**sets, "tmName": "f5router_insecure", "expression": "1"}
    assert action(forward, told, insecure) == Forward("/P/x", insecure=True)
    http = {**sets, "tmName": "f5router_http", "expression": "0123"}
    assert action(forward, told, insecure, http) == Forward("/P/x", insecure=True, http="0123")
    stay = {**sets, "tmName": "f5router_stay", "expression": "off"}
    assert action(forward, told, http, stay) == Forward("/P/x", http="0123", unbound=True)
    for odd in ((forward, told, {**insecure, "expression": "0"}), (redirect, insecure), (insecure,),
                (redirect, http), (http,), (stay,), (redirect, stay),
                (forward, told, {**stay, "expression": "source"})):
        assert isinstance(action(*odd), Foreign)
    assert action(redirect) == Redirect("tcl:https://x")
    foreign = [action(redirect, told), action(told), action(forward, {**told, "tmName": "mine"}),
               action(forward, {**told, "response": True})]
    assert all(isinstance(decoded, Foreign) for decoded in foreign)
    wild = {**sets, "tmName": "f5router_wildcard", "expression": ".a.com"}
    asks = {**sets, "tmName": "f5router_redirect", "expression": "1"}
    assert action(wild, asks) == CheckedRedirect()
    foreign = [action(asks), action(wild), action(wild, asks, redirect), action(wild, asks, forward, told),
               action(wild, asks, told), action(wild, {**asks, "expression": "2"})]
    assert all(isinstance(decoded, Foreign) for decoded in foreign)


def test_server_filled_fields_are_no_difference():
    """TMOS returns them with every condition and action (bigip-behaviour.md B4)."""
    rule = Rule(
        "/P/p",
        "r",
        0,
        frozenset({Condition("httpHost", "host", "equals", frozenset({"a"}))}),
        Forward("/P/x"),
        3,
    )
    body = as_read(policy_codec.encode_rule(rule))
    body["conditionsReference"]["items"][0] |= {"external": True, "present": True, "remote": True, "index": 0}
    body["actionsReference"]["items"][0] |= {
        "code": 0,
        "expirySecs": 0,
        "length": 0,
        "offset": 0,
        "port": 0,
        "status": 0,
        "timeout": 0,
        "vlanId": 0,
        "poolReference": {"link": "https://localhost/x"},
    }
    assert policy_codec.decode_rule("/P/p", body) == rule


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"not": True}, id="negated"),
        pytest.param({"httpMethod": True}, id="another operand"),
        pytest.param({"datagroup": "/Common/x"}, id="data-group"),
        pytest.param({"request": False}, id="another event"),
        pytest.param({"all": True}, id="another selector"),
    ],
)
def test_conditions_that_we_never_write_differ_from_all_that_is_wanted(change):
    rule = Rule(
        "/P/p",
        "r",
        0,
        frozenset({Condition("httpHost", "host", "equals", frozenset({"a"}))}),
        Forward("/P/x"),
        3,
    )
    body = as_read(policy_codec.encode_rule(rule))
    body["conditionsReference"]["items"][0] |= change
    assert isinstance(policy_codec.decode_rule("/P/p", body).conditions, Foreign)


@pytest.mark.parametrize(
    "actions",
    [
        [],
        [{"name": "0", "forward": True, "reset": True, "request": True}],
        [
            {"name": "0", "forward": True, "select": True, "pool": "/P/x", "request": True},
            {"name": "1", "log": True},
        ],
        [
            {"name": "0", "forward": True, "select": True, "pool": "/P/x", "request": True},
            {"name": "1", "tcl": True, "setVariable": True, "tmName": "others", "expression": ".a.com"},
        ],
    ],
)
def test_actions_that_we_never_write_too(actions):
    rule = policy_codec.decode_rule("/P/p", {"name": "r", "actionsReference": {"items": actions}})
    assert isinstance(rule.action, Foreign)


@given(st.booleans(), st.booleans())
def test_profiles(chain, sni):
    profile = ClientSSL(
        "/P/zone/x", "a.com", "/P/c.crt", "/P/k.key", "/P/ch.crt" if chain else "", sni_default=sni
    )
    assert ltm_codec.decode_client_ssl(as_read(ltm_codec.encode(profile))) == profile
    nested = as_read(ltm_codec.encode(profile))
    nested["certKeyChain"] = [{n: nested.pop(n) for n in ("cert", "key", "chain")}]
    assert ltm_codec.decode_client_ssl(nested) == profile


@pytest.mark.parametrize(
    "profile",
    [ServerSSL("/P/x"), ServerSSL("/P/x", "/P/ca.crt"), ServerSSL("/P/x", "/P/ca.crt", "web.shop.svc")],
)
def test_server_profiles(profile):
    body = as_read(ltm_codec.encode(profile))
    assert ltm_codec.decode_server_ssl(body) == profile
    if profile.ca_file:
        # A profile that no longer verifies is a difference, whatever CA it names.
        assert ltm_codec.decode_server_ssl({**body, "peerCertMode": "ignore"}) != profile


def test_an_irule_is_read_stripped():
    irule = IRule("/Common/x", "when CLIENT_ACCEPTED { }")
    assert (
        ltm_codec.decode_irule({"fullPath": "/Common/x", "apiAnonymous": "\n  when CLIENT_ACCEPTED { }\n"})
        == irule
    )


def test_the_noop_rule_must_be_last_and_empty():
    def policy(*rules):
        return policy_codec.decode_policy(
            {
                "fullPath": "/P/p",
                "strategy": "/Common/first-match",
                "controls": ["forwarding"],
                "requires": ["http"],
                "rulesReference": {"items": list(rules)},
            }
        )[0]

    noop, rule = {"name": "default_noop", "ordinal": 2**31 - 1}, {"name": "r", "ordinal": 3}
    assert policy(rule, noop) == Policy("/P/p", sets_pool_variable=False)
    assert not policy(rule, {**noop, "ordinal": 1}).noop
    assert not policy({**noop, "ordinal": 0}).noop, "Rules that come would be behind it"
    assert not policy(rule).noop
    assert not policy({**noop, "conditionsReference": {"items": [{"name": "0", "httpHost": True}]}}).noop
    sets = {"name": "0", "kind": "x", "code": 0, "tcl": True, "setVariable": True, "request": True,
            "tmName": "f5router_unmatched", "expression": "1"}
    told = {**noop, "actionsReference": {"items": [sets]}}
    assert policy(rule, told) == Policy("/P/p")
    for other in ({**sets, "expression": "2"}, {**sets, "tmName": "mine"}, {**sets, "response": True}):
        assert not policy(rule, {**noop, "actionsReference": {"items": [other]}}).sets_pool_variable
    more = {"items": [sets, {"name": "1", "log": True}]}
    assert not policy(rule, {**noop, "actionsReference": more}).sets_pool_variable


@pytest.mark.parametrize(
    ("destination", "port"),
    [
        ("/Common/10.1.1.1:80", 80),
        ("/P/10.1.1.1%6:443", 443),
        ("/P/2001:db8::1.443", 443),
        ("/P/2001:db8::1%2.any", 0),
        ("/Common/0.0.0.0:0", 0),
        ("", 0),
    ],
)
def test_destination_ports(destination, port):
    assert virtual_codec.destination_port({"destination": destination}) == port


@pytest.mark.parametrize(
    ("shape", "count"),
    [
        ({"rulesReference": {"items": [1, 2]}}, 2),
        ({"rulesReference": {"isSubcollection": True}}, 0),
        ({}, 0),
        ({"items": [1]}, 1),
        ({"rulesReference": {"rulesReference": {"items": [1]}}}, 1),
        ({"items": None}, 0),
    ],
)
def test_sub_collections_in_every_shape(shape, count):
    assert len(ltm_codec.items(shape, "rules")) == count


KINDS = {
    "ltm/pool": Pool.KIND,
    "ltm/policy": Policy.KIND,
    "ltm/data-group/internal": "ltm/data-group/internal",
    "ltm/rule": IRule.KIND,
    "ltm/profile/client-ssl": ClientSSL.KIND,
    "ltm/profile/server-ssl": ServerSSL.KIND,
    "sys/file/ssl-cert": "sys/file/ssl-cert",
    "sys/file/ssl-key": "sys/file/ssl-key",
}
FILES = [
    path
    for folder in KINDS
    for path in sorted((RECORDINGS / folder).glob("*.json"))
    if "stats" not in path.name
]


@rows("path", FILES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_recorded_replies_are_read(path):
    """Every recorded reply of a kind that we use decodes, to objects with full paths."""
    kind = KINDS[str(path.parent.relative_to(RECORDINGS))]
    body = json.loads(path.read_text())
    for item in body.get("items", [body]):
        objects = ltm_reading.decoded(kind, item)
        assert objects[0].path == ltm_codec.path_of(item)
        for obj in objects:
            assert not isinstance(obj, Record) or obj.group == objects[0].path


def test_recordings_are_there():
    """A missing folder would make the test above empty."""
    assert len(FILES) > 20


@given(st.frozensets(st.sampled_from(["text/html", "application/vnd[.]api[+]json", "image/svg[+]xml"])))
def test_compression_is_read_as_written(types):
    profile = HTTPCompression("/Common/openshift_http-compression-profile", types)
    assert ltm_codec.decode_compression(as_read(ltm_codec.encode(profile))) == profile


@pytest.mark.parametrize(("changed", "same"), [
    ({"minSize": "128", "uriExclude": "none", "contentTypeExclude": None}, True),
    ({"minSize": 1024}, False), ({"keepAcceptEncoding": "disabled"}, False), ({"uriInclude": []}, False),
    ({"uriExclude": ["/a"]}, False), ({"defaultsFrom": "/Common/wan-optimized-compression"}, False),
    ({"contentTypeInclude": ["text/"]}, False), ({"contentTypeInclude": "none"}, False),
    ({"cpuSaver": "disabled"}, True), ({"description": "x"}, True),
])
def test_properties_of_compression(changed, same):
    """Properties that the router does not set, as the protection of the CPU, are the parent's."""
    profile = HTTPCompression("/Common/openshift_http-compression-profile", frozenset({"text/html"}))
    read = as_read(ltm_codec.encode(profile)) | changed
    assert (ltm_codec.decode_compression(read) == profile) == same


@given(st.ip_addresses().map(str) | st.text(max_size=8)
       | st.from_regex(r"[0-9]{1,4}(\.[0-9]{1,3}){2,4}(%[0-9]{1,2})?", fullmatch=True))
def test_addresses_are_canonical(text):
    try:
        expected = str(ipaddress.ip_address(text.split("%", 1)[0]))
    except ValueError:
        expected = ""
    assert ltm_codec.address_of(text) == expected
