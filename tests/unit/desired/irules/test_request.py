"""openshift_request_irule: a request for another pool than the one before gets a server side of its own."""

import hashlib

import pytest

from f5router.desired import irules
from f5router.model import names
from tests.unit.desired.irules.tmm import CLIENT, Connection, Request, Tmm

RULE = irules.request_irule("/P/sub", page=True)
A, B = "/P/sub/openshift_a_web", "/P/sub/openshift_b_web"
MINE, NOWHERE = "/Common/mine", "/P/sub/openshift_nowhere"
DETACH = ("LB::detach",)
TLS = {"/P/sub/ssl_reencrypt_serverssl_dg": {A: "/P/sub/profile"}}


def told(what: str) -> Request:
    """A request: its pool; "none" for one that came to default_noop, "" for a Rule that tells nothing."""
    if what == "none":
        return "h", {names.UNMATCHED_VARIABLE: "1"}
    return "h", {names.POOL_VARIABLE: what} if what else {}


def run(tmm: Tmm, *requests: str, **how) -> Connection:
    return tmm.run([RULE], groups=TLS, requests=[told(request) for request in requests], **how)


def effects(tmm: Tmm, *requests: str, **how) -> list[str]:
    """Return the commands that took effect, each with its last argument."""
    return [" ".join(action) for action in run(tmm, *requests, **how).effects]


@pytest.mark.parametrize("first", [A, "none", ""])
@pytest.mark.parametrize("default", ["", MINE])
def test_the_first_request_is_left_alone(tmm, first, default):
    """It goes to the right place: iRules and pools of the administrator act as ever."""
    assert effects(tmm, first, default=default) == []


def test_the_same_pool_keeps_its_server(tmm):
    assert effects(tmm, *[A] * 20) == []
    assert effects(tmm, *["none"] * 20) == []


@pytest.mark.parametrize(("requests", "default", "expected"), [
    pytest.param([A, B], "", [f"pool {B}"], id="another pool"),
    pytest.param([A, B, B, A], "", [f"pool {B}", f"pool {A}"], id="there and back"),
    pytest.param(["none", A], "", [f"pool {A}"], id="matched after unmatched"),
    pytest.param(["", A, A], "", [f"pool {A}"], id="told after untold"),
    pytest.param([A, "none"], "", [f"pool {NOWHERE}"], id="unmatched, nowhere to go"),
    pytest.param([A, "none", "none"], "", [f"pool {NOWHERE}"], id="unmatched twice"),
    pytest.param([A, "none"], MINE, [f"pool {MINE}"], id="unmatched, the virtual server's pool"),
    pytest.param([A, "none", A], MINE, [f"pool {MINE}", f"pool {A}"], id="unmatched and back"),
])
def test_another_pool(tmm, requests, default, expected):
    """Detached first, then the pool: one that a policy chose may be forgotten by then."""
    wanted = [step for pool in expected for step in ("LB::detach", pool)]
    assert effects(tmm, *requests, default=default) == wanted


def test_rules_that_tell_nothing(tmm):
    """Others' Rules, and ours below TMOS 12.1: balanced each time, by what was chosen for them."""
    assert effects(tmm, "", "", A, "") == ["LB::detach", "LB::detach", f"pool {A}", "LB::detach"]


def test_told_and_unmatched(tmm):
    """With the strategy all-match default_noop always matches too."""
    both = ("h", {names.UNMATCHED_VARIABLE: "1", names.POOL_VARIABLE: B})
    connection = tmm.run([RULE], groups={}, requests=[told(A), both, both])
    assert connection.effects == (DETACH, ("pool", B))


@pytest.mark.parametrize("fault", ["LB::detach", f"pool {B}"])
def test_rather_no_answer_than_that_of_the_pool_before(tmm, fault):
    connection = run(tmm, A, B, faults=[fault])
    assert connection.actions[-1] == ("reject",)
    assert connection.logs


def test_a_default_pool_that_is_gone(tmm):
    assert effects(tmm, A, "none", default=MINE, faults=[f"pool {MINE}"])[-1] == f"pool {NOWHERE}"
    assert effects(tmm, A, "none", faults=[f"pool {NOWHERE}"])[-1] == "reject"
    assert effects(tmm, A, "none", default=MINE, faults=["LB::server"])[-1] == f"pool {NOWHERE}"


def test_a_name_that_is_refused(tmm):
    """It has an answer, and later events are compared with the state before it."""
    deep = ("a.b.example.com", {names.POOL_VARIABLE: B, names.WILDCARD_VARIABLE: ".example.com"})
    connection = tmm.run([RULE], groups={}, requests=[told(A), deep, told(A)])
    assert [action[0] for action in connection.effects] == ["HTTP::respond"]


def test_leaves_nothing_behind(tmm):
    connection = run(tmm, A, "none", B)
    assert all(name.startswith(("f5r_", "f5router_cookie", "f5router_r")) for name in connection.variables)


def test_the_variables_are_those_that_rules_set():
    for variable in (names.POOL_VARIABLE, names.UNMATCHED_VARIABLE, names.WILDCARD_VARIABLE):
        assert f"[info exists {variable}]" in RULE
    assert f'"/P/sub/{names.NOWHERE_POOL}"' in RULE


@pytest.mark.parametrize("pool", [A, "openshift_a_web"])
def test_no_clear_text_to_a_pod_that_needs_tls(tmm, pool):
    """A connection from before the iRule that makes TLS was there is rejected; one with it is not."""
    assert tmm.run([RULE], groups=TLS, pools=[pool]).effects == (("reject",),)
    both = tmm.run([RULE, irules.reencrypt_irule("/P/sub")], groups=TLS, pools=[pool])
    assert both.effects == (("SSL::profile", "/P/sub/profile"),)


def test_tls_to_pods_of_a_client_that_speaks_http_2(tmm):
    """clouddocs, HTTP2: below TMOS 14.1 variables from before HTTP_REQUEST are not there any more."""
    forgets = "when SERVER_CONNECTED priority 1 { catch { unset f5router_tls } }"
    outcome = tmm.run([forgets, RULE, irules.reencrypt_irule("/P/sub")], groups=TLS, pools=[A])
    assert outcome.effects == (("SSL::profile", "/P/sub/profile"),)


@pytest.mark.parametrize("pool", [B, MINE, "web", ""])
def test_pools_without_tls_are_left_alone(tmm, pool):
    assert tmm.run([RULE], groups=TLS, pools=[pool]).effects == ()


def test_passed_through_tls_is_left_alone(tmm):
    """It is the client's, whatever the pool."""
    passed = "when CLIENT_ACCEPTED { set f5router_passthrough 1 }"
    assert tmm.run([passed, RULE], groups=TLS, pools=[A]).effects == ()


SOURCE = "/P/sub/openshift_persistence_dg"


def stays(tmm: Tmm, *requests: str, default: bool, **records: str) -> list[str]:
    """Return the commands on persistence, the last word of each key and what follows."""
    rule = irules.request_irule("/P/sub", page=True, persistence="source" if default else "cookie")
    groups = {**TLS, SOURCE: {{"a": A, "b": B}[name]: data for name, data in records.items()}}
    done = tmm.run([rule], groups=groups, requests=[told(request) for request in requests])
    return [" ".join(action) for action in done.effects if action[0] == "persist"]


UIE_A, UIE_B = (f"persist uie {CLIENT} {pool} 3600" for pool in (A, B))


@pytest.mark.parametrize(("default", "records", "requests", "expected"), [
    pytest.param(False, {}, [A, B, "none", ""], [], id="no Route"),
    pytest.param(True, {}, [A, B], [UIE_A, UIE_B], id="every Route"),
    pytest.param(False, {"a": "source"}, [A, A], [UIE_A, UIE_A], id="a Route"),
    pytest.param(True, {"b": "off"}, [A, B], [UIE_A, "persist none"], id="all but one"),
    pytest.param(False, {"a": "source"}, [A, B, B, A], [UIE_A, "persist none", UIE_A], id="there and back"),
    pytest.param(True, {}, [A, "none"], [UIE_A, "persist none"], id="unmatched"),
    pytest.param(True, {}, ["none", ""], [], id="somebody else's pools"),
])
def test_clients_stay_with_their_pods(tmm, default, records, requests, expected):
    """Leaves an administrator's profile alone on connections where no Route wants this."""
    assert stays(tmm, *requests, default=default, **records) == expected


def test_a_rule_of_an_http_route_says_that_clients_stay_with_no_pod(tmm):
    """For its request alone, whatever the default is; without HTTPRoutes the text is as ever."""
    rule = irules.request_irule("/P/sub", page=True, persistence="source", gateways=True)
    unbound = "h", {names.POOL_VARIABLE: B, names.STAY_VARIABLE: names.NO_PERSISTENCE}
    done = tmm.run([rule], groups=TLS, requests=[unbound, told(A), unbound, unbound, told(B)])
    assert [" ".join(each) for each in done.effects if each[0] == "persist"] == [
        UIE_A, "persist none", UIE_B]
    assert "f5router_stay" not in RULE


def test_a_device_that_refuses_persistence_serves_all_the_same(tmm):
    rule = irules.request_irule("/P/sub", page=True, persistence="source")
    done = tmm.run([rule], groups=TLS, requests=[told(A), told(B)], faults=["persist"])
    assert ("pool", B) in done.effects
    assert ("reject",) not in done.effects
    assert len(done.logs) == 1, "a warning for each request would be a flood"


WITH_COOKIES = "when CLIENT_ACCEPTED { set f5router_cookies 1 }"
HTTPS = "when CLIENT_ACCEPTED { set f5router_https 1 }"
SHOWN = """when HTTP_REQUEST priority 900 {
    if { $f5router_cookie ne "" } { log local0. "$f5router_cookie$f5router_attributes" }
}"""
HASH_A, HASH_B = (hashlib.md5(pool.encode(), usedforsecurity=False).hexdigest() for pool in (A, B))


def cookies(tmm: Tmm, *requests: Request, rules: tuple[str, ...] = (WITH_COOKIES,), cookie: str = "",
            default: str = "cookie", faults: tuple[str, ...] = (), **records: str) -> list[str]:
    """Return the commands on persistence, and the names and attributes for COOKIE_IRULE."""
    rule = irules.request_irule("/P/sub", page=True, persistence=default, cookie=cookie)
    groups = {**TLS, SOURCE: {{"a": A, "b": B}[name]: data for name, data in records.items()}}
    done = tmm.run([*rules, rule, SHOWN], groups=groups, requests=requests, faults=faults)
    return [" ".join(action[1:]).removeprefix("cookie ").removeprefix("local0. ") for action in done.actions
            if action[0] in ("persist", "log", "raised")]


@pytest.mark.parametrize(("records", "requests", "expected"), [
    pytest.param({}, [A, A], [f"insert {HASH_A}", HASH_A] * 2, id="by default"),
    pytest.param({}, [A, B], [f"insert {HASH_A}", HASH_A, f"insert {HASH_B}", HASH_B], id="another pool"),
    pytest.param({"a": "cookie/n"}, [A], ["insert n", "n"], id="a name"),
    pytest.param({"a": "cookie"}, [A], [f"insert {HASH_A}", HASH_A], id="a record of the default"),
    pytest.param({"b": "off"}, [A, B], [f"insert {HASH_A}", HASH_A, "none"], id="none on the next Route"),
    pytest.param({"b": "source"}, [A, B], [f"insert {HASH_A}", HASH_A, UIE_B[8:]], id="by address there"),
    pytest.param({"a": "source"}, [A, B], [UIE_A[8:], f"insert {HASH_B}", HASH_B], id="and before"),
    pytest.param({}, [A, "none"], [f"insert {HASH_A}", HASH_A, "none"], id="unmatched"),
    pytest.param({}, [A, ""], [f"insert {HASH_A}", HASH_A, "none"], id="somebody else's pool"),
    pytest.param({"a": "off"}, [A], [], id="off"),
])
def test_session_cookies(tmm, records, requests, expected):
    """The choice for one request of a connection is not in force for the next one."""
    assert cookies(tmm, *map(told, requests), **records) == expected


@pytest.mark.parametrize(("rules", "insecure", "record", "shown"), [
    pytest.param((HTTPS,), "", "", "n; Secure; SameSite=None", id="TLS"),
    pytest.param((HTTPS,), "", "cookie/n/Lax", "n; Secure; SameSite=Lax", id="TLS, Lax"),
    pytest.param((HTTPS,), "1", "cookie/n/Lax", "n", id="TLS, port 80 too"),
    pytest.param((), "", "cookie/n/Lax", "n", id="port 80"),
])
def test_attributes_of_session_cookies(tmm, rules, insecure, record, shown):
    """A Route that is served without TLS, too, has cookies that both ports take."""
    more = {names.INSECURE_VARIABLE: insecure} if insecure else {}
    request = ("h", {names.POOL_VARIABLE: A, **more})
    done = cookies(tmm, request, told(B), rules=(WITH_COOKIES, *rules), cookie="n", a=record)
    secure = "; Secure; SameSite=None" if rules else ""
    assert done == ["insert n", shown, "insert n", f"n{secure}"]


def test_no_cookies_without_the_irule_that_finishes_them(tmm):
    """A connection from before it came would tell pods, and scripts of the client."""
    assert cookies(tmm, told(A), told(B), rules=()) == []


def test_a_session_cookie_that_the_device_refuses(tmm):
    """The choice for the Route before is not in force for this one."""
    refused = f"persist cookie insert {HASH_B}"
    done = cookies(tmm, told(A), told(B), told(B), a="source", faults=(refused,))
    assert done == [UIE_A[8:], refused, "none", f"local0.warn f5router: no persistence for {B}", refused]


@pytest.mark.parametrize("name", ["-x", "a b", "a;b", "$x", "[x]", "{", '"', "a" * 129, "\u00e5", "a\n"])
def test_a_name_that_is_none_gets_into_no_text(name):
    with pytest.raises(ValueError, match="letters, digits"):
        irules.request_irule("/Common", page=True, cookie=name)
