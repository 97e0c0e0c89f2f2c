"""Profiles and policies of a virtual server (bigip-behaviour.md B7)."""

from __future__ import annotations

from collections.abc import Iterable

from mocks.bigip import names, profiles, refusals
from mocks.bigip.kinds import GROUPS, Body, Kind
from mocks.bigip.profile_rules import POLICIES, PROFILES, check_partition, check_profile, sides
from mocks.bigip.schema import IDENTITY
from mocks.bigip.store import Item, Key, Ref, Store


def resolve(store: Store, name: str, folder: str, kinds: Iterable[str]) -> str:
    """Full path of a reference: in the object's partition, else in /Common (bigip-behaviour.md B1)."""
    name = str(name)
    if name.startswith("/"):
        return name
    for candidate in (names.full_path(name, folder), names.full_path(name, "/Common")):
        if any(store.get(kind, candidate) for kind in kinds):
            return candidate
    return names.full_path(name, folder)


class Attached(Kind):
    """Profiles or policies of a virtual server; the name of an item is the full path of what it attaches."""

    parent = "ltm/virtual"
    partitioned = False
    counts_in_folder = False

    def key_of(self, store: Store, parent: Key, body: Body) -> Key:
        name = names.from_body(body)
        if not str(body.get("name", "")).startswith("/") and not (
            body.get("partition") or body.get("tmPartition")
        ):
            name = resolve(store, str(body["name"]), f"/{names.partition_of(parent[0])}", self.targets)
        return (*parent, name)

    def key_in_url(self, store: Store, parent: Key, name: str) -> Key:
        if name.startswith("/"):
            return (*parent, name)
        return (*parent, resolve(store, name, f"/{names.partition_of(parent[0])}", self.targets))

    targets: tuple[str, ...] = ()

    def check_new(self, store: Store, key: Key, body: Body) -> None:
        if store.get("ltm/virtual", key[0]) is None:
            raise store.kinds["ltm/virtual"].absent(store, key[:1])
        super().check_new(store, key, body)

    def initial(self, store: Store, key: Key) -> Body:
        return {}

    def modify(self, store: Store, item: Item, body: Body) -> Item:
        if not any(name not in IDENTITY for name in body):
            raise refusals.tmsh("one or more properties must be specified")
        return self.replace(store, item, body)

    def set_all(self, store: Store, parent: Key, sent: list) -> None:
        """Replace the whole list: names or objects."""
        bodies = [{"name": entry} if isinstance(entry, str) else entry for entry in sent]
        wanted = {self.key_of(store, parent, body): body for body in bodies}
        for name in list(store.children(self.url, parent)):
            if (*parent, name) not in wanted:
                store.remove(self.url, (*parent, name))
        for key, body in wanted.items():
            old = store.get(self.url, *key)
            fields = self.accept(store, body, key, old)
            if old is None or old.fields != fields:
                self.written(store, store.put(self.url, key, fields), body, old)


class VirtualProfiles(Attached):
    url = PROFILES
    word = "virtual server profile"
    targets = GROUPS["profile"]

    def references(self, item: Item) -> Iterable[Ref]:
        path, fields = item.path, item.fields
        kind = fields["type"]
        references = [("profile", item.name), ("profile type", f"{path} {kind}")]
        references += [("profile side", f"{path} {kind} {side}") for side in sides(fields["context"])]
        if fields.get("serverName"):
            references.append(("server name", f"{path} {kind} {fields['serverName']}"))
        if fields.get("sniDefault"):
            references.append(("sni default", f"{path} {kind}"))
        return references

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        store.later(("profile", *item.key), lambda: check_profile(store, item.key))

    def refresh(self, store: Store, key: Key) -> None:
        """The attached profile itself changed."""
        item = store.get(self.url, *key)
        fields = {name: item.fields[name] for name in ("context", "type")} | self._sni(
            store, item.fields["type"], key
        )
        self.written(store, store.put(self.url, key, fields), {}, item)
        store.kinds["ltm/virtual"].check_later(store, key[0])

    def _sni(self, store: Store, kind: str, key: Key) -> Body:
        """Server name and default flag of an ssl profile, kept with the attachment for the index."""
        if kind not in ("client-ssl", "server-ssl"):
            return {}
        url = f"ltm/profile/{kind}"
        profile = store.kinds[url].effective(store, store.get(url, key[1]))
        host = str(profile.get("serverName", "none")).lower()
        properties: Body = {} if host in ("none", "") else {"serverName": host}
        if profile.get("sniDefault") == "true":
            properties["sniDefault"] = True
        return properties

    def accept(self, store: Store, body: Body, key: Key, old: Item | None = None) -> Body:
        for name in body:
            if (
                name not in IDENTITY
                and name not in ("context", "appService")
                and not name.endswith("Reference")
            ):
                raise refusals.unknown_property(name)
        kind = profiles.type_of(store, key[1])
        if kind is None:
            raise refusals.not_found("profile", key[1])
        check_partition(key[0], "profiles", key[1])
        context = body.get("context") or {"client-ssl": "clientside", "server-ssl": "serverside"}.get(
            kind, "all"
        )
        if context not in ("all", "clientside", "serverside"):
            raise refusals.invalid_value("context", context)
        if (kind, context) in (("client-ssl", "serverside"), ("server-ssl", "clientside")):
            raise refusals.invalid_value("context", context)
        if kind in ("client-ssl", "server-ssl"):
            context = "clientside" if kind == "client-ssl" else "serverside"
        return {"context": context, "type": kind, **self._sni(store, kind, key)}

    def read(self, store: Store, item: Item) -> Body:
        properties = {"context": item.fields["context"]}
        return {**properties, **_name_reference(store, profiles.kind_of(item.fields["type"]), item.name)}


class VirtualPolicies(Attached):
    url = POLICIES
    word = "virtual server policy"
    targets = ("ltm/policy",)

    def references(self, item: Item) -> Iterable[Ref]:
        return [("policy", item.name)]

    def accept(self, store: Store, body: Body, key: Key, old: Item | None = None) -> Body:
        for name in body:
            if name not in IDENTITY and not name.endswith("Reference"):
                raise refusals.unknown_property(name)
        policy = store.get("ltm/policy", key[1])
        if policy is None:
            raise refusals.not_found("profile", key[1])
        check_partition(key[0], "policies", key[1])
        if policy.fields.get("status") == "draft":
            raise refusals.configuration_error(f"Draft policy ({key[1]}) cannot be attached to {key[0]}")
        return {}

    def read(self, store: Store, item: Item) -> Body:
        return _name_reference(store, "ltm/policy", item.name)


def _name_reference(store: Store, kind: str, path: str) -> Body:
    if store.version < (12,):
        return {}
    version = ".".join(str(number) for number in store.version)
    return {
        "nameReference": {
            "link": f"https://localhost/mgmt/tm/{kind}/{names.encode_segment(path)}?ver={version}"
        }
    }
