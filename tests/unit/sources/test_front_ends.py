"""Division of Routes between front ends, by changes of all that decides about it."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from f5router.model import label_selector
from f5router.model.cluster import Key, Namespace
from f5router.model.delta import Delta
from f5router.model.ingress import Ingress
from f5router.sources.front_ends import FrontEndRoutes, FrontEndSelection
from f5router.sources.settings import INGRESS, ROUTE
from tests.builders import route, virtual

IN, GOLD = label_selector.parse("zone=in"), label_selector.parse("team=gold")
FRONT_ENDS = (
    FrontEndSelection("", labels=label_selector.parse("zone!=in")),
    FrontEndSelection("in", labels=IN),
    FrontEndSelection("gold", namespace_labels=GOLD),
    FrontEndSelection("class", frozenset({INGRESS}), ingress_classes=frozenset({"c"})),
    FrontEndSelection("routes", frozenset({ROUTE})),
)
PLAIN = {name: route(name, namespace="shop") for name in ("a", "b")}
INGRESSES = {name: virtual(route(name, namespace="other")) for name in ("x", "y")}
EVENTS = st.lists(st.one_of(
    st.tuples(st.sampled_from(sorted(PLAIN)), st.sampled_from([None, (), (("zone", "in"),)])),
    st.tuples(st.sampled_from(sorted(INGRESSES)), st.sampled_from([None, ((), ""), ((), "c"),
                                                                   ((("zone", "in"),), "c")])),
    st.tuples(st.sampled_from(["shop", "other"]), st.sampled_from([None, (), (("team", "gold"),)]))),
    max_size=12)


def change(name, value) -> Delta:
    """The Delta of an event."""
    if name in PLAIN:
        plain = PLAIN[name]
        return Delta(routes={plain.key: None if value is None else replace(plain, labels=value)})
    if name in INGRESSES:
        ingress = INGRESSES[name]
        obj = None if value is None else Ingress(ingress.origin.key, labels=value[0], ingress_class=value[1])
        return Delta(ingresses={ingress.origin.key: obj}, routes={ingress.key: ingress if obj else None})
    key = Key("", name)
    return Delta(namespaces={key: None if value is None else Namespace(key, value)})


def taken(kind, labels, ingress_class, namespace) -> set[str]:
    """The front ends that serve an object, by the text of their selectors."""
    inside = ("zone", "in") in labels
    return {name for name, serves in (
        ("", not inside), ("in", inside), ("gold", ("team", "gold") in namespace),
        ("class", kind == INGRESS and ingress_class == "c"), ("routes", kind == ROUTE)) if serves}


@given(EVENTS, st.integers(0, 12), st.sets(st.sampled_from(FRONT_ENDS), min_size=1))
def test_the_order_of_events_does_not_matter(events, changed_at, before):
    """Also if other front ends were there until one of them."""
    division, shown, newest = FrontEndRoutes(before), {}, {}
    for number, (name, value) in enumerate([*events, ("b", None)]):
        newest[name] = value
        if number == min(changed_at, len(events)):
            division.set_front_ends(FRONT_ENDS)
        delta = change(name, value)
        shown |= division.apply(delta, delta).routes
    namespaces = {name: newest.get(name) or () for name in ("shop", "other")}
    wanted = {}
    for name, plain in PLAIN.items():
        if (labels := newest.get(name)) is not None:
            for front_end in taken(ROUTE, labels, "", namespaces["shop"]):
                wanted[plain.key.on(front_end)] = replace(plain, key=plain.key.on(front_end))
    for name, ingress in INGRESSES.items():
        if (value := newest.get(name)) is not None:
            for front_end in taken(INGRESS, *value, namespaces["other"]):
                wanted[ingress.key.on(front_end)] = replace(ingress, key=ingress.key.on(front_end))
    assert {key: plain for key, plain in shown.items() if plain is not None} == wanted


def test_nothing_is_copied_for_one_front_end():
    delta = Delta(routes={each.key: each for each in PLAIN.values()})
    assert FrontEndRoutes(()).apply(delta, delta) is delta
    only = FrontEndRoutes([FrontEndSelection()]).apply(delta, delta)
    assert all(only.routes[key] is each for key, each in delta.routes.items())


def test_labels_by_which_nothing_is_selected_change_nothing():
    division, plain = FrontEndRoutes(FRONT_ENDS), PLAIN["a"]
    for labels, wanted in (((), 2), ((("team", "a"),), 0), ((("zone", "in"),), 2)):
        delta = Delta(routes={plain.key: replace(plain, labels=labels)})
        assert len(division.apply(delta, delta).routes) == wanted, labels


def test_a_route_that_names_its_front_end_stays():
    named = replace(route("a"), key=Key("shop", "a", "gateway"))
    delta = Delta(routes={named.key: named})
    assert FrontEndRoutes(FRONT_ENDS).apply(delta, delta).routes == delta.routes
