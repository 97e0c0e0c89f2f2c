"""Reader and writer of the VxLAN device, its self IPs, source addresses and FDB records.

A tunnel in use cannot be deleted, and some of its properties cannot be changed (bigip-behaviour.md B1, B9).
To recreate it, everything on it is deleted and then restored in one go, other people's FDB records too.
FDB records of our tunnel are written one by one, or as one list; other people's records stay: the
sub-collection writes one record, the parent's PATCH replaces the list.
"""

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from f5router.icontrol.codec import ltm_codec, net_codec
from f5router.icontrol.observation import Observation
from f5router.icontrol.own_addresses import default_route_domain
from f5router.icontrol.rest.client import Client, delete_if_there, get_if_there
from f5router.icontrol.rest.wire import item_path
from f5router.icontrol.writers.writer import Results, SingleWriter, bisect, delete
from f5router.model import names, ownership, tmos
from f5router.model.device_facts import TunnelFacts, VirtualFacts
from f5router.model.errors import BigIPError, Conflict, NotFound, Refused
from f5router.model.json_types import JSON
from f5router.model.ltm import Object
from f5router.model.net import FDBRecord, SelfIP, SourceTranslation, Tunnel, VxlanProfile
from f5router.model.objects import Ref
from f5router.plan.change import CREATE, DELETE, UPDATE, Change

FDB = "net/fdb/tunnel"

SINGLY = 4
"""Up to this number, records are written one by one; more in one write of the whole list."""


def read_fdb(client: Client, tunnel: str) -> list[JSON]:
    """Read every record of a tunnel; [] if there is no such tunnel. Raises: BigIPError."""
    body = get_if_there(client, item_path(FDB, tunnel), {"expandSubcollections": "true"}) or {}
    records = net_codec.raw_records(body)
    if not records and "recordsReference" in body:
        # Empty, or not expanded: records that were not read would be lost with the next list.
        records = net_codec.raw_records(get_if_there(client, item_path(FDB, tunnel, "records")) or {})
    return records


class FDBWriter:
    """Writes the records of one tunnel at a time."""

    kinds = (FDBRecord.KIND,)

    def __init__(self, client: Client):
        self._client = client
        self._singly = True

    def update_from(self, observation: Observation) -> None:
        """Adapt to the device's version."""
        self._singly = observation.facts.version >= tmos.FDB_SUBCOLLECTION_SINCE

    def group(self, obj: FDBRecord) -> str:
        """Return the tunnel of a record."""
        return obj.tunnel

    def write(self, changes: Sequence[Change[FDBRecord]]) -> Results:
        """Write Changes of one tunnel."""
        tunnel = changes[0].obj.tunnel
        if not self._singly or len(changes) > SINGLY or any(change.verb == UPDATE for change in changes):
            return self._merged(tunnel, changes)
        results: Results = []
        for change in changes:
            try:
                self._write_single(tunnel, change)
            except BigIPError as exc:
                results.append((change, exc))
                if not isinstance(exc, Refused):
                    return results
            else:
                results.append((change, None))
        return results

    def _write_single(self, tunnel: str, change: Change[FDBRecord]) -> None:
        if change.new is not None:
            self._create(tunnel, change.new)
            return
        delete_if_there(self._client, item_path(FDB, tunnel, "records", change.obj.mac),
                        lambda: change.ref in self._read(tunnel))

    def _create(self, tunnel: str, record: FDBRecord) -> None:
        try:
            self._client.post(item_path(FDB, tunnel, "records"), net_codec.encode_record(record))
        except (Conflict, NotFound) as exc:
            # There already; or created, and answered 404 as some sub-collections do (bigip-behaviour.md B1).
            if self._read(tunnel).get(record.ref) == record:
                return
            if isinstance(exc, NotFound):
                raise
            self._send(tunnel, {record.ref: record})

    def _read(self, tunnel: str) -> dict[Ref, FDBRecord]:
        return {record.ref: record
                for record in net_codec.decode_records(tunnel, read_fdb(self._client, tunnel))}

    def _merged(self, tunnel: str, changes: Sequence[Change[FDBRecord]]) -> Results:
        """Write the whole list once for all Changes."""
        try:
            self._send(tunnel, {change.ref: change.new for change in changes})
        except Refused as exc:
            return bisect([[change] for change in changes], exc, partial(self._merged, tunnel))
        except BigIPError as exc:
            return [(change, exc) for change in changes]
        return [(change, None) for change in changes]

    def _send(self, tunnel: str, desired: Mapping[Ref, FDBRecord | None]) -> None:
        """Read the list, merge the records, write it; other people's records are sent back unchanged."""
        raw = read_fdb(self._client, tunnel)
        records = net_codec.decode_records(tunnel, raw)
        kept = [net_codec.sendable(item) for item, record in zip(raw, records, strict=True)
                if record.ref not in desired]
        ours = [net_codec.encode_record(record) for _, record in sorted(desired.items())
                if record is not None]
        self._client.patch(item_path(FDB, tunnel), {"records": kept + ours})


def restore_fdb(client: Client, tunnel: str, raw: list[JSON]) -> None:
    """Write the earlier records of a recreated tunnel. Raises: BigIPError."""
    if raw:
        client.patch(item_path(FDB, tunnel), {"records": [net_codec.sendable(item) for item in raw]})


log = logging.getLogger(__name__)

VIRTUAL, SNAT_POOL = "ltm/virtual", "ltm/snatpool"

NetworkObject = VxlanProfile | Tunnel | SelfIP

_DECODERS: Mapping[str, Callable[[JSON], Any]] = {
    VxlanProfile.KIND: net_codec.decode_vxlan,
    Tunnel.KIND: net_codec.decode_tunnel,
    SelfIP.KIND: net_codec.decode_self,
}


FLOATING = "enabled"
"""Value of `floating` of a self IP that is on the active unit of a pair."""


def observe(client: Client, folder: str) -> tuple[list[Object], dict[str, Any]]:
    """Read our VxLAN device with every record of its FDB; also keyword arguments of DeviceFacts.

    Other people's records are read for comparison only. Self IPs are read as a collection: one of an earlier
    gateway has another name.
    Raises: BigIPError.
    """
    own, profile = names.tunnel(folder), names.vxlan_profile(folder)
    raw = get_if_there(client, item_path(VxlanProfile.KIND, profile))
    objects: list[Object] = [net_codec.decode_vxlan(raw)] if raw is not None else []
    tunnels = [tunnel for _, tunnel in _readable(client, Tunnel.KIND)]
    addresses = _readable(client, SelfIP.KIND)
    objects += [tunnel for tunnel in tunnels if tunnel.path == own]
    objects += _own(addresses, folder)
    if any(tunnel.path == own for tunnel in tunnels):
        objects += net_codec.decode_records(own, read_fdb(client, own))
    return objects, _facts(client, folder, tunnels, addresses)


def _facts(
    client: Client, folder: str, tunnels: Iterable[Tunnel], addresses: Collection[tuple[JSON, SelfIP]],
) -> dict[str, Any]:
    """Return the tunnels with self IPs in our route domain, and floating IPv4 self IPs elsewhere in it.

    The route domain is read if there may be any besides our own.
    """
    own = names.tunnel(folder)
    floating = [(raw, address) for raw, address in addresses
                if address.vlan != own and address.floating == FLOATING]
    on: dict[str, list[tuple[JSON, SelfIP]]] = {}
    for raw, address in addresses:
        on.setdefault(address.vlan, []).append((raw, address))
    others = any(tunnel.path in on for tunnel in tunnels if tunnel.path != own)
    domain = default_route_domain(client, folder) if others or floating else 0
    facts = []
    for tunnel in tunnels:
        here = (net_codec.interface(address) for raw, address in on.get(tunnel.path, ())
                if tunnel.path == own or net_codec.route_domain(raw) == domain)
        addresses_here = tuple(sorted(filter(None, here)))
        if addresses_here or tunnel.path == own:
            facts.append(TunnelFacts(tunnel.path, tunnel.local_address, addresses_here))
    near = [net_codec.interface(address) for raw, address in floating
            if net_codec.route_domain(raw) == domain]
    # Automap goes by the family of a pool member, and the cluster network has IPv4.
    return {"tunnels": tuple(facts), "floating_addresses": tuple(sorted(
        cidr.partition("/")[0] for cidr in near if cidr and ":" not in cidr))}


def _readable(client: Client, kind: str) -> list[tuple[JSON, Any]]:
    """Read a collection: each item with its decoded object; undecodable items count as absent."""
    decoded = []
    for item in client.get(kind).get("items") or []:
        try:
            decoded.append((item, _DECODERS[kind](item)))
        except ltm_codec.ODD as exc:
            log.debug("object not understood", extra={"kind": kind, "error": repr(exc)})
    return decoded


def own_addresses(client: Client, folder: str) -> list[SelfIP]:
    """Read our self IPs on our tunnel. Raises: BigIPError."""
    return _own(_readable(client, SelfIP.KIND), folder)


def _own(addresses: Iterable[tuple[JSON, SelfIP]], folder: str) -> list[SelfIP]:
    return [address for _, address in addresses if ownership.owns(folder, address)]


def translation_facts(client: Client, path: str, raw: JSON, *, members: bool) -> dict[str, Any]:
    """Return the keyword arguments of VirtualFacts for a virtual server's source addresses.

    Args: members: read those of a SNAT pool too.
    """
    kind, pool = net_codec.decode_translation(path, raw).type, net_codec.translation_pool(raw)
    addresses: frozenset[str] = frozenset()
    if members and kind == "snat" and pool:
        addresses = net_codec.pool_addresses(get_if_there(client, item_path(SNAT_POOL, pool)) or {})
    return {"snat": kind, "snat_pool": pool, "snat_addresses": addresses}


def translations(virtuals: Iterable[VirtualFacts | None]) -> list[SourceTranslation]:
    """Return the facts as objects, to compare with the desired objects."""
    return [SourceTranslation(facts.path, facts.snat) for facts in virtuals
            if facts and facts.exists and not facts.is_own]


class TunnelWriter(SingleWriter[NetworkObject | SourceTranslation]):
    """Keeps no state."""

    kinds = (VxlanProfile.KIND, Tunnel.KIND, SelfIP.KIND, SourceTranslation.KIND)

    def __init__(self, client: Client, folder: str, describe: ownership.Describe):
        self._client, self._folder, self._describe = client, folder, describe

    def write_single(self, change: Change[NetworkObject | SourceTranslation]) -> None:
        """Write one Change. Raises: BigIPError."""
        obj = change.obj
        if isinstance(obj, SourceTranslation):
            self._translate(obj)
        elif change.verb == DELETE:
            delete(self._client, obj.ref)
        elif change.verb == CREATE:
            self._create(obj)
        else:
            assert isinstance(change.old, NetworkObject), change
            self._change(change.old, obj)

    # --- creating ------------------------------------------------------------------------

    def _create(self, obj: NetworkObject) -> None:
        try:
            self._client.post(obj.KIND, self._body(obj))
        except Conflict:
            self._take_over(obj)
        except Refused:
            if not isinstance(obj, SelfIP) or not (earlier := self._earlier(obj)):
                raise
            self._replace(earlier, obj)

    def _body(self, obj: NetworkObject) -> dict[str, Any]:
        return {**net_codec.encode(obj), **ownership.description_properties(self._describe, obj)}

    def _take_over(self, obj: NetworkObject) -> None:
        """Update an object created since the last reading; somebody else's self IP is left alone."""
        present = _DECODERS[obj.KIND](self._client.get(item_path(obj.KIND, obj.path)))
        if not ownership.owns(self._folder, present):
            text = f"self IP {obj.path} exists on {present.vlan} and is not the router's"
            raise Refused("POST", obj.KIND, f"{text}; remove it, or choose another gateway")
        if present != obj:
            self._change(present, obj)

    def _earlier(self, obj: SelfIP) -> list[SelfIP]:
        """Return our self IPs of the same address with another prefix, which block the self IP."""
        address = obj.address.partition("/")[0]
        return [self_ip for self_ip in own_addresses(self._client, self._folder)
                if self_ip.path != obj.path and self_ip.address.partition("/")[0] == address]

    def _replace(self, earlier: list[SelfIP], obj: SelfIP) -> None:
        """Delete the earlier self IPs, then create the new one; roll back on refusal."""
        for self_ip in earlier:
            delete(self._client, self_ip.ref)
        try:
            self._client.post(obj.KIND, net_codec.encode(obj))
        except Refused:
            for self_ip in earlier:
                self._client.post(self_ip.KIND, net_codec.encode(self_ip))
            raise

    # --- changing ------------------------------------------------------------------------

    def _change(self, old: NetworkObject, new: NetworkObject) -> None:
        before, after = net_codec.properties(old), net_codec.properties(new)
        body = {name: value for name, value in after.items() if before[name] != value}
        if not body.keys() & net_codec.FIXED[new.KIND]:
            self._client.patch(item_path(new.KIND, new.path), body)
        elif isinstance(old, Tunnel) and isinstance(new, Tunnel):
            self._recreate(old, new)
        elif isinstance(old, SelfIP) and isinstance(new, SelfIP):
            self._replace([old], new)
        else:
            raise TypeError(f"{new.ref}: cannot be recreated")

    def _recreate(self, old: Tunnel, new: Tunnel) -> None:
        """Recreate the tunnel, then restore FDB and self IPs; roll back on refusal."""
        log.warning("recreating tunnel: pods unreachable until done", extra={"object": str(new.ref)})
        records = read_fdb(self._client, new.path)
        addresses = own_addresses(self._client, self._folder)
        try:
            for self_ip in addresses:
                delete(self._client, self_ip.ref)
            self._client.delete(item_path(Tunnel.KIND, old.path))
            try:
                self._client.post(Tunnel.KIND, self._body(new))
            except Refused:
                self._client.post(Tunnel.KIND, self._body(old))
                restore_fdb(self._client, old.path, records)
                raise
            restore_fdb(self._client, new.path, records)
        finally:
            for self_ip in addresses:
                try:
                    self._client.post(SelfIP.KIND, net_codec.encode(self_ip))
                except Conflict:
                    log.debug("object not deleted", extra={"object": str(self_ip.ref)})

    def _translate(self, obj: SourceTranslation) -> None:
        """Set the source address translation, unless somebody else has set one since the last reading."""
        path = item_path(VIRTUAL, obj.virtual)
        present = net_codec.decode_translation(obj.virtual, self._client.get(path))
        if present.type == "none":
            self._client.patch(path, {"sourceAddressTranslation": {"type": obj.type}})
        elif present != obj:
            raise Conflict("PATCH", path, f"virtual server {obj.virtual}: {present.type} was set meanwhile")
