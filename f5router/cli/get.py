"""The command `get`: lists of what the router serves, as they are now, and what changes in them."""

import json
import sys
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import yaml
from rich.text import Text

from f5router.app.first_load import REFUSED_S
from f5router.cli import gateway_steps, look, not_selected, terminal
from f5router.cli.look import BROKEN, WELL, Unreadable, Views, looked
from f5router.cli.pool_states import PoolReader
from f5router.cli.queries import JSON, NAME, WIDE, YAML
from f5router.cli.survey import Survey
from f5router.config.config import Config
from f5router.kube.watch.sources import NODES, OBJECTS, Source
from f5router.model.cluster import Key
from f5router.model.findings import ORPHANED, Finding, Link, finding
from f5router.model.gateway import GATEWAY, ROUTE_KINDS
from f5router.model.texts import printable
from f5router.sources import delegation_graph
from f5router.sources.settings import INGRESS, INGRESS_ROUTE, ROUTE, origins
from f5router.views import listings
from f5router.views.listings import Columns, ListedObject, SourceObject
from f5router.views.route_view import RouteView

_KINDS = {"ingresses": INGRESS, "ingressroutes": INGRESS_ROUTE, "gateways": GATEWAY,
          **{f"{kind.lower()}s": kind for kind in ROUTE_KINDS}}
"""Kinds of objects that Routes are made of, by the word of the command."""
_COLUMNS = {"routes": listings.ROUTES, **dict.fromkeys(_KINDS, listings.OBJECTS),
            "nodes": listings.NODES, "pools": listings.POOLS}
_TITLES = {"routes": ROUTE, **_KINDS, "nodes": "Node", "pools": "pool"}


@dataclass(frozen=True, slots=True)
class ChosenObjects:
    """Objects that are listed."""

    namespace: str = ""
    """"" for all."""
    given: frozenset[str] = frozenset()
    """NAME or NAMESPACE/NAME of each; empty for all."""
    labels: str = ""
    """Label selector; "" for all."""


class Listed(NamedTuple):
    """A list, as it is now."""

    rows: list[ListedObject]
    note: str = ""
    """Why there can be no object of the kind; "" if there can."""


def get(config: Config, kind: str, choice: ChosenObjects, *, output: str,
        refused_s: float = REFUSED_S) -> int:
    """Print a list; returns the exit status.

    Args: kind: word of the command, such as "routes"; output: one of queries.OUTPUTS.
    """
    try:
        with looked(config, refused_s) as survey:
            listed = _list(survey, kind, choice)
    except Unreadable as exc:
        return look.refused(exc)
    _print(listed.rows, kind, output)
    if not listed.rows and not choice.given and output not in (JSON, YAML):
        _say(f"No resources found in {choice.namespace} namespace." if choice.namespace
             else "No resources found")
    if not listed.rows and listed.note:
        _say(listed.note)
    return BROKEN if _absent(kind, choice, listed.rows) else WELL


PAUSE_S = 10.0
"""Time between two readings of --watch,"""
IDLE = 9
"""or this many times as long as a reading takes, if that is more."""


def watch(config: Config, kind: str, choice: ChosenObjects, *, output: str, stop: threading.Event,
          refused_s: float = REFUSED_S, pause_s: float = PAUSE_S) -> int:
    """Print a list, and then what changes in it, until stopped; returns the exit status.

    Each reading costs what `get` costs for the BIG-IP; the watches of the cluster stay open.
    """
    feed, problems = Feed(kind, output), ""
    try:
        with looked(config, refused_s) as survey:
            feed.show(_list(survey, kind, choice).rows)
            took_s = 0.0
            while not stop.wait(max(pause_s, IDLE * took_s)):
                began = time.monotonic()
                try:
                    look.look_again(survey)
                    feed.show(_list(survey, kind, choice).rows)
                    before, problems = problems, ""
                except Unreadable as exc:
                    before, problems = problems, str(exc)
                if problems != before:
                    _say(problems or "cluster and BIG-IP can be read again")
                took_s = time.monotonic() - began
    except Unreadable as exc:
        return look.refused(exc)
    return WELL


class Feed:
    """Prints the rows of a list that have changed since they were printed last."""

    def __init__(self, kind: str, output: str):
        self._kind, self._output = kind, output
        self._table = _table(_COLUMNS[kind], wide=output == WIDE)
        self._shown: dict[tuple[str, Key, frozenset[str]], ListedObject] = {}

    def show(self, rows: Iterable[ListedObject]) -> None:
        """Print what has changed; a row that is gone is printed once more as deleted."""
        now = {(row.kind, row.key, row.names): row for row in rows}
        changed = [row for key, row in now.items()
                   if key not in self._shown or self._text(row) != self._text(self._shown[key])]
        gone = [listings.deleted(row, _COLUMNS[self._kind]) for key, row in self._shown.items()
                if key not in now]
        self._shown = now
        self._print([*changed, *gone])
        sys.stdout.flush()

    def _text(self, row: ListedObject) -> object:
        """Return what must differ for a row to be printed again."""
        if self._output in (JSON, YAML):
            return _without_counts(row.document)
        return row.title if self._output == NAME else [
            cell.plain for cell in _cells(row, wide=self._output == WIDE)]

    def _print(self, rows: Collection[ListedObject]) -> None:
        if self._output == JSON:
            for row in rows:
                print(json.dumps(row.document))
        elif self._output == YAML:
            for row in rows:
                print(f"---\n{yaml.safe_dump(_plain(row.document), sort_keys=False)}", end="")
        elif self._output == NAME:
            for row in rows:
                print(printable(row.title))
        elif rows:
            self._table.show([_cells(row, wide=self._output == WIDE) for row in rows])


def _without_counts(value: Any) -> Any:
    """Return a document without the counters of connections, which always change."""
    if isinstance(value, Mapping):
        return {name: _without_counts(each) for name, each in value.items() if name not in _COUNTS}
    return [_without_counts(each) for each in value] if isinstance(value, list | tuple) else value


_COUNTS = ("connections", "opened")


def _absent(kind: str, choice: ChosenObjects, rows: Iterable[ListedObject]) -> Collection[str]:
    """Print which names belong to no object, and return them."""
    absent = sorted(choice.given - {name for row in rows for name in row.answers})
    for name in absent:
        more = "" if kind in ("nodes", "pools") else (
            f": `f5router explain {_TITLES[kind].lower()} NAMESPACE/NAME` says why")
        _say(f"No {_TITLES[kind]} {name!r}{more}")
    return absent


def _say(text: str) -> None:
    print(printable(text), file=sys.stderr)


# --- output ------------------------------------------------------------------------------


def _print(rows: Collection[ListedObject], kind: str, output: str) -> None:
    if output == JSON:
        print(json.dumps([row.document for row in rows], indent=2))
    elif output == YAML:
        print(yaml.safe_dump(_plain([row.document for row in rows]), sort_keys=False).rstrip("\n"))
    elif output == NAME:
        for row in rows:
            print(printable(row.title))
    elif rows:
        _table(_COLUMNS[kind], wide=output == WIDE).show(
            [_cells(row, wide=output == WIDE) for row in rows])


def _table(columns: Columns, *, wide: bool) -> terminal.TextTable:
    return terminal.TextTable((*columns.shown, *columns.more) if wide else columns.shown,
                          () if wide else columns.elastic)


def _cells(row: ListedObject, *, wide: bool) -> tuple[Text, ...]:
    return (*row.cells, *row.more) if wide else row.cells


def _plain(value: Any) -> Any:
    """Return a value of JSON's types alone: YAML would tag others."""
    return json.loads(json.dumps(value))


# --- rows --------------------------------------------------------------------------------


def _list(survey: Survey, kind: str, choice: ChosenObjects) -> Listed:
    """Return the rows of a kind. Raises: Unreadable."""
    served = [each for source in survey.config.watch.sources.kinds for each in origins(source)]
    if (word := _KINDS.get(kind, "")) and word not in served:
        return Listed([], not_selected.not_served(survey, word))
    if kind == "nodes":
        views = Views(survey)
        labelled = _labelled(survey, [NODES], choice)
        rows = [listings.node(view) for view in views.nodes
                if labelled is None or (NODES, Key("", view.name)) in labelled]
        note = "Nodes are only read if the settings ask for a way to the pods"
        return Listed([row for row in rows if _chooses(row, choice)], "" if views.nodes else note)
    pools = PoolReader(survey.device, all_at_once=True)
    views = Views(survey, pools)
    kinds = [word] if word else served
    labelled = _labelled(survey, [OBJECTS[each] for each in kinds], choice)

    def chooses(kind: str, key: Key) -> bool:
        return kind in kinds and choice.namespace in ("", key.namespace) and (
            labelled is None or (OBJECTS[kind], key) in labelled)

    if word:
        objects = [each for each in _objects(survey, word) if chooses(word, each.key) and (
            not choice.given or {each.key.name, str(each.key)} & choice.given)]
        keys = {each.key for each in objects}
        names = {str(key) for key in keys}
        shown = views.routes(lambda view: (view.kind == word and view.source in keys) or (
            word == GATEWAY and view.claimant in names))
        return Listed(listings.objects(objects, shown))

    def is_shown(view: RouteView) -> bool:
        return chooses(view.kind, view.source) and (
            not choice.given or any(row.is_named(choice.given) for row in _rows(kind, [view])))

    return Listed(_rows(kind, views.routes(is_shown)))


def _rows(kind: str, views: Collection[RouteView]) -> list[ListedObject]:
    """Return the rows of Routes, or of their pools."""
    return listings.pools(views) if kind == "pools" else [listings.route(view) for view in views]


def _labelled(survey: Survey, sources: Collection[Source],
              choice: ChosenObjects) -> set[tuple[Source, Key]] | None:
    """Return the objects with the labels; None for all. Raises: Unreadable."""
    if not choice.labels:
        return None
    return {(source, key) for source in sources
            for key in look.labelled(survey, source, choice.labels, choice.namespace)}


def _chooses(row: ListedObject, choice: ChosenObjects) -> bool:
    return not choice.given or row.is_named(choice.given)


def _objects(survey: Survey, kind: str) -> list[SourceObject]:
    """Return the objects of a kind that the router serves."""
    if kind in (GATEWAY, *ROUTE_KINDS):
        by_key = {key: gateway_steps.find(survey, kind, key) for key in gateway_steps.keys(survey, kind)}
        return [SourceObject(kind, key, obj.hosts, "", obj.problems) for key, obj in by_key.items() if obj]
    source = survey.cluster.objects(kind)
    keys = [key for key in source.own() if survey.cluster.selects(key.namespace)] if source else []
    return [_object(survey, kind, key, not_selected.of_parts(survey, kind, key)) for key in keys]


def _object(survey: Survey, kind: str, key: Key, problems: tuple[Finding, ...]) -> SourceObject:
    if kind == INGRESS:
        ingress = survey.cluster.ingress(key)
        rules = ingress.rules if ingress else ()
        return SourceObject(kind, key, tuple(dict.fromkeys(rule.host for rule in rules if rule.host)), "",
                            problems)
    trees = survey.cluster.ingress_routes
    status, obj = (trees.status(key), trees.objects.get(key)) if trees else (None, None)
    if status is not None and status.current == delegation_graph.ORPHANED:
        problems = (finding(Link.ROUTE, ORPHANED, status.description), *problems)
    hosts = (obj.virtual_host.fqdn,) if obj and obj.virtual_host else ()
    return SourceObject(kind, key, hosts, status.current if status else "", problems)
