"""Reads what the original router left in /Common, and removes it."""

import logging
from collections.abc import Collection, Mapping

from f5router import names, original
from f5router.adoption import FILES, Inventory
from f5router.bigip import ClientSSL, DataGroup, IRule, Ref, ServerSSL
from f5router.errors import NotFound
from f5router.icontrol import codec
from f5router.icontrol.client import Client, item_path
from f5router.icontrol.observe import listed, virtual

log = logging.getLogger(__name__)


def inventory(client: Client, folder: str) -> Inventory:
    """Read everything that `adoption.judge` looks at. Raises: BigIPError."""
    profiles = {Ref(kind, codec.path_of(item)): item for kind in (ClientSSL.KIND, ServerSSL.KIND)
                for item in _items(client, kind)}
    files = {Ref(kind, path) for kind in FILES for item in _items(client, kind)
             if original.is_file(path := codec.path_of(item))}
    groups = {}
    for item in _items(client, DataGroup.KIND):
        path = codec.path_of(item)
        if path in original.groups(folder):
            group, records = codec.decode_data_group(item)
            groups[path] = (group.type, tuple(records))
    texts = {path: str(item.get("apiAnonymous", "")) for item in _items(client, IRule.KIND)
             if not names.owns_path(folder, IRule.KIND, path := codec.path_of(item))}
    carried = {
        codec.path_of(item): frozenset(name for name, _ in listed(item, "profiles"))
        for item in _items(client, "ltm/virtual", expandSubcollections="true")
    }
    return Inventory(profiles, frozenset(files), groups, texts, carried)


def _items(client: Client, kind: str, **params: str) -> list[Mapping]:
    return client.get(kind, params).get("items") or []


def detach(client: Client, path: str, targets: Collection[str]) -> None:
    """Take profiles off a virtual server in one write. Raises: BigIPError."""
    raw = virtual(client, path)
    there = listed(raw, "profiles") if raw else []
    kept = [{"name": name, "context": context} for name, context in there if name not in targets]
    if len(kept) < len(there):
        client.patch(item_path("ltm/virtual", path), {"profiles": kept})


def remove(client: Client, ref: Ref) -> None:
    """Delete an object; one that is gone already is none to worry about. Raises: BigIPError."""
    try:
        client.delete(item_path(ref.kind, ref.path))
    except NotFound:
        log.debug("was gone already", extra={"object": str(ref)})
