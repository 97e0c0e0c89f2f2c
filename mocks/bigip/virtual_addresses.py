"""Virtual addresses, which come with their first virtual server and go with the last
(bigip-behaviour.md B7)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from mocks.bigip import addresses, destinations, names, refusals
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Key, Ref, Store

LOCAL_ONLY = "/Common/traffic-group-local-only"
"""The traffic group whose addresses do not float (K12042624)."""
_WIDE_ADVERTISEMENT = ("selective", "always", "any", "all")
"""Values of routeAdvertisement from 13.0 on (F5Networks/f5-ansible, `bigip_virtual_address`)."""


class VirtualAddress(Kind):
    url = destinations.ADDRESS
    word = "Virtual Address"
    links: ClassVar[dict[str, str]] = {"trafficGroup": "cm/traffic-group"}

    def uniques(self, item: Item) -> Iterable[Ref]:
        return [("virtual address", item.fields["address"])]

    def create(self, store: Store, parent: Key, body: Body) -> Item:
        """POST: a name that is no address, or has a mask or %0, may go with any address."""
        key = self.key_of(store, parent, body)
        self.check_folder(store, key)
        self.check_new(store, key, body)
        fields = {name: value for name, value in self.accept(store, body, key).items() if value is not None}
        return self.write(store, key, {**self.initial(store, key), **fields}, body, None)

    def initial(self, store: Store, key: Key) -> Body:
        """A new one has the traffic group of its folder."""
        folder = store.get("sys/folder", names.folder_of(key[0]))
        group = folder.fields["trafficGroup"] if folder else None
        return {**super().initial(store, key), **({"trafficGroup": group} if group else {})}

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        partition = names.partition_of(key[0])
        sent = str(fields.get("address") or (old.fields["address"] if old else key[0].rsplit("/", 1)[1]))
        if not addresses.is_address(sent):
            raise refusals.invalid_value("address", sent)
        address = "any6" if sent == "any6" else addresses.shown(store, partition, sent)
        if old is not None and address != old.fields["address"]:
            # F5Networks/f5-appsvcs-extension#383
            raise refusals.mcpd(
                "0107176a",
                "Invalid Virtual Address modification. An address change from "
                f"{old.fields['address']} to {address} is not supported",
            )
        if old is None and store.holder("virtual address", address):
            raise self._exists(address)
        if fields["routeAdvertisement"] in _WIDE_ADVERTISEMENT and store.version < (13,):
            raise refusals.invalid_value("routeAdvertisement", fields["routeAdvertisement"])
        where = destinations.joined("", address, "0")
        default = fields["mask"] == self.schema(store).defaults["mask"]
        mask = destinations.host_mask(where) if default else str(fields["mask"])
        fields["mask"] = destinations.check_mask(where, mask)
        return {**fields, "address": address, **self._floating(store, key, fields, body)}

    def _exists(self, address: str) -> refusals.Refusal:
        return refusals.mcpd(
            "0107176c", f"Invalid Virtual Address, the IP address {address} already exists."
        )

    def _floating(self, store: Store, key: Key, fields: Body, body: Body) -> Body:
        """Traffic group, and the two properties that follow from it.

        Raises: Refusal: there is no such traffic group (errors/400--traffic-group-missing.json).
        """
        folder = names.folder_of(key[0])
        group = names.full_path(str(fields["trafficGroup"]), folder)
        if fields["inheritedTrafficGroup"] == "true" and "trafficGroup" not in body:
            group = self.initial(store, key)["trafficGroup"]
        floating = store.unit.traffic_groups
        if group not in (*floating, LOCAL_ONLY):
            raise refusals.configuration_error(f"Traffic group ({group}) does not exist.")
        if group == LOCAL_ONLY:
            return {"trafficGroup": group, "floating": "disabled", "unit": 0}
        return {"trafficGroup": group, "floating": "enabled", "unit": floating.index(group) + 1}

    # -- with virtual servers ----------------------------------------------------------------------

    def make(self, store: Store, destination: str, mask: str) -> str:
        """Have the address of a destination; return the destination, as it is kept.

        Raises: Refusal: the address is in another folder, unless that is taken for it.
        """
        path = destinations.address_path(destination)
        self.check_folder(store, (path,))
        address = destinations.host_of(destination)
        holder = store.holder("virtual address", address)
        if holder is None:
            fields = {**self.initial(store, (path,)), "address": address, "mask": mask}
            if destinations.is_network(destination, mask):
                # F5Networks/f5-appsvcs-extension#325: a network answers neither ARP nor ping
                fields |= {"arp": "disabled", "icmpEcho": "disabled"}
            fields |= self._floating(store, (path,), fields, {})
            store.put(self.url, (path,), fields)
        elif names.folder_of(holder[0]) != names.folder_of(path):
            if not store.has(Quirk.ADDRESS_SHARED_BY_IP):
                raise self._exists(address)
            port = addresses.split_port(destination.rsplit("/", 1)[1])[1]
            return destinations.joined(names.folder_of(holder[0]), address, port)
        return destination

    def drop_later(self, store: Store, destination: str) -> None:
        """Remove an address at the end of the request or transaction, if no virtual server is left on it."""
        path = destinations.address_path(destination)
        store.later(("virtual address", path), lambda: self._drop(store, path))

    def _drop(self, store: Store, path: str) -> None:
        item = of_path(store, path)
        if item is not None and item.fields["autoDelete"] == "true" and not self._is_used(store, item):
            store.remove(self.url, item.key)

    def check_unused(self, store: Store, item: Item) -> None:
        if self._is_used(store, item):
            raise refusals.mcpd("01070344", f"Cannot delete referenced virtual address {item.path}.")

    def _is_used(self, store: Store, item: Item) -> bool:
        """True if a virtual server listens on it; those know it by its address, not by its name."""
        return store.is_used("virtual-address", f"{names.folder_of(item.path)}/{item.fields['address']}")


def of_path(store: Store, path: str) -> Item | None:
    """The virtual address with the address at the end of a path, whatever its name."""
    holder = store.holder("virtual address", path.rsplit("/", 1)[1])
    return store.get(destinations.ADDRESS, *holder) if holder else None


def answers(store: Store, virtual: Item) -> bool:
    """Return False if the address of a virtual server is disabled, which stops all of its virtual servers.

    Source: techdocs.f5.com, BIG-IP Local Traffic Manager, "About virtual addresses".
    """
    item = of_path(store, destinations.address_path(virtual.fields["destination"]))
    return item is None or item.fields["enabled"] == "yes"


def is_here(store: Store, virtual: Item) -> bool:
    """Return True if this unit is active for the traffic group of the address of a virtual server.

    Source: techdocs.f5.com, BIG-IP Device Service Clustering: Administration, "Managing Traffic Groups".
    """
    item = of_path(store, destinations.address_path(virtual.fields["destination"]))
    return store.unit.is_active_for(item.fields["trafficGroup"] if item else "")
