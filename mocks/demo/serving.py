"""How a host and path is served: read from the two servers, by nothing but their REST interfaces.

Nothing of the router is used here: the demo checks it as an outsider would.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mocks.demo import publications
from mocks.demo.api import Api
from mocks.demo.publications import Publication
from mocks.demo.servers import HTTPS_VIRTUAL

POLICIES = {80: "openshift_insecure_routes", 443: "openshift_secure_routes"}
PASSTHROUGH, REENCRYPT = "ssl_passthrough_servername_dg", "ssl_reencrypt_serverssl_dg"
NOWHERE = "/Common/openshift_nowhere"

RULE, REDIRECT, RECORD = "rule", "rule: redirect", "record"
OWN, DEFAULT = "own certificate", "default certificate"
CHECKED, UNCHECKED = "verified TLS", "unverified TLS"


@dataclass(frozen=True, slots=True)
class Serving:
    """How a host and path is served, or why not."""

    status: str
    """Admitted, or the reason why not; "" when there is no status."""
    port_80: str = ""
    """RULE, REDIRECT or "" for nothing."""
    port_443: str = ""
    """RULE, RECORD or "" for nothing."""
    pool: str = ""
    """Its name; a digest at its end is written as "*"."""
    members: tuple[str, ...] = ()
    certificate: str = ""
    """Certificate that clients see: OWN, DEFAULT, or "" where the BIG-IP does not decide it."""
    pods: str = ""
    """CHECKED, UNCHECKED, or "" for no TLS towards the pods by the BIG-IP."""


@dataclass(frozen=True, slots=True)
class Row:
    """A Route, or a part of another object, as the table shows it."""

    name: str
    """namespace/name."""
    address: str
    """Host and path."""
    kind: str
    service: str
    """Name of its Service."""
    serving: Serving
    pool: str
    """Its whole name."""
    message: str
    """Message of the status."""
    redirect: int = 302
    """Status of a redirect to port 443."""


@dataclass(frozen=True, slots=True)
class Device:
    """Answers of the BIG-IP, by name."""

    rules: dict[int, list[dict]]
    """By port."""
    passthrough: dict[str, str]
    """Host to pool."""
    pod_tls: dict[str, str]
    """Pool to server SSL profile."""
    pools: dict[str, tuple[str, ...]]
    client_ssl: dict[str, str]
    """Client SSL profiles on the HTTPS virtual server, with their certificate files."""
    verified: frozenset[str]
    """Server SSL profiles that verify the pods."""


def read_device(api: Api) -> Device:
    """Raises: requests.RequestException."""
    attached = api.get(f"/mgmt/tm/ltm/virtual/{_id(HTTPS_VIRTUAL)}/profiles").get("items", [])
    profiles = {item["fullPath"] for item in attached}
    pools = api.get("/mgmt/tm/ltm/pool?expandSubcollections=true").get("items", [])
    return Device(
        rules={port: _rules(api, policy) for port, policy in POLICIES.items()},
        passthrough=_records(api, PASSTHROUGH),
        pod_tls=_records(api, REENCRYPT),
        pools={pool["fullPath"]: _members(pool) for pool in pools},
        client_ssl={
            profile["fullPath"]: profile.get("cert", "")
            for profile in api.get("/mgmt/tm/ltm/profile/client-ssl").get("items", [])
            if profile["fullPath"] in profiles
        },
        verified=frozenset(
            profile["fullPath"] for profile in api.get("/mgmt/tm/ltm/profile/server-ssl").get("items", [])
            if profile.get("peerCertMode") == "require"
        ),
    )


def read_rows(cluster: Api, device: Api) -> list[Row]:
    """A row for each host and path, by the name of its object. Raises: requests.RequestException."""
    device_state = read_device(device)
    return [_row(item, device_state) for item in publications.read(cluster)]


def _row(item: Publication, device: Device) -> Row:
    port_80, forwards = _on_port(item, device.rules[80])
    port_443, more = _on_port(item, device.rules[443])
    if item.host in device.passthrough:
        port_443, more = RECORD, {device.passthrough[item.host]}
    pools = sorted(forwards | more)
    pool = ", ".join(path.removeprefix("/Common/") for path in pools)
    members = tuple(sorted({member for path in pools for member in device.pools.get(path, ())}))
    return Row(
        name=item.full_name, address=f"{item.host or '(no host)'}{item.path}",
        kind=item.kind, service=item.service,
        serving=Serving(
            item.status, port_80, port_443, re.sub(r"[0-9a-f]{16}$", "*", pool), members,
            _certificate(item, device) if port_443 == RULE else "", _pods(pools, device),
        ),
        pool=pool, message=item.message, redirect=item.redirect,
    )


def _on_port(item: Publication, rules: list[dict]) -> tuple[str, set[str]]:
    """Return what the rules of a policy do for a host and path, and the pools that they forward to."""
    actions: set[str] = set()
    pools: set[str] = set()
    for rule in rules:
        if not re.fullmatch(item.stem, rule["name"].split("__")[0]) or not _matches(rule, item):
            continue
        if any(action.get("pool") == NOWHERE for action in _items(rule, "actions")):
            continue  # it keeps a less specific Route's redirect off
        for action in _items(rule, "actions"):
            actions.add(REDIRECT if action.get("redirect") else RULE)
            pools |= {action["pool"]} if action.get("pool") else set()
    return ", ".join(sorted(actions)), pools


def _matches(rule: dict, item: Publication) -> bool:
    """Return True if the conditions of a rule name the host and path."""
    hosts: set[str] = set()
    paths: set[str] = set()
    for condition in _items(rule, "conditions"):
        values = set(condition.get("values", []))
        if condition.get("httpHost"):
            hosts |= values
        elif condition.get("path"):
            paths |= values
    path = item.path
    return item.host in hosts and (bool(paths & {path, f"{path}/"}) if path else not paths)


def _certificate(item: Publication, device: Device) -> str:
    for path, file in device.client_ssl.items():
        if path.endswith(f"/openshift_host_{item.host}-client-ssl-profile"):
            owner = file.removeprefix("/Common/").split("-https-cert-")[0]
            name = re.split("[_.]", owner)[-1]
            return OWN if re.fullmatch(item.stem, owner) or name == item.secret else f"that of {name}"
    return DEFAULT


def _pods(pools: list[str], device: Device) -> str:
    profiles = {device.pod_tls[pool] for pool in pools if pool in device.pod_tls}
    if not profiles:
        return ""
    return CHECKED if profiles <= device.verified else UNCHECKED


def _rules(api: Api, policy: str) -> list[dict]:
    path = f"/mgmt/tm/ltm/policy/{_id(f'/Common/{policy}')}/rules"
    return api.get(f"{path}?expandSubcollections=true").get("items", [])


def _records(api: Api, group: str) -> dict[str, str]:
    group_ = api.get(f"/mgmt/tm/ltm/data-group/internal/{_id(f'/Common/{group}')}")
    return {record["name"]: record.get("data", "") for record in group_.get("records", [])}


def _members(pool: dict) -> tuple[str, ...]:
    return tuple(sorted(member["name"] for member in _items(pool, "members")))


def _items(parent: dict, name: str) -> Iterator[dict]:
    """Items of an expanded sub-collection."""
    yield from parent.get(f"{name}Reference", {}).get("items", [])


def _id(path: str) -> str:
    return path.replace("/", "~")
