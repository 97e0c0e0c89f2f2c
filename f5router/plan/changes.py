"""The Changes of a Plan by their cause, with the fields that differ; for people."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from f5router.model import names
from f5router.model.ltm import Record
from f5router.model.texts import printable
from f5router.plan.change import CREATE, DELETE, UPDATE, AnyChange
from f5router.plan.preview import Preview

SIGNS = {CREATE: ("+", "green"), UPDATE: ("~", "yellow"), DELETE: ("-", "red")}

MOST = 100
"""Characters of a value that are shown."""
MOST_ITEMS = 10
"""Items of a list that come, or go, and are shown."""

_HIDDEN = "its content, which is not shown"


def as_text(preview: Preview) -> Text:
    """Render the Changes below their causes, each group in the order of writing."""
    groups: dict[str, list[AnyChange]] = {}
    for change in preview.plan or ():
        groups.setdefault(preview.causes.get(change.ref, ""), []).append(change)
    kinds = max((len(change.ref.kind) for change in preview.plan or ()), default=0)
    sections = []
    for cause, changes in sorted(groups.items(), key=lambda group: group[0]):
        section = Text().append(printable(cause or "Objects of no single Route"), "bold")
        for change in changes:
            sign, style = SIGNS[change.verb]
            section.append(f"\n  {sign} {change.verb:<6}  ", style)
            section.append(f"{change.ref.kind:<{kinds}}  {printable(change.ref.path)}")
            for line in _differences(change) if change.verb == UPDATE else ():
                section.append(f"\n      {printable(line)}")
        sections.append(section)
    return Text("\n\n").join(sections)


def _differences(change: AnyChange) -> Iterator[str]:
    """Yield each field that an update changes, without secrets."""
    old, new = fields_of(change.old) or {}, fields_of(change.new) or {}
    if isinstance(change.new, Record) and change.new.group.endswith(f"/{names.HTTP_GROUP}"):
        old, new = {}, {}  # values of headers
    differing = [name for name in new if old.get(name) != new[name]]
    for name in differing:
        before, after = old.get(name), new[name]
        if isinstance(before, list) and isinstance(after, list):
            yield f"{name}: {_items(before, after)}"
        else:
            yield f"{name}: {_value(before)} -> {_value(after)}"
    if not differing:
        yield _HIDDEN


def _items(before: list[Any], after: list[Any]) -> str:
    """Return the items that come and go; both lists where only their order differs."""
    coming, going = ([item for item in items if item not in others]
                     for items, others in ((after, before), (before, after)))
    if not coming and not going:
        return f"{_value(before)} -> {_value(after)}"
    return ", ".join([*_signed("+", coming), *_signed("-", going)])


def _signed(sign: str, items: list[Any]) -> list[str]:
    more = [f"{sign} {len(items) - MOST_ITEMS} more"] if len(items) > MOST_ITEMS else []
    return [*(f"{sign} {_value(item)}" for item in items[:MOST_ITEMS]), *more]


def _value(value: Any) -> str:
    text = value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MOST else f"{text[:MOST]}..."


def fields_of(obj: Any) -> dict[str, Any] | None:
    """Return the fields of an object as JSON; secrets have no repr and are left out."""
    if obj is None:
        return None
    return {
        field.name: _plain(getattr(obj, field.name))
        for field in dataclasses.fields(obj) if field.repr and field.compare
    }


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset | tuple | list):
        items = [_plain(item) for item in value]
        return sorted(items, key=str) if isinstance(value, frozenset) else items
    if dataclasses.is_dataclass(value):
        return fields_of(value)
    return value
