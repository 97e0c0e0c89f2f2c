"""Reading and removal of what the original router left in /Common."""

import logging
from collections.abc import Collection

from f5router.icontrol.codec import ltm_codec
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.encoding import item_path
from f5router.icontrol.writers.attachments import listed, virtual
from f5router.model import original_names, ownership
from f5router.model.json_types import JSON
from f5router.model.ltm import ClientSSL, DataGroup, IRule, ServerSSL
from f5router.model.objects import Ref
from f5router.plan.adoption import FILES, Inventory

log = logging.getLogger(__name__)


def inventory(client: Client, folder: str) -> Inventory:
    """Read the input of `adoption`. Raises: BigIPError."""
    profiles = {Ref(kind, ltm_codec.path_of(item)): item for kind in (ClientSSL.KIND, ServerSSL.KIND)
                for item in _items(client, kind)}
    files = {Ref(kind, path) for kind in FILES for item in _items(client, kind)
             if original_names.is_file(path := ltm_codec.path_of(item))}
    groups = {}
    for item in _items(client, DataGroup.KIND):
        path = ltm_codec.path_of(item)
        if path in original_names.groups(folder):
            group, records = ltm_codec.decode_data_group(item)
            groups[path] = (group.type, tuple(records))
    texts = {path: str(item.get("apiAnonymous", "")) for item in _items(client, IRule.KIND)
             if not ownership.owns_path(folder, IRule.KIND, path := ltm_codec.path_of(item))}
    carried = {
        ltm_codec.path_of(item): frozenset(name for name, _ in listed(item, "profiles"))
        for item in _items(client, "ltm/virtual", expandSubcollections="true")
    }
    return Inventory(profiles, frozenset(files), groups, texts, carried)


def _items(client: Client, kind: str, **params: str) -> list[JSON]:
    return client.get(kind, params).get("items") or []


def detach(client: Client, path: str, targets: Collection[str]) -> None:
    """Detach profiles from a virtual server in one write. Raises: BigIPError."""
    raw = virtual(client, path)
    there = listed(raw, "profiles") if raw else []
    kept = [{"name": name, "context": context} for name, context in there if name not in targets]
    if len(kept) < len(there):
        client.patch(item_path("ltm/virtual", path), {"profiles": kept})
