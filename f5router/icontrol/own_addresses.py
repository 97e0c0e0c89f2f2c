"""Addresses of the BIG-IP itself, and of its peers.

Self IPs that do not float are not synced: each unit is asked for its own (K13946). `cm/device`, which is the
same on all units of a device trust, has the addresses for management, config sync, failover and mirroring of
each of them, also of units that are down.

A device that trusts no other, and so is in no pair, has itself alone in `cm/device`.

Sources: recordings of `cm/device` from 11.6.0 to 16.0.0 (`selfDevice`, `managementIp`, `configsyncIp`,
`mirrorIp`, `mirrorSecondaryIp`, and `unicastAddress` with `ip` and `effectiveIp`; "any6", "none" and
"management-ip" are no addresses);
https://clouddocs.f5.com/cli/tmsh-reference/latest/modules/cm/cm_device.html; F5's manual "BIG-IP Device
Service Clustering: Administration", Working with DSC Devices (devices know of each other when they join a
trust domain, and only those can be members of a device group).
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from f5router.icontrol.codec import ltm_codec, net_codec, virtual_codec
from f5router.icontrol.rest.client import Client
from f5router.icontrol.rest.wire import item_path
from f5router.model.device_facts import Doubt
from f5router.model.errors import AuthFailed, BigIPError, Refused
from f5router.model.json_types import JSON
from f5router.model.limits import Backoff
from f5router.model.ltm import Pool
from f5router.model.net import SelfIP, Tunnel

DEVICES = "cm/device"
"""This device and those that it trusts."""

MANAGEMENT = "sys/management-ip"
"""Addresses of this device's management port: `cm/device` has one of them."""

_OF_DEVICES = ("managementIp", "configsyncIp", "mirrorIp", "mirrorSecondaryIp")

Get = Callable[[str], JSON]


class UnitAddresses(NamedTuple):
    """Self IPs and management addresses of one unit."""

    self_ips: tuple[JSON, ...] = ()
    management: frozenset[str] = frozenset()


class Peer(NamedTuple):
    """Another unit of the settings."""

    name: str
    addresses: UnitAddresses | None
    """None: not read since the router began."""
    problem: str = ""
    """Why not."""


class Addresses(NamedTuple):
    """Addresses of the device."""

    own: frozenset[str]
    """In canonical form."""
    unread: tuple[str, ...]
    """Kinds that could not be read, with the device's words."""
    networks: frozenset[str] | None
    """See DeviceFacts.networks."""
    doubt: Doubt
    """See DeviceFacts.doubt; nothing is kept yet."""
    stands_alone: bool = False
    """True if the device certainly trusts no other."""


def of_unit(get: Get) -> UnitAddresses:
    """Read the addresses of a unit. Args: get: reads a collection of it. Raises: BigIPError."""
    return UnitAddresses(tuple(_items(get(SelfIP.KIND))), frozenset(_of_management(get)))


def read(client: Client, folder: str, virtuals: Iterable[JSON], peers: Sequence[Peer] = ()) -> Addresses:
    """Read the destinations of virtual servers, and the addresses of all units that are known.

    Self IPs in another route domain than our partition's are left out: a pool member with that address is
    another host. So are addresses that the device or the role does not let us read.

    Args:
        virtuals: our virtual servers, as read.
        peers: the other units of the settings.
    Raises:
        BigIPError: the device cannot be read at the moment.
    """
    addresses, unread = {virtual_codec.destination_address(raw) for raw in virtuals}, []
    networks, doubt, stands_alone = None, Doubt(), False
    known = [peer.addresses for peer in peers if peer.addresses is not None]
    for unit in known:
        addresses |= unit.management
    try:
        items = _items(client.get(SelfIP.KIND))
        of_units = [*items, *(item for unit in known for item in unit.self_ips)]
        domain = _domain(client, folder, of_units)
        addresses |= {_address(item) for item in of_units if net_codec.route_domain(item) in (0, domain)}
        here = [item for item in items if net_codec.route_domain(item) == domain]
        networks = frozenset(filter(None, map(net_codec.network, here)))
        doubt = _doubt(client, here, peers)
    except (AuthFailed, Refused) as exc:
        unread.append(f"self IPs of the BIG-IP cannot be read ({exc})")
    try:
        devices = client.get(DEVICES)
        addresses.update(_of_devices(devices))
        stands_alone = not peers and _is_alone(devices)
        addresses.update(_of_management(client.get))
    except (AuthFailed, Refused) as exc:
        unread.append(f"management addresses of the BIG-IP cannot be read ({exc})")
    return Addresses(frozenset(addresses - {""}), tuple(unread), networks, doubt, stands_alone)


def kept(doubt: Doubt, objects: Iterable[object]) -> Doubt:
    """Return a doubt with the addresses that our pools have on the device: those stay.

    Args: objects: as read.
    """
    if not doubt.networks:
        return doubt
    members = {member.address for obj in objects if isinstance(obj, Pool) for member in obj.members}
    return doubt._replace(kept=frozenset(address for address in members if doubt.covers((address,))))


def _doubt(client: Client, here: Iterable[JSON], peers: Sequence[Peer]) -> Doubt:
    """Return where units that were not read may have self IPs: in the networks of VLANs that all units share.

    A tunnel of one unit is left out: its network is that of the pods. So is everything if tunnels cannot be
    read.
    """
    missing = tuple(f"{peer.name} ({peer.problem or 'not read yet'})" for peer in peers
                    if peer.addresses is None)
    if not missing:
        return Doubt()
    try:
        tunnels = {str(item.get("fullPath")) for item in _items(client.get(Tunnel.KIND))}
    except (AuthFailed, Refused):
        return Doubt(missing)
    shared = (net_codec.network(item) for item in here if str(item.get("vlan")) not in tunnels)
    return Doubt(missing, frozenset(filter(None, shared)))


def _domain(client: Client, folder: str, items: Iterable[JSON]) -> int:
    """Return the route domain of our pool members; read only if a self IP is in another one than 0."""
    return default_route_domain(client, folder) if set(map(net_codec.route_domain, items)) - {0} else 0


def _items(reply: JSON) -> list[JSON]:
    items = reply.get("items")
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def _address(item: JSON, name: str = "address") -> str:
    return ltm_codec.address_of(str(item.get(name, "")).partition("/")[0])


def _of_management(get: Get) -> Iterator[str]:
    return (_address(item, "name") for item in _items(get(MANAGEMENT)))


def _is_alone(devices: JSON) -> bool:
    """True if the device trusts no other. Args: devices: reply of `cm/device`."""
    items = devices.get("items")
    return isinstance(items, list) and len(items) == 1 and isinstance(items[0], dict) and (
        str(items[0].get("selfDevice")) == "true")


def _of_devices(devices: JSON) -> Iterator[str]:
    """Yield the addresses of all devices of the trust. Args: devices: reply of `cm/device`."""
    for item in _items(devices):
        yield from (_address(item, name) for name in _OF_DEVICES)
        unicast: Any = item.get("unicastAddress")
        for each in unicast if isinstance(unicast, list) else ():
            if isinstance(each, dict):
                yield from (_address(each, name) for name in ("ip", "effectiveIp"))


log = logging.getLogger(__name__)

REFRESH_S = 300.0
"""Age after which they are read again, as --f5-resync-interval by default."""
TIMEOUT_S = 2.0
"""Longest wait for each of the two replies: the unit's state waits for them."""
RETRY = Backoff(first_s=5.0, limit_s=60.0)


class PeerAddresses:
    """Keeps the last addresses that a unit has told, whatever becomes of it. One thread reads them."""

    def __init__(self, name: str, client: Client, *, clock: Callable[[], float] = time.monotonic):
        """Args: name: of the unit, for messages."""
        self._name, self._client, self._clock = name, client, clock
        self._known: UnitAddresses | None = None
        self._problem = ""
        self._due_at = float("-inf")
        self._failures = 0

    def peer(self) -> Peer:
        """Return the known addresses of the unit. From any thread."""
        return Peer(self._name, self._known, self._problem)

    def lose(self, problem: str) -> None:
        """Record that the unit does not answer; when it does it may have others, and is asked at once."""
        self._problem, self._failures, self._due_at = problem, 0, float("-inf")

    def refresh(self) -> bool:
        """Read them if they are due; returns True if they have changed."""
        if self._clock() < self._due_at:
            return False
        before = self._known
        try:
            self._known = of_unit(
                lambda path: self._client.look(path, timeout_s=TIMEOUT_S))
        except BigIPError as exc:
            self._failures += 1
            self._problem = exc.text
            self._due_at = self._clock() + RETRY.delay_s(self._failures)
            log.debug("addresses of a unit not read", extra={"bigip": self._name, "error": str(exc)})
            return False
        self._failures, self._due_at = 0, self._clock() + REFRESH_S
        return self._known != before


def default_route_domain(client: Client, folder: str) -> int:
    """Read the default route domain of our partition, which our self IP and pool members get."""
    partition = client.get(item_path("auth/partition", folder.split("/")[1]))
    return int(partition.get("defaultRouteDomain") or 0)
