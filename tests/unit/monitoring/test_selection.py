"""Filters, orders and pages of the lists of the status page."""

import dataclasses
from collections import Counter

import pytest

from f5router.model.cluster import Key
from f5router.monitoring import plain_page
from f5router.monitoring.selection import BadQuery, Chosen, choose
from f5router.views.route_view import RouteState, RouteSummary, Status
from tests.rows import rows


def summary(name: str, state: RouteState, *, members: int = 1, days: int | None = None) -> RouteSummary:
    status = Status(state.value) if state.value in list(Status) else Status.ADMITTED
    host = f"{name}.com"
    return RouteSummary(
        Key("shop", name), "Route", name, host, "", "", status, state, "", "", ("web",), members,
        int(state is RouteState.WARNED), None, "", days, f"shop/{name}\n{host}")


LIST = [
    summary("a", RouteState.SERVED, members=3, days=90),
    summary("b", RouteState.WARNED, members=9),
    summary("c", RouteState.UNANSWERED, days=2),
    summary("d", RouteState.REJECTED, members=0),
    summary("e", RouteState.SERVED, members=3),
    summary("f", RouteState.FAILING, days=-1),
    summary("g", RouteState.PENDING),
    summary("h", RouteState.UNANSWERED),
    summary("i", RouteState.DEVICE_REJECTED)]


@rows(("query", "names"), [
    ({}, "chfidgbae"),
    ({"sort": "trouble"}, "chfidgbae"),
    ({"sort": "-trouble"}, "aebgdifch"),
    ({"sort": "object"}, "abcdefghi"),
    ({"sort": "-object"}, "ihgfedcba"),
    ({"sort": "-host"}, "ihgfedcba"),
    ({"sort": "members"}, "dcfghiaeb"),
    ({"sort": "-members"}, "baecfghid"),
    ({"sort": "certificate"}, "fcabdeghi"),
    ({"sort": "-certificate"}, "acfbdeghi"),
    ({"state": "failed"}, "chfid"),
    ({"state": "served"}, "ae"),
    ({"state": "answered"}, "bae"),
    ({"status": "admitted", "sort": "object"}, "abcefh"),
    ({"warned": "true"}, "b"),
    ({"search": "A.COM"}, "a"),
    ({"namespace": "other"}, ""),
    ({"per_page": "4", "page": "2"}, "dgba"),
    ({"page": "9"}, ""),
])
def test_filters_and_orders(query, names):
    """Routes of equal rank stay in the order of their names."""
    chosen = choose(LIST, {name: [value] for name, value in query.items()})
    assert "".join(route.name for route in chosen.items) == names


def test_counts_are_those_before_the_state_is_chosen():
    chosen = choose(LIST, {"state": ["served"]})
    assert (chosen.total, chosen.failed, chosen.warned) == (2, 5, 1)
    assert chosen.states[RouteState.UNANSWERED] == 2


@rows(("states", "sentence"), [
    ({}, ""),
    ({"served": 2, "warned": 1}, "3 Routes served"),
    ({"served": 1, "pending": 1}, "1 of 2 Routes waiting for the BIG-IP; the others are served"),
    ({"unanswered": 1, "rejected": 2, "pending": 3, "served": 4},
     "Requests fail for 3 of 10 Routes: 1 served, but nothing answers, 2 rejected; 3 waiting for the BIG-IP"),
    ({"unanswered": 1200, "pending": 8, "served": 30000},
     "Requests fail for 1,200 of 31,208 Routes: 1,200 served, but nothing answers; 8 waiting for the BIG-IP"),
    ({"failing": 1}, "Requests fail for 1 of 1 Route: 1 served, but not as asked for"),
])
def test_the_state_of_all_routes_in_a_sentence(states, sentence):
    counts = Counter({RouteState(state): count for state, count in states.items()})
    assert Chosen([], 0, 1, 50, Counter(), counts, 0).summary == sentence


@pytest.mark.parametrize("query", [{"sort": "size"}, {"sort": "--host"}, {"state": "odd"}, {"warned": "no"}])
def test_words_that_are_not_known(query):
    with pytest.raises(BadQuery, match=next(iter(query))):
        choose(LIST, {name: [value] for name, value in query.items()})


def test_a_route_is_in_the_namespace_of_its_object_too():
    """An HTTPRoute may lead to Services of another namespace; people know it by its own."""
    routes = [dataclasses.replace(LIST[0], kind="HTTPRoute", source_namespace="infra"), LIST[1]]
    for namespace, names in (("infra", ["a"]), ("shop", ["a", "b"]), ("bank", [])):
        listed = choose(routes, {"namespace": [namespace], "sort": ["host"]})
        assert [each.name for each in listed.items] == names
    assert "HTTPRoute infra/a" in plain_page.page(choose(routes, {}), {}).decode()
