"""Reads and writes what joins the device to the cluster network, save the FDB's records.

A tunnel in use cannot be deleted, and some of its properties not be changed (bigip-behaviour.md B1, B9):
what has to be made anew is taken apart from above and put together again in one go, so that what
was there before, other people's FDB records too, is there afterwards.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from f5router.icontrol.codec import ltm_codec, net_codec
from f5router.icontrol.rest.client import Client, delete_if_there
from f5router.icontrol.rest.encoding import item_path
from f5router.icontrol.writers import fdb
from f5router.icontrol.writers.writer import SingleWriter
from f5router.model import names
from f5router.model.device_facts import TunnelFacts, VirtualFacts
from f5router.model.errors import Conflict, NotFound, Refused
from f5router.model.json_types import JSON
from f5router.model.ltm import Object
from f5router.model.net import SelfIP, SourceTranslation, Tunnel, VxlanProfile
from f5router.plan.change import CREATE, DELETE, Change

log = logging.getLogger(__name__)

VIRTUAL, SNAT_POOL = "ltm/virtual", "ltm/snatpool"

Part = VxlanProfile | Tunnel | SelfIP

_DECODERS: Mapping[str, Callable[[JSON], Any]] = {
    VxlanProfile.KIND: net_codec.decode_vxlan,
    Tunnel.KIND: net_codec.decode_tunnel,
    SelfIP.KIND: net_codec.decode_self,
}


def observe(client: Client, folder: str) -> tuple[list[Object], tuple[TunnelFacts, ...]]:
    """Our VxLAN device, and every record of its FDB, other people's for comparison only; all tunnels.

    Self IPs are read as a collection: one of an earlier gateway has another name.
    Raises: BigIPError.
    """
    own, profile = names.tunnel(folder), names.vxlan_profile(folder)
    found: list[Object] = []
    try:
        found.append(net_codec.decode_vxlan(client.get(item_path(VxlanProfile.KIND, profile))))
    except NotFound:
        log.debug("not there", extra={"kind": VxlanProfile.KIND, "path": profile})
    tunnels = [tunnel for _, tunnel in _readable(client, Tunnel.KIND)]
    addresses = _readable(client, SelfIP.KIND)
    found += [tunnel for tunnel in tunnels if tunnel.path == own]
    found += _own(addresses, folder)
    if any(tunnel.path == own for tunnel in tunnels):
        found += net_codec.decode_records(own, fdb.read(client, own))
    return found, _facts(client, folder, tunnels, addresses)


def _facts(
    client: Client, folder: str, tunnels: Iterable[Tunnel], addresses: Iterable[tuple[JSON, SelfIP]],
) -> tuple[TunnelFacts, ...]:
    """One more read where there are self IPs on tunnels that are not ours."""
    own = names.tunnel(folder)
    on: dict[str, list[tuple[JSON, SelfIP]]] = {}
    for raw, address in addresses:
        on.setdefault(address.vlan, []).append((raw, address))
    others = any(tunnel.path in on for tunnel in tunnels if tunnel.path != own)
    domain = default_route_domain(client, folder) if others else 0
    found = []
    for tunnel in tunnels:
        here = (net_codec.interface(address) for raw, address in on.get(tunnel.path, ())
                if tunnel.path == own or net_codec.route_domain(raw) == domain)
        one = TunnelFacts(tunnel.path, tunnel.local_address, tuple(sorted(filter(None, here))))
        if one.addresses or one.path == own:
            found.append(one)
    return tuple(found)


def default_route_domain(client: Client, folder: str) -> int:
    """That of our partition, which our self IP and our pool members get."""
    partition = client.get(item_path("auth/partition", folder.split("/")[1]))
    return int(partition.get("defaultRouteDomain") or 0)


def _readable(client: Client, kind: str) -> list[tuple[JSON, Any]]:
    """Items of a collection, everybody's, each with what it stands for; an odd one counts as absent."""
    found = []
    for item in client.get(kind).get("items") or []:
        try:
            found.append((item, _DECODERS[kind](item)))
        except ltm_codec.ODD as exc:
            log.debug("object not understood", extra={"kind": kind, "error": repr(exc)})
    return found


def own_addresses(client: Client, folder: str) -> list[SelfIP]:
    """Self IPs of ours on our tunnel. Raises: BigIPError."""
    return _own(_readable(client, SelfIP.KIND), folder)


def _own(addresses: Iterable[tuple[JSON, SelfIP]], folder: str) -> list[SelfIP]:
    return [address for _, address in addresses if names.owns(folder, address)]


def translation_facts(client: Client, path: str, raw: JSON) -> dict[str, Any]:
    """Keywords of VirtualFacts that tell a virtual server's source addresses."""
    kind, pool = net_codec.decode_translation(path, raw).type, net_codec.translation_pool(raw)
    addresses: frozenset[str] = frozenset()
    if kind == "snat" and pool:
        try:
            addresses = net_codec.pool_addresses(client.get(item_path(SNAT_POOL, pool)))
        except NotFound:
            log.debug("not there", extra={"kind": SNAT_POOL, "path": pool})
    return {"snat": kind, "snat_pool": pool, "snat_addresses": addresses}


def translations(virtuals: Iterable[VirtualFacts | None]) -> list[SourceTranslation]:
    """The same facts as objects, to be compared with what is wanted."""
    return [SourceTranslation(facts.path, facts.snat) for facts in virtuals if facts and facts.exists]


class TunnelWriter(SingleWriter[Part | SourceTranslation]):
    """Keeps no state."""

    kinds = (VxlanProfile.KIND, Tunnel.KIND, SelfIP.KIND, SourceTranslation.KIND)

    def __init__(self, client: Client, folder: str):
        self._client, self._folder = client, folder

    def write_single(self, change: Change[Part | SourceTranslation]) -> None:
        """Write one Change. Raises: BigIPError."""
        obj = change.obj
        if isinstance(obj, SourceTranslation):
            self._translate(obj)
        elif change.verb == DELETE:
            self._delete(obj)
        elif change.verb == CREATE:
            self._create(obj)
        else:
            assert isinstance(change.old, Part), change
            self._change(change.old, obj)

    # --- creating ------------------------------------------------------------------------

    def _create(self, obj: Part) -> None:
        try:
            self._client.post(obj.KIND, net_codec.encode(obj))
        except Conflict:
            self._take_over(obj)
        except Refused:
            if not isinstance(obj, SelfIP) or not (earlier := self._earlier(obj)):
                raise
            self._replace(earlier, obj)

    def _take_over(self, obj: Part) -> None:
        """What came into being since it was looked for; somebody else's self IP is left alone."""
        found = _DECODERS[obj.KIND](self._client.get(item_path(obj.KIND, obj.path)))
        if not names.owns(self._folder, found):
            text = f"self IP {obj.path} exists on {found.vlan} and is not the router's"
            raise Refused("POST", obj.KIND, f"{text}; remove it, or choose another gateway")
        if found != obj:
            self._change(found, obj)

    def _earlier(self, obj: SelfIP) -> list[SelfIP]:
        """Those of ours that stand in the way: of the same address with another prefix."""
        address = obj.address.partition("/")[0]
        return [found for found in own_addresses(self._client, self._folder)
                if found.path != obj.path and found.address.partition("/")[0] == address]

    def _replace(self, earlier: list[SelfIP], obj: SelfIP) -> None:
        """Delete, then create; as it was when the device refuses."""
        for found in earlier:
            self._delete(found)
        try:
            self._client.post(obj.KIND, net_codec.encode(obj))
        except Refused:
            for found in earlier:
                self._client.post(found.KIND, net_codec.encode(found))
            raise

    # --- changing ------------------------------------------------------------------------

    def _change(self, old: Part, new: Part) -> None:
        before, after = net_codec.properties(old), net_codec.properties(new)
        body = {name: value for name, value in after.items() if before[name] != value}
        if not body.keys() & net_codec.FIXED[new.KIND]:
            self._client.patch(item_path(new.KIND, new.path), body)
        elif isinstance(old, Tunnel) and isinstance(new, Tunnel):
            self._make_anew(old, new)
        elif isinstance(old, SelfIP) and isinstance(new, SelfIP):
            self._replace([old], new)
        else:
            raise TypeError(f"{new.ref}: cannot be made anew")

    def _make_anew(self, old: Tunnel, new: Tunnel) -> None:
        """Self IPs, tunnel, tunnel, FDB, self IPs; as it was when the device refuses a step."""
        log.warning("tunnel is made anew, pods are not reachable meanwhile", extra={"object": str(new.ref)})
        records = fdb.read(self._client, new.path)
        addresses = own_addresses(self._client, self._folder)
        try:
            for found in addresses:
                self._delete(found)
            self._client.delete(item_path(Tunnel.KIND, old.path))
            try:
                self._client.post(Tunnel.KIND, net_codec.encode(new))
            except Refused:
                self._client.post(Tunnel.KIND, net_codec.encode(old))
                fdb.restore(self._client, old.path, records)
                raise
            fdb.restore(self._client, new.path, records)
        finally:
            for found in addresses:
                try:
                    self._client.post(SelfIP.KIND, net_codec.encode(found))
                except Conflict:
                    log.debug("was not deleted", extra={"object": str(found.ref)})

    def _translate(self, obj: SourceTranslation) -> None:
        """Set it where nothing is set, also by somebody else in the meantime."""
        path = item_path(VIRTUAL, obj.virtual)
        found = net_codec.decode_translation(obj.virtual, self._client.get(path))
        if found.type == "none":
            self._client.patch(path, {"sourceAddressTranslation": {"type": obj.type}})
        elif found != obj:
            raise Conflict("PATCH", path, f"virtual server {obj.virtual}: {found.type} was set meanwhile")

    # --- deleting ------------------------------------------------------------------------

    def _delete(self, obj: Part) -> None:
        delete_if_there(self._client, item_path(obj.KIND, obj.path))
