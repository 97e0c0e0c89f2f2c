"""Texts of label and field selectors, read as the API server reads them.

Grammar and messages of k8s.io/apimachinery/pkg/labels/selector.go and pkg/fields/selector.go, names and
values by pkg/util/validation. Whoever sends what these refuse gets 400 with the message.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Test = Callable[[Mapping[str, str]], bool]

_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^ \t\r\n=!(),<>]+|\Z)")
_SPECIAL = frozenset("=!(),<>") | {"==", "!=", ""}
_NAME = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?"
_PART = re.compile(_NAME)
_VALUE = re.compile(rf"(?:{_NAME})?")
_PREFIX = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")
_INTEGER = re.compile(r"[+-]?[0-9]+")
_OPERATORS = ("in", "notin", "=", "==", "!=", ">", "<")
_TERM = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)


class Unreadable(Exception):
    """No selector; the text is the server's message."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on the labels of an object."""

    key: str
    operator: str
    """exists, absent, in, notin, gt or lt."""
    values: frozenset[str] = frozenset()

    def takes(self, labels: Mapping[str, str]) -> bool:
        """notin takes objects without the label too, gt and lt only integers."""
        value = labels.get(self.key)
        match self.operator:
            case "exists":
                return value is not None
            case "absent":
                return value is None
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
        (bound,) = map(int, self.values)
        if value is None or not _is_int64(value):
            return False
        return int(value) > bound if self.operator == "gt" else int(value) < bound


def label_requirements(text: str) -> list[Requirement]:
    """``a=b,c==d,e!=f,g in (h,i),j notin (k),l,!m,n>1,o<2``. Raises: Unreadable."""
    return _Parser(text).selector()


class _Parser:
    def __init__(self, text: str):
        self._tokens = _TOKEN.findall(text)
        """The last one is empty."""
        self._next = 0

    def selector(self) -> list[Requirement]:
        terms: list[Requirement] = []
        while self._peek() or terms:
            token = self._peek()
            if token in _SPECIAL and token != "!":
                wanted = "identifier after ','" if terms else "!, identifier, or 'end of string'"
                raise Unreadable(f"found '{token}', expected: {wanted}")
            try:
                terms.append(self._requirement())
            except Unreadable as exc:
                raise Unreadable(f"unable to parse requirement: {exc}") from None
            token = self._take()
            if not token:
                break
            if token != ",":
                raise Unreadable(f"found '{token}', expected: ',' or 'end of string'")
        return terms

    def _peek(self) -> str:
        return self._tokens[self._next]

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1]

    def _requirement(self) -> Requirement:
        absent = self._peek() == "!"
        if absent:
            self._take()
        key = self._identifier("expected: identifier")
        _check_key(key)
        if absent or self._peek() in ("", ","):
            return Requirement(key, "absent" if absent else "exists")
        operator = self._take()
        if operator not in _OPERATORS:
            raise Unreadable(f"found '{operator}', expected: in, notin, =, ==, !=, gt, lt")
        values = self._values() if operator in ("in", "notin") else {self._value()}
        if operator in ("<", ">"):
            _check_integer(*values)
        for value in sorted(values):
            _check_value(key, value)
        name = {">": "gt", "<": "lt", "=": "in", "==": "in", "!=": "notin"}.get(operator, operator)
        return Requirement(key, name, frozenset(values))

    def _identifier(self, wanted: str) -> str:
        token = self._take()
        if token in _SPECIAL:
            raise Unreadable(f"found '{token}', {wanted}")
        return token

    def _value(self) -> str:
        """An empty one at the end or before a comma."""
        return "" if self._peek() in ("", ",") else self._identifier("expected: identifier")

    def _values(self) -> set[str]:
        token = self._take()
        if token != "(":
            raise Unreadable(f"found '{token}' expected: '('")
        if self._peek() == ")":
            self._take()
            return {""}
        if self._peek() in _SPECIAL - {","}:
            raise Unreadable(f"found '{self._peek()}', expected: ',', ')' or identifier")
        return self._listed()

    def _listed(self) -> set[str]:
        """Values up to the closing parenthesis; a comma without one before or behind it stands for ""."""
        values: set[str] = set()
        while True:
            token = self._take()
            if token == ",":
                values |= set() if values else {""}
                if self._peek() == ")":
                    self._take()
                    return values | {""}
                if self._peek() == ",":
                    self._take()
                    values.add("")
            elif token in _SPECIAL:
                raise Unreadable(f"found '{token}', expected: ',', or identifier")
            else:
                values.add(token)
                if self._peek() == ")":
                    self._take()
                    return values
                if self._peek() != ",":
                    raise Unreadable(f"found '{self._peek()}', expected: ',' or ')'")


def _check_key(key: str) -> None:
    prefix, slash, name = key.rpartition("/")
    if slash and (not _PREFIX.fullmatch(prefix) or len(prefix) > 253):
        raise Unreadable(f'<nil>: Invalid value: "{key}": prefix part must be a lowercase RFC 1123 subdomain')
    if not _PART.fullmatch(name) or len(name) > 63:
        raise Unreadable(
            f'<nil>: Invalid value: "{key}": name part must consist of at most 63 alphanumeric characters, '
            "'-', '_' or '.', and must start and end with an alphanumeric character"
        )


def _check_value(key: str, value: str) -> None:
    if not _VALUE.fullmatch(value) or len(value) > 63:
        raise Unreadable(
            f'values[0][{key}]: Invalid value: "{value}": a valid label must be an empty string or consist '
            "of at most 63 alphanumeric characters, '-', '_' or '.', and must start and end with an "
            "alphanumeric character"
        )


def _check_integer(text: str) -> None:
    if not _is_int64(text):
        raise Unreadable(
            f'values[0]: Invalid value: "{text}": for \'Gt\', \'Lt\' operators, the value must be an integer'
        )


def _is_int64(text: str) -> bool:
    return bool(_INTEGER.fullmatch(text)) and -(2**63) <= int(text) < 2**63


# -- fields


def field_terms(text: str) -> list[tuple[str, bool, str]]:
    """(name, whether it must be equal, value) of ``spec.host=a,metadata.name!=b``; in values ``\\``, ``,``
    and ``=`` stand behind a backslash.

    Raises: Unreadable.
    """
    terms = []
    for clause in _split(text):
        term = _TERM.fullmatch(clause)
        if not term:
            raise Unreadable(f"invalid selector: '{text}'; can't understand '{clause}'")
        name, operator, value = term.groups()
        terms.append((name, operator != "!=", _plain(value)))
    return terms


def _split(text: str) -> list[str]:
    """Terms between commas that no backslash makes data; empty ones are left out."""
    parts = re.findall(r"(?:[^\\,]|\\.|\\\Z)+", text, re.DOTALL)
    return [clause for clause in parts if clause]


def _plain(value: str) -> str:
    for piece in re.findall(r"\\.?|[,=]", value, re.DOTALL):
        if piece in (",", "="):
            raise Unreadable(f"invalid field selector: unescaped character in value: {ord(piece)}")
        if piece not in ("\\\\", "\\,", "\\="):
            raise Unreadable(f"invalid field selector: invalid escape sequence: {piece}")
    return re.sub(r"\\(.)", r"\1", value)
