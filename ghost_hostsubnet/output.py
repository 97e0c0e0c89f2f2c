"""What is printed on standard output: tables for people, YAML and JSON for programs. Computes only."""

import json
from collections.abc import Iterable

import yaml
from tabulate import tabulate

from f5router.model.json_types import JSON
from f5router.model.printable import printable
from ghost_hostsubnet import gateway
from ghost_hostsubnet.manifest import Check, Facts, HostSubnet, decode

FORMS = ("table", "yaml", "json")

COLUMNS = ("NAME", "HOST IP", "SUBNET", "GATEWAY", "VNID", "STATE")


def structured(value: object, form: str) -> str:
    """A value as YAML or JSON, keys in the order given."""
    if form == "json":
        return json.dumps(value, indent=2)
    return yaml.safe_dump(value, sort_keys=False, default_flow_style=False).rstrip("\n")


def hostsubnets(objects: Iterable[JSON], known: Facts, form: str, *, several: bool = False) -> str:
    """HostSubnets as the API has them, or a row for each.

    Args: several: YAML and JSON show a List, however many there are.
    """
    objects = list(objects)
    if form == "table":
        rows = [[printable(cell) for cell in row(decode(obj), known)] for obj in objects]
        return tabulate(rows, headers=COLUMNS, tablefmt="plain", disable_numparse=True)
    if several:
        return structured({"apiVersion": "v1", "kind": "List", "items": objects}, form)
    return structured(objects[0], form)


def row(one: HostSubnet, known: Facts) -> tuple[str, ...]:
    """Cells of a HostSubnet in the order of COLUMNS."""
    state = "ready" if one.ready else "waits for the SDN master" if one.pending else "has no subnet"
    return (one.name, one.host_ip, one.subnet or "-", gateway_of(one, known) or "-",
            "-" if one.vnid is None else one.vnid, state)


def gateway_of(one: HostSubnet, known: Facts) -> str:
    """The gateway to use, "" if there is none."""
    try:
        return gateway.choose(one.network, known.networks) if one.network else ""
    except gateway.GatewayError:
        return ""


def checks(found: Iterable[Check], form: str) -> str:
    """One line for each check."""
    if form == "table":
        return "\n".join(f"{'ok   ' if check.ok else 'WRONG'}  {printable(check.message)}" for check in found)
    listed = [{"check": check.what, "ok": check.ok, "message": check.message} for check in found]
    return structured(listed, form)
