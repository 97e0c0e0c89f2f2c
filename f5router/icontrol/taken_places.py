"""Addresses and ports that other virtual servers have, in every partition, as a BIG-IP refuses them.

Its words are those of recorded refusals (bigip-behaviour.md B7).
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from f5router.icontrol.codec import ltm_codec, net_codec, virtual_codec
from f5router.icontrol.rest.client import Client
from f5router.model.errors import BigIPError
from f5router.model.json_types import JSON
from f5router.model.placement import ADDRESS
from f5router.model.virtual_server import VirtualServer

log = logging.getLogger(__name__)

@dataclass(frozen=True, slots=True)
class TakenPlaces:
    """Places of all virtual servers that the router's account may read."""

    servers: Mapping[tuple[str, int], str] = field(default_factory=lambda: MappingProxyType({}))
    """Full path by address and port, of those for TCP and all clients on all VLANs."""
    addresses: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Folder by address."""
    own: frozenset[str] = frozenset()
    """Paths of those that the router has created: it may bring them to other places."""

    def refusal(self, server: VirtualServer, *, is_new: bool) -> str:
        """Return why a virtual server cannot be created or moved to its place; "" if it can."""
        other = self.servers.get((server.address, server.port), server.path)
        if server.reach.vlans:
            other = server.path  # a BIG-IP may have both, if no VLAN is common
        if other != server.path and (is_new or other not in self.own):
            return (f"Virtual Server {server.path} illegally shares destination address, source address, "
                    f"service port, ip-protocol, and vlan with Virtual Server {other}: give "
                    "--f5-vserver-address another address, or delete that virtual server")
        folder = server.path.rpartition("/")[0]
        if (holder := self.addresses.get(server.address, folder)) != folder:
            return (f"Invalid Virtual Address, the IP address {server.address} already exists: it is in "
                    f"{holder}, and an address is in one folder only; give --f5-vserver-address another one")
        return ""


NONE = TakenPlaces()


def read(client: Client) -> TakenPlaces:
    """Read the places; none if they cannot be read: the BIG-IP itself refuses what is wrong."""
    try:
        addresses = client.get(ADDRESS).get("items") or ()
        named = {ltm_codec.path_of(raw): str(raw.get("address", "")) for raw in addresses}
        servers = [_with_address(raw, named) for raw in client.get(VirtualServer.KIND).get("items") or ()]
    except BigIPError as exc:
        log.info("virtual servers of others are not known", extra={"error": str(exc)})
        return NONE
    return TakenPlaces(
        {place: ltm_codec.path_of(raw) for raw in servers if (place := _place(raw))},
        {ltm_codec.address_of(str(raw.get("address", ""))): ltm_codec.path_of(raw).rpartition("/")[0]
         for raw in addresses if not net_codec.route_domain(raw)},
        frozenset(ltm_codec.path_of(raw) for raw in servers if virtual_codec.state(raw) is not None))


def _with_address(raw: JSON, named: Mapping[str, str]) -> JSON:
    """Return a virtual server with the address that its destination names. Args: named: by full path."""
    address = named.get(virtual_codec.address_path(raw))
    is_named = address and virtual_codec.names_address(raw)
    return {**raw, virtual_codec.NAMED_ADDRESS: address} if is_named else raw


def _place(raw: JSON) -> tuple[str, int] | None:
    """Return address and port, if the virtual server takes them from all others."""
    everywhere = raw.get("vlansEnabled") is not True and "%" not in str(
        raw.get(virtual_codec.NAMED_ADDRESS, raw.get("destination", "")))
    return virtual_codec.place(raw) if everywhere and raw.get("ipProtocol") == "tcp" and (
        str(raw.get("source", "")) in ("", "0.0.0.0/0", "::/0")) else None
