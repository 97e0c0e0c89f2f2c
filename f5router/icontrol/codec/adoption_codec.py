"""Conversion of virtual servers that an administrator made, and the router takes over and gives back.

The TCP and HTTP profiles and the description that the router replaces are kept in the metadata of the virtual
server, in the form of a query string: text in metadata is not documented to keep quotes, braces and
backslashes (bigip-behaviour.md B6 shows the like for data-groups).
"""

from collections.abc import Collection, Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from f5router.icontrol.codec import reference_codec, virtual_codec
from f5router.icontrol.codec.ltm_codec import items, path_of
from f5router.model import access_log
from f5router.model.front_end_names import base_name
from f5router.model.json_types import JSON
from f5router.model.placement import REFERENCE_KINDS, Reference
from f5router.model.virtual_server import (
    ADOPTED,
    MARK,
    VirtualServer,
    marked_description,
    metadata_entry,
)

_PARENTS = (("tcp", "/Common/tcp", "all"), ("http", "/Common/http", "all"))
"""Profiles that a virtual server gets back where the BIG-IP keeps no metadata."""

_PROFILE, _DESCRIPTION, _REFERENCE = "profile", "description", "reference"
"""Keys of the record."""


def attached(raw: JSON) -> list[tuple[str, str, str]]:
    """Return type, full path and context of each profile."""
    return [(virtual_codec.type_of(item), path_of(item), str(item.get("context", "")))
            for item in items(raw, "profiles")]


def leaving(raw: JSON, server: VirtualServer) -> list[tuple[str, str, str]]:
    """Return the profiles that those of the router replace, as `attached`."""
    stay = {(entry["name"], entry["context"]) for entry in virtual_codec.with_profiles(raw, server)}
    return [each for each in attached(raw) if each[1:] not in stay]


def differences(raw: JSON, server: VirtualServer) -> Iterator[tuple[str, str, str]]:
    """Yield each property that the router changes, as it is and as it will be; profiles are left out."""
    for name, wanted in virtual_codec.changes(server).items():
        if name == "destination" or name in _UNCHANGED:
            continue
        present = _text(raw.get(name))
        if present != _text(wanted):
            yield name, present, _text(wanted)


_UNCHANGED = ("mask", "source")
"""Nothing is taken over where they differ; their texts have a route domain, or not."""


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("pool") or value.get("type") or "none")
    if isinstance(value, list):
        return " ".join(map(_text, value)) or "none"
    return "none" if value is None else str(value)


def taking(raw: JSON, server: VirtualServer, description: str, *, metadata: bool,
           references: Collection[Reference] = ()) -> JSON:
    """Encode a PATCH that makes a virtual server the router's; nothing else of it changes.

    Args:
        description: of the router.
        metadata: True if the device has metadata.
        references: those that the settings name.
    """
    body: dict[str, Any] = {"description": marked_description(description, listening=True, adopted=True)}
    if metadata:
        record = [(_PROFILE, " ".join(profile)) for profile in leaving(raw, server)]
        record += [(_REFERENCE, f"{kind} {path}") for kind in REFERENCE_KINDS
                   for path in reference_codec.present(raw, kind)
                   if Reference(kind, path) in references]
        record.append((_DESCRIPTION, str(raw.get("description") or "")))
        value = urlencode(record, quote_via=quote, safe="/:")
        body["metadata"] = [*_others(raw), metadata_entry(listening=True), {"name": ADOPTED, "value": value}]
    return body


def giving_back(raw: JSON, *, is_former: bool = True) -> JSON:
    """Encode a PATCH that makes an adopted virtual server its administrator's again.

    It gets the profiles back that the router's have replaced. Its address, source address translation and
    limits stay as they serve.

    Args: is_former: False for the BIG-IP's own profiles, where one of the former does not exist any more.
    """
    record = _record(raw)
    body: dict[str, Any] = {"description": dict(record).get(_DESCRIPTION, "")}
    if raw.get("metadata"):
        body["metadata"] = _others(raw)
    own = {path for path, _ in virtual_codec.decode(raw).profiles}
    former = [_profile(text) for key, text in record if key == _PROFILE]
    types = {kind for kind, path, _ in attached(raw) if path in own}.union(kind for kind, *_ in former)
    back = {kind: [each for each in former if each[0] == kind and is_former] or [
        each for each in _PARENTS if each[0] == kind] for kind in types}
    kept = [each for each in attached(raw)
            if each[0] not in types and base_name(each[1]) != access_log.PROFILE]
    profiles = [*kept, *(each for kind in sorted(types) for each in back[kind])]
    if set(profiles) != set(attached(raw)):
        body["profiles"] = virtual_codec.profile_list((path, context) for _, path, context in profiles)
    return body


def earlier(raw: JSON) -> frozenset[Reference]:
    """Return the objects that settings name and that were on a virtual server before the router's time."""
    pairs = (text.split(" ", 1) for key, text in _record(raw) if key == _REFERENCE)
    return frozenset(Reference(kind, path) for kind, path in pairs)


_IDENTITY = frozenset({"kind", "name", "partition", "subPath", "fullPath", "generation", "selfLink",
                       "defaultsFrom", "description", "appService"})


def properties(profile: JSON) -> dict[str, str]:
    """Return what is set in a profile, as read, by name; parts of an object as `object.part`."""
    texts: dict[str, str] = {}
    for name, value in profile.items():
        if name in _IDENTITY or name.endswith("Reference"):
            continue
        nested = value if isinstance(value, dict) else {}
        texts |= {f"{name}.{key}": _text(inner) for key, inner in nested.items()} or {name: _text(value)}
    return texts


def _record(raw: JSON) -> list[tuple[str, str]]:
    return parse_qsl(next((str(entry.get("value")) for entry in raw.get("metadata") or ()
                           if entry.get("name") == ADOPTED), ""))


def restored(raw: JSON) -> list[str]:
    """Return the full paths of the profiles that come back."""
    there = {path for _, path, _ in attached(raw)}
    return sorted({entry["name"] for entry in giving_back(raw).get("profiles", ())} - there)


def _profile(text: str) -> tuple[str, str, str]:
    kind, _, rest = text.partition(" ")
    path, _, context = rest.rpartition(" ")  # a name may have blanks
    return kind, path, context


def _others(raw: JSON) -> list[Any]:
    return [entry for entry in raw.get("metadata") or () if entry.get("name") not in (MARK, ADOPTED)]
