"""Objects that may not be deleted, or changed, yet."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from f5router.desired.engine import Engine
from f5router.model import names
from f5router.model.cluster import Key, Origin, PathMatch, Route, RouteTLS
from f5router.model.delta import Delta
from f5router.model.errors import Refused, Unconfirmed
from f5router.model.ltm import Forward, Pool, PoolMember, Rule
from f5router.model.net import StaticRoute
from f5router.plan.change import CREATE, DELETE, UPDATE, Change
from f5router.plan.diff import diff
from f5router.reconcile.delete_guard import LEAST, DeleteGuard
from f5router.reconcile.retention import Draining, Retention
from f5router.reconcile.row import HoldReason
from f5router.reconcile.table import Table
from f5router.reconcile.timers import Timers
from f5router.reconcile.undetermined import Undetermined
from tests.builders import FACTS, Settings, endpoints, route, service, virtual
from tests.unit.desired.test_engine import delta

NOW = 1000.0

EDGE, PASSED = route("r", kind="edge"), route("r", kind="passthrough")


def changed(**fields) -> Route:
    return route("r", **({"kind": "passthrough"} | fields))


@pytest.mark.parametrize(("old", "new", "drains"), [
    pytest.param(EDGE, PASSED, True, id="edge"),
    pytest.param(route("r", kind="reencrypt"), PASSED, True, id="reencrypt"),
    pytest.param(route("r"), PASSED, False, id="unsecured"),
    pytest.param(EDGE, route("r", kind="reencrypt"), False, id="to reencrypt"),
    pytest.param(EDGE, changed(host="other.example.com"), False, id="another host"),
    pytest.param(EDGE, changed(wildcard=True), False, id="a wildcard"),
    pytest.param(None, PASSED, False, id="new"),
    pytest.param(EDGE, None, False, id="deleted"),
])
def test_what_drains(old, new, drains):
    draining = Draining(30.0)
    assert not draining.note(PASSED.key, old, new, NOW)
    assert list(draining.routes()) == [PASSED.key] * drains
    draining.expire(NOW + 29)
    assert list(draining.routes()) == [PASSED.key] * drains
    draining.expire(NOW + 30)
    assert list(draining.routes()) == []


@pytest.mark.parametrize(("old", "new", "ends"), [
    pytest.param(PASSED, None, True, id="deleted"),
    pytest.param(PASSED, EDGE, True, id="edge again"),
    pytest.param(PASSED, changed(host="other.example.com"), True, id="another host"),
    pytest.param(PASSED, changed(service="api"), False, id="another service"),
])
def test_draining_ends_early(old, new, ends):
    draining = Draining(30.0)
    draining.note(PASSED.key, EDGE, PASSED, NOW)
    assert draining.note(PASSED.key, old, new, NOW) is ends
    assert list(draining.routes()) == [PASSED.key] * (not ends)


POOL = Pool("/Common/openshift_shop_web")
RULE = Rule("/Common/openshift_secure_routes", "openshift_route_shop_r", 1, frozenset(), Forward(POOL.path))
OTHER = Pool("/Common/openshift_shop_other")


@pytest.mark.parametrize(("present", "absent", "changes", "held"), [
    pytest.param((), (), [Change(DELETE, POOL, None)], [], id="nothing is undetermined"),
    pytest.param((RULE,), (), [Change(DELETE, RULE, None)], [RULE], id="not deleted"),
    pytest.param((RULE,), (), [Change(UPDATE, RULE, RULE)], [RULE], id="not written"),
    pytest.param((RULE,), (), [Change(DELETE, POOL, None)], [POOL], id="nor what it needs"),
    pytest.param((RULE,), (), [Change(UPDATE, POOL, POOL)], [], id="what it needs is written"),
    pytest.param((), (POOL,), [Change(CREATE, None, RULE)], [RULE], id="what needs it waits"),
    pytest.param((), (POOL,), [Change(CREATE, None, OTHER)], [], id="others do not"),
    pytest.param((), (POOL,), [Change(DELETE, POOL, None)], [], id="absent: deleted if it is another's"),
])
def test_undetermined(present, absent, changes, held):
    undetermined = Undetermined(frozenset(obj.ref for obj in present), frozenset(obj.ref for obj in absent))
    observed = {obj.ref: obj for obj in (*present, POOL)}
    plan, refs = undetermined.split(tuple(changes), observed)
    assert refs == {obj.ref for obj in held}
    assert [change.ref for change in plan] == [change.ref for change in changes if change.ref not in refs]


def test_undetermined_objects_by_where_they_are():
    refs = {RULE.ref, POOL.ref, OTHER.ref}
    undetermined = Undetermined.of(refs, {OTHER.ref: OTHER}, {RULE.ref: RULE, POOL.ref: POOL}, {POOL.ref})
    assert (undetermined.present, undetermined.absent) == ({RULE.ref}, {POOL.ref})


class Bench:
    """A Retention with an engine, and with the observed objects of a device."""

    def __init__(self, *objects, observed=(), settings=None):
        self.engine = Engine(settings or Settings())
        self.engine.set_facts(FACTS)
        self.engine.apply(delta(*((obj, True) for obj in objects)))
        self.device = SimpleNamespace(observed={obj.ref: obj for obj in observed}, facts=FACTS)
        self.table = Table(lambda: (self.engine.objects, self.device.observed), Timers(), lambda: NOW)
        self.retention = Retention(self.engine, self.device, self.table, folder="/Common",
                                   guard=DeleteGuard(self.table), drain_s=30.0)


def pools(count: int, *members: str) -> list[Pool]:
    return [Pool(f"/Common/openshift_shop_s{number}", "/Common/tcp",
                 frozenset(PoolMember(address, 8080) for address in members)) for number in range(count)]


def test_objects_of_nodes_are_ours_when_all_nodes_are_known():
    bench = Bench()
    static = StaticRoute(names.pod_route("/Common", "10.1.0.0/24"), "10.1.0.0/24", "10.0.0.1")
    assert bench.retention.owns(POOL)
    assert not bench.retention.owns(Pool("/Common/web"))
    before = bench.retention.owns(static)
    bench.engine.apply(Delta(nodes_listed=True))
    assert (before, bench.retention.owns(static)) == (False, True)


def test_many_pools_keep_their_members_until_it_is_confirmed():
    """Only those that would lose all of them; a pool whose endpoints are listed meanwhile is written."""
    there = pools(LEAST, "10.1.1.1")
    routes = [route(f"r{number}", path=f"/{number}", service=f"s{number}") for number in range(LEAST)]
    services = [service(f"s{number}") for number in range(LEAST)]
    bench = Bench(*routes, *services, observed=there)
    bench.retention.hold_members(NOW)
    assert all(bench.retention.is_unconfirmed(pool.ref) for pool in there)
    bench.engine.apply(delta((endpoints("10.1.1.2", service="s0"), True)))
    kept = [bench.retention.is_unconfirmed(pool.ref) for pool in there]
    assert kept == [False] + [True] * (LEAST - 1)
    bench.retention.guard.confirm()
    assert not any(bench.retention.is_unconfirmed(pool.ref) for pool in there)


def test_few_pools_lose_their_members_at_once():
    there = pools(LEAST - 1, "10.1.1.1")
    bench = Bench(*(service(f"s{number}") for number in range(LEAST - 1)), observed=there)
    bench.retention.hold_members(NOW)
    assert not any(bench.retention.is_unconfirmed(pool.ref) for pool in there)


def test_a_mass_of_deletes_is_held_and_released():
    rules = [Rule("/Common/openshift_insecure_routes", f"openshift_route_shop_r{number}", 1, frozenset(),
                  Forward(POOL.path), hosts=frozenset({f"h{number}.com"})) for number in range(LEAST)]
    bench = Bench(observed=rules)
    refs = {rule.ref for rule in rules}
    bench.retention.hold_deletes(refs, NOW)
    assert bench.retention.guard.held == refs
    assert bench.retention.held_hosts(2) == ["h0.com", "h1.com"]
    assert not bench.retention.is_unconfirmed(rules[0].ref)
    bench.engine.apply(delta((route("r0", host="h0.com"), True)))
    bench.retention.hold_deletes((), NOW)
    assert rules[0].ref in bench.table.queue
    assert rules[0].ref not in bench.retention.guard.held


def test_previous_objects_stay_while_their_route_is_refused():
    edge = route("r", kind="edge")
    bench = Bench(edge, service(), endpoints("10.1.1.1"))
    rule = next(obj for obj in bench.engine.objects.values() if isinstance(obj, Rule))
    bench.device.observed[rule.ref] = rule
    bench.engine.apply(delta((route("r", kind="passthrough"), True)))
    (passed,) = (ref for ref in bench.engine.uses(edge.key) if ref.path.endswith("/www.example.com"))
    assert not bench.retention.should_retain(())(rule)
    assert bench.retention.should_retain({passed})(rule) is HoldReason.SUCCESSOR
    bench.retention.draining.note(edge.key, edge, route("r", kind="passthrough"), NOW)
    assert bench.retention.should_retain(())(rule) is HoldReason.DRAINING
    assert bench.retention.draining.next_end() == NOW + 30.0
    bench.engine.apply(delta((edge, False), (route("r", kind="edge", namespace="bank"), True)))
    assert not bench.retention.should_retain({passed})(rule)


@pytest.mark.parametrize(("prepare", "goes"), [
    pytest.param(lambda table, ref: table.hold(ref, HoldReason.SUCCESSOR), True, id="held"),
    pytest.param(lambda table, ref: table.refuse(ref, Refused(text="no", status=400)), True, id="refused"),
    pytest.param(lambda table, ref: table.refuse(ref, Unconfirmed(text="time-out")), False,
                 id="in doubt: the device is read first"),
    pytest.param(lambda table, ref: (table.refuse(ref, Refused(text="no", status=400)), table.retry(ref)),
                 False, id="due"),
    pytest.param(lambda table, ref: (table.hold(ref, HoldReason.SUCCESSOR), table.send(ref)), False,
                 id="sent"),
])
def test_owners_of_another_namespace_end_what_stays(prepare, goes):
    bench = Bench(route("r", namespace="bank"))
    old = Rule("/Common/openshift_insecure_routes", "openshift_route_shop_r", 1, frozenset(),
               Forward(POOL.path), hosts=frozenset({"www.example.com"}))
    bench.device.observed[old.ref] = old
    prepare(bench.table, old.ref)
    assert [(change.verb, change.ref) for change in bench.retention.corrections()] == (
        [(DELETE, old.ref)] if goes else [])


@pytest.mark.parametrize("heir", [None, route("r", namespace="bank")], ids=["nobody", "another namespace"])
def test_a_rule_that_waits_goes_from_a_host_of_others_with_the_writes(heir):
    """Its Route has moved, and its Secret is not read yet."""
    old = virtual(route("r"))
    below = virtual(route("below", path="/a"))
    bench = Bench(old, below)
    bench.device.observed |= bench.engine.objects
    rule, other = (next(obj for obj in bench.engine.objects.values() if isinstance(obj, Rule)
                        and obj.name == names.rule(key, 0)) for key in (old.key, below.key))
    moved = replace(old, host="new.example.com", tls=RouteTLS("edge", "Allow"), tls_secret=Key("shop", "tls"))
    bench.engine.apply(delta((moved, True), (below, False), *([(heir, True)] if heir else [])))
    determined = bench.retention.determine(
        diff(bench.engine.objects, bench.device.observed, lambda obj: True))
    assert determined.waiting[rule.ref] is HoldReason.SECRET
    plan = determined.plan
    gone = [change.ref for change in plan if change.verb == DELETE and change.ref in (rule.ref, other.ref)]
    assert gone == ([rule.ref, other.ref] if heir else [other.ref])
    assert [change.early for change in plan if change.ref == rule.ref] == ([True] if heir else [])


@pytest.mark.parametrize(("path", "match", "stays"), [
    ("/a", PathMatch.TEXT, True), ("/a", PathMatch.EXACT, True), ("/b", PathMatch.TEXT, False),
])
def test_a_rule_stays_for_a_refused_one_of_its_path_however_that_is_compared(path, match, stays):
    gone = replace(route("gone", path="/a"), path_match=match)
    bench = Bench(gone)
    (old,) = (obj for obj in bench.engine.objects.values() if isinstance(obj, Rule))
    bench.device.observed[old.ref] = old
    heir = route("heir", path=path)
    bench.engine.apply(delta((gone, False), (heir, True)))
    refused = {ref for ref in bench.engine.uses(heir.key) if ref.kind == Rule.KIND}
    assert bench.retention.should_retain(refused)(old) is (HoldReason.SUCCESSOR if stays else None)


def of_root(name: str, path: str, *, of: str = "root", namespace: str = "shop") -> Route:
    return replace(route(names.virtual_route("IngressRoute", name, f"{of} {path}"), path=path,
                         namespace=namespace), path_match=PathMatch.TEXT, origin=Origin(
                             "IngressRoute", Key(namespace, name), "route", claimant=Key("shop", of)))


OLD_ROOT, NEW_ROOT = of_root("old", ""), of_root("new", "")


@pytest.mark.parametrize(("below", "before", "after", "stays"), [
    pytest.param(of_root("old", "/a"), [OLD_ROOT], [NEW_ROOT], True, id="another root waits"),
    pytest.param(of_root("leaf", "/a"), [OLD_ROOT], [NEW_ROOT], True, id="delegated"),
    pytest.param(of_root("old", "/a/longer"), [of_root("old", "/b")], [of_root("new", "/b")], False,
                 id="not below what stays"),
    pytest.param(of_root("old", ""), [of_root("old", "/a")], [of_root("new", "/a")], False, id="above it"),
    pytest.param(of_root("old", "/a"), [OLD_ROOT], [OLD_ROOT], False, id="taken out of the root"),
    pytest.param(of_root("old", "/a"), [OLD_ROOT], [], False, id="the root is deleted"),
    pytest.param(of_root("leaf", "/a", namespace="bank"), [OLD_ROOT],
                 [NEW_ROOT, of_root("leaf", "/b", of="new", namespace="bank")], False,
                 id="delegated to another namespace"),
    pytest.param(route("below", path="/a"), [route("old")], [route("new")], False, id="a deleted Route"),
])
def test_longer_paths_of_a_root_stay_with_a_shorter_one(below, before, after, stays):
    """Seed 312 of the fault runner: another root's Secret is not read yet."""
    bench = Bench(below, *before)
    bench.device.observed |= bench.engine.objects
    (rule,) = (obj for obj in bench.engine.objects.values()
               if isinstance(obj, Rule) and obj.name == names.rule(below.key))
    bench.engine.apply(delta((below, False), *((each, False) for each in before)))
    bench.engine.apply(delta(*((each, True) for each in after)))
    refused = {ref for each in after for ref in bench.engine.uses(each.key)}
    assert bench.retention.should_retain(refused)(rule) is (HoldReason.SUCCESSOR if stays else None)


@pytest.mark.parametrize("old", ["root", "route"])
def test_cost_of_a_host_with_many_paths(old):
    """A team chooses their number: twice as many cost twice as much."""
    def cost(paths: int) -> int:
        before, after = ([
            of_root(name, f"/{number}/x") if old == "root" else route(f"{name}{number}", path=f"/{number}/x")
            for number in range(paths)] for name in ("old", "new"))
        bench = Bench(*before)
        bench.device.observed |= bench.engine.objects
        rules = [obj for obj in bench.engine.objects.values() if isinstance(obj, Rule)]
        bench.engine.apply(delta(*((each, False) for each in before), *((each, True) for each in after)))
        refused = {ref for each in after for ref in bench.engine.uses(each.key)}
        calls = []
        retain = bench.retention.should_retain(refused)
        sys.setprofile(lambda frame, event, argument: calls.append(event) if event == "call" else None)
        try:
            staying = list(map(retain, rules))
        finally:
            sys.setprofile(None)
        assert all(staying)
        return len(calls)

    assert cost(40) <= 2.2 * cost(20)
