"""The configuration as the data plane needs it: immutable, made from the store under its lock.

Nothing is made before traffic asks for it. A commit of many objects is one moment: whoever holds the lock
sees all of it or nothing.
"""

from __future__ import annotations

import functools
import ipaddress
from dataclasses import dataclass
from typing import Any

from mocks.bigip import addresses, names, security, selection, virtual_addresses
from mocks.bigip.kinds import find_in_group
from mocks.bigip.matching import Unsupported
from mocks.bigip.profile_rules import SIDES
from mocks.bigip.store import Item, Store


@dataclass(frozen=True)
class Virtual:
    """Configuration that a new connection to a virtual server meets."""

    path: str
    address: str
    """Address of its destination, without route domain."""
    port: int
    http: dict[str, Any] | None
    """The http profile's properties."""
    ends_tls: bool
    server_ssl: str | None
    """Full path of its server-ssl profile."""
    one_connect: str | None
    compression: dict[str, Any] | None
    """The http-compression profile's properties."""
    request_log: dict[str, Any] | None
    """The request-log profile's properties."""
    idle_s: float
    """idleTimeout of the client side's tcp profile; 0: none."""
    server_idle_s: float
    """The same of the server side."""
    syn_s: float
    """Seconds until a member that does not answer is given up."""
    limit: int
    """connectionLimit; 0: none."""
    rules: tuple[tuple[str, str], ...]
    """(full path, text) of its iRules."""
    pool: str | None
    persist: str | None
    snat: str
    source: str
    vlans: frozenset[str]
    """VLANs on which it answers; without `only_vlans`, those on which it does not."""
    only_vlans: bool
    is_mirrored: bool
    """True if another unit goes on with its connections after a failover."""
    firewall: tuple[dict[str, Any], ...]
    """Rules of its firewall policy."""

    def answers_on(self, vlan: str) -> bool:
        """True if it takes connections that come on a VLAN."""
        return (vlan in self.vlans) is self.only_vlans


def virtual(store: Store, path: str) -> Virtual | None:
    """A virtual server that takes connections; None: it is gone or disabled. Hold the lock."""
    kept = store.kept.get("virtuals")
    if kept is None or kept[0] != store.changes:
        kept = store.kept["virtuals"] = (store.changes, {})
    if path not in kept[1]:
        item = store.get("ltm/virtual", path)
        kept[1][path] = _virtual(store, item) if item is not None and is_enabled(store, item) else None
    return kept[1][path]


def is_enabled(store: Store, item: Item) -> bool:
    """Return True if a virtual server takes connections: neither it nor its address is disabled."""
    return "disabled" not in item.fields and virtual_addresses.answers(store, item)


def carried(store: Store, item: Item) -> bool:
    """Return True if the data plane listens for a virtual server: enabled, and not UDP or SCTP."""
    return is_enabled(store, item) and item.fields.get("ipProtocol", "any") in ("tcp", "any")


def _virtual(store: Store, item: Item) -> Virtual:
    fields, path = item.fields, item.path

    def profile(kind: str) -> dict[str, Any] | None:
        profile_path = selection.of_type(store, path, kind)
        return selection.profile_fields(store, profile_path) if profile_path else None

    address, port = destination(item)
    persist = [entry for entry in fields.get("persist", ()) if entry.get("tmDefault") != "no"]
    snat = fields["sourceAddressTranslation"]
    client_side, server_side = (_transport(store, path, side) for side in SIDES)
    return Virtual(
        path=path,
        address=address,
        port=port,
        http=profile("http"),
        ends_tls=store.is_used("profile type", f"{path} client-ssl"),
        server_ssl=selection.server_ssl(store, path),
        one_connect=selection.of_type(store, path, "one-connect"),
        compression=profile("http-compression"),
        request_log=profile("request-log"),
        idle_s=seconds(client_side.get("idleTimeout", 300)),
        server_idle_s=seconds(server_side.get("idleTimeout", 300)),
        syn_s=_syn_s(server_side),
        limit=int(fields["connectionLimit"]),
        rules=tuple((rule, _text(store, rule)) for rule in fields.get("rules", ())),
        pool=fields.get("pool"),
        persist=names.from_body(persist[0]) if persist else None,
        snat=snat.get("pool") or snat["type"],
        source=fields["source"],
        vlans=frozenset(fields.get("vlans", ())),
        only_vlans="vlansEnabled" in fields,
        is_mirrored=fields.get("mirror") == "enabled",
        firewall=_firewall(store, fields.get("fwEnforcedPolicy")),
    )


def _firewall(store: Store, policy: str | None) -> tuple[dict[str, Any], ...]:
    item = store.get(security.FIREWALL, policy) if policy else None
    return tuple(item.fields.get("rules", ())) if item else ()


def _transport(store: Store, path: str, side: str) -> dict[str, Any]:
    """Properties of the tcp or fastL4 profile of a side."""
    own = selection.of_side(store, path, "tcp", side) or selection.of_type(store, path, "fastl4")
    return selection.profile_fields(store, own) if own else {}


def _syn_s(tcp: dict[str, Any]) -> float:
    """Seconds until SYNs are given up; the time between them doubles (clouddocs, LB_FAILED: 3, 6, 12, 24)."""
    return int(tcp.get("synRtoBase", 3000)) * (2 ** (int(tcp.get("synMaxRetrans", 3)) + 1) - 1) / 1000


def _text(store: Store, rule: str) -> str:
    return store.get("ltm/rule", rule).fields.get("apiAnonymous", "")


def destination(item: Item) -> tuple[str, int]:
    """(address without route domain, port) of a virtual server."""
    host, port = addresses.split_port(item.fields["destination"].rsplit("/", 1)[1])
    return host.partition("%")[0], addresses.port_number(port)


def seconds(value: object) -> float:
    """A time of a profile; 0 for indefinite and immediate."""
    return float(value) if str(value).isdigit() else 0.0


@functools.lru_cache(maxsize=4096)
def admits(source: str, client: str) -> bool:
    """True if a virtual server's `source` takes a client; any IPv6 prefix of length 0 takes loopback's."""
    text, _, length = source.partition("/")
    network = ipaddress.ip_network(f"{text.partition('%')[0]}/{length}", strict=False)
    return network.prefixlen == 0 or ipaddress.ip_address(client) in network


def persistence(store: Store, path: str) -> tuple[str, dict[str, Any]] | None:
    """(type, properties) of a persistence profile, None if it is gone. Raises: Unsupported."""
    item = find_in_group(store, "persistence", path)
    if item is None:
        return None
    kind = item.kind.rsplit("/", 1)[1]
    fields = store.kinds[item.kind].effective(store, item)
    if kind == "cookie" and fields.get("method") != "insert":
        raise Unsupported(f"method of cookie persistence {path}: {fields.get('method')}")
    return kind, fields


def by_command(store: Store, kind: str, chosen: dict[str, str]) -> tuple[str, dict[str, Any]]:
    """Return what the iRule command persist asks for. Raises: Unsupported.

    A cookie has the other properties of the default profile (inferred).
    """
    if kind != "cookie":
        return kind, dict(chosen)
    _, fields = persistence(store, _BY_ACTION["cookieInsert"]) or (kind, {})
    return kind, {**fields, **chosen}


_BY_ACTION = {"cookieInsert": "/Common/cookie", "sourceAddress": "/Common/source_addr"}


def by_action(store: Store, action: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return what the action persist of a policy asks for. Raises: Unsupported."""
    verb = next((key for key in _BY_ACTION if key in action), None)
    if verb is None:
        raise Unsupported(f"persist action {sorted(action)}")
    kind, fields = persistence(store, _BY_ACTION[verb])
    name = action.get("cookieName") or action.get("name") or "none"
    return kind, {**fields, "cookieName": name} if verb == "cookieInsert" else fields
