"""Rows of `f5router get`: each object with its status, and the code of what is wrong with it first.

The findings are those of `explain`. Pure functions of views.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rich.text import Text

from f5router.model.cluster import Key
from f5router.model.findings import Finding, Link, loses
from f5router.model.findings import worst as worst_of
from f5router.model.gateway import GATEWAY
from f5router.model.texts import printable
from f5router.views import chain, findings
from f5router.views.nodes import NodeView
from f5router.views.requests import State
from f5router.views.route_view import PoolView, RouteView, Status

NOTHING = "-"
"""Cell without a value."""

MOST_HOSTS = 3
"""Hosts of an Ingress that are shown, as kubectl does; the others are counted."""

_STYLES = {Status.ADMITTED: "green", "valid": "green", "Ready": "green", Status.PENDING: "yellow",
           "orphaned": "yellow", "deleted": "yellow"}
"""Styles of statuses; the others are bad."""

_WORST = (Status.DEVICE_REJECTED, Status.REJECTED, Status.PENDING, Status.ADMITTED)


class Columns(NamedTuple):
    """Headers of a list."""

    shown: tuple[str, ...]
    more: tuple[str, ...]
    """Those of the format wide, behind the others."""
    elastic: tuple[tuple[str, ...], ...]
    """Groups of those that may be cut to fit a terminal, in this order."""


class ListedObject(NamedTuple):
    """An object of a list."""

    kind: str
    """Singular, in lower case."""
    key: Key
    """The namespace is "" for an object that belongs to none."""
    names: frozenset[str]
    """Names by which it is asked for, without a namespace."""
    cells: tuple[Text, ...]
    more: tuple[Text, ...]
    document: Mapping[str, Any]
    """All that is known of it, as the formats json and yaml show it."""

    @property
    def title(self) -> str:
        """Return the name for the format name, such as route/shop/web."""
        return "/".join(filter(None, (self.kind, *self.key)))

    def is_named(self, given: frozenset[str]) -> bool:
        """True if one of these is its NAME or NAMESPACE/NAME."""
        return bool(self.answers & given)

    @property
    def answers(self) -> frozenset[str]:
        """Return all names by which it is asked for."""
        return self.names | {f"{self.key.namespace}/{name}" for name in self.names}


class SourceObject(NamedTuple):
    """An object of which Routes are made."""

    kind: str
    key: Key
    hosts: tuple[str, ...]
    status: str
    """valid, invalid or orphaned for an IngressRoute; "" for that of the Routes."""
    problems: tuple[Finding, ...]
    """Why parts of it become no Route."""


_NAMES = ("NAMESPACE", "NAME")

ROUTES = Columns(("NAMESPACE", "NAME", "KIND", "HOST", "PATH", "STATUS", "WHY"),
                 ("SERVICES", "TERMINATION", "REASON", "POOL", "MEMBERS", "PROBLEM"),
                 (("HOST", "PATH"), ("WHY",), _NAMES))
OBJECTS = Columns(("NAMESPACE", "NAME", "HOSTS", "SERVED", "STATUS", "WHY"), ("PROBLEM",),
                  (("HOSTS",), ("WHY",), _NAMES))
NODES = Columns(("NAME", "STATUS", "ADDRESSES", "PODS", "WAY", "WHY"), ("PROBLEM",),
                (("ADDRESSES", "PODS"), ("WHY",), ("NAME",)))
POOLS = Columns(("NAMESPACE", "NAME", "MEMBERS", "ROUTES", "WHY"),
                ("BALANCING", "MONITOR", "CONNECTIONS", "PATH", "PROBLEM"),
                (("NAME",), ("WHY",), ("NAMESPACE",)))


def route(view: RouteView) -> ListedObject:
    """Return the row of a Route."""
    services = ", ".join(f"{each.name}{f':{each.port}' if each.port else ''}" for each in view.services)
    pool, worst = view.pool, worst_of(view.problems)
    return ListedObject(
        view.kind.lower(), Key(*view.source[:2], view.front_end), frozenset({view.name, view.id}),
        (*_cells(view.source.namespace, view.label.partition("/")[2], view.kind, view.host, view.path or "/"),
         _status(view.status), _why(worst)),
        _cells(services, view.termination, view.reason, pool.path if pool else "",
               _members(pool) if pool else "", worst.text if worst else ""),
        dataclasses.asdict(view))


def objects(listed: Iterable[SourceObject], routes: Iterable[RouteView]) -> list[ListedObject]:
    """Return a row for each object. Args: routes: those of all of them."""
    by_object: dict[tuple[str, Key], list[RouteView]] = {}
    by_claimant: dict[str, list[RouteView]] = {}
    for view in routes:
        by_object.setdefault((view.kind, view.source), []).append(view)
        if view.claimant:
            by_claimant.setdefault(view.claimant, []).append(view)
    return [_object(each, by_object.get((each.kind, each.key), []),
                    by_claimant.get(str(each.key), []) if each.kind == GATEWAY else [])
            for each in sorted(listed, key=lambda each: each.key)]


def _object(listed: SourceObject, views: Sequence[RouteView], claimed: Sequence[RouteView]) -> ListedObject:
    """Return the row of an object. Args: claimed: Routes of other objects on hosts of this one."""
    problems = (*listed.problems, *(problem for view in views for problem in view.problems))
    worst = worst_of(problems)
    state = listed.status or (min((view.status for view in views), key=_WORST.index) if views else
                              Status.REJECTED if loses(problems) else Status.ADMITTED)
    hosts = listed.hosts or tuple(dict.fromkeys(view.host for view in views))
    more = f" + {len(hosts) - MOST_HOSTS} more..." if len(hosts) > MOST_HOSTS else ""
    served = f"{sum(view.is_served for view in (*views, *claimed))}/{len(views) + len(claimed)}"
    document = {"kind": listed.kind, "namespace": listed.key.namespace, "name": listed.key.name,
                "hosts": hosts, "status": state,
                "problems": [dataclasses.asdict(problem) for problem in listed.problems],
                "routes": [dataclasses.asdict(view) for view in views]}
    return ListedObject(listed.kind.lower(), listed.key, frozenset({listed.key.name}),
               (*_cells(listed.key.namespace, listed.key.name, ",".join(hosts[:MOST_HOSTS]) + more, served),
                _status(state), _why(worst)),
               _cells(worst.text if worst else ""), document)


def node(view: NodeView) -> ListedObject:
    """Return the row of a Node."""
    problems = [problem for step in chain.of_node(view) for problem in step.problems]
    state = ("Ready" if view.ready else "NotReady") + ("" if view.schedulable else ",SchedulingDisabled")
    kinds = sorted({way.kind for way in view.ways})
    in_place = sum(way.state == State.IN_PLACE for way in view.ways)
    ways = f"{', '.join(kinds)} {in_place}/{len(view.ways)}" if kinds else ""
    worst = worst_of(problems)
    return ListedObject("node", Key("", view.name), frozenset({view.name}),
               (*_cells(view.name), _status(state, "Ready" if view.ready else state),
                *_cells(",".join(view.addresses), ",".join(view.networks), ways), _why(worst)),
               _cells(worst.text if worst else ""), dataclasses.asdict(view))


def pools(views: Iterable[RouteView]) -> list[ListedObject]:
    """Return a row for each pool of Routes, by namespace and name."""
    users: dict[str, list[RouteView]] = {}
    for view in views:
        if view.pool is not None:
            users.setdefault(view.pool.path, []).append(view)
    rows = [_pool(each[0].pool, each) for each in users.values() if each[0].pool is not None]
    return sorted(rows, key=lambda row: row.key)


def _pool(pool: PoolView, users: Sequence[RouteView]) -> ListedObject:
    links = (Link.POOL, Link.MEMBER, Link.NODE)
    problems = [problem for problem in users[0].problems if problem.link in links]
    worst, name = worst_of(problems), pool.path.rpartition("/")[2]
    namespace = users[0].namespace
    document = {**dataclasses.asdict(pool), "namespace": namespace,
                "problems": [dataclasses.asdict(problem) for problem in problems],
                "routes": [f"{view.namespace}/{view.id}" for view in users]}
    return ListedObject("pool", Key(namespace, name), frozenset({name, pool.path}),
               (*_cells(namespace, name, _members(pool), len(users)), _why(worst)),
               _cells(pool.load_balancing, pool.monitor,
                      "" if pool.connections is None else pool.connections, pool.path,
                      worst.text if worst else ""), document)


def _members(pool: PoolView) -> str:
    """Return how many members take requests, and how many there are."""
    return f"{sum(map(findings.takes_requests, pool.members))}/{len(pool.members)}"


def deleted(row: ListedObject, columns: Columns) -> ListedObject:
    """Return the last row of an object that is gone."""
    cells = list(row.cells)
    for number, header in enumerate(columns.shown):
        if header in ("STATUS", "MEMBERS"):
            cells[number] = _status("deleted")
        elif header == "WHY":
            cells[number] = Text(NOTHING)
    return row._replace(cells=tuple(cells), more=tuple(Text(NOTHING) for _ in row.more),
                        document={**row.document, "deleted": True})


def _cells(*values: object) -> tuple[Text, ...]:
    return tuple(Text(printable(value) if value != "" else NOTHING) for value in values)


def _why(worst: Finding | None) -> Text:
    if worst is None:
        return Text(NOTHING)
    return Text(worst.code, "red" if worst.loses else "yellow")


def _status(text: str, style_of: str = "") -> Text:
    return Text(text, _STYLES.get(style_of or text, "red"))
