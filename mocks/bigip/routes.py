"""Routes: where they lead, by way of what, in which route domain (bigip-behaviour.md B9)."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import ClassVar

from mocks.bigip import addresses, names, refusals
from mocks.bigip.attachments import resolve
from mocks.bigip.kinds import GROUPS, Body, Kind
from mocks.bigip.quirks import Quirk
from mocks.bigip.store import Item, Key, Ref, Store


class Route(Kind):
    url = "net/route"
    word = "route"
    required = ("network",)
    links: ClassVar[dict[str, str]] = {"tmInterface": "vlan", "pool": "ltm/pool"}
    _targets = ("gw", "tmInterface", "pool", "blackhole")

    def references(self, item: Item) -> Iterable[Ref]:
        references = [("vlan", item.fields["tmInterface"])] if "tmInterface" in item.fields else []
        return references + ([("pool", item.fields["pool"])] if "pool" in item.fields else [])

    def uniques(self, item: Item) -> Iterable[Ref]:
        return [("route network", item.hidden["network"])] if "network" in item.hidden else []

    def normalise(self, store: Store, key: Key, fields: Body, body: Body, old: Item | None) -> Body:
        fields = {name: value for name, value in fields.items() if value is not False and value != "none"}
        targets = [name for name in self._targets if name in fields]
        if len(targets) > 1:
            raise refusals.may_not(*map(refusals.dashed, targets[:2]))
        if not targets:
            raise refusals.missing("gw")
        folder = f"/{names.partition_of(key[0])}"
        for name, kinds in (("tmInterface", GROUPS["vlan"]), ("pool", ("ltm/pool",))):
            if name in fields:
                fields[name] = resolve(store, fields[name], folder, kinds)
                if not any(store.get(kind, fields[name]) for kind in kinds):
                    raise refusals.foreign_key(fields[name], self.word, key[0], f"{name}_FK")
        return self._network(store, key, fields, old)

    def _network(self, store: Store, key: Key, fields: Body, old: Item | None) -> Body:
        """Where it leads, which is fixed (bigip-behaviour.md B9), and by way of what."""
        network, domain = routed(store, names.partition_of(key[0]), str(fields["network"]))
        if old is not None and fields["network"] != old.fields["network"]:
            raise refusals.tmsh('"network" may not be changed')  # text unknown
        default = {"0.0.0.0/0": "default", "::/0": "default-inet6"}.get(str(network))
        fields["network"] = default or str(fields["network"])
        if "gw" in fields:
            self._gateway(store, str(fields["gw"]), network, domain)
        holder = store.holder("route network", f"{network}%{domain}")
        if holder and holder != key and not store.has(Quirk.ROUTE_NETWORK_TWICE):
            raise refusals.already_exists("route network", str(fields["network"]), names.partition_of(key[0]))
        return fields

    def _gateway(self, store: Store, text: str, network: _Network, domain: int) -> None:
        """It must be in the network of a self IP in the same route domain (01070330, seen in public)."""
        try:
            address = addresses.parse(text)
        except ValueError:
            raise refusals.invalid_value("gw", text) from None
        gateway = ipaddress.ip_address(address.text)
        if gateway.version != network.version:
            raise refusals.configuration_error(f"Gateway ({text}) is of another family than {network}.")
        near = (routed(store, names.partition_of(self_ip.path), self_ip.fields["address"])
                for self_ip in store.all("net/self"))
        if not any(other == domain and gateway in connected for connected, other in near):
            raise refusals.mcpd(
                "01070330", f"Static route gateway {text} is not directly connected via an interface.")

    def written(self, store: Store, item: Item, body: Body, old: Item | None) -> None:
        if old is None:
            network, domain = routed(store, names.partition_of(item.path), item.fields["network"])
            store.put(self.url, item.key, item.fields, {**item.hidden, "network": f"{network}%{domain}"})

    def read(self, store: Store, item: Item) -> Body:
        """Both with the route domain, unless that is 0."""
        partition, network = names.partition_of(item.path), item.fields["network"]
        domain = routed(store, partition, network)[1]
        fields = dict(item.fields)
        if domain and "%" not in network:
            address, slash, bits = network.partition("/")
            fields["network"] = f"{address}%{domain}{slash}{bits}"
        if "gw" in fields:
            fields["gw"] = addresses.shown(store, partition, fields["gw"])
        return fields


_Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def routed(store: Store, partition: str, text: str) -> tuple[_Network, int]:
    """A network and its route domain: of 10.1.0.0%1/16, 10.1.0.5/16, default.

    Raises: Refusal: it is no network.
    """
    address, slash, bits = text.partition("/")
    address, percent, number = address.partition("%")
    named = {"default": "0.0.0.0/0", "default-inet6": "::/0"}.get(address)
    domain = int(number) if percent else addresses.default_domain(store, partition)
    try:
        return ipaddress.ip_network(named or f"{address}{slash}{bits}", strict=False), domain
    except ValueError:
        raise refusals.invalid_value("network", text) from None
