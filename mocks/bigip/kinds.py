"""Operations that all kinds of objects have in common: create, change, replace, delete, read.

A kind is one collection of the REST tree, such as `ltm/pool`, or a sub-collection, such as
`ltm/pool/members`. Its subclass adds the rules of its own. The rules come from bigip-behaviour.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from mocks.bigip import names, refusals
from mocks.bigip.refusals import Refusal
from mocks.bigip.schema import IDENTITY, Schema, camel, schema
from mocks.bigip.store import Item, Key, Ref, Store
from mocks.bigip.versions import Version

Body = dict[str, Any]


class Kind:
    """A collection. Attributes of the class describe it; methods are overridden where it differs."""

    url: str
    """Path below /mgmt/tm, such as ltm/pool/members."""
    word: str
    """Type word of its messages."""
    parent: str | None = None
    subs: tuple[str, ...] = ()
    partitioned: bool = True
    """True if an object lies in a folder; else its name is its full path."""
    required: tuple[str, ...] = ()
    ignored: frozenset[str] = frozenset()
    """Properties of replies that may be sent back but change nothing."""
    links: ClassVar[dict[str, str]] = {}
    """Property -> kind (or group) it refers to; from 12.0 on a `...Reference` stands beside it."""
    first_generation: int | None = None
    """Monitors have generation 0 for ever (bigip-behaviour.md B3)."""
    counts_in_folder: bool = True
    deletable: bool = True
    schema_url: str | None = None
    since: Version = ()
    """First version that has it."""

    # -- identity ----------------------------------------------------------------------------------

    @property
    def last(self) -> str:
        return self.url.rsplit("/", 1)[1]

    def schema(self, store: Store) -> Schema:
        return schema(self.schema_url or self.url, store.version)

    def key_of(self, store: Store, parent: Key, body: Body) -> Key:
        """Key of the object that a POST would create. Raises: Refusal: no name."""
        if self.partitioned:
            return (*parent, names.from_body(body))
        return (*parent, str(body.get("name") or names.from_body(body)))

    def key_in_url(self, store: Store, parent: Key, name: str) -> Key:
        """Key of the object that a segment of a URL names; a bare name lies in /Common
        (bigip-behaviour.md A1)."""
        return (*parent, names.full_path(name, "/Common") if self.partitioned else name)

    def shown(self, key: Key) -> str:
        """The object in a message."""
        return " ".join(key)

    # -- indexes -----------------------------------------------------------------------------------

    def references(self, item: Item) -> Iterable[Ref]:
        """Objects to which an item refers; it cannot be deleted meanwhile."""
        return ()

    def uniques(self, item: Item) -> Iterable[Ref]:
        """(group, value) pairs which only one item may have."""
        return ()

    # -- writing -----------------------------------------------------------------------------------

    def create(self, store: Store, parent: Key, body: Body) -> Item:
        """POST. Raises: Refusal: name, folder, duplicate, or a rule of the kind."""
        key = self.key_of(store, parent, body)
        if self.partitioned:
            names.check(key[-1])
            self.check_folder(store, key)
        self.check_new(store, key, body)
        for name in self.required:
            if name not in body and refusals.dashed(name) not in body:
                raise refusals.missing(name)
        fields = self.accept(store, body, key)
        return self.write(store, key, {**self.initial(store, key), **_sent(fields)}, body, None)

    def modify(self, store: Store, item: Item, body: Body) -> Item:
        """PATCH: only what is sent changes. Raises: Refusal: nothing sent (bigip-behaviour.md A2.1)."""
        if not any(name not in IDENTITY for name in body):
            raise refusals.tmsh("one or more properties must be specified")
        fields = self.accept(store, body, item.key, item)
        return self.write(store, item.key, {**item.fields, **fields}, body, item)

    def replace(self, store: Store, item: Item, body: Body) -> Item:
        """PUT: properties that are not sent return to their defaults (bigip-behaviour.md A2.1)."""
        fields = self.accept(store, body, item.key, item)
        return self.write(store, item.key, {**self.initial(store, item.key), **_sent(fields)}, body, item)

    def delete(self, store: Store, item: Item) -> None:
        """DELETE. Raises: Refusal: the object is in use."""
        if not self.deletable:
            raise refusals.tmsh("enter a valid option")
        self.check_unused(store, item)
        store.remove(item.kind, item.key)
        self.changed_parent(store, item.key)

    def write(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Item:
        """Store accepted properties; old is None for a new object."""
        fields = self.normalise(store, key, {k: v for k, v in fields.items() if v is not None}, body, old)
        item = store.put(self.url, key, fields)
        self.check_references(store, item)
        self.changed_parent(store, key)
        self.written(store, item, body, old)
        return store.get(self.url, *key) or item

    def initial(self, store: Store, key: Key) -> Body:
        """Properties of a new object."""
        return dict(self.schema(store).defaults)

    def nested(self) -> frozenset[str]:
        """Keys of a body that hold a list of a sub-collection."""
        return frozenset(sub.rsplit("/", 1)[1] for sub in self.subs)

    def with_items(self, body: Body) -> Body:
        """A body whose sub-collections are lists, also where it has them as a GET shows them:
        `membersReference: {"items": [...]}`. So f5-cccl writes pools and f5-common-python whatever it read
        with expandSubcollections. A list counts before the items beside it (inferred).

        Raises: Refusal: no object, or items that are no list.
        """
        if not isinstance(body, dict):
            raise refusals.tmsh(f'invalid property value "{self.last}": wrong type')
        inlined = dict(body)
        for sub in self.subs:
            name = sub.rsplit("/", 1)[1]
            reference = body.get(f"{name}Reference")
            if name not in body and isinstance(reference, dict) and "items" in reference:
                inlined[name] = reference["items"]
            if not isinstance(inlined.get(name), (list, type(None))):
                raise refusals.tmsh(f'invalid property value "{name}": wrong type')
        return inlined

    def accept(self, store: Store, body: Body, key: Key, old: Item | None = None) -> Body:
        """Sent properties in the device's spelling and type. Raises: Refusal: unknown or bad ones."""
        known, nested, accepted = self.schema(store), self.nested(), {}
        for name, value in body.items():
            if (
                name in IDENTITY
                or name in nested
                or camel(name) in self.ignored
                or name.endswith("Reference")
            ):
                continue
            name, value = known.accept(name, value)
            accepted[name] = value
        return accepted

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        """Rules on one object's own properties; returns what is stored."""
        return fields

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        """Do what else happens: items of sub-collections, objects made with this one, later checks."""

    def changed_parent(self, store: Store, key: Key) -> None:
        """A change below an object gives the object a new generation."""
        if self.parent is not None:
            store.touch(self.parent, key[:-1])
            store.kinds[self.parent].changed_parent(store, key[:-1])

    # -- checks ------------------------------------------------------------------------------------

    def check_folder(self, store: Store, key: Key) -> None:
        folder = names.folder_of(key[-1])
        if store.get("sys/folder", folder) is None:
            raise refusals.tmsh(f"The requested folder ({folder}) was not found.")

    def check_new(self, store: Store, key: Key, body: Body) -> None:
        if store.get(self.url, *key) is not None:
            raise refusals.already_exists(self.word, self.shown(key), names.partition_of(key[0]) or "Common")

    def check_references(self, store: Store, item: Item) -> None:
        """Refuse a reference to nothing."""

    def check_unused(self, store: Store, item: Item) -> None:
        """Refuse to delete what is in use."""

    # -- reading -----------------------------------------------------------------------------------

    def find(self, store: Store, key: Key) -> Item:
        """The item of a key. Raises: Refusal: 404."""
        item = store.get(self.url, *key)
        if item is None:
            raise self.absent(store, key)
        return item

    def absent(self, store: Store, key: Key) -> Refusal:
        return refusals.not_found(self.word, self.shown(key))

    def absent_get(self, store: Store, key: Key) -> Refusal:
        """The 404 of a GET: an item of a sub-collection has one of its own (bigip-behaviour.md B1)."""
        if self.parent is None:
            return self.absent(store, key)
        parent = store.kinds[self.parent]
        if store.get(self.parent, *key[:-1]) is None:
            return parent.absent_get(store, key[:-1])
        return refusals.object_not_found(key[-1])

    def read(self, store: Store, item: Item) -> Body:
        """Properties as a reply shows them, without identity and references."""
        return item.fields

    def in_order(self, children: dict[str, Item]) -> list[Item]:
        """Items of a sub-collection in the order in which they are listed."""
        return list(children.values())

    def shown_in_parent(self, store: Store) -> bool:
        """True if replies of the parent link to this sub-collection."""
        return True

    def link_target(self, store: Store, item: Item, name: str, value: str) -> str | None:
        """Kind of the object that a property refers to, for its link; None: no link."""
        group = self.links[name]
        if group in GROUPS:
            return next((kind for kind in GROUPS[group] if store.get(kind, value)), GROUPS[group][0])
        return group


def _sent(fields: Body) -> Body:
    """Without the properties that were sent as null, which have their default then (f5-cccl sends such)."""
    return {name: value for name, value in fields.items() if value is not None}


GROUPS: dict[str, tuple[str, ...]] = {
    "profile": ("security/bot-defense/profile", "security/dos/profile", *(
        f"ltm/profile/{name}"
        for name in (
            "client-ssl",
            "server-ssl",
            "http",
            "tcp",
            "udp",
            "fastl4",
            "one-connect",
            "http-compression",
            "websocket",
            "web-security",
            "http2",
            "request-log",
            "httprouter",
        )
    )),
    "monitor": tuple(
        f"ltm/monitor/{name}"
        for name in ("http", "https", "tcp", "tcp-half-open", "udp", "icmp", "gateway-icmp")
    ),
    "persistence": ("ltm/persistence/cookie", "ltm/persistence/source-addr"),
    "vlan": ("net/vlan", "net/tunnels/tunnel"),
}
"""Kinds that share one name space for those who refer to them."""


def find_in_group(store: Store, group: str, path: str) -> Item | None:
    """The object of a group with a full path."""
    for kind in GROUPS[group]:
        item = store.get(kind, path)
        if item is not None:
            return item
    return None
