"""Settings of the virtual servers that the router creates, rows of the table in options.py."""

import ipaddress

from f5router.config import parsers
from f5router.config.option import VIRTUAL_SERVERS, Option, boolean

MOST_ADDRESSES = 16


def addresses(text: str) -> tuple[str, ...]:
    """Read addresses on which clients are served, in canonical form. Raises: ValueError."""
    read = tuple(_address(item.strip()) for item in text.split(","))
    if len(read) > MOST_ADDRESSES:
        raise ValueError(f"there are more than {MOST_ADDRESSES} addresses")
    if len(set(read)) < len(read):
        raise ValueError("one address is there twice")
    return read


def _address(text: str) -> str:
    if "%" in text:
        raise ValueError(f"{text!r} may not name a route domain: that of the partition is used")
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        raise ValueError(f"{text!r} is not an IP address") from None
    is_mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None
    if is_mapped or address.is_unspecified or address.is_loopback or address.is_multicast or (
            address.is_link_local):
        raise ValueError(f"{text!r} is no address on which clients can be served")
    return str(address)


OPTIONS = (
    Option("f5-vserver-address", "ROUTER_EXTERNAL_HOST_VSERVER_ADDRESS", "", VIRTUAL_SERVERS,
           "Addresses, IPv4 or IPv6, on which the router creates virtual servers, and keeps them. Default: "
           "it uses those that an administrator has created.", "ADDRESS,...", addresses, repeats=True),
    Option("service-http-port", "ROUTER_SERVICE_HTTP_PORT", "80", VIRTUAL_SERVERS,
           "Port of the HTTP virtual servers that the router creates.", "PORT", parsers.integer(1, 65535)),
    Option("service-https-port", "ROUTER_SERVICE_HTTPS_PORT", "443", VIRTUAL_SERVERS,
           "Port of the HTTPS virtual servers that the router creates.", "PORT", parsers.integer(1, 65535)),
    boolean("repair-disabled", "ROUTER_REPAIR_DISABLED", "false", VIRTUAL_SERVERS,
            "Enable a virtual server that the router created and somebody has disabled. By default it stays "
            "disabled, and findings tell so."),
)
