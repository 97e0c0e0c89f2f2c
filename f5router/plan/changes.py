"""Changes and problems for people, by their cause; the preview of a pass, as text and as JSON.

Everything that is missing on the BIG-IP for one cause is one problem, with the Routes that it affects.
"""

import dataclasses
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from rich.text import Text

from f5router.model import names, ownership, sni_records, tls_names
from f5router.model.cluster import Key, Subject
from f5router.model.front_end_names import base_name, front_end_of
from f5router.model.ltm import Attachment, CertFile, ClientSSL, KeyFile, Object, Pool, Record, Rule
from f5router.model.net import FDBRecord, StaticRoute
from f5router.model.objects import Ref
from f5router.model.texts import number_of, plain_table, printable
from f5router.plan.change import CREATE, DELETE, UPDATE, AnyChange, Plan

NAMED_MOST = 3
"""Most Routes that the sentence of a GroupedProblem names; the others are counted."""


@dataclass(frozen=True, slots=True)
class GroupedProblem:
    """One cause, whatever the number of objects and Routes that it concerns."""

    text: str
    """The message of the device, or of the router where it knows beforehand."""
    objects: tuple[Ref, ...] = ()
    """Objects that are refused; empty if the cause does not lie in an object."""
    routes: tuple[Key, ...] = ()
    """Routes that are not served for this reason, or not as they are now."""

    def __str__(self) -> str:
        return _named(self.routes) + _first(self.objects) + self.text


def grouped(refused: Mapping[Ref, str], unserved: Mapping[Key, str],
            blocked: Collection[Ref] = ()) -> list[GroupedProblem]:
    """Group objects and Routes by cause; Problems that affect Routes come first.

    Args:
        refused: objects, with the cause; the first of those with the same cause is named.
        unserved: Routes, with the cause.
        blocked: those of the objects that only wait for another; they are named where no other has the cause.
    """
    objects: dict[str, list[Ref]] = {}
    for ref, text in refused.items():
        objects.setdefault(text, []).append(ref)
    routes: dict[str, list[Key]] = {}
    for key in sorted(unserved):
        routes.setdefault(unserved[key], []).append(key)
    problems = [
        GroupedProblem(text, tuple(_roots(objects.get(text, []), blocked)), tuple(routes.get(text, ())))
        for text in {*objects, *routes}]
    return sorted(problems, key=lambda problem: (not problem.routes, problem.routes, problem.text))


def _roots(refs: list[Ref], blocked: Collection[Ref]) -> list[Ref]:
    return [ref for ref in refs if ref not in blocked] or refs


def _named(routes: Iterable[Key]) -> str:
    """Name the Routes, in front of what happened to them."""
    keys = [names.label(key, "Route") for key in routes]
    if len(keys) < 2:
        return f"{keys[0]}: " if keys else ""
    keys = [key.removeprefix("Route ") for key in keys]
    more = f" and {len(keys) - NAMED_MOST} more" if len(keys) > NAMED_MOST else ""
    return f"{len(keys)} Routes ({', '.join(keys[:NAMED_MOST])}{more}): "


def _first(objects: tuple[Ref, ...]) -> str:
    """Name the first object, and the number of the others."""
    if not objects:
        return ""
    others = len(objects) - 1
    first = f"{objects[0].kind} {shown_path(objects[0])}"
    return f"{first}{f' and {others} other object' if others else ''}{'s' if others > 1 else ''}: "


_BY_POOL = (names.REENCRYPT_GROUP, *ownership.OPTIONS_BY_POOL)
_BY_HOST = (names.PASSTHROUGH_GROUP, names.SERVER_NAME_GROUP, names.OWNER_GROUP)


def cause(obj: Object) -> str:
    """Return the object of the cluster that an object is for; "" if it is for none, or for several."""
    match obj:
        case Rule(name=name):
            return _route(name.partition("__")[0])
        case CertFile(path=path) | KeyFile(path=path) if tls_names.file_namespace(path):
            return _owner_of_file(path.rpartition("/")[2].rpartition("-https-")[0])
        case Pool(path=path):
            return _service(path)
        case ClientSSL(server_name=host):
            return f"host {host}" if host else ""
        case Attachment(target=path, target_kind=ClientSSL.KIND):
            return _host(path)
        case Record(group=group, name=name) if base_name(group) in _BY_POOL and name.startswith("/"):
            return _service(name)
        case Record(name=names.STRICT | names.OWNERS_KNOWN):
            return ""
        case Record(group=group, name=name) if base_name(group) in (*_BY_HOST, *_BY_POOL):
            return f"host {sni_records.host_of(name)}"
        case FDBRecord(endpoint=address) | StaticRoute(gateway=address, node=""):
            return f"the Node at {address}"  # several Nodes may have it
        case StaticRoute(node=node):
            return f"Node {node}"
    return ""


def _route(stem: str) -> str:
    """Return the Route of the stem of a name; its namespace, if the stem was shortened."""
    key = names.route_key(stem)
    return names.label(key, "Route") if key else f"namespace {names.rule_namespace(stem)}"


def _owner_of_file(stem: str) -> str:
    """Return the Route of a file; for virtual Routes, the Secret from which their files are made."""
    owner = _route(stem)
    kind = names.virtual_kind(stem)
    return f"Secret {names.rule_namespace(stem)}/{owner.rpartition('/')[2]}" if kind else owner


def _host(path: str) -> str:
    """Return the host of a client SSL profile; "" if its name was shortened, or it is for none."""
    folder, name = path.rpartition("/")[0], base_name(path)
    for prefix, wildcard in (("openshift_host_", ""), ("openshift_wildcard_", "*.")):
        host = wildcard + name.removeprefix(prefix).removesuffix("-client-ssl-profile")
        if "._" not in host and tls_names.client_ssl(folder, host, front_end_of(path)) == path:
            return f"host {host}"
    return ""


def _service(path: str) -> str:
    """Return the Service of a pool; "" if its name was shortened."""
    path = path if path.rpartition("/")[2].startswith("openshift_") else path.rpartition("/")[0]
    folder = path.rpartition("/")[0]
    known: tuple[Key, *tuple[str, ...]] | None = (
        names.pool_key(folder, path) or names.own_pool_key(folder, path))
    return f"Service {known[0]}" if known else ""


IN_STEP, FAILED, CHANGES = 0, 1, 2
"""Exit statuses."""


@dataclass(frozen=True, slots=True)
class RejectedRoute:
    """A Route that would not be served, with the reason and message of its status."""

    key: Key
    reason: str
    message: str
    subject: Subject | None = None
    """The object itself, where it is none that names.label knows by the key."""

    @property
    def label(self) -> str:
        """Its name for people."""
        return f"{self.subject.kind} {self.subject.key}" if self.subject else names.label(self.key)


@dataclass(frozen=True, slots=True)
class Preview:
    """The result of `f5router plan`."""

    plan: Plan | None
    """None where the cluster or the BIG-IP could not be read."""
    problems: tuple[GroupedProblem, ...] = ()
    """Reasons for which `run --once` would fail, as far as they are known before anything is written."""
    rejected: tuple[RejectedRoute, ...] = ()
    lost: Mapping[Key, str] = field(default_factory=lambda: MappingProxyType({}))
    """Routes that are served now and would not be any more, with the reason."""
    warnings: tuple[str, ...] = ()
    causes: Mapping[Ref, str] = field(default_factory=lambda: MappingProxyType({}))
    """The Route that needs an object which is to change, in words; none for one that several need."""

    def exit_status(self, *, detailed: bool = False) -> int:
        """Return the exit status of the command.

        A Route that is rejected for what is in it does not count: a team's mistake must not make the
        administrator's check fail.

        Args: detailed: return CHANGES if there are any, as `terraform plan -detailed-exitcode` does.
        Source: https://www.terraform.io/docs/commands/plan.html: 0 succeeded with empty diff, 1 error,
            2 succeeded with non-empty diff.
        """
        if self.problems:
            return FAILED
        return CHANGES if detailed and self.plan else IN_STEP


SIGNS = {CREATE: ("+", "green"), UPDATE: ("~", "yellow"), DELETE: ("-", "red")}

MOST = 100
"""Characters of a value that are shown."""
MOST_ITEMS = 10
"""Items of a list that come, or go, and are shown."""

_HIDDEN = "its content, which is not shown"


def changes_as_text(preview: Preview) -> Text:
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
            section.append(f"{change.ref.kind:<{kinds}}  {printable(shown_path(change.ref))}")
            for line in _differences(change) if change.verb == UPDATE else ():
                section.append(f"\n      {printable(line)}")
        sections.append(section)
    return Text("\n\n").join(sections)


def shown_path(ref: Ref) -> str:
    """Return a path for people: a blank before the name of a part that is itself a path."""
    return ref.path.replace("//", " /", 1)


def _differences(change: AnyChange) -> Iterator[str]:
    """Yield each field that an update changes, without secrets."""
    old, new = fields_of(change.old) or {}, fields_of(change.new) or {}
    if isinstance(change.new, Record) and base_name(change.new.group) == names.HTTP_GROUP:
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


def as_text(preview: Preview) -> Text:
    """Render Changes by their cause, then Routes, problems, warnings, and last the summary."""
    sections = [changes_as_text(preview)] if preview.plan else []
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
        clauses.append(f"{number_of(counts['rejected'], 'Route')} rejected")
    return "; ".join([*clauses, number_of(counts["problems"], "problem")]) + "."


def as_lost(lost: Mapping[Key, str]) -> str:
    """Render a line for each Route that is served now and would no longer be."""
    return plain_table(("", ""), ((f"no longer served: {names.label(key, 'Route')}", why)
                                  for key, why in sorted(lost.items())))


def as_json(preview: Preview) -> str:
    """Render the plan as JSON, without secrets.

    `changes` is a list of {change, kind, path, old, new}; null without a plan.
    """
    return json.dumps({
        "changes": None if preview.plan is None else [{
            "change": change.verb, "kind": change.ref.kind, "path": change.ref.path,
            "old": fields_of(change.old), "new": fields_of(change.new),
        } for change in preview.plan],
        "lost": [{"route": names.label(key), "reason": why} for key, why in sorted(preview.lost.items())],
        "rejected": [{"route": route.label, "reason": route.reason, "message": route.message}
                     for route in preview.rejected],
        "problems": [{"text": problem.text, "objects": [str(ref) for ref in problem.objects],
                      "routes": list(map(names.label, problem.routes))} for problem in preview.problems],
        "warnings": list(preview.warnings),
        "summary": _counts(preview),
    }, indent=2)


def _counts(preview: Preview) -> dict[str, int]:
    """Count the items of the summary."""
    verbs = Counter(change.verb for change in preview.plan or ())
    return {"create": verbs[CREATE], "change": verbs[UPDATE], "delete": verbs[DELETE],
            "rejected": len(preview.rejected), "problems": len(preview.problems)}


def _rejected(preview: Preview) -> Iterable[tuple[str, ...]]:
    """Yield a row for each Route; an affected Route refers to its problem by number."""
    numbers = {key: number for number, problem in enumerate(preview.problems, 1) for key in problem.routes}
    for route in preview.rejected:
        number = numbers.get(route.key)
        yield route.label, route.reason, f"problem {number}" if number else route.message
