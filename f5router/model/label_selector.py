"""Label selectors that the router applies itself, as the API server applies those of lists.

Source: k8s.io/apimachinery, pkg/labels/selector.go: Requirement.Matches.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from f5router.model.selection import requirements

Labels = tuple[tuple[str, str], ...]
"""Labels of an object, sorted by key."""
TOO_MANY: Labels = (("", ""),)
"""Labels of an object that has more than are kept: no selector takes it."""


class Requirement(NamedTuple):
    """A condition on one label."""

    key: str
    operator: str
    """in, notin, exists, absent, < or >."""
    values: frozenset[str] = frozenset()

    def takes(self, labels: Mapping[str, str]) -> bool:
        """True if an object with these labels has what is required."""
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "absent":
                return value is None
        (bound,) = map(int, self.values)
        number = _integer(value)
        return number is not None and (number > bound if self.operator == ">" else number < bound)


def _integer(text: str | None) -> int | None:
    """Return the value of a label as a 64-bit number; None if it is none."""
    digits = (text or "").removeprefix("-").removeprefix("+")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
        return None
    number = int(text or "")
    return number if -2**63 <= number < 2**63 else None


def parse(text: str) -> tuple[Requirement, ...]:
    """Return the requirements of a selector, all of which must hold. Raises: ValueError."""
    return tuple(_parse(text))


def _parse(text: str) -> Iterator[Requirement]:
    for absent, key, operator, value, values in requirements(text):
        if absent:
            yield Requirement(key, "absent")
        elif values is not None:
            yield Requirement(key, "notin" if operator == "notin" else "in", frozenset(values))
        elif operator == "!=":
            yield Requirement(key, "notin", frozenset({value}))
        elif operator in ("<", ">"):
            yield Requirement(key, operator, frozenset({value}))
        elif operator:
            yield Requirement(key, "in", frozenset({value}))
        else:
            yield Requirement(key, "exists")


def takes(selector: Iterable[Requirement], labels: Labels) -> bool:
    """True if an object with these labels is selected."""
    required, given = tuple(selector), dict(labels)
    return not required or (labels != TOO_MANY and all(each.takes(given) for each in required))
