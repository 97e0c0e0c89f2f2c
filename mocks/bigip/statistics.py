"""`/stats` of pools, nodes, virtual servers and their parts (bigip-behaviour.md A3)."""

from __future__ import annotations

from typing import Any

from mocks.bigip import addresses, pools
from mocks.bigip.kinds import Kind
from mocks.bigip.rendering import collection_link, link, state, suffix
from mocks.bigip.store import Item, Key, Store, Tally

Values = dict[str, Any]
"""Counters and texts by name."""

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


def collection(store: Store, kind: Kind, parent: Key = ()) -> dict[str, Any]:
    """Build the statistics of all objects of a kind, or of one sub-collection.

    Raises: Refusal: the parent does not exist.
    """
    if parent and store.get(kind.parent, *parent) is None:
        raise store.kinds[kind.parent].absent(store, parent)
    entries = {}
    for obj in store.children(kind.url, parent).values() if parent else store.all(kind.url):
        own = f"{link(store, kind, obj.key)}/stats"
        entries[own] = {"nestedStats": {"entries": _entries(store, kind, obj)}}
    return {
        "kind": state(kind, "collectionstats"),
        "selfLink": f"{collection_link(store, kind, parent)}/stats{suffix(store)}",
        "entries": entries,
    }


def _entries(store: Store, kind: Kind, obj: Item) -> dict[str, Any]:
    if kind.url == "ltm/virtual/profiles":
        values = _of_profile(store, obj)
    else:
        values = {**_traffic(store, kind, obj), **_states(store, kind, obj)}
        if kind.url == "ltm/pool":
            values |= _of_pool(store, obj)
        elif kind.url == "ltm/pool/members":
            values |= _of_member(store, obj)
    if kind.url != "ltm/pool/members":
        values["tmName"] = obj.name
    return {name: {"description" if isinstance(value, str) else "value": value}
            for name, value in values.items()}


def _traffic(store: Store, kind: Kind, obj: Item) -> Values:
    side = "clientside" if kind.url in ("ltm/virtual", "ltm/virtual-address") else "serverside"
    tally = store.tallies.get((kind.url, obj.key)) or Tally()
    return {
        f"{side}.bitsIn": 8 * tally.bytes_in, f"{side}.bitsOut": 8 * tally.bytes_out,
        f"{side}.curConns": tally.current, f"{side}.maxConns": tally.maximum, f"{side}.pktsIn": 0,
        f"{side}.pktsOut": 0, f"{side}.totConns": tally.total, "totRequests": tally.requests}


def _states(store: Store, kind: Kind, obj: Item) -> Values:
    disabled = "disabled" in obj.fields or obj.fields.get("session") == "user-disabled"
    enabled = "disabled" if disabled else "disabled-by-parent" if _by_node(store, kind, obj) else "enabled"
    return {"status.availabilityState": _availability(store, kind, obj), "status.enabledState": enabled}


def _of_pool(store: Store, pool: Item) -> Values:
    """`connq` counts what waits for the pool, `connqAll` what waits for its members too."""
    waiting = (store.tallies.get(("ltm/pool", pool.key)) or Tally()).waiting
    members = _members(store, pool)
    active = sum(state == "available" for state in members)
    values: Values = {**_queue("connq", waiting), **_queue("connqAll", waiting), "activeMemberCnt": active}
    if store.version >= MEMBERS_SINCE:
        values |= {"availableMemberCnt": active, "memberCnt": len(members)}
    return values


def _of_member(store: Store, member: Item) -> Values:
    """Members have no `tmName` (F5Networks/f5-telemetry-streaming, collectPools.js, of 14.1)."""
    node, port = pools.node_and_port(member.name)
    return {
        **_queue("connq", 0), "addr": member.fields["address"], "port": addresses.port_number(port),
        "nodeName": node, "poolName": member.key[0],
        "monitorStatus": store.kinds["ltm/pool/members"].read(store, member)["state"]}


def _queue(name: str, depth: int) -> Values:
    return {f"{name}.depth": depth,
            **{f"{name}.{each}": 0 for each in ("ageEdm", "ageEma", "ageHead", "ageMax", "serviced")}}


def _of_profile(store: Store, profile: Item) -> Values:
    """Counters of a profile that a virtual server uses, of that virtual server alone.

    Source: F5Networks/f5-telemetry-streaming, collectHttpProfiles.js (names, of 14.1);
    f5devcentral/BigStats#36 (statistics of the profiles of one virtual server). Names of a TCP profile are
    inferred from F5-BIGIP-LOCAL-MIB.
    """
    kind, virtual = profile.fields["type"], profile.key[0]
    tally = store.tallies.get(("ltm/virtual", (virtual,))) or Tally()
    values: Values = {"typeId": f"ltm profile {kind}", "vsName": virtual}
    if kind == "http":
        values |= {f"resp_{digit}xxCnt": tally.responses[digit] for digit in range(2, 6)}
        values["numberReqs"] = tally.requests
    elif kind == "tcp":
        values |= {"accepts": tally.total, "connfails": tally.connect_failures}
    return values


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
