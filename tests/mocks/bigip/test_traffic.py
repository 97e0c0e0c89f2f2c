"""decide: which pool, certificate and profile a request gets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from f5router.desired import irules
from mocks.bigip import FakeBigIP
from mocks.bigip.traffic import Decision, Request, Unsupported, decide, expand
from tests.mocks.bigip.material import pair

HOST = {"httpHost": True, "host": True, "equals": True, "values": ["a.example"]}


@pytest.fixture
def big() -> Iterator[FakeBigIP]:
    """A device that does not listen."""
    big = FakeBigIP(partitions=("Common", "P"))
    for name in ("one", "two"):
        members = [{"name": f"10.0.0.{number}:80"} for number in (1, 2)]
        big.put_object("ltm/pool", {"name": name, "partition": "P", "members": members})
    yield big
    big.close()


def virtual(big: FakeBigIP, *rules: dict, strategy: str = "first-match", **fields) -> None:
    """/P/vs with a legacy policy of these rules."""
    numbered = [{"name": f"r{number}", "ordinal": number, **rule} for number, rule in enumerate(rules)]
    body = {"name": "pol", "partition": "P", "strategy": strategy, "legacy": True, "rules": numbered}
    big.put_object("ltm/policy", body)
    big.add_virtual("/P/vs", "10.9.0.1:80", policies=["/P/pol"], **fields)


def rule(*conditions: dict, action: dict | None = None, pool: str = "/P/one", **more) -> dict:
    action = action or {"forward": True, "select": True, "pool": pool}
    return {
        "conditions": [{"name": str(number), **condition} for number, condition in enumerate(conditions)],
        "actions": [{"name": "0", **action}],
        **more,
    }


def path(value: str, operator: str = "startsWith", **more) -> dict:
    return {"httpUri": True, "path": True, operator: True, "values": [value], **more}


def segment(index: int, value: str, **more) -> dict:
    return {"httpUri": True, "pathSegment": True, "index": index, "equals": True, "values": [value], **more}


@pytest.mark.parametrize(
    ("condition", "request_", "holds"),
    [
        pytest.param(HOST, Request("a.example"), True, id="host"),
        pytest.param(HOST, Request("A.EXAMPLE:8080"), True, id="host in another case with port"),
        pytest.param(HOST, Request("b.example"), False, id="other host"),
        pytest.param({**HOST, "not": True}, Request("b.example"), True, id="not host"),
        pytest.param(
            {"httpHost": True, "all": True, "values": ["a.example"]},
            Request("a.example:81"),
            False,
            id="all keeps the port",
        ),
        pytest.param(
            {"httpHost": True, "port": True, "values": ["80"]}, Request("a.example"), True, id="port"
        ),
        pytest.param(path("/a"), Request("x", "/a/b"), True, id="path prefix"),
        pytest.param(path("/a", caseSensitive=True), Request("x", "/A"), False, id="case-sensitive"),
        pytest.param(path("/a"), Request("x", "/A"), True, id="case-insensitive"),
        pytest.param(path("/a", "equals"), Request("x", "/a", query="q=1"), True, id="path has no query"),
        pytest.param(
            {"httpUri": True, "all": True, "values": ["/a?q=1"]},
            Request("x", "/a", query="q=1"),
            True,
            id="all has the query",
        ),
        pytest.param(path("b", "endsWith"), Request("x", "/a/b"), True, id="endsWith"),
        pytest.param(path("/b", "contains"), Request("x", "/a/b"), True, id="contains"),
        pytest.param(segment(1, "a"), Request("x", "/a/b"), True, id="segments count from 1"),
        pytest.param(segment(2, "b"), Request("x", "/a/b"), True, id="second segment"),
        pytest.param(segment(2, "b"), Request("x", "/a"), False, id="absent segment"),
        pytest.param(
            {"httpHeader": True, "tmName": "X-A", "values": ["1"]},
            Request("x", headers={"x-a": "1"}),
            True,
            id="header",
        ),
    ],
)
def test_conditions(big, condition, request_, holds):
    virtual(big, rule(condition))
    assert decide(big.store, "/P/vs", request_).kind == ("pool" if holds else "none")


def test_conditions_are_and_values_are_or(big):
    virtual(big, rule({**HOST, "values": ["a.example", "b.example"]}, path("/a")))
    hosts = ("a.example", "b.example", "c.example")
    kinds = [decide(big.store, "/P/vs", Request(host, "/a")).kind for host in hosts]
    assert kinds == ["pool", "pool", "none"]
    assert decide(big.store, "/P/vs", Request("a.example", "/b")).kind == "none"


def test_first_match_goes_by_ordinal(big):
    virtual(big, rule(HOST, pool="/P/one", ordinal=7), rule(HOST, pool="/P/two", ordinal=3))
    assert decide(big.store, "/P/vs", Request("a.example")).pool == "/P/two"


def test_best_match_prefers_more_conditions(big):
    virtual(big, rule(HOST), rule(HOST, path("/a"), pool="/P/two"), strategy="best-match")
    assert decide(big.store, "/P/vs", Request("a.example", "/a")).pool == "/P/two"
    assert decide(big.store, "/P/vs", Request("a.example", "/b")).pool == "/P/one"


def test_a_rule_without_actions_stops(big):
    """Under first-match it matches, and the request goes to the virtual server's pool
    (bigip-behaviour.md B4)."""
    virtual(big, {"conditions": [{"name": "0", **HOST}]}, rule(HOST), pool="/P/two")
    assert decide(big.store, "/P/vs", Request("a.example")).pool == "/P/two"


def test_pool_without_members(big):
    big.put_object("ltm/pool", {"name": "empty", "partition": "P"})
    virtual(big, rule(HOST, pool="/P/empty"))
    assert decide(big.store, "/P/vs", Request("a.example")) == Decision("pool", "/P/empty", rule="/P/pol r0")


def test_members_that_are_disabled_get_nothing(big):
    virtual(big, rule(HOST))
    item = big.store.get("ltm/pool/members", "/P/one", "/P/10.0.0.1:80")
    big.store.put(item.kind, item.key, {**item.fields, "session": "user-disabled"})
    assert decide(big.store, "/P/vs", Request("a.example")).members == ("10.0.0.2:80",)


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("https://b.example/x", "https://b.example/x"),
        ("tcl:https://[HTTP::host][HTTP::uri]", "https://A.example:81/x?q=1"),
        ('tcl:https://[getfield [HTTP::host] ":" 1][HTTP::uri]', "https://A.example/x?q=1"),
        ("tcl:https://[string tolower [getfield [HTTP::host] : 1]][HTTP::path]", "https://a.example/x"),
    ],
)
def test_redirect(big, location, expected):
    action = {"httpReply": True, "redirect": True, "location": location}
    virtual(big, rule(action=action))
    decision = decide(big.store, "/P/vs", Request("A.example:81", "/x", query="q=1"))
    assert (decision.kind, decision.location) == ("redirect", expected)


def test_unknown_command_in_a_location():
    with pytest.raises(Unsupported, match="clock"):
        expand("tcl:[clock seconds]", Request("a"))


def test_reset(big):
    virtual(big, rule(HOST, action={"forward": True, "reset": True}))
    assert decide(big.store, "/P/vs", Request("a.example")).kind == "reset"


def test_negated_condition_on_an_absent_operand(big):
    """Wrong before 14.1.2.5 (ID795261)."""
    virtual(big, rule(segment(2, "b", **{"not": True})))
    assert decide(big.store, "/P/vs", Request("x", "/a")).kind == "none"
    big.store.version = (14, 1, 4)
    assert decide(big.store, "/P/vs", Request("x", "/a")).kind == "pool"


def test_host_keeps_port():
    big = FakeBigIP(partitions=("P",), quirks={"host-keeps-port"})
    big.put_object("ltm/pool", {"name": "one", "partition": "P"})
    virtual(big, rule(HOST))
    assert decide(big.store, "/P/vs", Request("a.example:81")).kind == "none"
    assert decide(big.store, "/P/vs", Request("a.example")).kind == "pool"
    big.close()


def tls_virtual(big: FakeBigIP, *hosts: str, rules: tuple[str, ...] = (), profiles: tuple = ()) -> None:
    """/P/tls with a client-ssl profile for each host and a default one."""
    cert, key = pair("x.example")
    names = []
    for number, host in enumerate(hosts):
        big.install(f"/P/{number}.crt", cert)
        big.install(f"/P/{number}.key", key)
        big.put_object(
            "ltm/profile/client-ssl",
            {
                "name": f"c{number}",
                "partition": "P",
                "serverName": host,
                "cert": f"/P/{number}.crt",
                "key": f"/P/{number}.key",
            },
        )
        names.append(f"/P/c{number}")
    big.put_object("ltm/profile/client-ssl", {"name": "default", "partition": "P", "sniDefault": True})
    every = ["/Common/http", "/Common/tcp", "/P/default", *names, *profiles]
    big.add_virtual("/P/tls", "10.9.0.1:443", profiles=every, rules=list(rules), pool="/P/one")


@pytest.mark.parametrize(
    ("sni", "profile", "cert"),
    [
        pytest.param("a.example", "/P/c0", "/P/0.crt", id="exact"),
        pytest.param("A.Example.", "/P/c0", "/P/0.crt", id="case and dot"),
        pytest.param("x.b.example", "/P/c1", "/P/1.crt", id="wildcard"),
        pytest.param("c.example", "/P/default", "/Common/default.crt", id="default"),
        pytest.param(None, "/P/default", "/Common/default.crt", id="no SNI"),
    ],
)
def test_certificate_by_sni(big, sni, profile, cert):
    tls_virtual(big, "a.example", "*.b.example")
    decision = decide(big.store, "/P/tls", Request("a.example", sni=sni, tls=True))
    assert (decision.kind, decision.client_ssl_profile, decision.certificate_file) == ("pool", profile, cert)


def test_clear_text_on_a_tls_port_and_tls_without_profile(big):
    tls_virtual(big)
    virtual(big, rule(HOST))
    assert decide(big.store, "/P/tls", Request("a.example")).kind == "reset"
    assert decide(big.store, "/P/vs", Request("a.example", tls=True, sni="a.example")).kind == "reset"


def irule(big: FakeBigIP, name: str, group: str, records: dict[str, str], text: str = "") -> str:
    big.put_object(
        "ltm/data-group/internal",
        {
            "name": group,
            "partition": "P",
            "type": "string",
            "records": [{"name": key, "data": value} for key, value in records.items()],
        },
    )
    big.put_object("ltm/rule", {"name": name, "partition": "P",
                                "apiAnonymous": f"when CLIENT_ACCEPTED {{ {text} }}"})
    return f"/P/{name}"


def test_passthrough(big):
    rule_ = irule(
        big, "openshift_passthrough_irule", "ssl_passthrough_servername_dg", {"a.example": "/P/two"}
    )
    tls_virtual(big, rules=(rule_,))
    decision = decide(big.store, "/P/tls", Request("a.example", sni="A.example.", tls=True))
    assert decision == Decision("passthrough", "/P/two", ("10.0.0.1:80", "10.0.0.2:80"))
    assert decide(big.store, "/P/tls", Request("b.example", sni="b.example", tls=True)).kind == "pool"


@pytest.mark.parametrize(("sni", "pool"), [
    ("a.example", "/P/two"), ("b.a.example", "/P/one"), ("here.a.example", None), ("c.b.a.example", None),
    ("example", None), (".a.example", None),
])
def test_passthrough_of_a_wildcard(big, sni, pool):
    """Exact name, then the domain with a dot before it; "terminate" is no pool."""
    records = {"a.example": "/P/two", ".a.example": "/P/one", "here.a.example": "terminate"}
    tls_virtual(big, rules=(irule(
        big, "openshift_passthrough_irule", "ssl_passthrough_servername_dg", records),))
    decision = decide(big.store, "/P/tls", Request(sni, sni=sni, tls=True))
    assert (decision.pool if decision.kind == "passthrough" else None) == pool


KNOWS = "set data {terminate/ .._}"
"""What the text of the iRule has that knows such records."""


@pytest.mark.parametrize(("text", "sni", "kind", "pool"), [
    ("", "a.example", "reset", None), ("", None, "pool", "/P/one"), ("", "c.b.example", "pool", "/P/one"),
    (KNOWS, "a.example", "ended", "/P/two"), (KNOWS, None, "passthrough", "/P/empty"),
    (KNOWS, "c.b.example", "ended", "/P/one"), (KNOWS, "x", "passthrough", "/P/empty"),
    (KNOWS, ".example", "passthrough", "/P/empty"),
])
def test_records_that_need_another_text_of_the_irule(big, text, sni, kind, pool):
    """One without that takes all data but "terminate" for the name of a pool, and looks up no other names."""
    records = {"a.example": "terminate/P/two", "..example": "terminate/P/one", ".._": "/P/empty"}
    tls_virtual(big, rules=(irule(
        big, "openshift_passthrough_irule", "ssl_passthrough_servername_dg", records, text),))
    decision = decide(big.store, "/P/tls", Request("a.example", sni=sni, tls=True))
    assert (decision.kind, decision.pool) == (kind, pool)


@pytest.mark.parametrize(("host", "kind"), [
    ("b.a.example", "pool"), ("B.A.example.:80", "pool"), ("c.b.a.example", "reset"), ("other", "none"),
])
@pytest.mark.parametrize("guarded", [True, False])
def test_wildcard_of_one_label(big, host, kind, guarded):
    """The iRule keeps a rule to names with one label before the domain that the rule sets."""
    ends = {"httpHost": True, "host": True, "endsWith": True, "values": [".a.example", ".a.example."]}
    told = {"tcl": True, "setVariable": True, "tmName": "f5router_wildcard", "expression": ".a.example"}
    wild = rule(ends)
    wild["actions"].append({"name": "1", "request": True, **told})
    rules = (irule(big, "openshift_request_irule", "x", {}),) if guarded else ()
    virtual(big, wild, rules=rules)
    assert decide(big.store, "/P/vs", Request(host)).kind == (kind if guarded or kind != "reset" else "pool")


@pytest.mark.parametrize(
    ("records", "pool", "expected"),
    [
        pytest.param({"/P/one": "/P/serverssl-x"}, "one", "/P/serverssl-x", id="recorded pool"),
        pytest.param({}, "one", "/Common/serverssl", id="pool of others"),
        pytest.param({"/P/tls": "plain"}, "one", None, id="profile is the router's own"),
        pytest.param({}, "openshift_a_b", None, id="our pool without record"),
    ],
)
def test_tls_to_pods(big, records, pool, expected):
    big.put_object("ltm/pool", {"name": "openshift_a_b", "partition": "P"})
    rule_ = irule(big, "openshift_reencrypt_irule", "ssl_reencrypt_serverssl_dg", records)
    tls_virtual(big, rules=(rule_,), profiles=("/Common/serverssl",))
    big.put_object(
        "ltm/policy",
        {
            "name": "pol",
            "partition": "P",
            "strategy": "first-match",
            "legacy": True,
            "rules": [rule(pool=f"/P/{pool}", name="r")],
        },
    )
    big.put_object("ltm/virtual/~P~tls/policies", {"name": "/P/pol"})
    assert decide(big.store, "/P/tls", Request("a", tls=True)).server_ssl_profile == expected


def test_server_ssl_without_the_irule(big):
    tls_virtual(big, profiles=("/Common/serverssl",))
    assert decide(big.store, "/P/tls", Request("a", tls=True)).server_ssl_profile == "/Common/serverssl"


def test_disabled_and_absent_virtual(big):
    virtual(big, rule(HOST), disabled=True)
    assert decide(big.store, "/P/vs", Request("a.example")).kind == "none"
    with pytest.raises(KeyError):
        decide(big.store, "/P/none", Request("a.example"))


def test_unknown_operand_is_loud(big):
    virtual(big, rule({"httpCookie": True, "all": True, "tmName": "x", "values": ["1"]}))
    with pytest.raises(Unsupported):
        decide(big.store, "/P/vs", Request("a.example"))


UNAVAILABLE = "openshift_unavailable_irule"


@pytest.mark.parametrize(("members", "pool", "default", "host", "expected"), [
    ([], "openshift_ns_a", None, "a.example", "unavailable"),
    (["10.0.0.9:80"], "openshift_ns_a", None, "a.example", "pool"),
    ([], "foreign", None, "a.example", "pool"),
    ([], "openshift_ns_a", None, "b.example", "unavailable"),
    ([], "openshift_ns_a", "/P/one", "b.example", "pool"),
    ([], "openshift_ns_a", "/P/foreign", "b.example", "pool"),
    ([], "openshift_ns_a", "/P/one", "a.example", "unavailable"),
])
def test_503_page(big, members, pool, default, host, expected):
    """Behind the router's iRule: what goes nowhere, or to a pool of the router's without members."""
    for name in {pool, "foreign"}:
        big.put_object("ltm/pool", {"name": name, "partition": "P", "members": members})
    text = irules.unavailable_irule("/P")
    big.put_object("ltm/rule", {"name": UNAVAILABLE, "partition": "P", "apiAnonymous": text})
    more = {"pool": default} if default else {}
    virtual(big, rule(HOST, pool=f"/P/{pool}"), rules=[f"/P/{UNAVAILABLE}"], **more)
    decision = decide(big.store, "/P/vs", Request(host))
    assert decision.kind == expected
    assert decision.pool == (f"/P/{pool}" if host == "a.example" else default)
