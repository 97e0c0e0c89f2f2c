"""Filters, orders and pages of lists, by the parameters of a request."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from f5router.model.texts import number_of
from f5router.views.nodes import NodeView
from f5router.views.route_view import ANSWERED, FAILED, RouteState, RouteSummary, Status

MOST_PER_PAGE, PER_PAGE = 200, 50
LONGEST_SEARCH = 253

Query = Mapping[str, list[str]]

STATES: Mapping[str, Collection[RouteState]] = {
    "failed": FAILED, "answered": ANSWERED, **{state.value: (state,) for state in RouteState}}
"""States by value of the parameter `state`."""

FAILURES = {
    RouteState.UNANSWERED: "served, but nothing answers", RouteState.FAILING: "served, but not as asked for",
    RouteState.DEVICE_REJECTED: "refused by the BIG-IP", RouteState.REJECTED: "rejected",
}
"""Words for the states of FAILED."""


class BadQuery(ValueError):
    """A parameter has no valid value; its text is the reason."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A page of a list, and how many items the others have."""

    items: Sequence[Any]
    total: int
    """Items on all pages."""
    page: int
    per_page: int
    statuses: Mapping[Status, int]
    """Routes of each status that match search and namespace, likewise `states` and `warned`."""
    states: Mapping[RouteState, int]
    warned: int

    @property
    def failed(self) -> int:
        """Return the number of Routes whose requests fail."""
        return sum(self.states[state] for state in FAILED)

    @property
    def summary(self) -> str:
        """Return the state of all Routes that match in a sentence; "" if none does."""
        all_routes, waiting = number_of(sum(self.states.values()), "Route"), self.states[RouteState.PENDING]
        if not self.states:
            return ""
        if self.failed:
            failures = [f"{self.states[state]:,} {words}" for state, words in FAILURES.items()
                        if self.states[state]]
            return (f"Requests fail for {self.failed:,} of {all_routes}: {', '.join(failures)}"
                    f"{f'; {waiting:,} waiting for the BIG-IP' if waiting else ''}")
        if waiting:
            return f"{waiting:,} of {all_routes} waiting for the BIG-IP; the others are served"
        return f"{all_routes} served"


class Order(StrEnum):
    """Order of Routes; "-" before it turns it round. Equal Routes are in the order of their names."""

    TROUBLE = "trouble"
    """The worst first."""
    OBJECT = "object"
    """Namespace and name."""
    HOST = "host"
    SERVICE = "service"
    MEMBERS = "members"
    CERTIFICATE = "certificate"
    """The first to expire first; Routes without a certificate last."""


_SEVERITY = {state: number for number, state in enumerate(RouteState)}
_KEYS: Mapping[Order, Callable[[RouteSummary], Any]] = {
    Order.TROUBLE: lambda route: _SEVERITY[route.state],
    Order.HOST: lambda route: (route.host, route.path),
    Order.SERVICE: lambda route: route.services,
    Order.MEMBERS: lambda route: route.members,
    Order.CERTIFICATE: lambda route: route.certificate_days_left or 0,
}


def choose(routes: Sequence[RouteSummary], query: Query) -> Chosen:
    """Return the page of Routes that a client asks for. Args: routes: by namespace and name.

    Raises: BadQuery.
    """
    search, namespace = text(query, "search").lower(), text(query, "namespace")
    status, state = _word(query, "status", Status), _word(query, "state", tuple(STATES))
    only_warned = _word(query, "warned", ("true",))
    order = text(query, "sort") or Order.TROUBLE
    if order.removeprefix("-") not in list(Order):
        raise BadQuery(f"sort must be one of {', '.join(Order)}, perhaps after a -")
    number, size = pages(query)
    matching = [route for route in routes
                if namespace in ("", route.key.namespace, route.source.namespace) and search in route.text]
    chosen = [route for route in matching if (not status or route.status == status)
              and (not state or route.state in STATES[state]) and (route.warnings or not only_warned)]
    ordered = sort(chosen, Order(order.removeprefix("-")), reverse=order.startswith("-"))
    return Chosen(
        ordered[(number - 1) * size:number * size], len(chosen), number, size,
        Counter(route.status for route in matching), Counter(route.state for route in matching),
        sum(bool(route.warnings) for route in matching))


def sort(routes: Sequence[RouteSummary], order: Order, *, reverse: bool) -> list[RouteSummary]:
    """Return Routes in an order. Args: routes: by namespace and name."""
    if order is Order.OBJECT:
        return list(reversed(routes)) if reverse else list(routes)
    with_key = [route for route in routes
                if order is not Order.CERTIFICATE or route.certificate_days_left is not None]
    ordered = sorted(with_key, key=_KEYS[order], reverse=reverse)
    if len(ordered) == len(routes):
        return ordered
    return ordered + [route for route in routes if route.certificate_days_left is None]


def choose_nodes(nodes: Sequence[NodeView], query: Query) -> Chosen:
    """Return the page of Nodes that a client asks for; those with a problem come first. Raises: BadQuery."""
    search = text(query, "search").lower()
    number, size = pages(query)
    chosen = [node for node in nodes if search in node.name.lower()
              or any(search in address for address in node.addresses)]
    chosen.sort(key=lambda node: not node.problem)
    return Chosen(chosen[(number - 1) * size:number * size], len(chosen), number, size, {}, {}, 0)


def text(query: Query, name: str) -> str:
    """Return a parameter, "" without one. Raises: BadQuery: it is too long."""
    value = query.get(name, [""])[-1].strip()
    if len(value) > LONGEST_SEARCH:
        raise BadQuery(f"{name} must have at most {LONGEST_SEARCH} characters")
    return value


def _word(query: Query, name: str, words: Sequence[str] | type[StrEnum]) -> str:
    """Return a parameter that is one of these words, "" without one. Raises: BadQuery."""
    value = text(query, name)
    if value and value not in list(words):
        raise BadQuery(f"{name} must be {', '.join(words)}, or left out")
    return value


def pages(query: Query) -> tuple[int, int]:
    """Return number and size of the page. Raises: BadQuery."""
    return _number(query, "page", 1, 10**8), _number(query, "per_page", PER_PAGE, MOST_PER_PAGE)


def _number(query: Query, name: str, default: int, most: int) -> int:
    """Return a parameter from 1 to `most`. Raises: BadQuery."""
    value = text(query, name)
    if not value:
        return default
    if not (value.isascii() and value.isdecimal() and len(value) < 10 and 1 <= int(value) <= most):
        raise BadQuery(f"{name} must be a whole number from 1 to {most}")
    return int(value)
