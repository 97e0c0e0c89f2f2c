"""Profiles: inheritance from a parent, the rules of client-ssl and server-ssl (bigip-behaviour.md B8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from mocks.bigip import cipher_names, files, names, refusals
from mocks.bigip.kinds import GROUPS, Body, Kind, find_in_group
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Key, Ref, Store
from mocks.bigip.versions import Version

WORDS = {
    "client-ssl": "ClientSSL Profile",
    "server-ssl": "ServerSSL Profile",
    "http": "HTTP Profile",
    "tcp": "TCP Profile",
    "udp": "UDP Profile",
    "fastl4": "FastL4 Profile",
    "one-connect": "OneConnect Profile",
    "http-compression": "HTTP Compression Profile",
    "websocket": "WebSocket Profile",
    "web-security": "WebSecurity Profile",
    "http2": "HTTP2 Profile",
    "request-log": "Request Logging Profile",
    "httprouter": "HTTP Router Profile",
    "bot-defense": "Bot Defense Profile",
    "dos": "DoS Profile",
}
FACTORY = {
    "client-ssl": ("clientssl", "clientssl-insecure-compatible"),
    "server-ssl": ("serverssl", "serverssl-insecure-compatible"),
    "http": ("http",),
    "tcp": ("tcp", "tcp-legacy", "tcp-lan-optimized", "tcp-wan-optimized", "f5-tcp-progressive"),
    "udp": ("udp",),
    "fastl4": ("fastL4",),
    "one-connect": ("oneconnect",),
    "http-compression": ("httpcompression", "wan-optimized-compression"),
    "websocket": ("websocket",),
    "web-security": ("websecurity",),
    "http2": ("http2",),
    "request-log": ("request-log",),
    "httprouter": ("httprouter",),
}
"""Profiles of a new device by type; the first is the parent of all others."""

FACTORY_FIELDS = {
    "clientssl-insecure-compatible": {
        "ciphers": "ALL:!DH:!ADH:!EDH:@SPEED",
        "secureRenegotiation": "request",
    },
    "serverssl-insecure-compatible": {
        "ciphers": "!EXPORT:!DH:RSA+RC4:RSA+AES:RSA+DES:RSA+3DES:ECDHE+AES:ECDHE+3DES:@SPEED",
        "secureRenegotiation": "request",
    },
    "wan-optimized-compression": {
        "allowHttp_10": "enabled",
        "bufferSize": 131072,
        "gzipMemoryLevel": 16384,
        "gzipWindowSize": 65536,
    },
}
"""Properties that some of them do not inherit."""

SINCE: dict[str, Version] = {"http2": (12, 0), "websocket": (12, 1), "httprouter": (14, 1)}
"""First versions of types that not all versions have (tmsh references of the versions)."""
OWN_CLASS = ("client-ssl", "server-ssl", "http", "request-log")
"""Types with a class of their own, here or in profiles_http.py."""

RANGES = {
    ("tcp", "idleTimeout"): (0, 4_294_967_295),
    ("tcp", "synMaxRetrans"): (0, 16),
    ("tcp", "synRtoBase"): (0, 5000),
    ("http", "maxHeaderCount"): (16, 4096),
}
"""Least and greatest value by type and property (F5Networks/f5-ansible, `bigip_profile_tcp`,
`bigip_profile_http`)."""

CERTS = ("cert", "chain", "caFile", "clientCertCa")
"""Properties that refer to certificate files."""


class Profile(Kind):
    """A profile keeps only what was written; the rest is read from its parent."""

    links: ClassVar[dict[str, str]] = {"defaultsFrom": "profile"}

    def __init__(self, kind: str) -> None:
        self.url = f"ltm/profile/{kind}"
        self.type = kind
        self.word = WORDS[kind]
        self.root = f"/Common/{FACTORY[kind][0]}"
        self.since = SINCE.get(kind, ())

    def initial(self, store: Store, key: Key) -> Body:
        return {} if key[0] == self.root else {"defaultsFrom": self.root}

    def references(self, item: Item) -> Iterable[Ref]:
        parent = item.fields.get("defaultsFrom", "none")
        return [("profile", parent)] if parent != "none" else []

    def check_new(self, store: Store, key: Key, body: Body) -> None:
        super().check_new(store, key, body)
        if find_in_group(store, "profile", key[0]):
            raise refusals.mcpd(
                "01070293", f"The profile name ({key[0]}) is already assigned to another profile."
            )

    def modify(self, store: Store, item: Item, body: Body) -> Item:
        """PATCH: a property that is an object changes in what is sent of it."""
        merged = {name: {**item.fields.get(name, {}), **value} if isinstance(value, dict) else value
                  for name, value in body.items()}
        return super().modify(store, item, merged)

    def accept(self, store: Store, body: Body, key: Key, old: Item | None = None) -> Body:
        fields, schema = super().accept(store, body, key, old), self.schema(store)
        for name, value in fields.items():
            if isinstance(value, dict) and isinstance(schema.defaults.get(name), dict):
                fields[name] = schema.accept_nested(name, value)
            for inner, number in (fields[name] if isinstance(fields[name], dict) else {name: value}).items():
                self._check_range(inner, number)
        return fields

    def _check_range(self, name: str, value: object) -> None:
        least, greatest = RANGES.get((self.type, name), (None, None))
        if least is not None and isinstance(value, int) and not least <= value <= greatest:
            raise refusals.invalid_value(name, value)  # the device's words are not known

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        parent = fields.get("defaultsFrom", "none")
        if parent != "none":
            parent = self._parent(store, str(parent), names.partition_of(key[0]))
            if parent == key[0] or self.root == key[0]:
                raise refusals.invalid_value("defaultsFrom", parent)
            fields = {**fields, "defaultsFrom": parent}
        return fields

    def _parent(self, store: Store, name: str, partition: str) -> str:
        for candidate in (names.full_path(name, f"/{partition}"), names.full_path(name, "/Common")):
            if store.get(self.url, candidate) is not None:
                return candidate
        raise refusals.not_found(self.word, names.full_path(name, "/Common"))

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        if old is not None:
            self._refresh_users(store, item.path)

    def _refresh_users(self, store: Store, path: str) -> None:
        """Virtual servers and child profiles see a changed profile."""
        for kind, key in store.users("profile", path):
            if kind == "ltm/virtual/profiles":
                store.kinds[kind].refresh(store, key)
            elif kind == self.url:
                self._refresh_users(store, key[0])

    def check_unused(self, store: Store, item: Item) -> None:
        if item.path == self.root:
            raise refusals.configuration_error(f"The default profile ({item.path}) may not be deleted")
        for kind, key in store.users("profile", item.path):
            if kind == "ltm/virtual/profiles":
                raise refusals.in_use(self.word, item.path, f"virtual server profile ({key[0]} {key[1]})")
            raise refusals.in_use(self.word, item.path, f"{store.kinds[kind].word} ({' '.join(key)})")

    def effective(self, store: Store, item: Item) -> Body:
        """All properties: own ones over those of the parents over the defaults."""
        parent = store.get(self.url, item.fields.get("defaultsFrom", "none"))
        below = self.effective(store, parent) if parent is not None else self.schema(store).defaults
        nested = {name: {**below[name], **value} for name, value in item.fields.items()
                  if isinstance(value, dict) and isinstance(below.get(name), dict)}
        return {**below, **item.fields, **nested}

    def read(self, store: Store, item: Item) -> Body:
        fields = self.effective(store, item)
        if "defaultsFrom" not in item.fields:
            fields["defaultsFrom"] = "none"
            if "defaultsFrom" not in self.schema(store).defaults:
                del fields["defaultsFrom"]
        return {name: value for name, value in fields.items() if value is not None}


class SSLProfile(Profile):
    """Properties that client-ssl and server-ssl have in common: files and options."""

    links: ClassVar[dict[str, str]] = {
        "defaultsFrom": "profile",
        "cert": "sys/file/ssl-cert",
        "chain": "sys/file/ssl-cert",
        "caFile": "sys/file/ssl-cert",
        "clientCertCa": "sys/file/ssl-cert",
        "crlFile": "sys/file/ssl-crl",
        "key": "sys/file/ssl-key",
        "cipherGroup": "ltm/cipher/group",
    }

    def references(self, item: Item) -> Iterable[Ref]:
        references = [*super().references(item)]
        references += [("cert", item.fields[name]) for name in CERTS if is_named(item.fields.get(name))]
        for name, group in (("key", "key"), ("crlFile", "crl")):
            if is_named(item.fields.get(name)):
                references.append((group, item.fields[name]))
        return references

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        fields = super().normalise(store, key, fields, body, old)
        folder = f"/{names.partition_of(key[0])}"
        for name in (*CERTS, "key", "crlFile"):
            if is_named(fields.get(name)):
                fields[name] = names.full_path(fields[name], folder)
        if unknown := cipher_names.unknown(str(body.get("ciphers", "")), store.version):
            # the device's words, from memory of its users; no recording has them
            words = f"Invalid keyword '{unknown}' in ciphers list for profile {key[0]}"
            raise refusals.mcpd("01070312", words)
        if "tmOptions" in fields:
            fields["tmOptions"] = _options(store, fields["tmOptions"])
        for property_, other in (("ciphers", "cipherGroup"), ("cipherGroup", "ciphers")):
            # exclusive: the other one is "none" (bigip-behaviour.md B8)
            if body.get(property_, "none") != "none" and "cipherGroup" in self.schema(store).defaults:
                fields[other] = "none"
        return fields

    def check_references(self, store: Store, item: Item) -> None:
        if is_named(item.fields.get("key")) and store.get("sys/file/ssl-key", item.fields["key"]) is None:
            raise refusals.mcpd("0107134a", f"File object by name ({item.fields['key']}) is missing.")
        for name in (*CERTS, "crlFile"):
            path, kind = item.fields.get(name), files.CRL if name == "crlFile" else files.CERT
            if is_named(path) and store.get(kind, path) is None:
                raise refusals.mcpd("0107134a", f"File object by name ({path}) is missing.")
        self.check_pair_later(store, item.path)

    def check_pair_later(self, store: Store, path: str) -> None:
        store.later(("key pair", path), lambda: self._check_pair(store, path))

    def _check_pair(self, store: Store, path: str) -> None:
        item = store.get(self.url, path)
        if item is None:
            return
        cert = store.get("sys/file/ssl-cert", item.fields.get("cert", ""))
        key = store.get("sys/file/ssl-key", item.fields.get("key", ""))
        if cert and key and not files.is_pair(cert, key):
            raise refusals.mcpd("01070317", f"profile {path}'s key and certificate do not match")


class ClientSSL(SSLProfile):
    """The pair may be written as cert, key, chain or as certKeyChain, and is read as both
    (bigip-behaviour.md B8)."""

    def __init__(self) -> None:
        super().__init__("client-ssl")

    def accept(self, store: Store, body: Body, key: Key, old: Item | None = None) -> Body:
        """certKeyChain is turned into cert, key and chain."""
        if "certKeyChain" in body and any(name in body for name in ("cert", "key", "chain", "passphrase")):
            raise refusals.mcpd(
                "01b4002a",
                f"Client SSL profile ({key[0]}):cert-key-chain and profile "
                "cert/key/chain/passphrase options cannot be specified together.",
            )
        fields = super().accept(store, body, key, old)
        if fields.pop("inheritCertkeychain", None) == "true":
            if store.has(Quirk.INHERITANCE_REFUSED):
                raise refusals.unknown_property("inheritCertkeychain")
            fields |= dict.fromkeys(("cert", "key", "chain", "passphrase", "chainName"))
        chain = fields.pop("certKeyChain", None)
        if chain is None:
            return fields
        if len(chain) > 1:
            raise refusals.rest("The fake keeps one certKeyChain entry (one key type) per profile.")
        entry = dict(chain[0]) if chain else {"cert": None, "key": None}
        fields["chainName"] = entry.pop("name", "default") or "default"
        for name in ("cert", "key", "chain", "passphrase"):
            fields[name] = entry.pop(name, None)
        entry = {
            k: v for k, v in entry.items() if k not in ("appService", "usage") and not k.endswith("Reference")
        }
        if entry:
            raise refusals.unknown_property(next(iter(entry)))
        return fields

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        fields = super().normalise(store, key, fields, body, old)
        own = [name for name in ("cert", "key") if is_named(fields.get(name))]
        missing_one = len(own) == 1
        wrong_suffix = any(
            not fields[name].endswith((".crt", ".key")) and files.lookup(store, name, fields[name]) is None
            for name in own
        )
        if missing_one or wrong_suffix:
            raise refusals.mcpd("010717e3", "Client SSL profile must have RSA certificate/key pair.")
        return fields

    def read(self, store: Store, item: Item) -> Body:
        fields = super().read(store, item)
        name = fields.pop("chainName", "default")
        fields.pop("passphrase", None)
        fields["inheritCertkeychain"] = (
            "true" if "cert" not in item.fields and item.path != self.root else "false"
        )
        entry = {"name": name, "cert": fields.get("cert"), "key": fields.get("key")}
        if fields.get("chain"):
            entry["chain"] = fields["chain"]
        if store.version >= (13,):
            entry["appService"] = "none"
            for field, kind in (("cert", "ssl-cert"), ("key", "ssl-key"), ("chain", "ssl-cert")):
                if is_named(entry.get(field)):
                    entry[f"{field}Reference"] = {
                        "link": f"https://localhost/mgmt/tm/sys/file/{kind}/"
                        f"{names.encode_segment(entry[field])}{_ver(store)}"
                    }
        if store.version >= (14,):
            entry["usage"] = "SERVER"
        fields["certKeyChain"] = [entry]
        fields["tmOptions"] = shown_options(store, fields.get("tmOptions"))
        return fields


class ServerSSL(SSLProfile):
    def __init__(self) -> None:
        super().__init__("server-ssl")

    def read(self, store: Store, item: Item) -> Body:
        fields = super().read(store, item)
        fields.pop("passphrase", None)
        fields["tmOptions"] = shown_options(store, fields.get("tmOptions"))
        return fields


def _ver(store: Store) -> str:
    return "?ver=" + ".".join(str(number) for number in store.version)


def is_named(value: object) -> bool:
    """Return True if the value of a reference is not `none`."""
    return isinstance(value, str) and value not in ("", "none")


def _options(store: Store, value: object) -> list[str]:
    """tmOptions as words; written as a list or as `{ a b }`."""
    if isinstance(value, list):
        return [str(word) for word in value]
    return str(value).replace("{", " ").replace("}", " ").split()


def shown_options(store: Store, value: object) -> object:
    """A list up to 13, a string from 14 on (bigip-behaviour.md B8)."""
    words = _options(store, value or [])
    return words if store.version < (14,) else f"{{ {' '.join(words)} }}"


def type_of(store: Store, path: str) -> str | None:
    """Type of the profile with a full path, such as client-ssl; None: there is none."""
    for kind in GROUPS["profile"]:
        if store.get(kind, path) is not None:
            return kind.split("/")[1 if kind.startswith("security/") else 2]
    return None


def kind_of(profile_type: str) -> str:
    """The collection of a type of profile, such as ltm/profile/http."""
    if profile_type in ("bot-defense", "dos"):
        return f"security/{profile_type}/profile"
    return f"ltm/profile/{profile_type}"


class Persistence(Profile):
    """Persistence profiles behave like profiles but are named in another place of a virtual server."""

    links: ClassVar[dict[str, str]] = {"defaultsFrom": "persistence"}

    def __init__(self, kind: str, root: str) -> None:
        self.url = f"ltm/persistence/{kind}"
        self.type = kind
        self.word = "Persistence Profile"
        self.root = f"/Common/{root}"

    def references(self, item: Item) -> Iterable[Ref]:
        parent = item.fields.get("defaultsFrom", "none")
        return [("persistence", parent)] if parent != "none" else []

    def check_new(self, store: Store, key: Key, body: Body) -> None:
        if find_in_group(store, "persistence", key[0]):
            raise refusals.already_exists(self.word, key[0], names.partition_of(key[0]))

    def check_unused(self, store: Store, item: Item) -> None:
        for kind, key in store.users("persistence", item.path):
            raise refusals.in_use(self.word, item.path, f"{store.kinds[kind].word} ({' '.join(key)})")
