"""Selections of a virtual server: an SSL profile by server name, the members of a pool.

`traffic.decide` and the data plane share it. Answers come from the reverse index of the store: a virtual
server may have thousands of client-ssl profiles. Source: bigip-behaviour.md B3, B8, B11.
"""

from __future__ import annotations

from typing import Any

from mocks.bigip import attachments, pools, profiles
from mocks.bigip.store import Item, Store


def client_ssl(store: Store, virtual: str, sni: str | None) -> str | None:
    """Full path of the client-ssl profile for a server name; None: none for this name.

    Exact name, wildcard, else the default profile; a single profile is its own default
    (bigip-behaviour.md B11).
    """
    sni = (sni or "").lower().removesuffix(".")
    for host in (sni, f"*.{sni.partition('.')[2]}") if sni else ():
        named = _attached(store, "server name", f"{virtual} client-ssl {host}")
        if named:
            return named[0]
    default = _attached(store, "sni default", f"{virtual} client-ssl")
    if not default and store.count_users("profile type", f"{virtual} client-ssl") == 1:
        default = _attached(store, "profile type", f"{virtual} client-ssl")
    if not default:
        return None
    fields = profile_fields(store, default[0])
    refused = fields.get("sniRequire") == "true" or fields.get("mode") == "disabled"
    return None if refused else default[0]


def server_ssl(store: Store, virtual: str) -> str | None:
    """Full path of the first server-ssl profile of a virtual server."""
    return next(iter(_attached(store, "profile type", f"{virtual} server-ssl")), None)


def of_type(store: Store, virtual: str, kind: str) -> str | None:
    """Full path of a virtual server's profile of a type such as http."""
    return next(iter(_attached(store, "profile type", f"{virtual} {kind}")), None)


def of_side(store: Store, virtual: str, kind: str, side: str) -> str | None:
    """Full path of a virtual server's profile of a type such as tcp for one side."""
    return next(iter(_attached(store, "profile side", f"{virtual} {kind} {side}")), None)


def _attached(store: Store, group: str, value: str) -> list[str]:
    return [key[1] for kind, key in store.users(group, value) if kind == attachments.PROFILES]


def profile_fields(store: Store, path: str) -> dict[str, Any]:
    """All properties of a profile with a full path, inherited ones too; kept until something is written."""
    kept = store.kept.get("profile fields")
    if kept is None or kept[0] != store.changes:
        kept = store.kept["profile fields"] = (store.changes, {})
    if path not in kept[1]:
        url = f"ltm/profile/{profiles.type_of(store, path)}"
        kept[1][path] = store.kinds[url].effective(store, store.get(url, path))
    return kept[1][path]


def members(store: Store, pool: str) -> tuple[str, ...]:
    """Names of the members that take new connections: enabled and not forced down."""
    every = store.children("ltm/pool/members", (pool,)).values()
    return tuple(sorted(member.name.rsplit("/", 1)[1] for member in every if takes_new(store, member)))


def takes_new(store: Store, member: Item) -> bool:
    """True if neither the member nor its LTM node is disabled or forced down (bigip-behaviour.md B3)."""
    return all(session == "user-enabled" and state == "user-up" for session, state in _wishes(store, member))


def forced_down(store: Store, member: Item) -> bool:
    """A disabled member keeps its persistent clients, one that is forced down keeps none
    (bigip-behaviour.md B3)."""
    return any(state != "user-up" for _, state in _wishes(store, member))


def _wishes(store: Store, member: Item) -> list[tuple[str, str]]:
    node = store.get("ltm/node", pools.node_and_port(member.name)[0])
    parts = (member.fields, node.fields if node else {})
    return [(fields.get("session", "user-enabled"), fields.get("state", "user-up")) for fields in parts]
