"""Addresses of the device itself, read for `refused_addresses`."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from f5router.icontrol.codec import ltm_codec, net_codec
from f5router.icontrol.rest.client import Client
from f5router.icontrol.writers.tunnels import default_route_domain
from f5router.model.errors import AuthFailed, Refused
from f5router.model.json_types import JSON
from f5router.model.net import SelfIP

DEVICES = "cm/device"
"""This device and those that it trusts. Source: iControl REST, cm/device; recorded from 11.6 to 16.0."""


class Addresses(NamedTuple):
    """Addresses of the device."""

    own: frozenset[str]
    """In canonical form."""
    unread: tuple[str, ...]
    """Kinds that could not be read, with the device's words."""
    networks: frozenset[str] | None
    """See DeviceFacts.networks."""


def read(client: Client, folder: str, virtuals: Iterable[JSON]) -> Addresses:
    """Read the destinations of virtual servers, self IPs and management addresses.

    Self IPs in another route domain than our partition's are left out: a pool member with that address is
    another host. So are addresses that the device or the role does not let us read.

    Args:
        virtuals: our virtual servers, as read.
    Raises:
        BigIPError: the device cannot be read at the moment.
    """
    addresses, unread = {ltm_codec.destination_address(raw) for raw in virtuals}, []
    networks = None
    try:
        own, networks = _self_ips(client, folder)
        addresses |= own
    except (AuthFailed, Refused) as exc:
        unread.append(f"self IPs of the BIG-IP cannot be read ({exc})")
    try:
        addresses.update(_management(client))
    except (AuthFailed, Refused) as exc:
        unread.append(f"management addresses of the BIG-IP cannot be read ({exc})")
    return Addresses(frozenset(addresses - {""}), tuple(unread), networks)


def _self_ips(client: Client, folder: str) -> tuple[set[str], frozenset[str]]:
    """Return the addresses of self IPs, and the networks of those in our route domain."""
    items = client.get(SelfIP.KIND).get("items") or []
    domains = {net_codec.route_domain(item) for item in items}
    domain = default_route_domain(client, folder) if domains - {0} else 0
    addresses = {ltm_codec.address_of(str(item.get("address", "")).partition("/")[0])
                 for item in items if net_codec.route_domain(item) in (0, domain)}
    near = (net_codec.network(item) for item in items if net_codec.route_domain(item) == domain)
    return addresses, frozenset(filter(None, near))


def _management(client: Client) -> Iterator[str]:
    for item in client.get(DEVICES).get("items") or []:
        for name in ("managementIp", "configsyncIp"):
            yield ltm_codec.address_of(str(item.get(name, "")))
