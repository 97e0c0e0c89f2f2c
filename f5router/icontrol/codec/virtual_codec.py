"""Conversion of virtual servers to and from iControl REST JSON.

A destination is read with its folder, and with a dot in front of the port for IPv6: /Common/10.1.1.1:80,
/P/10.1.1.1%6:443, /P/2001:db8::1.443 (bigip-behaviour.md B7).
"""

import re
from collections.abc import Collection, Iterable
from typing import Any

from f5router.icontrol.codec.ltm_codec import address_of, items, located, path_of
from f5router.model import virtual_server
from f5router.model.front_end_names import base_name
from f5router.model.json_types import JSON
from f5router.model.placement import UNMANAGED, Reach
from f5router.model.virtual_server import (
    AUTOMAP,
    MARK,
    OWN_PROFILES,
    UNTRANSLATED,
    VirtualServer,
    marked_description,
    metadata_entry,
    state_of,
)

_HOST_MASKS = {False: "255.255.255.255", True: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}
"""Mask of one address; True for IPv6."""
_ANY = {False: "0.0.0.0/0", True: "::/0"}
"""All clients."""
_ENABLED = ("translateAddress", "translatePort")
_TRANSPORT_AND_HTTP = frozenset({"tcp", "udp", "sctp", "fastl4", "http", "fasthttp"})
"""Types of profiles that exclude those of the router: one for each side (bigip-behaviour.md B7)."""


def destination_port(obj: JSON) -> int:
    """Return the port of a virtual server's destination; 0 for any."""
    match = re.search(r"[:.](\d+)$", str(obj.get("destination", "")))
    return int(match.group(1)) if match else 0


NAMED_ADDRESS = "f5routerNamedAddress"
"""Key of the address that is added to what was read, where the destination has the name of one."""


def names_address(obj: JSON) -> bool:
    """True if the destination of a virtual server has the name of a virtual address that is no address."""
    name = address_path(obj).rsplit("/", 1)[-1]
    return bool(name) and not address_of(name) and name.partition("%")[0] not in ("any", "any6")


def destination_address(obj: JSON) -> str:
    """Return the canonical address of a virtual server without route domain; "" if it has none."""
    return address_of(str(obj.get(NAMED_ADDRESS, address_path(obj).rsplit("/", 1)[-1])))


def address_path(obj: JSON) -> str:
    """Return the full path in the destination of a virtual server: that of its virtual address, or its
    folder and its address."""
    return re.sub(r"[:.](\d+|any)$", "", str(obj.get("destination", "")))


def place(obj: JSON) -> tuple[str, int]:
    """Return the address and the port of a virtual server."""
    return destination_address(obj), destination_port(obj)


def state(raw: JSON) -> bool | None:
    """Return whether the router has enabled a virtual server; None if it is not one of the router's."""
    return state_of(str(raw.get("description") or ""), _metadata(raw))


def is_adopted(raw: JSON) -> bool:
    """True if an administrator made a virtual server of the router."""
    return virtual_server.is_adopted(str(raw.get("description") or ""), _metadata(raw))


def _metadata(raw: JSON) -> list[tuple[str, str]]:
    return [(str(entry.get("name")), str(entry.get("value"))) for entry in raw.get("metadata") or ()]


def decode(raw: JSON, wanted: Reach = UNMANAGED, named: Collection[str] = ()) -> VirtualServer:
    """Decode a virtual server of the router, read with its profiles.

    Args:
        wanted: says what is set of its reach.
        named: full paths of the administrator's TCP and HTTP profiles that the settings name.
    """
    path, address = path_of(raw), destination_address(raw)
    folder = path.rpartition("/")[0]
    attached = ((path_of(item), str(item.get("context", ""))) for item in items(raw, "profiles"))
    return VirtualServer(
        path, address, destination_port(raw),
        frozenset(each for each in attached if is_own_profile(folder, each[0]) or each[0] in named),
        decode_translation(raw),
        int(raw.get("connectionLimit") or 0), _decode_reach(raw, wanted),
        as_ours=takes_all(raw) and raw.get("ipProtocol") == "tcp"
        and all(raw.get(name, "enabled") == "enabled" for name in _ENABLED),
        is_adopted=is_adopted(raw))


def takes_all(raw: JSON) -> bool:
    """True if a virtual server is for one address and for all clients."""
    ipv6 = ":" in destination_address(raw)
    source = re.sub(r"%\d+", "", str(raw.get("source", _ANY[ipv6])))
    return source == _ANY[ipv6] and raw.get("mask", _HOST_MASKS[ipv6]) == _HOST_MASKS[ipv6]


def is_own_profile(folder: str, path: str) -> bool:
    """True for the path of one of the router's TCP and HTTP profiles. Args: folder: of the router."""
    return path.rpartition("/")[0] == folder and base_name(path) in OWN_PROFILES


def _decode_reach(raw: JSON, wanted: Reach) -> Reach:
    vlans = {str(path) for path in raw.get("vlans") or ()}
    if raw.get("vlansEnabled") is not True:
        vlans = {f"not {path}" for path in vlans}  # all others: no setting asks for that
    return Reach(None if wanted.vlans is None else frozenset(vlans),
                 None if wanted.mirrored is None else raw.get("mirror") == "enabled")


def _encode_reach(reach: Reach) -> dict[str, Any]:
    body: dict[str, Any] = {}
    if reach.vlans is not None:
        body = {"vlansEnabled" if reach.vlans else "vlansDisabled": True, "vlans": sorted(reach.vlans)}
    if reach.mirrored is not None:
        body["mirror"] = "enabled" if reach.mirrored else "disabled"
    return body


def translation(text: str) -> dict[str, str]:
    """Encode a source address translation."""
    return {"type": text} if text in (AUTOMAP, UNTRANSLATED) else {"type": "snat", "pool": text}


def decode_translation(raw: JSON) -> str:
    """Decode a source address translation; one of another type than `snat` equals none that is wanted."""
    source = raw.get("sourceAddressTranslation") or {}
    kind, pool = str(source.get("type", UNTRANSLATED)), str(source.get("pool", ""))
    return pool if kind == "snat" else f"{kind} {pool}".strip()


def changes(server: VirtualServer) -> dict[str, Any]:
    """Encode what decides which requests come, for a PATCH. The device refuses a part of it alone."""
    ipv6, folder = ":" in server.address, server.path.rpartition("/")[0]
    return {
        "destination": f"{folder}/{server.address}{'.' if ipv6 else ':'}{server.port}",
        "mask": _HOST_MASKS[ipv6], "source": _ANY[ipv6], "ipProtocol": "tcp",
        **dict.fromkeys(_ENABLED, "enabled"),
        "sourceAddressTranslation": translation(server.translation),
        "connectionLimit": server.connection_limit, **_encode_reach(server.reach),
    }


def correction(raw: JSON, server: VirtualServer) -> dict[str, Any]:
    """Encode what decides which requests come, for a PATCH of one that is there.

    A place that is right stays as it is written: an administrator's virtual address may be in /Common.
    """
    kept = {"destination": raw["destination"]} if place(raw) == (server.address, server.port) else {}
    return {**changes(server), **kept}


def creation(server: VirtualServer) -> dict[str, Any]:
    """Encode the body of a POST: disabled, and open to all clients of its route domain."""
    body = {**located(server.path), **changes(server), "profiles": profile_list(server.profiles),
            "disabled": True}
    del body["source"]  # by default, that of the destination's route domain
    return body


def profile_list(profiles: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """Encode profiles with their contexts."""
    return [{"name": path, "context": context} for path, context in sorted(profiles)]


def untyped(raw: JSON) -> list[str]:
    """Return the full paths of profiles whose type is not read: their reference has it from 12.0 on."""
    folder = path_of(raw).rpartition("/")[0]
    return [path for item in items(raw, "profiles") if not type_of(item)
            and not (path := path_of(item)).startswith(f"{folder}/openshift_")]


def with_profiles(raw: JSON, server: VirtualServer,
                  excluded: Collection[str] = ()) -> list[dict[str, str]]:
    """Encode all profiles of a virtual server: those of the router in the place of others that exclude them.

    Args: excluded: full paths of such profiles among the `untyped` ones; others of those stay.
    """
    kept = {(path_of(item), str(item.get("context", ""))) for item in items(raw, "profiles")
            if type_of(item) not in _TRANSPORT_AND_HTTP and path_of(item) not in excluded}
    folder, wanted = server.path.rpartition("/")[0], {path for path, _ in server.profiles}
    return profile_list({each for each in kept if each[0] not in wanted and not is_own_profile(
        folder, each[0])} | server.profiles)


def type_of(item: JSON) -> str:
    """Return the type of a profile of a virtual server: tcp; "" below TMOS 12.0."""
    link = str((item.get("nameReference") or {}).get("link", ""))
    match = re.search(r"/ltm/profile/([a-z0-9-]+)/", link)
    return match.group(1) if match else ""


def marks(raw: JSON, description: str, *, listening: bool, metadata: bool) -> dict[str, Any]:
    """Encode both marks.

    Args: raw: what is there, whose other metadata stays; metadata: True if the device has metadata.
    """
    body: dict[str, Any] = {"description": marked_description(description, listening=listening,
                                                              adopted=is_adopted(raw))}
    if metadata:
        others = [entry for entry in raw.get("metadata") or () if entry.get("name") != MARK]
        body["metadata"] = [*others, metadata_entry(listening=listening)]
    return body
