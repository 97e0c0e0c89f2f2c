"""Label and field selectors, as ``labelSelector`` and ``fieldSelector`` of a list or watch spell them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .errors import ApiError, bad_request
from .kinds import Kind
from .store import Record

Test = Callable[[Mapping[str, str]], bool]

_KEY = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?"
_SET = re.compile(rf"^({_KEY})\s+(in|notin)\s*\(([^()]*)\)$")
_EQUALITY = re.compile(rf"^({_KEY})\s*(==|=|!=)\s*([A-Za-z0-9._-]*)$")
_EXISTS = re.compile(rf"^(!?)\s*({_KEY})$")
_FIELD = re.compile(r"^([^=!]+)(==|=|!=)(.*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Selection:
    """What a list or watch asked for; an empty one takes everything."""

    namespace: str = ""
    labels: tuple[Test, ...] = ()
    fields: tuple[Test, ...] = ()

    @property
    def selective(self) -> bool:
        """Has selectors; a namespace alone is none."""
        return bool(self.labels or self.fields)

    def takes(self, record: Record | None) -> bool:
        if record is None or (self.namespace and record.key[0] != self.namespace):
            return False
        return all(test(record.labels) for test in self.labels) and all(
            test(record.fields) for test in self.fields
        )


def selection(kind: Kind, namespace: str, name: str, query: Mapping[str, str]) -> Selection:
    """Selection of a request. Args: name: of the URL, empty for a whole collection.

    Raises: ApiError: 400 for a selector that cannot be read or a field the kind does not select on.
    """
    fields = list(field_tests(kind, query.get("fieldSelector", "")))
    if name:
        fields.append(_equal("metadata.name", name))
    return Selection(namespace, tuple(label_tests(query.get("labelSelector", ""))), tuple(fields))


def label_tests(text: str) -> list[Test]:
    """``a=b,c!=d,e in (f,g),h notin (i),j,!k`` as one test per requirement.

    Raises: ApiError: 400.
    """
    return [_label_test(part, text) for part in _split(text)]


def _split(text: str) -> list[str]:
    """Requirements, split at the commas outside parentheses."""
    parts = re.split(r",(?![^(]*\))", text)
    return [part.strip() for part in parts if part.strip()]


def _label_test(part: str, text: str) -> Test:
    if found := _SET.match(part):
        key, operator, listed = found.groups()
        values = frozenset(value.strip() for value in listed.split(","))
        # notin and != also take objects without the label.
        if operator == "in":
            return lambda labels: key in labels and labels[key] in values
        return lambda labels: key not in labels or labels[key] not in values
    if found := _EQUALITY.match(part):
        key, operator, value = found.groups()
        return _unequal(key, value) if operator == "!=" else _equal(key, value)
    if found := _EXISTS.match(part):
        absent, key = found.groups()
        return (lambda labels: key not in labels) if absent else (lambda labels: key in labels)
    raise _unreadable("labels", text, part)


def field_tests(kind: Kind, text: str) -> list[Test]:
    """``spec.host=a,metadata.name!=b``; values escape ``\\``, ``,`` and ``=`` with a backslash.

    Raises: ApiError: 400.
    """
    tests = []
    for part in re.split(r"(?<!\\),", text):
        if not part:
            continue
        found = _FIELD.match(part)
        if not found:
            raise _unreadable("fields", text, part)
        name, operator, value = found.groups()
        if name not in kind.fields:
            raise bad_request(
                f'Unable to find "{kind.api_version}, Resource={kind.plural}" that match label selector "", '
                f'field selector "{text}": field label not supported: {name}'
            )
        value = re.sub(r"\\(.)", r"\1", value)
        tests.append(_unequal(name, value) if operator == "!=" else _equal(name, value))
    return tests


def _equal(key: str, value: str) -> Test:
    return lambda values: values.get(key) == value


def _unequal(key: str, value: str) -> Test:
    return lambda values: values.get(key) != value


def _unreadable(what: str, text: str, part: str) -> ApiError:
    return bad_request(
        f"unable to parse requirement: couldn't parse the {what} selector {text!r} at {part!r}"
    )
