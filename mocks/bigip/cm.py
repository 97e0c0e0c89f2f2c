"""End points below `cm/`: devices, device groups, traffic groups, failover and sync status, config sync."""

from __future__ import annotations

import shlex
from typing import Any

from mocks.bigip import names, refusals, unit, versions
from mocks.bigip.rendering import ROOT, suffix
from mocks.bigip.requests import Request
from mocks.bigip.store import Store

Reply = dict[str, Any]
LOCAL_ONLY = "/Common/traffic-group-local-only"
NAMES = ("device", "device-group", "failover-status", "sync-status", "traffic-group")
"""Collections that can be read."""


def answer(store: Store, segments: list[str], request: Request) -> Reply:
    """Answer a request below /mgmt/tm/cm. Raises: Refusal."""
    if request.method == "POST" and not segments:
        return _run(store, request.body())
    if request.method != "GET":
        raise refusals.tmsh("the fake's cm/ is read only but for config-sync")
    match [names.decode_segment(segment) for segment in segments]:
        case ["failover-status"]:
            return _status(store, "failover-status", "failoverStatus", store.unit.failover_texts())
        case ["sync-status"]:
            return _status(store, "sync-status", "syncStatus", store.unit.sync_texts())
        case ["traffic-group", group, "stats"]:
            return _traffic_group_stats(store, group)
        case ["device-group", group, "devices"]:
            _pick(store, "device-group", _device_groups(store, request), group)
            return _collection(store, f"device-group/{names.encode_segment(group)}/devices",
                               "device-group:devices", _members(store, group))
        case ["device" | "device-group" | "traffic-group" as kind, *rest] if len(rest) < 2:
            items = {"device": _devices, "device-group": _device_groups,
                     "traffic-group": _traffic_groups}[kind](store, request)
            return _pick(store, kind, items, rest[0]) if rest else _collection(store, kind, kind, items)
    raise refusals.rest(f"Found unexpected URI tmapi_mapper/cm/{'/'.join(segments)}.")


def _run(store: Store, body: Reply) -> Reply:
    """`run cm config-sync to-group G`: answered at once."""
    words = shlex.split(str(body.get("utilCmdArgs", "")))
    options = {"force-full-load-push"} if store.version >= (12, 1) else set()
    if body.get("command") != "run" or words[:2] != ["config-sync", "to-group"] or set(words[3:]) - options:
        raise refusals.tmsh(f'"{body.get("utilCmdArgs")}" unexpected argument')
    group = words[2].removeprefix("/Common/") if len(words) > 2 else ""
    if not group or group != store.unit.group:
        raise refusals.configuration_error(f"Device group ({group}) not found in device group sync")
    store.unit.pushed(" ".join(words))
    return {"kind": "tm:cm:runstate", **body}


def _status(store: Store, name: str, camel: str, texts: tuple[dict[str, str], list[str]]) -> Reply:
    """A status in the stats form; the key of the details is in camel case."""
    fields, details = texts
    entries: Reply = {key: {"description": text} for key, text in fields.items()}
    if details:
        url = f"{ROOT}cm/{camel}/0/details"
        entries[url] = {"nestedStats": {"entries": {
            f"{url}/{index}": {"nestedStats": {"entries": {"details": {"description": text}}}}
            for index, text in enumerate(details)}}}
    return {
        "kind": f"tm:cm:{name}:{name}stats",
        "selfLink": f"{ROOT}cm/{name}{suffix(store)}",
        "entries": {f"{ROOT}cm/{name}/0": {"nestedStats": {"entries": entries}}},
    }


def _collection(store: Store, url: str, kind: str, items: list[Reply]) -> Reply:
    last = kind.rsplit(":", 1)[-1]
    return {"kind": f"tm:cm:{kind}:{last}collectionstate",
            "selfLink": f"{ROOT}cm/{url}{suffix(store)}", "items": items}


def _item(store: Store, kind: str, path: str, fields: Reply) -> Reply:
    partition, _, name = names.split(path)
    return {
        "kind": f"tm:cm:{kind}:{kind}state", "name": name, "partition": partition, "fullPath": path,
        "generation": 1,
        "selfLink": f"{ROOT}cm/{kind}/{names.encode_segment(path)}{suffix(store)}",
        **fields,
    }


def _pick(store: Store, kind: str, items: list[Reply], path: str) -> Reply:
    chosen = next((item for item in items if item["fullPath"] == path), None)
    if chosen is None:
        raise refusals.not_found(kind.replace("-", " "), path)
    return chosen


def _devices(store: Store, request: Request) -> list[Reply]:
    own = "active" if store.unit.status == unit.ACTIVE else "standby"
    states = {"OFFLINE": "offline", "FORCED OFFLINE": "forced-offline", unit.ACTIVE: "active",
              "STANDBY": "standby"}
    number = store.unit.number
    devices = [(store.unit.hostname, own, "true", number)]
    if store.unit.group:
        other = states.get(store.unit.peer_status, "standby" if own == "active" else "active")
        devices.append((store.unit.peer, other, "false", 3 - number))
    return [_item(store, "device", f"/Common/{name}", {
        "failoverState": states.get(store.unit.status, state) if own_device == "true" else state,
        "hostname": name, "managementIp": unit.management(index), "selfDevice": own_device,
        "version": versions.text(store.version), **_connectivity(index, joined=bool(store.unit.group)),
    }) for name, state, own_device, index in devices]


def _connectivity(number: int, *, joined: bool) -> Reply:
    """Addresses for config sync, mirroring and failover, in the form of 13.1.1.2 and 11.6.0."""
    if not joined:
        return {"configsyncIp": "none", "mirrorIp": "any6", "mirrorSecondaryIp": "any6",
                "multicastIp": "any6", "multicastPort": 0}
    unicast = [{"effectiveIp": address, "effectivePort": 1026, "ip": address, "port": 1026}
               for address in ("management-ip", f"198.51.100.{10 + number}")]
    return {"configsyncIp": f"198.51.100.{number}", "mirrorIp": f"198.51.100.{20 + number}",
            "mirrorSecondaryIp": f"198.51.100.{30 + number}", "multicastIp": "224.0.0.245",
            "multicastPort": 62960, "unicastAddress": unicast}


def _device_groups(store: Store, request: Request) -> list[Reply]:
    """The trust group, which every device has, and that of the pair."""
    fields = {
        "asmSync": "disabled", "autoSync": "enabled", "fullLoadOnSync": "false",
        "incrementalConfigSyncSizeMax": 1024, "networkFailover": "disabled", "saveOnAutoSync": "false",
        "type": "sync-only",
    }
    groups = {"/Common/device_trust_group": fields}
    if store.unit.group:
        auto = "enabled" if store.unit.auto_sync else "disabled"
        groups[f"/Common/{store.unit.group}"] = {
            **fields, "autoSync": auto, "networkFailover": "enabled", "type": "sync-failover"}
    expand = request.query.get("expandSubcollections") == "true"
    entries = []
    for path, shown in groups.items():
        link = f"{ROOT}cm/device-group/{names.encode_segment(path)}/devices{suffix(store)}"
        reference = {"link": link, "isSubcollection": True}
        if expand:
            reference["items"] = _members(store, path)
        entries.append(_item(store, "device-group", path, {**shown, "devicesReference": reference}))
    return entries


def _members(store: Store, group: str) -> list[Reply]:
    hosts = (store.unit.hostname, store.unit.peer) if store.unit.group else (store.unit.hostname,)
    base = f"{ROOT}cm/device-group/{names.encode_segment(group)}/devices"
    members = []
    for host in hosts:
        name = f"~Common~{host}{suffix(store)}"
        member: Reply = {
            "kind": "tm:cm:device-group:devices:devicesstate", "name": host, "partition": "Common",
            "fullPath": f"/Common/{host}", "generation": 1, "selfLink": f"{base}/{name}",
        }
        if store.version >= versions.REFERENCES:
            member["nameReference"] = {"link": f"{ROOT}cm/device/{name}"}
        members.append(member)
    return members


def _traffic_groups(store: Store, request: Request) -> list[Reply]:
    fields = {"autoFailbackEnabled": "false", "autoFailbackTime": 60, "haLoadFactor": 1, "mac": "none"}
    if store.version >= (13,):
        fields |= {"failoverMethod": "ha-order", "monitor": {}}
    floating = [_item(store, "traffic-group", path, {**fields, "isFloating": "true", "unitId": number})
                for number, path in enumerate(store.unit.traffic_groups, 1)]
    return [*floating, _item(store, "traffic-group", LOCAL_ONLY,
                             {**fields, "isFloating": "false", "unitId": 0})]


def _traffic_group_stats(store: Store, group: str) -> Reply:
    """Which device is active for a traffic group; recorded on 16.0.0."""
    _pick(store, "traffic-group", _traffic_groups(store, Request("GET", "", {}, {}, b"")), group)
    active = store.unit.status == unit.ACTIVE and group in store.unit.active_for
    hosts = [(store.unit.hostname, active)] + ([(store.unit.peer, not active)] if store.unit.group else [])
    base = f"{ROOT}cm/traffic-group/{names.encode_segment(group)}"
    entries = {}
    for host, is_active in hosts:
        url = f"{base}/{names.encode_segment(group)}:~Common~{host}/stats"
        texts = {
            "activeReason": "-", "deviceName": f"/Common/{host}",
            "failoverState": "active" if is_active else "standby",
            "nextActive": "false" if is_active else "true", "previousActive": "false",
            "trafficGroup": group,
        }
        entries[url] = {"nestedStats": {
            "kind": "tm:cm:traffic-group:traffic-groupstats", "selfLink": f"{url}{suffix(store)}",
            "entries": {key: {"description": text} for key, text in texts.items()}}}
    return {"kind": "tm:cm:traffic-group:traffic-groupstats", "generation": 1,
            "selfLink": f"{base}/stats{suffix(store)}", "entries": entries}
