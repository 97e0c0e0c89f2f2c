"""Properties of a kind: what the device fills in, what it accepts, which values it refuses.

The data lie in `defaults/<kind with dots>.json`, taken from recorded replies: `versions` maps the first
version of a set to the whole set, `enums` names the allowed values, `optional` lists properties that a
new object lacks.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mocks.bigip import versions
from mocks.bigip.refusals import invalid_value, tmsh, unknown_property
from mocks.bigip.versions import Version

IDENTITY = frozenset(
    (
        "kind",
        "name",
        "partition",
        "tmPartition",
        "subPath",
        "fullPath",
        "generation",
        "selfLink",
        "isSubcollection",
    )
)
"""Keys of a body that tell which object is meant, or that only a reply has; a PUT may echo them
(bigip-behaviour.md A2.1)."""

_PAIRS = ({"enabled", "disabled"}, {"yes", "no"}, {"true", "false"})
_WIDER = frozenset(
    ("rateLimit", "mptcp", "keepAliveInterval", "throughputCapacity", "renegotiation", "ocspStapling")
)
"""Properties whose default looks like one of a pair but which take other values too."""

_FOLDER = Path(__file__).parent / "defaults"


@dataclass(frozen=True)
class Schema:
    """Properties of one kind on one version."""

    defaults: dict[str, Any]
    enums: dict[str, list[str]]
    optional: frozenset[str]

    def accept(self, name: str, value: Any) -> tuple[str, Any]:
        """A sent property in the device's spelling and type; null stands for none sent.

        Raises: Refusal: unknown property, value outside its enumeration, wrong JSON type.
        """
        name = camel(name)
        if name not in self.defaults and name not in self.optional:
            raise unknown_property(name)
        if value is None:
            return name, None
        default = self.defaults.get(name)
        value = _coerce(name, value, default)
        allowed = self.enums.get(name)
        if allowed is None and name not in _WIDER and isinstance(default, str):
            allowed = next((pair for pair in _PAIRS if default in pair), None)
        if allowed is not None and value not in allowed:
            raise invalid_value(name, value)
        return name, value


    def accept_nested(self, name: str, value: dict[str, Any]) -> dict[str, Any]:
        """Properties of a property that is an object, without null ones. Raises: Refusal: as `accept`."""
        inner = Schema(self.defaults[name], {}, frozenset())
        accepted = dict(inner.accept(key, sent) for key, sent in value.items())
        return {key: sent for key, sent in accepted.items() if sent is not None}


@functools.cache
def schema(kind: str, version: Version) -> Schema:
    """The schema of a kind; the newest set of defaults that is not newer than the version."""
    doc = json.loads((_FOLDER / f"{kind.replace('/', '.')}.json").read_text())
    sets = sorted((versions.parse(first), values) for first, values in doc["versions"].items())
    fitting = [values for first, values in sets if first <= version] or [sets[0][1]]
    every = {name for _, values in sets for name in values}
    known = every & set(fitting[-1])
    return Schema(fitting[-1], doc["enums"], frozenset(doc["optional"]) | known)


def camel(name: str) -> str:
    """tmsh's dashed spelling is accepted in bodies: traffic-group -> trafficGroup (bigip-behaviour.md A1)."""
    if "-" not in name:
        return name
    head, *tail = name.split("-")
    return head + "".join(word.capitalize() for word in tail)


def _coerce(name: str, value: Any, default: Any) -> Any:
    """Numbers may come as strings and booleans as booleans (bigip-behaviour.md A1). Raises: Refusal:
    another type."""
    if default is None:
        return value
    if isinstance(default, bool) or (isinstance(value, type(default)) and not isinstance(value, bool)):
        return value
    if isinstance(default, int) and not isinstance(value, (bool, list, dict)):
        try:
            return int(value)
        except ValueError:
            if name in _WIDER or value in ("indefinite", "infinite", "immediate"):
                return value
            raise invalid_value(name, value) from None
    if isinstance(default, str):
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            return str(value)
    if isinstance(default, int) and isinstance(value, str):
        return value
    if default == "none" or (isinstance(default, list) and isinstance(value, str)):
        return value
    # the device's words for a wrong JSON type are not known (bigip-behaviour.md A10.1)
    raise tmsh(f'invalid property value "{name}": wrong type')
