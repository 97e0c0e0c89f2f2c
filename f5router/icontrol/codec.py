"""bigip.py values to and from iControl REST JSON, a pair per kind.

What is read differs from what was written (bigip-rest.md B1, B3, B4, B8): blanks in monitors, route
domains on addresses, "none" for unset, strings for booleans. Both sides become one vocabulary here,
so that `==` is the diff.
"""

import ipaddress
import json
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from f5router import names
from f5router.bigip import (
    CertFile,
    ClientSSL,
    Condition,
    DataGroup,
    Foreign,
    Forward,
    IRule,
    KeyFile,
    Object,
    Policy,
    Pool,
    PoolMember,
    Record,
    Redirect,
    Rule,
    ServerSSL,
)

JSON = Mapping[str, Any]

ODD = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What a decoder raises for JSON of a form that no recording shows."""

_OPERANDS = {
    "httpHost": ("host",),
    "httpUri": ("path", "pathSegment"),
}
_OPERATORS = ("equals", "startsWith", "endsWith")
# Returned with every condition or action whatever it is (bigip-rest.md B4), or naming it.
_CONDITION_NOISE = frozenset({
    "kind", "name", "fullPath", "generation", "selfLink", "external", "present", "remote", "index",
    "request", "values", "caseInsensitive", "caseSensitive",
})
_ACTION_NOISE = frozenset({
    "kind", "name", "fullPath", "generation", "selfLink", "code", "expirySecs", "length", "offset",
    "port", "status", "timeout", "vlanId", "request", "poolReference",
})


def located(path: str) -> dict[str, str]:
    """The properties that put an object at a full path. Source: bigip-rest.md A1."""
    partition, *folders, name = path.strip("/").split("/")
    body = {"name": name, "partition": partition}
    return {**body, "subPath": "/".join(folders)} if folders else body


def path_of(obj: JSON) -> str:
    """Full path of an object as read; sub-collection items may lack parts of it."""
    full = str(obj.get("fullPath") or obj.get("name", ""))
    if full.startswith("/") or not obj.get("partition"):
        return full
    parts = (obj["partition"], obj.get("subPath"), full)
    return "/" + "/".join(str(part) for part in parts if part)


def items(obj: JSON, name: str) -> list[JSON]:
    """Items of an expanded sub-collection.

    An empty one has no `items`; 11.5 nests the list under the reference once more
    (bigip-rest.md A1; f5-router.md gotcha 2).
    """
    found = obj.get(f"{name}Reference", obj)
    while isinstance(found, Mapping):
        if "items" in found:
            return list(found["items"] or ())
        found = found.get(f"{name}Reference")
    return []


# --- pools -------------------------------------------------------------------------------


def encode_pool(pool: Pool, places: Mapping[str, str] = MappingProxyType({})) -> dict:
    """Body of a POST; places: see pool_changes."""
    body = {**located(pool.path), **pool_changes(pool, places)}
    if not pool.monitor:
        del body["monitor"]
    return body


def pool_changes(pool: Pool, places: Mapping[str, str] = MappingProxyType({})) -> dict:
    """Body of a PATCH: the member list replaces the old one whole.

    Args:
        places: partition of a member's node by its address, "/Common"; without, the pool's own.
    """
    own = "/" + pool.path.split("/")[1]
    return {
        "loadBalancingMode": pool.load_balancing,
        # Braces were refused by some versions (bigip-rest.md B3).
        "monitor": " ".join(pool.monitor.replace("{", " ").replace("}", " ").split()) or "none",
        "members": [{"name": m.name, "partition": places.get(m.address, own).strip("/")}
                    for m in sorted(pool.members)],
    }


def decode_pool(obj: JSON) -> Pool:
    return Pool(
        path_of(obj), _monitor(obj.get("monitor", "")),
        frozenset(decode_member(item) for item in items(obj, "members")),
        obj.get("loadBalancingMode", "round-robin"),
    )


def decode_member(item: JSON) -> PoolMember:
    """A member; one that is no address keeps its name, which equals no wanted member."""
    name = str(item.get("name", "")).rsplit("/", 1)[-1]
    dotted = name.count(":") > 1
    node, _, port = name.rpartition("." if dotted else ":")
    address = address_of(str(item.get("address") or node)) or address_of(node)
    return PoolMember(address or node, int(port) if port.isdigit() else 0)


def address_of(text: str) -> str:
    """Canonical address without route domain, "" for what is none."""
    try:
        return str(ipaddress.ip_address(text.split("%", 1)[0]))
    except ValueError:
        return ""


def _monitor(text: str) -> str:
    words = str(text).replace("{", " { ").replace("}", " } ").split()
    plain = " ".join(words)
    if plain in ("none", "/Common/none"):
        return ""
    if words[:1] == ["min"] and "{" not in words:
        return f"{' '.join(words[:3])} {{ {' '.join(words[3:])} }}"
    return plain


# --- policies ----------------------------------------------------------------------------


def encode_policy(policy: Policy) -> dict:
    """Body of a POST, with the rule that makes the policy fit to be attached."""
    return {**located(policy.path), **policy_changes(policy), "rules": [noop()]}


def policy_changes(policy: Policy) -> dict:
    """Body of a PATCH."""
    return {
        "controls": sorted(policy.controls),
        "requires": sorted(policy.requires),
        "strategy": f"/Common/{policy.strategy}",
    }


def noop() -> dict:
    """The last Rule: no conditions, no actions."""
    return {"name": names.NOOP_RULE, "ordinal": names.LAST_ORDINAL}


def decode_policy(obj: JSON) -> tuple[Policy, list[Rule]]:
    """A policy with its Rules; other people's Rules too, for their ordinals."""
    path = path_of(obj)
    rules = [decode_rule(path, item) for item in items(obj, "rules")]
    last = max((rule.ordinal for rule in rules if rule.name != names.NOOP_RULE), default=-1)
    noops = [rule for rule in rules if rule.name == names.NOOP_RULE]
    policy = Policy(
        path, str(obj.get("strategy", "")).rsplit("/", 1)[-1],
        frozenset(obj.get("controls", ())), frozenset(obj.get("requires", ())),
        noop=bool(noops) and not noops[0].conditions and noops[0].ordinal > last,
    )
    return policy, [rule for rule in rules if rule.name != names.NOOP_RULE]


def encode_rule(rule: Rule) -> dict:
    """Body of a POST: conditions and action in one write."""
    return {"name": rule.name, **rule_changes(rule)}


def rule_changes(rule: Rule) -> dict:
    """Body of a PATCH: both lists replace the old ones whole."""
    conditions = sorted(rule.conditions, key=lambda c: (c.operand, c.selector, c.operator))
    return {
        "ordinal": rule.ordinal,
        "conditions": [{"name": str(n), **_condition(c)} for n, c in enumerate(conditions)],
        "actions": [{"name": "0", **_action(rule.action)}, *_told(rule)],
    }


def decode_rule(policy: str, obj: JSON) -> Rule:
    """A Rule; one of a form that nobody knows differs from all that is wanted."""
    try:
        return _decode_rule(policy, obj)
    except ODD:
        name = str(obj.get("name", "")) if isinstance(obj, Mapping) else ""
        odd = Foreign(_text(obj))
        return Rule(policy, name, names.band_of(0), odd, odd, 0)


def _decode_rule(policy: str, obj: JSON) -> Rule:
    conditions = [_decode_condition(item) for item in items(obj, "conditions")]
    foreign = next((c for c in conditions if isinstance(c, Foreign)), None)
    ordinal = int(obj.get("ordinal", 0))
    actions = items(obj, "actions")
    suffix = next((text for text in map(_decode_told, actions) if text), "")
    action = _decode_action([item for item in actions if not _decode_told(item)])
    return Rule(
        policy, str(obj["name"]), names.band_of(ordinal), foreign or frozenset(conditions),
        action, ordinal, hosts=_hosts(conditions), suffix=suffix,
    )


def _condition(condition: Condition) -> dict:
    body = {
        condition.operand: True, condition.selector: True, condition.operator: True, "request": True,
        "caseSensitive" if condition.case_sensitive else "caseInsensitive": True,
        "values": sorted(condition.values),
    }
    return {**body, "index": condition.index} if condition.index else body


def _decode_condition(item: JSON) -> Condition | Foreign:
    flags = {name for name, value in item.items() if value is True} - _CONDITION_NOISE
    operand = next((name for name in _OPERANDS if name in flags), "")
    selector = next((name for name in _OPERANDS.get(operand, ()) if name in flags), "")
    operator = next((name for name in _OPERATORS if name in flags), "")
    others = set(item) - _CONDITION_NOISE - {operand, selector, operator}
    if not (operand and selector and operator) or others or item.get("request") is not True:
        return Foreign(_text(item))
    return Condition(
        operand, selector, operator, frozenset(item.get("values", ())), int(item.get("index", 0)),
        case_sensitive=item.get("caseSensitive") is True,
    )


def _action(action: Forward | Redirect) -> dict:
    if isinstance(action, Forward):
        return {"forward": True, "select": True, "request": True, "pool": action.pool}
    return {"httpReply": True, "redirect": True, "request": True, "location": action.location}


def _told(rule: Rule) -> list[dict]:
    """The action that tells an iRule the domain of a wildcard. Source: recorded, ltm/policy/16.0.0."""
    if not rule.suffix:
        return []
    return [{"name": "1", "tcl": True, "setVariable": True, "request": True,
             "tmName": names.WILDCARD_VARIABLE, "expression": rule.suffix}]


def _decode_told(item: JSON) -> str:
    rest = {name for name in item if name not in _ACTION_NOISE}
    told = rest == {"tcl", "setVariable", "tmName", "expression"}
    return str(item["expression"]) if told and item["tmName"] == names.WILDCARD_VARIABLE else ""


def _decode_action(actions: list[JSON]) -> Forward | Redirect | Foreign:
    if len(actions) == 1:
        item = actions[0]
        rest = {name for name in item if name not in _ACTION_NOISE}
        if rest == {"forward", "select", "pool"}:
            return Forward(str(item["pool"]))
        if rest == {"httpReply", "redirect", "location"}:
            return Redirect(str(item["location"]))
    return Foreign(_text(actions))


def _hosts(conditions: Iterable[Condition | Foreign]) -> frozenset[str]:
    return frozenset(
        ("*" if condition.operator == "endsWith" else "") + value.split(":", 1)[0].rstrip(".")
        for condition in conditions
        if isinstance(condition, Condition) and condition.operand == "httpHost"
        for value in condition.values
    )


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


# --- data-groups and iRules --------------------------------------------------------------


def encode_data_group(group: DataGroup) -> dict:
    """Body of a POST, without records."""
    return {**located(group.path), "type": group.type}


def encode_records(records: Iterable[Record]) -> list[dict]:
    """Value of `records`, the whole list."""
    return [{"name": record.name, "data": record.data} for record in sorted(records, key=lambda r: r.name)]


def decode_data_group(obj: JSON) -> tuple[DataGroup, list[Record]]:
    path = path_of(obj)
    records = [Record(path, str(r["name"]), str(r.get("data", ""))) for r in obj.get("records") or ()]
    return DataGroup(path, obj.get("type", "string")), records


def encode_irule(irule: IRule) -> dict:
    return {**located(irule.path), "apiAnonymous": irule.text}


def decode_irule(obj: JSON) -> IRule:
    return IRule(path_of(obj), str(obj.get("apiAnonymous", "")).strip())


# --- profiles and files ------------------------------------------------------------------


def encode_client_ssl(profile: ClientSSL) -> dict:
    return {**located(profile.path), **client_ssl_changes(profile)}


def client_ssl_changes(profile: ClientSSL) -> dict:
    """Body of a PATCH. The pair is sent together: half a pair is refused (bigip-rest.md A7)."""
    return {
        "defaultsFrom": profile.parent, "serverName": profile.server_name,
        "sniDefault": "true" if profile.sni_default else "false", **_pair(profile),
    }


def _pair(profile: ClientSSL) -> dict:
    return {"cert": profile.cert, "key": profile.key, "chain": profile.chain or "none"}


def decode_client_ssl(obj: JSON) -> ClientSSL:
    pair = obj if "cert" in obj else next(iter(obj.get("certKeyChain") or ()), {})
    return ClientSSL(
        path_of(obj), _unset(obj.get("serverName")), _unset(pair.get("cert")), _unset(pair.get("key")),
        _unset(pair.get("chain")), _unset(obj.get("defaultsFrom")), str(obj.get("sniDefault")) == "true",
    )


def encode_server_ssl(profile: ServerSSL) -> dict:
    return {**located(profile.path), **server_ssl_changes(profile)}


def server_ssl_changes(profile: ServerSSL) -> dict:
    """Body of a PATCH. Without peerCertMode require nothing is verified (f5-router.md 3.3)."""
    return {
        "defaultsFrom": profile.parent,
        "caFile": profile.ca_file or "none",
        "peerCertMode": "require" if profile.ca_file else "ignore",
        "authenticateName": profile.authenticate_name or "none",
    }


def decode_server_ssl(obj: JSON) -> ServerSSL:
    verified = obj.get("peerCertMode", "ignore") == "require"
    ca_file = _unset(obj.get("caFile"))
    return ServerSSL(
        path_of(obj), (ca_file or "none") if verified else "",
        _unset(obj.get("authenticateName")), _unset(obj.get("defaultsFrom")),
    )


def decode_cert(obj: JSON) -> CertFile:
    return CertFile(path_of(obj))


def decode_key(obj: JSON) -> KeyFile:
    return KeyFile(path_of(obj))


def _unset(value: Any) -> str:
    return "" if value in (None, "none") else str(value)


# --- virtual servers ---------------------------------------------------------------------


def destination_port(obj: JSON) -> int:
    """Port of a virtual server's destination, 0 for any.

    /Common/10.1.1.1:80, /P/10.1.1.1%6:443, /P/2001:db8::1.443 (bigip-rest.md B7).
    """
    found = re.search(r"[:.](\d+)$", str(obj.get("destination", "")))
    return int(found.group(1)) if found else 0


def decode_plain(kind: str, obj: JSON) -> list[Object]:
    """Objects of ours-or-not of one item of a collection, its parts included."""
    if kind == Policy.KIND:
        policy, rules = decode_policy(obj)
        return [policy, *rules]
    if kind == DataGroup.KIND:
        group, records = decode_data_group(obj)
        return [group, *records]
    return [_DECODERS[kind](obj)]


_DECODERS = {
    Pool.KIND: decode_pool,
    IRule.KIND: decode_irule,
    ClientSSL.KIND: decode_client_ssl,
    ServerSSL.KIND: decode_server_ssl,
    CertFile.KIND: decode_cert,
    KeyFile.KIND: decode_key,
}
