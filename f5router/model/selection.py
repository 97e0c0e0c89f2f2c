"""Selection of the Routes that this router serves, and its selectors.

The API server applies the selectors; this module leaves out Routes of namespaces that are not selected, as if
they did not exist: they claim no Host. `selected` is the definition; `NamespaceFilter` computes the same from
changes, at the cost of the Routes of the changed namespace.
Source: openshift/router pkg/cmd/infra/router/router.go, pkg/router/controller/router_controller.go.

Every parser takes the text of a setting and returns it without blanks around it, or raises ValueError with a
text that follows "--flag / VARIABLE: ". No selector is refused that the server accepts; only the server knows
the fields of a kind. Sources: k8s.io/apimachinery pkg/labels/selector.go,
pkg/fields/selector.go and pkg/util/validation/validation.go.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from f5router.model.cluster import Key, Route
from f5router.model.delta import Delta


@dataclass(frozen=True, slots=True)
class Selection:
    """Validated settings; selectors as texts, "" for all."""

    namespace: str | None = None
    """The only namespace whose objects are read; None for all."""
    labels: str = ""
    fields: str = ""
    """Selectors for Routes."""
    namespace_labels: str = ""
    """Selector for namespaces."""
    project_labels: str = ""
    """Selector for the projects that the account may see; selection.EVERYTHING for all of these."""

    @property
    def by_namespace(self) -> bool:
        """True if only Routes of listed namespaces are served."""
        return bool(self.namespace_labels or self.project_labels)

    def nothing_selected(self) -> str:
        """Return the warning for a selection without any namespace."""
        if self.project_labels:
            return (f"--project-labels {self.project_labels!r} selects no project that the account may see: "
                    "no Route is served")
        return f"--namespace-labels {self.namespace_labels!r} selects no namespace: no Route is served"

    @property
    def selective(self) -> bool:
        """True if a Route can be deselected without being deleted."""
        return self.by_namespace or bool(self.labels or self.fields)


def selected(routes: Mapping[Key, Route], namespaces: Collection[str]) -> dict[Key, Route]:
    """Return the Routes whose Hosts these namespaces claim."""
    return {key: route for key, route in routes.items() if route.claim_namespace in namespaces}


class ObjectFilter:
    """Reduces Deltas to Gateways and their routes in selected namespaces. Not thread-safe.

    A router that selects namespaces answers for no Gateway of another one, whose status others may write.
    """

    def __init__(self) -> None:
        self._namespaces: set[str] = set()
        self._known: dict[str, dict[str, dict[Key, Any]]] = {name: {} for name in _FILTERED}
        """All objects, by field of a Delta and by namespace."""

    def apply(self, delta: Delta) -> Delta:
        """Return the Delta without objects of other namespaces; deselected ones are deleted in it."""
        shown = self._namespaces
        self._namespaces = _selected_by(delta, shown)
        changes: dict[str, Any] = {}
        for name, known in self._known.items():
            changed: dict[Key, Any] = {}
            for namespace in shown ^ self._namespaces:
                objects = known.get(namespace, {})
                changed |= objects if namespace in self._namespaces else dict.fromkeys(objects)
            for key, obj in getattr(delta, name).items():
                objects = known.setdefault(key.namespace, {})
                objects.pop(key, None)
                if obj is not None:
                    objects[key] = obj
                if not objects:
                    del known[key.namespace]
                if key.namespace in shown | self._namespaces:
                    changed[key] = obj if key.namespace in self._namespaces else None
            changes[name] = changed
        return replace(delta, **changes)


_FILTERED = ("gateways", "http_routes", "tls_routes", "tcp_routes")
"""Fields of a Delta."""


def _selected_by(delta: Delta, before: set[str]) -> set[str]:
    """Return the names of the selected namespaces. Args: before: those before the changes of a Delta."""
    added = {key.name for key, value in delta.namespaces.items() if value is not None}
    return (before | added) - {key.name for key, value in delta.namespaces.items() if value is None}


class NamespaceFilter:
    """Reduces Deltas to selected Routes. Not thread-safe."""

    def __init__(self) -> None:
        self.namespaces: set[str] = set()
        """Names of the selected namespaces."""
        self._routes: dict[str, dict[Key, Route]] = {}
        """All Routes, by the namespace that claims their Host."""
        self._claims: dict[Key, str] = {}
        """These namespaces by Route, where they are not the Route's own."""

    def apply(self, delta: Delta) -> Delta:
        """Return the Delta without Routes of other namespaces; deselected Routes are deleted in it."""
        shown = self.namespaces
        self.namespaces = _selected_by(delta, shown)
        changed: dict[Key, Route | None] = {}
        for name in shown ^ self.namespaces:
            routes = self._routes.get(name, {})
            changed.update(routes if name in self.namespaces else dict.fromkeys(routes))
        for key, route in delta.routes.items():
            was = self._discard(key) in shown
            changed.pop(key, None)
            now = route is not None and self._put(route) in self.namespaces
            if was or now:
                changed[key] = route if now else None
        return replace(delta, routes=changed)

    def _discard(self, key: Key) -> str:
        """Remove a Route; return the namespace that claimed its Host, "" if it was not known."""
        namespace = self._claims.pop(key, key.namespace)
        routes = self._routes.get(namespace, {})
        if routes.pop(key, None) is None:
            return ""
        if not routes:
            del self._routes[namespace]
        return namespace

    def _put(self, route: Route) -> str:
        """Store the newest value; return the namespace that claims its Host."""
        namespace = route.claim_namespace
        self._routes.setdefault(namespace, {})[route.key] = route
        if namespace != route.key.namespace:
            self._claims[route.key] = namespace
        return namespace


EVERYTHING = "*"
"""Value of PROJECT_LABELS for every project that the account may see."""

_BLANK = " \t\r\n"
_WORD = rf"[^{_BLANK}=!(),<>]++"
_REQUIREMENT = re.compile(
    rf"[{_BLANK}]*(?P<absent>!)?[{_BLANK}]*(?P<key>{_WORD})[{_BLANK}]*"
    rf"(?:(?P<operator>==|!=|=|<|>)[{_BLANK}]*(?P<value>{_WORD})?"
    rf"|(?P<set>in|notin)[{_BLANK}]*\((?P<values>[^()]*)\))?[{_BLANK}]*")
_COMMA = re.compile(r",(?![^()]*\))")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_INTEGER = re.compile(r"[0-9]{1,19}")
_FORMS = "key, !key, key=value, key!=value, key in (a,b), key notin (a,b), key>1 and key<1"
_TERM = re.compile(r".*?(?:!=|==|=)(?P<value>.*)", re.DOTALL)
_ESCAPED = re.compile(r"(?:[^\\,=]|\\[\\,=])*")


def parse_labels(text: str) -> str:
    """Parse a label selector: requirements separated by commas, all of which must hold."""
    if text.strip(_BLANK):
        for requirement in _COMMA.split(text):
            _check_requirement(requirement)
    return text.strip(_BLANK)


def requirements(text: str) -> Iterator[tuple[bool, str, str, str, list[str] | None]]:
    """Yield the requirements of a label selector. Raises: ValueError.

    Yields: whether the label must be missing, its key, the operator, the value behind it, and the values of
        in and notin, None without them.
    """
    for requirement in _COMMA.split(parse_labels(text)) if text.strip(_BLANK) else ():
        match = _REQUIREMENT.fullmatch(requirement)
        assert match is not None, "parse_labels has checked it"
        listed = match["values"]
        values = None if listed is None else [each.strip(_BLANK) for each in listed.split(",")]
        yield (match["absent"] is not None, match["key"], match["operator"] or match["set"] or "",
               match["value"] or "", values)


def parse_project_labels(text: str) -> str:
    """Parse a label selector, or EVERYTHING."""
    return text if text == EVERYTHING else parse_labels(text)


def parse_fields(text: str) -> str:
    r"""Parse a field selector: name=value and name!=value separated by commas.

    In a value \, \= and \\ stand for the character itself.
    """
    for term in re.findall(r"(?:[^\\,]|\\.|\\\Z)+", text, re.DOTALL):
        match = _TERM.fullmatch(term)
        if not match:
            raise ValueError(f"{term!r} is neither name=value nor name!=value")
        if not _ESCAPED.fullmatch(match["value"]):
            raise ValueError(f"{term!r}: in a value, '=', ',' and '\\' must stand behind a '\\', and "
                             "nothing else may")
    return text.strip(_BLANK)


def _check_requirement(requirement: str) -> None:
    if not requirement.strip(_BLANK):
        raise ValueError("there is nothing before or after a comma")
    match = _REQUIREMENT.fullmatch(requirement)
    shown = requirement.strip(_BLANK)
    if not match or (match["absent"] and (match["operator"] or match["values"] is not None)):
        raise ValueError(f"{shown!r} is none of {_FORMS}")
    if not _is_key(match["key"]):
        raise ValueError(f"{match['key']!r} is not the key of a label, such as zone or example.com/zone")
    value = match["value"] or ""
    if match["operator"] in ("<", ">") and not (_INTEGER.fullmatch(value) and int(value) < 2**63):
        raise ValueError(f"{shown!r}: {value!r} is not a whole number")
    for name in [value, *(text.strip(_BLANK) for text in (match["values"] or "").split(","))]:
        if name and not _is_name(name):
            raise ValueError(f"{shown!r}: {name!r} is not the value of a label: at most 63 letters, digits, "
                             "'-', '_' or '.', beginning and ending with a letter or digit")


def _is_key(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    return _is_name(name) and (not slash or (len(prefix) <= 253 and _PREFIX.fullmatch(prefix) is not None))


def _is_name(text: str) -> bool:
    return len(text) <= 63 and _NAME.fullmatch(text) is not None
