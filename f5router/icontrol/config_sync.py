"""Config sync of the unit's device group: its status, and the command that starts it.

Sources: recordings below `cm/`; f5-ansible, bigip_configsync_action.py (the command, and the recommended
action as the only hint at a direction) and #1788 (one reply for all groups, groups in sync may be left out);
F5's manual "BIG-IP Device Service Clustering: Administration" (the states and their colours).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.readiness import texts
from f5router.model.json_types import JSON

GROUPS, STATUS, DEVICES, COMMAND = "cm/device-group", "cm/sync-status", "cm/device", "/mgmt/tm/cm"

TRUST = "/Common/device_trust_group"
_GROUP_LINE = re.compile(r"\s*(?P<group>\S+) \((?P<status>[^)]*)\)(?:: *(?P<text>.*))?")
_RECOMMENDED = re.compile(r".*Recommended action: Synchronize (?P<source>.+) to group (?P<group>\S+)")


@dataclass(frozen=True, slots=True)
class DeviceGroup:
    """The group that carries our folder to other units."""

    path: str
    auto_sync: bool

    @property
    def name(self) -> str:
        """Name as the sync status shows it."""
        return self.path.rsplit("/", 1)[1]


@dataclass(frozen=True, slots=True)
class SyncStatus:
    """The sync status of one group."""

    status: str
    """"In Sync", "Changes Pending", ...; "" if the device does not report it."""
    summary: str = ""
    conflict: bool = False
    """Several units have changes that the others lack."""
    source: str = ""
    """Unit whose configuration the device recommends to sync to the group; "" for none."""


def group_of(folder: JSON, reply: JSON) -> DeviceGroup | None:
    """Find the device group of a folder.

    Args:
        folder: properties of the folder.
        reply: the collection of device groups.
    Returns: None if the folder is not synced to another unit.
    """
    items = reply.get("items")
    groups = {str(item.get("fullPath")): item for item in items if isinstance(item, Mapping)
              } if isinstance(items, list) else {}
    path = str(folder.get("deviceGroup") or "none")
    if path == "none" and str(folder.get("inheritedDevicegroup")) == "true":
        # A folder that shows what it inherits names the group itself; not every version is recorded.
        of_failover = [name for name, item in groups.items() if item.get("type") == "sync-failover"]
        path = of_failover[0] if len(of_failover) == 1 else path
    if path not in groups or path == TRUST:
        return None
    return DeviceGroup(path, str(groups[path].get("autoSync")) == "enabled")


def status_of(group: DeviceGroup, reply: JSON) -> SyncStatus:
    """Read the status of one group from a reply of cm/sync-status."""
    pairs = texts(reply)
    fields = {name: text.strip() for name, text in pairs}
    listed: dict[str, tuple[str, str]] = {}
    sources: dict[str, str] = {}
    for line in (text for name, text in pairs if name == "details"):
        if action := _RECOMMENDED.match(line):
            sources[action["group"].rsplit("/", 1)[-1]] = action["source"].strip()
        elif entry := _GROUP_LINE.match(line):
            listed[entry["group"].rsplit("/", 1)[-1]] = entry["status"], entry["text"] or ""
    if group.name in listed:
        status, text = listed[group.name]
    elif listed:
        return SyncStatus("In Sync")
    else:
        status, text = fields.get("status", ""), fields.get("summary", "")
    # The colour is that of all groups, and the line of a group may lack the words: assume a conflict.
    conflict = fields.get("color") == "red" or "conflict" in f"{text} {fields.get('summary')}".lower()
    return SyncStatus(status, text, status == "Changes Pending" and conflict, sources.get(group.name, ""))


class ConfigSync:
    """Config sync of one BIG-IP. Every method raises BigIPError."""

    def __init__(self, client: Callable[[], Client]):
        """Args: client: returns the client of the unit in use."""
        self._client = client

    def group(self, folder: JSON) -> DeviceGroup | None:
        """Read the device group of a folder; None if it is not synced to another unit."""
        return group_of(folder, self._client().get(GROUPS))

    def status(self, group: DeviceGroup) -> SyncStatus:
        """Read the sync status of a group."""
        return status_of(group, self._client().get(STATUS))

    def own_names(self) -> frozenset[str]:
        """Read the names of this unit."""
        items = self._client().get(DEVICES).get("items")
        own = [item for item in items if isinstance(item, Mapping) and str(item.get("selfDevice")) == "true"
               ] if isinstance(items, list) else []
        return frozenset(str(item[key]) for item in own for key in ("name", "fullPath", "hostname")
                         if item.get(key))

    def push(self, group: DeviceGroup) -> None:
        """Start the sync of this unit's configuration to the group; never forced."""
        self._client().post(COMMAND, {"command": "run", "utilCmdArgs": f"config-sync to-group {group.name}"})
