"""Names and generations of our objects: a cheap hint that somebody else has changed one.

A REST object has a `generation`, which grows with its changes and is 1 everywhere after the configuration was
loaded. F5's own SDK calls it unreliable (f5-common-python, f5/bigip/resource.py), and whether it grows with
every change of a sub-collection is documented nowhere: so it never replaces a reading.

The reply to a write of an object shows the generation that it has got by it (bigip-behaviour.md A1). That to
a publish of a policy, and to a write of a part of an object, does not. The reply to a request for a draft is
recorded nowhere: it may show the generation that the policy had before.
"""

import contextlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from f5router.icontrol import pages
from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.rest.client import Client, get_if_there
from f5router.icontrol.rest.wire import item_path
from f5router.model import ownership, route_options
from f5router.model.json_types import JSON
from f5router.model.ltm import (
    Attachment,
    CertFile,
    ClientSSL,
    DataGroup,
    HTTPCompression,
    IRule,
    KeyFile,
    Object,
    Policy,
    Pool,
    Record,
    Rule,
    ServerSSL,
    record_ref,
    rule_ref,
)
from f5router.model.objects import Ref
from f5router.model.placement import References
from f5router.model.virtual_server import DefaultPool, Listening, VirtualServer

VIRTUAL = VirtualServer.KIND
KINDS = (*route_options.MONITOR_TYPES, Pool.KIND, Policy.KIND, DataGroup.KIND, IRule.KIND, CertFile.KIND,
         KeyFile.KIND,
         ClientSSL.KIND, ServerSSL.KIND, HTTPCompression.KIND, VIRTUAL)
"""REST objects that have a generation of their own."""
_SELECTED = "fullPath,generation"
_MOST_KEYS = 6
"""Keys of an item where `$select` has an effect: the two, and `kind`, `name` and the like."""

Generations = Mapping[Ref, int]
"""By REST object; 0 where the device has none."""


class NotSelected(ValueError):
    """The device does not give names and generations alone."""


class Place(NamedTuple):
    """Paths of our objects."""

    folder: str
    virtuals: tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Extent:
    """Kinds and objects that a look reads."""

    kinds: Collection[str] = KINDS
    """Kinds whose generations are read."""
    holders: Collection[Ref] = ()
    """Policies and data-groups whose Rules and records are read by name."""

    @property
    def is_whole(self) -> bool:
        """True if all kinds are read."""
        return len(self.kinds) == len(KINDS)


@dataclass(frozen=True, slots=True)
class Look:
    """Generations and names that a look has read."""

    generations: Generations = field(default_factory=dict)
    parts: Mapping[Ref, frozenset[Ref]] = field(default_factory=dict)
    """Rules and records that are there, by policy or data-group; without Rules that no Route gives."""


def read(client: Client, place: Place, extent: Extent) -> Look:
    """Read names and generations of our objects. Raises: NotSelected; BigIPError."""
    generations: dict[Ref, int] = {}
    for kind in filter(extent.kinds.__contains__, KINDS):
        # The administrator's virtual servers may be in another partition.
        where = {} if kind == VIRTUAL else pages.filtered(place.folder)
        for item in client.get(kind, {"$select": _SELECTED, **where}).get("items") or ():
            path, generation = _decoded(item)
            if path in place.virtuals if kind == VIRTUAL else ownership.owns_path(place.folder, kind, path):
                generations[Ref(kind, path)] = generation
    return Look(generations, {holder: _parts(client, holder) for holder in extent.holders})


def _decoded(item: JSON) -> tuple[str, int]:
    try:
        if len(item) > _MOST_KEYS:
            raise NotSelected("items have more than names and generations")
        return ltm_codec.path_of(item), of(item)
    except ltm_codec.ODD as exc:
        raise NotSelected(repr(exc)) from exc


def of(item: JSON) -> int:
    """Return the generation of an item; 0 if it shows none."""
    generation = item.get("generation")
    return generation if isinstance(generation, int) else 0


def _parts(client: Client, holder: Ref) -> frozenset[Ref]:
    """Read names of the Rules of a policy, or of the records of a data-group; none if it is not there."""
    path = item_path(holder.kind, holder.path)
    try:
        if holder.kind == Policy.KIND:
            listed = (get_if_there(client, f"{path}/rules", {"$select": "name"}) or {}).get("items") or ()
            return frozenset(rule_ref(holder.path, str(item["name"])) for item in listed
                             if ownership.rule_stem(str(item["name"])))
        item = get_if_there(client, path)
        records = ltm_codec.decode_data_group(item)[1] if item else ()
        return frozenset(record_ref(holder.path, record.name) for record in records)
    except ltm_codec.ODD as exc:
        raise NotSelected(repr(exc)) from exc


def parts(objects: Iterable[Ref], holders: Collection[Ref]) -> dict[Ref, set[Ref]]:
    """Return the Rules and records among these objects by these policies and data-groups."""
    by_holder: dict[Ref, set[Ref]] = {holder: set() for holder in holders}
    makers = {Policy.KIND: rule_ref, DataGroup.KIND: record_ref}
    prefixes = {makers[holder.kind](holder.path, ""): holder for holder in holders}
    for ref in objects if holders else ():
        for (kind, prefix), holder in prefixes.items():
            if ref.kind == kind and ref.path.startswith(prefix) and (
                    kind == Record.KIND or ownership.rule_stem(ref.path[len(prefix):])):
                by_holder[holder].add(ref)
    return by_holder


def holder(obj: Object) -> Ref:
    """Return the REST object whose generation a write of an object changes."""
    if isinstance(obj, Rule):
        return Ref(Policy.KIND, obj.policy)
    if isinstance(obj, Record):
        return Ref(DataGroup.KIND, obj.group)
    return Ref(VIRTUAL, obj.virtual) if isinstance(
        obj, Attachment | References | Listening | DefaultPool) else obj.ref


class Replies:
    """Generations that the router's own writes have given, as their replies show them. Thread-safe."""

    def __init__(self) -> None:
        self._generations: dict[str, int] = {}
        """By path as requests have it. One object is written by one thread at a time."""
        self._opened: dict[Ref, int] = {}
        """Those of policies when a draft was made of them."""

    def opened(self, policy: str, reply: JSON) -> None:
        """Record the reply to a request for a draft of a policy; the first reply counts until taken."""
        if isinstance(generation := reply.get("generation"), int):
            self._opened.setdefault(Ref(Policy.KIND, policy), generation)

    def take_opened(self, ref: Ref) -> int | None:
        """Return the generation of a policy before the router changed it; None if no reply showed it."""
        return self._opened.pop(ref, None)

    def note(self, method: str, path: str, reply: JSON) -> None:
        """Record the reply to a write. Args: path: as in the request, relative to /mgmt/tm."""
        if method == "POST" and path in _REPLYING:
            with contextlib.suppress(ValueError):  # a reply without a usable name
                path = item_path(path, str(reply.get("fullPath") or ""))
        kind = next((kind for kind in _REPLYING if path.startswith(f"{kind}/")), None)
        if kind is None:
            return
        name, _, below = path[len(kind) + 1:].partition("/")
        generation = reply.get("generation")
        if method == "DELETE" or below or not isinstance(generation, int):
            self._generations.pop(f"{kind}/{name}", None)
        else:
            self._generations[path] = generation

    def newest(self, ref: Ref) -> int | None:
        """Return the generation that the last write gave a REST object; None if its reply showed none."""
        return self._generations.get(item_path(ref.kind, ref.path))

    def forget(self, refs: Iterable[Ref]) -> None:
        """Drop the generations of REST objects whose writes are confirmed."""
        for ref in refs:
            self._generations.pop(item_path(ref.kind, ref.path), None)


_REPLYING = frozenset(KINDS) - {Policy.KIND}
"""Kinds of which replies to writes show the generation: a policy's is that before the publish."""
