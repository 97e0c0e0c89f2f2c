"""Profiles and policies of a virtual server, and what they need of each other (bigip-behaviour.md B7).

A virtual server may have thousands of client-ssl profiles. So every check of them asks the reverse index
(who else has this server name here?) and none walks through the list, but the one beside an HTTP/2 profile.
"""

from __future__ import annotations

from collections.abc import Iterable

from mocks.bigip import irules, names, policies, profiles, refusals
from mocks.bigip.kinds import GROUPS, Body, Kind
from mocks.bigip.quirks import Quirk
from mocks.bigip.schema import IDENTITY
from mocks.bigip.store import Item, Key, Ref, Store

PROFILES = "ltm/virtual/profiles"
POLICIES = "ltm/virtual/policies"
_SINGLE = frozenset((
    "http", "tcp", "udp", "fastl4", "one-connect", "http-compression", "websocket", "web-security", "http2"))
"""Types of which a virtual server has at most one for each side."""
_REQUIRED = {
    "http": ("http", "http or http-connect"),
    "client-ssl": ("client-ssl", "client-ssl"),
    "server-ssl": ("server-ssl", "server-ssl"),
    "tcp": ("tcp", "tcp"),
    "udp": ("udp", "udp"),
    "asm": ("web-security", "websecurity"),
}
"""Aspect of a policy's `requires`, or its control asm -> (type that satisfies it, words of the message)."""


def resolve(store: Store, name: str, folder: str, kinds: Iterable[str]) -> str:
    """Full path of a reference: in the object's partition, else in /Common (bigip-behaviour.md B1)."""
    name = str(name)
    if name.startswith("/"):
        return name
    for candidate in (names.full_path(name, folder), names.full_path(name, "/Common")):
        if any(store.get(kind, candidate) for kind in kinds):
            return candidate
    return names.full_path(name, folder)


def check_whole(store: Store, path: str) -> None:
    """Rules on a virtual server's types of profiles, policies and iRules. Raises: Refusal."""
    item = store.get("ltm/virtual", path)
    if item is None:
        return
    types = {kind for kind in profiles.WORDS if store.is_used("profile type", f"{path} {kind}")}
    if {"fastl4", "http"} <= types or {"fastl4", "client-ssl"} <= types:
        raise refusals.configuration_error(
            f"Found disallowed profile on {path}: Not Any Of (FastL4 Profile, FastHTTP Profile)"
        )
    if "http" in types and "tcp" not in types:
        raise refusals.configuration_error(
            f"Found disallowed profile on {path}: HTTP Profile needs a TCP Profile"
        )
    if "http-compression" in types and "http" not in types:
        # the device's text is not known
        raise refusals.configuration_error(
            f"Found disallowed profile on {path}: HTTP Compression Profile needs an HTTP Profile"
        )
    if "http2" in types:
        _check_http2(store, path, types)
    several = store.count_users("profile type", f"{path} client-ssl") > 1
    if (
        several
        and not store.is_used("sni default", f"{path} client-ssl")
        and not store.has(Quirk.NO_SNI_DEFAULT_ACCEPTED)
    ):
        # the number stands in teaching material only (bigip-behaviour.md B12.2)
        raise refusals.mcpd(
            "0107149c", f"Virtual server {path} must have one clientssl profile that is default for SNI."
        )
    _check_policies(store, item, types)
    if item.fields.get("persist"):
        types.add("persist")
    for rule in item.fields.get("rules", ()):
        text = store.get("ltm/rule", rule).fields.get("apiAnonymous", "")
        irules.check_profiles(rule, path, text, types)


def _check_http2(store: Store, path: str, types: set[str]) -> None:
    """Check what an HTTP/2 profile asks of the others. F5 shows refusals as pictures: their text is unknown.

    Source: F5, DevCentral, "Understanding how BIG-IP enforces TLS requirements on HTTP/2 Profile".
    """
    fields: dict[str, list[Body]] = {"http2": [], "client-ssl": []}
    for item in store.children(PROFILES, (path,)).values():
        if (kind := item.fields["type"]) in fields:
            profile = store.get(f"ltm/profile/{kind}", item.key[1])
            fields[kind].append(store.kinds[f"ltm/profile/{kind}"].effective(store, profile))
    if not {"http", "client-ssl"} <= types:
        raise refusals.configuration_error(
            f"Found disallowed profile on {path}: HTTP2 Profile needs an HTTP and a ClientSSL Profile")
    if any(http2["enforceTlsRequirements"] == "enabled" for http2 in fields["http2"]) and any(
            client["renegotiation"] != "disabled" for client in fields["client-ssl"]):
        raise refusals.configuration_error(
            f"HTTP2 profile on {path} requires client SSL profiles with renegotiation disabled")


def _check_policies(store: Store, item: Item, types: set[str]) -> None:
    seen: dict[str, str] = {}
    for name in store.children(POLICIES, item.key):
        policy = store.get("ltm/policy", name)
        if not store.children(policies.RULES, policy.key):
            # the device's text is not known (bigip-behaviour.md B12.3)
            raise refusals.configuration_error(
                f"Policy {name} has no rules and cannot be attached to {item.path}"
            )
        needs = {*policy.fields.get("requires", ()), *policies.dependencies(store, name)}
        if "asm" in policy.fields.get("controls", ()):
            needs.add("asm")
        for aspect in sorted(needs & _REQUIRED.keys()):
            enough, words = _REQUIRED[aspect]
            if enough not in types:
                raise refusals.mcpd(
                    "010716d9",
                    f"Virtual server {item.path} requires a profile of type {words} for ltm policy {name}.",
                )
        for control in policy.fields.get("controls", ()):
            if control in seen:
                raise refusals.configuration_error(
                    f"Virtual server {item.path} cannot contain policies with "
                    f"conflicting controls ({seen[control]}, {name})"
                )
            seen[control] = name


def check_profile(store: Store, key: Key) -> None:
    """Rules on one attached profile beside the others. Raises: Refusal."""
    item = store.get(PROFILES, *key)
    if item is None:
        return
    path, kind = item.path, item.fields["type"]
    if kind in _SINGLE:
        for side in _sides(item.fields["context"]):
            if store.count_users("profile side", f"{path} {kind} {side}") > 1:
                raise refusals.mcpd("01070097", f"Virtual server {path} lists duplicate profiles.")
    host = item.fields.get("serverName")
    if host and store.count_users("server name", f"{path} {kind} {host}") > 1:
        raise refusals.mcpd(
            "0107149e",
            f"Virtual server {path} has more than one clientssl/serverssl profile with same server name.",
        )
    if item.fields.get("sniDefault") and store.count_users("sni default", f"{path} {kind}") > 1:
        raise refusals.mcpd(
            "01071809",
            f"Virtual Server {path} has more than one clientssl/serverssl profile that is default for SNI.",
        )


def _sides(context: str) -> tuple[str, ...]:
    return ("clientside", "serverside") if context == "all" else (context,)


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
        references += [("profile side", f"{path} {kind} {side}") for side in _sides(fields["context"])]
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
        return {**properties, **_name_reference(store, f"ltm/profile/{item.fields['type']}", item.name)}


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
