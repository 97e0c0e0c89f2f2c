"""`/stats` of pools, nodes, virtual servers and their parts (bigip-behaviour.md A3)."""

from __future__ import annotations

from typing import Any

from mocks.bigip import pools
from mocks.bigip.kinds import Kind
from mocks.bigip.rendering import link, state, suffix
from mocks.bigip.store import Item, Store, Tally

MEMBERS_SINCE = (13, 1)
"""Before, replies have no number of all members: 12.1.0 lacks it, 13.1.0.6 has it."""


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
    tally = store.tallies.get((kind.url, obj.key)) or Tally()
    counts = {
        "bitsIn": 8 * tally.bytes_in, "bitsOut": 8 * tally.bytes_out, "curConns": tally.current,
        "maxConns": tally.maximum, "pktsIn": 0, "pktsOut": 0, "totConns": tally.total,
    }
    entries: dict[str, Any] = {f"{side}.{name}": {"value": value} for name, value in counts.items()}
    entries["totRequests"] = {"value": tally.requests}
    entries["tmName"] = {"description": obj.name}
    entries["status.availabilityState"] = {"description": _availability(store, kind, obj)}
    disabled = "disabled" in obj.fields or obj.fields.get("session") == "user-disabled"
    enabled = "disabled" if disabled else "disabled-by-parent" if _by_node(store, kind, obj) else "enabled"
    entries["status.enabledState"] = {"description": enabled}
    if kind.url == "ltm/pool":
        members = _members(store, obj)
        entries["activeMemberCnt"] = {"value": sum(state == "available" for state in members)}
        if store.version >= MEMBERS_SINCE:
            entries["availableMemberCnt"] = {"value": sum(state == "available" for state in members)}
            entries["memberCnt"] = {"value": len(members)}
    return entries


def _members(store: Store, pool: Item) -> list[str]:
    """Availability of each member; a disabled one takes no connections whatever its monitor finds."""
    kind = store.kinds["ltm/pool/members"]
    return [
        "offline" if member.fields.get("session") == "user-disabled" or _by_node(store, kind, member)
        else _availability(store, kind, member)
        for member in store.children("ltm/pool/members", pool.key).values()
    ]


def _by_node(store: Store, kind: Kind, obj: Item) -> bool:
    """True for a member whose LTM node is disabled, or forced offline."""
    node = pools.node_of(store, obj) if kind.url == "ltm/pool/members" else None
    return node is not None and node.fields.get("session") == "user-disabled"


def _availability(store: Store, kind: Kind, obj: Item) -> str:
    if kind.url == "ltm/pool":
        if "monitor" not in obj.fields:
            return "unknown"
        return "available" if "available" in _members(store, obj) else "offline"
    if "state" in obj.fields:
        shown = kind.read(store, obj)["state"]
        return {"up": "available", "unchecked": "unknown"}.get(shown, "offline")
    return "unknown"
