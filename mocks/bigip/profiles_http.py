"""Profiles that work on HTTP: http and request-log (bigip-behaviour.md B8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from mocks.bigip import names, refusals
from mocks.bigip.kinds import Body
from mocks.bigip.profiles import Profile, is_named
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Key, Ref, Store

TEMPLATE_LENGTH = 1023
"""Characters of a template that the quirk allows."""
LOG_POOLS = ("requestLogPool", "requestLogErrorPool", "responseLogPool", "responseLogErrorPool")


class HTTP(Profile):
    def __init__(self) -> None:
        super().__init__("http")

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        for name in ("requestChunking", "responseChunking"):
            if fields.get(name) == "sustain" and store.version < (15,):  # tmsh reference, 14.1 and 15.0
                raise refusals.invalid_value(name, "sustain")
        return super().normalise(store, key, fields, body, old)


class RequestLog(Profile):
    """Log lines for requests and responses, sent to the members of pools.

    Source: CiscoTestAutomation/genieparser, a reply of 14.1.2.1; AS3 schema, `Traffic_Log_Profile`.
    """

    links: ClassVar[dict[str, str]] = {"defaultsFrom": "profile", **dict.fromkeys(LOG_POOLS, "ltm/pool")}

    def __init__(self) -> None:
        super().__init__("request-log")

    def references(self, item: Item) -> Iterable[Ref]:
        pools = [item.fields[name] for name in LOG_POOLS if is_named(item.fields.get(name))]
        return [*super().references(item), *(("pool", path) for path in dict.fromkeys(pools))]

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        fields = super().normalise(store, key, fields, body, old)
        if store.has(Quirk.LOG_TEMPLATE_SHORT):
            for name, value in fields.items():
                if name.endswith("Template") and len(str(value)) > TEMPLATE_LENGTH:
                    raise refusals.invalid_value(name, value)
        for name in LOG_POOLS:
            if is_named(fields.get(name)):
                fields[name] = self._pool(store, str(fields[name]), names.partition_of(key[0]))
        return fields

    def _pool(self, store: Store, name: str, partition: str) -> str:
        for folder in (f"/{partition}", "/Common"):
            if store.get("ltm/pool", names.full_path(name, folder)) is not None:
                return names.full_path(name, folder)
        raise refusals.not_found("Pool", names.full_path(name, f"/{partition}"))
