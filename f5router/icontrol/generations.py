"""Names and generations of our objects: a cheap hint that somebody else has changed one.

A REST object has a `generation`, which grows with its changes and is 1 everywhere after the configuration was
loaded. F5's own SDK calls it unreliable (f5-common-python, f5/bigip/resource.py), and whether it grows with
every change of a sub-collection is documented nowhere: so it never replaces a reading.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from f5router.icontrol import beside
from f5router.icontrol.beside import Reading
from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.rest.client import Client
from f5router.model import monitors, ownership
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
)
from f5router.model.objects import Ref

VIRTUAL = "ltm/virtual"
_KINDS = (*monitors.TYPES, Pool.KIND, Policy.KIND, DataGroup.KIND, IRule.KIND, CertFile.KIND, KeyFile.KIND,
          ClientSSL.KIND, ServerSSL.KIND, HTTPCompression.KIND, VIRTUAL)
_SELECTED = "fullPath,generation"
_MOST_KEYS = 6
"""Keys of an item where `$select` has an effect: the two, and `kind`, `name` and the like."""

Generations = Mapping[Ref, int]
"""By REST object; 0 where the device has none."""


class NotSelected(ValueError):
    """The device does not give names and generations alone."""


class Place(NamedTuple):
    """Where our objects are."""

    folder: str
    virtuals: tuple[str | None, str | None]


def read(client: Client, place: Place) -> Generations:
    """Read names and generations of our objects. Raises: NotSelected; BigIPError."""
    partition, *nested = place.folder.strip("/").split("/")
    params = {"$select": _SELECTED} | ({} if nested else {"$filter": f"partition eq {partition}"})
    generations: dict[Ref, int] = {}
    for kind in _KINDS:
        for item in client.get(kind, params).get("items") or ():
            path, generation = _decoded(item)
            if path in place.virtuals if kind == VIRTUAL else ownership.owns_path(place.folder, kind, path):
                generations[Ref(kind, path)] = generation
    return generations


def begin(client: Client, place: Place, ended: Callable[[], None]) -> Reading[Generations]:
    """Read them beside the loop. Args: ended: called from the thread that reads."""
    reader = client.for_reading()
    return beside.begin(lambda: read(reader, place), ended)


def _decoded(item: JSON) -> tuple[str, int]:
    try:
        if len(item) > _MOST_KEYS:
            raise NotSelected("items have more than names and generations")
        return ltm_codec.path_of(item), int(item.get("generation") or 0)
    except ltm_codec.ODD as exc:
        raise NotSelected(repr(exc)) from exc


def holder(obj: Object) -> Ref:
    """Return the REST object whose generation a write of an object changes."""
    if isinstance(obj, Rule):
        return Ref(Policy.KIND, obj.policy)
    if isinstance(obj, Record):
        return Ref(DataGroup.KIND, obj.group)
    return Ref(VIRTUAL, obj.virtual) if isinstance(obj, Attachment) else obj.ref
