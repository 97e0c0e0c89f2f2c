"""Addresses with ports and route domains: `10.1.1.1%1:80`, `2001:db8::1.80`, `0.0.0.0:0`."""

from __future__ import annotations

import functools
import ipaddress
from dataclasses import dataclass

from mocks.bigip.refusals import Refusal, mcpd
from mocks.bigip.store import Store

SERVICES = {"http": 80, "https": 443, "any": 0, "ssh": 22, "domain": 53, "webcache": 8080, "*": 0}


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address; route_domain is None where none was written."""

    text: str
    route_domain: int | None = None

    def __str__(self) -> str:
        return self.text if self.route_domain is None else f"{self.text}%{self.route_domain}"

    def in_domain(self, default: int) -> str:
        """The address with its route domain, as the key of an index."""
        return f"{self.text}%{default if self.route_domain is None else self.route_domain}"


@functools.lru_cache(maxsize=65536)
def parse(text: str) -> Address:
    """Raises: ValueError: no address. `any` and `any6` are the wildcards."""
    address, percent, domain = text.partition("%")
    if address in ("any", "any6"):
        return Address("0.0.0.0" if address == "any" else "::", int(domain) if percent else None)
    return Address(str(ipaddress.ip_address(address)), int(domain) if percent else None)


def is_address(text: str) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def split_port(text: str) -> tuple[str, str]:
    """(host, port) of a member name or a destination: IPv6 separates the port by a dot.

    Raises: ValueError: no port.
    """
    ipv6 = text.count(":") > 1 or text.startswith("any6")
    host, separator, port = text.rpartition("." if ipv6 else ":")
    if not separator or not host:
        raise ValueError(text)
    return host, port


def listening(where: tuple[str, int]) -> str:
    """Spell a socket's address as curl takes it: IPv6 in brackets."""
    host, port = where
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def port_number(port: str) -> int:
    """Raises: Refusal: neither a number nor a known service."""
    if port in SERVICES:
        return SERVICES[port]
    if not port.isdigit() or int(port) > 65535:
        raise bad_port(port)
    return int(port)


def bad_port(port: str) -> Refusal:
    return mcpd("01070734", f"Configuration error: invalid port ({port})")


def default_domain(store: Store, partition: str) -> int:
    """Default route domain of a partition."""
    item = store.get("auth/partition", partition)
    return int(item.fields.get("defaultRouteDomain", 0)) if item else 0


def shown(store: Store, partition: str, text: str) -> str:
    """An address as it is read: with its %id unless that is 0 (bigip-behaviour.md B3).

    Raises: ValueError: no address.
    """
    address = parse(text)
    domain = default_domain(store, partition) if address.route_domain is None else address.route_domain
    return f"{address.text}%{domain}" if domain else address.text
