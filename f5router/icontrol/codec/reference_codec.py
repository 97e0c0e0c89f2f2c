"""Conversion of references of virtual servers to and from iControl REST JSON.

The metadata of a virtual server says which references the settings have made: those are removed when the
settings do not name them any more, and no other is. A BIG-IP that has no metadata (bigip-behaviour.md B12.18)
keeps them.
"""

from collections.abc import Collection, Iterable
from typing import Any

from f5router.icontrol.codec.ltm_codec import items, path_of
from f5router.model.json_types import JSON
from f5router.model.placement import (
    FIREWALL,
    LOG_PROFILES,
    PROFILES,
    REFERENCE_KINDS,
    RULES,
    Reference,
    in_order,
)

MARK = "f5router-references"
"""Name of the entry in the metadata."""


def present(raw: JSON, kind: str) -> list[str]:
    """Return the full paths of all objects of a kind on a virtual server, in the device's order."""
    if kind == PROFILES:
        return [path_of(item) for item in items(raw, PROFILES)]
    if kind == FIREWALL:
        path = str(raw.get(kind) or "none")
        return [] if path == "none" else [path]
    # Names with blanks are read in quotes (F5Networks/f5-ansible, bigip_virtual_server).
    return [str(path).strip('"') for path in raw.get(kind) or ()]


def marked(raw: JSON) -> tuple[Reference, ...] | None:
    """Return the references that the settings have made; None on a BIG-IP without metadata."""
    if not (entries := raw.get("metadata")):
        return None
    value = next((str(entry.get("value", "")) for entry in entries if entry.get("name") == MARK), "")
    pairs = (text.partition("=") for text in value.split(","))
    return tuple(Reference(kind, path) for kind, _, path in pairs if kind in REFERENCE_KINDS)


def decode(raw: JSON, wanted: Iterable[Reference]) -> tuple[Reference, ...]:
    """Decode those that the settings have made, and that are still there. Args: wanted: by the settings."""
    entries = marked(raw)
    ours = set(wanted if entries is None else entries)
    return in_order(reference for kind in REFERENCE_KINDS for path in present(raw, kind)
                    if (reference := Reference(kind, path)) in ours)


def with_mark(raw: JSON, wanted: Iterable[Reference]) -> dict[str, Any]:
    """Return a virtual server as read, with the entry for these references in its metadata."""
    others = [entry for entry in raw.get("metadata") or () if entry.get("name") != MARK]
    value = ",".join(f"{kind}={path}" for kind, path in wanted)
    return {**raw, "metadata": [*others, *([{"name": MARK, "value": value}] if value else [])]}


def changes(raw: JSON, wanted: tuple[Reference, ...],
            earlier: Collection[Reference] = ()) -> dict[str, Any]:
    """Encode the properties that change, for a PATCH: iRules of the settings come first, in their order.

    Args: earlier: those that stay, as they were there before the settings named them.
    """
    body: dict[str, Any] = {}
    gone = set(marked(raw) or ()).difference(wanted, earlier)
    for kind in REFERENCE_KINDS:
        old, first = present(raw, kind), [path for each, path in wanted if each == kind]
        kept = [path for path in old if path not in first and Reference(kind, path) not in gone]
        new = first + kept if kind == RULES else kept + first
        if new == old or (kind != RULES and set(new) == set(old)):
            continue
        if kind == PROFILES:
            contexts = {path_of(item): item.get("context") for item in items(raw, PROFILES)}
            body[kind] = [{"name": path, **({"context": contexts[path]} if contexts.get(path) else {})}
                          for path in new]
        elif kind == FIREWALL:
            body[kind] = new[-1] if new else "none"
        else:
            body[kind] = [f'"{path}"' if kind == LOG_PROFILES and " " in path else path for path in new]
    return body
