"""Pools, pool members and LTM nodes (bigip-behaviour.md B3)."""

from __future__ import annotations

from collections.abc import Iterable

from mocks.bigip import addresses, names, refusals
from mocks.bigip.kinds import Body, Kind
from mocks.bigip.monitors import Monitored, check_monitors, parse_monitor
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Key, Ref, Store


class Pool(Monitored):
    url = "ltm/pool"
    word = "Pool"
    subs = ("ltm/pool/members",)
    unmonitored = (*Monitored.unmonitored, "default")
    """f5-cccl writes `default` to a pool without a monitor (f5_cccl/resource/ltm/pool.py)."""

    def check_references(self, store: Store, item: Item) -> None:
        check_monitors(store, item, "pool")

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        if "members" in body:
            members = store.kinds["ltm/pool/members"]
            members.set_all(store, item.key, body["members"] or [])

    def check_unused(self, store: Store, item: Item) -> None:
        for kind, key in store.users("pool", item.path):
            raise refusals.in_use(self.word, item.path, _user_of_pool(kind, key))


def _user_of_pool(kind: str, key: Key) -> str:
    """The words for who uses a pool; only the beginning of the second is recorded (bigip-behaviour.md B1)."""
    if kind == "ltm/virtual":
        return f"Virtual Server ({key[0]})"
    if kind == "ltm/policy/rules/actions":
        return f"policy action ({' '.join(key)})"
    return f"{kind.rsplit('/', 1)[1]} ({' '.join(key)})"


class Members(Kind):
    url = "ltm/pool/members"
    word = "Pool Member"
    parent = "ltm/pool"
    partitioned = False
    counts_in_folder = False
    ignored = frozenset(("ephemeral", "fqdn"))

    def key_of(self, store: Store, parent: Key, body: Body) -> Key:
        name = body.get("name")
        if not isinstance(name, str) or not name:
            names.from_body(body)
        if not str(name).startswith("/"):
            partition = body.get("partition") or body.get("tmPartition") or names.partition_of(parent[0])
            sub_path = str(body.get("subPath") or "").strip("/")
            segments = (str(partition).strip("/"), sub_path, name)
            name = "/" + "/".join(segment for segment in segments if segment)
        return (*parent, str(name))

    def key_in_url(self, store: Store, parent: Key, name: str) -> Key:
        return (*parent, names.full_path(name, f"/{names.partition_of(parent[0])}"))

    def shown(self, key: Key) -> str:
        node, port = node_and_port(key[-1])
        return f"{key[0]} {node} {port}"

    def references(self, item: Item) -> Iterable[Ref]:
        _, monitors = parse_monitor(item.fields.get("monitor"))
        return [
            ("node", node_and_port(item.name)[0]),
            *(("monitor", path) for path in monitors if path != "default"),
        ]

    def check_new(self, store: Store, key: Key, body: Body) -> None:
        folder = names.folder_of(key[-1])
        if store.get("sys/folder", folder) is None:
            raise refusals.configuration_error(
                f"Can't associate Pool Member ({self.shown(key)}) folder does not exist"
            )
        if store.get("ltm/pool", key[0]) is None:
            raise refusals.not_found("pool", key[0])
        super().check_new(store, key, body)

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        node, port = node_and_port(key[-1])
        addresses.port_number(port)
        check_partition(key[0], node)
        if old is not None:
            address = old.fields["address"]
            if "address" in body and body["address"] not in (address, address.partition("%")[0]):
                raise refusals.tmsh('"address" may not be changed')
        else:
            own = names.partition_of(node) == names.partition_of(key[0])
            create = own or not store.has(Quirk.MEMBER_MAKES_NO_SHARED_NODE)
            address = store.kinds["ltm/node"].for_member(store, node, body.get("address"), create=create)
        return {
            **fields,
            "address": address,
            "session": fields.get("session", "user-enabled"),
            "state": fields.get("state", "user-up"),
        }

    def check_references(self, store: Store, item: Item) -> None:
        if item.fields.get("monitor", "default") != "default":
            check_monitors(store, item, "pool member")

    def set_all(self, store: Store, parent: Key, members: list) -> None:
        """Replace the whole list; a member may be a name or an object (bigip-behaviour.md B3)."""
        bodies = [{"name": member} if isinstance(member, str) else dict(member) for member in members]
        keys = [self.key_of(store, parent, body) for body in bodies]
        wanted = set(keys)
        if len(wanted) < len(keys):
            twice = next(key for index, key in enumerate(keys) if key in keys[:index])
            refuse_duplicate(
                store, refusals.already_exists(self.word, self.shown(twice), names.partition_of(twice[0]))
            )
        for name in list(store.children(self.url, parent)):
            if (*parent, name) not in wanted:
                store.remove(self.url, (*parent, name))
        for key, body in zip(keys, bodies, strict=True):
            old = store.get(self.url, *key)
            if old is None:
                self.create(store, parent, body)
            else:
                self.replace(store, old, body)

    def read(self, store: Store, item: Item) -> Body:
        """`session` and `state` as monitors leave them; without a data plane every member is up."""
        fields = dict(item.fields)
        own = fields.get("monitor")
        of_pool = own == "default" and "monitor" in store.get("ltm/pool", item.path).fields
        monitored = of_pool or own not in (None, "", "none", "default")
        if fields["session"] == "user-enabled" and monitored:
            fields["session"] = "monitor-enabled"
        if fields["state"] == "user-up":
            down = store.is_down(item.path, item.name) if monitored else None
            state = {True: "down", False: "up", None: "checking"}[down]
            fields["state"] = state if monitored else "unchecked"
            if is_forced_offline(store, item):
                fields["state"] = "down"
        return fields


def node_of(store: Store, member: Item) -> Item | None:
    """The LTM node of a pool member."""
    return store.get("ltm/node", node_and_port(member.name)[0])


def is_forced_offline(store: Store, member: Item) -> bool:
    """True if the LTM node of a member is forced offline: then the member is down, with or without a monitor.

    Source: F5's statistics of members, whose monitor status includes that of the node ("addr-down").
    """
    node = node_of(store, member)
    return node is not None and node.fields.get("state") == "user-down"


def check_partition(pool: str, node: str) -> None:
    """A pool refers to nodes of its own partition and of /Common (bigip-behaviour.md B3).

    The number and the form are those recorded for rules of a virtual server; the word is inferred.
    """
    if names.partition_of(node) not in (names.partition_of(pool), "Common"):
        raise refusals.mcpd(
            "01070726",
            f"A pool may only reference nodes in the same partition or the common partition ({pool}:{node})",
        )


def refuse_duplicate(store: Store, refusal: refusals.Refusal) -> None:
    """A name twice in a sent list: 409 or 400 (bigip-behaviour.md B12.7)."""
    if store.has(Quirk.DUPLICATES_400):
        refusal.status = 400
    raise refusal


def node_and_port(name: str) -> tuple[str, str]:
    """(full path of the node, port) of a member's full path."""
    folder, _, last = name.rpartition("/")
    try:
        host, port = addresses.split_port(last)
    except ValueError:
        raise addresses.bad_port(last) from None
    return f"{folder}/{host}", port


class Node(Monitored):
    url = "ltm/node"
    word = "node"
    ignored = frozenset(("ephemeral",))

    def uniques(self, item: Item) -> Iterable[Ref]:
        return [("node address", item.hidden["address"])] if item.hidden["address"] else []

    def create(self, store: Store, parent: Key, body: Body) -> Item:
        key = self.key_of(store, parent, body)
        names.check(key[0])
        self.check_folder(store, key)
        self.check_new(store, key, body)
        fields = {**self.initial(store, key), **self.accept(store, body, key)}
        if (body.get("fqdn") or {}).get("tmName"):
            return self._put_fqdn(store, key, fields)
        if "address" not in body:
            raise refusals.missing("address")
        partition = names.partition_of(key[0])
        clash = store.holder("node address", self._index(store, partition, str(body["address"])))
        if clash:
            raise refusals.mcpd("0107176c", f"Invalid Node, the IP address {body['address']} already exists.")
        return self._put(store, key, fields)

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        """The address stays, also when a PUT does not send it; session and state have defaults."""
        fields = super().normalise(store, key, fields, body, old)
        if old is None:
            return fields
        address = old.fields["address"]
        if body.get("address") not in (None, address, address.partition("%")[0], f"{address}%0"):
            raise refusals.tmsh('"address" may not be changed')
        return {"session": "user-enabled", "state": "user-up", **fields, "address": address}

    def _put_fqdn(self, store: Store, key: Key, fields: Body) -> Item:
        """A node by name has no address of its own; the fake resolves nothing (bigip-behaviour.md B3)."""
        fqdn = {**self.schema(store).defaults.get("fqdn", {}), **fields["fqdn"]}
        fields = {"session": "user-enabled", **fields, "fqdn": fqdn, "address": "any6", "state": "fqdn-up"}
        item = store.put(self.url, key, self.normalise(store, key, fields, fields, None), {"address": ""})
        self.check_references(store, item)
        return item

    def resolve(self, store: Store, path: str, address: str) -> str:
        """Make the node that a device makes of one by name, beside it; return its path.

        Source of its name: F5Networks/f5-appsvcs-extension#895; `ephemeral` is in recordings of nodes.
        """
        beside = f"{names.folder_of(path)}/_auto_{address}"
        fields = {**self.initial(store, (beside,)), "address": address, "ephemeral": "true"}
        return self._put(store, (beside,), fields).path

    def for_member(self, store: Store, path: str, address: str | None, *, create: bool) -> str:
        """The address of a member's node; the node is made if its name or the body tells an address.

        Args: create: True if this device makes it at all.
        """
        partition, _, host = names.split(path)
        node = store.get(self.url, path)
        if node is not None:
            return node.fields["address"]
        given = str(address) if address else host
        if not create or not addresses.is_address(given):
            raise refusals.not_found("node", path)
        clash = store.holder("node address", self._index(store, partition, given))
        if clash:
            raise refusals.mcpd(
                "0107003a",
                f"Pool member node ({path}) and existing node ({clash[0]}) "
                f"cannot use the same IP Address ({given}).",
            )
        fields = {**self.initial(store, (path,)), "address": given}
        return self._put(store, (path,), fields).fields["address"]

    def _put(self, store: Store, key: Key, fields: Body) -> Item:
        partition = names.partition_of(key[0])
        sent = str(fields["address"])
        if not addresses.is_address(sent):
            raise refusals.invalid_value("address", sent)
        fields = self.normalise(
            store, key, {"session": "user-enabled", "state": "user-up", **fields}, fields, None
        )
        fields["address"] = addresses.shown(store, partition, sent)
        item = store.put(self.url, key, fields, {"address": self._index(store, partition, sent)})
        self.check_references(store, item)
        return item

    def _index(self, store: Store, partition: str, address: str) -> str:
        if not addresses.is_address(address):
            raise refusals.invalid_value("address", address)
        return addresses.parse(address).in_domain(addresses.default_domain(store, partition))

    def check_references(self, store: Store, item: Item) -> None:
        if item.fields.get("monitor", "default") != "default":
            check_monitors(store, item, "node")

    def check_unused(self, store: Store, item: Item) -> None:
        for _, key in store.users("node", item.path):
            raise refusals.mcpd(
                "01070110", f"Node address '{item.path}' is referenced by a member of pool '{key[0]}'."
            )

    def read(self, store: Store, item: Item) -> Body:
        fields = dict(super().read(store, item))
        monitored = fields.get("monitor", "default") != "default" and "tmName" not in fields.get("fqdn", {})
        if monitored and fields["session"] == "user-enabled":
            fields["session"] = "monitor-enabled"
        if fields["state"] == "user-up":
            fields["state"] = "up" if monitored else "unchecked"
        return fields
