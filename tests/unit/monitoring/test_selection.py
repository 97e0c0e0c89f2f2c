"""Filters, orders and pages of the lists of the status page."""

import pytest

from f5router.model.cluster import Key
from f5router.monitoring.selection import BadQuery, choose
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


@pytest.mark.parametrize("query", [{"sort": "size"}, {"sort": "--host"}, {"state": "odd"}, {"warned": "no"}])
def test_words_that_are_not_known(query):
    with pytest.raises(BadQuery, match=next(iter(query))):
        choose(LIST, {name: [value] for name, value in query.items()})
