"""Two fake devices as a pair: failover, config sync from one to the other, a unit that reboots.

Sources: F5's manual "BIG-IP Device Service Clustering: Administration", 14.1, Managing Configuration
Synchronization (a sync replaces the configuration of the other units; with auto-sync a change is copied at
once) and Managing Failover; K13946 (self IPs that do not float and VLANs stay on their unit); "BIG-IP TMOS:
Tunneling and IPsec", 14.1, Disabling config sync for tunnels (iptunnel.configsync on both units; tunnels are
copied without it). That profiles of tunnels are copied all the same is taken from scripts. After a reboot
of a unit F5's units have been seen to report a conflict, or one unit as the newer one: tests choose.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mocks.bigip import unit, virtual_addresses
from mocks.bigip.server import FakeBigIP
from mocks.bigip.store import Item, Key

HOSTNAMES = (unit.HOSTNAME, unit.PEER)
_LOCAL_KINDS = frozenset(("auth/user", "sys/db", "sys/provision", "net/vlan", "net/vlan/interfaces",
                          "net/fdb/tunnel", "net/fdb/tunnel/records"))
LOCAL_ONLY = "/Common/traffic-group-local-only"
TUNNELS, FDB, RECORDS = "net/tunnels/tunnel", "net/fdb/tunnel", "net/fdb/tunnel/records"


class Pair:
    """Joins two devices of one version into a sync-failover group; the first one is active.

    The first device's configuration is copied to the second one. Make it before requests come in: both share
    one lock from then on. Their failover states are changed here, not on the devices.
    """

    def __init__(self, first: FakeBigIP, second: FakeBigIP, group: str = "pair", *, auto_sync: bool = False):
        self.units = first, second
        self._changed = [False, False]
        """True for a unit with changes that the other one lacks."""
        self._copying = False
        self._down = False
        """True while one of them is down."""
        second.store.lock = first.store.lock
        with first.store.lock:
            for number, big in enumerate(self.units):
                own = big.store.unit
                own.number, own.hostname, own.peer = number + 1, HOSTNAMES[number], HOSTNAMES[1 - number]
                own.sync_to_peer = lambda number=number: self._copy(number)
                big.join_group(group, auto_sync=auto_sync)
                big.store.on_commit = [told for told in big.store.on_commit if told != big.note_changed]
                big.store.on_commit.append(
                    lambda written, number=number: self._note(number, {kind for kind, _ in written}))
            self._copy(0)
            for big in self.units:
                big.store.save()
                if big.dataplane is not None:
                    big.dataplane.units = tuple(each.store for each in self.units)
        self.set(unit.ACTIVE, "STANDBY")

    # -- failover --------------------------------------------------------------------------------

    def set(self, *states: str) -> None:
        """Set the failover states of both, also impossible ones: two active units, or none."""
        self._set(states, [big.unit.traffic_groups for big in self.units])

    def fail_over(self, group: str = "") -> None:
        """Let the unit that is active become the standby, and the other one take over.

        Args: group: traffic group that moves alone; a unit without one is the standby. "" for all.
        """
        if not group:
            self.set(*reversed([big.unit.status for big in self.units]))
            return
        active_for = [{group} ^ set(big.unit.active_for if big.unit.status == unit.ACTIVE else ())
                      for big in self.units]
        self._set([unit.ACTIVE if groups else "STANDBY" for groups in active_for], active_for)

    def add_traffic_group(self, group: str) -> None:
        """Make a traffic group, which the active unit has. Args: group: full path."""
        for big in self.units:
            with big.store.lock:
                own = big.store.unit
                own.traffic_groups = (*own.traffic_groups, group)
                own.active_for = (*own.active_for, group)

    def _set(self, states: Sequence[str], active_for: Sequence[Collection[str]]) -> None:
        """Set the states of both at one moment. Args: active_for: traffic groups of each."""
        with self.units[0].store.lock:
            for number, big in enumerate(self.units):
                own = big.store.unit
                own.set(failover=states[number])
                own.peer_status, own.active_for = states[1 - number], tuple(sorted(active_for[number]))
        for big in self.units:
            if big.dataplane is not None:
                big.dataplane.sync()

    @property
    def active(self) -> FakeBigIP:
        """The only active unit. Raises: ValueError: there is none, or there are two."""
        (big,) = [big for big in self.units if big.unit.status == unit.ACTIVE and big.is_listening]
        return big

    @property
    def standby(self) -> FakeBigIP:
        """The other unit."""
        return self.units[1 - self.units.index(self.active)]

    def endpoint(self, virtual: str) -> tuple[str, int]:
        """Where a virtual server answers: on the unit that is active for the traffic group of its address."""
        item = self.units[0].store.get("ltm/virtual", virtual)
        return next(big for big in self.units if big.is_listening and virtual_addresses.is_here(
            big.store, item)).endpoint(virtual)

    def crash(self, big: FakeBigIP) -> None:
        """A unit goes down: nothing answers there, and the other one is active."""
        number = self.units.index(big)
        big.stop()
        self._down = True
        self.set(*["OFFLINE" if each == number else unit.ACTIVE for each in (0, 1)])
        self._show()

    def boot(self, big: FakeBigIP, *, conflict: bool = False) -> None:
        """It comes back as the standby, with its last saved configuration; auto-sync brings it up to date.

        Args: conflict: both units count as changed afterwards, and auto-sync does nothing.
        """
        number = self.units.index(big)
        self._copying = True
        try:
            big.restart(lose_unsaved=True)
        finally:
            self._copying = False
        with big.store.lock:
            if conflict:
                self._changed = [True, True]
            elif self._synced_items(0) != self._synced_items(1):
                self._changed[number], self._changed[1 - number] = False, True
        states = [unit.ACTIVE, unit.ACTIVE]
        states[number] = "STANDBY"
        self.set(*states)
        self._down = False
        big.start()
        if big.unit.auto_sync and not conflict and self._changed[1 - number]:
            self._copy(1 - number)
        self._show()

    # -- config sync -----------------------------------------------------------------------------

    def copy(self, source: int) -> None:
        """Replace the configuration of the other unit, as an administrator does. Args: source: 0 or 1."""
        self._copy(source)

    def are_equal(self) -> bool:
        """True if both have the same configuration, apart from what each has of its own."""
        with self.units[0].store.lock:
            return self._synced_items(0) == self._synced_items(1)

    def _note(self, number: int, kinds: set[str]) -> None:
        """Note what was written on a unit; the store's lock is held."""
        if self._copying or not kinds - unit.NOT_SYNCED - self._kept_kinds():
            return
        self._changed[number] = True
        if self.units[number].unit.auto_sync and not self._changed[1 - number]:
            self._copy(number)
        self._show()

    def _copy(self, source: int) -> bool:
        """Replace the configuration of the other unit; False if it does not listen."""
        target = self.units[1 - source].store
        with target.lock:
            if self._down:
                return False
            self._copying = True
            try:
                kept = self._kept_kinds()
                own = [item for item in target.every() if _is_local(item, kept)]
                synced = [item for item in self.units[source].store.every() if not _is_local(item, kept)]
                target.replace(_with_fdb([*synced, *own]))
            finally:
                self._copying = False
            self._changed = [False, False]
            self._show()
            return True

    def _show(self) -> None:
        """Let both units report the state of the sync."""
        connected = not self._down
        for number, big in enumerate(self.units):
            if self._changed[0] and self._changed[1]:
                state = unit.CONFLICT
            elif any(self._changed):
                state = unit.PENDING if self._changed[number] else unit.PEER_NEWER
            else:
                state = unit.IN_SYNC
            big.store.unit.sync = state if connected else unit.DISCONNECTED

    def _synced_items(self, number: int) -> dict[tuple[str, Key], object]:
        kept = self._kept_kinds()
        return {(item.kind, item.key): item.fields for item in self.units[number].store.every()
                if not _is_local(item, kept)}

    def _kept_kinds(self) -> frozenset[str]:
        """Return the kinds that the administrator has excluded from config sync, on both units."""
        variables = [big.store.get("sys/db", "iptunnel.configsync") for big in self.units]
        kept = all(item is not None and item.fields["value"] == "disable" for item in variables)
        return frozenset((TUNNELS,)) if kept else frozenset()


def _is_local(item: Item, kept: frozenset[str]) -> bool:
    """True for an object that config sync leaves out. Args: kept: kinds that each unit has of its own."""
    return item.kind in _LOCAL_KINDS or item.kind in kept or (
        item.kind == "net/self" and item.fields.get("trafficGroup", LOCAL_ONLY) == LOCAL_ONLY)


def _with_fdb(items: list[Item]) -> list[Item]:
    """Return items with an FDB for each tunnel, and for no other."""
    tunnels = {item.key for item in items if item.kind == TUNNELS}
    there = {item.key for item in items if item.kind == FDB}
    return [item for item in items if item.kind not in (FDB, RECORDS) or item.key[:1] in tunnels] + [
        Item(FDB, key, {}, 1, {}) for key in sorted(tunnels - there)]
