"""From Nodes and settings to the VxLAN device and its FDB: the BIG-IP as a host of openshift-sdn.

Sources: openshift/origin v3.11.0, pkg/router/f5/f5.go: ensureVxLANTunnel, AddVtep, RemoveVtep.
What the cluster says of the
settings is compared in vxlan_checks.py.
"""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from f5router.model import names, tmos
from f5router.model.cluster import VXLAN_PORT, ClusterNetwork, HostSubnet, Key, Node
from f5router.model.device_facts import DeviceFacts, TunnelFacts, VirtualFacts
from f5router.model.ltm import Object
from f5router.model.net import FDBRecord, SelfIP, SourceTranslation, Tunnel, VxlanProfile
from f5router.model.objects import Ref
from f5router.network import node_addresses

KINDS = tuple(kind.KIND for kind in (VxlanProfile, Tunnel, SelfIP, FDBRecord, SourceTranslation))
"""Of all objects that are made here, from what is needed to what needs it."""

NO_TRANSLATION = "none"
AUTOMAP = "automap"


@dataclass(frozen=True, slots=True)
class VxlanConfig:
    """The two settings of VxLAN, checked for their form."""

    internal_address: str
    """IPv4: the BIG-IP's address among the Nodes."""
    gateway: str
    """IPv4 with prefix length: its address in the cluster network."""


class VxlanSettings(Protocol):
    """What is used of config.Config."""

    @property
    def folder(self) -> str: ...

    @property
    def vxlan(self) -> VxlanConfig | None:
        """None: the BIG-IP is not part of the cluster network."""

    @property
    def manage_snat(self) -> bool: ...


def supported(config: VxlanSettings, facts: DeviceFacts) -> bool:
    """Whether VxLAN is wanted and this TMOS version has it."""
    return config.vxlan is not None and facts.version >= tmos.VXLAN_SINCE


def joins(config: VxlanSettings, facts: DeviceFacts) -> bool:
    """Whether the BIG-IP joins the cluster network by us, not by another's tunnel.

    One that we have is not given up: pods may be reached by it.
    """
    ours = names.tunnel(config.folder)
    return supported(config, facts) and (
        not rivals(config, facts) or any(tunnel.path == ours for tunnel in facts.tunnels))


def rivals(config: VxlanSettings, facts: DeviceFacts) -> list[TunnelFacts]:
    """Tunnels that join the BIG-IP to our cluster network: another router's, or one made by hand.

    Two ends of one network on one device take each other's packets, and it has one way to a network.
    """
    setup = config.vxlan
    if setup is None:
        return []
    network = ipaddress.IPv4Interface(setup.gateway).network
    return [tunnel for tunnel in facts.tunnels if tunnel.path != names.tunnel(config.folder) and (
        network in {ipaddress.ip_interface(address).network for address in tunnel.addresses}
        or (tunnel.path.endswith(f"/{names.TUNNEL}")
            and tunnel.local_address == setup.internal_address))]


Networks = Mapping[Key, ClusterNetwork]
"""What may be read of the cluster's network: one object, or none."""


def base(config: VxlanSettings, facts: DeviceFacts, networks: Networks) -> list[Object]:
    """The VxLAN device: profile, tunnel, self IP; and source addresses where they are ours to set."""
    folder, setup = config.folder, config.vxlan
    if setup is None or not joins(config, facts):
        return []
    profile = VxlanProfile(names.vxlan_profile(folder), port(networks, facts))
    tunnel = Tunnel(names.tunnel(folder), profile.path, setup.internal_address)
    address = SelfIP(names.self_ip(folder, setup.gateway), setup.gateway, tunnel.path)
    return [profile, tunnel, address, *(
        SourceTranslation(virtual.path, AUTOMAP, frozenset({address.ref}))
        for virtual in (facts.http, facts.https) if virtual and _is_ours_to_set(config, virtual))]


def port(networks: Networks, facts: DeviceFacts) -> int:
    """The cluster's VxLAN port; as long as that is not known, the one that the device uses."""
    for key in sorted(networks):
        return networks[key].vxlan_port
    return facts.vxlan_port or VXLAN_PORT


def _is_ours_to_set(config: VxlanSettings, virtual: VirtualFacts) -> bool:
    """Only what is not configured, or as we would set it."""
    return config.manage_snat and virtual.exists and virtual.snat in (NO_TRANSLATION, AUTOMAP)


def record(node: Node, subnet: HostSubnet | None, config: VxlanSettings, facts: DeviceFacts) -> dict[Ref,
                                                                                                     Object]:
    """The FDB record of a Node, ready or not: its pods may still serve. None without a usable address.

    Args:
        subnet: the Node's HostSubnet, None where there is none or it cannot be read.
    """
    if config.vxlan is None or not joins(config, facts):
        return {}
    address = vtep(node, subnet)
    if not address or address == config.vxlan.internal_address:
        return {}
    made = FDBRecord(names.tunnel(config.folder), names.fdb_mac(address), address)
    return {made.ref: made}


def vtep(node: Node, subnet: HostSubnet | None) -> str:
    """Where a Node takes VxLAN: hostIP of its HostSubnet, or its first InternalIP of IPv4; or "".

    openshift-sdn sends from and listens on hostIP, which is the InternalIP unless somebody chose
    another.
    """
    chosen = next(node_addresses.usable((subnet.host_ip,), 4), "") if subnet else ""
    return chosen or node_addresses.address(node, 4)
