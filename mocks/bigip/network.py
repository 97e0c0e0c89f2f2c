"""Tunnels, FDB records, self IPs, routes, VLANs, route domains (bigip-behaviour.md B9)."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import ClassVar

from mocks.bigip import addresses, names, refusals, versions
from mocks.bigip.attachments import resolve
from mocks.bigip.kinds import GROUPS, Body, Kind, find_in_group
from mocks.bigip.quirks import Quirk
from mocks.bigip.schema import IDENTITY
from mocks.bigip.store import Item, Key, Ref, Store

FDB, RECORDS = "net/fdb/tunnel", "net/fdb/tunnel/records"
_MAC = re.compile(r"^([0-9a-f]{2}:){5}[0-9a-f]{2}$", re.IGNORECASE)


def _port(fields: Body) -> None:
    if not 0 < int(fields["port"]) < 65536:
        raise refusals.invalid_value("port", fields["port"])


class Vxlan(Kind):
    url = "net/tunnels/vxlan"
    word = "VXLAN profile"
    links: ClassVar[dict[str, str]] = {"defaultsFrom": "net/tunnels/vxlan"}

    def initial(self, store: Store, key: Key) -> Body:
        defaults = super().initial(store, key)
        return defaults if key[0] == "/Common/vxlan" else {**defaults, "defaultsFrom": "/Common/vxlan"}

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        if store.has(Quirk.SDN_NOT_LICENSED):
            # the device's text is not known (bigip-behaviour.md B12.11)
            raise refusals.mcpd("01070356", "SDN Services feature not licensed.")
        _port(fields)
        parent = fields.get("defaultsFrom")
        if parent:
            fields["defaultsFrom"] = resolve(store, parent, f"/{names.partition_of(key[0])}", (self.url,))
        return fields

    def references(self, item: Item) -> Iterable[Ref]:
        parent = item.fields.get("defaultsFrom")
        return [("tunnel profile", parent)] if parent else []

    def check_references(self, store: Store, item: Item) -> None:
        parent = item.fields.get("defaultsFrom")
        if parent and store.get(self.url, parent) is None:
            raise refusals.not_found(self.word, parent)

    def check_unused(self, store: Store, item: Item) -> None:
        for kind, key in store.users("tunnel profile", item.path):
            raise refusals.in_use(self.word, item.path, f"{store.kinds[kind].word} ({key[0]})")


class Tunnel(Kind):
    url = "net/tunnels/tunnel"
    word = "Tunnel"
    required = ("profile",)
    ignored = frozenset(("ifIndex",))
    links: ClassVar[dict[str, str]] = {"profile": "net/tunnels/vxlan", "trafficGroup": "cm/traffic-group"}
    _fixed = ("profile", "trafficGroup")
    _factory: ClassVar[dict[str, str]] = {
        "/Common/ipip": "net/tunnels/ipip",
        "/Common/tcp-forward": "net/tunnels/tcp-forward",
    }
    """Profiles of other kinds that every device has; those kinds themselves are not modelled."""

    def references(self, item: Item) -> Iterable[Ref]:
        return [("tunnel profile", item.fields["profile"])]

    def link_target(self, store: Store, item: Item, name: str, value: str) -> str | None:
        return self._factory.get(value) or super().link_target(store, item, name, value)

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        factory = names.full_path(str(fields["profile"]), "/Common")
        fields["profile"] = factory if factory in self._factory else resolve(
            store, fields["profile"], f"/{names.partition_of(key[0])}", ("net/tunnels/vxlan",)
        )
        for name in self._fixed:
            if old is not None and fields.get(name) != old.fields.get(name):
                raise refusals.tmsh(f'"{refusals.dashed(name)}" may not be changed')
        for name in ("localAddress", "remoteAddress", "secondaryAddress"):
            text = str(fields[name])
            if text not in ("any", "any6") and not addresses.is_address(text):
                raise refusals.invalid_value(name, text)
        return fields

    def check_references(self, store: Store, item: Item) -> None:
        profile = item.fields["profile"]
        if profile not in self._factory and store.get("net/tunnels/vxlan", profile) is None:
            raise refusals.not_found("tunnel profile", profile)

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        if old is None:
            hidden = {**item.hidden, "index": store.next_number("ifIndex", 144, 16)}
            store.put(self.url, item.key, item.fields, hidden)
            store.put(FDB, item.key, {})

    def delete(self, store: Store, item: Item) -> None:
        super().delete(store, item)
        store.remove(FDB, item.key)

    def check_unused(self, store: Store, item: Item) -> None:
        check_vlan_unused(store, self.word, item)

    def read(self, store: Store, item: Item) -> Body:
        fields = {**item.fields, "ifIndex": item.hidden["index"]}
        if store.has(Quirk.TUNNEL_ADDRESSES_ANY):
            fields = {name: "any" if value == "any6" else value for name, value in fields.items()}
        return fields


def check_vlan_unused(store: Store, word: str, item: Item) -> None:
    """Self IPs, routes and virtual servers hold a VLAN or a tunnel (bigip-behaviour.md B1)."""
    for kind, key in store.users("vlan", item.path):
        by = {"net/self": "self IP", "net/route": "route", "ltm/virtual": "virtual server"}.get(kind, kind)
        raise refusals.in_use(word, item.path, f"{by} ({key[0]})")


class FDBTunnel(Kind):
    """One for each tunnel; it comes and goes with it."""

    url = FDB
    word = "FDB tunnel"
    counts_in_folder = False
    deletable = False
    subs = (RECORDS,)

    def create(self, store: Store, parent: Key, body: Body) -> Item:
        raise refusals.tmsh("enter a valid option")

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        if "records" in body:
            store.kinds[RECORDS].set_all(store, item.key, body["records"] or [])

    def read(self, store: Store, item: Item) -> Body:
        """Up to 11.6 the records are part of the object (bigip-behaviour.md B9)."""
        records = store.children(RECORDS, item.key)
        if store.version >= (12,) or not records:
            return item.fields
        kind = store.kinds[RECORDS]
        return {"records": [{"name": record.name, **kind.read(store, record)} for record in records.values()]}


class FDBRecords(Kind):
    url = RECORDS
    word = "FDB record"
    parent = FDB
    partitioned = False
    counts_in_folder = False
    required = ("endpoint",)

    def shown_in_parent(self, store: Store) -> bool:
        return store.version >= (12,)

    def check_new(self, store: Store, key: Key, body: Body) -> None:
        if store.get(FDB, key[0]) is None:
            raise store.kinds[FDB].absent(store, key[:1])
        if not _MAC.match(key[1]):
            raise refusals.invalid_value("name", key[1])
        super().check_new(store, key, body)

    def key_of(self, store: Store, parent: Key, body: Body) -> Key:
        return (*parent, str(body.get("name", "")).lower())

    def key_in_url(self, store: Store, parent: Key, name: str) -> Key:
        return (*parent, name.lower())

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        if not addresses.is_address(str(fields["endpoint"])):
            raise refusals.invalid_value("endpoint", fields["endpoint"])
        return fields

    def set_all(self, store: Store, parent: Key, sent: list[Body]) -> None:
        for name in list(store.children(self.url, parent)):
            store.remove(self.url, (*parent, name))
        for body in sent:
            self.create(store, parent, body)

    def read(self, store: Store, item: Item) -> Body:
        endpoint = item.fields["endpoint"]
        if "%" not in endpoint and store.version >= (13,) and not store.has(Quirk.FDB_ENDPOINT_BARE):
            domain = addresses.default_domain(store, names.partition_of(item.path))
            return {**item.fields, "endpoint": f"{endpoint}%{domain}"}
        return item.fields


class SelfIP(Kind):
    url = "net/self"
    word = "self IP"
    required = ("address", "vlan")
    links: ClassVar[dict[str, str]] = {"vlan": "vlan", "trafficGroup": "cm/traffic-group"}
    ignored = frozenset(("unit", "inheritedTrafficGroup"))

    def key_of(self, store: Store, parent: Key, body: Body) -> Key:
        """A self IP may be called by its address with the length: the name has a `/` (pkg/router/f5/f5.go
        of openshift/origin)."""
        name = str(body.get("name", ""))
        if "/" in name and not name.startswith("/"):
            partition = str(body.get("partition") or body.get("tmPartition") or "Common").strip("/")
            return (f"/{partition}/{name}",)
        return super().key_of(store, parent, body)

    def create(self, store: Store, parent: Key, body: Body) -> Item:
        key = self.key_of(store, parent, body)
        self.check_folder(store, key)
        self.check_new(store, key, body)
        for name in self.required:
            if name not in body:
                raise refusals.missing(name)
        fields = {**self.initial(store, key), **self.accept(store, body, key)}
        return self.write(store, key, fields, body, None)

    def references(self, item: Item) -> Iterable[Ref]:
        return [("vlan", item.fields["vlan"])]

    def uniques(self, item: Item) -> Iterable[Ref]:
        return [("self address", item.fields["address"].partition("/")[0])]

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        folder = f"/{names.partition_of(key[0])}"
        fields["vlan"] = resolve(store, fields["vlan"], folder, GROUPS["vlan"])
        fields["trafficGroup"] = self._traffic_group(folder, str(fields["trafficGroup"]))
        address = str(fields["address"])
        try:
            ipaddress.ip_interface(re.sub(r"%\d+", "", address))
        except ValueError:
            raise refusals.invalid_value("address", address) from None
        if "/" not in address:
            raise refusals.invalid_value("address", address)
        host, _, bits = address.partition("/")
        address = fields["address"] = f"{addresses.shown(store, names.partition_of(key[0]), host)}/{bits}"
        if old is not None and old.fields["address"] != address:
            raise refusals.tmsh('"address" may not be changed')
        holder = store.holder("self address", address.partition("/")[0])
        if holder and holder != key:
            raise refusals.mcpd("01070088", f"Self IP address {address} is already used by {holder[0]}.")
        if fields.get("allowService") in ([], "none"):
            fields.pop("allowService")
        return fields

    def _traffic_group(self, folder: str, name: str) -> str:
        """A bare name lies in the object's partition: the recorded refusal (E:400--traffic-group-missing)."""
        path = names.full_path(name, folder)
        if path not in ("/Common/traffic-group-1", "/Common/traffic-group-local-only"):
            raise refusals.configuration_error(f"Traffic group ({path}) does not exist.")
        return path

    def check_references(self, store: Store, item: Item) -> None:
        if find_in_group(store, "vlan", item.fields["vlan"]) is None:
            raise refusals.not_found("VLAN", item.fields["vlan"])


class Vlan(Kind):
    url = "net/vlan"
    word = "VLAN"
    ignored = frozenset(("ifIndex",))
    subs = ("net/vlan/interfaces",)

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        return {**fields, "tag": int(fields.get("tag") or 4094 - store.count(self.url))}

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        if old is None:
            hidden = {**item.hidden, "index": store.next_number("ifIndex", 144, 16)}
            store.put(self.url, item.key, item.fields, hidden)
        if "interfaces" in body:
            interfaces = store.kinds["net/vlan/interfaces"]
            for name in list(store.children(interfaces.url, item.key)):
                store.remove(interfaces.url, (*item.key, name))
            for interface in body["interfaces"] or ():
                interfaces.create(store, item.key, interface)

    def read(self, store: Store, item: Item) -> Body:
        return {**item.fields, "ifIndex": item.hidden.get("index", 96)}

    def check_unused(self, store: Store, item: Item) -> None:
        check_vlan_unused(store, self.word, item)


class VlanInterfaces(Kind):
    url = "net/vlan/interfaces"
    word = "VLAN interface"
    parent = "net/vlan"
    partitioned = False
    counts_in_folder = False

    def read(self, store: Store, item: Item) -> Body:
        if store.version < versions.REFERENCES:
            return item.fields
        link = f"https://localhost/mgmt/tm/net/interface/{item.name}?ver={versions.text(store.version)}"
        return {**item.fields, "nameReference": {"link": link}}


class RouteDomain(Kind):
    url = "net/route-domain"
    word = "route domain"
    required = ("id",)
    links: ClassVar[dict[str, str]] = {"vlans": "vlan"}

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        return {**fields, "id": int(fields["id"])}

    def check_unused(self, store: Store, item: Item) -> None:
        number = item.fields["id"]
        holders = [
            partition.name for partition in store.all("auth/partition")
            if partition.fields["defaultRouteDomain"] == number
        ]
        if holders:
            raise refusals.mcpd(
                "0107097c",
                f"The specified route domain ({number}) is the default route domain for one "
                f"or more partitions ({', '.join(holders)}) and cannot be deleted.",
            )

    def read(self, store: Store, item: Item) -> Body:
        """Domain 0 lists every VLAN and tunnel without another domain."""
        if item.fields["id"] != 0:
            return item.fields
        return {**item.fields, "vlans": [vlan.path for kind in GROUPS["vlan"] for vlan in store.all(kind)]}


class Arp(Kind):
    url = "net/arp"
    word = "ARP entry"
    first_generation = 0
    required = ("ipAddress", "macAddress")

    def accept(self, store: Store, body: Body, key: Key, old: Item | None = None) -> Body:
        fields = super().accept(store, body, key, old)
        mac = fields.get("macAddress")
        if mac is not None and not _MAC.match(str(mac)):
            raise refusals.invalid_value("macAddress", mac)
        return {name: value for name, value in fields.items() if name not in IDENTITY}
