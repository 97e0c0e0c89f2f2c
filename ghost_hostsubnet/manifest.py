"""Builds and checks the ghost HostSubnet. No I/O.

Sources: OpenShift 3.11 documentation, "Using the F5 Router Plug-in"; openshift/origin 3.11
pkg/network/master/subnets.go for how the SDN's master
handles it, pkg/network/common/common.go (ValidateNodeIP) for the addresses that it accepts.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network
from typing import Any, Literal

from f5router.model.json_types import JSON
from ghost_hostsubnet import gateway

ASSIGN = "pod.network.openshift.io/assign-subnet"
"""Requests a subnet from the SDN's master by its mere presence, whatever the value."""
FIXED_VNID = "pod.network.openshift.io/fixed-vnid-host"
"""VNID of packets to the host; 0 reaches the pods of all tenants."""
PLACEHOLDER = "192.0.2.0/24"
"""Subnet of the request where OpenShift 4's schema wants one: TEST-NET-1 (RFC 5737), which has no pods. The
SDN's master replaces it as it would assign a missing one. Source: openshift/sdn
pkg/network/master/subnets.go, handleAssignHostSubnetAnnotation."""
NODE_UID = "pod.network.openshift.io/node-uid"
"""Set by the SDN's master on the HostSubnet of a Node."""

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class HostSubnetInfo:
    """The fields of a HostSubnet that are read."""

    name: str
    host: str = ""
    host_ip: str = ""
    subnet: str = ""
    uid: str = ""
    vnid: str | None = None
    """The annotation's text; None without it."""
    pending: bool = False
    """True if the SDN's master has not re-created it yet."""
    node_uid: str = ""

    @property
    def ready(self) -> bool:
        return bool(self.subnet) and not self.pending

    @property
    def network(self) -> IPv4Network | None:
        """Return the subnet, None if it is not valid."""
        return _network(self.subnet)


@dataclass(frozen=True, slots=True)
class SDNFacts:
    """HostSubnets, Nodes and networks of the cluster."""

    hostsubnets: tuple[HostSubnetInfo, ...] = ()
    nodes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Addresses by name of the Node, of whatever type."""
    networks: tuple[IPv4Network, ...] = ()
    """Cluster networks, from which HostSubnets are taken."""
    service_networks: tuple[IPv4Network, ...] = ()

    def named(self, name: str) -> HostSubnetInfo | None:
        return next((info for info in self.hostsubnets if info.name == name), None)

    def of_node(self, info: HostSubnetInfo) -> bool:
        """True if a HostSubnet is a Node's. Old versions have no annotation for that, so the name decides."""
        return bool(info.node_uid) or info.name in self.nodes

    @property
    def ghosts(self) -> tuple[HostSubnetInfo, ...]:
        return tuple(info for info in self.hostsubnets if not self.of_node(info))


@dataclass(frozen=True, slots=True)
class SubnetDecision:
    """Decision about a requested ghost HostSubnet."""

    action: Literal["create", "wait", "keep", "refuse"]
    """keep: it exists, with a subnet."""
    problems: tuple[str, ...] = ()
    """Why it is refused, and what to do."""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one check."""

    what: str
    ok: bool
    message: str


def build(name: str, host_ip: str, api_version: str, subnet: str = "") -> dict[str, Any]:
    """Build the object to create. Args: subnet: "" to leave it out."""
    return {
        "apiVersion": api_version,
        "kind": "HostSubnet",
        "metadata": {"name": name, "annotations": {ASSIGN: "true", FIXED_VNID: "0"}},
        "host": name,
        "hostIP": host_ip,
    } | ({"subnet": subnet} if subnet else {})


def decode(obj: JSON) -> HostSubnetInfo:
    """Decode a HostSubnet of the API; a field that is missing or of another type counts as empty."""
    metadata = _mapping(obj.get("metadata"))
    annotations = _mapping(metadata.get("annotations"))
    vnid = annotations.get(FIXED_VNID)
    return HostSubnetInfo(
        name=_text(metadata.get("name")), host=_text(obj.get("host")), host_ip=_text(obj.get("hostIP")),
        subnet=_text(obj.get("subnet")), uid=_text(metadata.get("uid")),
        vnid=None if vnid is None else _text(vnid), pending=ASSIGN in annotations,
        node_uid=_text(annotations.get(NODE_UID)),
    )


def facts(hostsubnets: Iterable[JSON], nodes: Iterable[JSON], networks: Iterable[JSON]) -> SDNFacts:
    """Decode the facts from API objects: HostSubnets, Nodes, ClusterNetworks."""
    pods: list[object] = []
    services: list[object] = []
    for network in networks:
        # Before 3.7 there is only one, in fields of its own; later versions repeat the first one there.
        listed = [_mapping(item).get("CIDR") for item in network.get("clusterNetworks") or ()]
        pods += listed or [network.get("network")]
        services.append(network.get("serviceNetwork"))
    return SDNFacts(
        hostsubnets=tuple(decode(obj) for obj in hostsubnets),
        nodes=dict(_node(obj) for obj in nodes),
        networks=tuple(network for network in map(_network, pods) if network),
        service_networks=tuple(network for network in map(_network, services) if network),
    )


def name_problem(name: str) -> str:
    """Return why this cannot be the name; "" if it can."""
    if _NAME.fullmatch(name) and len(name) <= 253:
        return ""
    return (f"{name!r} is no name for a HostSubnet: lower-case letters, digits, - and . are allowed, with a "
            "letter or digit at either end")


def address_problem(text: str) -> str:
    """Return why the BIG-IP cannot have this address in any cluster; "" if it can."""
    try:
        address = IPv4Address(text)
    except ValueError:
        return f"{text!r} is not an IPv4 address; OpenShift's SDN has no other"
    for kind, applies in (
        ("the unspecified address", address.is_unspecified), ("a loopback address", address.is_loopback),
        ("a multicast address", address.is_multicast), ("a link-local address", address.is_link_local),
        ("the broadcast address or reserved", address.is_reserved),
    ):
        if applies:
            return f"{text} is {kind}; nodes cannot send to it"
    return ""


def address_conflicts(name: str, host_ip: str, known: SDNFacts) -> list[str]:
    """Return why this cluster cannot have this hostIP in the HostSubnet of this name."""
    address = IPv4Address(host_ip)
    inside = [("cluster", each) for each in known.networks]
    inside += [("service", each) for each in known.service_networks]
    conflicts = [f"{host_ip} lies in the {kind} network {network}: use an address of the BIG-IP outside of "
                 "it that all nodes reach" for kind, network in inside if address in network]
    owners = [node for node, addresses in known.nodes.items() if host_ip in addresses]
    conflicts += [f"{host_ip} is an address of the Node {node}: use one of the BIG-IP's own"
                  for node in owners]
    conflicts += [f"{host_ip} is the hostIP of the HostSubnet {info.name}: {_advice(info, known)}"
                  for info in known.hostsubnets
                  if info.host_ip == host_ip and info.name != name and info.name not in owners]
    return conflicts


def _advice(other: HostSubnetInfo, known: SDNFacts) -> str:
    if known.of_node(other):
        return "use an address of the BIG-IP's own"
    return (f"use that one (--name {other.name}), or delete it first: ghost-hostsubnet delete --name "
            f"{other.name}")


def decide(name: str, host_ip: str, known: SDNFacts) -> SubnetDecision:
    """Decide what to do for a request. An existing HostSubnet is never rewritten: its subnet would move."""
    if problems := [problem for problem in (name_problem(name), address_problem(host_ip)) if problem]:
        return SubnetDecision("refuse", tuple(problems))
    existing = known.named(name)
    if name in known.nodes or (existing and known.of_node(existing)):
        return SubnetDecision("refuse", (f"{name} is the name of a Node: choose one that no Node has",))
    if existing is None:
        conflicts = address_conflicts(name, host_ip, known)
        return SubnetDecision("refuse" if conflicts else "create", tuple(conflicts))
    again = f"ghost-hostsubnet delete --name {name} and create it again (its subnet and gateway may change)"
    if existing.host_ip != host_ip:
        return SubnetDecision("refuse", (
            f"HostSubnet {name} exists with hostIP {existing.host_ip}, not {host_ip}: use --host-ip "
            f"{existing.host_ip}, or run {again}",))
    if existing.pending:
        return SubnetDecision("wait")
    wrong = [check.message for check in _own_checks(existing) if not check.ok]
    if wrong:
        return SubnetDecision("refuse", (f"HostSubnet {name} exists, but {'; '.join(wrong)}: run {again}",))
    return SubnetDecision("keep")


def checks(name: str, known: SDNFacts, *, internal_address: str | None = None,
           gateway_cidr: str | None = None) -> list[CheckResult]:
    """Check an existing ghost HostSubnet, and the router's two options."""
    info = known.named(name)
    if info is None:
        others = ", ".join(ghost.name for ghost in known.ghosts) or "none"
        return [CheckResult("exists", False, f"there is no HostSubnet {name} (without a Node: {others})")]
    results = [CheckResult("exists", True, f"HostSubnet {name} exists")]
    results += _own_checks(info) + _cluster_checks(info, known)
    if internal_address is not None:
        results.append(_internal_check(info, internal_address))
    if gateway_cidr is not None:
        results.append(_gateway_check(info, gateway_cidr, known))
    return results


def _own_checks(info: HostSubnetInfo) -> list[CheckResult]:
    """Check the object by itself."""
    def check(what: str, ok: bool, good: str, bad: str) -> CheckResult:
        return CheckResult(what, ok, good if ok else bad)

    vnid = "missing" if info.vnid is None else repr(info.vnid)
    return [
        check("host", info.host == info.name, f"host is {info.host}",
              f"host is {info.host!r}, which must equal the name"),
        check("assigned", not info.pending, "the SDN master has dealt with it",
              f"the annotation {ASSIGN} is still there: the SDN master has not dealt with it yet"),
        check("subnet", info.network is not None, f"subnet is {info.subnet}",
              f"subnet {info.subnet!r} is not an IPv4 network" if info.subnet else "it has no subnet"),
        check("vnid", info.vnid == "0", f"{FIXED_VNID} is 0",
              f"the annotation {FIXED_VNID} is {vnid}, not \"0\": pods of other projects are not reachable"),
    ]


def _cluster_checks(info: HostSubnetInfo, known: SDNFacts) -> list[CheckResult]:
    """Check the object against the rest of the cluster."""
    wrong = address_problem(info.host_ip)
    conflicts = [wrong] if wrong else address_conflicts(info.name, info.host_ip, known)
    of_node = known.of_node(info)
    results = [
        CheckResult("ghost", not of_node, f"no Node is called {info.name}" if not of_node
                    else f"{info.name} is the HostSubnet of a Node, not of a BIG-IP"),
        CheckResult("hostIP", not conflicts, "hostIP: " + "; ".join(conflicts) if conflicts
                    else f"hostIP {info.host_ip} is nobody else's"),
    ]
    subnet = info.network
    if subnet is not None:
        network = gateway.network_of(subnet, known.networks)
        listed = ", ".join(map(str, known.networks))
        results.append(CheckResult(
            "network", network is not None, f"subnet is in the cluster network {network}" if network
            else f"subnet {subnet} is in no cluster network ({listed})"))
        others = [other.name for other in known.hostsubnets
                  if other.name != info.name and other.network and other.network.overlaps(subnet)]
        results.append(CheckResult(
            "overlap", not others, f"{subnet} is also of HostSubnet {', '.join(others)}" if others
            else "no other HostSubnet has this subnet"))
    return results


def _internal_check(info: HostSubnetInfo, text: str) -> CheckResult:
    if text == info.host_ip:
        return CheckResult("internal address", True, f"the internal address {text} is the hostIP")
    return CheckResult(
        "internal address", False,
        f"the internal address {text} is not the hostIP {info.host_ip}, to which nodes send: use "
        f"{info.host_ip}")


def _gateway_check(info: HostSubnetInfo, text: str, known: SDNFacts) -> CheckResult:
    if info.network is None:
        return CheckResult("gateway", False, f"{text} cannot be checked without a subnet")
    try:
        wrong = gateway.problem(text, info.network, known.networks)
    except gateway.GatewayError as exc:
        wrong = str(exc)
    return CheckResult("gateway", not wrong, wrong or f"{text} is in the subnet and has the cluster's mask")


def _node(obj: JSON) -> tuple[str, frozenset[str]]:
    listed = _mapping(obj.get("status")).get("addresses") or ()
    addresses = (_address(_mapping(item).get("address")) for item in listed)
    name = _text(_mapping(obj.get("metadata")).get("name"))
    return name, frozenset(address for address in addresses if address)


def _address(value: object) -> str:
    """Return the canonical text of a Node's address, "" for a host name; ::ffff:192.0.2.1 is 192.0.2.1."""
    try:
        address = ip_address(_text(value))
    except ValueError:
        return ""
    return str(getattr(address, "ipv4_mapped", None) or address)


def _network(value: object) -> IPv4Network | None:
    """Parse a network. Host bits may be set: OpenShift accepts such values too."""
    try:
        network = ip_network(_text(value), strict=False) if "/" in _text(value) else None
    except ValueError:
        return None
    return network if isinstance(network, IPv4Network) else None


def _mapping(value: object) -> JSON:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
