"""A Preview as text: for people, and as JSON for programs."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping

from rich.text import Text

from f5router.model import names
from f5router.model.cluster import Key
from f5router.model.texts import plain_table, printable
from f5router.plan import changes
from f5router.plan.change import CREATE, DELETE, UPDATE
from f5router.plan.changes import fields_of
from f5router.plan.preview import Preview


def as_text(preview: Preview) -> Text:
    """Render Changes by their cause, then Routes, problems, warnings, and last the summary."""
    sections = [changes.as_text(preview)] if preview.plan else []
    if preview.plan is not None and not preview.plan:
        sections.append(Text("No changes." if preview.problems else
                             "Nothing to do: the BIG-IP is in step with the cluster."))
    if preview.lost:
        sections.append(Text(as_lost(preview.lost), "yellow"))
    if preview.rejected:
        sections.append(Text(plain_table(("rejected Route", "reason", "why"), _rejected(preview))))
    findings = (("problem", preview.problems, "red"), ("warning", preview.warnings, "yellow"))
    for title, texts, style in findings:
        if texts:
            sections.append(Text("\n".join(
                f"{title} {number}: {printable(text)}" for number, text in enumerate(texts, 1)), style))
    return Text("\n\n").join([*sections, Text(summary(preview), "bold")])


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
    return plain_table(("", ""), ((f"not served any more: {names.label(key, 'Route')}", why)
                                  for key, why in sorted(lost.items())))


def as_json(preview: Preview) -> str:
    """Render the same as JSON, without secrets.

    `changes` is a list of {change, kind, path, old, new}; null without a plan.
    """
    return json.dumps({
        "changes": None if preview.plan is None else [{
            "change": change.verb, "kind": change.ref.kind, "path": change.ref.path,
            "old": fields_of(change.old), "new": fields_of(change.new),
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


def _rejected(preview: Preview) -> Iterable[tuple[str, ...]]:
    """Yield a row for each Route; one that a problem affects refers to it by number."""
    numbers = {key: number for number, problem in enumerate(preview.problems, 1) for key in problem.routes}
    for route in preview.rejected:
        number = numbers.get(route.key)
        yield names.label(route.key), route.reason, f"problem {number}" if number else route.message
