"""The VxLAN device and its FDB, built from Nodes and settings: the BIG-IP as a host of openshift-sdn.

Sources: openshift/origin v3.11.0, pkg/router/f5/f5.go: ensureVxLANTunnel, AddVtep, RemoveVtep.

Checks compare the settings with the cluster; each finding names the right value. Problems keep pods from
being reached, warnings may. Neither keeps a Route from being programmed.
Source: OpenShift 3.11 documentation, "Using the F5 Router Plug-in", Setting Up F5 Native Integration.
"""

import ipaddress
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from f5router.model import names, tmos
from f5router.model.cluster import ClusterNetwork, HostSubnet, Key, Node
from f5router.model.device_facts import DeviceFacts, TunnelFacts, VirtualFacts
from f5router.model.errors import BigIPError
from f5router.model.ltm import Object
from f5router.model.net import VXLAN_PORT, FDBRecord, SelfIP, SourceTranslation, Tunnel, VxlanProfile
from f5router.model.objects import Ref
from f5router.model.texts import Findings
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


def of_unit(config: VxlanSettings, facts: DeviceFacts) -> VxlanConfig | None:
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
    vxlan = of_unit(config, facts)
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
    folder, vxlan = config.folder, of_unit(config, facts)
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
    return (config.manage_snat and virtual.exists and not virtual.is_own
            and virtual.snat in (NO_TRANSLATION, AUTOMAP))


def record(node: Node, subnet: HostSubnet | None, config: VxlanSettings, facts: DeviceFacts) -> dict[Ref,
                                                                                                     Object]:
    """Build the FDB record of a Node, ready or not: its pods may still serve. {} without a usable address.

    Args:
        subnet: the Node's HostSubnet, None where there is none or it cannot be read.
    """
    setup = of_unit(config, facts)
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


RAMP = ("without --f5-internal-address and --f5-vxlan-gateway-cidr the router works behind a ramp node, "
        "on TMOS 11.4 and newer and without that licence")

NOT_LICENSED = "01070356"
"""TMOS message number of "... feature not licensed"; which text SDN Services has is not recorded."""

SHOWN = 3
"""Floating self IPs that a message names."""

ADDRESS, GATEWAY = "--f5-internal-address", "--f5-vxlan-gateway-cidr"


@dataclass(frozen=True, slots=True)
class ClusterNetworkView:
    """Network of the cluster, as far as it can be read."""

    nodes: Mapping[Key, Node] = field(default_factory=dict)
    host_subnets: Mapping[Key, HostSubnet] = field(default_factory=dict)
    """Empty where they cannot be read, or do not exist."""
    networks: Mapping[Key, ClusterNetwork] = field(default_factory=dict)


def check(config: VxlanSettings, facts: DeviceFacts, cluster: ClusterNetworkView) -> Findings:
    """Check the device, the settings of all units, and Nodes."""
    own = of_unit(config, facts)
    if own is None:
        return Findings()
    if not supported(config, facts):
        version = tmos.dotted(facts.version)
        needed = tmos.dotted(tmos.VXLAN_SINCE)
        return Findings((f"TMOS {version} cannot join the cluster network by VxLAN, {needed} or newer can: "
                         f"pods are not reachable; {RAMP}",))
    others = _rivals(config, own, facts)
    if others and not joins(config, facts):
        return Findings(tuple(others))
    problems = list(others)
    for unit in config.vxlan:
        problems += [*_settings(unit, config.vxlan, cluster), *_own_address(unit, cluster)]
    virtuals = [virtual for virtual in (facts.http, facts.https) if virtual]
    snat = filter(None, (_translation(virtual, own, config, facts) for virtual in virtuals))
    return Findings(tuple(problems), (*snat, *_nodes(cluster), *_networks(cluster), *_port(facts, cluster)))


def _rivals(config: VxlanSettings, own: VxlanConfig, facts: DeviceFacts) -> list[str]:
    """Return problems with other tunnels: one router joins the cluster network for all on the BIG-IP."""
    if joins(config, facts):
        here = (f"with {names.tunnel(config.folder)} there are two, and pods may not be reached; take VxLAN "
                "from one of the routers, and delete its self IP and tunnel")
    else:
        here = (f"all routers on it share that, so nothing was made here; leave out {ADDRESS} and {GATEWAY}, "
                "or, if no router manages it now, delete its self IP and the tunnel")
    return [f"{ADDRESS} {own.internal_address}: the BIG-IP is in the cluster network already, by "
            f"tunnel {other.path} with self IP {', '.join(other.addresses)}; {here}"
            for other in rivals(config, facts)]


def refusal(ref: Ref, error: BigIPError) -> str:
    """Explain a refused object of the VxLAN, and what can be done about it."""
    text = f"{ref}: {error.text}"
    unlicensed = error.code == NOT_LICENSED or "licensed" in error.text
    if ref.kind == VxlanProfile.KIND and unlicensed:
        return (f"the BIG-IP has no licence for SDN Services, so it cannot join the cluster network and pods "
                f"are not reachable ({text}); {RAMP}")
    return text


# --- settings against HostSubnet and ClusterNetwork --------------------------------------


def _settings(own: VxlanConfig, units: Collection[VxlanConfig],
              cluster: ClusterNetworkView) -> Iterable[str]:
    ghost = next((s for s in _sorted(cluster.host_subnets) if s.host_ip == own.internal_address), None)
    if ghost is None and cluster.host_subnets:
        yield _no_ghost(own, {unit.internal_address for unit in units}, cluster)
    elif ghost is not None and not ghost.subnet:
        yield (f"{ADDRESS} {own.internal_address}: HostSubnet {ghost.key.name} has no subnet yet; the SDN "
               "master allocates one if it is annotated pod.network.openshift.io/assign-subnet: \"true\"")
    subnet = _network(ghost.subnet) if ghost else None
    gateway = ipaddress.IPv4Interface(own.gateway)
    network = _cluster_network(gateway, subnet, cluster)
    inside = [network for network in _all_networks(cluster)
              if ipaddress.IPv4Address(own.internal_address) in network]
    if inside:
        yield (f"{ADDRESS} {own.internal_address}: it lies in the cluster network {inside[0]}; set the "
               "BIG-IP's address in the Nodes' network")
    yield from _gateway(gateway, ghost, subnet, network)


def _no_ghost(own: VxlanConfig, taken: Collection[str], cluster: ClusterNetworkView) -> str:
    ghosts = [s for key, s in sorted(cluster.host_subnets.items())
              if key not in cluster.nodes and s.host_ip and s.host_ip not in taken]
    text = (f"{ADDRESS} {own.internal_address}: no HostSubnet has this hostIP, so no Node accepts its "
            "packets; ")
    if ghosts and cluster.nodes:
        addresses = " or ".join(f"{s.host_ip} of HostSubnet {s.key.name}" for s in ghosts)
        return f"{text}set {addresses}, which belongs to no Node"
    return (f"{text}create a HostSubnet with hostIP {own.internal_address}, annotated "
            "pod.network.openshift.io/assign-subnet: \"true\" and "
            "pod.network.openshift.io/fixed-vnid-host: \"0\"")


def _gateway(
    gateway: ipaddress.IPv4Interface, ghost: HostSubnet | None, subnet: ipaddress.IPv4Network | None,
    network: ipaddress.IPv4Network | None,
) -> Iterable[str]:
    label = f"{GATEWAY} {gateway}"
    bits = network.prefixlen if network else gateway.network.prefixlen
    if ghost is not None and subnet is not None and not _is_host(gateway.ip, subnet):
        right = f"{_host_like(gateway.ip, subnet)}/{bits}"
        yield (f"{label}: it is no host address in {subnet}, the subnet of HostSubnet {ghost.key.name}; "
               f"set for example {right}")
    elif network is not None and gateway.ip not in network:
        yield f"{label}: it is not in the cluster network {network}"
    elif network is not None and gateway.network != network:
        yield (f"{label}: the prefix length must be that of the cluster network {network}, or the pods of "
               f"other Nodes are not reached; set {gateway.ip}/{network.prefixlen}")
    elif network is None and subnet is not None and gateway.network.prefixlen >= subnet.prefixlen:
        yield (f"{label}: the prefix length is the one of a host's subnet, {subnet}; set that of the cluster "
               "network (oc get clusternetwork), or the pods of other Nodes are not reached")


def _is_host(address: ipaddress.IPv4Address, subnet: ipaddress.IPv4Network) -> bool:
    return address in subnet and address not in (subnet.network_address, subnet.broadcast_address)


def _host_like(address: ipaddress.IPv4Address, subnet: ipaddress.IPv4Network) -> ipaddress.IPv4Address:
    """Return a host address of the subnet, with the host part of another address if possible."""
    same = subnet.network_address + (int(address) & int(subnet.hostmask))
    return same if _is_host(same, subnet) else subnet.network_address + 1


def _cluster_network(
    gateway: ipaddress.IPv4Interface, subnet: ipaddress.IPv4Network | None, cluster: ClusterNetworkView,
) -> ipaddress.IPv4Network | None:
    """Return the network that holds the ghost's subnet, or the gateway; None if unknown."""
    networks = _all_networks(cluster)
    for wanted in (subnet.network_address if subnet else None, gateway.ip):
        if holders := [network for network in networks if wanted is not None and wanted in network]:
            return holders[0]
    return networks[0] if networks else None


def _all_networks(cluster: ClusterNetworkView) -> list[ipaddress.IPv4Network]:
    texts = [text for key in sorted(cluster.networks) for text in cluster.networks[key].networks]
    return [network for text in texts if (network := _network(text)) is not None]


def _network(text: str) -> ipaddress.IPv4Network | None:
    try:
        return ipaddress.IPv4Network(text)
    except ValueError:
        return None


def _networks(cluster: ClusterNetworkView) -> Iterable[str]:
    if len(networks := _all_networks(cluster)) > 1:
        yield (f"{GATEWAY}: the cluster has {len(networks)} networks ({', '.join(map(str, networks))}); only "
               "pods of the one that holds the gateway are reached")


def _port(facts: DeviceFacts, cluster: ClusterNetworkView) -> Iterable[str]:
    if not cluster.networks and facts.vxlan_port not in (0, VXLAN_PORT):
        yield (f"VxLAN profile {names.VXLAN_PROFILE}: port {facts.vxlan_port} stays as it is, because the "
               f"cluster's (vxlanPort of ClusterNetwork default, {VXLAN_PORT} without) cannot be read")


# --- Nodes -------------------------------------------------------------------------------


def _own_address(own: VxlanConfig, cluster: ClusterNetworkView) -> Iterable[str]:
    for node, address in _vteps(cluster):
        if address == own.internal_address:
            yield f"{ADDRESS} {address}: it is the address of Node {node.key.name}; set the BIG-IP's own"


def _nodes(cluster: ClusterNetworkView) -> Iterable[str]:
    by_address: dict[str, list[str]] = {}
    for node, address in _vteps(cluster):
        if not address:
            listed = ", ".join(node.internal_ips) or "none"
            yield (f"Node {node.key.name}: no usable IPv4 address of type InternalIP in status.addresses "
                   f"({listed}); its pods are not reachable")
        else:
            by_address.setdefault(address, []).append(node.key.name)
    for address, nodes in sorted(by_address.items()):
        if len(nodes) > 1:
            yield f"Nodes {', '.join(nodes)} have the same address {address}; one FDB record stands for all"


def _vteps(cluster: ClusterNetworkView) -> Iterable[tuple[Node, str]]:
    for key, node in sorted(cluster.nodes.items()):
        yield node, vtep(node, cluster.host_subnets.get(key))


def _sorted(subnets: Mapping[Key, HostSubnet]) -> list[HostSubnet]:
    return [subnets[key] for key in sorted(subnets)]


# --- return traffic ----------------------------------------------------------------------


def _translation(virtual: VirtualFacts, own: VxlanConfig, config: VxlanSettings,
                 facts: DeviceFacts) -> str:
    """Return why pods may not answer to the gateway, as they must (openshift/origin v3.11.0,
    pkg/cmd/infra/router/f5.go: F5Router.VxlanGateway).

    Automap prefers any floating self IP to one that does not float, even on the way to the pods (K7336,
    quoted in F5Networks/k8s-bigip-ctlr, #533).
    """
    gateway = own.gateway.partition("/")[0]
    where = f"virtual server {virtual.path}, source address translation"
    wanted = f"automap, or a SNAT pool with {gateway}"
    if not virtual.exists:
        return ""
    is_automap = virtual.snat == AUTOMAP or (
        virtual.snat == NO_TRANSLATION and config.manage_snat)
    if is_automap and facts.floating_addresses:
        listed = ", ".join(facts.floating_addresses[:SHOWN])
        remedy = (f"set a SNAT pool with {gateway}" if len(config.vxlan) == 1
                  else "set up the pair without them (docs/bigip-pairs.md)")
        return (f"{where}: automap takes floating self IPs before {gateway}, and the BIG-IP has {listed}, so "
                f"what pods answer may not come back; {remedy}")
    if is_automap:
        return ""
    if virtual.snat == NO_TRANSLATION:
        return (f"{where}: none, so pods answer to clients past the BIG-IP; set {wanted} "
                f"(tmsh modify ltm virtual {virtual.path} source-address-translation {{ type automap }}, or "
                "--f5-manage-snat), unless a SNAT of the device does it")
    if gateway not in virtual.snat_addresses:
        return (f"{where}: {virtual.snat} {virtual.snat_pool} does not hold {gateway}, so what pods answer "
                f"may not come back; set {wanted}")
    return ""
