"""`/stats` of pools, nodes, virtual servers and their parts (bigip-behaviour.md A3)."""

from __future__ import annotations

from typing import Any

from mocks.bigip.kinds import Kind
from mocks.bigip.rendering import link, state, suffix
from mocks.bigip.store import Item, Store

_COUNTERS = ("bitsIn", "bitsOut", "curConns", "maxConns", "pktsIn", "pktsOut", "totConns")


def item(store: Store, kind: Kind, obj: Item) -> dict[str, Any]:
    own = f"{link(store, kind, obj.key)}/stats"
    return {
        "kind": state(kind, "stats"),
        "generation": obj.generation,
        "selfLink": own + suffix(store),
        "entries": {
            own: {
                "nestedStats": {
                    "kind": state(kind, "stats"),
                    "selfLink": own + suffix(store),
                    "entries": _entries(store, kind, obj),
                }
            }
        },
    }


def collection(store: Store, kind: Kind) -> dict[str, Any]:
    entries = {}
    for obj in store.all(kind.url):
        own = f"{link(store, kind, obj.key)}/stats"
        entries[own] = {"nestedStats": {"entries": _entries(store, kind, obj)}}
    return {
        "kind": state(kind, "collectionstats"),
        "selfLink": f"https://localhost/mgmt/tm/{kind.url}/stats{suffix(store)}",
        "entries": entries,
    }


def _entries(store: Store, kind: Kind, obj: Item) -> dict[str, Any]:
    side = "clientside" if kind.url in ("ltm/virtual", "ltm/virtual-address") else "serverside"
    entries: dict[str, Any] = {f"{side}.{name}": {"value": 0} for name in _COUNTERS}
    entries["tmName"] = {"description": obj.name}
    entries["status.availabilityState"] = {"description": _availability(store, kind, obj)}
    disabled = "disabled" in obj.fields or obj.fields.get("session") == "user-disabled"
    entries["status.enabledState"] = {"description": "disabled" if disabled else "enabled"}
    if kind.url == "ltm/pool":
        entries["activeMemberCnt"] = {"value": len(store.children("ltm/pool/members", obj.key))}
    return entries


def _availability(store: Store, kind: Kind, obj: Item) -> str:
    if kind.url == "ltm/pool":
        if "monitor" not in obj.fields:
            return "unknown"
        return "available" if store.children("ltm/pool/members", obj.key) else "offline"
    if "state" in obj.fields:
        shown = kind.read(store, obj)["state"]
        return {"up": "available", "unchecked": "unknown"}.get(shown, "offline")
    return "unknown"
