"""Portions: a Plan that is carried out in parts, and that is preempted at any point, stays right."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.model import names
from f5router.model.client_tls import TLSSettings
from f5router.model.ltm import Policy, Record, Rule
from f5router.model.objects import Ref
from f5router.model.route_options import RouteOptions
from f5router.plan.change import DELETE, asks_clients, checks_clients
from f5router.plan.diff import diff
from f5router.reconcile.backlog import Backlog
from f5router.reconcile.undetermined import Undetermined
from tests import strategies
from tests.builders import FACTS, Settings, endpoints, identity, route, snapshot
from tests.examples import examples
from tests.reference.full_build import build
from tests.unit.plan.test_diff import CLUSTERS, CONFIGS, WILD, answers, applied, changes, holders, owns, step


def wanted_of(cluster, config):
    return build(snapshot(*cluster), config, FACTS)


class Router:
    """The Reconciler's use of a backlog, without a device: portions, of which some are preempted."""

    def __init__(self, state: dict, config):
        self.state, self.config, self.backlog = dict(state), config, Backlog()
        self.wanted: dict = {}
        self.unknown: frozenset = frozenset()
        self.waiting: frozenset = frozenset()

    def take(self, cluster) -> None:
        """An event: another cluster."""
        built = wanted_of(cluster, self.config)
        old, new = self.wanted, built.objects
        dirty = {ref for ref in {*new, *old}
                 if new.get(ref) != old.get(ref) or new[ref].dependencies != old[ref].dependencies}
        if not self.wanted:
            dirty |= self.state.keys()
        self.wanted, unknown = dict(built.objects), built.undetermined
        self.backlog.add(dirty | (unknown ^ self.unknown), self.wanted, self.state)
        self.unknown = unknown

    def portion(self, most, *, until=None):
        """Changes of one portion, each after it was applied. Args: until: so many; then it is preempted."""
        refs = self.backlog.portion(self.wanted, self.state, most, self.waiting)
        changes = diff(self.wanted, self.state, owns, refs)
        unknown = Undetermined.of(self.unknown, self.wanted, self.state)
        changes, self.waiting = unknown.split(changes, self.state)
        self.backlog.remove(refs - {change.ref for change in changes})
        for number, change in enumerate(changes):
            if number == until:
                return
            self.backlog.remove([change.ref])
            self.state = applied(self.state, (change,))
            yield change

    def finish(self, data):
        """Portions of drawn sizes, preempted at drawn points, until nothing is left."""
        for _ in range(200):
            if not self.backlog:
                break
            most = data.draw(strategies.choice(1, 2, 3, 7, None))
            yield from self.portion(most, until=data.draw(strategies.choice(None, None, 1, 2, 5)))
        assert not self.backlog, "no progress"
        yield from self.portion(None)


def check_references(state) -> None:
    for obj in state.values():
        missing = [ref for ref in obj.dependencies if ref not in state]
        assert not missing, (obj, missing)


@settings(max_examples=examples(40), deadline=None)
@given(CLUSTERS, CLUSTERS, CLUSTERS, CONFIGS, st.data())
def test_portions_lead_to_desired_and_never_break_references(first, second, third, config, data):
    """Whatever their size, wherever they are preempted, and though events come in between."""
    router = Router({}, config)
    for cluster in (first, second):
        router.take(cluster)
        for _ in range(data.draw(st.integers(0, 4))):
            for _ in router.portion(data.draw(strategies.choice(1, 2, 5)), until=data.draw(
                    strategies.choice(None, 1, 3))):
                check_references(router.state)
    router.take(third)
    for _ in router.finish(data):
        check_references(router.state)
    wanted = wanted_of(third, config)
    if not wanted.undetermined:
        assert router.state == wanted.objects
    assert not step(router.state, third, config)[1]


@pytest.mark.parametrize("size", range(1, 12))
def test_what_stays_keeps_what_it_needs(size):
    """An iRule that stays because it is attached to another virtual server keeps its data-group."""
    limited = RouteOptions(request_rate=100)
    plain = replace(route("plain", host="a.b"), options=limited)
    through = replace(route("through", host="api.example.com", kind="passthrough"), options=limited)
    router = Router({}, Settings())
    for cluster in ([plain, through], []):
        router.take(cluster)
        while router.backlog:
            for _ in router.portion(size):
                check_references(router.state)


@settings(max_examples=examples(40), deadline=None)
@given(changes(), CONFIGS, st.data())
def test_portions_never_lead_a_request_astray(clusters, config, data):
    """After every write: who is served before and after is served, in the same way if that is so; and nobody
    by a namespace that does not hold the host.
    """
    before, after = clusters
    begin = applied({}, step({}, before, config)[1])
    first = answers(begin)
    last = answers(applied(begin, step(begin, after, config)[1]))
    held = [holders(cluster, config) for cluster in clusters]
    router = Router(begin, config)
    router.take(after)
    for change in router.finish(data):
        for request, now in answers(router.state).items():
            seen = first[request], now, last[request]
            assert now or not (first[request] and last[request]), (change, request, seen)
            assert now == first[request] or first[request] != last[request], (change, request, seen)
            if now.removeprefix("passthrough ").startswith("/"):
                allowed = held[0][request.host] | held[1][request.host]
                assert names.pool_namespace(now) in allowed, (change, request, seen)
    assert answers(router.state) == last


def routes(namespace: str, count: int, **kind):
    return [route(f"r{n}", host=f"{namespace}{n}.example.com", namespace=namespace, service=f"s{n}", **kind)
            for n in range(count)]


def loaded(*cluster, config=None) -> Router:
    """A router that has a cluster to load, all that does not depend on Routes being there."""
    config = config or Settings()
    router = Router(applied({}, diff(wanted_of((), config).objects, {}, owns)), config)
    router.take(cluster)
    return router


def rules(changes) -> list[str]:
    return [names.rule_namespace(change.obj.name) for change in changes if change.ref.kind == Rule.KIND]


def test_namespaces_take_turns():
    """One with a Route is not behind one with a thousand, nor behind many with a few."""
    router = loaded(*routes("big", 1000), *routes("a", 3), *routes("b", 3))
    list(router.portion(1))  # what every Route needs
    writes = rules(change for _ in range(3) for change in router.portion(6))
    assert sorted(set(writes)) == ["a", "b", "big"]
    assert max(writes.count(name) for name in ("a", "b", "big")) <= 4


@pytest.mark.parametrize(("kind", "before", "after"), [
    ("edge", {"sources": ("10.0.0.0/8",)}, {"sources": ("10.0.0.1/32",)}),
    ("passthrough", {"sources": ("10.0.0.0/8",)}, {"sources": ("10.0.0.1/32",)}),
    ("", {"timeout_ms": 5000}, {"timeout_ms": 6000}),
])
def test_an_option_that_changes_does_not_wait_for_other_namespaces(kind, before, after):
    """The record of a pool is in the queue of the namespace of the pool."""
    def cluster(options):
        return [replace(listed, options=RouteOptions(**options))
                for listed in (*routes("big", 200, kind=kind), *routes("a", 1, kind=kind))]

    config = Settings()
    router = Router(wanted_of(cluster(before), config).objects, config)
    router.wanted = dict(router.state)
    router.take(cluster(after))
    assert any(isinstance(change.obj, Record) and names.pool_namespace(change.obj.name) == "a"
               for _ in range(3) for change in router.portion(6))


def test_deletes_do_not_wait_for_what_keeps_coming():
    """Each portion has the deletes of its Hosts; what they used goes too."""
    router = loaded(*routes("old", 5))
    for _ in range(20):
        list(router.portion(None))
    gone = 0
    for number in range(1, 30):
        router.take(routes("new", 20 * number))
        gone += sum(change.verb == DELETE for change in router.portion(8))
    assert gone == 10, "5 Rules and their pools"


def test_one_host_is_a_portion_of_its_own():
    """It does not hold up others, however many paths it has; they go first, then it, then again others."""
    paths = [route(f"p{n}", host="www.example.com", path=f"/{n}", namespace="big", service=f"s{n}")
             for n in range(100)]
    router = loaded(*paths, *routes("a", 30))
    sizes = []
    while router.backlog:
        writes = rules(router.portion(20, until=40))
        sizes.append({name: writes.count(name) for name in set(writes)})
    assert all(len(size) <= 1 for size in sizes)
    at = [next(iter(size), "") for size in sizes]
    assert "a" in at[:3]
    assert sum(size.get("a", 0) for size in sizes) == 30
    assert sum(size.get("big", 0) for size in sizes) == 100


def test_a_host_waits_for_no_wildcard_that_stays():
    """Only one that changes as well decides about the requests that change."""
    config = Settings(admission=WILD)
    cover = route("all", host="any.example.com", wildcard=True, namespace="a")
    router = loaded(cover, config=config)
    list(router.portion(None))
    router.take([cover, *routes("a", 40)])
    assert len(rules(router.portion(10))) <= 5
    router.take(routes("a", 40))
    assert len(rules(router.portion(10))) >= 35, "the wildcard goes after all hosts that it covers have come"


def test_a_strategy_is_changed_when_all_rules_are_there():
    router = loaded(*routes("a", 10), endpoints("10.1.1.1"))
    ref = Ref(Policy.KIND, "/Common/openshift_insecure_routes")
    router.state[ref] = replace(router.state[ref], strategy="best-match")
    router.backlog.add([ref], router.wanted, router.state)
    order = []
    while router.backlog:
        order += [change.ref.kind for change in router.portion(4)]
    assert order[-1] == Policy.KIND
    assert order.count(Policy.KIND) == 1


CERTIFICATE = identity("a.example.com", algorithm="ec")


@pytest.mark.parametrize("most", [1, 3, None])
@pytest.mark.parametrize("comes", [True, False])
def test_clients_are_checked_only_while_all_profiles_ask(most, comes):
    """The check comes behind them in the last portion, and goes before them in the first."""
    without = Settings()
    checked = replace(without, client_tls=TLSSettings(client_certificates="required"))
    before, after = (without, checked) if comes else (checked, without)
    cluster = (*routes("a", 5, kind="edge", certificate=CERTIFICATE.certificate, key=CERTIFICATE.key),
               endpoints("10.1.1.1"))
    router = Router(applied({}, diff(wanted_of(cluster, before).objects, {}, owns)), after)
    router.take(cluster)
    order = []
    while router.backlog:
        order += router.portion(most)
    asking = [number for number, change in enumerate(order) if asks_clients(change.obj)]
    (checking,) = [number for number, change in enumerate(order) if checks_clients(change.obj)]
    assert len(asking) > 5
    assert checking > asking[-1] if comes else checking < asking[0]


@pytest.mark.parametrize("most", [1, 5, None])
def test_refs_that_do_not_differ_are_used_up(most):
    router = loaded(*routes("a", 5))
    list(router.portion(None))
    router.backlog.add(router.wanted, router.wanted, router.state)
    for _ in range(100):
        assert list(router.portion(most)) == []
    assert not router.backlog


class Looks(dict):
    """Objects by Ref; counts how often something was looked for."""

    looks = 0

    def __contains__(self, ref):
        self.looks += 1
        return super().__contains__(ref)

    def __getitem__(self, ref):
        self.looks += 1
        return super().__getitem__(ref)

    def get(self, ref, default=None):
        self.looks += 1
        return super().get(ref, default)


@pytest.mark.parametrize("what", ["come", "go"])
def test_a_portion_costs_its_own_size(what):
    """However much else is in the backlog."""
    looks = []
    for count in (50, 400):
        wanted = wanted_of(routes("a", count), Settings())
        states = [Looks(wanted.objects), Looks(wanted_of((), Settings()).objects)]
        desired, observed = states if what == "come" else reversed(states)
        backlog = Backlog()
        backlog.add([ref for ref in {**desired, **observed} if not (ref in desired and ref in observed)],
                    desired, observed)
        before = desired.looks + observed.looks
        assert len(backlog.portion(desired, observed, 20)) >= 10
        looks.append(desired.looks + observed.looks - before)
    assert looks[1] < 1.2 * looks[0]
