"""Addresses of Gateways: those that they ask for, or free ones of the ranges that the administrator permits.

An assignment is stable: a Gateway keeps its address as long as it may have it. After a restart, or on another
replica, it is read back from the Gateway's status. An address belongs to one namespace: Gateways of another
one would otherwise serve further ports of a host that is not theirs.

Source: kubernetes-sigs/gateway-api v1.4.1, apis/v1/gateway_types.go: GatewaySpec.Addresses, and the reasons
AddressNotAssigned and AddressNotUsable of GatewayConditionProgrammed.
"""

from collections import ChainMap, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from f5router.model import tls_names
from f5router.model.address_range import AddressRange, FreeAddresses, canonical, of_class
from f5router.model.cluster import Key
from f5router.model.front_end_names import named
from f5router.model.gateway import GATEWAY, Gateway
from f5router.model.hostnames import quote
from f5router.model.virtual_server import FrontEnd
from f5router.sources.gateway import conditions, hosts
from f5router.sources.gateway.conditions import StatusCondition, false
from f5router.sources.gateway.listeners import HTTPS, SECURE, TCP, TLS, CheckedListener
from f5router.sources.settings import GatewaySettings, ServedPorts

MOST_RELEASED = 100
"""Addresses that are remembered after Gateways had them."""
FEW = 4
"""So many addresses of a GatewayClass each namespace may have without a setting."""


@dataclass(frozen=True, slots=True)
class AddressWish:
    """A Gateway that is to have addresses of its own."""

    gateway: Gateway
    ranges: tuple[AddressRange, ...]
    """Addresses that it may have."""
    reported: tuple[str, ...] = ()
    """Addresses in its status, which may be anything."""
    kept: tuple[str, ...] = ()
    """Addresses that this router has assigned to it."""

    @property
    def slots(self) -> tuple[str, ...]:
        """Addresses that it asks for, "" for any."""
        values = [each.value for each in self.gateway.addresses]
        named = dict.fromkeys(canonical(each) or each for each in values if each)
        return (*named, *(each for each in values if not each)) or ("",)

    @property
    def ports(self) -> frozenset[int]:
        """Ports of its listeners."""
        return frozenset(each.port for each in self.gateway.listeners)

    def permits(self, address: str) -> bool:
        """True for an address in its ranges. Args: address: in canonical form."""
        return bool(address) and any(address in each for each in self.ranges)


class _Shares:
    """Addresses that the Gateways of each namespace have, and how many they may have."""

    def __init__(self, most: int):
        """Args: most: 0 for half of the addresses of a GatewayClass, and at least FEW."""
        self._most = most
        self._had: dict[tuple[str, tuple[AddressRange, ...]], set[str]] = defaultdict(set)

    def put(self, wish: AddressWish, address: str) -> None:
        """Record that a Gateway has an address."""
        self._had[wish.gateway.key.namespace, wish.ranges].add(address)

    def refusal(self, wish: AddressWish, more: Collection[str]) -> StatusCondition | None:
        """Return why a Gateway may not have further addresses; None if it may."""
        had = self._had[wish.gateway.key.namespace, wish.ranges]
        most = self._most or max(FEW, sum(each.size for each in wish.ranges) // 2)
        return None if len(had) + len({*more} - had) <= most else false(
            conditions.PROGRAMMED, conditions.ADDRESS_NOT_ASSIGNED,
            f"namespace {wish.gateway.key.namespace} has {len(had)} addresses of --gateway-addresses, and "
            f"--gateway-addresses-per-namespace permits {most}")


@dataclass(frozen=True, slots=True)
class _Owner:
    """The namespace that has an address."""

    namespace: str
    ports: dict[int, Key]
    """Ports with the Gateway of each."""


_Owners = dict[str, _Owner | None]
"""By address: who has it; None for a front end of the settings."""


def assign(wishes: Iterable[AddressWish], reserved: frozenset[str], released: Collection[str] = (), *,
           most: int = 0) -> dict[Key, tuple[str, ...] | StatusCondition]:
    """Assign addresses to Gateways; returns why one that cannot have any is not programmed.

    Those that have what they ask for come first, then those whose status says so, then the older ones.

    Args:
        reserved: addresses of front ends of the settings.
        released: addresses that Gateways had, which are given away last: they may be in use for a moment.
        most: addresses that Gateways of one namespace may have beside those that they have already; 0 for
            half of the addresses of their GatewayClass, and at least FEW.
    """
    assigned: dict[Key, tuple[str, ...] | StatusCondition] = {}
    owners: _Owners = dict.fromkeys(reserved)
    shares = _Shares(most)
    ordered = sorted(wishes, key=lambda each: (
        not _holds(each, each.kept), not _holds(each, each.reported), each.gateway.age))
    open_: list[tuple[AddressWish, list[str]]] = []
    for wish in ordered:
        held = (*_permitted(wish, wish.kept), *_permitted(wish, wish.reported))
        more = {each for each in wish.slots if each} - {*held}
        problem = next(filter(None, (_refusal(wish, each, owners) for each in wish.slots if each)), None) or (
            shares.refusal(wish, more) if more else None)
        if problem is not None:
            assigned[wish.gateway.key] = problem
            continue
        chosen = list(wish.slots)
        for number, address in enumerate(chosen):
            if not address:
                chosen[number] = next((each for each in held if each not in owners), "")
            if chosen[number]:
                _put(owners, chosen[number], wish)
                shares.put(wish, chosen[number])
        open_.append((wish, chosen))
    free, fresh = FreeAddresses(owners), FreeAddresses(
        ChainMap(owners, dict.fromkeys(released)))
    for wish, chosen in open_:
        refused = None
        for number, address in enumerate(chosen):
            refused = refused or (None if address else shares.refusal(wish, {_ANOTHER}))
            if not address and not refused and (
                    address := fresh.first(wish.ranges) or free.first(wish.ranges)):
                chosen[number] = address
                _put(owners, address, wish)
                shares.put(wish, address)
        assigned[wish.gateway.key] = tuple(chosen) if all(chosen) else refused or false(
            conditions.PROGRAMMED, conditions.ADDRESS_NOT_ASSIGNED,
            "all addresses of --gateway-addresses for this GatewayClass are taken")
    return assigned


_ANOTHER = ""
"""Any address that no Gateway has."""


def _permitted(wish: AddressWish, addresses: Iterable[str]) -> Iterator[str]:
    return (address for address in map(canonical, addresses) if wish.permits(address))


def _holds(wish: AddressWish, addresses: Iterable[str]) -> bool:
    """True if a Gateway has what it asks for among some addresses."""
    held = set(_permitted(wish, addresses))
    return bool(held) and all(each in held for each in wish.slots if each)


def _put(owners: _Owners, address: str, wish: AddressWish) -> None:
    """Record that a Gateway has an address, which is free or of its namespace."""
    owner = owners[address] = owners.get(address) or _Owner(wish.gateway.key.namespace, {})
    owner.ports.update(dict.fromkeys(wish.ports, wish.gateway.key))


def _refusal(wish: AddressWish, address: str, owners: _Owners) -> StatusCondition | None:
    """Return why a Gateway cannot have an address that it asks for; None if it can."""
    if not wish.permits(canonical(address)):
        return false(conditions.PROGRAMMED, conditions.ADDRESS_NOT_USABLE,
                     f"spec.addresses: {quote(address)} is not among the addresses that --gateway-addresses "
                     "permits for this GatewayClass")
    if address not in owners:
        return None
    if (owner := owners[address]) is None:
        return false(conditions.PROGRAMMED, conditions.ADDRESS_NOT_USABLE,
                     f"spec.addresses: {address} is that of a front end of the router's settings")
    if owner.namespace != wish.gateway.key.namespace:
        return false(conditions.PROGRAMMED, conditions.ADDRESS_NOT_ASSIGNED,
                     f"spec.addresses: a Gateway of another namespace has {address}")
    port = min(owner.ports.keys() & wish.ports, default=None)
    return None if port is None else false(
        conditions.PROGRAMMED, conditions.ADDRESS_NOT_ASSIGNED,
        f"spec.addresses: Gateway {owner.ports[port]} has {address} port {port}")


class GatewayPlaces:
    """Addresses of Gateways, kept from one change to the next. Not thread-safe."""

    def __init__(self, settings: GatewaySettings):
        self.settings = settings
        self._reported: dict[Key, tuple[str, ...]] = {}
        """Addresses in the statuses of Gateways."""
        self._places: dict[Key, tuple[str, ...] | StatusCondition] = {}
        """Addresses of Gateways with front ends of their own, or why one has none."""
        self._forgets = False
        self._released: dict[str, None] = {}
        """Addresses that Gateways had, the newest ones last."""

    def put(self, key: Key, reported: tuple[str, ...]) -> None:
        """Store the addresses in the status of a Gateway."""
        self._reported.pop(key, None)
        if reported:
            self._reported[key] = reported

    def forget(self) -> None:
        """Ignore what was assigned in the next assignment, which goes by the statuses alone."""
        self._forgets = True

    def is_on_own_front_end(self, gateway: Gateway, holder: Key | None) -> bool:
        """True if a Gateway is to have the router's own front end, and no addresses of its own.

        Where Gateways may have some, it is one that names those of the front end, or had it before.

        Args: holder: the Gateway that has it.
        """
        own = {*self.settings.served.addresses}
        if not of_class(self.settings.ranges, gateway.class_name):
            return True
        named = {canonical(each.value) for each in gateway.addresses if each.value}
        reported = {*self._reported.get(gateway.key, ())}
        return bool(own) and (named <= own if named else gateway.key == holder or (
            bool(reported) and reported <= own))

    def had_own_front_end(self, key: Key) -> bool:
        """True for a Gateway that has addresses of the router's own front end in its status."""
        return not {*self.settings.served.addresses}.isdisjoint(self._reported.get(key, ()))

    def assign(self, gateways: Iterable[Gateway], holder: Key | None) -> set[Key]:
        """Assign addresses to the Gateways of this router; returns those for which they have changed.

        Args: holder: as of `is_on_own_front_end`.
        """
        if not self.settings.ranges:
            return set()
        kept = {} if self._forgets else self._places
        wishes = [AddressWish(each, tuple(of_class(self.settings.ranges, each.class_name)),
                              self._reported.get(each.key, ()), _addresses(kept.get(each.key)))
                  for each in gateways
                  if not each.problem and not self.is_on_own_front_end(each, holder)]
        before, self._forgets = self._places, False
        self._places = assign(wishes, self.settings.reserved, self._released,
                              most=self.settings.most_addresses)
        had, has = ({address for place in of.values() for address in _addresses(place)}
                    for of in (before, self._places))
        for address in sorted(had - has):
            self._released[address] = None
        for address in [*(has & self._released.keys()), *list(self._released)[:-MOST_RELEASED]]:
            self._released.pop(address, None)
        return {key for key in before.keys() | self._places.keys()
                if before.get(key) != self._places.get(key)}

    def served(self, key: Key) -> tuple[ServedPorts, StatusCondition | None]:
        """Return where a Gateway is served with front ends of its own, and why it is not."""
        place = self._places.get(key)
        served = ServedPorts(_addresses(place), None, self.settings.asks_clients)
        return served, place if isinstance(place, StatusCondition) else None


def _addresses(place: tuple[str, ...] | StatusCondition | None) -> tuple[str, ...]:
    return () if place is None or isinstance(place, StatusCondition) else place


def front_ends(gateway: Key, listeners: Iterable[CheckedListener], closed: Collection[CheckedListener],
               served: ServedPorts, template: FrontEnd) -> Iterator[FrontEnd]:
    """Yield the front ends of a Gateway with addresses of its own: one for each port of its listeners.

    All listeners of a port share a virtual server on each address, and what is attached to it: an HTTP one,
    an HTTPS one for those of protocols HTTPS and TLS, or one of TCP alone, on which there is one listener.

    Args:
        listeners: those that are served; closed: others that answer for their hostnames beside these.
        template: has the settings, and the paths without a name.
    """
    by_port: dict[int, list[CheckedListener]] = {}
    for each in listeners:
        by_port.setdefault(each.listener.port, []).append(each)
    for port, of_port in sorted(by_port.items()):
        protocol, name = of_port[0].listener.protocol, of_port[0].front_end
        secure, plain = protocol in SECURE, protocol == TCP
        http, https, tcp = (path and named(path, name)
                            for path in (template.http, template.https, template.tcp))
        yield replace(template, addresses=served.addresses, name=name,
                      http=None if secure or plain else http, https=https if secure else None,
                      tcp=tcp if plain else None, http_port=port, https_port=port,
                      own_default=any(each.certificates and each.listener.hostname == hosts.ALL
                                      for each in of_port),
                      validation=next((each.validation for each in of_port
                                       if each.listener.protocol == HTTPS), None),
                      unread=tuple(sorted({
                          tls_names.certificate_owner(GATEWAY, gateway.namespace, secret)
                          for each in of_port for secret in each.unread_secrets})),
                      any_depth=any(each.listener.protocol == TLS for each in (*of_port, *closed)
                                    if each.listener.port == port))
