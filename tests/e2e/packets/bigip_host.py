"""The BIG-IP's data plane: a kernel VxLAN device set up from nothing but what iControl REST tells.

What TMOS objects become (bigip-behaviour.md B9; ip-link(8), bridge(8)):

- net/self on a net/vlan: an address of the uplink, as the laboratory has one network for all VLANs;
- net/tunnels/tunnel with a net/tunnels/vxlan profile: a VxLAN device, with key, localAddress and port as
  its id, local and dstport;
- net/self on such a tunnel: an address of that device, whose prefix length says what is on-link;
- record of net/fdb/tunnel, with floodingType multipoint: an entry of MAC address 0 with the endpoint.
  Broadcasts, so ARP requests, go to each of those, and MAC addresses are learnt from what comes back.

Where it is more strict than TMM may be: what was learnt from an endpoint goes with its record, and does
not age out minutes later.
"""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tests.e2e.packets.hosts import MTU, UPLINK, Underlay, fetch
from tests.e2e.packets.namespaces import Namespace
from tests.waiting import DEADLINE_S

ANYWHERE = "00:00:00:00:00:00"

Get = Callable[[str], dict[str, Any]]


@dataclass(frozen=True, order=True)
class Device:
    """A VxLAN device of the kernel."""

    name: str
    vni: int
    local: str
    port: int


@dataclass(frozen=True)
class State:
    """State that the kernel should have."""

    devices: frozenset[Device]
    addresses: frozenset[tuple[str, str]]
    """Name of a device, address with prefix length."""
    endpoints: frozenset[tuple[str, str]]
    """Name of a VxLAN device, address of another end."""


def read_state(get: Get) -> State:
    """Ask the BIG-IP. get: reads a path below /mgmt/tm/."""
    profiles = {item["fullPath"]: item for item in _items(get, "net/tunnels/vxlan")}
    tunnels = {
        item["fullPath"]: item for item in _items(get, "net/tunnels/tunnel") if item["profile"] in profiles}
    names = {item["fullPath"]: UPLINK for item in _items(get, "net/vlan")}
    names |= {path: item["name"] for path, item in tunnels.items()}
    devices = {
        Device(item["name"], item["key"], _bare(item["localAddress"]), profiles[item["profile"]]["port"])
        for item in tunnels.values()}
    addresses = {
        (names[item["vlan"]], _bare(item["address"]))
        for item in _items(get, "net/self") if item["vlan"] in names}
    endpoints = {
        (item["name"], _bare(record["endpoint"]))
        for path, item in tunnels.items() if profiles[item["profile"]]["floodingType"] == "multipoint"
        for record in _items(get, f"net/fdb/tunnel/{path.replace('/', '~')}/records")}
    return State(frozenset(devices), frozenset(addresses), frozenset(endpoints))


def _items(get: Get, collection: str) -> list[dict[str, Any]]:
    return get(collection).get("items", [])


def _bare(address: str) -> str:
    """Without route domain: `192.0.2.11%0`, `10.131.0.5%0/14`."""
    return re.sub(r"%\d+", "", address)


class BigIPHost:
    """A namespace that does what the BIG-IP's tables say, and clients of HTTP in it.

    The client is what the virtual server is with automap: its connections come from the self IP.

    Args: namespace: of the name "bigip", without anything. get: see read_state.
    """

    def __init__(self, namespace: Namespace, underlay: Underlay, get: Get) -> None:
        self._namespace, self._get = namespace, get
        self._applied: State | None = None
        underlay.attach(namespace)

    def apply(self) -> list[str]:
        """Make the kernel have what the tables say now; what is there already stays. The commands run."""
        state = read_state(self._get)
        done = []
        if state != self._applied:
            done = [*self._devices(state), *self._addresses(state)]
            self._applied = state
        return [*done, *self._endpoints(state)]

    def _devices(self, state: State) -> list[str]:
        there = {_device(link) for link in self._links()}
        return [
            *self._ip(f"link del {device.name}" for device in sorted(there - state.devices)),
            *self._ip(command for device in sorted(state.devices - there) for command in _creation(device))]

    def _addresses(self, state: State) -> list[str]:
        gone = sorted(self.held() - state.addresses)
        removed = self._ip(f"addr del {cidr} dev {name}" for name, cidr in gone)
        # Asked again: the kernel takes further addresses of a network away with its first one.
        new = sorted(state.addresses - self.held())
        return removed + self._ip(f"addr add {cidr} dev {name}" for name, cidr in new)

    def _endpoints(self, state: State) -> list[str]:
        entries = {(device.name, entry["mac"], entry["dst"]) for device in state.devices
                   for entry in self.fdb(device.name) if "dst" in entry}
        gone = [entry for entry in entries if (entry[0], entry[2]) not in state.endpoints]
        flooded = {(name, endpoint) for name, mac, endpoint in entries if mac == ANYWHERE}
        commands = [
            *(f"fdb del {mac} dev {name} dst {endpoint} self" for name, mac, endpoint in sorted(gone)),
            *(f"fdb append {ANYWHERE} dev {name} dst {endpoint} self permanent"
              for name, endpoint in sorted(state.endpoints - flooded))]
        if commands:
            self._namespace.bridge(*commands)
        return commands

    def _ip(self, commands: Iterable[str]) -> list[str]:
        batch = list(commands)
        if batch:
            self._namespace.ip(*batch)
        return batch

    # --- what is there -------------------------------------------------------------------

    def held(self) -> set[tuple[str, str]]:
        """Addresses in the kernel: name of the device, address with prefix length."""
        return {(link["ifname"], f"{entry['local']}/{entry['prefixlen']}")
                for link in self._namespace.show("ip", "-4", "addr", "show") if link["ifname"] != "lo"
                for entry in link["addr_info"]}

    def fdb(self, device: str) -> list[dict[str, Any]]:
        """Entries of a VxLAN device: mac, dst, state."""
        return self._namespace.show("bridge", "fdb", "show", "dev", device)

    def learnt(self, device: str) -> dict[str, str]:
        """The address behind which a MAC address was seen."""
        return {entry["mac"]: entry["dst"] for entry in self.fdb(device)
                if "dst" in entry and entry["mac"] != ANYWHERE}

    def neighbours(self) -> dict[str, str]:
        """MAC address by IP address, of those that answered ARP."""
        return {entry["dst"]: entry["lladdr"] for entry in self._namespace.show("ip", "-4", "neigh", "show")
                if "lladdr" in entry}

    def _links(self) -> list[dict[str, Any]]:
        # An iproute2 without any device to show prints [{}] or nothing.
        links = self._namespace.show("ip", "-details", "link", "show", "type", "vxlan")
        return [link for link in links if link]

    # --- clients -------------------------------------------------------------------------

    def ask(self, address: str, timeout_s: float = DEADLINE_S) -> dict[str, str]:
        """Return who answers HTTP at an address, and whom it sees. Raises: OSError: nobody."""
        return json.loads(fetch(self._namespace, address, timeout_s=timeout_s))

    def download(self, address: str) -> bytes:
        """The large answer. Raises: OSError."""
        return fetch(self._namespace, address, "/large")


def _creation(device: Device) -> tuple[str, str]:
    return (
        f"link add {device.name} type vxlan id {device.vni} local {device.local} dstport {device.port}"
        " learning",
        f"link set {device.name} mtu {MTU} up")


def _device(link: dict[str, Any]) -> Device:
    data = link["linkinfo"]["info_data"]
    return Device(link["ifname"], data["id"], data.get("local", ""), data["port"])
