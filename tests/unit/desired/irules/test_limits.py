"""openshift_limits_irule, and the guard in openshift_request_irule: who gets to a pool with limits."""

import pytest

from f5router.desired import irules
from tests.unit.desired.irules.tmm import Connection, Tmm

FOLDER = "/P/sub"
LIMITS, GUARD = irules.limits_irule(FOLDER), irules.request_irule(FOLDER, page=True)
POOL, OPEN = f"{FOLDER}/openshift_a_web___0123456789abcdef__limited", f"{FOLDER}/openshift_a_web"
GROUP, LIST = f"{FOLDER}/openshift_limits_dg", f"{FOLDER}/openshift_addresses_0_dg"
GROUPS = {GROUP: {POOL: "openshift_addresses_0_dg"},
          LIST: {"10.0.0.1": "", "2001:db8::1": "", "10.0.0.9%5": ""}}
REJECT = ("reject",)


def select(tmm: Tmm, *pools: str, rules=(LIMITS, GUARD), client: str = "10.0.0.1", groups=GROUPS,
           **how) -> Connection:
    """Load balancing in these pools, for requests of one client."""
    return tmm.run(rules, selected=pools, client=client, groups=groups, **how)


@pytest.mark.parametrize(("client", "effects"), [
    ("10.0.0.1", ()), ("10.0.0.1%5", ()), ("2001:db8::1", ()), ("2001:db8::1%0", ()), ("10.0.0.9%5", ()),
    ("10.0.0.2", (REJECT,)), ("10.0.0.2%5", (REJECT,)), ("10.0.0.9", (REJECT,)), ("10.0.0.9%6", (REJECT,)),
    ("", (REJECT,)), ("%5", (REJECT,)),
])
@pytest.mark.parametrize("pool", [POOL, POOL.rsplit("/", 1)[1]], ids=["full path", "bare name"])
def test_clients(tmm, client, effects, pool):
    connection = select(tmm, pool, client=client)
    assert connection.effects == effects
    assert not connection.logs
    assert all(name.startswith(("f5r_", "f5router_")) for name in connection.variables)


@pytest.mark.parametrize("pool", [
    "", OPEN, "openshift_a_web", f"{FOLDER}/openshift_a_limited", f"{FOLDER}/web__limited",
    "/Common/openshift_a_web__limited", f"{POOL}x", f"{FOLDER}/openshift_nowhere",
])
def test_other_pools(tmm, pool):
    for rules in ((LIMITS, GUARD), (GUARD,)):
        assert select(tmm, pool, client="10.0.0.2", rules=rules).effects == ()


@pytest.mark.parametrize("groups", [
    {}, {GROUP: {}}, {**GROUPS, GROUP: {}}, {**GROUPS, GROUP: {POOL: ""}}, {**GROUPS, GROUP: {OPEN: LIST}},
    {GROUP: GROUPS[GROUP]}, {**GROUPS, LIST: {}},
    {**GROUPS, GROUP: {POOL: "a b"}}, {**GROUPS, GROUP: {POOL: "[reject] $x"}},
])
def test_nobody_gets_in_where_something_is_missing(tmm, groups):
    assert select(tmm, POOL, groups=groups).effects == (REJECT,)


@pytest.mark.parametrize("fault", ["class", "IP::client_addr"])
def test_nobody_gets_in_after_an_error(tmm, fault):
    connection = select(tmm, POOL, POOL, faults=[fault])
    assert connection.effects == (REJECT, REJECT)
    assert len(connection.logs) == 1


@pytest.mark.parametrize(("now", "logged"), [(1000, False), (1599, False), (1600, True)])
def test_an_error_is_logged_once_in_ten_minutes(tmm, now, logged):
    """The time of the last one is TMM's, for all connections; the fake has it for each of them."""
    last = [("www.example.com", {"static::f5router_unchecked": "1000"})]
    connection = select(tmm, POOL, faults=["class"], requests=last, now=now)
    assert connection.effects == (REJECT,)
    assert bool(connection.logs) is logged


def test_each_choice_of_a_connection_is_judged(tmm):
    assert select(tmm, OPEN, POOL, OPEN, client="10.0.0.2").effects == (REJECT,)
    assert select(tmm, POOL, OPEN, POOL).effects == ()


@pytest.mark.parametrize("pool", [POOL, POOL.rsplit("/", 1)[1]], ids=["full path", "bare name"])
def test_a_connection_without_the_irule_does_not_get_in(tmm, pool):
    assert select(tmm, OPEN, pool, rules=[GUARD]).effects == (REJECT,)
