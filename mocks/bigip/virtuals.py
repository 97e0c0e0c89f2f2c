"""Virtual servers and their virtual addresses (bigip-behaviour.md B7)."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import ClassVar

from mocks.bigip import addresses, attachments, names, refusals
from mocks.bigip.attachments import POLICIES, PROFILES, resolve
from mocks.bigip.kinds import GROUPS, Body, Kind, find_in_group
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Key, Ref, Store

_PAIRS = (("enabled", "disabled"), ("vlansEnabled", "vlansDisabled"))


class Virtual(Kind):
    url = "ltm/virtual"
    word = "Virtual Server"
    subs = (POLICIES, PROFILES)
    required = ("destination",)
    ignored = frozenset(("creationTime", "lastModifiedTime", "vsIndex", "synCookieStatus"))
    links: ClassVar[dict[str, str]] = {
        "pool": "ltm/pool",
        "rules": "ltm/rule",
        "vlans": "vlan",
        "fallbackPersistence": "persistence",
    }

    def references(self, item: Item) -> Iterable[Ref]:
        fields, references = item.fields, []
        if fields.get("pool"):
            references.append(("pool", fields["pool"]))
        references += [("rule", rule) for rule in fields.get("rules", ())]
        references += [("vlan", vlan) for vlan in fields.get("vlans", ())]
        references += [("persistence", f"/{entry['partition']}/{entry['name']}")
                       for entry in fields.get("persist", ())]
        snat = fields.get("sourceAddressTranslation", {})
        if snat.get("pool"):
            references.append(("snatpool", snat["pool"]))
        references.append(("virtual-address", _address_path(item.path, fields["destination"])))
        return references

    def uniques(self, item: Item) -> Iterable[Ref]:
        fields = item.fields
        where = (
            fields["destination"].rsplit("/", 1)[1],
            fields["source"],
            fields["ipProtocol"],
            ",".join(sorted(fields.get("vlans", ()))),
        )
        return [("destination", " ".join(where))]

    def modify(self, store: Store, item: Item, body: Body) -> Item:
        return super().modify(store, item, _without_partner(body))

    def replace(self, store: Store, item: Item, body: Body) -> Item:
        if store.has(Quirk.PUT_VIRTUAL_REFUSED) and "selfLink" in body:
            raise refusals.rest(
                "One of the following features must be licensed/provisioned for the URI "
                "ltm/virtual/fw-enforced-policy : afm"
            )
        source = body.get("source")
        destination = str(body.get("destination", item.fields["destination"]))
        if source is None and store.version >= (12,) and _ipv6(destination):
            body = {**body, "source": "0.0.0.0/0"}
        body = {
            "destination": item.fields["destination"],
            "profiles": [],
            "policies": [],
            "rules": [],
            **body,
        }
        return super().replace(store, item, body)

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        partition = names.partition_of(key[0])
        folder = f"/{partition}"
        fields["destination"] = _destination(store, partition, str(fields["destination"]))
        if "source" not in body and old is None:
            fields["source"] = _default_source(fields["destination"])
        fields["source"] = _shown_source(store, partition, str(fields["source"]))
        if _is_wildcard(fields["destination"]) and old is None:
            # recorded: 12.1.2, a virtual server on 0.0.0.0:0
            fields |= {name: body.get(name, "disabled") for name in ("translateAddress", "translatePort")}
        self._check_source(key[0], fields)
        for name, folder_of in (("pool", folder), ("fallbackPersistence", "/Common")):
            if name in fields and fields[name] not in ("", "none"):
                fields[name] = resolve(
                    store, str(fields[name]), folder_of, ("ltm/pool",) if name == "pool" else ()
                )
            else:
                fields.pop(name, None)
        fields["rules"] = [resolve(store, rule, folder, ("ltm/rule",)) for rule in fields.get("rules") or ()]
        fields["vlans"] = [resolve(store, vlan, folder, GROUPS["vlan"]) for vlan in fields.get("vlans") or ()]
        fields["persist"] = _persist(store, fields.get("persist") or [])
        fields["sourceAddressTranslation"] = _snat(store, folder, fields["sourceAddressTranslation"])
        return _exclusive({name: value for name, value in fields.items() if value not in ([], ())}, body, old)

    def _check_source(self, path: str, fields: Body) -> None:
        source = fields["source"].partition("/")[0].partition("%")[0]
        destination = addresses.split_port(fields["destination"].rsplit("/", 1)[1])[0].partition("%")[0]
        if (":" in source) != (":" in destination or destination == "any6"):
            raise refusals.mcpd(
                "0107028c",
                f"The source ({source}) and destination ({destination}) addresses for "
                f"virtual server ({path}) must be be the same type (IPv4 or IPv6).",
            )

    def check_references(self, store: Store, item: Item) -> None:
        fields = item.fields
        if fields.get("pool") and store.get("ltm/pool", fields["pool"]) is None:
            raise refusals.foreign_key(fields["pool"], self.word, item.path, "pool_FK")
        for rule in fields.get("rules", ()):
            if store.get("ltm/rule", rule) is None:
                raise refusals.foreign_key(rule, self.word, item.path, "rule_FK")
        for vlan in fields.get("vlans", ()):
            if find_in_group(store, "vlan", vlan) is None:
                raise refusals.foreign_key(vlan, self.word, item.path, "vlan_FK")
        snat = fields["sourceAddressTranslation"].get("pool")
        if snat and store.get("ltm/snatpool", snat) is None:
            raise refusals.foreign_key(snat, self.word, item.path, "snatpool_FK")

    def write(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Item:
        before = old.fields["destination"] if old else None
        holder_of = self._clash(store, key, fields, body, old)
        if holder_of and holder_of != key:
            raise refusals.mcpd(
                "01070333",
                f"Virtual Server {key[0]} illegally shares destination address, source address, service "
                f"port, ip-protocol, and vlan with Virtual Server {holder_of[0]}.",
            )
        store.kinds["ltm/virtual-address"].make(store, key[0], str(fields["destination"]))
        item = super().write(store, key, fields, body, old)
        if before and before != item.fields["destination"]:
            store.kinds["ltm/virtual-address"].drop(store, _address_path(key[0], before))
        return item

    def _clash(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Key | None:
        fields = self.normalise(store, key, {k: v for k, v in fields.items() if v is not None}, body, old)
        (unique,) = self.uniques(Item(self.url, key, fields, 0))
        return store.holder(*unique)

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        if "profiles" in body or old is None:
            store.kinds[PROFILES].set_all(store, item.key, body.get("profiles") or [])
        if "policies" in body:
            store.kinds[POLICIES].set_all(store, item.key, body["policies"] or [])
        hidden = {"created": store.clock(), "index": 0, **item.hidden, "modified": store.clock()}
        if not hidden["index"]:
            hidden["index"] = store.next_number("vsIndex", 2)
        store.put(self.url, item.key, item.fields, hidden)
        self.check_later(store, item.path)

    def delete(self, store: Store, item: Item) -> None:
        super().delete(store, item)
        store.kinds["ltm/virtual-address"].drop(store, _address_path(item.path, item.fields["destination"]))

    def check_unused(self, store: Store, item: Item) -> None:
        for kind, key in store.users("virtual", item.path):
            raise refusals.in_use(self.word, item.path, f"{store.kinds[kind].word} ({' '.join(key)})")

    def changed_parent(self, store: Store, key: Key) -> None:
        if store.get(self.url, *key) is not None:
            self.check_later(store, key[0])

    def check_later(self, store: Store, path: str) -> None:
        """Check profiles, policies and iRules together when the request is done."""
        store.later(("virtual", path), lambda: attachments.check_whole(store, path))

    def read(self, store: Store, item: Item) -> Body:
        fields = {**item.fields, "vsIndex": item.hidden["index"]}
        if store.version >= (14,):
            for name, when in (("creationTime", "created"), ("lastModifiedTime", "modified")):
                moment = datetime.datetime.fromtimestamp(item.hidden[when], datetime.UTC)
                fields[name] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        return fields


def _without_partner(body: Body) -> Body:
    """Both of an exclusive pair at once are refused (bigip-behaviour.md A2.1)."""
    for on, off in _PAIRS:
        if body.get(on) and body.get(off):
            raise refusals.may_not(refusals.dashed(on), refusals.dashed(off))
    return body


def _exclusive(fields: Body, body: Body, old: Item | None) -> Body:
    """Check that of `enabled`/`disabled` and the like exactly one is there, and true."""
    for on, off in _PAIRS:
        _without_partner({name: body.get(name) for name in (on, off)})
        default = on if on == "enabled" else off
        chosen = default
        for name in (on, off):
            if body.get(name) is True or (
                name not in body and fields.get(name) and not (body.keys() & {on, off})
            ):
                chosen = name
            elif body.get(name) is False:
                chosen = off if name == on else on
        fields.pop(on, None)
        fields.pop(off, None)
        fields[chosen] = True
    return fields


def _ipv6(destination: str) -> bool:
    return destination.rsplit("/", 1)[-1].count(":") > 1


def _destination(store: Store, partition: str, text: str) -> str:
    """`10.1.1.1:80` -> `/P/10.1.1.1:80`; names of services become numbers. Raises: Refusal: no address."""
    folder, _, last = text.rpartition("/")
    try:
        host, port = addresses.split_port(last)
        host = host if host in ("any", "any6") else addresses.shown(store, partition, host)
    except ValueError:
        raise refusals.invalid_value("destination", text) from None
    host = "0.0.0.0" if host == "any" else host
    separator = "." if ":" in host or host == "any6" else ":"
    number = addresses.port_number(port)
    shown = "any" if not number and separator == "." else number
    return f"{folder or f'/{partition}'}/{host}{separator}{shown}"


def _is_wildcard(destination: str) -> bool:
    return addresses.split_port(destination.rsplit("/", 1)[1])[0].partition("%")[0] in (
        "0.0.0.0",
        "::",
        "any6",
    )


def _default_source(destination: str) -> str:
    host = addresses.split_port(destination.rsplit("/", 1)[1])[0]
    address, percent, domain = host.partition("%")
    return f"{'::' if ':' in address or address == 'any6' else '0.0.0.0'}{percent}{domain}/0"


def _shown_source(store: Store, partition: str, text: str) -> str:
    """A source as it is read: without the `%0` that f5-cccl writes."""
    host, slash, bits = text.partition("/")
    return f"{addresses.shown(store, partition, host)}{slash}{bits}" if addresses.is_address(host) else text


def _address_path(virtual: str, destination: str) -> str:
    folder, _, last = destination.rpartition("/")
    return f"{folder}/{addresses.split_port(last)[0]}"


def _persist(store: Store, sent: list) -> list[Body]:
    entries = []
    for given in sent:
        body = {"name": given} if isinstance(given, str) else given
        path = names.from_body({k: v for k, v in body.items() if k in ("name", "partition", "subPath")})
        item = find_in_group(store, "persistence", path)
        if item is None:
            raise refusals.not_found("persistence profile", path)
        partition, _, name = names.split(path)
        entry = {"name": name, "partition": partition, "tmDefault": str(body.get("tmDefault", "yes"))}
        if store.version >= (12,):
            entry["nameReference"] = {
                "link": f"https://localhost/mgmt/tm/{item.kind}/{names.encode_segment(path)}"
                f"?ver={'.'.join(map(str, store.version))}"
            }
        entries.append(entry)
    return entries


def _snat(store: Store, folder: str, sent: Body) -> Body:
    kind = sent.get("type", "none")
    if kind not in ("none", "automap", "snat", "lsn"):
        raise refusals.invalid_value("type", kind)
    translation: Body = {"type": kind}
    if sent.get("pool") and sent["pool"] != "none":
        translation["pool"] = resolve(store, sent["pool"], folder, ("ltm/snatpool",))
    return translation


class VirtualAddress(Kind):
    """Made with the first virtual server on an address, gone with the last (bigip-behaviour.md B7)."""

    url = "ltm/virtual-address"
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

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        partition = names.partition_of(key[0])
        sent = str(fields.get("address") or (old.fields["address"] if old else key[0].rsplit("/", 1)[1]))
        if not addresses.is_address(sent):
            raise refusals.invalid_value("address", sent)
        address = addresses.shown(store, partition, sent)
        if old is not None and address != old.fields["address"]:
            raise refusals.tmsh('"address" may not be changed')
        if old is None and store.holder("virtual address", address):
            raise refusals.mcpd(
                "0107176c", f"Invalid Virtual Address, the IP address {address} already exists."
            )
        return {**fields, "address": address}

    def make(self, store: Store, virtual: str, destination: str) -> None:
        """The address of a virtual server, unless the partition has it, under whatever name."""
        partition = names.partition_of(virtual)
        path = _address_path(virtual, _destination(store, partition, destination))
        self.check_folder(store, (path,))
        address = path.rsplit("/", 1)[1]
        holder = store.holder("virtual address", address)
        if holder is None:
            store.put(self.url, (path,), {**self.initial(store, (path,)), "address": address})
        elif names.folder_of(holder[0]) != names.folder_of(path):
            raise refusals.mcpd(
                "0107176c", f"Invalid Virtual Address, the IP address {address} already exists."
            )

    def drop(self, store: Store, path: str) -> None:
        holder = store.holder("virtual address", path.rsplit("/", 1)[1])
        item = store.get(self.url, *holder) if holder else None
        if item is not None and item.fields["autoDelete"] == "true" and not self._is_used(store, item):
            store.remove(self.url, item.key)

    def check_unused(self, store: Store, item: Item) -> None:
        if self._is_used(store, item):
            raise refusals.mcpd("01070344", f"Cannot delete referenced virtual address {item.path}.")

    def _is_used(self, store: Store, item: Item) -> bool:
        """True if a virtual server listens on it; those know it by its address, not by its name."""
        return store.is_used("virtual-address", f"{names.folder_of(item.path)}/{item.fields['address']}")
