"""A Preview as text: for people, and as JSON for programs."""

import dataclasses
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import tabulate

from f5router.model import names
from f5router.model.cluster import Key
from f5router.model.printable import printable
from f5router.plan.change import CREATE, DELETE, UPDATE, Plan
from f5router.plan.preview import Preview


def as_table(preview: Preview) -> str:
    """Render Changes in the order of writing, then Routes, problems, warnings, and last the summary."""
    sections = [_changes(preview.plan)] if preview.plan else []
    if preview.plan is not None and not preview.plan:
        sections.append("No changes." if preview.problems else
                        "Nothing to do: the BIG-IP is in step with the cluster.")
    if preview.lost:
        sections.append(as_lost(preview.lost))
    if preview.rejected:
        sections.append(_table(_rejected(preview), ("rejected Route", "reason", "why")))
    sections += ["\n".join(f"{title} {number}: {printable(text)}" for number, text in enumerate(texts, 1))
                 for title, texts in (("problem", preview.problems), ("warning", preview.warnings)) if texts]
    return "\n\n".join([*sections, summary(preview)])


def summary(preview: Preview) -> str:
    """Return a line such as "Plan: 46 to create, 2 to change, 0 to delete; 3 Routes rejected; 1 problem."."""
    counts, clauses = _counts(preview), ["No plan"]
    if preview.plan is not None:
        clauses = ["Plan: " + ", ".join(
            f"{counts[what]} to {what}" for what in ("create", "change", "delete"))]
    if preview.plan is not None or preview.rejected:
        clauses.append(f"{_number(counts['rejected'], 'Route')} rejected")
    return "; ".join([*clauses, _number(counts["problems"], "problem")]) + "."


def as_lost(lost: Mapping[Key, str]) -> str:
    """Render a line for each Route that is served now and would not be any more."""
    rows = [(f"not served any more: {printable(names.label(key, 'Route'))}", printable(why))
            for key, why in sorted(lost.items())]
    return tabulate.tabulate(rows, tablefmt="plain")


def as_json(preview: Preview) -> str:
    """Render the same as JSON, without secrets.

    `changes` is a list of {change, kind, path, old, new}; null without a plan.
    """
    return json.dumps({
        "changes": None if preview.plan is None else [{
            "change": change.verb, "kind": change.ref.kind, "path": change.ref.path,
            "old": _shown(change.old), "new": _shown(change.new),
        } for change in preview.plan],
        "lost": [{"route": names.label(key), "reason": why} for key, why in sorted(preview.lost.items())],
        "rejected": [{"route": names.label(route.key), "reason": route.reason, "message": route.message}
                     for route in preview.rejected],
        "problems": [{"text": problem.text, "objects": [str(ref) for ref in problem.objects],
                      "routes": list(map(names.label, problem.routes))} for problem in preview.problems],
        "warnings": list(preview.warnings),
        "summary": _counts(preview),
    }, indent=2)


def _counts(preview: Preview) -> dict[str, int]:
    """Count what the summary names."""
    verbs = Counter(change.verb for change in preview.plan or ())
    return {"create": verbs[CREATE], "change": verbs[UPDATE], "delete": verbs[DELETE],
            "rejected": len(preview.rejected), "problems": len(preview.problems)}


def _number(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _changes(plan: Plan) -> str:
    return _table(((change.verb, change.ref.kind, change.ref.path) for change in plan),
                  ("change", "kind", "object"))


def _rejected(preview: Preview) -> Iterable[tuple[str, ...]]:
    """Yield a row for each Route; one that a problem affects refers to it by number."""
    numbers = {key: number for number, problem in enumerate(preview.problems, 1) for key in problem.routes}
    for route in preview.rejected:
        number = numbers.get(route.key)
        yield names.label(route.key), route.reason, f"problem {number}" if number else route.message


def _table(rows: Iterable[tuple[str, ...]], headers: tuple[str, ...]) -> str:
    """Render columns of texts, made safe to show."""
    shown = [[printable(cell) for cell in row] for row in rows]
    return tabulate.tabulate(shown, headers=headers, tablefmt="plain", disable_numparse=True)


def _shown(obj: Any) -> dict[str, Any] | None:
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
        return _shown(value)
    return value
