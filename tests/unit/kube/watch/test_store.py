"""store.py: which values changed since the last drain."""

from dataclasses import replace

import pytest

from f5router.kube.watch.store import Store
from f5router.model.cluster import EndpointSlice, Key, Route, Service
from f5router.model.delta import Delta
from tests.builders import route, service

A, B = route("a"), route("b")
NEW_A = route("a", host="new.example.com")


def endpoint_slice(number, *addresses):
    return EndpointSlice(Key("shop", f"web/{number}"), "web", frozenset(addresses))


WEB = Key("shop", "web")


@pytest.mark.parametrize(("steps", "expected"), [
    pytest.param([(A,)], {A.key: A}, id="new"),
    pytest.param([(A,), (NEW_A,)], {A.key: NEW_A}, id="changed twice"),
    pytest.param([(A,), ()], {}, id="came and went"),
    pytest.param([()], {}, id="was never there"),
])
def test_before_the_first_drain(steps, expected):
    store = Store()
    for values in steps:
        store.put("routes", A.key, values)
    assert store.drain() == Delta(routes=expected)
    assert store.drain() == Delta()


SECURED = {"host": "a.example.com", "kind": "edge", "certificate": "cert", "key": "key"}


@pytest.mark.parametrize("listed", [True, False])
def test_an_equal_value_shares_memory(listed):
    """One that was read again, as after each write of a status; only what is not compared is newer."""
    store, known, newer = Store(), route("a", **SECURED), replace(
        route("a", **SECURED), resource_version="7", status_ingress=({"host": "a"},))
    store.put("routes", A.key, (known,))
    if listed:
        store.replace("routes", {A.key: (newer,)})
    else:
        store.put("routes", A.key, (newer,))
    kept = store.get("routes", A.key)
    assert kept == known
    assert (kept.key, kept.tls) == (known.key, known.tls)
    assert kept.key is known.key
    assert kept.tls is known.tls
    assert (kept.resource_version, kept.status_ingress) == ("7", ({"host": "a"},))


def test_a_value_that_is_the_same_in_all_stays():
    store, known = Store(), endpoint_slice(0, "10.1.1.1")
    store.put("slices", known.key, (known,))
    store.replace("slices", {known.key: (endpoint_slice(0, "10.1.1.1"),)})
    assert store.get("slices", known.key) is known


@pytest.mark.parametrize(("steps", "expected", "told"), [
    pytest.param([(A,)], {}, False, id="equal"),
    pytest.param([(NEW_A,)], {A.key: NEW_A}, True, id="changed"),
    pytest.param([()], {A.key: None}, True, id="gone"),
    pytest.param([(NEW_A,), (A,)], {}, True, id="there and back"),
    pytest.param([(), (A,)], {}, True, id="deleted and made again"),
    pytest.param([(NEW_A,), ()], {A.key: None}, True, id="changed, then gone"),
])
def test_after_a_drain(steps, expected, told):
    store = Store()
    store.put("routes", A.key, (A,))
    store.drain()
    results = [store.put("routes", A.key, values) for values in steps]
    assert any(results) is told
    assert store.drain() == Delta(routes=expected)


@pytest.mark.parametrize(("objects", "expected"), [
    pytest.param({A.key: (A,), B.key: (B,)}, {}, id="the same"),
    pytest.param({A.key: (A,)}, {B.key: None}, id="one is missing"),
    pytest.param({A.key: (NEW_A,), B.key: ()}, {A.key: NEW_A, B.key: None}, id="one has no value"),
    pytest.param({}, {A.key: None, B.key: None}, id="none"),
])
def test_replace(objects, expected):
    store = Store()
    store.replace("routes", {A.key: (A,), B.key: (B,)})
    store.drain()
    assert store.replace("routes", objects) is bool(expected)
    assert store.drain() == Delta(routes=expected)


def test_several_values_of_one_object():
    """Subsets of Endpoints come and go with their object, not with another one."""
    store = Store()
    store.put("slices", WEB, (endpoint_slice(0, "10.1.0.1"), endpoint_slice(1, "10.1.0.2")))
    store.put("slices", Key("shop", "b"), (EndpointSlice(Key("shop", "b/0"), "b"),))
    store.drain()
    store.put("slices", WEB, (endpoint_slice(0, "10.1.0.1"),))
    assert store.drain() == Delta(slices={endpoint_slice(1).key: None})
    assert not store.replace("slices", {
        WEB: (endpoint_slice(0, "10.1.0.1"),), Key("shop", "b"): (EndpointSlice(Key("shop", "b/0"), "b"),)})
    store.replace("slices", {Key("shop", "b"): (EndpointSlice(Key("shop", "b/0"), "b"),)})
    assert store.drain() == Delta(slices={endpoint_slice(0).key: None})
    store.put("slices", Key("shop", "b"), ())
    assert store.drain() == Delta(slices={Key("shop", "b/0"): None})


def told(store):
    """Return the calls of on_route, as pairs of hosts in the statuses."""
    heard = []
    store.on_route = lambda old, new: heard.append(
        tuple(tuple(entry["host"] for entry in route.status_ingress) for route in (old, new)))
    return heard


def seen(version, *hosts, uid="u", name="a"):
    return Route(Key("shop", name), uid=uid, resource_version=version,
                 status_ingress=tuple({"host": host} for host in hosts))


def test_newer_readings_are_told():
    """By a watch, by a list, and by a reply; status too, which is no change to drain."""
    store = Store()
    heard = told(store)
    key = Key("shop", "a")
    store.put("routes", key, (seen("1"),))
    assert heard == []
    store.put("routes", key, (seen("2", "x"),))
    store.replace("routes", {key: (seen("3", "y"),)})
    store.refresh_route(seen("4", "z"))
    assert heard == [((), ("x",)), (("x",), ("y",)), (("y",), ("z",))]
    store.drain()
    store.put("routes", key, (seen("5", "w"),))
    assert store.pending() == 0
    assert len(heard) == 4


def test_what_is_not_told():
    """Older readings, other objects of the same name, other kinds, and Routes that are gone."""
    store = Store()
    heard = told(store)
    key = Key("shop", "a")
    store.put("routes", key, (seen("5", "x"),))
    store.put("routes", key, (seen("4", "y"),))
    store.refresh_route(seen("3", "y"))
    store.put("routes", key, (seen("6", "y", uid="other"),))
    store.put("routes", key, ())
    store.put("services", key, (Service(key),))
    store.put("services", key, (Service(key, cluster_ip="x"),))
    assert heard == []


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize(("drained", "uid", "expected"), [
    pytest.param(False, "", [(("x",), ("y",))], id="nobody noticed"),
    pytest.param(True, "", [], id="who drains knows"),
    pytest.param(False, "other", [], id="another object"),
])
def test_a_route_that_was_away(listed, drained, uid, expected):
    """It left the selection and came back before a drain: who asked for a status hears of a change."""
    store, key = Store(), Key("shop", "a")
    heard = told(store)

    def now(*values: Route) -> None:
        if listed:
            store.replace("routes", {key: values} if values else {})
        else:
            store.put("routes", key, values)

    now(seen("1", "x"))
    store.drain()
    now()
    store.put("services", key, (Service(key),))  # of the same name, and no Route
    store.replace("services", {key: (Service(key),)})
    if drained:
        store.drain()
    now(seen("3", "y", uid=uid) if uid else seen("3", "y"))
    assert heard == expected


def test_a_listener_may_ask_the_store():
    """It is called without the lock."""
    store = Store()
    key = Key("shop", "a")
    stored = []

    def is_stored(old: Route, new: Route) -> bool:
        kept = store.get("routes", key)
        return (kept, kept.resource_version, kept.status_ingress) == (
            new, new.resource_version, new.status_ingress)

    store.on_route = lambda old, new: stored.append(is_stored(old, new))
    store.put("routes", key, (seen("1"),))
    store.put("routes", key, (seen("2", "x"),))
    assert stored == [True]


def test_endpoints_alone():
    """Endpoints that are held stay for another drain, as do those of a Service that has changed itself."""
    def drain(*held: str, settled: bool = True) -> set[str]:
        delta = store.drain_slices(lambda service: service.name in held, settled=settled)
        assert delta == Delta(slices=delta.slices)
        return {key.name for key in delta.slices}

    def put(service: str, address: str) -> None:
        key = Key("shop", service)
        store.put("slices", key, (EndpointSlice(key, service, frozenset({address})),))

    store = Store()
    for name in ("web", "api", "own"):
        put(name, "10.1.0.1")
    store.put("services", Key("shop", "own"), (service("own"),))
    assert drain("web") == {"api"}
    assert store.has_slices()
    assert drain() == {"web"}
    assert drain() == set()
    assert drain(settled=False) == {"own"}
    store.put("slices", Key("shop", "api"), (EndpointSlice(Key("shop", "api"), "api"),))
    put("web", "10.1.0.2")
    assert drain() == {"web"}, "the pods of a slice that is empty now may have moved to another one"
    assert drain(settled=False) == {"api"}
    assert not store.has_slices()
    store.drain()
    passed = EndpointSlice(Key("shop", "web"), "api", frozenset({"10.1.0.2"}))
    store.put("slices", passed.key, (passed,))
    assert drain("web") == drain("api") == set(), "it has passed from one Service to the other"
    assert drain() == {"web"}
