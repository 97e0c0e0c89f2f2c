"""A Plan as text: for people, and as JSON for programs."""

import dataclasses
import json
from collections.abc import Mapping

import tabulate

from f5router.bigip import Object
from f5router.cluster import Key
from f5router.plan import Plan
from f5router.printable import printable


def as_table(found: Plan) -> str:
    """A line for each Change, in the order in which they would be written."""
    if not found:
        return "Nothing to do: the BIG-IP is in step with the cluster."
    rows = [(change.verb, change.ref.kind, printable(change.ref.path)) for change in found]
    return tabulate.tabulate(rows, headers=("change", "kind", "object"), tablefmt="plain")


def as_lost(lost: Mapping[Key, str]) -> str:
    """A line for each Route that is served now and would not be any more."""
    rows = [(f"not served any more: Route {printable(str(key))}", printable(why))
            for key, why in sorted(lost.items())]
    return tabulate.tabulate(rows, tablefmt="plain")


def as_json(found: Plan) -> str:
    """A list of {change, kind, path, old, new}; secrets are left out."""
    return json.dumps([{
        "change": change.verb, "kind": change.ref.kind, "path": change.ref.path,
        "old": _shown(change.old), "new": _shown(change.new),
    } for change in found], indent=2)


def _shown(obj: Object | None) -> dict | None:
    """Fields of an object, as JSON; secrets have no repr and are left out."""
    if obj is None:
        return None
    return {
        field.name: _plain(getattr(obj, field.name))
        for field in dataclasses.fields(obj) if field.repr and field.compare
    }


def _plain(value):
    if isinstance(value, frozenset | tuple | list):
        items = [_plain(item) for item in value]
        return sorted(items, key=str) if isinstance(value, frozenset) else items
    if dataclasses.is_dataclass(value):
        return _shown(value)
    return value
