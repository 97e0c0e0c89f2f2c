"""Formats results: tables for people, YAML and JSON for programs. No I/O."""

import json
from collections.abc import Iterable

import yaml

from f5router.model.json_types import JSON
from f5router.model.texts import plain_table, printable
from ghost_hostsubnet import gateway
from ghost_hostsubnet.manifest import CheckResult, HostSubnetInfo, SDNFacts, decode

FORMS = ("table", "yaml", "json")

COLUMNS = ("NAME", "HOST IP", "SUBNET", "GATEWAY", "VNID", "STATE")


def structured(value: object, form: str) -> str:
    """Format a value as YAML or JSON, keys in the order given."""
    if form == "json":
        return json.dumps(value, indent=2)
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=False).rstrip("\n")


def hostsubnets(objects: Iterable[JSON], known: SDNFacts, form: str, *, several: bool = False) -> str:
    """Format HostSubnets as the API returns them, or as a row for each.

    Args: several: YAML and JSON show a List, however many there are.
    """
    objects = list(objects)
    if form == "table":
        return plain_table(COLUMNS, (row(decode(obj), known) for obj in objects))
    if several:
        return structured({"apiVersion": "v1", "kind": "List", "items": objects}, form)
    return structured(objects[0], form)


def row(info: HostSubnetInfo, known: SDNFacts) -> tuple[str, ...]:
    """Return the cells of a HostSubnet in the order of COLUMNS."""
    state = "ready" if info.ready else "waits for the SDN master" if info.pending else "has no subnet"
    return (info.name, info.host_ip, info.subnet or "-", gateway_of(info, known) or "-",
            "-" if info.vnid is None else info.vnid, state)


def gateway_of(info: HostSubnetInfo, known: SDNFacts) -> str:
    """Return the gateway to use, "" if there is none."""
    try:
        return gateway.choose(info.network, known.networks) if info.network else ""
    except gateway.GatewayError:
        return ""


def checks(results: Iterable[CheckResult], form: str) -> str:
    """Format check results, one line each."""
    if form == "table":
        return "\n".join(
            f"{'ok   ' if check.ok else 'WRONG'}  {printable(check.message)}" for check in results)
    listed = [{"check": check.what, "ok": check.ok, "message": check.message} for check in results]
    return structured(listed, form)
