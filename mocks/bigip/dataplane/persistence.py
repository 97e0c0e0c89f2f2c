"""Persistence: cookie insert and source address (bigip-behaviour.md B8, B11; K6917)."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mocks.bigip.dataplane import config
from mocks.bigip.dataplane.balancing import Member
from mocks.bigip.dataplane.state import State
from mocks.bigip.store import Store


def in_force(store: Store, virtual: config.Virtual, state: State) -> tuple[str, dict[str, Any]] | None:
    """(type, properties) of a connection's profile, None without. Hold the lock. Raises: Unsupported."""
    action = state.effect.persist
    if state.persist_off or (action and "disable" in action):
        return None
    if state.persist:
        return config.by_command(store, *state.persist)
    if action:
        return config.by_action(store, action)
    return config.persistence(store, virtual.persist) if virtual.persist else None


def cookie_name(pool: str, configured: str) -> str:
    """`BIGipServer<pool>`, with the folders of a pool outside /Common (bigip-behaviour.md B11)."""
    if configured not in ("", "none"):
        return configured
    return "BIGipServer" + pool.removeprefix("/Common/").replace("/", "~")


def cookie_value(member: Member) -> str:
    """The member's address and port as the device writes them, not encrypted (K6917)."""
    text, _, domain = member.address.partition("%")
    address = ipaddress.ip_address(text)
    swapped = struct.unpack("<H", struct.pack(">H", member.port))[0]
    if isinstance(address, ipaddress.IPv6Address):
        prefix = f"rd{domain}o" if domain not in ("", "0") else "vi"
        separator = f"o{member.port}" if prefix != "vi" else f".{swapped}"
        return f"{prefix}{address.packed.hex()}{separator}"
    if domain in ("", "0"):
        return f"{int.from_bytes(address.packed, 'little')}.{swapped}.0000"
    return f"rd{domain}o00000000000000000000ffff{address.packed.hex()}o{member.port}"


def by_cookie(members: Iterable[Member], value: str | None) -> Member | None:
    """The member that a cookie names, if it still takes persistent clients."""
    return next((member for member in members if not member.down and cookie_value(member) == value), None)


def set_cookie(name: str, member: Member, *, tls: bool, expiry_s: int, attributes: dict[str, str]) -> str:
    """Value of the Set-Cookie header; attributes of the profile: httponly, secure."""
    parts = [f"{name}={cookie_value(member)}"]
    if expiry_s:
        parts.append(f"max-age={expiry_s}")
    parts.append("path=/")
    if attributes.get("httponly") == "enabled":
        parts.append("Httponly")
    if attributes.get("secure") == "enabled" and tls:
        parts.append("Secure")
    return "; ".join(parts)


@dataclass
class _Record:
    pool: str
    member: str
    used: float


class SourceTable:
    """Clients and the members they stay with."""

    def __init__(self) -> None:
        self._records: dict[tuple[str, str], _Record] = {}

    def find(self, virtual: str, client: str, *, now: float, timeout_s: float) -> tuple[str, str] | None:
        """(pool, member) of a client's record."""
        record = self._records.get((virtual, client))
        if record is not None and timeout_s and now > record.used + timeout_s:
            del self._records[virtual, client]
            record = None
        return (record.pool, record.member) if record else None

    def keep(self, virtual: str, client: str, member: Member, *, now: float) -> None:
        self._records[virtual, client] = _Record(member.pool, member.name, now)

    def __len__(self) -> int:
        return len(self._records)


def masked(client: str, mask: str) -> str:
    """A client's address under the profile's mask."""
    if mask in ("", "none", "any"):
        return client
    return str(ipaddress.ip_network(f"{client}/{mask}", strict=False).network_address)
