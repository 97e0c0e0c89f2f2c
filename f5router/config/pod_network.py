"""Settings of the way to the pods: VxLAN, static routes, node ports, or none.

The second half of config.py, which has the rest.
"""

from dataclasses import dataclass
from typing import Any

from f5router.config.reader import Reader
from f5router.network import node_ports
from f5router.network.vxlan import VxlanConfig

_VXLAN = ("f5-internal-address", "f5-vxlan-gateway-cidr")
_ROUTES, _NODE_NETWORKS = "f5-static-routes", "static-route-node-networks"
_MEMBERS, _SELECTOR, _EXCLUDE = "pool-member-type", "node-label-selector", "nodeport-exclude"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodNetwork:
    """Fields of Config for the way to the pods."""

    vxlan: tuple[VxlanConfig, ...]
    """For each unit of the BIG-IP; empty: pods are reached in another way."""
    manage_snat: bool
    static_routes: bool
    static_route_networks: tuple[str, ...]
    """CIDRs in which the Nodes' addresses lie that are gateways; () for the networks of the self IPs."""
    nodeport: node_ports.NodePortConfig | None
    max_pool_members: int
    """None: pods are the pool members, not Nodes."""


def load(reader: Reader, *, units: int) -> dict[str, Any]:
    """Return the fields of PodNetwork, as far as the settings are right; the reader has what is wrong.

    Args: units: number of the BIG-IP's units.
    """
    vxlan, manage_snat = _vxlan(reader, units)
    static_routes = reader.value(_ROUTES)
    if static_routes and any(reader.text(name) for name in _VXLAN):
        reader.problem("pods are reached by static routes or by VxLAN, not by both", _ROUTES, *_VXLAN)
    if not static_routes and reader.text(_NODE_NETWORKS):
        reader.warn(f"not used: it is part of --{_ROUTES}", _NODE_NETWORKS)
    return {"vxlan": vxlan, "manage_snat": manage_snat, "static_routes": static_routes,
            "static_route_networks": reader.value(_NODE_NETWORKS) or (),
            "nodeport": _nodeport(reader, static_routes),
            "max_pool_members": reader.value("max-pool-members")}


def _nodeport(reader: Reader, static_routes: bool) -> node_ports.NodePortConfig | None:
    """Return the settings of node ports; None where pods are the pool members."""
    selector, exclude = reader.value(_SELECTOR), reader.value(_EXCLUDE)
    if reader.value(_MEMBERS) != "nodeport":
        for name in (_SELECTOR, _EXCLUDE):
            if reader.text(name):
                reader.warn(f"not used: it is part of --{_MEMBERS}=nodeport", name)
        return None
    others = [name for name in _VXLAN if reader.text(name)] + ([_ROUTES] if static_routes else [])
    if others:
        reader.problem("with node ports pods are not addressed, so no way to them is made", _MEMBERS, *others)
    return node_ports.NodePortConfig(selector, exclude or ())


def _vxlan(reader: Reader, units: int) -> tuple[tuple[VxlanConfig, ...], bool]:
    """Return both addresses of each unit or none, and f5-manage-snat. Source: openshift/origin v3.11.0,
    pkg/cmd/infra/router/f5.go: F5Router.Validate, its fifth check."""
    manage_snat = reader.value("f5-manage-snat")
    addresses, gateways = (reader.value(name) for name in _VXLAN)
    given = [bool(reader.text(name)) for name in _VXLAN]
    if given[0] != given[1]:
        reader.problem("For VxLAN setup, both internal-address and gateway-cidr must be specified", *_VXLAN)
    if not any(given) and manage_snat:
        reader.warn("not used: it is part of VxLAN, which is not configured", "f5-manage-snat")
    if not (addresses and gateways):
        return (), manage_snat
    if not len(addresses) == len(gateways) == units:
        reader.problem(f"each of the {units} units of --f5-host has an address and a gateway of its own, "
                       "with a HostSubnet: give as many of both, separated by commas, in the same order"
                       if units > 1 else "there are more than one, and one address in --f5-host", *_VXLAN)
        return (), manage_snat
    if set(addresses) & {gateway.partition("/")[0] for gateway in gateways}:
        reader.problem("they are the same address: one is of the Nodes' network, one of the pods'", *_VXLAN)
    return tuple(map(VxlanConfig, addresses, gateways)), manage_snat
