"""What becomes of each object that the original router left in /Common.

An object is removed only if it is the original's beyond doubt:

- its name is exactly one that the original gives, in /Common, for a Route that exists or not;
- a profile refers to the certificate, key or chain of the same Route, by the original's name;
- a data-group has one of its names, and every record has the form that it writes;
- nothing else uses it: no virtual server but the router's own, no profile that stays, no other iRule.

Nothing of a Route that is not served yet is removed: its old form may still need it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from f5router.model import original_names
from f5router.model.ltm import CertFile, ClientSSL, DataGroup, KeyFile, Record
from f5router.model.objects import Ref

FILES = (CertFile.KIND, KeyFile.KIND)
REMOVED, REPLACED, LEFT, TAKEN_OVER = "removed", "replaced", "left", "taken over"


@dataclass(frozen=True, slots=True)
class Leftover:
    """An object that the original router made, or that has a name of its own."""

    ref: Ref
    fate: str
    """REMOVED, REPLACED, LEFT or TAKEN_OVER."""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What of /Common has a name of the original router, and what may use it."""

    profiles: Mapping[Ref, Mapping[str, Any]] = field(default_factory=dict)
    """Every SSL profile of the device, as read."""
    files: frozenset[Ref] = frozenset()
    groups: Mapping[str, tuple[str, tuple[Record, ...]]] = field(default_factory=dict)
    """Type and records, by full path."""
    irules: Mapping[str, str] = field(default_factory=dict)
    """Text by full path, of iRules that are not the router's own, nor written over by it."""
    carried: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Profiles by virtual server."""


def judge(found: Inventory, *, https_virtual: str | None, unserved: Mapping[str, str]) -> list[Leftover]:
    """What becomes of the profiles, files and data-groups, in the order in which they are removed.

    Args: unserved: by stem and by Host, of Routes that are not served yet, why their objects stay.
    """
    judged = [Leftover(ref, *_profile(ref, item, found, https_virtual, unserved))
              for ref, item in sorted(found.profiles.items()) if _is_profile(ref)]
    gone = {one.ref for one in judged if one.fate == REMOVED}
    used = {text: ref.path for ref, item in sorted(found.profiles.items()) if ref not in gone
            for text in _texts(item)}
    for ref in sorted(found.files):
        user, waits = used.get(ref.path), unserved.get(original_names.stem(ref.path))
        why = f"profile {user} uses it" if user else waits or ""
        judged.append(Leftover(ref, LEFT if why else REMOVED, why))
    for path, (kind, records) in sorted(found.groups.items()):
        why = _group_stays(path, kind, records, found, unserved)
        judged.append(Leftover(Ref(DataGroup.KIND, path), LEFT if why else REMOVED, why))
    return judged


def _is_profile(ref: Ref) -> bool:
    is_its = original_names.is_client_ssl if ref.kind == ClientSSL.KIND else original_names.is_server_ssl
    return is_its(ref.path)


def _profile(ref: Ref, item: Mapping[str, Any], found: Inventory, https_virtual: str | None,
             unserved: Mapping[str, str]) -> tuple[str, str]:
    stem = original_names.stem(ref.path)
    names = {"cert": "https-cert.crt", "key": "https-key.key"} if ref.kind == ClientSSL.KIND else {
        "chain": "https-chain.crt"}
    for name, ending in names.items():
        own = f"{original_names.COMMON}/{stem}-{ending}"
        if item.get(name) != own:
            return LEFT, f"its {name} is {item.get(name)}, not {own}"
    others = sorted(path for path, carried in found.carried.items()
                    if ref.path in carried and path != https_virtual)
    if others:
        return LEFT, f"virtual server {others[0]} carries it"
    why = unserved.get(stem, "")
    return (LEFT, why) if why else (REMOVED, "")


def _group_stays(path: str, kind: str, records: Iterable[Record], found: Inventory,
                 unserved: Mapping[str, str]) -> str:
    """Why a data-group is not removed, "" if it is."""
    name = path.rsplit("/", 1)[1]
    if kind != "string":
        return f"its type is {kind}, not string"
    for record in records:
        if not original_names.is_record(name, record.name, record.data):
            return f"record {record.name} is not one of the original router"
    users = sorted(rule for rule, text in found.irules.items() if name in text)
    if users:
        return f"iRule {users[0]} names it"
    return next((unserved[record.name] for record in records if record.name in unserved), "")


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _texts(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _texts(part)
