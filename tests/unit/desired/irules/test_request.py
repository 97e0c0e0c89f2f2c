"""openshift_request_irule: a request for another pool than the one before gets a server side of its own."""

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
    assert all(name.startswith("f5r_") for name in connection.variables)


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


SOURCE = "/P/sub/openshift_source_balance_dg"


def stays(tmm: Tmm, *requests: str, default: bool, **records: str) -> list[str]:
    """Return the commands on persistence, the last word of each key and what follows."""
    rule = irules.request_irule("/P/sub", page=True, source=default)
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


def test_a_device_that_refuses_persistence_serves_all_the_same(tmm):
    rule = irules.request_irule("/P/sub", page=True, source=True)
    done = tmm.run([rule], groups=TLS, requests=[told(A), told(B)], faults=["persist"])
    assert ("pool", B) in done.effects
    assert ("reject",) not in done.effects
    assert len(done.logs) == 2
