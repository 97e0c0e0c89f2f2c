"""Chooses and checks the BIG-IP's address in the pod network.

It lies in the ghost HostSubnet, with the mask of the whole cluster network: only then are the pods of all
nodes on-link for the BIG-IP. Source: OpenShift 3.11 documentation, "Using the F5 Router Plug-in".
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Interface, IPv4Network

PREFERRED = 5
"""Position of the chosen address in the subnet: that of OpenShift's own example, 10.131.0.5/14."""

SDN_GATEWAY = 1
"""Position of the address that the SDN assigns to a node's tun0."""


class GatewayError(ValueError):
    """No gateway can be chosen; the message says why."""


def network_of(subnet: IPv4Network, networks: Iterable[IPv4Network]) -> IPv4Network | None:
    """Return the cluster network that contains a subnet."""
    return next((network for network in networks if subnet.subnet_of(network)), None)


def choose(subnet: IPv4Network, networks: Iterable[IPv4Network]) -> str:
    """Return address and mask for --f5-vxlan-gateway-cidr, always the same: 10.131.0.5/14.

    Raises: GatewayError: the subnet is in no cluster network, or too small.
    """
    networks = tuple(networks)
    network = network_of(subnet, networks)
    if network is None:
        listed = ", ".join(map(str, networks)) or "none"
        raise GatewayError(f"subnet {subnet} lies in no cluster network ({listed})")
    position = min(PREFERRED, subnet.num_addresses - 2)  # the last address is for broadcasts
    if position <= SDN_GATEWAY:
        raise GatewayError(f"subnet {subnet} is too small to hold a gateway")
    return f"{subnet.network_address + position}/{network.prefixlen}"


def problem(text: str, subnet: IPv4Network, networks: Iterable[IPv4Network]) -> str:
    """Return the problem with a gateway, and the right value; "" if the gateway is good.

    Raises: GatewayError: see choose.
    """
    networks = tuple(networks)
    right = choose(subnet, networks)
    interface = _interface(text)
    if interface is None:
        return f"{text!r} is not an IPv4 address with a mask: use {right}"
    if reason := _bad_address(interface.ip, subnet):
        return f"{interface.ip} {reason}: use {right}"
    network = network_of(subnet, networks)
    assert network is not None, "choose() has refused a subnet without one"
    if interface.network.prefixlen == network.prefixlen:
        return ""
    right = f"{interface.ip}/{network.prefixlen}"
    if interface.network.prefixlen == subnet.prefixlen:
        why = (f"/{subnet.prefixlen} is the mask of the HostSubnet, with which the pods of other nodes are "
               f"not on-link; it must be /{network.prefixlen}, that of the cluster network {network}")
    else:
        why = (f"/{interface.network.prefixlen} is not the mask of the cluster network {network}, "
               f"/{network.prefixlen}")
    return f"{why}: use {right}, not {text}"


def _interface(text: str) -> IPv4Interface | None:
    address, _, mask = text.partition("/")
    if not (mask.isascii() and mask.isdecimal()):
        return None
    try:
        return IPv4Interface(f"{address}/{mask}")
    except ValueError:
        return None


def _bad_address(address: IPv4Address, subnet: IPv4Network) -> str:
    if address not in subnet:
        return f"is not in the HostSubnet's subnet {subnet}"
    if address == subnet.network_address:
        return f"is the address of the network {subnet} itself"
    if address == subnet.broadcast_address:
        return f"is the broadcast address of {subnet}"
    if address == subnet.network_address + SDN_GATEWAY:
        return "is the address that the SDN uses for a node's own gateway"
    return ""
