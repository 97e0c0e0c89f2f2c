"""Folders and partitions (bigip-behaviour.md B2)."""

from __future__ import annotations

from typing import ClassVar

from mocks.bigip import names, refusals
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.store import Item, Key, Store

FOLDER_TYPE = 4032
"""Type number in the message for a partition that is not empty (bigip-behaviour.md B1)."""


class Folder(Kind):
    url = "sys/folder"
    word = "folder"
    links: ClassVar[dict[str, str]] = {"trafficGroup": "cm/traffic-group"}

    def key_of(self, store: Store, parent: Key, body: Body) -> Key:
        name = body.get("name")
        if (
            isinstance(name, str)
            and not name.startswith("/")
            and not (body.get("partition") or body.get("tmPartition"))
        ):
            above = str(body.get("subPath") or "/").strip("/")
            return (f"/{above}/{name}" if above else f"/{name}",)
        return (names.from_body(body),)

    def key_in_url(self, store: Store, parent: Key, name: str) -> Key:
        return (name if name.startswith("/") else f"/{name}",)

    def read(self, store: Store, item: Item) -> Body:
        """The device group of the pair belongs to the root folder, and is inherited from there."""
        inherits = item.path == "/" or item.fields["inheritedDevicegroup"] == "true"
        if store.unit.group and inherits and item.fields["deviceGroup"] == "none":
            return {**item.fields, "deviceGroup": f"/Common/{store.unit.group}"}
        return item.fields

    def check_folder(self, store: Store, key: Key) -> None:
        if names.folder_of(key[0]) != "/":
            super().check_folder(store, key)

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        if names.folder_of(item.path) == "/" and store.get("auth/partition", item.path[1:]) is None:
            partition = store.kinds["auth/partition"]
            store.put("auth/partition", (item.path[1:],), partition.initial(store, (item.path[1:],)))

    def make(self, store: Store, path: str) -> None:
        """Create a folder and those above it."""
        above = names.folder_of(path)
        if above != "/" and store.get(self.url, above) is None:
            self.make(store, above)
        if store.get(self.url, path) is None:
            item = store.put(self.url, (path,), self.initial(store, (path,)))
            self.written(store, item, {}, None)

    def check_unused(self, store: Store, item: Item) -> None:
        if item.path in ("/", "/Common"):
            raise refusals.configuration_error(f"The folder ({item.path}) may not be deleted")
        check_empty(store, item.path)

    def delete(self, store: Store, item: Item) -> None:
        super().delete(store, item)
        _remove_drafts(store, item.path)
        if names.folder_of(item.path) == "/":
            store.remove("auth/partition", (item.path[1:],))


def check_empty(store: Store, folder: str) -> None:
    """An empty Drafts folder is no obstacle: the device made it itself."""
    drafts = f"{folder}/Drafts"
    own = 1 if store.get("sys/folder", drafts) is not None and not store.in_folder(drafts) else 0
    if store.in_folder(folder) > own:
        raise refusals.mcpd(
            "0107082a",
            "You must remove all objects from a partition before removing the partition "
            f"({folder.lstrip('/')}), type ID ({FOLDER_TYPE})",
        )


def _remove_drafts(store: Store, folder: str) -> None:
    if store.get("sys/folder", f"{folder}/Drafts") is not None:
        store.remove("sys/folder", (f"{folder}/Drafts",))


class Partition(Kind):
    url = "auth/partition"
    word = "partition"
    partitioned = False
    counts_in_folder = False

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        store.kinds["sys/folder"].make(store, f"/{item.name}")

    def check_unused(self, store: Store, item: Item) -> None:
        if item.name == "Common":
            raise refusals.configuration_error("The partition (Common) may not be deleted")
        check_empty(store, f"/{item.name}")

    def delete(self, store: Store, item: Item) -> None:
        super().delete(store, item)
        _remove_drafts(store, f"/{item.name}")
        store.remove("sys/folder", (f"/{item.name}",))
