"""The ghost HostSubnet as it is written, and what may be wrong with one. Computes only.

Sources: OpenShift 3.11 documentation, "Using the F5 Router Plug-in"; openshift/origin 3.11
pkg/network/master/subnets.go for what the SDN's master
does with it, pkg/network/common/common.go (ValidateNodeIP) for the addresses that it takes.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, ip_address, ip_network
from typing import Any, Literal

from f5router.model.json_types import JSON
from ghost_hostsubnet import gateway

ASSIGN = "pod.network.openshift.io/assign-subnet"
"""Asks the SDN's master for a subnet; its mere presence does, whatever the value."""
FIXED_VNID = "pod.network.openshift.io/fixed-vnid-host"
"""VNID of packets to the host; 0 reaches the pods of all tenants."""
PLACEHOLDER = "192.0.2.0/24"
"""Subnet of the request where OpenShift 4's schema wants one: TEST-NET-1 (RFC 5737), in which no pod is. The
SDN's master replaces it as it would give a missing one. Source: openshift/sdn pkg/network/master/subnets.go,
handleAssignHostSubnetAnnotation."""
NODE_UID = "pod.network.openshift.io/node-uid"
"""Set by the SDN's master on the HostSubnet of a Node."""

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@dataclass(frozen=True, slots=True)
class HostSubnet:
    """What matters of a HostSubnet."""

    name: str
    host: str = ""
    host_ip: str = ""
    subnet: str = ""
    uid: str = ""
    vnid: str | None = None
    """The annotation's text; None without it."""
    pending: bool = False
    """The SDN's master has still to re-create it."""
    node_uid: str = ""

    @property
    def ready(self) -> bool:
        return bool(self.subnet) and not self.pending

    @property
    def network(self) -> IPv4Network | None:
        """The subnet, if it is one."""
        return _network(self.subnet)


@dataclass(frozen=True, slots=True)
class Facts:
    """What the cluster has."""

    hostsubnets: tuple[HostSubnet, ...] = ()
    nodes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Addresses by name of the Node, of whatever type."""
    networks: tuple[IPv4Network, ...] = ()
    """Cluster networks, from which HostSubnets are taken."""
    service_networks: tuple[IPv4Network, ...] = ()

    def named(self, name: str) -> HostSubnet | None:
        return next((one for one in self.hostsubnets if one.name == name), None)

    def of_node(self, one: HostSubnet) -> bool:
        """Whether a HostSubnet is a Node's. In old versions, without the annotation, the name tells."""
        return bool(one.node_uid) or one.name in self.nodes

    @property
    def ghosts(self) -> tuple[HostSubnet, ...]:
        return tuple(one for one in self.hostsubnets if not self.of_node(one))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do about a wish for a ghost HostSubnet."""

    action: Literal["create", "wait", "keep", "refuse"]
    """keep: it is there already, with a subnet."""
    problems: tuple[str, ...] = ()
    """Why it is refused, and what to do."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    what: str
    ok: bool
    message: str


def build(name: str, host_ip: str, api_version: str, subnet: str = "") -> dict[str, Any]:
    """The object to create. Args: subnet: "" to leave it out."""
    return {
        "apiVersion": api_version,
        "kind": "HostSubnet",
        "metadata": {"name": name, "annotations": {ASSIGN: "true", FIXED_VNID: "0"}},
        "host": name,
        "hostIP": host_ip,
    } | ({"subnet": subnet} if subnet else {})


def decode(obj: JSON) -> HostSubnet:
    """A HostSubnet of the API; what is missing or of another type counts as empty."""
    metadata = _mapping(obj.get("metadata"))
    annotations = _mapping(metadata.get("annotations"))
    vnid = annotations.get(FIXED_VNID)
    return HostSubnet(
        name=_text(metadata.get("name")), host=_text(obj.get("host")), host_ip=_text(obj.get("hostIP")),
        subnet=_text(obj.get("subnet")), uid=_text(metadata.get("uid")),
        vnid=None if vnid is None else _text(vnid), pending=ASSIGN in annotations,
        node_uid=_text(annotations.get(NODE_UID)),
    )


def facts(hostsubnets: Iterable[JSON], nodes: Iterable[JSON], networks: Iterable[JSON]) -> Facts:
    """Facts from API objects: HostSubnets, Nodes, ClusterNetworks."""
    pods: list[object] = []
    services: list[object] = []
    for network in networks:
        # Before 3.7 there is but one, in fields of its own; later versions repeat the first one there.
        listed = [_mapping(one).get("CIDR") for one in network.get("clusterNetworks") or ()]
        pods += listed or [network.get("network")]
        services.append(network.get("serviceNetwork"))
    return Facts(
        hostsubnets=tuple(decode(obj) for obj in hostsubnets),
        nodes=dict(_node(obj) for obj in nodes),
        networks=tuple(found for found in map(_network, pods) if found),
        service_networks=tuple(found for found in map(_network, services) if found),
    )


def name_problem(name: str) -> str:
    """Why this cannot be the name; "" if it can."""
    if _NAME.fullmatch(name) and len(name) <= 253:
        return ""
    return (f"{name!r} is no name for a HostSubnet: lower-case letters, digits, - and . are allowed, with a "
            "letter or digit at either end")


def address_problem(text: str) -> str:
    """Why the BIG-IP cannot have this address, whatever the cluster is; "" if it can."""
    try:
        address = IPv4Address(text)
    except ValueError:
        return f"{text!r} is not an IPv4 address; OpenShift's SDN has no other"
    for kind, found in (
        ("the unspecified address", address.is_unspecified), ("a loopback address", address.is_loopback),
        ("a multicast address", address.is_multicast), ("a link-local address", address.is_link_local),
        ("the broadcast address or reserved", address.is_reserved),
    ):
        if found:
            return f"{text} is {kind}; nodes cannot send to it"
    return ""


def address_conflicts(name: str, host_ip: str, known: Facts) -> list[str]:
    """Why this cluster cannot have this hostIP in the HostSubnet of this name."""
    address = IPv4Address(host_ip)
    inside = [("cluster", one) for one in known.networks]
    inside += [("service", one) for one in known.service_networks]
    found = [f"{host_ip} lies in the {kind} network {network}: use an address of the BIG-IP outside of it "
             "that all nodes reach" for kind, network in inside if address in network]
    owners = [node for node, addresses in known.nodes.items() if host_ip in addresses]
    found += [f"{host_ip} is an address of the Node {node}: use one of the BIG-IP's own" for node in owners]
    found += [f"{host_ip} is the hostIP of the HostSubnet {one.name}: {_advice(one, known)}"
              for one in known.hostsubnets
              if one.host_ip == host_ip and one.name != name and one.name not in owners]
    return found


def _advice(other: HostSubnet, known: Facts) -> str:
    if known.of_node(other):
        return "use an address of the BIG-IP's own"
    return (f"use that one (--name {other.name}), or delete it first: ghost-hostsubnet delete --name "
            f"{other.name}")


def judge(name: str, host_ip: str, known: Facts) -> Verdict:
    """What to do when this is asked for. An existing one is never written again: that moves its subnet."""
    if problems := [problem for problem in (name_problem(name), address_problem(host_ip)) if problem]:
        return Verdict("refuse", tuple(problems))
    existing = known.named(name)
    if name in known.nodes or (existing and known.of_node(existing)):
        return Verdict("refuse", (f"{name} is the name of a Node: choose one that no Node has",))
    if existing is None:
        conflicts = address_conflicts(name, host_ip, known)
        return Verdict("refuse" if conflicts else "create", tuple(conflicts))
    again = f"ghost-hostsubnet delete --name {name} and create it again (its subnet and gateway may change)"
    if existing.host_ip != host_ip:
        return Verdict("refuse", (
            f"HostSubnet {name} exists with hostIP {existing.host_ip}, not {host_ip}: use --host-ip "
            f"{existing.host_ip}, or run {again}",))
    if existing.pending:
        return Verdict("wait")
    wrong = [check.message for check in _own_checks(existing) if not check.ok]
    if wrong:
        return Verdict("refuse", (f"HostSubnet {name} exists, but {'; '.join(wrong)}: run {again}",))
    return Verdict("keep")


def checks(name: str, known: Facts, *, internal_address: str | None = None,
           gateway_cidr: str | None = None) -> list[Check]:
    """Everything that can be told about an existing ghost HostSubnet and the router's two options."""
    one = known.named(name)
    if one is None:
        others = ", ".join(ghost.name for ghost in known.ghosts) or "none"
        return [Check("exists", False, f"there is no HostSubnet {name} (without a Node: {others})")]
    found = [Check("exists", True, f"HostSubnet {name} exists")]
    found += _own_checks(one) + _cluster_checks(one, known)
    if internal_address is not None:
        found.append(_internal_check(one, internal_address))
    if gateway_cidr is not None:
        found.append(_gateway_check(one, gateway_cidr, known))
    return found


def _own_checks(one: HostSubnet) -> list[Check]:
    """What the object tells by itself."""
    def check(what: str, ok: bool, good: str, bad: str) -> Check:
        return Check(what, ok, good if ok else bad)

    vnid = "missing" if one.vnid is None else repr(one.vnid)
    return [
        check("host", one.host == one.name, f"host is {one.host}",
              f"host is {one.host!r}, which must equal the name"),
        check("assigned", not one.pending, "the SDN master has dealt with it",
              f"the annotation {ASSIGN} is still there: the SDN master has not dealt with it yet"),
        check("subnet", one.network is not None, f"subnet is {one.subnet}",
              f"subnet {one.subnet!r} is not an IPv4 network" if one.subnet else "it has no subnet"),
        check("vnid", one.vnid == "0", f"{FIXED_VNID} is 0",
              f"the annotation {FIXED_VNID} is {vnid}, not \"0\": pods of other projects are not reachable"),
    ]


def _cluster_checks(one: HostSubnet, known: Facts) -> list[Check]:
    """What the rest of the cluster tells."""
    wrong = address_problem(one.host_ip)
    conflicts = [wrong] if wrong else address_conflicts(one.name, one.host_ip, known)
    found = [
        Check("ghost", not known.of_node(one), f"no Node is called {one.name}" if not known.of_node(one)
              else f"{one.name} is the HostSubnet of a Node, not of a BIG-IP"),
        Check("hostIP", not conflicts, "hostIP: " + "; ".join(conflicts) if conflicts
              else f"hostIP {one.host_ip} is nobody else's"),
    ]
    subnet = one.network
    if subnet is not None:
        network = gateway.network_of(subnet, known.networks)
        listed = ", ".join(map(str, known.networks))
        found.append(Check("network", network is not None, f"subnet is in the cluster network {network}"
                           if network else f"subnet {subnet} is in no cluster network ({listed})"))
        others = [other.name for other in known.hostsubnets
                  if other.name != one.name and other.network and other.network.overlaps(subnet)]
        found.append(Check("overlap", not others, f"{subnet} is also of HostSubnet {', '.join(others)}"
                           if others else "no other HostSubnet has this subnet"))
    return found


def _internal_check(one: HostSubnet, text: str) -> Check:
    if text == one.host_ip:
        return Check("internal address", True, f"the internal address {text} is the hostIP")
    return Check("internal address", False, f"the internal address {text} is not the hostIP {one.host_ip}, "
                 f"to which nodes send: use {one.host_ip}")


def _gateway_check(one: HostSubnet, text: str, known: Facts) -> Check:
    if one.network is None:
        return Check("gateway", False, f"{text} cannot be checked without a subnet")
    try:
        wrong = gateway.problem(text, one.network, known.networks)
    except gateway.GatewayError as exc:
        wrong = str(exc)
    return Check("gateway", not wrong, wrong or f"{text} is in the subnet and has the cluster's mask")


def _node(obj: JSON) -> tuple[str, frozenset[str]]:
    listed = _mapping(obj.get("status")).get("addresses") or ()
    found = (_address(_mapping(one).get("address")) for one in listed)
    return _text(_mapping(obj.get("metadata")).get("name")), frozenset(one for one in found if one)


def _address(value: object) -> str:
    """Canonical text of an address of a Node, "" for a host name; ::ffff:192.0.2.1 is 192.0.2.1."""
    try:
        address = ip_address(_text(value))
    except ValueError:
        return ""
    return str(getattr(address, "ipv4_mapped", None) or address)


def _network(value: object) -> IPv4Network | None:
    """Host bits may be set: OpenShift takes such values too."""
    try:
        found = ip_network(_text(value), strict=False) if "/" in _text(value) else None
    except ValueError:
        return None
    return found if isinstance(found, IPv4Network) else None


def _mapping(value: object) -> JSON:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
