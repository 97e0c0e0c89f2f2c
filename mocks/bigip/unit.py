"""The device as a unit of a pair: failover state, device group, config sync.

Sources: recordings below `cm/` of 11.6.0, 14.1.2.1, 14.1.4.6 and 16.0.0; f5-ansible #1788 and #2378 (texts
of a conflict); the states and colours: F5's manual "BIG-IP Device Service Clustering: Administration".
A standby takes writes like an active unit (f5-ansible #1788): nothing here refuses one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields

HOSTNAME = "bigip1.example.com"
PEER = "bigip2.example.com"
TRAFFIC_GROUP = "/Common/traffic-group-1"

ACTIVE = "ACTIVE"
STATUSES = (ACTIVE, "STANDBY", "OFFLINE", "FORCED OFFLINE")
_COLORS = {ACTIVE: "green", "STANDBY": "gray"}

IN_SYNC, PENDING, CONFLICT, PEER_NEWER = "in-sync", "pending", "conflict", "peer-newer"
INITIAL, SYNCING, DISCONNECTED, FAILED = "initial", "syncing", "disconnected", "failed"
SYNC_STATES = (IN_SYNC, PENDING, CONFLICT, PEER_NEWER, INITIAL, SYNCING, DISCONNECTED, FAILED)

NOT_SYNCED = frozenset(("net/fdb/tunnel", "net/fdb/tunnel/records", "net/self", "net/vlan",
                        "net/vlan/interfaces"))
"""Writes of these leave the sync state alone: FDB, VLANs, and self IPs that do not float (K13946 and its
like)."""


def management(number: int) -> str:
    """The address of the management port of a unit."""
    return f"192.0.2.{number}"


@dataclass
class Unit:
    """State that the fake reports below `cm/`. Change it under the store's lock."""

    number: int = 1
    """1 or 2: decides its addresses."""
    status: str = ACTIVE
    hostname: str = HOSTNAME
    peer: str = PEER
    """Name of the other unit."""
    peer_status: str = ""
    """Failover state of the other unit, where a `Pair` has one; "": the opposite of `status`."""
    active_for: tuple[str, ...] = (TRAFFIC_GROUP,)
    traffic_groups: tuple[str, ...] = (TRAFFIC_GROUP,)
    group: str = ""
    """Name of the sync-failover group; "" for a stand-alone device."""
    auto_sync: bool = False
    sync: str = IN_SYNC
    syncs: list[str] = field(default_factory=list)
    """Commands of config sync that were accepted."""
    overwritten: int = 0
    """How often config sync replaced changes that only the peer had."""
    sync_to_peer: Callable[[], bool] | None = None
    """Copies the configuration to the other unit of a `Pair`; False if that cannot be reached."""

    def set(self, *, failover: str | None = None, sync: str | None = None, group: str | None = None) -> None:
        """Change what is given. Raises: ValueError: there is no such state."""
        if failover is not None and failover not in STATUSES:
            raise ValueError(f"no such failover state: {failover}")
        if sync is not None and sync not in SYNC_STATES:
            raise ValueError(f"no such sync state: {sync}")
        self.status = failover or self.status
        self.group = self.group if group is None else group
        self.sync = sync or self.sync

    def is_active_for(self, group: str) -> bool:
        """Return True if this unit answers at the addresses of a traffic group.

        A device that stands alone, or does not tell its traffic groups, is active for all.
        """
        alone = not self.group or not self.active_for
        return self.status == ACTIVE and (alone or group in self.active_for
                                          or group not in self.traffic_groups)

    def changed(self, kinds: set[str]) -> None:
        """Note that configuration was written on this unit."""
        if not self.group or not kinds - NOT_SYNCED:
            return
        if self.sync == IN_SYNC and not self.auto_sync:
            self.sync = PENDING
        elif self.sync == PEER_NEWER:
            self.sync = CONFLICT

    def peer_changed(self) -> None:
        """Note that somebody changed the configuration on the peer."""
        self.sync = {IN_SYNC: PEER_NEWER, PENDING: CONFLICT}.get(self.sync, self.sync)

    def pushed(self, command: str) -> None:
        """Carry out `config-sync to-group`."""
        self.syncs.append(command)
        if self.sync in (DISCONNECTED, FAILED):
            return
        self.overwritten += self.sync in (CONFLICT, PEER_NEWER)
        if self.sync_to_peer is None or self.sync_to_peer():
            self.sync = IN_SYNC

    def shown(self) -> dict[str, object]:
        """Return the state as JSON has it."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name != "sync_to_peer"}

    def failover_texts(self) -> tuple[dict[str, str], list[str]]:
        """Fields and details of cm/failover-status."""
        total = len(self.traffic_groups)
        if self.status == ACTIVE:
            details = [f"active for {group}" for group in self.active_for]
            summary = f"{len(self.active_for)}/{total} active"
        else:
            details, summary = [], f"{total}/{total} {self.status.lower()}"
        return {"color": _COLORS.get(self.status, "red"), "status": self.status, "summary": summary}, details

    def sync_texts(self) -> tuple[dict[str, str], list[str]]:
        """Fields and details of cm/sync-status."""
        if not self.group:
            alone = {"color": "green", "mode": "standalone", "status": "Standalone", "summary": " "}
            return alone, ["Optional action: Add a device to the trust domain"]
        conflict = f"There is a possible change conflict between {self.peer} and {self.hostname}."
        pending = "One or more devices in the device group have changes pending"
        color, status, summary, source = {
            IN_SYNC: ("green", "In Sync", "All devices in the device group are in sync", ""),
            PENDING: ("yellow", "Changes Pending", pending, self.hostname),
            PEER_NEWER: ("yellow", "Changes Pending", pending, self.peer),
            CONFLICT: ("red", "Changes Pending", conflict, self.hostname),
            INITIAL: ("blue", "Awaiting Initial Sync", "The device group is awaiting the initial config sync",
                      self.hostname),
            SYNCING: ("blue", "Syncing", "The device group is syncing", ""),
            DISCONNECTED: ("red", "Disconnected", "One or more devices are disconnected", ""),
            FAILED: ("red", "Sync Failure", "A device could not load the configuration", ""),
        }[self.sync]
        link = "disconnected" if self.sync == DISCONNECTED else "connected"
        details = [f"{self.peer}: {link}", f"{self.group} ({status}): {summary}"]
        if source:
            details.append(f" - Recommended action: Synchronize {source} to group {self.group}")
        return {"color": color, "mode": "high-availability", "status": status, "summary": summary}, details
