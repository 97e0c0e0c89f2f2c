"""Order of Changes, ordinals of Rules, and what is left alone."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router import desired, names, plan
from f5router.bigip import Forward, Policy, Pool, PoolMember, Redirect, Rule
from f5router.plan import CREATE, DELETE, UPDATE, diff
from f5router.vxlan import Setup
from tests import strategies
from tests.builders import FACTS, Settings, endpoints, identity, route, snapshot

POLICY = "/Common/openshift_secure_routes"


def owns(obj):
    return names.owns("/Common", obj)


def built(*objects, config=None, facts=FACTS):
    """Desired of a cluster that holds these objects."""
    return dict(desired.build(snapshot(*objects), config or Settings(), facts).objects)


def applied(state: dict, changes: plan.Plan) -> dict:
    """The state after a Plan, as a device that refuses nothing has it."""
    after = dict(state)
    for change in changes:
        if change.verb == DELETE:
            del after[change.ref]
        else:
            after[change.ref] = change.new
    return after


CLUSTERS = st.lists(
    st.one_of(strategies.routes(), strategies.slices(), strategies.nodes()),
    max_size=10, unique_by=lambda o: (type(o), o.key),
)


@settings(max_examples=150, deadline=None)
@given(CLUSTERS, CLUSTERS)
def test_a_plan_leads_to_desired_and_never_breaks_references(before, after):
    """At every intermediate step each object finds what it needs, and the second Plan is empty."""
    config = Settings(vxlan=Setup("10.3.89.213", "10.131.0.5/14"), manage_snat=True)
    state = applied({}, diff(built(*before, config=config), {}, owns))
    wanted = built(*after, config=config)
    changes = diff(wanted, state, owns)
    for change in changes:
        state = applied(state, plan.Plan((change,)))
        for obj in state.values():
            missing = [ref for ref in obj.needs if ref not in state]
            assert not missing, (change, obj, missing)
    assert state == wanted
    assert not diff(wanted, state, owns)


@settings(max_examples=100, deadline=None)
@given(CLUSTERS, CLUSTERS)
def test_ordinals_are_unique_and_in_their_band(before, after):
    state = applied({}, diff(built(*before), {}, owns))
    state = applied(state, diff(built(*after), state, owns))
    rules = [obj for obj in state.values() if isinstance(obj, Rule)]
    assert len({(rule.policy, rule.ordinal) for rule in rules}) == len(rules)
    assert all(names.band_of(rule.ordinal) == rule.band for rule in rules)
    assert all(rule.ordinal < names.LAST_ORDINAL for rule in rules)


def test_adding_a_route_writes_its_own_objects_only():
    state = applied(
        {}, diff(built(*(route(f"r{n}", path=f"/p{n}") for n in range(20)), endpoints("10.1.1.1")), {}, owns)
    )
    more = [route(f"r{n}", path=f"/p{n}") for n in range(20)] + [
        route("new", path="/new"),
        endpoints("10.1.1.1"),
    ]
    changes = diff(built(*more), state, owns)
    assert [(c.verb, c.obj.name) for c in changes] == [(CREATE, "openshift_route_shop_new")]


def test_equal_bands_get_distinct_ordinals():
    """Even when the device holds the ordinal that a Rule would take first."""
    rule = Rule(POLICY, "openshift_route_a_b", names.band("/x"), frozenset(), Redirect("x"))
    first = names.first_ordinal(rule.band, rule.name)
    other = Rule(POLICY, "foreign", rule.band, frozenset(), Redirect("y"), ordinal=first)
    changes = diff({rule.ref: rule}, {other.ref: other}, owns)
    assert [c.new.ordinal for c in changes] == [first + 1]
    end = (rule.band + 1) * names.BAND_WIDTH - 1
    last = replace(rule, ordinal=end)
    assert names.band_of(last.ordinal) == rule.band


def test_a_rule_that_stays_in_its_band_keeps_its_ordinal():
    old = Rule(POLICY, "openshift_route_a_b", 7, frozenset(), Forward("/p"), ordinal=7 * names.BAND_WIDTH + 5)
    new = replace(old, action=Forward("/q"), ordinal=-1)
    (change,) = diff({new.ref: new}, {old.ref: old}, owns)
    assert (change.verb, change.new.ordinal) == (UPDATE, old.ordinal)
    moved = replace(new, band=8)
    (change,) = diff({moved.ref: moved}, {old.ref: old}, owns)
    assert names.band_of(change.new.ordinal) == 8


def test_only_what_is_ours_is_deleted():
    ours = Pool("/Common/openshift_a_b")
    others = Pool("/Common/web"), Pool("/Common/sub/openshift_a_b")
    rule = Rule(POLICY, "maintenance", 1, frozenset(), Redirect("x"))
    observed = {obj.ref: obj for obj in (ours, *others, rule)}
    assert [(c.verb, c.ref) for c in diff({}, observed, owns)] == [(DELETE, ours.ref)]


def test_refs_bound_the_comparison():
    one, other = Pool("/Common/openshift_a_b"), Pool("/Common/openshift_a_c")
    wanted = {obj.ref: obj for obj in (one, other)}
    assert [c.ref for c in diff(wanted, {}, owns, [one.ref])] == [one.ref]


def test_members_come_before_everything_else():
    """A pod's address may belong to another tenant's pod a moment later."""
    pool = Pool("/Common/openshift_shop_web", "/Common/tcp", frozenset({PoolMember("10.9.9.9", 1)}))
    state = applied({}, diff(built(endpoints("10.1.1.1"), route("a")), {}, owns)) | {pool.ref: pool}
    wanted = built(endpoints("10.1.1.1"), route("a"), route("b", host="b.com", kind="edge", **identity().tls))
    changes = list(diff(wanted, state, owns))
    assert (changes[0].verb, changes[0].ref) == (UPDATE, pool.ref)


@pytest.mark.parametrize(
    ("before", "after", "order"),
    [
        pytest.param(
            {"kind": "edge"},
            {"kind": ""},
            [(CREATE, "insecure"), (DELETE, "secure")],
            id="edge to unsecured: port 80 first",
        ),
        pytest.param(
            {"kind": ""},
            {"kind": "edge"},
            [(CREATE, "secure"), (DELETE, "insecure")],
            id="unsecured to edge: port 443 first",
        ),
        pytest.param(
            {"kind": ""},
            {"kind": "edge", "insecure": "Redirect"},
            [(CREATE, "secure"), (UPDATE, "insecure")],
            id="redirect only to what is served",
        ),
        pytest.param(
            {"kind": "edge", "insecure": "Redirect"},
            {"kind": ""},
            [(UPDATE, "insecure"), (DELETE, "secure")],
            id="redirect goes before its target",
        ),
        pytest.param(
            {"kind": "edge"},
            {"kind": "passthrough"},
            [(CREATE, "passthrough"), (DELETE, "secure")],
            id="edge to passthrough",
        ),
        pytest.param(
            {"kind": "passthrough", "insecure": "Redirect"},
            {"kind": "edge", "insecure": "Redirect"},
            [(CREATE, "secure"), (DELETE, "passthrough")],
            id="passthrough to edge",
        ),
        pytest.param(
            {"kind": "edge"}, {"kind": "edge", "path": "/a"}, [(UPDATE, "secure")], id="path in one write"
        ),
        pytest.param(
            {"kind": "edge"},
            {"kind": "edge", "host": "other.example.com"},
            [(UPDATE, "secure")],
            id="host in one write",
        ),
        pytest.param(
            {"kind": "edge", "path": "/a"},
            {"kind": "edge", "path": "/a//b"},
            [(UPDATE, "secure"), (CREATE, "secure")],
            id="one rule to two",
        ),
    ],
)
def test_a_changed_route_is_always_served(before, after, order):
    """What requests come through, in the order of its writes."""
    pods = endpoints("10.1.1.1")
    state = applied({}, diff(built(route("a", **before), pods), {}, owns))
    changes = diff(built(route("a", **after), pods), state, owns)
    found = [(c.verb, _entrance(c)) for c in changes if _entrance(c)]
    assert sorted(found) == sorted(order)
    assert [verb == DELETE for verb, _ in found] == [verb == DELETE for verb, _ in order]
    assert [e for v, e in found if v != DELETE] == [e for v, e in order if v != DELETE]


def _entrance(change) -> str:
    if isinstance(change.obj, Rule):
        return "secure" if change.obj.policy == POLICY else "insecure"
    return (
        "passthrough"
        if "passthrough_servername" in change.ref.path and "/records/" in change.ref.path
        else ""
    )


def test_a_policy_changes_strategy_after_its_rules():
    """An original's best-match policy becomes first-match when default_noop is last."""
    pods = endpoints("10.1.1.1")
    wanted = built(route("a", kind="edge"), pods)
    old = replace(wanted[Policy(POLICY).ref], strategy="best-match", noop=False)
    changes = list(diff(wanted, {old.ref: old}, owns))
    assert (changes[-1].verb, changes[-1].ref) == (UPDATE, old.ref)
