"""Ordinals of new and moved Rules."""

from dataclasses import replace

from hypothesis import given, settings

from f5router.model import names
from f5router.model.ltm import (
    Forward,
    Redirect,
    Rule,
)
from f5router.plan.change import CREATE, UPDATE
from f5router.plan.diff import diff
from tests.builders import endpoints, route
from tests.examples import examples
from tests.unit.plan.test_diff import CLUSTERS, CONFIGS, POLICY, applied, built, owns, step


@settings(max_examples=examples(100), deadline=None)
@given(CLUSTERS, CLUSTERS, CONFIGS)
def test_ordinals_are_unique_and_in_their_band(before, after, config):
    state = applied({}, step({}, before, config)[1])
    state = applied(state, step(state, after, config)[1])
    rules = [obj for obj in state.values() if isinstance(obj, Rule)]
    assert len({(rule.policy, rule.ordinal) for rule in rules}) == len(rules)
    assert all(names.band_of(rule.ordinal) == rule.priority_band for rule in rules)
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
    rule = Rule(POLICY, "openshift_route_a_b", names.priority_band("/x"), frozenset(), Redirect("x"))
    ordinals = names.band_ordinals(rule.priority_band)
    first = ordinals[names.first_place(ordinals, rule.name)]
    other = Rule(POLICY, "foreign", rule.priority_band, frozenset(), Redirect("y"), ordinal=first)
    changes = diff({rule.ref: rule}, {other.ref: other}, owns)
    assert [c.new.ordinal for c in changes] == [first + 1]
    end = (rule.priority_band + 1) * names.BAND_WIDTH - 1
    last = replace(rule, ordinal=end)
    assert names.band_of(last.ordinal) == rule.priority_band


def test_a_rule_that_stays_in_its_band_keeps_its_ordinal():
    old = Rule(POLICY, "openshift_route_a_b", 7, frozenset(), Forward("/p"),
               ordinal=7 * names.BAND_WIDTH + 5)
    new = replace(old, action=Forward("/q"), ordinal=-1)
    (change,) = diff({new.ref: new}, {old.ref: old}, owns)
    assert (change.verb, change.new.ordinal) == (UPDATE, old.ordinal)
    moved = replace(new, priority_band=8)
    (change,) = diff({moved.ref: moved}, {old.ref: old}, owns)
    assert names.band_of(change.new.ordinal) == 8
