"""Rules that lead nowhere, in place of Rules that wait for a Secret: seed 236 of the fault runner."""

import sys
from dataclasses import replace

import pytest

from f5router.admission.admission import AdmissionPolicy
from f5router.model import names
from f5router.model.cluster import Key, RouteTLS
from f5router.model.ltm import Forward, Rule
from f5router.plan.change import CREATE, DELETE, UPDATE
from f5router.plan.diff import diff
from f5router.reconcile.placeholders import is_placeholder
from tests.builders import Settings, identity, route, secret, service, virtual
from tests.unit.desired.test_engine import delta
from tests.unit.reconcile.test_retention import Bench

TLS = Key("shop", "tls")


def waiting(path="/a", **more):
    """A Route whose Secret is not read yet."""
    plain = virtual(route("waits", path=path, **more))
    return replace(plain, tls=RouteTLS("edge", "Redirect"), tls_secret=TLS)


def below(name="rest", path="", **more):
    return route(name, path=path, **{"kind": "edge", "insecure": "Allow"} | more)


WAITS, REST = waiting(), below()
BANK = virtual(below("leaf", "/a", namespace="bank"), "IngressRoute", root=Key("shop", "root"))
"""Has a path of another namespace's Host."""
PASSED = route("passed", namespace="bank", kind="passthrough")


class Host(Bench):
    """A Retention, and a device that takes every Plan at once."""

    def change(self, before, after):
        events = [(each, False) for each in before] + [(each, True) for each in after]
        self.engine.apply(delta(*events))

    def plan(self):
        return self.retention.determine(
            diff(self.engine.objects, self.device.observed, lambda obj: True)).plan

    def carry_out(self, plan):
        for change in plan:
            self.device.observed.pop(change.ref, None)
            if change.new is not None:
                self.device.observed[change.ref] = change.new

    def pools(self, plan, key=WAITS.key):
        """Return the last word of the pool of each Rule of a Route in a Plan, by verb and policy."""
        return {(change.verb, change.obj.policy.rpartition("_")[0].rpartition("_")[2]):
                change.obj.action.pool.rpartition("_")[2]
                for change in plan if isinstance(change.obj, Rule) and change.obj.name == names.rule(key)
                and isinstance(change.obj.action, Forward)}


BOTH = {(CREATE, "secure"): "nowhere", (CREATE, "insecure"): "nowhere"}
ONE = {(CREATE, "secure"): "nowhere"}


@pytest.mark.parametrize(("before", "after", "placeholders"), [
    pytest.param([REST, BANK], [REST, WAITS], BOTH, id="another namespace's Rule goes"),
    pytest.param([PASSED], [REST, WAITS], BOTH, id="the Host was passed through"),
    pytest.param([below(path="/b")], [REST, WAITS], BOTH, id="the rest of the Host is new"),
    pytest.param([], [REST, WAITS], BOTH, id="all of the Host is new"),
    pytest.param([], [below(insecure="None"), WAITS], ONE, id="not where nothing would get the requests"),
    pytest.param([], [below(path="/a"), waiting("/a/b")], BOTH, id="below a path"),
    pytest.param([], [below(path="/a"), waiting("/ab")], {}, id="not below it"),
    pytest.param([], [below(path="/a/b"), WAITS], {}, id="above it"),
    pytest.param([], [WAITS], {}, id="nobody else"),
    pytest.param([REST], [REST, WAITS], {}, id="a new path of a Host: as before"),
    pytest.param([REST, below("own", "/a")], [REST, WAITS], {}, id="its own namespace's Rule stays"),
])
def test_requests_of_a_route_that_waits(before, after, placeholders):
    host = Host(*before, service())
    host.device.observed |= host.engine.objects
    host.change([each for each in before if each not in after], after)
    plan = host.plan()
    assert host.pools(plan) == placeholders
    host.carry_out(plan)
    assert host.pools(host.plan()) == {}


def test_rules_have_no_requests_while_their_host_is_passed_through():
    host = Host(PASSED, service())
    host.device.observed |= host.engine.objects | Host(REST, service()).engine.objects
    host.change([PASSED], [REST, WAITS])
    assert host.pools(host.plan()) == ONE


def test_cost_of_a_host_with_many_paths():
    """Teams choose their number: twice as many cost twice as much."""
    def cost(paths):
        leaves = [below(f"leaf{number}", f"/{number}/x", namespace="bank") for number in range(paths)]
        host = Host(REST, *leaves)
        host.device.observed |= host.engine.objects
        host.change(leaves, [replace(waiting(f"/{number}/x"), key=Key("shop", f"w{number}"))
                             for number in range(paths)])
        calls = []
        sys.setprofile(lambda frame, event, argument: calls.append(event) if event == "call" else None)
        try:
            plan = host.plan()
        finally:
            sys.setprofile(None)
        assert len([change for change in plan if is_placeholder(change.obj)]) == 2 * paths
        return len(calls)

    assert cost(40) <= 2.2 * cost(20)


def test_a_wildcard_does_not_get_them_either():
    host = Host(below("wild", wildcard=True), WAITS, service(),
                settings=Settings(admission=AdmissionPolicy(wildcards=True)))
    assert host.pools(host.plan()) == BOTH


def served(host):
    host.carry_out(host.plan())
    return host


@pytest.mark.parametrize("operator", ["startsWith", "equals", "endsWith"])
def test_an_administrator_gave_a_rule_more_paths(operator):
    """Its update may have been refused, so that no Plan has it."""
    above = below(path="/a")
    host = Host(above, service())
    host.device.observed |= host.engine.objects
    for ref, obj in host.engine.objects.items():
        if isinstance(obj, Rule) and obj.name == names.rule(above.key):
            edited = [replace(condition, operator=operator, values=condition.values | {"/other"})
                      if condition.selector == "path" else condition for condition in obj.conditions]
            host.device.observed[ref] = replace(obj, conditions=frozenset(edited))
    host.change([], [waiting("/a/b")])
    plan = diff(host.engine.objects, host.device.observed, lambda obj: True)
    refused = tuple(change for change in plan if change.verb != UPDATE)
    assert len(refused) < len(plan)
    assert host.pools(host.retention.determine(refused).plan) in ({}, BOTH)


def test_the_placeholder_becomes_the_rule_when_the_secret_is_read():
    host = served(Host(REST, WAITS, service()))
    host.engine.apply(delta((secret(identity=identity(algorithm="ec")), True)))
    assert host.pools(host.plan()) == {(UPDATE, "secure"): "web"}


def test_the_placeholder_goes_with_its_route():
    host = served(Host(REST, WAITS, service()))
    host.change([WAITS], [])
    assert host.pools(host.plan()) == {(DELETE, policy): "nowhere" for policy in ("secure", "insecure")}


def test_the_placeholder_leaves_a_path_that_its_route_leaves():
    """Else the Route that serves the rest of the Host would have no requests for it."""
    host = served(Host(REST, WAITS, service()))
    host.change([], [waiting("/b")])
    plan = host.plan()
    assert host.pools(plan) == {(DELETE, policy): "nowhere" for policy in ("secure", "insecure")}
    assert {change.early for change in plan if change.verb == DELETE} == {True}
