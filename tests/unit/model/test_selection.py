"""Routes of namespaces that are not selected do not exist."""

from hypothesis import given, settings
from hypothesis import strategies as st

from f5router.desired.engine import Engine
from f5router.model.cluster import Key, Namespace
from f5router.model.delta import Delta
from f5router.model.selection import NamespaceFilter, ObjectFilter, Selection, selected
from tests import strategies
from tests.builders import FACTS, Settings, route
from tests.examples import examples
from tests.reference.full_build import ClusterSnapshot, build, snapshot_of

SHOP, BANK = Key("", "shop"), Key("", "bank")
A, B, OTHER = route("a"), route("b", host="b.com"), route("a", namespace="bank", age=-1)


def test_by_namespace():
    assert [Selection(namespace="a").by_namespace, Selection(labels="a", fields="b=c").by_namespace] == [
        False, False]
    assert Selection(namespace_labels="a").by_namespace
    assert Selection(project_labels="*").by_namespace


def names(**selected: bool) -> Delta:
    """Namespaces that enter or leave."""
    return Delta(namespaces={Key("", name): Namespace(Key("", name)) if now else None
                             for name, now in selected.items()})


def routes(*present, gone=()) -> Delta:
    return Delta(routes={obj.key: obj for obj in present} | {obj.key: None for obj in gone})


def test_enters_and_leaves():
    """Only what changes for the router is in a Delta."""
    selected = NamespaceFilter()
    assert selected.apply(routes(A, B, OTHER)).routes == {}
    assert selected.apply(names(shop=True)).routes == {A.key: A, B.key: B}
    assert selected.namespaces == {"shop"}
    new = route("a", host="new.com")
    assert selected.apply(routes(new, OTHER, gone=[B])).routes == {new.key: new, B.key: None}
    assert selected.apply(names(bank=True, shop=False)).routes == {OTHER.key: OTHER, A.key: None}
    assert selected.apply(routes(gone=[A])).routes == {}
    assert selected.apply(names(shop=True)).routes == {}


def test_both_at_once():
    """A Delta holds what happened since the last one, in no order."""
    selected = NamespaceFilter()
    selected.apply(routes(A))
    entered = Delta(routes={A.key: None, B.key: B}, namespaces=names(shop=True).namespaces)
    assert selected.apply(entered).routes == {B.key: B}
    left = Delta(routes={A.key: A, B.key: None}, namespaces=names(shop=False).namespaces)
    assert selected.apply(left).routes == {B.key: None}
    assert selected.apply(names(shop=True)).routes == {A.key: A}


def test_the_rest_of_a_delta_stays():
    whole = Delta(services={A.key: None}, nodes_listed=True)
    assert NamespaceFilter().apply(whole) == whole


def test_an_older_route_of_another_namespace_claims_nothing():
    """Not selected is not there; selected, it takes its host."""
    selected, engine = NamespaceFilter(), Engine(Settings())
    engine.set_facts(FACTS)
    engine.apply(selected.apply(routes(A, OTHER)))
    engine.apply(selected.apply(names(shop=True)))
    assert engine.rejection(A.key) is None
    assert engine.route(OTHER.key) is None
    engine.apply(selected.apply(names(bank=True)))
    assert engine.rejection(A.key).reason == "HostAlreadyClaimed"
    engine.apply(selected.apply(names(bank=False)))
    assert engine.rejection(A.key) is None


def test_one_namespace_costs_its_routes():
    """The namespace's ten of a thousand Routes are judged anew."""
    selected, engine = NamespaceFilter(), Engine(Settings())
    many = [route(f"r{n}", namespace=f"ns{n % 100}", host=f"h{n}.com") for n in range(1000)]
    engine.apply(selected.apply(routes(*many)))
    engine.apply(selected.apply(names(**{f"ns{n}": True for n in range(99)})))
    engine.take_changes()
    engine.apply(selected.apply(names(ns99=True, ns7=False)))
    _, touched = engine.take_changes()
    assert {key.namespace for key in touched} == {"ns99", "ns7"}
    assert len(touched) == 20


STEPS = st.lists(st.one_of(
    st.tuples(strategies.routes(), st.booleans()),
    st.tuples(st.sampled_from([SHOP, BANK]), st.booleans()),
), max_size=25)
CUTS = st.sets(st.integers(0, 24))


@settings(max_examples=examples(200), deadline=None)
@given(STEPS, CUTS)
def test_equals_the_definition(steps, cuts):
    """Whatever comes in whatever order, several changes to a Delta, against everything from scratch."""
    by_deltas, engine = NamespaceFilter(), Engine(Settings())
    engine.set_facts(FACTS)
    every, chosen, delta = {}, set(), Delta({}, namespaces={})
    for number, (what, present) in enumerate(steps):
        if isinstance(what, Key):
            chosen = chosen | {what.name} if present else chosen - {what.name}
            delta.namespaces[what] = Namespace(what) if present else None
        else:
            every.pop(what.key, None)
            every |= {what.key: what} if present else {}
            delta.routes[what.key] = what if present else None
        if number in cuts:
            continue
        engine.apply(by_deltas.apply(delta))
        delta = Delta({}, namespaces={})
        wanted = selected(every, chosen)
        assert snapshot_of(engine).routes == wanted
        built = build(ClusterSnapshot(wanted), Settings(), FACTS)
        assert engine.objects == built.objects
        assert {key: r for key in wanted if (r := engine.rejection(key))} == built.rejections


@given(st.lists(st.tuples(st.sampled_from(["shop", "bank", Key("shop", "a"), Key("bank", "a"),
                                           Key("bank", "b")]), st.sampled_from([None, 1, 2])), max_size=25),
       st.sets(st.integers(0, 24)))
def test_gateways_of_selected_namespaces(events, cuts):
    """Objects and namespaces come and go in any order, several in a Delta, against the definition."""
    by_deltas, known, chosen, shown, delta = ObjectFilter(), {}, set(), {}, Delta(gateways={}, namespaces={})
    for number, (what, value) in enumerate([*events, ("end", None)]):
        if isinstance(what, Key):
            delta.gateways[what] = value
            known[what] = value
        else:
            delta.namespaces[Key("", what)] = value and Namespace(Key("", what))
            chosen = chosen | {what} if value else chosen - {what}
        if number in cuts and number < len(events):
            continue
        shown |= by_deltas.apply(delta).gateways
        delta = Delta(gateways={}, namespaces={})
        assert {key: obj for key, obj in shown.items() if obj} == {
            key: obj for key, obj in known.items() if obj and key.namespace in chosen}
