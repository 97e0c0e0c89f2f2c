"""Firewall policies of virtual servers: they decide about connections that begin.

Sources: clouddocs, Common::FirewallRuleAction (a rule that matches ends the search; reject sends a reset to a
TCP client, drop nothing); tmsh reference, security firewall policy (the properties of a rule); F5's manual
"BIG-IP Network Firewall: Policies and Implementations", Default Traffic Processing (a connection that no rule
matches is accepted in ADC mode, the default). Connections that are open go on (inferred).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any

from mocks.bigip.matching import Unsupported

ACCEPT, REJECT, DROP = "accept", "reject", "drop"
_ACTIONS = {ACCEPT: ACCEPT, "accept-decisively": ACCEPT, REJECT: REJECT, DROP: DROP}
_KNOWN = {"name", "action", "description", "status", "ipProtocol", "source", "destination", "log"}
_SIDES = {"source": {"addresses"}, "destination": {"addresses", "ports"}}


def decide(rules: Iterable[Mapping[str, Any]], client: str, address: str, port: int) -> str:
    """Return what becomes of a connection: ACCEPT, REJECT or DROP. Raises: Unsupported.

    Args: client: address of the client; address, port: of the virtual server.
    """
    for rule in rules:
        if unknown := {name for name in rule if name not in _KNOWN}:
            raise Unsupported(f"firewall rule {rule['name']}: {', '.join(sorted(unknown))}")
        if rule.get("status", "enabled") == "disabled" or rule.get("ipProtocol", "any") not in ("any", "tcp"):
            continue
        if _matches(rule, "source", client, 0) and _matches(rule, "destination", address, port):
            return _ACTIONS[rule["action"]]
    return ACCEPT


def _matches(rule: Mapping[str, Any], side: str, address: str, port: int) -> bool:
    given = rule.get(side) or {}
    if unknown := set(given) - _SIDES[side]:
        raise Unsupported(f"firewall rule {rule['name']}: {side} {', '.join(sorted(unknown))}")
    networks = [ipaddress.ip_network(each["name"], strict=False) for each in given.get("addresses", ())]
    ports = [each["name"].partition("-") for each in given.get("ports", ())]
    return (not networks or any(ipaddress.ip_address(address) in network for network in networks)) and (
        not ports or any(int(first) <= port <= int(last or first) for first, _, last in ports))
