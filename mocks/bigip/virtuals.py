"""Virtual servers (bigip-behaviour.md B7)."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import ClassVar

from mocks.bigip import destinations, names, profile_rules, refusals, security
from mocks.bigip.attachments import POLICIES, PROFILES, resolve
from mocks.bigip.kinds import GROUPS, Body, Kind, find_in_group
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Key, Ref, Store
from mocks.bigip.virtual_addresses import of_path

FASTL4 = "/Common/fastL4"
"""The profile of a virtual server without others (F5Networks/terraform-provider-bigip#125)."""
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
        "fwEnforcedPolicy": security.FIREWALL,
        "securityLogProfiles": security.LOG,
    }

    def references(self, item: Item) -> Iterable[Ref]:
        fields, references = item.fields, []
        if fields.get("pool"):
            references.append(("pool", fields["pool"]))
        references += [("rule", rule) for rule in fields.get("rules", ())]
        references += [("vlan", vlan) for vlan in fields.get("vlans", ())]
        references += [("security log profile", path) for path in fields.get("securityLogProfiles", ())]
        if fields.get("fwEnforcedPolicy"):
            references.append(("firewall policy", fields["fwEnforcedPolicy"]))
        references += [("persistence", path) for path in _persistence_of(fields)]
        snat = fields.get("sourceAddressTranslation", {})
        if snat.get("pool"):
            references.append(("snatpool", snat["pool"]))
        references.append(("virtual-address", destinations.address_path(fields["destination"])))
        references.append(("listener", _listener(fields)))
        return references

    def accept(self, store: Store, body: Body, key: Key, old: Item | None = None) -> Body:
        if "metadata" in body and store.has(Quirk.METADATA_UNKNOWN):
            raise refusals.unknown_property("metadata")
        return super().accept(store, body, key, old)

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
        if source is None and store.version >= (12,) and destination.rsplit("/", 1)[-1].count(":") > 1:
            body = {**body, "source": "0.0.0.0/0"}
        body = {
            "destination": self.shown_destination(store, item),
            "profiles": [],
            "policies": [],
            "rules": [],
            **body,
        }
        return super().replace(store, item, body)

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        partition = names.partition_of(key[0])
        folder = f"/{partition}"
        self._place(store, partition, fields, body, old)
        self._check_source(key[0], fields)
        fields["ipProtocol"] = _protocol(fields["ipProtocol"])
        for name, folder_of in (("pool", folder), ("fallbackPersistence", "/Common")):
            if name in fields and fields[name] not in ("", "none"):
                fields[name] = resolve(
                    store, str(fields[name]), folder_of, ("ltm/pool",) if name == "pool" else ()
                )
            else:
                fields.pop(name, None)
        fields["rules"] = [resolve(store, rule, folder, ("ltm/rule",)) for rule in fields.get("rules") or ()]
        fields["securityLogProfiles"] = [
            str(path).strip('"') for path in fields.get("securityLogProfiles") or ()]
        if fields.get("fwEnforcedPolicy") in ("", "none"):
            del fields["fwEnforcedPolicy"]
        fields["vlans"] = [resolve(store, vlan, folder, GROUPS["vlan"]) for vlan in fields.get("vlans") or ()]
        fields["persist"] = _persist(store, fields.get("persist") or [])
        fields["metadata"] = _metadata(fields.get("metadata") or [])
        fields["sourceAddressTranslation"] = _snat(store, folder, fields["sourceAddressTranslation"])
        return _exclusive({name: value for name, value in fields.items() if value not in ([], ())}, body, old)

    def _place(self, store: Store, partition: str, fields: Body, body: Body, old: Item | None) -> None:
        """Destination, mask and source as they are kept."""
        destination, named = destinations.shown(store, partition, str(fields["destination"]))
        fields["destination"] = destination
        if "destination" in body:
            fields["addressName"] = named
        if not fields.get("addressName"):
            fields.pop("addressName", None)
        if "source" not in body and old is None:
            fields["source"] = destinations.default_source(destination)
        fields["source"] = destinations.shown_source(store, partition, str(fields["source"]))
        if "mask" not in body and (old is None or destination != old.fields["destination"]):
            host = destinations.host_of(destination).partition("%")[0]
            fields["mask"] = destinations.WILDCARDS.get(host) or destinations.host_mask(destination)
        fields["mask"] = destinations.check_mask(destination, str(fields["mask"]))
        if destinations.is_wildcard(destination) and old is None:
            # recorded: 12.1.2, a virtual server on 0.0.0.0:0
            fields |= {name: body.get(name, "disabled") for name in ("translateAddress", "translatePort")}

    def _check_source(self, path: str, fields: Body) -> None:
        source = fields["source"].partition("/")[0].partition("%")[0]
        destination = destinations.host_of(fields["destination"]).partition("%")[0]
        if (":" in source) != destinations.is_ipv6(fields["destination"]):
            raise refusals.mcpd(
                "0107028c",
                f"The source ({source}) and destination ({destination}) addresses for "
                f"virtual server ({path}) must be be the same type (IPv4 or IPv6).",
            )

    def check_references(self, store: Store, item: Item) -> None:
        fields = item.fields
        named = [("pool", "pools", ("ltm/pool",), fields["pool"])] if fields.get("pool") else []
        named += [("rule", "rules", ("ltm/rule",), rule) for rule in fields.get("rules", ())]
        named += [("vlan", "vlans", GROUPS["vlan"], vlan) for vlan in fields.get("vlans", ())]
        named += [("security_log_profile", "log profiles", (security.LOG,), path)
                  for path in fields.get("securityLogProfiles", ())]
        if policy := fields.get("fwEnforcedPolicy"):
            named.append(("firewall_policy", "firewall policies", (security.FIREWALL,), policy))
        if snat := fields["sourceAddressTranslation"].get("pool"):
            named.append(("snatpool", "snatpools", ("ltm/snatpool",), snat))
        for name, several, kinds, path in named:
            if not any(store.get(kind, path) for kind in kinds):
                if store.has(Quirk.MISSING_NAME_404):
                    raise refusals.not_found(store.kinds[kinds[0]].word, path)
                raise refusals.foreign_key(path, self.word, item.path, f"{name}_FK")
            profile_rules.check_partition(item.path, several, path)
        for path in _persistence_of(fields):
            if find_in_group(store, "persistence", path) is None:
                raise refusals.not_found("persistence profile", path)
            profile_rules.check_partition(item.path, "persistence profiles", path)

    def write(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Item:
        before = old.fields["destination"] if old else None
        sent = {name: value for name, value in fields.items() if value is not None}
        placed = self.normalise(store, key, sent, body, old)
        kind = store.kinds[destinations.ADDRESS]
        destination = kind.make(store, placed["destination"], placed["mask"])
        if destination != placed["destination"]:
            fields, body = {**fields, "destination": destination}, {**body, "destination": destination}
        item = super().write(store, key, fields, body, old)
        if before and before != item.fields["destination"] and not store.has(Quirk.MOVE_LEAVES_ADDRESS):
            kind.drop_later(store, before)
        store.later(("listener", key[0]), lambda: _check_listener(store, key))
        return item

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        if "profiles" in body or old is None:
            store.kinds[PROFILES].set_all(store, item.key, body.get("profiles") or [FASTL4])
        if "policies" in body:
            store.kinds[POLICIES].set_all(store, item.key, body["policies"] or [])
        hidden = {"created": store.clock(), "index": 0, **item.hidden, "modified": store.clock()}
        if not hidden["index"]:
            hidden["index"] = store.next_number("vsIndex", 2)
        store.put(self.url, item.key, item.fields, hidden)
        self.check_later(store, item.path)

    def delete(self, store: Store, item: Item) -> None:
        super().delete(store, item)
        store.kinds[destinations.ADDRESS].drop_later(store, item.fields["destination"])

    def shown_destination(self, store: Store, item: Item) -> str:
        """The destination of a reply."""
        destination, named = item.fields["destination"], item.fields.get("addressName")
        if named is None and store.has(Quirk.DESTINATION_READS_NAME):
            named = of_path(store, destinations.address_path(destination)).path
            if destinations.address_path(destination) == named:
                return destination
        return destinations.by_name(named, destination) if named else destination

    def check_unused(self, store: Store, item: Item) -> None:
        for kind, key in store.users("virtual", item.path):
            raise refusals.in_use(self.word, item.path, f"{store.kinds[kind].word} ({' '.join(key)})")

    def changed_parent(self, store: Store, key: Key) -> None:
        if store.get(self.url, *key) is not None:
            self.check_later(store, key[0])

    def check_later(self, store: Store, path: str) -> None:
        """Check profiles, policies and iRules together when the request is done."""
        store.later(("virtual", path), lambda: profile_rules.check_whole(store, path))

    def read(self, store: Store, item: Item) -> Body:
        fields = {name: value for name, value in item.fields.items() if name != "addressName"}
        if logs := fields.get("securityLogProfiles"):  # names with blanks in quotes (f5-ansible)
            fields["securityLogProfiles"] = [f'"{path}"' if " " in path else path for path in logs]
        fields |= {"vsIndex": item.hidden["index"], "destination": self.shown_destination(store, item)}
        if store.version >= (14,):
            for name, when in (("creationTime", "created"), ("lastModifiedTime", "modified")):
                moment = datetime.datetime.fromtimestamp(item.hidden[when], datetime.UTC)
                fields[name] = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        return fields


def forget_metadata(store: Store) -> None:
    """Drop the metadata that is not in the configuration's files, as a restart does.

    Source: tmsh reference, ltm virtual: an entry with `persist` `false` is not saved.
    """
    for item in store.all(Virtual.url):
        kept = [entry for entry in item.fields.get("metadata", ()) if entry["persist"] == "true"]
        if len(kept) < len(item.fields.get("metadata", ())):
            fields = {name: value for name, value in item.fields.items() if name != "metadata"}
            store.put(Virtual.url, item.key, {**fields, **({"metadata": kept} if kept else {})})


def _listener(fields: Body) -> str:
    """Destination, source and protocol, for which only one virtual server may listen on a VLAN."""
    return " ".join((fields["destination"].rsplit("/", 1)[1], fields["source"], fields["ipProtocol"]))


def _check_listener(store: Store, key: Key) -> None:
    """Refuse two virtual servers that listen for the same, on a VLAN that both have.

    Checked when the request or transaction ends: two may swap their addresses in one
    (bigip-behaviour.md A5). Raises: Refusal: 01070333 (errors/400--virtual-shares-destination.json).
    """
    item = store.get(Virtual.url, *key)
    if item is None:
        return
    for _, other in store.users("listener", _listener(item.fields)):
        if other != key and _meet(store, item.fields, store.get(Virtual.url, *other).fields):
            raise refusals.mcpd(
                "01070333",
                f"Virtual Server {key[0]} illegally shares destination address, source address, service "
                f"port, ip-protocol, and vlan with Virtual Server {other[0]}.",
            )


def _meet(store: Store, own: Body, other: Body) -> bool:
    """Return True if two virtual servers listen on the same VLAN.

    Without `vlansEnabled` they listen everywhere but on `vlans`. No source tells whether sets that overlap
    are refused, or only equal ones.
    """
    first, second = set(own.get("vlans", ())), set(other.get("vlans", ()))
    only_first, only_second = "vlansEnabled" in own, "vlansEnabled" in other
    if store.has(Quirk.VLANS_MAY_OVERLAP):
        return (only_first, first) == (only_second, second)
    if only_first and only_second:
        return bool(first & second)
    if only_first or only_second:
        return bool(first - second if only_first else second - first)
    return True  # each leaves out only some of all VLANs


_PROTOCOLS = {
    "0": "any", "1": "icmp", "6": "tcp", "17": "udp", "50": "esp", "51": "ah", "58": "ipv6-icmp",
    "132": "sctp",
}
"""Numbers of protocols that are read as names (F5Networks/f5-ansible#1408; IANA, protocol numbers)."""


def _protocol(value: object) -> str:
    """A protocol as it is read. Raises: Refusal: neither a name nor a number of a protocol."""
    text = str(value).lower()
    if text in _PROTOCOLS.values():
        return text
    if not text.isdigit() or int(text) > 255:
        raise refusals.invalid_value("ipProtocol", value)
    return _PROTOCOLS.get(str(int(text)), str(int(text)))


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


def _persistence_of(fields: Body) -> list[str]:
    """Full paths of the persistence profiles of a virtual server."""
    paths = [names.from_body(entry) for entry in fields.get("persist", ())]
    return [*paths, fields["fallbackPersistence"]] if fields.get("fallbackPersistence") else paths


def _persist(store: Store, sent: list) -> list[Body]:
    entries = []
    for given in sent:
        body = {"name": given} if isinstance(given, str) else given
        path = names.from_body({k: v for k, v in body.items() if k in ("name", "partition", "subPath")})
        item = find_in_group(store, "persistence", path)
        if item is None:
            raise refusals.not_found("persistence profile", path)
        partition, sub_path, name = names.split(path)
        entry = {"name": name, "partition": partition, **({"subPath": sub_path} if sub_path else {}),
                 "tmDefault": str(body.get("tmDefault", "yes"))}
        if store.version >= (12,):
            entry["nameReference"] = {
                "link": f"https://localhost/mgmt/tm/{item.kind}/{names.encode_segment(path)}"
                f"?ver={'.'.join(map(str, store.version))}"
            }
        entries.append(entry)
    return entries


def _snat(store: Store, folder: str, sent: Body) -> Body:
    for name in sent:
        if name not in ("type", "pool") and not name.endswith("Reference"):
            raise refusals.unknown_property(name)
    kind = sent.get("type", "none")
    if kind not in ("none", "automap", "snat", "lsn"):
        raise refusals.invalid_value("type", kind)
    translation: Body = {"type": kind}
    if sent.get("pool") and sent["pool"] != "none":
        translation["pool"] = resolve(store, sent["pool"], folder, ("ltm/snatpool",))
    if kind != "lsn" and (kind == "snat") != ("pool" in translation):
        # a pool belongs to `snat` alone (tmsh reference); the device's text is not known
        raise refusals.configuration_error(f"source-address-translation {kind} and its pool do not fit")
    return translation


def _metadata(sent: list) -> list[Body]:
    """Entries as they are read: with `persist` (`ltm/virtual/14.1.2.1--collection.json`).

    Raises: Refusal: an entry without a name, a name twice, an unknown property (texts not known).
    """
    entries: dict[str, Body] = {}
    for given in sent:
        name = given.get("name") if isinstance(given, dict) else None
        if not name or str(name) in entries:
            raise refusals.invalid_value("metadata", name)
        if unknown := given.keys() - {"name", "value", "persist"}:
            raise refusals.unknown_property(min(unknown))
        persist = str(given.get("persist", "true")).lower()
        if persist not in ("true", "false"):
            raise refusals.invalid_value("persist", persist)
        value = {"value": str(given["value"])} if given.get("value") not in (None, "") else {}
        entries[str(name)] = {"name": str(name), "persist": persist, **value}
    return [entries[name] for name in sorted(entries)]
