"""SNAT pools and translations (bigip-behaviour.md B7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from mocks.bigip import names, refusals
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.store import Item, Key, Ref, Store


class SnatPool(Kind):
    url = "ltm/snatpool"
    word = "Snatpool"
    required = ("members",)
    links: ClassVar[dict[str, str]] = {"members": "ltm/snat-translation"}

    def references(self, item: Item) -> Iterable[Ref]:
        return [("snat-translation", path) for path in item.fields["members"]]

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        folder = f"/{names.partition_of(key[0])}"
        members = [names.full_path(str(member), folder) for member in fields.get("members") or ()]
        translations = store.kinds["ltm/snat-translation"]
        for path in members:
            if store.get(translations.url, path) is None:
                store.put(
                    translations.url,
                    (path,),
                    {**translations.initial(store, (path,)), "address": path.rsplit("/", 1)[1]},
                )
        return {**fields, "members": members}

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        self._drop(store, old.fields["members"] if old else ())

    def delete(self, store: Store, item: Item) -> None:
        super().delete(store, item)
        self._drop(store, item.fields["members"])

    def _drop(self, store: Store, paths: Iterable[str]) -> None:
        for path in paths:
            if not store.is_used("snat-translation", path):
                store.remove("ltm/snat-translation", (path,))

    def check_unused(self, store: Store, item: Item) -> None:
        """Also when the reference was given up in the same transaction (bigip-behaviour.md B1)."""
        if store.is_used("snatpool", item.path) or store.was_released("snatpool", item.path):
            name = item.path.rsplit("/", 1)[1]
            raise refusals.mcpd("01070320", f"Snatpool {name} is still referenced by a virtual server.")


class SnatTranslation(Kind):
    url = "ltm/snat-translation"
    word = "SNAT Translation"
    required = ("address",)

    def check_unused(self, store: Store, item: Item) -> None:
        for kind, key in store.users("snat-translation", item.path):
            raise refusals.in_use(self.word, item.path, f"{store.kinds[kind].word} ({key[0]})")
