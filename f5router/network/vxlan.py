"""The VxLAN device and its FDB, built from Nodes and settings: the BIG-IP as a host of openshift-sdn.

Sources: openshift/origin v3.11.0, pkg/router/f5/f5.go: ensureVxLANTunnel, AddVtep, RemoveVtep.
vxlan_checks.py compares the settings with the cluster.
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
from f5router.network import node_ports

KINDS = tuple(kind.KIND for kind in (VxlanProfile, Tunnel, SelfIP, FDBRecord, SourceTranslation))
"""Kinds of all objects that are built here, dependencies first."""

NO_TRANSLATION = "none"
AUTOMAP = "automap"


@dataclass(frozen=True, slots=True)
class VxlanConfig:
    """The two settings of VxLAN for one BIG-IP, checked for their form."""

    internal_address: str
    """IPv4: the BIG-IP's address among the Nodes."""
    gateway: str
    """IPv4 with prefix length: its address in the cluster network."""


class VxlanSettings(Protocol):
    """Settings of VxLAN; config.Config has them."""

    @property
    def folder(self) -> str: ...

    @property
    def vxlan(self) -> tuple[VxlanConfig, ...]:
        """Config of VxLAN for each unit; empty: the BIG-IP is not part of the cluster network."""

    @property
    def manage_snat(self) -> bool: ...


def own(config: VxlanSettings, facts: DeviceFacts) -> VxlanConfig | None:
    """Return the settings for the unit that the facts are about; None without VxLAN."""
    return config.vxlan[facts.unit] if config.vxlan else None


def addresses(config: VxlanSettings) -> frozenset[str]:
    """Return the addresses of all units; the device that is read shows its own ones alone."""
    return frozenset(address for unit in config.vxlan
                     for address in (unit.internal_address, unit.gateway.partition("/")[0]))


def supported(config: VxlanSettings, facts: DeviceFacts) -> bool:
    """True if VxLAN is configured and this TMOS version has it."""
    return bool(config.vxlan) and facts.version >= tmos.VXLAN_SINCE


def joins(config: VxlanSettings, facts: DeviceFacts) -> bool:
    """True if the BIG-IP joins the cluster network by our tunnel, not by another's.

    One that we have is not given up: pods may be reached by it.
    """
    ours = names.tunnel(config.folder)
    return supported(config, facts) and (
        not rivals(config, facts) or any(tunnel.path == ours for tunnel in facts.tunnels))


def rivals(config: VxlanSettings, facts: DeviceFacts) -> list[TunnelFacts]:
    """Tunnels that join the BIG-IP to our cluster network: another router's, or one made by hand.

    Two ends of one network on one device take each other's packets, and it has one way to a network.
    """
    vxlan = own(config, facts)
    if vxlan is None:
        return []
    network = ipaddress.IPv4Interface(vxlan.gateway).network
    return [tunnel for tunnel in facts.tunnels if tunnel.path != names.tunnel(config.folder) and (
        network in {ipaddress.ip_interface(address).network for address in tunnel.addresses}
        or (tunnel.path.endswith(f"/{names.TUNNEL}")
            and tunnel.local_address == vxlan.internal_address))]


Networks = Mapping[Key, ClusterNetwork]
"""The cluster's network as it may be read: one object, or none."""


def base(config: VxlanSettings, facts: DeviceFacts, networks: Networks) -> list[Object]:
    """Build the VxLAN device: profile, tunnel, self IP; and source translations that are ours to set."""
    folder, vxlan = config.folder, own(config, facts)
    if vxlan is None or not joins(config, facts):
        return []
    profile = VxlanProfile(names.vxlan_profile(folder), port(networks, facts))
    tunnel = Tunnel(names.tunnel(folder), profile.path, vxlan.internal_address)
    address = SelfIP(names.self_ip(folder, vxlan.gateway), vxlan.gateway, tunnel.path)
    return [profile, tunnel, address, *(
        SourceTranslation(virtual.path, AUTOMAP, frozenset({address.ref}))
        for virtual in (facts.http, facts.https) if virtual and _is_ours_to_set(config, virtual))]


def port(networks: Networks, facts: DeviceFacts) -> int:
    """Return the cluster's VxLAN port; while it is unknown, the device's port."""
    for key in sorted(networks):
        return networks[key].vxlan_port
    return facts.vxlan_port or VXLAN_PORT


def _is_ours_to_set(config: VxlanSettings, virtual: VirtualFacts) -> bool:
    """True if source translation is not configured, or as we would set it."""
    return config.manage_snat and virtual.exists and virtual.snat in (NO_TRANSLATION, AUTOMAP)


def record(node: Node, subnet: HostSubnet | None, config: VxlanSettings, facts: DeviceFacts) -> dict[Ref,
                                                                                                     Object]:
    """Build the FDB record of a Node, ready or not: its pods may still serve. {} without a usable address.

    Args:
        subnet: the Node's HostSubnet, None where there is none or it cannot be read.
    """
    setup = own(config, facts)
    if setup is None or not joins(config, facts):
        return {}
    address = vtep(node, subnet)
    if not address or address == setup.internal_address:
        return {}
    fdb_record = FDBRecord(names.tunnel(config.folder), names.fdb_mac(address), address)
    return {fdb_record.ref: fdb_record}


def vtep(node: Node, subnet: HostSubnet | None) -> str:
    """Return the address for VxLAN: hostIP of the HostSubnet, or the first InternalIP of IPv4; or "".

    openshift-sdn sends from and listens on hostIP, which is the InternalIP unless somebody chose
    another.
    """
    chosen = next(node_ports.usable_addresses((subnet.host_ip,), 4), "") if subnet else ""
    return chosen or node_ports.node_address(node, 4)
